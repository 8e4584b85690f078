"""One series of a data frame is explained: the same forecast, the same columns, with dates."""

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from adabypass import Forecaster, Naive, explain, forecast
from adabypass.errors import NotEnoughDataError, ParameterError, TableError, UnknownNameError
from tests.retail import HORIZON, retail

pytestmark = pytest.mark.filterwarnings("ignore:.*rows are absent")
SHOP = retail().frame
COLUMNS: dict[str, Any] = {"target": "sold", "id": "product", "time": "day", "exog": ["promotion", "holiday"]}


@pytest.mark.parametrize("name", ["product 3", "product 29"])
@pytest.mark.parametrize("options", [{}, {"support": "positive"}, {"calendar": ["year", "holidays:DE"]}, {"period": 7}])
def test_what_is_explained_is_the_forecast_of_that_series(name: str, options: dict[str, Any]) -> None:
    pytest.importorskip("holidays")
    two = SHOP[SHOP["product"].isin(["product 5", name])]
    answer = forecast(two, HORIZON, **COLUMNS, **options)
    own = answer[answer["product"] == name]
    found = explain(two, HORIZON, series=name, **COLUMNS, **options).contributions
    assert found is not None
    np.testing.assert_array_equal(found.mean[-HORIZON:], own["mean"])
    frame = found.to_frame()
    np.testing.assert_array_equal(frame["day"].tail(HORIZON), own["day"])
    rows = SHOP[(SHOP["product"] == name)].set_index("day")["sold"]
    np.testing.assert_array_equal(frame.set_index("day")["sold"], rows.reindex(frame["day"]))


def test_every_kind_of_frame_is_taken() -> None:
    one = SHOP[SHOP["product"] == "product 3"]
    found = explain(pl.from_pandas(one), 5, **COLUMNS)
    assert str(found) == str(explain(one, 5, **COLUMNS))
    columns = one.drop(columns="product").rename(columns={"sold": "y", "day": "ds"})
    named = {name: columns[name].to_numpy() for name in columns}
    assert str(explain(named, 5, exog=["promotion", "holiday"])) == str(found)


def test_times_keep_their_zone_and_hours_are_local() -> None:
    hours = pd.date_range("2024-03-25", periods=24 * 14, freq="h", tz="Europe/Berlin")
    local, noise = hours.hour.to_numpy(), np.random.default_rng(0).normal(0.0, 0.1, size=24 * 14)
    frame = pd.DataFrame({"ds": hours, "y": np.where(local == 18, 9.0, 5.0) + noise})
    found = explain(frame, 24, period=24)
    day = found.seasons["season_day"]
    assert day.positions[int(np.argmax(day.effect.median))] == "18:00"
    assert found.contributions is not None
    times = found.contributions.to_frame()["ds"]
    assert str(times.dt.tz) == "Europe/Berlin"
    assert times[0] == hours[0]
    assert (times[1:].to_numpy() > times[:-1].to_numpy()).all()


def test_rows_without_times_are_numbered() -> None:
    found = explain(np.arange(40.0) % 4 + np.arange(40), 3, period=4)
    assert found.contributions is not None
    assert found.contributions.to_frame()["step"].tolist() == list(range(1, 44))
    assert "season_4" in found.seasons


def test_an_exogenous_column_may_be_named_as_a_part() -> None:
    one = SHOP[SHOP["product"] == "product 3"].rename(columns={"promotion": "level"})
    found = explain(one, 3, **COLUMNS | {"exog": ["level"]}).contributions
    assert found is not None
    assert found.parts["level"].min() > 40.0
    assert found.parts["level_exog"].max() > 10.0
    np.testing.assert_allclose(sum(found.parts.values()), found.mean)


def test_a_cycle_of_the_calendar_is_a_season() -> None:
    one = SHOP[SHOP["product"] == "product 3"]
    found = explain(one, 3, **COLUMNS | {"exog": []}, calendar=["week", "year"], period=1)
    assert found.contributions is not None
    assert list(found.contributions.parts) == ["level", "slope", "season_week", "season_year", "other"]
    assert found.seasons["season_week"].positions[5] == "Saturday"
    assert len(found.seasons["season_year"].positions) == 12
    assert found.effects == {}


def test_series_that_are_not_named_rightly_are_refused() -> None:
    with pytest.raises(ParameterError, match=r"there are 30 series, .*'product 0' for example"):
        explain(SHOP, 3, **COLUMNS)
    with pytest.raises(UnknownNameError, match="no series 'prduct 7'; did you mean 'product 7'"):
        explain(SHOP, 3, series="prduct 7", **COLUMNS)
    with pytest.raises(UnknownNameError, match="no column of ids"):
        explain(np.arange(9.0), 3, series="a")
    numbers = pd.DataFrame({"unique_id": np.repeat([7, 8], 20), "y": np.sin(np.arange(40.0))})
    assert explain(numbers, 1, series=8).level.median == explain(numbers, 1, series="8").level.median


def test_forecasters_without_parts_are_refused() -> None:
    with pytest.raises(ParameterError, match="has parts to explain"):
        explain(np.arange(9.0), 3, Naive())  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="without a model and lags"):
        explain(np.arange(9.0), 3, Forecaster(lags=1))
    with pytest.raises(NotEnoughDataError, match="as many rows of promotion, holiday"):
        explain(SHOP, HORIZON + 1, series="product 3", **COLUMNS)
    with pytest.raises(TableError, match='row 4, column "promotion": is blank'):
        explain(SHOP.assign(promotion=SHOP["promotion"].where(SHOP.index != 3)), 3, series="product 0", **COLUMNS)
