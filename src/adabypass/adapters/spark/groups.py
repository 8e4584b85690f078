"""Every group of a table on Spark: its forecasts, and how good they are."""

import warnings
from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.types import LongType, StructType

from adabypass.adapters.spark.columns import GroupColumns, Names, doubles, wholes
from adabypass.data import from_frame
from adabypass.data.freq import Freq
from adabypass.errors import AdabypassError, SeriesWarning
from adabypass.evaluation import evaluate
from adabypass.evaluation.prequential import SKIP
from adabypass.forecasting import Forecaster
from adabypass.forecasting.forecaster import MAX_HORIZON
from adabypass.panel.ahead import check_levels
from adabypass.panel.columns import Columns, as_names
from adabypass.panel.forecasts import check_on_error
from adabypass.panel.pipeline import forecast_series
from adabypass.panel.series import SeriesTable
from adabypass.regressors import AdaBypass, PassiveAggressive
from adabypass.results.columns import column_names
from adabypass.validation import check_int

OnError = Literal["warn", "raise"]


def forecast_groups(
    df: DataFrame,
    by: Names,
    time: str,
    target: str,
    horizon: int,
    levels: float | Sequence[float] = (0.9,),
    *,
    exog: Names = (),
    calendar: Names = (),
    freq: Freq | None = None,
    on_error: OnError = "warn",
    **forecaster: Any,
) -> DataFrame:
    """Forecast every group of a table of Spark, as `adabypass.forecast` does the series of a data frame.

    Each group is a series, and is forecast by one task, which holds the rows of that group and no others. Rows may
    come in any order, and a row that comes twice counts once.

    Parameters
    ----------
    df : DataFrame of Spark
        One row for each observation. Times are regular but for gaps, which are missing observations.
    by : str or list of str
        Columns that say to which series a row belongs.
    time, target : str
        Columns of times (dates, timestamps or numbers), and of what is forecast.
    horizon : whole number of steps ahead, from 1
    levels : number between 0 and 1, or several: probabilities of the intervals
    exog, calendar, freq
        As of `adabypass.forecast`.
    on_error : "warn" or "raise"
        What to do about a group that cannot be forecast (too short, say): leave it out, with a `SeriesWarning` in the
        log of the executor, or end the job.
    **forecaster
        Arguments of `Forecaster`: `lags=2`, say, or `period=12`.

    Returns
    -------
    DataFrame of Spark
        The columns `by` and `time`, `mean`, `median`, `sd`, and `lower_90`, `upper_90` for each level.

    Examples
    --------
    >>> from adabypass.adapters.spark import local_session
    >>> df = local_session().range(100).selectExpr("id % 2 AS shop", "id div 2 AS day", "sin(id) AS sold")
    >>> forecast_groups(df, "shop", "day", "sold", horizon=3, lags=2).columns
    ['shop', 'day', 'mean', 'median', 'sd', 'lower_90', 'upper_90']
    """
    columns = GroupColumns.checked(df, by, time, target, exog)
    horizon = check_int(horizon, "horizon", minimum=1, maximum=MAX_HORIZON)
    levels = check_levels(levels)
    check_on_error(on_error)
    template = Forecaster(**forecaster)
    names = column_names(levels, is_point=template.is_point)
    columns.check_passed([*columns.by, time], names)
    meaning = Columns(target, time, None, columns.exog, as_names(calendar, "calendar"), freq)

    def forecasts(rows: pa.Table) -> dict[str, Any]:
        table = from_frame(rows)
        found = forecast_series(SeriesTable(table, meaning), horizon, template, levels, n_threads=1)
        answer = table.like(found.columns)
        return {time: answer[time].cast(rows.schema.field(time).type), **{name: answer[name] for name in names}}

    schema = StructType([*columns.fields(df, [*columns.by, time]), *doubles(names)])
    return _apply(df, columns, forecasts, schema, on_error)


