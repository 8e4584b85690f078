"""A series that is kept as bytes between batches answers as one forecaster that sees all rows; no engine is needed."""

import itertools
import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pytest import approx

from adabypass import AdaBypass, Forecaster, PassiveAggressive
from adabypass.adapters.keyed_series import KeyedForecaster, KeyedState, Rows
from adabypass.errors import StateError
from adabypass.snapshots import versions
from adabypass.snapshots.container import Snapshot, encode, from_bytes
from tests.snapshots.cases import stream
from tests.snapshots.golden import FOLDER, N_AFTER
from tests.snapshots.test_golden import ANOTHER_MACHINE

RNG = np.random.default_rng(4)
N = 40
Y = np.where(np.arange(N) % 9 == 5, np.nan, RNG.normal(size=N).cumsum() + 5)
X = RNG.normal(size=(N, 2))
LEVELS = (0.5, 0.9)
FORECASTERS: dict[str, Callable[[], Forecaster]] = {
    "lags": lambda: Forecaster(lags=2),
    "paper": lambda: Forecaster(AdaBypass(), lags=[1, 3], difference=1),
    "point": lambda: Forecaster(PassiveAggressive(), lags=1),
    "automatic": Forecaster,
    "seasonal": lambda: Forecaster(period=7),
}


def rows(time: Any, y: Any, exog: Any = None) -> Rows:
    return Rows(np.asarray(time, np.int64), np.asarray(y, float), exog)


def in_batches(keyed: KeyedForecaster, series: Rows, bounds: list[int]) -> tuple[dict[str, list[Any]], KeyedState]:
    """Answer a series batch after batch; return the answers of all, and the last state."""
    state, parts = None, []
    for start, stop in itertools.pairwise([0, *bounds, len(series.time)]):
        part = rows(series.time[start:stop], series.y[start:stop])
        found = keyed.answer(state, part)
        assert found is not None
        state = found.state
        parts.append({"time": found.time, **found.columns})
    assert state is not None
    return {name: np.concatenate([part[name] for part in parts]).tolist() for name in parts[0]}, state


@pytest.mark.parametrize("name", FORECASTERS)
@pytest.mark.parametrize("bounds", [[], [1], [13, 14, 30], list(range(1, N))])
def test_answers_are_those_of_one_forecaster_however_rows_are_divided(name: str, bounds: list[int]) -> None:
    own = FORECASTERS[name]()
    found, state = in_batches(KeyedForecaster(FORECASTERS[name](), LEVELS), rows(range(N), Y), bounds)
    for i in range(N):
        forecast = own.step(Y[i])
        if forecast is None or not forecast.is_known:
            assert np.isnan(found["mean"][i])
        else:
            assert found["mean"][i] == forecast.mean
            if name != "point":
                assert (found["lower_90"][i], found["upper_90"][i]) == forecast.interval(0.9)
                assert found["sd"][i] == forecast.sd
    assert state.snapshot == own.to_bytes()
    assert state.time == N - 1


def test_exogenous_values_go_with_their_rows() -> None:
    shuffled = RNG.permutation(N)
    keyed = KeyedForecaster(Forecaster(lags=1, missing="last"), LEVELS)
    found = keyed.answer(None, Rows(shuffled, Y[shuffled], X[shuffled]))
    assert found is not None
    own = Forecaster(lags=1, missing="last")
    own.run(Y, X)
    assert found.state.snapshot == own.to_bytes()
    assert found.time.tolist() == list(range(N))


