"""What all distributions have in common."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from adabypass.distributions.protocol import Number, check_level, plain
from adabypass.validation import Floats


class Distribution:
    """A forecast that is a distribution, or many of them: what follows from `logpdf`, `cdf` and `quantile`."""

    __slots__ = ()

    is_point = False

    @property
    def median(self) -> Any:
        """The value that is exceeded with probability one half: it has the least expected absolute error."""
        return self.quantile(0.5)

    def quantile(self, q: ArrayLike) -> Any:
        """Return the value that is exceeded with probability 1 - q.

        Of one forecast an array of the shape of q; of n forecasts one of shape (n,), or (*q.shape, n) if q is an array.
        """
        raise NotImplementedError

    def logpdf(self, y: Number) -> Any:
        """Return the log density at `y`: the log score. It is never below -1e300."""
        raise NotImplementedError

    def cdf(self, y: Number) -> Any:
        """Return the probability of a value up to `y`."""
        raise NotImplementedError

    def pdf(self, y: Number) -> Any:
        """Return the density at `y`."""
        return plain(np.exp(self.logpdf(y)))

    def pit(self, y: Number) -> Any:
        """Return the probability integral transform of `y`: uniform over a stream if the forecasts are calibrated."""
        return self.cdf(y)

    def interval(self, level: float = 0.9, *, start: Floats | None = None) -> tuple[Any, Any]:
        """Return the central interval that holds the observation with probability `level`: see `Predictive`."""
        low, high = self.quantile(np.array(interval_tails(check_level(level))))
        return plain(low), plain(high)


def interval_tails(level: float) -> tuple[float, float]:
    """Return the probabilities below the bounds of a central interval."""
    return (1 - level) / 2, (1 + level) / 2
