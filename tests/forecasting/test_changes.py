"""Alarms as rows arrive: few without a change, one soon after it, and the same after a restart."""

import numpy as np
import pytest

from adabypass import Forecaster
from adabypass.errors import StateError
from adabypass.forecasting.changes import GAP, SIZE, ChangeMonitor
from adabypass.results.trace import Trace
from adabypass.validation import Floats


def alarms(trace: Trace) -> list[tuple[int, str]]:
    monitor = ChangeMonitor()
    found = []
    pairs = zip(trace.history["drift"].tolist(), trace.history["noise_scale"].tolist(), strict=True)
    for number, (drift, scale) in enumerate(pairs):
        kind = monitor.update(drift, scale)
        if kind is not None:
            found.append((number, kind))
    return found


def noise(n: int, seed: int) -> Floats:
    return np.random.default_rng(seed).normal(size=n)


def test_alarms_come_within_the_gap_after_a_change_that_a_trace_finds_too() -> None:
    y = noise(1500, 1) * np.where(np.arange(1500) < 700, 1.0, 6.0)
    trace = Forecaster(lags=1).run(y)
    found = [number for number, kind in alarms(trace) if kind == "noise" and 690 <= number < 760]
    listed = [change.at for change in trace.changes() if change.kind == "noise" and 680 <= change.at < 740]
    assert len(found) == len(listed) == 1
    assert 0 <= found[0] - listed[0] <= GAP


def test_false_alarms_are_as_rare_as_those_of_a_trace() -> None:
    n = 20_000
    trace = Forecaster(lags=1).run(noise(n, 2), keep_predictive=False)
    assert len(alarms(trace)) <= n / 500


def test_a_monitor_goes_on_from_its_memory() -> None:
    rng = np.random.default_rng(3)
    values = np.exp(rng.normal(size=(400, 2)).cumsum(axis=0) / 5.0).tolist()
    whole = ChangeMonitor()
    expected = [whole.update(*each) for each in values]
    assert any(expected)
    for cut in range(0, 400, 37):
        first = ChangeMonitor()
        found = [first.update(*each) for each in values[:cut]]
        second = ChangeMonitor(first.memory)
        found += [second.update(*each) for each in values[cut:]]
        assert found == expected
        assert second.memory.tobytes() == whole.memory.tobytes()


def test_rounding_does_not_add_up() -> None:
    monitor = ChangeMonitor()
    for _ in range(5000):
        monitor.update(1e-3, 1e100)
        monitor.update(1e3, 1e-100)
    for _ in range(200):
        assert monitor.update(1.0, 1.0) in (None, "drift", "noise")
    assert monitor.update(1.0, 1.0) is None


@pytest.mark.parametrize("place", [-1.0, 60.0, 0.5, np.nan, np.inf])
def test_a_memory_that_points_outside_is_refused(place: float) -> None:
    memory = np.zeros(SIZE)
    memory[1] = place
    with pytest.raises(StateError):
        ChangeMonitor(memory)


def test_the_direction_of_a_change_is_known() -> None:
    for before, after in ((1.0, 10.0), (10.0, 1.0)):
        monitor, found = ChangeMonitor(), []
        for i in range(300):
            found.append(monitor.update(0.1, before if i < 150 else after))
        assert found.index("noise") >= 150
        assert monitor.is_rise is (after > before)
