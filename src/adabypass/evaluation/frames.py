"""`evaluate_frame`: the scores of every series of a data frame, answered in kind."""

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from adabypass.data import from_frame
from adabypass.data.freq import Freq
from adabypass.evaluation.prequential import SKIP, evaluate
from adabypass.forecasting import Baseline, Forecaster
from adabypass.panel.batch import copy_for
from adabypass.panel.columns import TARGET, Columns, as_names
from adabypass.panel.forecasts import check_on_error, report
from adabypass.panel.pipeline import as_forecaster, map_series
from adabypass.panel.series import Series, SeriesTable
from adabypass.regressors import Regressor
from adabypass.validation import Floats


def evaluate_frame(
    data: Any,
    forecaster: Forecaster | Baseline | Regressor | None = None,
    *,
    target: str = TARGET,
    time: str | None = None,
    id: str | None = None,
    exog: str | Sequence[str] = (),
    calendar: str | Sequence[str] = (),
    freq: Freq | None = None,
    horizon: int = 1,
    every: int | None = None,
    skip: int = SKIP,
    on_error: Literal["warn", "raise"] = "warn",
    n_threads: int | None = None,
) -> Any:
    """Score a forecaster on every series of a data frame, each by itself, and return a frame of the same kind.

    Each forecast is made before its target is seen, as by `evaluate`; the series are evaluated by several threads.

    Parameters
    ----------
    data : pandas, polars or pyarrow frame, or dict of arrays
        One row for each observation, the series below each other.
    forecaster : Forecaster, Baseline or Regressor, optional
        Each series gets a copy of it; a new `Forecaster()` if None.
    target, time, id, exog, calendar, freq, on_error
        As of `forecast`.
    horizon, every, skip
        As of `evaluate`.
    n_threads : int, optional
        As many as there are processors by default; no score depends on it.

    Returns
    -------
    frame
        `id` and `step`; `n_origins`, `n_scored`, `n_skipped` and `n_left_out`, numbers of forecasts; and the scores:
        one row for each series and step ahead.

    Examples
    --------
    >>> import pandas as pd
    >>> from adabypass import Forecaster, load_dataset
    >>> y = load_dataset("nile").y
    >>> frame = pd.DataFrame({"unique_id": ["early"] * 300 + ["late"] * 363, "y": y})
    >>> evaluate_frame(frame, Forecaster(lags=1))[["unique_id", "n_scored", "rmse"]].round(2).values.tolist()
    [['early', 279, 0.78], ['late', 342, 0.64]]
    """
    check_on_error(on_error)
    template = as_forecaster(forecaster)
    table = from_frame(data)
    panel = SeriesTable(table, Columns(target, time, id, as_names(exog, "exog"), as_names(calendar, "calendar"), freq))

    def work(series: Series) -> dict[str, Floats]:
        twin = copy_for(series.frequency, template)
        return evaluate(series.y, twin, series.exog, horizon=horizon, every=every, skip=skip).columns()

    results, failures = map_series(panel, work, n_threads=n_threads)
    if failures:
        report(failures, len(panel), on_error)
    parts = [columns for _, columns in results]
    columns: dict[str, Any] = {}
    if panel.columns.id is not None:
        columns[panel.columns.id] = panel.ids([series.name for series, _ in results], len(parts[0]["step"]))
    columns |= {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    return table.like(columns)
