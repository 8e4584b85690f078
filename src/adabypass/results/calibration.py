"""Calibration of forecasts: whether 90 % intervals contain 90 % of the observations.

Everything is computed from the probability integral transform (PIT) of the observations, which is uniform and
independent over the stream if the forecasts are calibrated. Observations are left out if they are missing, or if their
forecast was made before anything was known.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.special import bdtr, bdtrik

from adabypass.distributions.base import check_level
from adabypass.errors import NotEnoughDataError, ParameterError
from adabypass.numerics import long_run
from adabypass.results.trace import Trace, check_trace
from adabypass.validation import Floats, check_int, shown

LEVELS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99)
MAX_BINS = 10_000
MAX_WINDOW = 1_000_000_000


class PitHistogram(NamedTuple):
    """Histogram of the PIT: flat if the forecasts are calibrated, hump-shaped if too wide, U-shaped if too narrow."""

    edges: Floats
    """Edges of the bins, shape (bins + 1,)."""
    density: Floats
    """Fraction of the observations in each bin, divided by its width, shape (bins,)."""
    band: tuple[float, float]
    """Central 95 % range of the density of a bin if the forecasts are calibrated."""


class Reliability(NamedTuple):
    """Nominal and observed coverage of central intervals."""

    nominal: Floats
    """Nominal levels of the intervals, shape (n_levels,)."""
    observed: Floats
    """Fraction of the observations within the interval of each level, shape (n_levels,)."""
    standard_error: Floats
    """Standard error of `observed`, which allows for autocorrelation; at least that of independent hits."""


def pit_histogram(trace: Trace, bins: int = 20, *, skip: int = 0) -> PitHistogram:
    """Compute the histogram of the PIT with bins of equal width.

    Parameters
    ----------
    trace
        The trace of a run.
    bins : whole number from 1
    skip : whole number
        How many of the first observations of the series to leave out, as in `Trace.scores`.

    Examples
    --------
    >>> from adabypass import Normal
    >>> trace = Trace(np.array([-1.0, -0.1, 0.2, 0.7]), Normal(np.zeros(4), np.ones(4)), {})
    >>> pit_histogram(trace, bins=4).density
    array([1., 1., 1., 1.])
    """
    bins = check_int(bins, "bins", minimum=1, maximum=MAX_BINS)
    pit = _seen_pit(trace, skip)
    count, edges = np.histogram(pit, bins, range=(0.0, 1.0))
    scale = bins / len(pit)
    density: Floats = np.asarray(count, dtype=np.float64) * scale
    low, high = chance_range(len(pit), 1 / bins)
    return PitHistogram(edges, density, (low * scale, high * scale))


def reliability(trace: Trace, levels: Sequence[float] = LEVELS, *, skip: int = 0) -> Reliability:
    """Compute the coverage of central intervals at each level.

    Parameters
    ----------
    trace
        The trace of a run.
    levels : numbers between 0 and 1
    skip : whole number
        How many of the first observations of the series to leave out, as in `Trace.scores`.

    Examples
    --------
    >>> from adabypass import Normal
    >>> trace = Trace(np.array([-1.0, -0.1, 0.2, 0.7]), Normal(np.zeros(4), np.ones(4)), {})
    >>> reliability(trace, levels=[0.5, 0.9]).observed
    array([0.5, 1. ])
    """
    nominal = _check_levels(levels)
    hits = _within(_seen_pit(trace, skip), nominal[:, None]).astype(float)
    independent = nominal * (1 - nominal) / hits.shape[1]
    correlated = [long_run.mean_var(row) for row in hits]
    return Reliability(nominal, hits.mean(axis=1), np.sqrt(np.maximum(independent, correlated)))


def coverage_over_time(trace: Trace, level: float = 0.9, window: int = 100) -> Floats:
    """Compute the coverage of central intervals over a rolling window of the last `window` observations.

    Missing observations are not counted in the window.

    Parameters
    ----------
    trace
        The trace of a run.
    level : number between 0 and 1
    window : whole number from 1

    Returns
    -------
    array (n,)
        Coverage after each observation; nan before `window` observations were seen.
    """
    trace, window = check_trace(trace), check_int(window, "window", minimum=1, maximum=MAX_WINDOW)
    pit = trace.predictive.pit(trace.y)
    hits = _within(pit, check_level(level))
    seen = ~np.isnan(pit)
    total = np.concatenate([[0], np.cumsum(hits[seen])])
    n_seen = np.cumsum(seen)
    share = np.full(len(trace), np.nan)
    full = n_seen >= window
    share[full] = (total[n_seen[full]] - total[n_seen[full] - window]) / window
    return share


def chance_range(n: int, share: float) -> tuple[float, float]:
    """Return the central 95 % range of the number of hits in `n` independent trials with hit probability `share`."""
    n = check_int(n, "n", minimum=1, maximum=MAX_WINDOW)
    if not (isinstance(share, float | int) and 0 <= share <= 1):
        raise ParameterError(f"share is {shown(share)}, but must be a number from 0 to 1.")
    low, high = (_binomial_quantile(q, n, share) for q in (0.025, 0.975))
    return low, high


def _binomial_quantile(q: float, n: int, share: float) -> float:
    above = float(np.ceil(bdtrik(q, n, share)))
    below = max(above - 1, 0.0)  # `bdtrik` may be off by rounding where the exact result is a whole number
    return below if bdtr(below, n, share) >= q else above


def _seen_pit(trace: Trace, skip: int) -> Floats:
    n_skipped = check_trace(trace).n_skipped(skip)
    pit: Floats = trace.predictive.pit(trace.y)[n_skipped:]
    pit = pit[~np.isnan(pit)]
    if len(pit) == 0:
        raise NotEnoughDataError(
            "there are no forecasts to check: every observation is missing, skipped, or came before anything was known."
        )
    return pit


def _check_levels(levels: object) -> Floats:
    try:
        found = [check_level(level) for level in levels]  # type: ignore[attr-defined]
    except TypeError as error:  # not iterable
        raise ParameterError(
            f"levels is {shown(levels)}, but must be a list of numbers between 0 and 1, as in [0.9]."
        ) from error
    return np.array(found)


def _within(pit: Floats, level: Any) -> Any:
    return np.abs(2 * pit - 1) <= level