def evaluate_groups(
    df: DataFrame,
    by: Names,
    time: str,
    target: str,
    horizon: int = 1,
    *,
    every: int | None = None,
    skip: int = SKIP,
    exog: Names = (),
    calendar: Names = (),
    freq: Freq | None = None,
    on_error: OnError = "warn",
    **forecaster: Any,
) -> DataFrame:
    """Score forecasts of every group prequentially: each is made before its target is seen, as by `adabypass.evaluate`.

    Parameters
    ----------
    df, by, time, target, exog, calendar, freq, on_error, **forecaster
        As of `forecast_groups`.
    horizon, every, skip
        As of `adabypass.evaluate`: forecasts 1 to `horizon` steps ahead are scored, made after every so many
        observations; those made from fewer than `skip` observations are not.

    Returns
    -------
    DataFrame of Spark
        For each group and each step ahead: the columns `by`, `step`, the counts, and the scores such as `rmse` and
        `crps`, as `Evaluation.to_frame` has them.

    Examples
    --------
    >>> from adabypass.adapters.spark import local_session
    >>> df = local_session().range(100).selectExpr("id % 2 AS shop", "id div 2 AS day", "sin(id) AS sold")
    >>> evaluate_groups(df, "shop", "day", "sold", lags=2).select("shop", "step", "n_scored").sort("shop").collect()
    [Row(shop=0, step=1, n_scored=30), Row(shop=1, step=1, n_scored=30)]
    """
    columns = GroupColumns.checked(df, by, time, target, exog)
    check_on_error(on_error)
    template = Forecaster(**forecaster)
    example = evaluate(np.arange(9.0), Forecaster(PassiveAggressive() if template.is_point else AdaBypass()), skip=0)
    counts = [name for name, values in example.columns().items() if values.dtype.kind == "i"]
    scores = [name for name in example.columns() if name not in counts]
    columns.check_passed(columns.by, [*counts, *scores])
    check_int(horizon, "horizon", minimum=1, maximum=MAX_HORIZON)
    names = list(columns.exog) or None

    def evaluations(rows: pa.Table) -> dict[str, Any]:
        found = evaluate(
            rows, template, target=target, time=time, exog=names, calendar=calendar, freq=freq, horizon=horizon,
            every=every, skip=skip,
        )  # fmt: skip
        return found.columns()

    schema = StructType([*columns.fields(df, columns.by), *wholes(counts), *doubles(scores)])
    return _apply(df, columns, evaluations, schema, on_error)


def _apply(
    df: DataFrame,
    columns: GroupColumns,
    work: Callable[[pa.Table], dict[str, Any]],
    schema: StructType,
    on_error: OnError,
) -> DataFrame:
    """Apply `work` to the sorted, distinct rows of every group; its columns come behind those of the key."""
    by, kept, time = columns.by, columns.of_a_series, columns.time

    def apply(key: tuple[Any, ...], group: pa.Table) -> pa.Table:
        rows = group.select(kept).group_by(kept, use_threads=False).aggregate([]).sort_by(time)
        try:
            found = work(rows)
        except AdabypassError as error:
            name = ", ".join(f"{column} {cell.as_py()}" for column, cell in zip(by, key, strict=True))
            if on_error == "raise":
                raise type(error)(f"the group {name}: {error}") from error
            warnings.warn(f"the group {name} is left out: {error}", SeriesWarning, stacklevel=1)
            return pa.schema([_arrow_field(field, group.schema) for field in schema]).empty_table()
        n = len(next(iter(found.values())))
        keys = {column: pa.repeat(cell, n) for column, cell in zip(by, key, strict=True)}
        answer = pa.table(keys | found)
        return answer.cast(pa.schema([_in_utc(field) for field in answer.schema]))

    return df.select(columns.names).groupBy(*by).applyInArrow(apply, schema)


def _arrow_field(field: Any, given: pa.Schema) -> pa.Field:
    """Return a field of the answer as Arrow has it: passed through, or a number."""
    if field.name in given.names:
        return _in_utc(given.field(field.name))
    return pa.field(field.name, pa.int64() if isinstance(field.dataType, LongType) else pa.float64())


def _in_utc(field: pa.Field) -> pa.Field:
    """Return a field of instants in UTC: Spark gives them in the zone of the session, and takes them in UTC only."""
    has_zone = pa.types.is_timestamp(field.type) and field.type.tz is not None
    return field.with_type(pa.timestamp("us", "UTC")) if has_zone else field
