"""Adjusted closing prices from Yahoo! Finance, as the paper took them, through yfinance."""

from typing import Any

import numpy as np

from adabypass.errors import MissingExtraError, PriceError
from adabypass.experiments.prices import Prices, prices
from adabypass.validation import Floats


def download(y: str, x: str, start: str | None = None, end: str | None = None) -> Prices:
    """Download the adjusted closing prices of two tickers, and keep the days on which both have one.

    Parameters
    ----------
    y, x
        Tickers, "GLD" and "GDX", say.
    start, end
        First day, and the day after the last, as "2006-05-22"; all there is if not given.

    Notes
    -----
    Adjusted prices change with every later dividend: a download of today differs from one of the day itself by a factor
    for each stretch between dividends.
    """
    span = {"period": "max"} if start is None and end is None else {"start": start, "end": end}
    table = _yfinance().download([y, x], auto_adjust=True, progress=False, **span)
    if table is None:
        raise _nothing(f"{y!r} and {x!r}")
    closes = [_closes(table, ticker) for ticker in (y, x)]
    both = ~np.isnan(closes[0]) & ~np.isnan(closes[1])
    days = np.asarray(table.index).astype("datetime64[D]")
    return prices(closes[0][both], closes[1][both], days[both], names=(y, x))


def _yfinance() -> Any:
    try:
        import yfinance  # noqa: PLC0415  (an extra, and slow to import)
    except ImportError as missing:
        raise MissingExtraError(
            "downloads need yfinance; install it with: pip install 'adabypass[finance]'"
        ) from missing
    return yfinance


def _closes(table: Any, ticker: str) -> Floats:
    try:
        closes = np.asarray(table["Close"][ticker], dtype=np.float64)
    except KeyError:
        closes = np.empty(0)
    if np.isnan(closes).all():
        raise _nothing(repr(ticker))
    return closes


def _nothing(tickers: str) -> PriceError:
    return PriceError(f"Yahoo! Finance gave no prices of {tickers}; check tickers, dates and the connection.")
