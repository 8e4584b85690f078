"""Every series of a table is processed by itself; one that fails does not stop the others."""

import warnings
from collections.abc import Callable

import numpy as np
import pytest
from pytest import approx

from adabypass import AutoBypass, Forecaster, SequentialKalman, compare, evaluate, forecast, load_dataset
from adabypass.data import from_frame
from adabypass.errors import AdabypassError, BadCellError, NotEnoughDataError, ParameterError, SeriesWarning
from adabypass.panel.columns import Columns
from adabypass.panel.pipeline import forecast_series, map_series
from adabypass.panel.series import SeriesTable

NILE = load_dataset("nile").y[:60]
WITH_A_SHORT_ONE = {"unique_id": ["a"] * 29 + ["short"] + ["b"] * 30, "y": NILE}


def test_a_short_series_is_left_out_with_a_warning_that_names_it() -> None:
    with pytest.warns(SeriesWarning, match=r'1 of 3 series .*left out:\n  series "short": y has 1 obs'):
        answer = forecast(WITH_A_SHORT_ONE, 1)
    assert answer["unique_id"].tolist() == ["a", "b"]
    alone = Forecaster()
    alone.run(NILE[30:])
    assert answer["mean"][1] == approx(alone.forecast(1).mean[0])


def test_an_error_of_one_series_is_raised_on_request() -> None:
    with pytest.raises(AdabypassError, match=r'^series "short": y has 1 obs'):
        forecast(WITH_A_SHORT_ONE, 1, on_error="raise")
    with pytest.raises(ParameterError, match="on_error is 'ignore', but must be 'warn' or 'raise'"):
        forecast(WITH_A_SHORT_ONE, 1, on_error="ignore")  # type: ignore[arg-type]


def test_it_is_an_error_if_every_series_fails() -> None:
    with pytest.raises(NotEnoughDataError, match=r'none of the 2 .*; the first: series "a": there is no'):
        forecast({"unique_id": ["a", "b"], "y": [np.nan, np.nan]}, 1)


def test_a_warning_lists_ten_reasons() -> None:
    many = {"unique_id": ["long"] * 10 + list(map(str, range(12))), "y": np.arange(22.0)}
    with pytest.warns(SeriesWarning, match="12 of 13 series") as caught:
        forecast(many, 1)
    assert len(caught) == 1
    assert str(caught[0].message).endswith("  and 2 more")
    assert str(caught[0].message).count("\n") == 11


def test_times_of_one_series_that_are_out_of_order_do_not_stop_the_others() -> None:
    two = {"unique_id": ["a"] * 3 + ["b"] * 3, "ds": [1, 2, 3, 1, 3, 2], "y": [1.0, 2.0, 3.0] * 2}
    with pytest.warns(SeriesWarning, match='series "b": row 6, column "ds": 2 is earlier than 3'):
        assert forecast(two, 1)["ds"].tolist() == [4]


def test_a_model_is_put_into_a_forecaster() -> None:
    model = SequentialKalman()
    answer = forecast({"y": NILE}, 2, model)
    expected = forecast({"y": NILE}, 2, Forecaster(SequentialKalman()))
    assert answer["mean"].tolist() == expected["mean"].tolist()
    assert model.n_seen == 0
    with pytest.raises(ParameterError, match=r"forecaster is <class .*AutoBypass.*must be a forecaster such as"):
        forecast({"y": NILE}, 2, AutoBypass)  # type: ignore[arg-type]


def test_a_learned_forecaster_is_copied_and_forgets() -> None:
    learned = Forecaster(SequentialKalman())
    learned.run(NILE + 100)
    assert forecast({"y": NILE}, 1, learned)["mean"] == approx(forecast({"y": NILE}, 1, SequentialKalman())["mean"])
    assert learned.n_seen > 0


def test_progress_is_reported_for_every_series_failures_included() -> None:
    panel, done = SeriesTable(from_frame(WITH_A_SHORT_ONE), Columns()), list[int]()
    found = forecast_series(panel, 1, progress=done.append)
    assert sum(done) == 3
    assert [failure.series for failure in found.failures] == ["short"]
    assert found.first[0].name == "a"


