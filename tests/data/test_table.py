"""Data frames go in and come out as their own kind."""

import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from adabypass.data import from_frame, read_table
from adabypass.errors import (
    TableError,
    UnknownNameError,
)
from tests.data import NAN, same, saved


def test_an_unknown_column_is_answered_with_the_nearest(tmp_path: Path) -> None:
    table = read_table(saved(tmp_path, "date,temp\n1,2\n"))
    with pytest.raises(UnknownNameError, match=r'"tmep"; did you mean "temp"\? The columns are "date", "temp"'):
        table.numbers("tmep")
    with pytest.raises(UnknownNameError, match='no column "y"; the columns are "date", "temp"'):
        table.text("y")


FRAMES = pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table], ids=["pandas", "polars", "pyarrow"])


@FRAMES
def test_frames_give_their_columns_and_get_their_own_kind_back(make: Any) -> None:
    time = np.array(["2014-01-01T00:00", "2014-01-01T00:10", "2014-01-01T00:20"], "M8[ms]")
    frame = make({"time": time, "y": [1.5, None, 2.5], "k": [1, 2, 3], "id": ["a", "b", None]})
    table = from_frame(frame)
    assert table.names == ["time", "y", "k", "id"]
    assert (table.times("time") == time).all()
    assert same(table.numbers("y"), [1.5, NAN, 2.5])
    assert same(table.numbers("k"), [1, 2, 3])
    assert table.times("k").tolist() == [1, 2, 3]
    assert table.text("id") == ["a", "b", ""]
    assert table.text("k") == ["1", "2", "3"]
    back = table.like(
        {"time": time.astype("M8[m]"), "mean": np.array([0.1, -0.0, NAN]), "id": np.array(["a", "b", "c"])}
    )
    assert type(back) is type(frame)
    again = from_frame(back)
    assert (again.times("time") == time).all()
    assert same(again.numbers("mean"), [0.1, -0.0, NAN])
    assert again.text("id") == ["a", "b", "c"]


@FRAMES
def test_months_go_into_frames_as_their_first_days(make: Any) -> None:
    table = from_frame(make({"y": [1.0]}))
    back = from_frame(table.like({"month": np.array(["2014-02"], "M8[M]")}))
    assert back.times("month") == np.datetime64("2014-02-01")


def test_a_named_index_of_pandas_is_a_column() -> None:
    frame = pd.DataFrame({"y": [1.0, 2.0]}, index=pd.date_range("2014-01-01", periods=2, name="date"))
    table = from_frame(frame)
    assert table.names == ["date", "y"]
    assert str(table.times("date")[1])[:10] == "2014-01-02"
    assert from_frame(frame.rename_axis("y")).names == ["y"]
    assert list(frame.columns) == ["y"]


@pytest.mark.parametrize(
    ("frame", "words"),
    [
        (np.zeros((3, 2)), r"an array of shape \(3, 2\) has no column names; pass a data frame, or a dict"),
        (pl.LazyFrame({"y": [1]}), "collect a lazy frame"),
        (pd.Series([1.0]), "make a frame of a series"),
        ([1, 2], "a Python list came"),
        (pd.DataFrame({"y": []}), "no rows"),
        (pd.DataFrame(), "has no columns"),
        ({}, "has no columns"),
        ({"x": [1], "y": [1, 2]}, "different lengths: {'x': 1, 'y': 2}"),
        ({"x": np.zeros((2, 2))}, r'column "x" has shape \(2, 2\)'),
        ({"": [1]}, "column 1 has no name"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), 'two columns are named "a"; rename one'),
        (pa.table([[1], [2]], names=["a", "a"]), 'two columns are named "a"; rename one'),
    ],
)
def test_what_is_no_frame_is_refused(frame: Any, words: str) -> None:
    with pytest.raises(TableError, match=words):
        from_frame(frame)


def test_whole_numbers_as_column_names_are_named_by_their_digits() -> None:
    assert same(from_frame(pd.DataFrame([[1.0, 2.0]])).numbers("1"), [2.0])


def test_a_hundred_thousand_columns_are_checked_in_a_moment(tmp_path: Path) -> None:
    names = [f"c{i}" for i in range(100_000)]
    path = saved(tmp_path, ",".join(names) + "\n" + ",".join("1" * len(names)) + "\n")
    start = time.process_time()
    table = read_table(path)
    assert time.process_time() - start < 2
    assert table.numbers("c99999") == [1]
    start = time.process_time()
    with pytest.raises(UnknownNameError, match='no column "y"'):
        table.numbers("y")
    from_frame({name: [1.0] for name in names})
    with pytest.raises(TableError, match='columns 1 and 100001 are both named "c0"'):
        read_table(saved(tmp_path, ",".join([*names, "c0"]) + "\n"))
    assert time.process_time() - start < 2
