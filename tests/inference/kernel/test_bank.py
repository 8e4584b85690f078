"""The bank's kernel obeys the reference."""

import numpy as np
import pytest
from pytest import approx

from adabypass import AutoBypass
from adabypass.inference.reference import bank as reference
from adabypass.model.bank import FILTER_SCALARS, AutoBypassSpec
from adabypass.model.row import pack

RELATIVE = 1e-7  # the noise's scale feeds back: rounding grows a little with every step


def stream(n: int, n_features: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, n_features)).cumsum(axis=0) * 10.0 ** rng.uniform(-2, 2, n_features) + 5
    y = X @ rng.normal(size=n_features) + rng.standard_t(3, n) * 10.0 ** rng.uniform(-1, 1)
    y[25:] = np.where(rng.random(n - 25) < 0.2, np.nan, y[25:])
    y[40] *= 30
    return X, y


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize(("n_features", "seed"), [(1, 0), (2, 1), (5, 2)])
def test_bank_kernel_equals_reference(n_features: int, seed: int, intercept: bool) -> None:
    spec, W = AutoBypassSpec(intercept), AutoBypassSpec.warm_up
    X, y = stream(70, n_features, seed)
    model = AutoBypass(intercept=intercept)
    model.run(X[:W], y[:W])
    bank = reference.start(X[:W], y[:W], spec)
    unit = bank.units.y_scale
    for x, target in zip(X[W:], y[W:], strict=True):
        components = model.predict(x).components
        expected = np.array(reference.forecast(bank, x, spec))
        assert components["weight"] == approx(bank.mixture, rel=1e-6, abs=1e-9)
        assert components["mean"] == approx(
            bank.units.y_center + unit * expected[:, 0], rel=RELATIVE, abs=RELATIVE * unit
        )
        assert components["signal_var"] == approx(unit**2 * expected[:, 1], rel=RELATIVE)
        assert components["noise_scale"] == approx(unit * expected[:, 2], rel=RELATIVE)
        score = model.run(x[None], [target]).log_score[0]
        bank, log_density = reference.update(bank, x, target, spec)
        assert score == approx(log_density, rel=RELATIVE, abs=RELATIVE, nan_ok=True)
    row = model.__getstate__()["row"]
    filters = spec.layout.view(row, "filters", **spec.dims(n_features))
    for block, each in zip(filters, bank.filters, strict=True):
        size = len(each.weights.mean)
        assert block[FILTER_SCALARS : FILTER_SCALARS + size] == approx(each.weights.mean, rel=1e-6, abs=1e-7)
        assert block[FILTER_SCALARS + size :] == approx(pack(each.weights.cov), rel=1e-6, abs=1e-9)


def test_after_a_jump_failing_filters_go_on_from_the_best() -> None:
    """Equation (59): the same filters give up at the same moments, in kernel and reference."""
    spec, W = AutoBypassSpec(), AutoBypassSpec.warm_up
    rng = np.random.default_rng(5)
    X = rng.normal(size=(160, 2))
    y = np.where(np.arange(160) < 100, X @ [1.0, 2.0], X @ [-4.0, 5.0]) + 0.3 * rng.normal(size=160)
    model, bank = AutoBypass(), reference.start(X[:W], y[:W], spec)
    model.run(X[:W], y[:W])
    most_failures = 0
    for x, target in zip(X[W:], y[W:], strict=True):
        model.update(x, target)
        bank, _ = reference.update(bank, x, float(target), spec)
        filters = spec.layout.view(model.__getstate__()["row"], "filters", **spec.dims(2))
        assert filters[:, FILTER_SCALARS - 1] == approx([each.failures for each in bank.filters])
        most_failures = max(most_failures, *(each.failures for each in bank.filters))
    assert most_failures == spec.patience - 1  # so that some have given up
    assert filters[0, FILTER_SCALARS : FILTER_SCALARS + 3] == approx(bank.filters[0].weights.mean, rel=1e-5, abs=1e-6)
