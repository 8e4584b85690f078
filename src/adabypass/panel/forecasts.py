"""`forecast`: every series of a data frame, answered in kind."""

import warnings
from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np

from adabypass.data import from_frame
from adabypass.data.freq import Freq
from adabypass.errors import ParameterError, SeriesWarning
from adabypass.forecasting import Baseline, Forecaster
from adabypass.forecasting.forecaster import MAX_HORIZON
from adabypass.panel.batch import Failure
from adabypass.panel.columns import TARGET, Columns, as_names
from adabypass.panel.pipeline import KEEP_LAST, as_forecaster, forecast_series
from adabypass.panel.series import SeriesTable
from adabypass.regressors import Regressor
from adabypass.state.series import Missing
from adabypass.validation import check_function, check_int, shown

MAX_REASONS = 10
"""How many failures a warning lists."""


def forecast(
    data: Any,
    horizon: int,
    forecaster: Forecaster | Baseline | Regressor | None = None,
    *,
    target: str = TARGET,
    time: str | None = None,
    id: str | None = None,
    exog: str | Sequence[str] = (),
    calendar: str | Sequence[str] = (),
    freq: Freq | None = None,
    missing: Missing | None = None,
    period: float | Sequence[float] | None = None,
    support: str | Sequence[float] | None = None,
    levels: float | Sequence[float] = (0.9,),
    quantiles: float | Sequence[float] = (),
    on_error: Literal["warn", "raise"] = "warn",
    n_threads: int | None = None,
    progress: Callable[[int], None] | None = None,
) -> Any:
    """Forecast every series of a data frame, and return the forecasts as a frame of the same kind.

    Parameters
    ----------
    data : pandas, polars or pyarrow frame, dict of arrays, or an array (n,)
        One row for each observation, one series after another. Times are regular but for gaps, which are missing
        observations.
    horizon : whole number of steps ahead, from 1
    forecaster : Forecaster, Baseline or Regressor, optional
        Each series gets a copy of it that has seen nothing; a model one with the default lags around it.
    target, time, id : str
        Names of columns: `y`, and `ds` and `unique_id` if they are there. Without a column of times, an index of
        pandas that holds dates or periods has them; its column is named `ds` if it has no name. Every row needs an
        id. No column of ids or times may be named as a column of the forecasts is.
    exog : list of str
        Exogenous columns. Their future values are in rows at the end whose target is blank.
    calendar : list of "day", "week", "month", "year", "holidays:DE" (of the extra `holidays`)
        Cycles to learn, besides those that the times suggest: as seasons by the automatic forecaster, as columns by one
        on lags. Public holidays are a column.
    freq : number, timedelta or text such as "month": time between observations, the most common one if not given
    missing : "raise", "mean" or "last", optional
        What becomes of a missing value of `exog`: an error, the column's mean so far, or its last value. By default a
        blank cell is an error, and a row that is absent before those to come has the values of the row before, with a
        `SeriesWarning` that counts such rows: the target is missing there, so that nothing is learned of them.
    period, support : optional
        As of `Forecaster`: steps of the season, if the times do not say them, and bounds of every forecast. As
        `missing`, they fill what the forecaster was not given; one that was given another value is refused.
    levels : number between 0 and 1, or several: probabilities of the intervals
    quantiles : number between 0 and 1, or several: probabilities of quantiles, besides the median
    on_error : "warn" or "raise"
        What to do about a series that cannot be forecast (too short, say): leave it out with a `SeriesWarning` that
        names it and the reason, or raise the error. If every series fails, the error is raised.
    n_threads : int, optional
        As many as there are processors by default; no number of a forecast depends on it.
    progress : function, optional
        Called now and then with the number of series done since the last call.

    Returns
    -------
    frame
        `id` and `time`, `mean`, `median`, `sd`, `lower_90` and `upper_90` for each level, `quantile_5` for 0.05. For
        an array, a dict. Ids keep their
        type, and times with a zone the zone: days and months are counted in its local time. A period of pandas is
        given by the time at which it begins.

    Examples
    --------
    >>> import polars as pl
    >>> from adabypass import load_dataset
    >>> nile = load_dataset("nile")
    >>> forecast(pl.DataFrame({"ds": nile.time, "y": nile.y}), horizon=2).columns
    ['ds', 'mean', 'median', 'sd', 'lower_90', 'upper_90']
    """
    horizon = check_int(horizon, "horizon", minimum=1, maximum=MAX_HORIZON)
    check_on_error(on_error)
    check_function(progress, "progress")
    panel = table_of(data, target, time, id, exog, calendar, freq, missing)
    template = as_forecaster(forecaster, missing=missing, period=period, support=support)
    found = forecast_series(panel, horizon, template, levels, quantiles, n_threads=n_threads, progress=progress)
    if found.failures:
        report(found.failures, len(panel), on_error)
    warn(panel.remarks([template], KEEP_LAST))
    return panel.table.like(found.columns)


def table_of(
    data: Any,
    target: str,
    time: str | None,
    id: str | None,
    exog: str | Sequence[str],
    calendar: str | Sequence[str],
    freq: Freq | None,
    missing: Missing | None,
) -> SeriesTable:
    """Return the series of a data frame, or that of an array."""
    names = as_names(exog, "exog"), as_names(calendar, "calendar")
    table = from_frame({TARGET: data} if isinstance(data, np.ndarray) and data.ndim == 1 else data)
    return SeriesTable(table, Columns(target, time, id, *names, freq, missing))


def check_on_error(on_error: object) -> None:
    """Check what is to be done about series that fail."""
    if not isinstance(on_error, str) or on_error not in ("warn", "raise"):
        raise ParameterError(f"on_error is {shown(on_error)}, but must be 'warn' or 'raise'.")


def report(failures: list[Failure], n: int, on_error: Literal["warn", "raise"]) -> None:
    """Warn the caller of `forecast` or `evaluate` about series that failed, or raise the first one's error."""
    if on_error == "raise":
        first = failures[0]
        raise type(first.error)(str(first)) from first.error
    reasons = [f"{len(failures)} of {n} series could not be forecast and are left out:", *map(str, failures)]
    warnings.warn(_listed(reasons), SeriesWarning, stacklevel=3)


def warn(reasons: list[str]) -> None:
    """Warn the caller about results that mean little, or rest on an assumption, if there are any."""
    if reasons:
        warnings.warn(_listed(reasons), SeriesWarning, stacklevel=3)


def _listed(lines: list[str]) -> str:
    """Join lines to a message: the first is its heading, and of many the first ones are shown."""
    more = [f"and {len(lines) - 1 - MAX_REASONS} more"] if len(lines) > MAX_REASONS + 1 else []
    return "\n  ".join([*lines[: MAX_REASONS + 1], *more])
