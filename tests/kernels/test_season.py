"""A forecaster that finds its period: beside the search's reference, and beside forecasters that were given it."""

import threading
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adabypass import Forecaster, Panel, from_bytes
from adabypass.errors import StateError
from adabypass.kernels.pool import PoolRunner
from adabypass.kernels.season import SeasonRunner
from adabypass.reference import season as reference
from adabypass.state import season as design
from adabypass.state.pool import PoolSpec
from adabypass.state.season import LAYOUT, SeasonSpec
from tests.strategies import examples


@st.composite
def series(draw: st.DrawFn, max_length: int = 500) -> np.ndarray:
    """A series with a season that may begin, change and end; with trends, walks, gaps, outliers, equal values."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n = draw(st.integers(1, max_length))
    t = np.arange(n)
    y = rng.normal(size=n)
    if draw(st.booleans()):
        y = y.cumsum()
    for _ in range(draw(st.integers(0, 2))):
        period, start = draw(st.integers(2, 60)), draw(st.integers(0, n))
        pattern = rng.normal(size=period) if draw(st.booleans()) else np.sin(2 * np.pi * np.arange(period) / period)
        y += np.where(t >= start, draw(st.sampled_from([1.0, 10.0])) * pattern[t % period], 0.0)
    y += draw(st.sampled_from([0.0, 0.1, 100.0])) * t
    if draw(st.booleans()):
        y[rng.uniform(size=n) < draw(st.sampled_from([0.01, 0.3]))] = np.nan
    if draw(st.booleans()):
        y[rng.integers(0, n, 3)] = 1e6
    if draw(st.booleans()):
        y = np.round(y)
    return y * draw(st.sampled_from([1.0, 1e-200, 1e200]))


def periods(y: np.ndarray) -> list[int]:
    """Return the period after each observation, by the compiled search."""
    spec = SeasonSpec()
    runner = SeasonRunner(spec, spec.new_row())
    found = []
    for value in y.tolist():
        runner.update(None, value)
        found.append(runner.period)
    return found


@examples(60)
@given(series())
def test_the_compiled_search_is_the_reference(y: np.ndarray) -> None:
    now = 0
    for n, period in enumerate(periods(y), 1):
        if reference.is_due(n):
            past = y[:n]
            wanted = reference.find_period(past, now)
            if wanted != period:  # two candidates may be equal but for rounding
                evidence = reference.evidence(past)
                assert evidence is not None
                bars = [evidence.get(each, 0.0) for each in (wanted, period)]
                assert bars[0] == pytest.approx(bars[1], rel=1e-7, abs=1e-6) or near_the_bar(evidence, past, now)
        now = period


def near_the_bar(evidence: dict[int, float], past: np.ndarray, now: int) -> bool:
    """Whether the best period is taken or not by rounding alone."""
    bar = design.MIN_EVIDENCE + np.log(len(past) // design.PERIODS_SEEN)
    bar = max(bar, evidence[now] + design.MIN_GAIN) if now in evidence else bar
    return bool(abs(max(evidence.values()) - bar) < 1e-6)


@examples(25)
@given(series(), st.sampled_from([-np.inf, 0.0]))
def test_a_found_period_is_as_good_as_a_given_one(y: np.ndarray, low: float) -> None:
    """To the bit, from the step on in which it is found: in the row, and in what is forecast."""
    spec = SeasonSpec(support=(low, np.inf))
    runner = SeasonRunner(spec, spec.new_row())
    runner.run(np.empty((len(y), 0)), y, False, False)
    found_at = int(LAYOUT.scalar(runner.row, "found_at"))
    told = PoolRunner(spec.pool(runner.period), spec.pool(runner.period).new_row())
    start = max(0, found_at - design.N_PAST)
    told.run(np.empty((len(y) - start, 0)), y[start:], False, False)
    inner, row = spec.current(runner.row)
    assert inner == told.spec
    assert row.tobytes() == told.row.tobytes()
    if np.isnan(y).all():
        return
    own, other = runner.predict(None), told.predict(None)
    np.testing.assert_allclose(own.mean, other.mean, rtol=1e-12)
    np.testing.assert_allclose(own.quantile([0.01, 0.5, 0.99]), other.quantile([0.01, 0.5, 0.99]), rtol=1e-7)
    frozen, beside = runner.freeze(None), told.freeze(None)
    assert frozen.row.tobytes() == beside.row.tobytes()


@pytest.mark.parametrize("missing", ["mean", "last"])
def test_exogenous_columns_are_learned_again_too(missing: str) -> None:
    rng, t = np.random.default_rng(0), np.arange(200)
    x = rng.normal(size=(200, 2))
    x[rng.uniform(size=x.shape) < 0.1] = np.nan
    y = 5.0 * np.sin(2 * np.pi * t / 12) + np.nan_to_num(x) @ [1.0, -2.0] + rng.normal(size=200)
    spec = SeasonSpec(2, missing)  # type: ignore[arg-type]
    runner = SeasonRunner(spec, spec.new_row(), lambda values, n: np.asarray(values))
    told = PoolRunner(spec.pool(12), spec.pool(12).new_row(), lambda values, n: np.asarray(values))
    runner.run(x, y, False, False)
    told.run(x, y, False, False)
    assert runner.period == 12
    assert spec.current(runner.row)[1].tobytes() == told.row.tobytes()


def test_a_runner_goes_from_row_to_row() -> None:
    """As in a panel: rows of different periods, moved in turn by one runner."""
    t, rng, spec = np.arange(150), np.random.default_rng(0), SeasonSpec()
    every = [9.0 * np.sin(2 * np.pi * t / p) + rng.normal(size=150) for p in (4, 12, 7)] + [rng.normal(size=150)]
    panel, singles = Panel(), [Forecaster() for _ in every]
    for i in range(150):
        panel.update(["a", "b", "c", "d"], [y[i] for y in every])
    for single, y in zip(singles, every, strict=True):
        single.learn(y)
    assert [single.period for single in singles] == [(4,), (12,), (7,), ()]
    for each, single in zip("abcd", singles, strict=True):
        assert panel[each].to_bytes() == single.to_bytes()
    assert spec.row_size == SeasonSpec().row_size


@pytest.mark.parametrize("period", range(design.MIN_PERIOD, design.MAX_PERIOD + 1))
def test_every_period_fits_into_the_row(period: int) -> None:
    spec = SeasonSpec()
    pool = spec.pool(period)
    assert pool.row_size <= spec.pool_size
    slots = spec.slots(period)
    assert len(set(slots.tolist())) == len(slots) == len(pool.structures.structures)
    for k, each in zip(slots, pool.structures.structures, strict=True):
        assert spec.widest.structures.structures[k].is_log == each.is_log


def test_an_error_while_a_pool_is_made_leaves_all_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the error is: in an update, in a run, in a panel."""
    t = np.arange(60)
    y = 9.0 * np.sin(2 * np.pi * t / 12) + np.random.default_rng(0).normal(size=60)
    forecaster, panel = Forecaster(), Panel(n_threads=1)
    forecaster.learn(y[:40])
    panel.update(["a"] * 40, y[:40])
    before, ready = forecaster.to_bytes(), SeasonSpec.pool

    def pool(self: SeasonSpec, period: int) -> PoolSpec:
        if period:
            raise RecursionError
        return ready(self, period)

    with monkeypatch.context() as patch:
        patch.setattr(SeasonSpec, "pool", pool)
        with pytest.raises(RecursionError):
            forecaster.run(y[40:])
        assert forecaster.to_bytes() == before
        for value in y[40:47]:
            forecaster.update(value)
        with pytest.raises(RecursionError):
            forecaster.update(y[47])
        with pytest.raises(RecursionError):
            panel.update(["a"] * 20, y[40:])
    assert forecaster.n_seen == panel.n_seen[0] == 47  # the one that brings the season to light was not learned
    assert from_bytes(panel.to_bytes())["a"].to_bytes() == forecaster.to_bytes()
    forecaster.learn(y[47:])
    panel.update(["a"] * 13, y[47:])
    whole = Forecaster()
    whole.learn(y)
    assert panel["a"].to_bytes() == forecaster.to_bytes() == whole.to_bytes()


