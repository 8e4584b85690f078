"""Whether forecasts mean what they say: 90 % intervals hold 90 % of the observations.

Everything is read off the probability integral transform (PIT) of the observations: uniform and independent over the
stream if the forecasts are calibrated. Missing observations are left out, and those whose forecast knew nothing.
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
MOST_BINS = 10_000
LONGEST_WINDOW = 1_000_000_000


class PitHistogram(NamedTuple):
    """How the PIT is spread: flat if the forecasts are calibrated, a hump if too wide, a bowl if too narrow."""

    edges: Floats
    """Edges of the bins, shape (bins + 1,)."""
    density: Floats
    """Share of the observations in each bin, divided by its width, shape (bins,)."""
    band: tuple[float, float]
    """Where 95 % of a bin's densities fall by chance alone, if the forecasts are calibrated."""


class Reliability(NamedTuple):
    """What central intervals promise, and what they hold."""

    nominal: Floats
    """Levels of the intervals."""
    observed: Floats
    """Share of the observations within each."""
    standard_error: Floats
    """Of that share: allowing for autocorrelation, and no less than that of independent hits at the nominal level."""


def pit_histogram(trace: Trace, bins: int = 20, *, skip: int = 0) -> PitHistogram:
    """Count the PIT of the observations in bins of one width.

    Parameters
    ----------
    trace
        What `run` gave.
    bins : whole number from 1
    skip : whole number
        How many of the first observations to leave out, as in `Trace.scores`.

    Examples
    --------
    >>> from adabypass import Normal
    >>> trace = Trace(np.array([-1.0, -0.1, 0.2, 0.7]), Normal(np.zeros(4), np.ones(4)), {})
    >>> pit_histogram(trace, bins=4).density
    array([1., 1., 1., 1.])
    """
    bins = check_int(bins, "bins", minimum=1, maximum=MOST_BINS)
    pit = _seen_pit(trace, skip)
    count, edges = np.histogram(pit, bins, range=(0.0, 1.0))
    scale = bins / len(pit)
    density: Floats = np.asarray(count, dtype=np.float64) * scale
    low, high = chance_range(len(pit), 1 / bins)
    return PitHistogram(edges, density, (low * scale, high * scale))


def reliability(trace: Trace, levels: Sequence[float] = LEVELS, *, skip: int = 0) -> Reliability:
    """Count how many observations fall within central intervals of each level.

    Parameters
    ----------
    trace
        What `run` gave.
    levels : numbers between 0 and 1
    skip : whole number
        How many of the first observations to leave out, as in `Trace.scores`.

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
    """Return the share of the last `window` observations that fell within their central interval, moment by moment.

    Missing observations do not count: the window reaches back over as many as were seen.

    Parameters
    ----------
    trace
        What `run` gave.
    level : number between 0 and 1
    window : whole number from 1

    Returns
    -------
    array (n,)
        nan until `window` observations were seen.
    """
    trace, window = check_trace(trace), check_int(window, "window", minimum=1, maximum=LONGEST_WINDOW)
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
    """Return the central 95 % of the number of hits in `n` independent trials, each a hit with probability `share`."""
    n = check_int(n, "n", minimum=1, maximum=LONGEST_WINDOW)
    if not (isinstance(share, float | int) and 0 <= share <= 1):
        raise ParameterError(f"share is {shown(share)}, but must be a number from 0 to 1.")
    low, high = (_binomial_quantile(q, n, share) for q in (0.025, 0.975))
    return low, high


def _binomial_quantile(q: float, n: int, share: float) -> float:
    above = float(np.ceil(bdtrik(q, n, share)))
    below = max(above - 1, 0.0)  # `bdtrik` may err by a rounding where a whole number is the answer
    return below if bdtr(below, n, share) >= q else above


def _seen_pit(trace: Trace, skip: int) -> Floats:
    skip = check_int(skip, "skip", minimum=0, maximum=len(check_trace(trace)))
    pit: Floats = trace.predictive.pit(trace.y)[skip:]
    pit = pit[~np.isnan(pit)]
    if len(pit) == 0:
        raise NotEnoughDataError(
            "there is nothing to judge: every observation is missing, skipped, or had a forecast that knew nothing."
        )
    return pit


def _check_levels(levels: object) -> Floats:
    try:
        found = [check_level(level) for level in levels]  # type: ignore[attr-defined]
    except TypeError as error:  # it is no list
        raise ParameterError(
            f"levels is {shown(levels)}, but must be a list of numbers between 0 and 1, as in [0.9]."
        ) from error
    return np.array(found)


def _within(pit: Floats, level: Any) -> Any:
    return np.abs(2 * pit - 1) <= level
