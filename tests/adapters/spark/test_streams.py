"""Keys of a stream have the numbers of a forecaster, to the bit; what is dropped is counted, what is idle forgotten."""

import os
import time
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from adabypass import Forecaster
from adabypass.adapters.spark import forecast_stream
from adabypass.adapters.spark.operators import STATE
from adabypass.adapters.spark.session import PROVIDER, ROCKSDB
from adabypass.errors import ParameterError
from tests.adapters.spark import query
from tests.adapters.spark.arrivals import N_KEYS, arrivals
from tests.hourly import PAST, rmse

ARRIVED = arrivals()
PATIENCE = 600.0
"""Seconds that a batch may take on a busy machine."""


def answers(frame: Any, folder: Path) -> pd.DataFrame:
    """Run a query until it has answered all rows that there are."""
    query.finish(frame, folder)
    return frame.sparkSession.read.parquet(str(folder / "out")).toPandas()


def test_answers_equal_those_of_a_forecaster(spark: Any, tmp_path: Path) -> None:
    ARRIVED.write(tmp_path / "in")
    query.run(spark, tmp_path)
    found = query.table(spark, tmp_path)
    assert list(found) == [
        "key", "step", "y", "mean", "median", "sd", "lower_50", "upper_50", "lower_90", "upper_90", "n_late",
        "n_duplicate",
    ]  # fmt: skip
    assert found["key"].nunique() == N_KEYS
    assert (found["n_late"].sum(), found["n_duplicate"].sum()) == (ARRIVED.n_late, ARRIVED.n_duplicate)
    assert len(found) > len(query.answers(found))  # a batch of "key 1" holds nothing but old rows
    for key, rows in query.answers(found).groupby("key"):
        used, own = ARRIVED.used(key), Forecaster(**query.OPTIONS)
        assert rows["step"].tolist() == used["step"].tolist()
        np.testing.assert_array_equal(rows["y"], used["y"])
        columns = rows[["mean", "median", "sd", "lower_50", "upper_50", "lower_90", "upper_90"]].to_numpy()
        for y, found_before in zip(used["y"], columns, strict=True):
            forecast = own.step(y)
            if forecast is None or not forecast.is_known:
                assert np.isnan(found_before).all()
            else:
                expected = [
                    forecast.mean,
                    forecast.median,
                    forecast.sd,
                    *forecast.interval(0.5),
                    *forecast.interval(0.9),
                ]
                assert found_before.tolist() == expected


def test_a_day_is_found_and_forecast_as_by_the_forecaster(spark: Any, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    rows = pd.DataFrame({"key": "a", "t": range(len(PAST)), "y": PAST})
    rows.to_parquet(tmp_path / "in" / "0.parquet")
    source = spark.readStream.schema("key string, t long, y double").parquet(str(tmp_path / "in"))
    found = answers(forecast_stream(source, "key", "t", "y", horizon=24), tmp_path).sort_values("step")
    own = Forecaster()
    own.learn(PAST)
    assert own.period == (24,)
    assert found["mean"].tolist() == own.forecast(24).mean.tolist()
    assert rmse(found["mean"]) < 3.0


@pytest.mark.parametrize("horizon", [None, 2])
def test_dropped_rows_are_counted_though_nothing_new_follows(spark: Any, tmp_path: Path, horizon: int | None) -> None:
    schema = "key string, t long, y double"
    for number, times in enumerate([range(5, 20), range(10), [19, 3]]):
        rows = pd.DataFrame({"key": "a", "t": [*times], "y": 1.0})
        (tmp_path / "in").mkdir(exist_ok=True)
        rows.to_parquet(tmp_path / "in" / f"{number}.parquet")
        os.utime(tmp_path / "in" / f"{number}.parquet", (1_700_000_000 + number,) * 2)
    source = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(tmp_path / "in"))
    found = answers(forecast_stream(source, "key", "t", "y", lags=1, horizon=horizon), tmp_path)
    assert (found["n_late"].sum(), found["n_duplicate"].sum()) == (11, 1)
    counted = found[found["n_late"] > 0]
    assert counted["t"].tolist() == [19, 19]
    assert counted["mean"].isna().all()


