"""Every key of a stream on Spark: a forecaster each, kept in Spark's state store."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from adabypass.adapters.keyed_series import KeyedForecaster
from adabypass.adapters.spark.columns import GroupColumns, Names, doubles, wholes
from adabypass.adapters.spark.operators import KeyProcessor, SeriesOfKey
from adabypass.adapters.spark.session import PROVIDER, ROCKSDB
from adabypass.adapters.spark.times import TimeColumn
from adabypass.data.freq import Freq
from adabypass.errors import ParameterError
from adabypass.forecasting import Forecaster
from adabypass.forecasting.forecaster import MAX_HORIZON
from adabypass.panel.ahead import check_levels
from adabypass.validation import check_int, shown


def forecast_stream(
    df: DataFrame,
    by: Names,
    time: str,
    target: str,
    levels: float | Sequence[float] = (0.9,),
    *,
    horizon: int | None = None,
    exog: Names = (),
    freq: Freq | None = None,
    forget_after: timedelta | None = None,
    **forecaster: Any,
) -> DataFrame:
    """Forecast every key of a stream, by a `Forecaster` of its own that learns each row once.

    The state of a key is the snapshot of its forecaster, kept in Spark's state store and so in the query's checkpoint.
    Within a batch rows may come in any order. A row that is not newer than its key's rows of earlier batches is
    dropped and counted; a key all of whose rows in a batch are dropped is answered with one row that counts them. Rows
    without a key or a time are left out. Restarted from its checkpoint, a query goes on to the same numbers, bit for
    bit.

    Parameters
    ----------
    df : streaming DataFrame of Spark
        One row for each observation; null, or no finite number, where the observation is missing.
    by : str or list of str
        Columns that say to which series a row belongs.
    time, target : str
        Columns of times (dates, timestamps or whole numbers), and of what is forecast.
    levels : number between 0 and 1, or several: probabilities of the intervals
    horizon : int, optional
        Without it every row is answered with the forecast that was made before the row was known. With it each batch
        gives, for every key that it has rows of, forecasts of so many steps after the newest row.
    exog : list of str
        Exogenous columns, known with the row; they need `missing="mean"` or `missing="last"`.
    freq : number, timedelta or text such as "10 minutes", optional
        Time between two observations of a key. A longer time, rounded to whole steps, is a gap of missing
        observations; after more than 1000 of them the series starts anew. Without it each row is the next observation.
    forget_after : timedelta, optional
        Forget a key that had no row for so long, by the clock of the cluster. By default none is forgotten.
    **forecaster
        Arguments of `Forecaster`: `lags=2`, say, or `period=24`. Without a period the automatic forecaster has those
        that `freq` suggests; without `freq` too, it finds its season as rows come in.

    Returns
    -------
    streaming DataFrame of Spark
        The columns `by` and `time`; `target`, or with a horizon `step`; `mean`, `median`, `sd`, `lower_90` and
        `upper_90` for each level, null where no forecast could be made yet; and `n_late` and `n_duplicate`: rows of the
        key that were dropped in the batch. Their sums count all that were dropped. A row that does nothing but count
        has the time of the key's newest row, and null or step 0 otherwise.

    Examples
    --------
    >>> from adabypass.adapters.spark import local_session
    >>> source = local_session().readStream.format("rate").load()
    >>> rows = source.selectExpr("value % 10 AS sensor", "timestamp AS at", "rand() AS reading")
    >>> forecast_stream(rows, "sensor", "at", "reading", lags=1).columns
    ['sensor', 'at', 'reading', 'mean', 'median', 'sd', 'lower_90', 'upper_90', 'n_late', 'n_duplicate']
    """
    columns = GroupColumns.checked(df, by, time, target, exog)
    _check_stream(df)
    times = TimeColumn.of(df, time)
    template = _template(forecaster, columns, times, freq)
    steps = None if horizon is None else check_int(horizon, "horizon", minimum=1, maximum=MAX_HORIZON)
    if steps is not None and columns.exog:
        raise ParameterError(
            "with exog no steps ahead can be forecast, since their values are not known; leave one out."
        )
    span = None if freq is None else times.span(freq)
    keyed = KeyedForecaster(template, check_levels(levels), span, steps)
    added = [target] if steps is None else ["step"]
    columns.check_passed([*columns.by, time, *added], [*keyed.names, "n_late", "n_duplicate"])
    columns.check_passed([*columns.by, time], added)
    series = SeriesOfKey(keyed, columns.by, time, target, columns.exog)
    answered = doubles(added) if steps is None else wholes(added)
    schema = StructType([
        *columns.fields(df, columns.by), *wholes([time]), *answered, *doubles(keyed.names),
        *wholes(["n_late", "n_duplicate"]),
    ])  # fmt: skip
    timeout = _milliseconds(forget_after)
    found = _numbers(df, columns, times).groupBy(*columns.by).transformWithStateInPandas(
        KeyProcessor(series, timeout), schema, outputMode="Append",
        timeMode="None" if timeout is None else "ProcessingTime",
    )  # fmt: skip
    return found.withColumn(time, times.restored(time))


def _numbers(df: DataFrame, columns: GroupColumns, times: TimeColumn) -> DataFrame:
    """Return the columns that are used, with times as whole numbers and all else but the key as numbers.

    Rows without a key or a time are left out: a key that is null ends transformWithState with an error of Arrow's.
    """
    return df.dropna(subset=[*columns.by, columns.time]).select(
        *columns.by,
        times.as_number(columns.time).alias(columns.time),
        *(df[name].cast("double").alias(name) for name in (columns.target, *columns.exog)),
    )


def _template(forecaster: dict[str, Any], columns: GroupColumns, times: TimeColumn, freq: Freq | None) -> Forecaster:
    """Return the forecaster of every key; an automatic one has the periods that the frequency suggests."""
    template = Forecaster(**forecaster)
    if columns.exog and template.missing == "raise":
        raise ParameterError(
            'exog needs missing="mean" or missing="last" here, so that a row without a value does not end the stream.'
        )
    if columns.time in columns.exog:
        raise ParameterError(f'"{columns.time}" is the time of a row, and cannot be in exog as well; copy the column.')
    return template._with_period(None if freq is None else times.periods(freq))


def _check_stream(df: DataFrame) -> None:
    """Refuse a table, and a stream whose state store `transformWithState` does not take."""
    if not df.isStreaming:
        raise ParameterError("df is no stream: read it with spark.readStream, or use forecast_groups for a table.")
    provider = df.sparkSession.conf.get(PROVIDER)
    if provider != ROCKSDB:
        raise ParameterError(
            f"the state store is {provider}, but transformWithState needs RocksDB; set it before the query starts: "
            f'spark.conf.set("{PROVIDER}", "{ROCKSDB}").'
        )


def _milliseconds(forget_after: timedelta | None) -> int | None:
    if forget_after is None:
        return None
    if not isinstance(forget_after, timedelta) or forget_after < timedelta(milliseconds=1):
        raise ParameterError(
            f"forget_after is {shown(forget_after)}, but must be a timedelta of a millisecond or more: "
            "timedelta(days=7), say."
        )
    return int(forget_after / timedelta(milliseconds=1))
