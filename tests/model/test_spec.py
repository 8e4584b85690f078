"""Hyperparameters outside their domain are refused, in words."""

from collections.abc import Callable
from typing import Any

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
