"""Cells become numbers, times and text, whatever library they come from."""

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from adabypass.data import check_increasing, from_frame
from adabypass.errors import (
    BadCellError,
    TimeOrderError,
)
from tests.data import NAN, same


@pytest.mark.parametrize(
    ("cells", "times"),
    [
        (["2014-01-01", "2014-02-28"], np.array(["2014-01-01", "2014-02-28"], "M8[D]")),
        (["2014-01", "2014-02"], np.array(["2014-01", "2014-02"], "M8[M]")),
        (["2014-01-01T05:30", "2014-01-01 06:00"], np.array(["2014-01-01T05:30", "2014-01-01T06:00"], "M8[m]")),
        (["2014-01-01T05:30:00.25"], np.array(["2014-01-01T05:30:00.250"], "M8[ms]")),
        (["2014-01-01T05:30:00,123456789"], np.array(["2014-01-01T05:30:00.123456789"], "M8[ns]")),
        (["1066-10-14T05:30:00.123456789"], np.array(["1066-10-14T05:30:00.123456"], "M8[us]")),
        (["2014-01-01T05:30Z"], np.array(["2014-01-01T05:30"], "M8[m]")),
        (
            ["2014-01-01T05:30+02:00", "2014-01-01T05:30-0130"],
            np.array(["2014-01-01T03:30", "2014-01-01T07:00"], "M8[m]"),
        ),
        (["20140131", "20140201"], np.array(["2014-01-31", "2014-02-01"], "M8[D]")),
        (["20140131", "20140132"], np.array([20140131, 20140132])),
        (["622", "623"], np.array([622, 623])),
        (["1949.0", "1949.25"], np.array([1949.0, 1949.25])),
    ],
)
def test_times_are_read(cells: list[str], times: Any) -> None:
    found = from_frame({"t": cells}).times("t")
    assert found.dtype == times.dtype
    assert found.tolist() == times.tolist()


@pytest.mark.parametrize(
    ("cells", "words"),
    [
        (["2014-01-01", "01/02/2014"], 'row 2, column "t": "01/02/2014" is not a time; write times as in 2014-02-01'),
        (["2014-01-01", "2014-02-30"], 'row 2, column "t": "2014-02-30" is not in the calendar'),
        (["2014-01-01", ""], 'row 2, column "t": is blank, but every row needs a time'),
        (["2014-01-01", None], 'row 2, column "t": is blank'),
        (["1", "inf"], 'row 2, column "t": "inf" is no time'),
        (["1", "now"], 'row 1, column "t": "1" is not a time'),
        (["2014-01-01T00:00Z", "2014-01-01T01:00"], 'row 2, column "t": .* has no zone, unlike the rows before it'),
        ([True, False], 'row 1, column "t": True is not a time'),
        (np.array(["2014-01-01", "NaT"], "M8[D]"), 'row 2, column "t": NaT is no time'),
        (np.array([1.0, NAN]), 'row 2, column "t": nan is no time'),
    ],
)
def test_what_is_no_time_is_named(cells: Any, words: str) -> None:
    with pytest.raises(BadCellError, match=words):
        from_frame({"t": cells}).times("t")


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({"y": pd.array([1, None, 3], dtype="Int64")}),
        pd.DataFrame({"y": pd.array([1, None, 3], dtype="Float64")}),
        pd.DataFrame({"y": [1, pd.NA, 3]}, dtype=object),
        pd.DataFrame({"y": ["1", "NA", "3.0"]}),
        pd.DataFrame({"y": pd.array([1, None, 3], dtype="int64[pyarrow]")}),
        pd.DataFrame({"y": pd.Categorical([1, None, 3])}),
        pl.DataFrame({"y": pl.Series([1, None, 3], dtype=pl.Int32)}),
        pl.DataFrame({"y": pl.Series([1, None, 3], dtype=pl.Decimal(10, 2))}),
        pl.DataFrame({"y": [1.0, NAN, 3.0]}),
        pa.table({"y": pa.chunked_array([[1], [None, 3]])}),
        pa.table({"y": pa.chunked_array([[1.0, None], [], [3.0]])}),
        pa.table({"y": pa.array(["1", None, "3"]).dictionary_encode()}),
        {"y": np.ma.masked_equal([1, 2, 3], 2)},
        {"y": [1, None, 3]},
        {"y": pd.Series([1, None, 3], dtype="Int64", index=[5, 6, 7])},
    ],
)
def test_whatever_stands_for_a_missing_number_is_nan(frame: Any) -> None:
    assert same(from_frame(frame).numbers("y"), [1, NAN, 3])


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({"t": pd.to_datetime(["2014-01-01 01:00", "2014-07-01 02:00"]).tz_localize("Europe/Paris")}),
        pl.DataFrame({"t": ["2014-01-01 01:00", "2014-07-01 02:00"]}).with_columns(
            pl.col("t").str.to_datetime(time_zone="Europe/Paris")
        ),
        {"t": ["2014-01-01T01:00+01:00", "2014-07-01T02:00+02:00"]},
        {"t": list(pd.to_datetime(["2014-01-01 01:00", "2014-07-01 02:00"]).tz_localize("Europe/Paris"))},
    ],
)
def test_zones_are_converted_to_utc(frame: Any) -> None:
    assert [str(time)[:16] for time in from_frame(frame).times("t")] == ["2014-01-01T00:00", "2014-07-01T00:00"]


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({"id": pd.Categorical(["b", "a", "b"])}),
        pl.DataFrame({"id": pl.Series(["b", "a", "b"], dtype=pl.Categorical)}),
        pa.table({"id": pa.array(["b", "a", "b"]).dictionary_encode()}),
        {"id": np.array(["b", "a", "b"])},
    ],
)
def test_categories_are_text(frame: Any) -> None:
    assert from_frame(frame).text("id") == ["b", "a", "b"]


def test_dates_of_frames_are_days() -> None:
    days = np.array(["2014-01-01", "2014-01-02"], "M8[D]")
    for frame in (pl.DataFrame({"t": days}), pa.table({"t": days}), {"t": days.tolist()}):
        assert (from_frame(frame).times("t") == days).all()
    assert (from_frame({"t": pd.period_range("2014-01", periods=2, freq="M")}).times("t")).tolist() == np.array(
        ["2014-01", "2014-02"], "M8[M]"
    ).tolist()


@pytest.mark.parametrize("column", [np.array(["2014-01-01"], "M8[D]"), np.array([1j]), np.array([5], "m8[s]"), ["a"]])
def test_columns_of_other_things_are_not_numbers(column: Any) -> None:
    with pytest.raises(BadCellError, match=r'row 1, column "y": .* is not a number'):
        from_frame({"y": column}).numbers("y")


def test_times_must_increase() -> None:
    check_increasing(np.array([1, 2, 5]), "t")
    with pytest.raises(TimeOrderError, match='row 3, column "t": 2 is also the time of row 2; keep one row'):
        check_increasing(np.array([1, 2, 2, 1]), "t")
    days = np.array(["2014-01-02", "2014-01-03", "2014-01-01"], "M8[D]")
    with pytest.raises(TimeOrderError, match='row 9, column "t": 2014-01-01 is earlier than 2014-01-03 in row 4; sort'):
        check_increasing(days, "t", rows=[1, 4, 9])
