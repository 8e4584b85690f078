"""Drift rates judged many steps ahead: the kernel of a series against its reference, and what it is for."""

from typing import Any

import numpy as np
import pytest

from adabypass import AutoBypass, Bypass, Forecaster, Naive, evaluate, load_dataset
from adabypass.reference import drift_evidence as reference
from adabypass.reference.shares import new_horizon
from adabypass.state.series import HORIZONS, LAYOUT, MAX_JUDGED_LAGS
from tests.engines import lag_engine

OPTIONS: list[dict[str, Any]] = [
    dict(lags=1),
    dict(lags=3),
    dict(lags=[1, 4], difference=1),
    dict(model=AutoBypass(intercept=False), lags=2),
]


def field(forecaster: Forecaster, name: str) -> np.ndarray:
    assert forecaster._runner is not None
    return LAYOUT.view(forecaster._runner.row, name, **lag_engine(forecaster).spec.dims(0))


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_the_kernel_matches_the_reference(options: dict[str, Any]) -> None:
    rng = np.random.default_rng(1)
    y = 20.0 + rng.normal(size=420).cumsum() * 0.3 + rng.normal(size=420)
    y[[90, 91, 200]] = np.nan
    forecaster = Forecaster(**options)
    spec, groups = lag_engine(forecaster).spec, lag_engine(forecaster).spec.model.drift_groups
    horizons = [new_horizon(1 + max(groups)) for _ in HORIZONS]
    pending: dict[int, tuple[int, np.ndarray]] = {}
    for t, value in enumerate(y):
        forecaster.update(value)
        if not forecaster.is_ready or forecaster._runner is None:
            continue
        for j, h in enumerate(HORIZONS):
            due, expected = pending.get(h, (t, np.empty(0)))
            if due == t and len(expected) and not np.isnan(value):
                horizons[j] = reference.judge(horizons[j], expected, value)
            if due == t and field(forecaster, "horizon_time")[j] == h:
                past = spec.past(forecaster._runner.row, 0)
                mixture = forecaster.model.linear_mixture()
                pending[h] = (t + h, reference.means(mixture, spec.design, past, groups, h))
                found = field(forecaster, "pending_mean").reshape(len(HORIZONS), -1)[j]
                np.testing.assert_allclose(found, pending[h][1], rtol=1e-6, atol=1e-6)
    assert horizons[0].n_judged > 30
    for j, expected_horizon in enumerate(horizons):
        for name in ("evidence", "square_sum"):
            found = field(forecaster, f"horizon_{name}").reshape(len(HORIZONS), -1)[j]
            np.testing.assert_allclose(found, getattr(expected_horizon, name), rtol=1e-5, atol=1e-5)
        assert field(forecaster, "horizon_count")[j] == pytest.approx(expected_horizon.n_judged)
    assert forecaster._runner is not None
    share = forecaster.model.linear_mixture().share
    for step in (2, 8, 20, 64, 100):
        expected_shares = reference.filter_shares(horizons, share, groups, min(step, HORIZONS[-1]))
        np.testing.assert_allclose(forecaster._runner.step_shares(step), expected_shares, rtol=1e-5, atol=1e-9)
    assert (forecaster._runner.step_shares(1) == share).all()


def test_shares_add_up_at_every_step() -> None:
    forecaster = Forecaster(lags=1)
    forecaster.run(np.random.default_rng(2).normal(size=300).cumsum())
    assert forecaster._runner is not None
    parts = forecaster._runner.forecast_steps(np.empty((100, 0)))
    np.testing.assert_allclose(parts["weight"].sum(axis=1), 1.0, rtol=1e-9)


def test_nothing_is_judged_without_a_choice_of_drift_or_with_exogenous_columns() -> None:
    assert lag_engine(Forecaster(Bypass(), lags=1)).spec.horizons(0) == ()
    assert lag_engine(Forecaster(lags=1)).spec.horizons(1) == ()
    assert lag_engine(Forecaster(lags=MAX_JUDGED_LAGS + 1)).spec.horizons(0) == ()
    assert lag_engine(Forecaster(lags=MAX_JUDGED_LAGS)).spec.horizons(0) == HORIZONS


def test_the_wind_is_forecast_no_worse_than_by_its_last_value() -> None:
    y = load_dataset("wind").y[:8000]
    options: dict[str, Any] = dict(horizon=36, every=36, skip=28)
    ours, naive = evaluate(y, Forecaster(lags=1), **options), evaluate(y, Naive(), **options)
    for step in (6, 12, 24, 36):
        errors = [each.trace(step).y - each.trace(step).mean for each in (ours, naive)]
        rmse = [np.sqrt(np.nanmean(each[28:] ** 2)) for each in errors]
        assert rmse[0] < rmse[1]
