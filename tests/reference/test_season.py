"""The search for a period, held to seasons that are there, to series without one, and to least squares."""

import numpy as np
import pytest

from adabypass.reference import season as reference
from adabypass.state import season as design


def found_in(y: np.ndarray) -> int:
    """Return the period at the end of a series."""
    now = 0
    for n in range(1, len(y) + 1):
        if reference.is_due(n):
            now = reference.find_period(y[max(0, n - design.N_PAST) : n], now)
    return now


@pytest.mark.parametrize("period", [2, 4, 7, 12, 24, 48, 96])
def test_a_season_of_any_shape_is_found(period: int) -> None:
    rng, t = np.random.default_rng(period), np.arange(8 * period + 200)
    pattern = rng.normal(size=period)
    pattern *= 3.0 / pattern.std()
    assert found_in(0.01 * t + pattern[t % period] + rng.normal(size=len(t))) == period


@pytest.mark.parametrize("period", [12, 24, 48])
def test_a_smooth_season_is_found_to_the_step(period: int) -> None:
    """24, not 23, nor 48: although all of them fit nearly as well."""
    rng, t = np.random.default_rng(period), np.arange(8 * period)
    assert found_in(2.0 * np.sin(2 * np.pi * t / period) + rng.normal(size=len(t))) == period


def test_a_season_of_a_random_walk_is_found() -> None:
    rng, t = np.random.default_rng(0), np.arange(300)
    assert found_in(rng.normal(size=300).cumsum() + 4.0 * np.sin(2 * np.pi * t / 12)) == 12


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("kind", ["noise", "walk", "walk of a walk", "counts", "autoregression"])
def test_a_series_without_a_season_has_no_period(kind: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    noise = rng.normal(size=600)
    if kind == "autoregression":
        for t in range(2, 600):
            noise[t] += 1.2 * noise[t - 1] - 0.5 * noise[t - 2]
    series = {"walk": noise.cumsum(), "walk of a walk": noise.cumsum().cumsum(), "counts": rng.poisson(0.3, 600) * 1.0}
    assert found_in(series.get(kind, noise)) == 0


def test_outliers_and_gaps_do_not_hide_a_season() -> None:
    rng, t = np.random.default_rng(3), np.arange(400)
    y = 10.0 + np.sin(2 * np.pi * t / 24) + 0.3 * rng.normal(size=400)
    wild, gaps = y.copy(), y.copy()
    wild[rng.integers(0, 400, 4)] += 1e6
    gaps[rng.uniform(size=400) < 0.3] = np.nan
    assert found_in(wild) == 24
    assert found_in(gaps) == 24


@pytest.mark.parametrize("share", [0.5, 0.8])
@pytest.mark.parametrize("kind", ["noise", "walk"])
def test_values_that_are_missing_are_no_evidence(kind: str, share: float) -> None:
    found = []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        y = rng.normal(size=700)
        y = y.cumsum() if kind == "walk" else y
        y[rng.uniform(size=700) < share] = np.nan
        found.append(found_in(y))
    assert found.count(0) >= 5


def test_a_period_that_is_gone_is_given_up() -> None:
    rng, t = np.random.default_rng(0), np.arange(200)
    y = np.concatenate([5.0 * np.sin(2 * np.pi * t / 12) + rng.normal(size=200), rng.normal(size=4000)])
    assert found_in(y[:200]) == 12
    assert found_in(y) == 0


def test_the_evidence_is_that_of_a_regression_by_least_squares() -> None:
    """On whole periods, without a trend in the season: then waves and least squares agree."""
    rng, period, n = np.random.default_rng(1), 8, 80
    x = np.tile(rng.normal(size=period), 10) + 0.5 * rng.normal(size=n)
    share = 0.9
    t, candidates = np.arange(n), []
    for k in (*range(1, 5), 0):  # 0 is a season of any shape
        waves = [f(2 * np.pi * j * t / period) for j in range(1, k + 1) for f in (np.cos, np.sin)]
        columns = np.column_stack(waves) if k else np.eye(period)[t % period]
        left = x - columns @ np.linalg.lstsq(columns, x)[0]
        size = 2 * k or period
        candidates.append(0.5 * n * np.log(share / (left @ left / (n - size) / np.mean(x**2))) - 0.5 * size * np.log(n))
    np.testing.assert_allclose(reference._season_evidence(x, period, share), max(candidates), rtol=1e-9)


def test_the_autoregression_is_that_of_least_squares() -> None:
    rng = np.random.default_rng(2)
    x = rng.normal(size=50).cumsum()
    x[20] = np.nan
    rows = np.array([x[i : i + 4] for i in range(47) if not np.isnan(x[i : i + 4]).any()])
    weights = np.linalg.solve(rows[:, :3].T @ rows[:, :3], rows[:, :3].T @ rows[:, 3])
    left = rows[:, 3] - rows[:, :3] @ weights
    np.testing.assert_allclose(reference._autoregression_var(x), left @ left / (len(rows) - 3), rtol=1e-9)
