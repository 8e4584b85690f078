"""Data frames of whichever library the caller has, through narwhals, which is imported only when it is needed."""

from collections import Counter
from collections.abc import Mapping
from importlib import import_module
from typing import Any, Literal, get_args

import numpy as np

from adabypass.data.zones import ZonedTimes
from adabypass.errors import MissingExtraError, TableError, UnknownNameError
from adabypass.validation import shown

Backend = Literal["pandas", "polars", "pyarrow"]
INDEX_NAME = "ds"
"""The column's name of an index of dates without a name."""


def make(columns: Mapping[str, Any], backend: Backend) -> Any:
    """Return a data frame of the named library with these columns; times with a zone keep it."""
    if not isinstance(backend, str) or backend not in get_args(Backend):
        known = ", ".join(map(repr, get_args(Backend)))
        raise UnknownNameError(f"backend is {shown(backend)}, but must be one of {known}.")
    try:
        import_module(backend)
    except ImportError as missing:
        raise MissingExtraError(
            f"to_frame(backend={backend!r}) needs {backend}; install it with: pip install {backend}"
        ) from missing
    return _made(columns, backend)


def make_like(columns: Mapping[str, Any], frame: Any) -> Any:
    """Return a data frame of the library that `frame` belongs to; times with a zone keep it."""
    import narwhals as nw  # noqa: PLC0415

    return _made(columns, nw.from_native(frame, eager_only=True).implementation)


def _made(columns: Mapping[str, Any], backend: Any) -> Any:
    import narwhals as nw  # noqa: PLC0415

    made = nw.from_dict({name: portable(column) for name, column in columns.items()}, backend=backend)
    for name, column in columns.items():
        if isinstance(column, ZonedTimes) and not column.as_text:
            in_utc = nw.col(name).dt.replace_time_zone("UTC")
            made = made.with_columns(in_utc.dt.convert_time_zone(column.zone or "UTC"))
    return made.to_native()


def columns(frame: Any) -> tuple[list[tuple[str, Any]], str | None]:
    """Return each column's name and its cells, and the name of the column that was an index of dates.

    A named index of pandas counts as a column, and so does an index of dates or periods without a name.
    """
    import narwhals as nw  # noqa: PLC0415

    frame, time_index = _with_index(frame)
    try:
        known = nw.from_native(frame, eager_only=True)
        names = known.columns
    except TypeError as error:
        library = type(frame).__module__.partition(".")[0]
        raise TableError(
            f"a {library.replace('builtins', 'Python')} {type(frame).__name__} came, but a pandas or polars "
            "DataFrame, a pyarrow Table or a dict of arrays was expected; collect a lazy frame, and make a frame of a "
            "series."
        ) from error
    except nw.exceptions.DuplicateError as error:
        names = list(getattr(frame, "column_names", frame.columns))
        twice = Counter(names).most_common(1)[0][0]
        raise TableError(f'two columns are named "{twice}"; rename one of them.') from error
    return [(str(name), _cells(known.get_column(name))) for name in names], time_index


def series_cells(series: Any) -> Any:
    """Return a series' cells as an array, or as a list with None where a value is missing."""
    import narwhals as nw  # noqa: PLC0415

    try:
        return _cells(nw.from_native(series, series_only=True))
    except TypeError:
        return np.asarray(series)


def portable(column: Any) -> Any:
    """Return what every library of data frames takes: dates in days, times in milliseconds or finer, text as a list."""
    if isinstance(column, ZonedTimes):
        return column.text() if column.as_text else portable(_with_time_of_day(column.utc))
    array = np.asarray(column)
    if array.dtype.kind in "UO":
        return array.tolist()
    if array.dtype.kind == "M":
        unit = np.datetime_data(array.dtype)[0]
        return array.astype("M8[D]" if unit in "YMW" else "M8[ms]" if unit in "hms" else array.dtype)
    return array


def _with_time_of_day(utc: Any) -> Any:
    """Return times in a unit finer than days: dates have no zone."""
    return utc.astype("M8[s]") if np.datetime_data(utc.dtype)[0] in "YMWD" else utc


def _with_index(frame: Any) -> tuple[Any, str | None]:
    """Return a frame of pandas with its index among the columns, if it has a name or holds dates."""
    index: Any = getattr(frame, "index", None)
    if not hasattr(index, "names") or not hasattr(frame, "columns"):
        return frame, None
    levels = [index.get_level_values(level) for level in range(index.nlevels)]
    dated = [type(level).__name__ in ("DatetimeIndex", "PeriodIndex") for level in levels]
    names = list(index.names)
    if dated.count(True) == 1 and names[dated.index(True)] is None and INDEX_NAME not in frame.columns:
        names[dated.index(True)] = INDEX_NAME
    kept = [name for name in names if name is not None and name not in frame.columns]
    if not kept:
        return frame, None
    time_index = names[dated.index(True)] if dated.count(True) == 1 else None
    moved = frame.set_axis(index.set_names(names)).reset_index(kept)
    return moved, str(time_index) if time_index in kept else None


def _cells(series: Any) -> Any:
    import narwhals as nw  # noqa: PLC0415

    dtype = series.dtype
    if isinstance(dtype, nw.Datetime) and dtype.time_zone is not None:
        utc = series.dt.convert_time_zone("UTC").dt.replace_time_zone(None).to_numpy()
        return ZonedTimes(utc, None, dtype.time_zone)
    if dtype.is_float() or isinstance(dtype, nw.Datetime | nw.Date):
        return series.to_numpy()
    missing = series.is_null().to_numpy()
    if not missing.any():
        return series.to_numpy() if dtype.is_integer() or dtype == nw.Boolean else series.to_list()
    return [None if gone else cell for cell, gone in zip(series.to_list(), missing, strict=True)]
