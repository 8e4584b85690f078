"""`explain`: what carries the forecast of one series of a data frame, with dates."""

from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any

import numpy as np

from adabypass.data.freq import Freq
from adabypass.distributions.base import check_level
from adabypass.errors import ParameterError, UnknownNameError
from adabypass.forecasting import Forecaster
from adabypass.forecasting.forecaster import MAX_HORIZON
from adabypass.forecasting.question import Question, exog_names
from adabypass.panel.batch import copy_for
from adabypass.panel.columns import TARGET
from adabypass.panel.forecasts import table_of, warn
from adabypass.panel.pipeline import FILL_MISSING, KEEP_LAST, as_forecaster
from adabypass.panel.series import Series, SeriesTable
from adabypass.results.explanation import Explanation
from adabypass.state.series import Missing
from adabypass.validation import check_int, shown


def explain(
    data: Any,
    horizon: int,
    forecaster: Forecaster | None = None,
    *,
    series: Any = None,
    target: str = TARGET,
    time: str | None = None,
    id: str | None = None,
    exog: str | Sequence[str] = (),
    calendar: str | Sequence[str] = (),
    freq: Freq | None = None,
    missing: Missing | None = None,
    period: float | Sequence[float] | None = None,
    support: str | Sequence[float] | None = None,
    level: float = 0.9,
) -> Explanation:
    """Explain the forecast that `forecast` makes of one series, given the same arguments.

    Parameters
    ----------
    data, horizon, forecaster, target, time, id, exog, calendar, freq, missing, period, support
        As of `forecast`. Only a `Forecaster()` without a model and lags has parts to explain.
    series : text or whole number, optional
        The id of the series; needed where there are several.
    level : number between 0 and 1
        Probability of the intervals.

    Returns
    -------
    Explanation
        Level, slope, each season by weekday or month, each exogenous column; and `contributions`, what each part adds
        at each time, past and ahead.

    Examples
    --------
    >>> days = np.arange("2024-01-01", "2024-03-11", dtype="M8[D]")
    >>> sold = np.where(np.arange(70) % 7 == 5, 30.0, 20.0)
    >>> found = explain({"ds": days, "y": sold}, horizon=7)
    >>> week = found.seasons["season_week"]
    >>> week.positions[int(week.effect.median.argmax())]
    'Saturday'
    """
    horizon = check_int(horizon, "horizon", minimum=1, maximum=MAX_HORIZON)
    panel = table_of(data, target, time, id, exog, calendar, freq, missing)
    template = as_forecaster(forecaster, missing=missing, period=period, support=support)
    found = explain_series(panel, series, horizon, template, level)
    warn(panel.remarks([template], KEEP_LAST))
    return found


def explain_series(
    panel: SeriesTable, name: object, horizon: int, template: Any, level: float = 0.9, remedy: str = FILL_MISSING
) -> Explanation:
    """Explain the forecast of one series of a table.

    Parameters
    ----------
    panel : SeriesTable
    name : text, number or None
        The id of the series; None where there is one series.
    horizon : int
    template : Forecaster
        A copy of it that has seen nothing learns the series.
    level : number between 0 and 1
    remedy : str
        What the error about a missing exogenous value advises besides filling it.
    """
    level = check_level(level)
    if not isinstance(template, Forecaster):
        raise ParameterError(f"forecaster is {shown(template)}, but only Forecaster() has parts to explain.")
    series = panel.series(_chosen(panel, name)).with_known_exog(template, horizon, remedy)
    blank = template.copy()
    blank.reset()
    twin = copy_for(series, blank)
    assert isinstance(twin, Forecaster)
    exog, ahead = series.exog_of(twin), series.exog_ahead(horizon, twin)
    twin.learn(series.y, exog)
    names = (*series.columns.exog, *series.columns.holidays)
    question = Question(
        level,
        horizon,
        np.empty((horizon, 0)) if ahead is None else ahead,
        series.y,
        np.empty((len(series.y), 0)) if exog is None else exog,
        exog_names(names, len(names)),
        lambda offset: series.local(_times(series, offset)),
        series.columns.time or "step",
        series.columns.target,
    )
    found = twin._explain(question)
    assert found.contributions is not None
    n = len(found.contributions.y)
    column = series.as_column(_times(series, np.arange(horizon - n, horizon)))
    return found._replace(contributions=found.contributions._replace(column=column))


def _chosen(panel: SeriesTable, name: object) -> str:
    """Return the name of the series to explain."""
    if name is None and len(panel) == 1:
        return panel.names[0]
    if name is None:
        raise ParameterError(
            f"there are {len(panel)} series, but one is explained at a time; say which by its id, "
            f"{panel.names[0]!r} for example."
        )
    if panel.columns.id is None:
        raise UnknownNameError(f"there is no series {shown(name)}, since there is no column of ids; leave it out.")
    if str(name) not in panel.names:
        near = [*get_close_matches(str(name), panel.names, n=1), panel.names[0]][0]
        raise UnknownNameError(f"there is no series {shown(name)}; did you mean {near!r}?")
    return str(name)


def _times(series: Series, offset: Any) -> Any:
    """Return the times at steps after the next one, in UTC where there is a zone; without times, the rows' numbers."""
    position = len(series.y) + offset
    return 1 + position if series.time is None else series.frequency.times(position)