def test_idle_keys_are_forgotten_on_request(spark: Any, tmp_path: Path) -> None:
    def arrive(key: str, times: range) -> None:
        some = spark.createDataFrame([(key, t, float(t % 3)) for t in times], schema)
        some.coalesce(1).write.mode("append").parquet(str(tmp_path / "in"))

    def wait(running: Any, n_rows: int) -> None:
        """Wait until a query has answered so many rows."""
        end = time.monotonic() + PATIENCE
        while len(rows()) < n_rows and running.exception() is None:
            assert time.monotonic() < end
            time.sleep(0.5)
        if running.exception() is not None:
            raise running.exception()

    def rows() -> list[Any]:
        found: list[Any] = spark.table("idle").collect()
        return found

    def started() -> Any:
        running = sink.start()
        wait(running, 9)
        return running

    schema = "key string, t long, y double"
    arrive("idle", range(9))
    source = spark.readStream.schema(schema).parquet(str(tmp_path / "in"))
    forgetful = forecast_stream(
        source, "key", "t", "y", lags=1, forget_after=timedelta(seconds=4)
    )  # fmt: skip
    sink = forgetful.writeStream.format("memory").queryName("idle").trigger(processingTime="1 second")
    running = query.try_again(started)
    try:
        time.sleep(6)
        arrive("other", range(2))
        wait(running, 11)
        arrive("idle", range(5, 8))
        wait(running, 14)
    finally:
        running.stop()
    idle = [row for row in rows() if row["key"] == "idle"]
    assert sorted(row["t"] for row in idle) == sorted([*range(9), *range(5, 8)])  # none is late: nothing is known
    assert sum(row["n_late"] for row in idle) == 0
    assert {row["mean"] for row in idle if row["t"] == 5} > {None}  # the lag is to be filled again


def test_times_and_gaps_are_exact_when_clocks_go_back(spark: Any, tmp_path: Path) -> None:
    """In Berlin the hour from 2:00 to 3:00 of 27 October 2024 comes twice; hour 30 and 31 have no row."""
    spark.conf.set("spark.sql.session.timeZone", "Europe/Berlin")
    try:
        y = np.random.default_rng(5).normal(size=60).cumsum()
        hours = [hour for hour in range(60) if hour not in (30, 31)]
        start = pd.Timestamp("2024-10-25 12:00", tz="UTC")
        frame = pd.DataFrame({"at": [start + pd.Timedelta(hours=hour) for hour in hours], "y": y[hours]})
        spark.createDataFrame(frame).selectExpr(
            "1 AS house", "2L AS room", "at", "cast(at AS timestamp_ntz) AS local", "to_date(at) AS day", "y"
        ).write.parquet(str(tmp_path / "in"))
        schema = spark.read.parquet(str(tmp_path / "in")).schema
        source = spark.readStream.schema(schema).parquet(str(tmp_path / "in"))
        stream = forecast_stream(source, ["house", "room"], "at", "y", horizon=2, freq="hour")
        found = answers(stream, tmp_path)
        own = Forecaster(period=[24, 168])
        for hour in range(60):
            own.update(y[hour] if hour in hours else np.nan)
        expected = own.forecast(2).columns([0.9])
        found = found.sort_values("step")
        assert found["step"].tolist() == [1, 2]
        assert (found["house"].tolist(), found["room"].tolist()) == ([1, 1], [2, 2])
        for name in ("mean", "sd", "lower_90", "upper_90"):
            assert found[name].tolist() == expected[name].tolist()
        last = spark.read.parquet(str(tmp_path / "out")).selectExpr("unix_micros(at) AS at").first()["at"]
        assert last == (start + pd.Timedelta(hours=59)).value // 1000
        for column, kind in (("at", "timestamp"), ("local", "timestamp_ntz"), ("day", "date"), ("house", "int")):
            kept = forecast_stream(source, "room", column, "y", lags=1)
            assert dict(kept.dtypes)[column] == kind
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")


