"""Data frames of whichever library the caller has, through narwhals, which is imported only when one is asked for."""

from collections.abc import Mapping
from importlib import import_module
from typing import Any, Literal, get_args

import numpy as np

from adabypass.errors import MissingExtraError, TableError, UnknownNameError

Backend = Literal["pandas", "polars", "pyarrow"]


def make(columns: Mapping[str, Any], backend: Backend) -> Any:
    """Make a data frame of the named library out of columns."""
    import narwhals as nw  # noqa: PLC0415  (a data frame is optional, and slow to import)

    if backend not in get_args(Backend):
        raise UnknownNameError(f"backend is {backend!r}, but must be one of {', '.join(map(repr, get_args(Backend)))}.")
    try:
        import_module(backend)
    except ImportError as missing:
        raise MissingExtraError(
            f"to_frame(backend={backend!r}) needs {backend}; install it with: pip install {backend}"
        ) from missing
    return nw.from_dict(dict(columns), backend=backend).to_native()


def make_like(columns: Mapping[str, Any], frame: Any) -> Any:
    """Make a data frame of the library that `frame` belongs to."""
    import narwhals as nw  # noqa: PLC0415

    backend = nw.from_native(frame, eager_only=True).implementation
    return nw.from_dict({name: portable(column) for name, column in columns.items()}, backend=backend).to_native()


def columns(frame: Any) -> list[tuple[str, Any]]:
    """Take a data frame apart: each column's name and its cells, an array or a list.

    A named index of pandas counts as a column.
    """
    import narwhals as nw  # noqa: PLC0415

    index = [name for name in getattr(getattr(frame, "index", None), "names", ()) if name is not None]
    if index and hasattr(frame, "columns"):
        frame = frame.reset_index([name for name in index if name not in frame.columns])
    try:
        known = nw.from_native(frame, eager_only=True)
        names = known.columns
    except TypeError as error:
        raise TableError(
            f"a {type(frame).__module__.partition('.')[0]} {type(frame).__name__} came, but a pandas or polars "
            "DataFrame, a pyarrow Table or a dict of arrays was expected; collect a lazy frame, and make a frame of a "
            "series."
        ) from error
    except nw.exceptions.DuplicateError as error:
        names = list(getattr(frame, "column_names", frame.columns))
        twice = next(name for name in names if names.count(name) > 1)
        raise TableError(f'two columns are named "{twice}"; rename one of them.') from error
    return [(str(name), _cells(known.get_column(name))) for name in names]


def series_cells(series: Any) -> Any:
    """Give a series' cells as an array, or as a list with None where a value is missing."""
    import narwhals as nw  # noqa: PLC0415

    try:
        return _cells(nw.from_native(series, series_only=True))
    except TypeError:
        return np.asarray(series)


def portable(column: Any) -> Any:
    """Make what every library of data frames takes: dates in days, times in milliseconds or finer, text as a list."""
    array = np.asarray(column)
    if array.dtype.kind in "UO":
        return array.tolist()
    if array.dtype.kind == "M":
        unit = np.datetime_data(array.dtype)[0]
        return array.astype("M8[D]" if unit in "YMW" else "M8[ms]" if unit in "hms" else array.dtype)
    return array


def _cells(series: Any) -> Any:
    import narwhals as nw  # noqa: PLC0415

    dtype = series.dtype
    if isinstance(dtype, nw.Datetime) and dtype.time_zone is not None:
        series = series.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
    if dtype.is_float() or isinstance(dtype, nw.Datetime | nw.Date):
        return series.to_numpy()
    missing = series.is_null().to_numpy()
    if not missing.any():
        return series.to_numpy() if dtype.is_integer() or dtype == nw.Boolean else series.to_list()
    return [None if gone else cell for cell, gone in zip(series.to_list(), missing, strict=True)]
