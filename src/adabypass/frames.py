"""Data frames of whichever library the caller has, through narwhals, which is imported only when one is asked for."""

from collections.abc import Mapping
from typing import Any, Literal, get_args

from adabypass.errors import MissingExtraError, UnknownNameError

Backend = Literal["pandas", "polars", "pyarrow"]


def make(columns: Mapping[str, Any], backend: Backend) -> Any:
    """Make a data frame of the named library out of columns."""
    import narwhals as nw  # noqa: PLC0415  (a data frame is optional, and slow to import)

    if backend not in get_args(Backend):
        raise UnknownNameError(f"backend is {backend!r}, but must be one of {', '.join(map(repr, get_args(Backend)))}.")
    try:
        return nw.from_dict(dict(columns), backend=backend).to_native()
    except ImportError as missing:
        raise MissingExtraError(
            f"to_frame(backend={backend!r}) needs {backend}; install it with: pip install {backend}"
        ) from missing
