"""Hyperparameters outside their domain are refused, in words."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adabypass
from adabypass.errors import ParameterError

# As a user without a type checker would call them.
AdaBypass: Any = adabypass.AdaBypass
Bypass: Any = adabypass.Bypass
PassiveAggressive: Any = adabypass.PassiveAggressive
SequentialKalman: Any = adabypass.SequentialKalman


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: PassiveAggressive(C=-1.0), "C is -1.0, but must be a number above 0"),
        (lambda: PassiveAggressive(C=0), "C is 0"),
        (lambda: PassiveAggressive(epsilon=-0.1), "epsilon is -0.1, but must be a number from 0"),
        (lambda: PassiveAggressive("PA-III"), "variant is 'PA-III', but must be one of 'PA', 'PA-I', 'PA-II'"),
        (lambda: Bypass(a=0), "a is 0, but must be a number above 0"),
        (lambda: Bypass(b=float("nan")), "b is nan"),
        (lambda: Bypass(epsilon=float("inf")), "epsilon is inf"),
        (lambda: Bypass(a="1000"), "a is '1000'"),
        (lambda: Bypass(a=True), "a is True"),
        (lambda: Bypass(max_sweeps=0), "max_sweeps is 0, but must be a whole number from 1 to 1000"),
        (lambda: Bypass(max_sweeps=2**64), "or None to run to convergence"),
        (lambda: Bypass(a=10**400), "a is 1000"),
        (lambda: Bypass(max_sweeps=2.5), "max_sweeps is 2.5"),
        (lambda: Bypass(tol=-1e-9), "tol is -1e-09"),
        (lambda: AdaBypass(aggressiveness=-1), "aggressiveness is -1"),
        (lambda: AdaBypass(omega_min=0), "omega_min is 0"),
        (lambda: Bypass(corrections="E1"), "corrections is 'E1', but must be a list of some of 'E1', 'E2', 'E3', 'E4'"),
        (lambda: Bypass(corrections=3), "corrections is 3, but must be a list"),
        (lambda: Bypass(corrections=["E5"]), "corrections contains 'E5', but must be a list of some of 'E1'"),
        (lambda: AdaBypass(corrections=["E6"]), "corrections contains 'E6'"),
        (lambda: Bypass(covariance="low-rank"), "covariance is 'low-rank', but must be 'auto', 'full' or 'diagonal'"),
        (lambda: AdaBypass(corrections=["E5"], covariance="diagonal"), "E5 needs a full covariance"),
        (lambda: AdaBypass(corrections=["E5"], max_sweeps=2), "max_sweeps is 2, but E5 differentiates"),
        (lambda: AdaBypass(corrections=["E8"]), "add 'E5'"),
        (lambda: SequentialKalman(noise_var=0.0), "noise_var is 0.0"),
        (lambda: SequentialKalman(adapt_noise=1), "adapt_noise is 1, but must be True or False"),
    ],
)
def test_a_wrong_hyperparameter_is_refused(make: Callable[[], object], words: str) -> None:
    with pytest.raises(ParameterError) as caught:
        make()
    assert words in str(caught.value)


def test_a_wrong_number_of_features_is_refused() -> None:
    with pytest.raises(ParameterError, match="n_features is 0, but must be a whole number from 1 to"):
        Bypass(n_features=0)


@pytest.mark.parametrize("make", [Bypass, AdaBypass])
def test_a_model_without_corrections_is_saved_as_before_there_were_any(make: Any) -> None:
    """Header and checksum of the constants: files that were saved before are read, and the other way round."""
    assert "corrections" not in make().hyperparameters
    assert len(make()._spec.constants()) == (3 if make is Bypass else 5)


@pytest.mark.parametrize("corrections", [["E3", "E1"], ["E5"], ["E8", "E5", "E2"]])
def test_corrections_are_kept_in_order_and_go_on_after_loading(corrections: list[str]) -> None:
    model = AdaBypass(corrections=corrections, aggressiveness=0.05)
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 2)), 3 * rng.normal(size=40)
    model.run(X, y)
    again: Any = adabypass.from_bytes(model.to_bytes())
    assert again.hyperparameters["corrections"] == tuple(sorted(corrections))
    assert repr(again) == repr(model)
    assert again.run(X, y).mean.tobytes() == model.run(X, y).mean.tobytes()
    assert model.run(X, y).mean.tobytes() != AdaBypass(aggressiveness=0.05).run(X, y).mean.tobytes()


def test_a_covariance_that_may_be_chosen_stays_full_where_gradients_are_right() -> None:
    assert AdaBypass(n_features=3, corrections=["E5"]).weights.cov.shape == (3, 3)
    assert AdaBypass(corrections=["E5"])._spec.for_features(5000).is_full
    assert not AdaBypass(corrections=["E1"])._spec.for_features(5000).is_full
    assert not AdaBypass()._spec.for_features(5000).is_full