def test_times_of_every_type_are_restored(spark: Any) -> None:
    from adabypass.adapters.spark.times import TimeColumn  # noqa: PLC0415

    table = spark.sql(
        "SELECT date'1969-12-31' AS a, timestamp'1969-12-31 23:59:59.999999' AS b, "
        "timestamp_ntz'2500-01-01 00:00:00.000001' AS c, cast(7 AS tinyint) AS d, 9L AS e"
    )
    for name in table.columns:
        kind = TimeColumn.of(table, name)
        again = table.select(kind.as_number(name).alias(name)).select(kind.restored(name).alias(name))
        assert again.dtypes == table.select(name).dtypes
        assert again.first()[0] == table.first()[name]


def test_exogenous_columns_are_used_and_cells_may_be_missing(spark: Any, tmp_path: Path) -> None:
    """A row without a key or a time is left out."""
    rng = np.random.default_rng(2)
    x, y = rng.normal(size=30), rng.normal(size=30)
    rows: list[Any] = [("a", t, float(y[t]), None if t % 7 == 3 else float(x[t])) for t in range(30)]
    rows[20] = ("a", 20, float("inf"), float("inf"))
    rows += [(None, 7, 1.0, 1.0), ("a", None, 1.0, 1.0), (None, None, None, None)]
    schema = "k string, t int, y double, x double"
    spark.createDataFrame(rows, schema).write.parquet(str(tmp_path / "in"))
    source = spark.readStream.schema(schema).parquet(str(tmp_path / "in"))
    with pytest.raises(ParameterError, match='exog needs missing="mean" or missing="last" here'):
        forecast_stream(source, "k", "t", "y", exog="x", lags=1)
    with pytest.raises(ParameterError, match="with exog no steps ahead can be forecast"):
        forecast_stream(source, "k", "t", "y", exog="x", horizon=3, lags=1, missing="last")
    stream = forecast_stream(source, "k", "t", "y", exog="x", lags=1, missing="last")
    found = answers(stream, tmp_path)
    assert (len(found), found["n_late"].sum(), found["n_duplicate"].sum()) == (30, 0, 0)
    known = np.where(np.arange(30) % 7 == 3, np.nan, x)
    known[20] = y[20] = np.nan
    trace = Forecaster(lags=1, missing="last").run(y, known[:, None])
    np.testing.assert_array_equal(found.sort_values("t")["sd"].iloc[-10:], trace.sd[-10:])


def test_the_columns_of_a_state_stay_as_they_are() -> None:
    """A checkpoint has them. What may change is within the snapshot, which has a format that later versions read."""
    assert STATE.simpleString() == "struct<snapshot:binary,time:bigint,n_late:bigint,n_duplicate:bigint>"


def test_wrong_arguments_are_refused_before_a_query_runs(spark: Any) -> None:
    stream = spark.readStream.format("rate").load().selectExpr("value AS k", "timestamp AS t", "rand() AS y")
    with pytest.raises(ParameterError, match=r"df is no stream: read it with spark\.readStream, or use fore"):
        forecast_stream(spark.sql("SELECT 1 AS k, 2 AS t, 3.0 AS y"), "k", "t", "y")
    with pytest.raises(ParameterError, match='the column "y" is of type double, but times of a stream must be dates'):
        forecast_stream(stream, "k", "y", "t")
    with pytest.raises(ParameterError, match=r"forget_after is 5, but must be a timedelta"):
        forecast_stream(stream, "k", "t", "y", forget_after=5)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="named as a column of the answer"):
        forecast_stream(stream.withColumnRenamed("y", "sd"), "k", "t", "sd")
    spark.conf.set(PROVIDER, ROCKSDB.replace("RocksDB", "HDFSBacked"))
    try:
        with pytest.raises(ParameterError, match=r"needs RocksDB; set it before the query starts: spark\.conf\.set"):
            forecast_stream(stream, "k", "t", "y")
    finally:
        spark.conf.set(PROVIDER, ROCKSDB)