def test_late_rows_and_duplicates_are_dropped_and_counted_once() -> None:
    keyed = KeyedForecaster(Forecaster(lags=1), LEVELS)
    first = keyed.answer(None, rows([3, 1, 1, 2, 3], [0.3, 0.1, 0.1, 0.2, 0.3]))
    assert first is not None
    assert (first.time.tolist(), first.columns["n_duplicate"].tolist()) == ([1, 2, 3], [2, 0, 0])
    nothing = keyed.answer(first.state, rows([2, 3, 1, 1], [9.0, 9.0, 9.0, 9.0]))
    assert nothing is not None
    assert nothing.time.tolist() == [3]
    assert (nothing.columns["n_late"].tolist(), nothing.columns["n_duplicate"].tolist()) == ([3], [1])
    assert all(np.isnan(nothing.columns[name]).all() for name in ("y", *keyed.names))
    assert nothing.state == first.state
    last = keyed.answer(nothing.state, rows([0, 4, 5], [9.0, 0.4, 0.5]))
    assert last is not None
    assert (last.columns["n_late"].tolist(), last.columns["n_duplicate"].tolist()) == ([1, 0], [0, 0])
    own = Forecaster(lags=1)
    own.run([0.1, 0.2, 0.3, 0.4, 0.5])
    assert last.state == KeyedState(own.to_bytes(), 5, 0, 0)


@settings(max_examples=60)
@given(
    batches=st.lists(st.lists(st.integers(0, 12), min_size=1, max_size=6), min_size=1, max_size=8),
    horizon=st.sampled_from([None, 2]),
)
def test_every_row_is_learned_or_counted_in_the_batch_that_brings_it(
    batches: list[list[int]], horizon: int | None
) -> None:
    keyed, state, n_learned = KeyedForecaster(Forecaster(lags=1), LEVELS, horizon=horizon), None, 0
    for times in batches:
        found = keyed.answer(state, rows(times, np.ones(len(times))))
        assert found is not None
        before = -1 if state is None else state.time
        fresh = len({each for each in times if each > before})
        n_dropped = int(found.columns["n_late"].sum() + found.columns["n_duplicate"].sum())
        assert n_dropped == len(times) - fresh
        assert (found.state.n_late, found.state.n_duplicate) == (0, 0)
        if horizon is None:
            assert len(found.time) == fresh + (fresh == 0)
        state, n_learned = found.state, n_learned + fresh


def test_counts_of_a_state_that_was_kept_before_are_not_lost() -> None:
    keyed = KeyedForecaster(Forecaster(lags=1), LEVELS)
    first = keyed.answer(None, rows([1, 2], [0.1, 0.2]))
    assert first is not None
    found = keyed.answer(first.state._replace(n_late=5, n_duplicate=2), rows([0], [1.0]))
    assert found is not None
    assert (found.columns["n_late"].tolist(), found.columns["n_duplicate"].tolist()) == ([6], [2])


def test_rows_of_one_time_give_one_answer_in_any_order() -> None:
    """A batch that is done again after a crash may come in another order, and must give the same answer."""
    keyed = KeyedForecaster(Forecaster(lags=1), LEVELS)
    batch = [(1, 0.1), (2, np.nan), (2, 7.0), (2, 5.0), (3, 0.3)]
    found = {keyed.answer(None, rows(*zip(*order, strict=True))).state for order in itertools.permutations(batch)}  # type: ignore[union-attr]
    own = Forecaster(lags=1)
    own.run([0.1, 5.0, 0.3])
    assert found == {KeyedState(own.to_bytes(), 3, 0, 0)}


def test_gaps_are_missing_observations_where_the_span_is_known() -> None:
    time = 60 * np.flatnonzero(~np.isnan(Y)) + RNG.integers(-9, 10, size=np.count_nonzero(~np.isnan(Y)))
    seen = Y[~np.isnan(Y)]
    for bounds in ([], [5, 6, 20]):
        _, state = in_batches(KeyedForecaster(Forecaster(lags=2), LEVELS, span=60.0), rows(time, seen), bounds)
        own = Forecaster(lags=2)
        for value in Y:
            own.update(value)
        assert state.snapshot == own.to_bytes()
    _, state = in_batches(KeyedForecaster(Forecaster(lags=2), LEVELS), rows(time, seen), [])
    assert state.snapshot != own.to_bytes()


