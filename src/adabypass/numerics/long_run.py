"""Long-run variance: the variance of the mean of an autocorrelated series."""

import numpy as np

from adabypass.validation import Floats

MAX_AUTOCORRELATION = 0.97
"""Maximum autocorrelation used by `bandwidth`: a random walk, for which no mean exists, has 1."""


def mean_var(values: Floats, min_lags: int = 0) -> float:
    """Estimate the variance of the mean of `values`, which may be autocorrelated: Newey and West (1987).

    The autocovariances up to lag `bandwidth` have Bartlett weights. The result is never negative, and 0 only if all
    values are equal.
    """
    n, deviation = len(values), values - values.mean()
    lags = bandwidth(values, min_lags)
    total = float(deviation @ deviation)
    for lag in range(1, lags + 1):
        total += 2 * (1 - lag / (lags + 1)) * float(deviation[lag:] @ deviation[:-lag])
    return max(total, 0.0) / n**2


def bandwidth(values: Floats, minimum: int = 0) -> int:
    """Choose the number of lags by Andrews' (1991) rule for Bartlett weights: at least `minimum`, at most n / 3.

    The rule is 1.1447 (4 r^2 n / (1 - r^2)^2)^(1/3), rounded down, where r is the autocorrelation at lag 1 and n the
    number of values: 0 for r = 0, about 8 for r = 0.5 and n = 200.
    """
    n, deviation = len(values), values - values.mean()
    square = float(deviation @ deviation)
    if square == 0.0:
        return minimum
    r = float(np.clip(deviation[1:] @ deviation[:-1] / square, -MAX_AUTOCORRELATION, MAX_AUTOCORRELATION))
    rule = int(1.1447 * (4 * r**2 * n / (1 - r**2) ** 2) ** (1 / 3))
    return max(minimum, min(rule, n // 3))
