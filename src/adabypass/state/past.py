"""The past of a series: the values from which the next one is forecast, and their uncertainty."""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from adabypass.validation import Floats, Integers


@dataclass(frozen=True)
class Design:
    """Features from which the next value of a series is forecast.

    The features are, in this order: a constant 1 if there is a bias, the lags of the differenced series, the exogenous
    columns. Positions count past values from 0, the newest.
    """

    lags: tuple[int, ...]
    """Lags in ascending order; 1 is the previous value."""
    difference: int = 0
    """Order of differencing before the lags are taken."""
    bias: bool = False

    @cached_property
    def n_values(self) -> int:
        """Number of past values from which the features are computed."""
        return max(self.lags, default=0) + self.difference

    @cached_property
    def taps(self) -> Floats:
        """Coefficients of the differenced series on the newest values, shape (difference + 1,)."""
        taps = np.array([1.0])
        for _ in range(self.difference):
            taps = np.convolve(taps, [1.0, -1.0])
        return taps

    @cached_property
    def positions(self) -> Integers:
        """Positions of the values from which the lag features and the base are computed."""
        used = set(range(self.difference))
        used.update(lag - 1 + tap for lag in self.lags for tap in range(len(self.taps)))
        return np.array(sorted(used), dtype=np.int64)

    @property
    def lag_columns(self) -> slice:
        """Slice of the lags among the features."""
        return slice(int(self.bias), int(self.bias) + len(self.lags))

    def lag_matrix(self, positions: Integers) -> Floats:
        """Return the matrix A with lag features = A @ values at `positions`, shape (n_lags, n_positions)."""
        tap = positions[None, :] - (np.array(self.lags, dtype=np.int64)[:, None] - 1)
        inside = (tap >= 0) & (tap < len(self.taps))
        return np.where(inside, self.taps[np.where(inside, tap, 0)], 0.0)

    def base_weights(self, positions: Integers) -> Floats:
        """Return the vector d with base = d @ values at `positions`; the base is added back to undo differencing."""
        return np.where(positions < self.difference, -self.taps[np.minimum(positions + 1, self.difference)], 0.0)


class Past(NamedTuple):
    """The values before the next observation."""

    values: Floats
    """Shape (n_values,), newest first; forecasts where observations are missing."""
    unknown: Integers
    """Positions of the values whose observations are missing, oldest first."""
    cov: Floats
    """Covariance of the unknown values, shape (n_unknown, n_unknown)."""
    largest: float = 0.0
    """Largest absolute value of an observation so far."""