def test_a_series_starts_anew_after_a_very_long_gap() -> None:
    keyed = KeyedForecaster(Forecaster(lags=1), LEVELS, span=1.0)
    time = [*range(10), *range(1010, 1020)]
    longest, _ = in_batches(keyed, rows(time, Y[:20]), [])
    assert np.isnan(longest["mean"][0])
    assert np.isfinite(longest["mean"][10])
    time = [*range(10), *range(1011, 1021)]
    found, state = in_batches(keyed, rows(time, Y[:20]), [10])
    assert np.isnan(found["mean"][10])
    own = Forecaster(lags=1)
    own.run(Y[10:20])
    assert state.snapshot == own.to_bytes()


def test_steps_ahead_are_those_of_the_forecaster() -> None:
    keyed = KeyedForecaster(Forecaster(lags=2), LEVELS, horizon=3)
    early = keyed.answer(None, rows([1], [1.0]))
    assert early is not None
    assert (len(early.time), early.state.time) == (0, 1)
    found = keyed.answer(early.state, rows([0, *range(2, 30)], Y[:29]))
    assert found is not None
    own = Forecaster(lags=2)
    own.run([1.0, *Y[1:29]])
    assert found.time.tolist() == [29] * 3
    expected = {"step": [1, 2, 3], **{name: each.tolist() for name, each in own.forecast(3).columns(LEVELS).items()}}
    expected |= {"n_late": [1, 0, 0], "n_duplicate": [0, 0, 0]}
    assert {name: each.tolist() for name, each in found.columns.items()} == expected
    assert list(found.columns) == ["step", *keyed.names, "n_late", "n_duplicate"]


@pytest.mark.parametrize(
    "path", sorted(FOLDER.glob("format-*/forecaster.safetensors")), ids=lambda path: path.parent.name
)
def test_the_state_of_an_earlier_version_goes_on(path: Any) -> None:
    """The bytes of a file that was saved in the past, as a state store holds them."""
    expected = json.loads((path.parent / "answers.json").read_text())["forecaster"]
    keyed = KeyedForecaster(Forecaster(lags=1), LEVELS)
    _, y = stream(N_AFTER, seed=1)
    found = keyed.answer(KeyedState(path.read_bytes(), 59, 0, 0), rows(range(60, 60 + N_AFTER), y))
    assert found is not None
    means = [float.fromhex(pair[0]) for pair in expected]
    assert found.columns["mean"].tolist() == approx(means, rel=ANOTHER_MACHINE)
    assert found.columns["sd"].tolist() == approx(
        np.sqrt([float.fromhex(pair[1]) for pair in expected]), rel=ANOTHER_MACHINE
    )


def test_state_of_an_older_format_is_upgraded_and_of_a_newer_one_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def in_format(number: int) -> KeyedState:
        snapshot = from_bytes(own.to_bytes())
        return KeyedState(b"".join(encode({**snapshot.header, "format": number}, snapshot.arrays)), 9, 0, 0)

    def upgrade(snapshot: Snapshot) -> Snapshot:
        return snapshot._replace(header={**snapshot.header, "format": versions.FORMAT})

    own = Forecaster(lags=1)
    own.run(Y[:10])
    keyed, new = KeyedForecaster(Forecaster(lags=1), LEVELS), rows([10], [1.0])
    older = versions.FORMAT - 1
    with pytest.raises(StateError, match=f"is in format {older}"):
        keyed.answer(in_format(older), new)
    with pytest.raises(StateError, match="install a newer version of adabypass"):
        keyed.answer(in_format(versions.FORMAT + 1), new)
    monkeypatch.setattr(versions, "OLDEST_FORMAT", older)
    monkeypatch.setattr(versions, "UPGRADES", {older: upgrade})
    upgraded, newest = (keyed.answer(in_format(number), new) for number in (older, versions.FORMAT))
    assert upgraded is not None
    assert newest is not None
    assert upgraded.state == newest.state
