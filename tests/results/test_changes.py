"""Alarms keep their rate at every age, come soon after a change and name it; the fast step is the reference's."""

from collections.abc import Callable
from math import isnan, nan

import numpy as np
import pytest
from pytest import approx

from adabypass import AutoBypass, Bypass, Change, ChangeMonitor, Forecaster, Normal, PassiveAggressive, Trace
from adabypass.errors import ParameterError, PointForecastError, ShapeError, StateError
from adabypass.reference.alarms import Monitor
from adabypass.state.alarms import LAYOUT, SIZE
from adabypass.validation import Floats

ROUNDING = 1e-9
"""Some hundred operations in double precision, in another order."""
RATE = 0.001


def standard(n: int, seed: int) -> Trace:
    """Return the trace of a perfect model."""
    y = np.random.default_rng(seed).normal(size=n)
    return Trace(y, Normal(np.zeros(n), np.ones(n)), {})


def jump(n: int, at: int, before: float, after: float) -> Floats:
    return np.where(np.arange(n) < at, before, after)


def hostile(seed: int, n: int = 600) -> tuple[Floats, Floats, Floats, Floats]:
    """Draw deviates, errors, standard deviations and drifts of every kind."""
    rng = np.random.default_rng(seed)
    deviates = rng.standard_t(3, size=n) * np.exp(np.repeat(rng.normal(0.0, 0.7, size=n // 30), 30))
    deviates += np.repeat(rng.normal(0.0, 0.7, size=n // 30), 30)
    deviates[rng.random(n) < 0.1 * (seed % 3)] = 0.0
    sds = np.exp(rng.normal(size=n).cumsum() / 10.0)
    errors = deviates * rng.uniform(0.8, 1.2, size=n)
    drifts = np.exp(rng.normal(size=n).cumsum() / 2.0 - 10.0)
    drifts[:50] = nan if seed % 2 else 0.0
    sds[rng.random(n) < 0.02] = np.inf
    sds[5] = 0.0
    deviates[rng.random(n) < 0.05] = nan
    return np.clip(deviates, -38.0, 38.0), errors, sds, drifts


@pytest.mark.parametrize("rate", [0.001, 0.05])
@pytest.mark.parametrize("seed", range(12))
def test_the_step_is_that_of_the_reference(seed: int, rate: float) -> None:
    """Equations (P.2)-(P.15)."""
    fast, judge, n_changes, n_flags = ChangeMonitor(false_alarms=rate), Monitor(rate), 0, 0
    for row in zip(*(each.tolist() for each in hostile(seed)), strict=True):
        found, (is_changed, is_flagged) = fast.update_standardised(*row), judge.update(*row)
        assert (found is not None, fast.is_anomaly) == (is_changed, is_flagged)
        n_changes, n_flags = n_changes + is_changed, n_flags + is_flagged
        newest = fast.newest
        if judge.newest is None:
            assert newest is None
        else:
            assert newest is not None
            kind = ("level", "noise", "slope")[judge.newest.kind - 1]
            assert (newest.at, newest.kind, newest.found_at) == (judge.newest.onset, kind, judge.newest.row)
            assert newest.size == approx(judge.newest.size, rel=ROUNDING, abs=ROUNDING)
        evidence = LAYOUT.view(fast.memory, "evidence")
        assert evidence == approx([bet.evidence for bet in judge.bets], rel=ROUNDING, abs=ROUNDING)
        assert sorted(LAYOUT.view(fast.memory, "largest"), reverse=True) == approx(judge.largest)
    assert n_changes > 0  # so that alarms were compared
    assert n_flags > 0 or rate < 0.01


def test_a_run_equals_single_rows_and_a_monitor_goes_on_from_its_memory() -> None:
    rng = np.random.default_rng(3)
    y = rng.normal(size=400) * jump(400, 200, 1.0, 4.0) + jump(400, 320, 0.0, 40.0)
    y[50] = nan
    trace = Forecaster(lags=1).run(y)
    drift = trace.history["drift"]
    whole = ChangeMonitor()
    expected = whole.run(trace.predictive, trace.y, drift)
    assert len(expected.changes) >= 2
    for cut in range(0, 399, 57):
        first = ChangeMonitor()
        first.run(trace.predictive[:cut], trace.y[:cut], drift[:cut])
        second = ChangeMonitor(first.memory)
        late = second.run(trace.predictive[cut:], trace.y[cut:], drift[cut:])
        assert second.memory.tobytes() == whole.memory.tobytes()
        assert [each.found_at for each in late.changes] == [e.found_at for e in expected.changes if e.found_at >= cut]
        assert late.anomalies.tolist() == [each for each in expected.anomalies if each >= cut]
    single, found = ChangeMonitor(), []
    for i, value in enumerate(trace.y.tolist()):
        change = single.update(trace.predictive[i], value, drift=float(drift[i]))
        assert change is None or change.found_at == i
        found += [] if change is None else [i]
    assert single.memory.tobytes() == whole.memory.tobytes()
    assert found == [each.found_at for each in expected.changes]
    assert single.newest == expected.changes[-1]


def test_false_alarms_of_a_perfect_model_keep_their_rate_at_every_age() -> None:
    """The mean number of alarms up to a row is at most the rate times the row; of flags, the binomial bound holds."""
    rate, n_series, ages = 0.02, 300, (20, 100, 1000)
    alarms, flags = np.zeros(1000), np.zeros(1000)
    for seed in range(n_series):
        trace = standard(1000, seed)
        found = ChangeMonitor(false_alarms=rate).run(trace.predictive, trace.y)
        alarms[[change.found_at for change in found.changes]] += 1
        flags[found.anomalies] += 1
    for age in ages:
        assert alarms[:age].sum() <= rate * age * n_series
        near = slice(max(0, age - 10), age)
        expected = rate * n_series * 10
        assert flags[near].sum() <= expected + 3 * np.sqrt(expected)
    assert alarms.sum() > 0  # it does raise some
    assert flags[500:].sum() > 0.5 * rate * n_series * 500  # and is not merely silent


@pytest.mark.parametrize(
    "draw",
    [
        lambda rng: rng.normal(size=120),
        lambda rng: rng.standard_t(3, size=120),
        lambda rng: rng.poisson(3.0, size=120).astype(float),
        lambda rng: rng.poisson(0.3, size=120).astype(float),
        lambda rng: 3 * np.sin(np.arange(120) * np.pi / 6) + rng.normal(size=120),
    ],
    ids=["normal", "t3", "counts", "rare counts", "season"],
)
@pytest.mark.parametrize("lags", [1, None])
def test_new_series_raise_no_more_alarms_than_old_ones(
    draw: Callable[[np.random.Generator], Floats], lags: int | None
) -> None:
    """A threshold on the surprise flagged 87 of 1,000 fourth rows."""
    n_series = 200 if lags else 40
    n_changes = n_flags = 0
    for seed in range(n_series):
        trace = Forecaster(lags=lags).run(draw(np.random.default_rng(seed)))
        found = ChangeMonitor(false_alarms=RATE).run(trace.predictive, trace.y)
        n_changes, n_flags = n_changes + len(found.changes), n_flags + len(found.anomalies)
    expected = RATE * 120 * n_series
    bound = expected + 3 * np.sqrt(expected)
    assert n_changes <= bound
    assert n_flags <= bound


def regression(seed: int) -> tuple[Floats, Floats]:
    rng = np.random.default_rng(seed)
    return rng.normal(size=600), 0.3 * rng.normal(size=600)


def first_after(trace: Trace, row: int) -> Change | None:
    return next((change for change in trace.changes() if change.found_at >= row), None)


@pytest.mark.parametrize(
    ("kind", "share", "make"),
    [
        ("slope", 0.6, lambda x, noise: jump(600, 300, 1.0, 3.0) * x + noise),
        ("noise", 0.8, lambda x, noise: x + jump(600, 300, 1.0, 3.0) * noise),
        ("level", 0.8, lambda x, noise: x + jump(600, 300, 0.0, 1.5) + noise),
    ],
)
def test_a_jump_of_a_regression_is_found_soon_and_named(
    kind: str, share: float, make: Callable[[Floats, Floats], Floats]
) -> None:
    found = []
    for seed in range(20):
        x, noise = regression(seed)
        change = first_after(AutoBypass().run(x[:, None], make(x, noise)), 300)
        assert change is not None
        found.append(change)
    assert np.mean([change.found_at < 330 for change in found]) >= 0.9
    assert np.median([abs(change.at - 300) for change in found]) <= 2
    assert np.mean([change.kind == kind for change in found]) >= share


@pytest.mark.parametrize("lags", [1, None])
@pytest.mark.parametrize(
    ("kind", "sign", "make"),
    [
        ("level", 1, lambda y: y + jump(500, 300, 0.0, 5.0)),
        ("level", -1, lambda y: y - jump(500, 300, 0.0, 5.0)),
        ("noise", 1, lambda y: y * jump(500, 300, 1.0, 4.0)),
        ("noise", -1, lambda y: y * jump(500, 300, 4.0, 0.4)),
    ],
)
def test_a_jump_of_a_series_is_found_and_its_direction_is_known(
    lags: int | None, kind: str, sign: int, make: Callable[[Floats], Floats]
) -> None:
    changes = []
    for seed in range(6):
        y = np.random.default_rng(seed).normal(size=500)
        trace = Forecaster(lags=lags).run(make(y))
        changes.append(first_after(trace, 300 - (500 - len(trace))))
    found = [change for change in changes if change is not None and change.found_at < 360]
    assert len(found) >= 5
    assert sum(change.kind == kind and change.size * sign > 0 for change in found) >= 4


@pytest.mark.parametrize("lags", [1, None])
@pytest.mark.parametrize(
    ("kind", "size", "share"),
    [("level", 3.0, 0.9), ("level", 10.0, 0.95), ("level", 20.0, 0.95), ("level", 50.0, 0.95), ("noise", 3.0, 0.9),
     ("noise", 5.0, 0.9)],
)  # fmt: skip
def test_a_clean_jump_keeps_its_name_whatever_its_size(lags: int | None, kind: str, size: float, share: float) -> None:
    names: list[str] = []
    for seed in range(40):
        y = np.random.default_rng(seed).normal(50.0, 1.0, size=300)
        factor, shift = (size, 0.0) if kind == "noise" else (1.0, size)
        y[200:] = 50.0 + factor * (y[200:] - 50.0) + shift
        trace = Forecaster(lags=lags).run(y)
        change = first_after(trace, 200 - (300 - len(trace)))
        if change is not None and change.found_at < 230:
            names.append(change.kind)
    assert names.count(kind) >= share * len(names)
    assert kind == "level" or names.count("level") <= 0.03 * len(names)


def test_a_ramp_is_a_slope_where_the_model_lags_behind() -> None:
    names = []
    for seed in range(40):
        y = np.random.default_rng(seed).normal(50.0, 1.0, size=300)
        y[200:] += 0.5 * np.arange(100)
        trace = Forecaster().run(y)
        change = first_after(trace, 200 - (300 - len(trace)))
        names.append("" if change is None else change.kind)
    assert names.count("slope") >= 0.8 * len(names)


def test_an_anomaly_is_found_once_enough_was_seen() -> None:
    n_found = 0
    for seed in range(20):
        y = np.random.default_rng(seed).normal(size=151)
        y[150] = 8.0
        trace = Forecaster().run(y)
        n_found += len(trace) - 1 in trace.anomalies()
    assert n_found >= 15


def test_any_distribution_can_be_watched_and_points_cannot() -> None:
    x = np.random.default_rng(0).normal(size=(500, 1))
    y = x[:, 0] + 5.0 * (np.arange(500) >= 300) + 0.1
    for model in (Bypass(), AutoBypass()):
        assert any(300 <= change.at <= 305 for change in model.run(x, y).changes())
    with pytest.raises(PointForecastError, match="forecasts a point"):
        PassiveAggressive().run(x, y).changes()


def test_an_atom_that_is_forecast_is_no_evidence() -> None:
    monitor = ChangeMonitor()
    for _ in range(2000):
        assert monitor.update_standardised(0.0, 0.0, 1.0) is None
        assert not monitor.is_anomaly


@pytest.mark.parametrize("damage", [nan, np.inf])
@pytest.mark.parametrize("place", [0, SIZE - 1])
def test_a_damaged_memory_is_refused(place: int, damage: float) -> None:
    memory = np.zeros(SIZE)
    memory[place] = damage
    with pytest.raises(StateError, match="must be finite"):
        ChangeMonitor(memory)


def test_a_memory_of_another_size_or_kind_is_refused() -> None:
    with pytest.raises(StateError, match="shape"):
        ChangeMonitor(np.zeros(3))
    memory = np.zeros(SIZE)
    memory[LAYOUT.position("newest_kind")] = 7.0
    with pytest.raises(StateError, match="damaged"):
        ChangeMonitor(memory)


@pytest.mark.parametrize("rate", [0.0, -0.1, 0.5, 2, "0.1", True, nan])
def test_a_rate_that_is_none_is_refused(rate: object) -> None:
    with pytest.raises(ParameterError, match=r"pass 0\.001 for one in 1,000 rows"):
        ChangeMonitor(false_alarms=rate)  # type: ignore[arg-type]


def test_columns_of_other_lengths_are_refused() -> None:
    trace = standard(10, 0)
    with pytest.raises(ShapeError):
        ChangeMonitor().run(trace.predictive, trace.y, np.zeros(3))


def test_extreme_numbers_leave_a_finite_memory() -> None:
    monitor = ChangeMonitor()
    for value in (1e300, -1e300, 0.0, 5e-324, nan):
        for sd in (1e-300, 1e300, 1.0, 0.0, np.inf):
            for drift in (nan, 0.0, 1e-300, 1e300, np.inf):
                monitor.update_standardised(float(np.clip(value, -38, 38)), value, sd, drift)
    assert np.isfinite(monitor.memory).all()
    assert not isnan(ChangeMonitor(monitor.memory).memory[0])


def test_an_outlier_is_an_anomaly_and_seldom_a_change() -> None:
    """The value before is a feature, so that the model errs a second time."""
    n_changes = n_flags = 0
    for seed in range(20):
        y = np.random.default_rng(seed).normal(size=340)
        y[300] = 12.0
        trace = Forecaster(lags=1).run(y)
        row = 300 - (340 - len(trace))
        n_changes += any(row <= change.found_at for change in trace.changes())
        n_flags += row in trace.anomalies()
    assert n_changes <= 6
    assert n_flags >= 18
