"""Rows of many series: what is kept after each observation, and calls that would leave the memory of a row."""

from typing import Any

import numpy as np
import pytest

from adabypass import Forecaster
from adabypass.kernels.rows import RowStore, step_rows
from adabypass.panel.learning import NO_ROWS, NOTHING
from adabypass.panel.panel import Panel
from tests.cli.one_by_one import row_of


def call(panel: Panel, y: Any, watched: Any, learned: Any) -> None:
    """Learn observations of the first row."""
    (runner,), rows = panel._workers(1), panel._rows
    assert rows is not None
    n = len(y)
    step_rows(
        runner, rows.store, np.array([0]), np.array([0, n]), np.arange(n), np.array(y), np.empty((n, 0)),
        NO_ROWS[:, :0], np.empty((0, runner.n_record)), np.zeros(1, np.intp), watched, learned,
    )  # fmt: skip


def test_watched_numbers_are_those_of_the_row_after_each_observation() -> None:
    y = np.random.default_rng(0).normal(size=50).cumsum()
    panel, forecaster = Panel(Forecaster(lags=1), ids=["a"]), Forecaster(lags=1)
    assert panel._rows is not None
    watched = np.array([panel._rows.store.row_size - 1, 3, 0])
    learned = np.full((50, 3), np.nan)
    call(panel, y, watched, learned)
    expected = np.empty((50, 3))
    for t, each in enumerate(y.tolist()):
        forecaster.step(each)
        expected[t] = row_of(forecaster)[watched]
    assert np.array_equal(learned, expected, equal_nan=True)
    assert len({*learned[:, 1].tolist(), *learned[:, 0].tolist()}) > 10, "numbers that never change show nothing"


def test_numbers_that_a_row_does_not_have_are_refused() -> None:
    panel = Panel(Forecaster(lags=1), ids=["a"])
    assert panel._rows is not None
    before = panel._rows.store.row(0).copy()
    for at in (-1, panel._rows.store.row_size):
        with pytest.raises(IndexError, match=f"no number {at} of a row"):
            call(panel, [1.0], np.array([at]), np.empty((1, 1)))
    for shape in ((0, 1), (2, 1), (1, 2)):
        with pytest.raises(ValueError, match="room for the numbers that are watched"):
            call(panel, [1.0], np.array([0]), np.empty(shape))
    assert np.array_equal(panel._rows.store.row(0), before, equal_nan=True)
    call(panel, [1.0], NOTHING, NO_ROWS)
    assert not np.array_equal(panel._rows.store.row(0), before, equal_nan=True)


def test_a_store_has_the_rows_that_were_added() -> None:
    store = RowStore(3, 2)
    store.add_block(np.empty(store.block_size))
    assert store.append(np.arange(3.0), 2) == 0
    store.row(1)[0] = 7.0
    assert [store.row(i).tolist() for i in range(2)] == [[0.0, 1.0, 2.0], [7.0, 1.0, 2.0]]
    with pytest.raises(IndexError, match="no row 2"):
        store.row(2)
