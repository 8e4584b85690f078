"""Series come out of tables on a regular grid, and errors say where in the table they are."""

import numpy as np
import pytest

from adabypass import forecast, load_dataset
from adabypass.data import from_frame
from adabypass.errors import BadCellError, NotEnoughDataError
from adabypass.panel.columns import Columns
from adabypass.panel.series import SeriesTable

NILE = load_dataset("nile").y[:40]


def test_what_is_known_of_the_future_goes_with_its_time() -> None:
    """Time 6 is left out: the value of time 7 must not be taken for it."""
    table = from_frame({"ds": [1, 2, 3, 4, 5, 7], "y": [1.0, 2.0, 1.0, 2.0, np.nan, np.nan], "x": range(6)})
    series = SeriesTable(table, Columns(exog=("x",))).series("")
    assert series.future_exog is not None
    np.testing.assert_array_equal(series.future_exog[:, 0], [4.0, np.nan, 5.0])
    assert series.following(3).tolist() == [5, 6, 7]


def test_a_blank_exogenous_cell_is_named_by_row_and_column() -> None:
    rain = np.ones(40)
    rain[16] = np.nan
    with pytest.raises(BadCellError, match='row 17, column "rain": is blank; fill it, or choose missing="mean"'):
        forecast({"y": NILE, "rain": rain}, 1, exog="rain")


def test_blank_targets_alone_are_nothing_to_learn_from() -> None:
    with pytest.raises(NotEnoughDataError, match='every "y" is blank'):
        forecast({"ds": [1, 2, 3], "y": [np.nan] * 3}, 1)


def test_whole_numbers_that_tell_series_apart_stay_whole_numbers() -> None:
    answer = forecast({"unique_id": np.repeat([7, 10], 20), "y": NILE}, 2)
    assert answer["unique_id"].tolist() == [7, 7, 10, 10]
