"""Public holidays as a feature, by the package `holidays`: an extra."""

from typing import Any

import numpy as np

from adabypass.data.cells import Array
from adabypass.errors import MissingExtraError, UnknownNameError
from adabypass.validation import Floats

PREFIX = "holidays:"
"""Begins a part of a calendar that is the name of a country, or of a part of it: "holidays:DE", "holidays:US-CA"."""


def is_holiday(time: Array, region: str) -> Floats:
    """Return 1 for each time on a public holiday of a region, otherwise 0.

    Parameters
    ----------
    time : array (n,) of datetime64
    region : str
        A country by its two letters, or a part of it: "DE", or "US-CA".
    """
    days = np.asarray(time).astype("M8[D]")
    if len(days) == 0:
        return np.zeros(0)
    first, last = (int(str(day.astype("M8[Y]"))) for day in (days.min(), days.max()))
    known = np.array([np.datetime64(day) for day in _calendar(region, range(first, last + 1))], dtype="M8[D]")
    return np.isin(days, known).astype(np.float64)


def _calendar(region: str, years: range) -> Any:
    try:
        import holidays  # noqa: PLC0415  (an extra)
    except ImportError as missing:
        raise MissingExtraError(
            "features of holidays need the package holidays; install it with: pip install 'adabypass[holidays]'"
        ) from missing
    country, _, part = region.partition("-")
    try:
        return holidays.country_holidays(country, subdiv=part or None, years=years)
    except NotImplementedError:
        raise UnknownNameError(
            f'there are no holidays of "{region}"; name a country by two letters, such as DE, or a part of it, US-CA.'
        ) from None
