"""Two series of prices, checked: the same days in the same order, and a price above 0 on each."""

from typing import Any, NamedTuple, TypeAlias

import numpy as np

from adabypass.datasets import load_dataset
from adabypass.errors import PriceError
from adabypass.validation import Floats, check_array

Dates: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"


class Prices(NamedTuple):
    """Two series of prices of the same days; make them with `prices`, which checks them."""

    y: Floats
    x: Floats
    time: Dates
    names: tuple[str, str]

    def swapped(self) -> "Prices":
        """Explain x by y instead."""
        return Prices(self.x, self.y, self.time, (self.names[1], self.names[0]))


def prices(
    y: object, x: object, time: object = None, x_time: object = None, *, names: tuple[str, str] = ("y", "x")
) -> Prices:
    """Check two series of prices.

    Parameters
    ----------
    y, x : arrays (n,)
        Prices at the close of the same days, each above 0. A day without either price must be left out of both.
    time : array (n,), optional
        The days, each after the one before it; their number if not given.
    x_time : array (n,), optional
        The days of x, where they came separately: they must be those of y.
    names
        What y and x are called.

    Examples
    --------
    >>> prices([10.0, 11.0, 12.0], [4.0, 0.0, 5.0], names=("gold", "miners"))
    Traceback (most recent call last):
    ...
    adabypass.errors.PriceError: the price of miners on day 1 is 0.0, but must be above 0; correct it, or leave the day out.
    """  # noqa: E501
    series = [_one_series(values, name) for values, name in zip((y, x), names, strict=True)]
    n = len(series[0])
    if len(series[1]) != n:
        raise PriceError(
            f"{names[0]} has {n} prices and {names[1]} has {len(series[1])}, but each day needs both; "
            "keep the days that both have."
        )
    if n < 3:
        raise PriceError(f"there are {n} days of prices, but a trade needs at least 3.")
    days = np.arange(n) if time is None else np.asarray(time)
    _check_days(days, n)
    if x_time is not None:
        _check_same_days(days, np.asarray(x_time), names)
    for values, name in zip(series, names, strict=True):
        _check_values(values, days, name)
    return Prices(series[0], series[1], days, names)


def gold_silver() -> Prices:
    """Return the pair that comes with the library: gold (y) and silver (x), 1977-2012."""
    data = load_dataset("gold_silver")
    assert data.x is not None
    return prices(data.y, data.x[:, 0], data.time, names=("gold", "silver"))


def _one_series(values: object, name: str) -> Floats:
    series = check_array(values, name)
    if series.ndim != 1:
        raise PriceError(f"{name} has shape {series.shape}, but must be (n,), one price for each day.")
    return series


def _check_days(days: Dates, n: int) -> None:
    if days.shape != (n,):
        raise PriceError(f"time has shape {days.shape}, but must be ({n},), one day for each price.")
    if days.dtype.kind == "M" and np.isnat(days).any():
        raise PriceError(f"time[{int(np.flatnonzero(np.isnat(days))[0])}] is no date; fill it, or leave the day out.")
    wrong = np.flatnonzero(~(days[1:] > days[:-1]))
    if len(wrong):
        before, after = days[wrong[0]], days[wrong[0] + 1]
        fault = f"the day {after} comes twice" if before == after else f"the day {after} follows {before}"
        raise PriceError(f"{fault}, but each day must be later than the one before it; sort the days, keep each once.")


def _check_same_days(days: Dates, others: Dates, names: tuple[str, str]) -> None:
    if others.shape != days.shape:
        raise PriceError(f"the days of {names[0]} and {names[1]} have shapes {days.shape} and {others.shape}.")
    wrong = np.flatnonzero(days != others)
    if len(wrong):
        at = int(wrong[0])
        raise PriceError(
            f"row {at} is the day {days[at]} of {names[0]}, but {others[at]} of {names[1]}; "
            "keep the days that both have."
        )


def _check_values(values: Floats, days: Dates, name: str) -> None:
    wrong = np.flatnonzero(~(np.isfinite(values) & (values > 0.0)))
    if len(wrong) == 0:
        return
    at = int(wrong[0])
    day = days[at] if days.dtype.kind == "M" else f"day {days[at]}"
    if np.isnan(values[at]):
        raise PriceError(f"the price of {name} on {day} is missing; fill it, or leave the day out of both series.")
    raise PriceError(
        f"the price of {name} on {day} is {values[at]}, but must be above 0"
        f"{' and finite' * bool(np.isinf(values[at]))}; correct it, or leave the day out."
    )