def test_copies_are_of_one_moment() -> None:
    """While another thread updates: the head of a row, and the pool in it, have seen the same."""
    forecaster, is_over = Forecaster(), threading.Event()
    forecaster.learn(np.random.default_rng(0).normal(size=200))

    def update() -> None:
        rng = np.random.default_rng(1)
        while not is_over.is_set():
            forecaster.update(rng.normal())

    thread = threading.Thread(target=update)
    thread.start()
    try:
        for _ in range(300):
            runner: Any = forecaster.copy()._runner
            spec, row = runner.spec.current(runner.row)
            assert row[0] == spec.structures.view(row, "n_steps") == LAYOUT.scalar(runner.row, "n_steps")
            from_bytes(forecaster.to_bytes())
    finally:
        is_over.set()
        thread.join()


def test_steps_are_counted_beyond_their_limit() -> None:
    spec = SeasonSpec()
    runner = SeasonRunner(spec, spec.new_row())
    runner.run(np.empty((2000, 0)), np.random.default_rng(0).normal(size=2000), False, False)
    row = runner.row
    row[LAYOUT.position("n_steps")] += design.MAX_STEPS - 2048 - 2000 + 2000 - 1
    before = row[LAYOUT.position("n_steps")]
    spec.check_row(row)
    for value in range(2100):
        runner.update(None, float(value % 7))
    spec.check_row(runner.row)
    assert runner.row[LAYOUT.position("n_steps")] < before
    row[LAYOUT.position("n_steps")] = design.MAX_STEPS
    with pytest.raises(StateError, match="n_steps"):
        spec.check_row(row)


def test_ten_thousand_steps_without_a_season_have_none() -> None:
    y = np.random.default_rng(0).normal(size=10_000).cumsum()
    assert not any(periods(y))
