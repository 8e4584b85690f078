"""The series that is evaluated: an array, or the columns of a data frame on a regular grid of time."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from adabypass.data import from_frame
from adabypass.data.freq import Freq
from adabypass.errors import ParameterError
from adabypass.forecasting.observations import check_exog, check_series
from adabypass.panel.columns import Columns, as_names
from adabypass.panel.series import SeriesTable
from adabypass.validation import Floats


class Observations(NamedTuple):
    """One series, and what is known of it."""

    y: Floats
    exog: Floats | None
    frequency: Any
    """Of its times; None where there are none."""


def observations(
    data: Any, exog: Any, target: str, time: str | None, calendar: str | Sequence[str] = (), freq: Freq | None = None
) -> Observations:
    """Return the observations and exogenous values of arrays, or of a frame's columns."""
    cycles = as_names(calendar, "calendar")
    if not (isinstance(data, Mapping) or hasattr(data, "columns")):
        if cycles:
            raise ParameterError("calendar needs times; pass a data frame with a column of them.")
        series = check_series(data, "data")
        return Observations(series, None if exog is None else check_exog(exog, len(series), None, None, "mean"), None)
    panel = SeriesTable(
        from_frame(data),
        Columns(target, time, None, () if exog is None else as_names(exog, "exog"), cycles, freq),
    )
    if len(panel) > 1:
        raise ParameterError(f"the frame holds {len(panel)} series, but they are evaluated one by one; choose one.")
    found = panel.series(panel.names[0])
    return Observations(found.y, found.exog, found.frequency)