def test_errors_that_are_not_of_this_library_are_not_hidden() -> None:
    def work(series: object) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        map_series(SeriesTable(from_frame(WITH_A_SHORT_ONE), Columns()), work)


DAYS = np.arange("2024-01-01", "2024-02-10", dtype="M8[D]")
RAIN = {"day": np.delete(DAYS, 31), "y": np.arange(39.0) % 5, "rain": np.arange(39.0) % 3}


def test_a_day_without_a_row_is_named_where_its_exogenous_value_is_needed() -> None:
    with pytest.raises(
        NotEnoughDataError, match=r'no row for 2024-02-01 \(column "day"\), so "rain" is not known then;'
    ):
        forecast(RAIN, 1, time="day", exog="rain", missing="raise")
    with pytest.raises(NotEnoughDataError, match=r'add the row, or choose missing="mean" or missing="last"\.$'):
        forecast(RAIN, 1, time="day", exog="rain", missing="raise")
    with pytest.raises(NotEnoughDataError, match="1 steps ahead need as many rows of rain after the last"):
        forecast(RAIN, 1, Forecaster(missing="mean"), time="day", exog="rain")


@pytest.mark.parametrize("make", [Forecaster, lambda: Forecaster(lags=2)])
def test_days_without_a_row_have_the_exogenous_values_of_the_row_before(make: Callable[[], Forecaster]) -> None:
    """They are counted in a warning; those between the last observation and the rows to come are among them."""
    is_there = ~np.isin(np.arange(45), [7, 20, 21, 38])
    full = {"day": np.datetime64("2024-01-01") + np.arange(45), "rain": np.arange(45.0) % 4}
    y = np.where(is_there & (np.arange(45) < 39), np.arange(45.0) % 5, np.nan)
    filled = full["rain"][np.maximum.accumulate(np.where(is_there, np.arange(45), 0))]
    expected = forecast(full | {"y": y, "rain": filled}, 5, make(), time="day", exog="rain")
    gappy = {name: values[is_there] for name, values in (full | {"y": y}).items()}
    said = r'^4 rows are absent: there "y" is missing, and rain as in the row before; pass missing="last" to agree\.$'
    with pytest.warns(SeriesWarning, match=said):
        found = forecast(gappy, 5, make(), time="day", exog="rain")
    np.testing.assert_array_equal(found["mean"], expected["mean"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        agreed = forecast(gappy, 5, make(), time="day", exog="rain", missing="last")
    np.testing.assert_array_equal(agreed["mean"], expected["mean"])
    with pytest.warns(SeriesWarning, match="^3 rows are absent"):
        evaluate({name: values[:35] for name, values in gappy.items()}, make(), time="day", exog="rain", skip=5)
    with pytest.warns(SeriesWarning, match="3 rows are absent"):
        compare({name: values[:35] for name, values in gappy.items()}, [make()], time="day", exog="rain", skip=5)


def test_a_day_of_the_future_without_a_row_is_named() -> None:
    y = np.append(NILE[:37], [np.nan] * 2)
    future = {"day": np.delete(DAYS, 38), "y": y, "rain": np.arange(39.0)}
    with pytest.raises(NotEnoughDataError, match="there is no row for 2024-02-08"):
        forecast(future, 3, time="day", exog="rain")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(forecast(future, 1, time="day", exog="rain")["mean"]) == 1


def test_a_blank_exogenous_cell_of_the_future_is_named_by_its_row() -> None:
    rain = np.append(np.arange(39.0), np.nan)
    with pytest.raises(BadCellError, match='row 40, column "rain": is blank; fill it'):
        forecast({"y": np.append(NILE[:39], np.nan), "rain": rain}, 1, exog="rain")


def test_observations_outside_the_support_are_counted() -> None:
    y = np.arange(60.0)
    said = "19 of 60 observations lie outside the support, from 0 to 40, which no forecast leaves"
    with pytest.warns(SeriesWarning, match=said):
        forecast(y, 1, support=(0, 40))
    with pytest.warns(SeriesWarning, match=said):
        evaluate(y, Forecaster(support=(0, 40)))
    with pytest.warns(SeriesWarning, match=said):
        compare(y, support=(0, 40))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        forecast(y, 1, support=(0, 59))
