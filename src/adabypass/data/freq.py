"""Frequencies as a caller gives them: numbers, timedeltas and text such as "10 minutes"."""

import re
from contextlib import suppress
from datetime import timedelta
from math import isfinite
from numbers import Real
from typing import Any, TypeAlias

import numpy as np

from adabypass.errors import IrregularTimeError

Freq: TypeAlias = float | str | timedelta | np.timedelta64

_UNITS: dict[str, tuple[int, Any]] = {
    "s": (1, "s"), "sec": (1, "s"), "second": (1, "s"), "m": (1, "m"), "min": (1, "m"), "minute": (1, "m"),
    "h": (1, "h"), "hour": (1, "h"), "d": (1, "D"), "day": (1, "D"), "w": (1, "W"), "week": (1, "W"),
    "month": (1, "M"), "quarter": (3, "M"), "year": (12, "M"),
}  # fmt: skip
_WORDS: dict[Any, str] = {"s": "second", "m": "minute", "h": "hour", "D": "day", "W": "week", "M": "month", "Y": "year"}
_MAX_LENGTH = {"s": 10**11, "m": 10**10, "h": 10**8, "D": 4_000_000, "W": 600_000, "M": 120_000}
"""About ten thousand years, in each unit."""


def as_freq(freq: Freq, dates: bool) -> Any:
    """Return a checked frequency: a timedelta64 for dates, a number otherwise."""
    found: Any = _as_timedelta(freq) if dates else _as_number(freq)
    if not found > 0 * found:  # a zero of the same unit
        raise IrregularTimeError(f"freq is {freq!r}, but must be greater than 0.")
    return found


def in_words(freq: Any) -> str:
    """Return a frequency as a person would say it: "10 minutes", "1 month", "0.25"."""
    if not isinstance(freq, np.timedelta64):
        return f"{freq:.6g}"
    for unit in reversed(_WORDS):
        months = np.datetime_data(freq.dtype)[0] in "YM"
        if (unit in "YM") == months and freq % np.timedelta64(1, unit) == np.timedelta64(0, unit):
            many = int(freq / np.timedelta64(1, unit))
            return f"{many} {_WORDS[unit]}{'s' * (many != 1)}"
    return f"{freq / np.timedelta64(1, 's'):.9g} seconds"


def most_common(differences: Any) -> Any:
    """Return the most common difference; the smallest of those that are equally common."""
    rounded = differences
    if differences.dtype.kind == "f":
        # Differences of decimal fractions differ in their last digits.
        rounded = np.round(differences / differences.min(), 3)
    _, first, count = np.unique(rounded, return_index=True, return_counts=True)
    return differences[first[np.argmax(count)]]


def _as_number(freq: Freq) -> int | float:
    number: Any = freq
    with suppress(ValueError):
        number = float(freq) if isinstance(freq, str) else freq
    if isinstance(number, bool) or not isinstance(number, Real) or not isfinite(number):
        raise IrregularTimeError(f"freq is {freq!r}, but the times are numbers; give a number.")
    size = float(number)
    if abs(size) >= 2.0**63:
        raise IrregularTimeError(f"freq is {freq!r}, but must be less than 2^63.")
    return int(size) if size.is_integer() else size


def _as_timedelta(freq: Freq) -> np.timedelta64:
    if isinstance(freq, timedelta):
        return np.timedelta64(freq)
    if isinstance(freq, np.timedelta64) and np.datetime_data(freq.dtype)[0] != "generic" and not np.isnat(freq):
        return freq
    found = re.fullmatch(r"\s*(\d*)\s*([a-z]+?)s?\s*", freq.lower()) if isinstance(freq, str) else None
    if found is None or found[2] not in _UNITS:
        raise IrregularTimeError(
            f'freq is {freq!r}, but the times are dates; give a timedelta, or text such as "10 minutes", "hour", '
            '"day", "week", "month", "quarter" or "year".'
        )
    times, unit = _UNITS[found[2]]
    if len(found[1]) > 12 or times * int(found[1] or 1) > _MAX_LENGTH[unit]:
        raise IrregularTimeError(f"freq is {freq!r}, but must be less than 10,000 years; give a shorter one.")
    return np.timedelta64(times * int(found[1] or 1), unit)
