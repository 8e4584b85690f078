"""Empirical forecasts: distributions given by draws."""

from typing import Any

import numpy as np

from adabypass.distributions.base import Distribution, check_probability, check_values
from adabypass.errors import PointForecastError, ShapeError
from adabypass.numerics.limits import MAX_VALUE
from adabypass.validation import Floats, check_array, check_rng, check_size


class Empirical(Distribution):
    """Many forecasts, each the empirical distribution of the same number of draws.

    Parameters
    ----------
    draws : array (n_draws, n)
        One column of at least 2 draws for each forecast.
    """

    def __init__(self, draws: Floats) -> None:
        self.draws = check_array(draws, "draws")
        if self.draws.ndim != 2 or len(self.draws) < 2:
            raise ShapeError(
                f"draws have shape {self.draws.shape}, but must have shape (n_draws, n): at least 2 draws of each of n "
                "forecasts."
            )
        self._sorted = np.sort(self.draws, axis=0)

    def __repr__(self) -> str:
        return f"Empirical({self.draws.shape[1]} forecasts, {len(self.draws)} draws of each)"

    def __getitem__(self, chosen: Any) -> "Empirical":
        """Select among the forecasts, with the index of an array; a single one becomes an array of one."""
        return Empirical(np.atleast_2d(self.draws.T[chosen]).T)

    @property
    def is_known(self) -> Any:
        """Whether anything is known about the observation."""
        return ~np.isnan(self._sorted).any(axis=0)

    @property
    def mean(self) -> Floats:
        """Mean of the draws."""
        scale = self._scale
        return np.asarray((self.draws / scale).mean(axis=0) * scale)

    @property
    def var(self) -> Floats:
        """Variance of the draws."""
        with np.errstate(over="ignore"):
            return np.asarray(np.minimum(self.sd**2, MAX_VALUE))

    @property
    def sd(self) -> Floats:
        """Standard deviation of the draws."""
        scale = self._scale
        return np.asarray((self.draws / scale).std(axis=0, ddof=1) * scale)

    @property
    def _scale(self) -> Floats:
        """Power of two near each forecast's largest draw, so that neither sums nor squares overflow."""
        return np.asarray(2.0 ** np.clip(np.frexp(np.abs(self._sorted[[0, -1]]).max(axis=0))[1], -1000, 1000))

    def cdf(self, y: Any) -> Floats:
        """Return the share of the draws up to `y`."""
        return np.asarray((self.draws <= check_values(y, self.draws.shape[1:])).mean(axis=0))

    def sf(self, y: Any) -> Floats:
        """Return the share of the draws above `y`."""
        return 1.0 - self.cdf(y)

    def quantile(self, q: Any) -> Floats:
        """Return the empirical quantile of the draws: shape (n,), or (*q.shape, n) if q is an array."""
        return np.asarray(np.quantile(self._sorted, check_probability(q), axis=0))

    def crps(self, y: Any) -> Floats:
        """Return the continuous ranked probability score at `y` of the empirical distribution."""
        n, scale, values = len(self.draws), self._scale, check_values(y, self.draws.shape[1:])
        rank = (2 * np.arange(1, n + 1) - n - 1)[:, None] / n**2
        distance = np.abs(self.draws / scale - values / scale).mean(axis=0)
        return np.asarray((distance - (rank * (self._sorted / scale)).sum(axis=0)) * scale)

    def sample(self, rng: np.random.Generator, size: int | tuple[int, ...] | None = None) -> Floats:
        """Resample the draws: `size` whole rows."""
        shape = None if size is None else check_size(size, self.draws.shape[1])
        return np.asarray(self.draws[check_rng(rng).integers(len(self.draws), size=shape)])

    def pdf(self, y: Any) -> Any:
        """Raise an error: draws have no density."""
        raise PointForecastError("draws have no density; use crps to score them, or forecast with method='moments'.")

    logpdf = pdf

    def entropy(self) -> Any:
        """Raise an error: draws have no density."""
        return self.pdf(None)
