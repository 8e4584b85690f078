"""Columns keep apart: no name is overwritten, no row is without an id, an index of dates is used."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from adabypass import forecast, load_dataset
from adabypass.errors import BadCellError, IrregularTimeError, ParameterError

Y = load_dataset("nile").y[:30]
DAYS = pd.date_range("2024-01-01", periods=30, freq="D")


@pytest.mark.parametrize("name", ["mean", "median", "sd", "lower_90", "upper_50", "step"])
def test_an_id_named_as_a_forecast_is_refused(name: str) -> None:
    with pytest.raises(
        ParameterError, match=f'column of ids is named "{name}", which is also a column of the forecasts; rename'
    ):
        forecast({name: ["a"] * 30, "y": Y}, 1, id=name, levels=[0.5, 0.9])


def test_a_time_named_as_a_forecast_is_refused() -> None:
    with pytest.raises(ParameterError, match=r'the column of times is named "mean".*for example to "ds"'):
        forecast({"mean": DAYS, "y": Y}, 1, time="mean")
    assert next(iter(forecast({"step": DAYS, "y": Y}, 1, time="step"))) == "step"  # no other column has this name
    assert list(forecast({"ds": DAYS, "mean": Y}, 1, target="mean"))[:2] == ["ds", "mean"]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"time": "ds", "id": "ds"}, '"ds" is named as time and as id'),
        ({"id": "y"}, '"y" is named as target and as id'),
        ({"exog": ["y"]}, '"y" is named as target and as exog; leave it out of exog'),
        ({"exog": ["x", "x"]}, '"x" is named twice as exog'),
        ({"exog": [3]}, r"exog is \[3\], but must be a list of names"),
        ({"levels": ["0.9"]}, "level is '0.9', but must lie between 0 and 1: pass 0.9 for 90 %"),
        ({"levels": None}, "levels is None, but must be a list of numbers"),
        ({"levels": "90"}, "levels is '90', but must be a list of numbers"),
        ({"levels": [0.9, 0.9000001]}, "the levels 0.9 and 0.9000001 are both written as 90 %"),
    ],
)
def test_what_would_be_ambiguous_is_refused(arguments: dict[str, Any], says: str) -> None:
    with pytest.raises(ParameterError, match=says):
        forecast({"ds": DAYS, "y": Y, "x": Y}, 1, **arguments)


def test_a_single_level_needs_no_list() -> None:
    assert "upper_80" in forecast({"y": Y}, 1, levels=0.8)


@pytest.mark.parametrize("blank", [None, "", " ", np.nan])
def test_a_row_without_an_id_is_refused_by_its_row(blank: Any) -> None:
    with pytest.raises(BadCellError, match='row 16, column "unique_id": is blank, but every row needs the id'):
        forecast({"unique_id": ["a"] * 15 + [blank] * 15, "y": Y}, 1)


def test_a_number_and_its_text_are_not_one_series() -> None:
    with pytest.raises(BadCellError, match='row 16, column "unique_id": 1 is text here, but int in row 1; make all'):
        forecast({"unique_id": [1] * 15 + ["1"] * 15, "y": Y}, 1)


@pytest.mark.parametrize(
    "ids",
    [
        [1.0, 2.5],
        [True, False],
        [("a", 1), ("a", 2)],
        ["NA", "null"],
        np.array([2**63 + 5, 2**63 + 6], dtype=np.uint64),
        np.array([2**62 + 1, 2**62 + 3]),
        np.array(["2024-01-01", "2024-01-02"], dtype="M8[D]"),
    ],
)
def test_ids_come_back_as_they_were(ids: Any) -> None:
    repeated = [each for each in ids for _ in range(15)] if isinstance(ids, list) else np.repeat(ids, 15)
    answer = forecast({"unique_id": repeated, "y": Y}, 2)["unique_id"]
    assert answer.tolist() == [each for each in (ids if isinstance(ids, list) else ids.tolist()) for _ in range(2)]
    if isinstance(ids, np.ndarray):
        assert answer.dtype == ids.dtype


@pytest.mark.parametrize("name", [None, "day"])
def test_an_index_of_dates_has_the_times(name: str | None) -> None:
    answer = forecast(pd.DataFrame({"y": Y}, index=DAYS.rename(name)), 2)
    assert answer[name or "ds"].tolist() == pd.date_range("2024-01-31", periods=2).tolist()


@pytest.mark.parametrize(
    ("freq", "first"),
    [("D", "2020-01-31"), ("M", "2022-07-01"), ("Q", "2027-07-01"), ("Y", "2050-01-01"), ("W", "2020-07-27")],
)
def test_an_index_of_periods_has_the_times_at_which_they_begin(freq: str, first: str) -> None:
    frame = pd.DataFrame({"y": Y}, index=pd.period_range("2020-01-01", periods=30, freq=freq))
    assert forecast(frame, 1)["ds"].astype(str).tolist() == [first]
    assert forecast(frame.rename_axis("when").reset_index(), 1, time="when")["when"].astype(str).tolist() == [first]


def test_a_named_column_of_times_comes_before_the_index() -> None:
    frame = pd.DataFrame({"y": Y, "t": np.arange(30), "ds": np.arange(100, 130)}, index=DAYS)
    assert forecast(frame, 1, time="t")["t"].tolist() == [30]
    assert forecast(frame, 1)["ds"].tolist() == [130]


def test_an_index_of_ids_and_dates_is_used() -> None:
    index = pd.MultiIndex.from_product([["a", "b"], DAYS[:15]], names=["unique_id", None])
    answer = forecast(pd.DataFrame({"y": Y}, index=index), 1)
    assert answer["unique_id"].tolist() == ["a", "b"]
    assert answer["ds"].tolist() == [DAYS[15], DAYS[15]]


def test_a_frequency_may_be_given() -> None:
    assert forecast({"ds": [0, 2, 4, 6], "y": Y[:4]}, 1, freq=1)["ds"].tolist() == [7]
    with pytest.raises(IrregularTimeError, match="freq is 'soon'"):
        forecast({"ds": DAYS, "y": Y}, 1, freq="soon")
