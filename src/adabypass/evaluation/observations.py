"""The series that are evaluated: an array, or the series of a data frame on regular grids of time."""

from collections.abc import Mapping, Sequence
from typing import Any

from adabypass.data import from_frame
from adabypass.data.freq import Freq
from adabypass.errors import ParameterError
from adabypass.forecasting.observations import check_exog, check_series
from adabypass.panel.columns import TARGET, Columns, as_names
from adabypass.panel.forecasts import table_of
from adabypass.panel.series import SeriesTable
from adabypass.state.series import Missing

TAKEN = {
    "model", "step", "n_origins", "n_scored", "n_skipped", "n_left_out", "rmse", "mad", "mae", "crps",
    "log_likelihood", "difference",
}  # fmt: skip
"""Columns of the results, beside which the column of ids stands."""


def series_table(
    data: Any,
    target: str,
    time: str | None,
    id: str | None,
    exog: Any,
    calendar: str | Sequence[str],
    freq: Freq | None,
    missing: Missing | None,
) -> SeriesTable:
    """Return the series of a data frame, or the only one of an array with its exogenous values beside it."""
    if isinstance(data, Mapping) or hasattr(data, "columns"):
        panel = table_of(data, target, time, id, () if exog is None else exog, calendar, freq, missing)
        check_id(panel)
        return panel
    if as_names(calendar, "calendar"):
        raise ParameterError("calendar needs times; pass a data frame with a column of them.")
    series = check_series(data, "data")
    columns = {} if exog is None else _columns(exog, len(series))
    return SeriesTable(from_frame({TARGET: series} | columns), Columns(exog=tuple(columns)))


def check_id(panel: SeriesTable) -> None:
    """Check that the column of ids is not named as a column of the results is."""
    name = panel.columns.id
    if name in TAKEN:
        raise ParameterError(f'the column of ids is named "{name}", as a column of the scores is; rename it before.')


def _columns(exog: Any, n: int) -> dict[str, Any]:
    """Return the columns of an array of exogenous values, by names for errors."""
    if isinstance(exog, str):
        raise ParameterError(f"exog is {exog!r}, but data is an array; pass an array of shape ({n}, n_exog).")
    table = check_exog(exog, n, None, None, "mean")
    return {f"exog[:, {i}]": column for i, column in enumerate(table.T)}
