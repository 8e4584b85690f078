"""The period of a series that comes without times."""

import numpy as np

from adabypass.validation import Floats

MIN_CORRELATION = 0.3
"""Autocorrelation of the differences that a season must have, besides twice its standard error."""
MIN_PERIOD, MAX_PERIOD = 2, 400
MAX_VALUES = 10_000
"""The newest values that are looked at."""


def find_period(y: Floats) -> int | None:
    """Return the period of a series, or None: where the autocorrelation of its differences has its highest peak.

    Three periods must have been seen. Differences, since a trend would correlate at every lag.

    Examples
    --------
    >>> t = np.arange(120)
    >>> find_period(np.sin(2 * np.pi * t / 12) + 0.1 * np.random.default_rng(0).normal(size=120))
    12
    """
    seen = y[~np.isnan(y)][-MAX_VALUES:]
    longest = min(len(seen) // 3, MAX_PERIOD)
    if longest < MIN_PERIOD + 1:
        return None
    largest = float(np.abs(seen).max()) or 1.0
    change = np.diff(seen / largest)
    change -= change.mean()
    total = float(change @ change)
    if total <= 1e-24:
        return None
    spectrum = np.abs(np.fft.rfft(change, 2 * len(change))) ** 2
    correlation = np.fft.irfft(spectrum)[: longest + 2] / total
    inner = correlation[MIN_PERIOD : longest + 1]
    is_peak = (inner >= correlation[MIN_PERIOD - 1 : longest]) & (inner >= correlation[MIN_PERIOD + 1 : longest + 2])
    bound = max(MIN_CORRELATION, 2.0 / np.sqrt(len(change)))
    peaks = np.flatnonzero(is_peak & (inner >= bound))
    if len(peaks) == 0:
        return None
    best = inner[peaks].max()
    # Multiples of a period correlate nearly as well: the shortest of those counts.
    return int(peaks[np.argmax(inner[peaks] >= 0.9 * best)]) + MIN_PERIOD
