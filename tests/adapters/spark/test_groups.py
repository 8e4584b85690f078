"""Groups on Spark have the numbers of a forecaster, to the bit, in whatever order rows come and however often."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from adabypass import AdaBypass, Forecaster, PassiveAggressive, evaluate, forecast
from adabypass.adapters.spark import evaluate_groups, forecast_groups
from adabypass.errors import ParameterError, UnknownNameError
from tests.adapters.spark.arrivals import N_KEYS, arrivals

HORIZON, LEVELS = 3, (0.5, 0.9)
ARRIVED = arrivals()


@pytest.fixture(scope="module")
def table(spark: Any) -> Any:
    rows = ARRIVED.rows.drop(columns="batch")
    return spark.createDataFrame(rows.assign(half=rows["key"].str[-1].astype(int) % 2)).repartition(3).cache()


def sorted_by(frame: Any, *names: str) -> pd.DataFrame:
    return frame.toPandas().sort_values(list(names), ignore_index=True)


@pytest.mark.parametrize("options", [{"lags": 2}, {"model": AdaBypass(), "lags": [1, 3], "difference": 1}])
def test_forecasts_equal_those_of_a_forecaster(table: Any, options: Any) -> None:
    found = sorted_by(forecast_groups(table, "key", "step", "y", HORIZON, LEVELS, **options), "key", "step")
    given = ARRIVED.rows.drop_duplicates(["key", "step"]).sort_values(["key", "step"])
    same = forecast(given, HORIZON, Forecaster(**options), target="y", time="step", id="key", levels=LEVELS)
    pd.testing.assert_frame_equal(found, same.sort_values(["key", "step"], ignore_index=True), check_exact=True)
    assert list(found) == ["key", "step", "mean", "median", "sd", "lower_50", "upper_50", "lower_90", "upper_90"]
    assert len(found) == N_KEYS * HORIZON
    for key, rows in found.groupby("key"):
        y = ARRIVED.regular(key)
        own = Forecaster(**options)
        own.run(y)
        expected = own.forecast(HORIZON).columns(LEVELS)
        first = ARRIVED.rows.loc[ARRIVED.rows["key"] == key, "step"].min()
        assert rows["step"].tolist() == list(range(first + len(y), first + len(y) + HORIZON))
        for name, values in expected.items():
            assert rows[name].tolist() == values.tolist(), (key, name)


def test_automatic_forecasts_equal_those_of_a_forecaster(table: Any) -> None:
    some = table.filter("key < 'key 11'")
    found = sorted_by(forecast_groups(some, ["key", "half"], "step", "y", HORIZON), "key", "step")
    assert list(found)[:4] == ["key", "half", "step", "mean"]
    assert found["key"].nunique() >= 12
    for key, rows in found.groupby("key"):
        own = Forecaster()
        own.run(ARRIVED.regular(key))
        assert rows["upper_90"].tolist() == own.forecast(HORIZON).interval(0.9)[1].tolist()
        assert (rows["half"] == int(key[-1]) % 2).all()


def test_points_have_no_intervals(table: Any) -> None:
    few = table.filter("key = 'key 1'")
    found = forecast_groups(few, "key", "step", "y", 1, model=PassiveAggressive(), lags=1)
    assert found.columns == ["key", "step", "mean"]
    own = Forecaster(PassiveAggressive(), lags=1)
    own.run(ARRIVED.regular("key 1"))
    assert found.first()["mean"] == own.forecast(1).mean[0]


@pytest.mark.parametrize(
    ("column", "kind"),
    [("date_add('2024-01-28', cast(step as int))", "date"),
     ("timestamp'2024-03-29' + make_interval(0, 0, 0, step)", "timestamp"),
     ("timestamp_ntz'2024-03-29' + make_interval(0, 0, 0, 0, step)", "timestamp_ntz"),
     ("cast(step as int)", "int"), ("step / 4", "double")],
)  # fmt: skip
def test_times_keep_their_type(spark: Any, table: Any, column: str, kind: str) -> None:
    """The clocks of Berlin go forward on 31 March: days are counted in local time."""
    spark.conf.set("spark.sql.session.timeZone", "Europe/Berlin")
    try:
        one = table.filter("key = 'key 3'").selectExpr("key", f"{column} AS at", "y")
        found = forecast_groups(one, "key", "at", "y", 2, lags=1)
        assert dict(found.dtypes)["at"] == kind
        times = [row["at"] for row in found.sort("at").collect()]
        last = one.agg({"at": "max"}).first()[0]
        span = one.selectExpr("at").distinct().sort("at").limit(2).collect()
        steps = ARRIVED.rows.loc[ARRIVED.rows["key"] == "key 3", "step"].drop_duplicates().nsmallest(2).tolist()
        step = (span[1][0] - span[0][0]) / (steps[1] - steps[0])
        assert times == [last + step, last + 2 * step]
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")


def test_exogenous_columns_and_cycles_are_used(spark: Any) -> None:
    days = pd.date_range("2024-01-01", periods=40)
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"shop": 1, "day": days, "sun": rng.normal(size=40), "sold": rng.normal(size=40)})
    frame.loc[38:, "sold"] = np.nan  # the days to come
    table = spark.createDataFrame(frame)
    found = forecast_groups(table, "shop", "day", "sold", 2, exog="sun", calendar="week", lags=1)
    expected = forecast(
        frame, 2, Forecaster(lags=1), target="sold", time="day", id="shop", exog="sun", calendar="week"
    )  # fmt: skip
    assert sorted_by(found, "day")["mean"].tolist() == expected["mean"].tolist()


@pytest.mark.parametrize(("horizon", "below"), [(1, "key 13"), (3, "key 11")])
def test_scores_equal_those_of_evaluate(table: Any, horizon: int, below: str) -> None:
    some = table.filter(f"key < '{below}'")
    found = sorted_by(evaluate_groups(some, "key", "step", "y", horizon, skip=5, lags=1), "key", "step")
    assert len(found) == some.select("key").distinct().count() * horizon >= 12
    for key, rows in found.groupby("key"):
        expected = evaluate(ARRIVED.regular(key), Forecaster(lags=1), horizon=horizon, skip=5).to_frame()
        got = rows.drop(columns="key").reset_index(drop=True)
        pd.testing.assert_frame_equal(got, expected, check_exact=True)


def test_scores_of_points_are_those_that_points_have(table: Any) -> None:
    few = table.filter("key = 'key 1'")
    found = evaluate_groups(few, "key", "step", "y", model=PassiveAggressive(), lags=1)
    assert {"rmse", "mae"} < set(found.columns)
    assert "crps" not in found.columns
    assert found.first()["rmse"] > 0


def test_a_group_that_cannot_be_forecast_is_left_out_or_ends_the_job(spark: Any) -> None:
    rows = [("short", 1, 1.0)] + [("long", t, float(t % 3)) for t in range(30)]
    table = spark.createDataFrame(rows, "key string, t long, y double")
    found = forecast_groups(table, "key", "t", "y", 1, lags=2)
    assert [row["key"] for row in found.collect()] == ["long"]
    with pytest.raises(Exception, match="the group key short: y has 1 observation"):
        forecast_groups(table, "key", "t", "y", 1, lags=2, on_error="raise").collect()


def test_two_values_of_one_time_are_refused(spark: Any) -> None:
    rows = [("a", t, float(t % 3)) for t in range(30)] + [("a", 7, 5.0)]
    table = spark.createDataFrame(rows, "key string, t long, y double")
    with pytest.raises(Exception, match="TimeOrderError: the group key a"):
        forecast_groups(table, "key", "t", "y", 1, lags=2, on_error="raise").collect()


def test_wrong_arguments_are_refused_before_a_job_runs(table: Any) -> None:
    with pytest.raises(ParameterError, match="df is of type DataFrame, but must be a DataFrame of Spark"):
        forecast_groups(ARRIVED.rows, "key", "step", "y", 1)
    with pytest.raises(UnknownNameError, match='no column "shop"; the table has key, step, y, half'):
        forecast_groups(table, "shop", "step", "y", 1)
    with pytest.raises(ParameterError, match='"step" is named twice'):
        forecast_groups(table, ["key", "step"], "step", "y", 1)
    with pytest.raises(ParameterError, match='withColumnRenamed\\("mean", "mean_"\\)'):
        forecast_groups(table.withColumnRenamed("key", "mean"), "mean", "step", "y", 1)
    with pytest.raises(ParameterError, match="by is empty"):
        evaluate_groups(table, [], "step", "y")
    with pytest.raises(ParameterError, match="horizon"):
        evaluate_groups(table, "key", "step", "y", 0)
