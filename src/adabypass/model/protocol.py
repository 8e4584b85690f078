"""What every forecast can be asked, and the checks that all share."""

from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from adabypass.errors import ParameterError
from adabypass.model.limits import LARGEST
from adabypass.validation import Floats, check_array

Number: TypeAlias = float | Floats


class Predictive(Protocol):
    """What every forecast can be asked."""

    @property
    def mean(self) -> Any:
        """Expected value."""

    @property
    def var(self) -> Any:
        """Variance."""

    @property
    def sd(self) -> Any:
        """Standard deviation."""

    @property
    def is_point(self) -> bool:
        """Whether there is a mean and nothing else."""

    @property
    def is_known(self) -> Any:
        """Whether anything is known about the observation; if not, the mean is nan and the variance infinite."""

    def __getitem__(self, chosen: Any) -> "Predictive":
        """Choose among many forecasts, as an array would."""

    def pdf(self, y: Number) -> Any:
        """Return the density at `y`."""

    def logpdf(self, y: Number) -> Any:
        """Return the log density at `y`: the log score."""

    def cdf(self, y: Number) -> Any:
        """Return the probability of a value up to `y`."""

    def sf(self, y: Number) -> Any:
        """Return the probability of a value above `y`."""

    def quantile(self, q: ArrayLike) -> Any:
        """Return the value that is exceeded with probability 1 - q.

        Of one forecast an array of the shape of q; of n forecasts one of shape (n,), or (*q.shape, n) if q is an array.
        """

    def interval(self, level: float = 0.9, *, start: Floats | None = None) -> tuple[Any, Any]:
        """Return the central interval that holds the observation with probability `level`.

        `start` makes a mixture quick, to 1e-5 standard deviations as a rule, where one forecast after another is much
        like the one before: an array of two numbers, -1 and 1 at first, in which the search notes where it ended.
        """

    def crps(self, y: Number) -> Any:
        """Return the continuous ranked probability score at `y`: smaller is better, in the units of y."""

    def pit(self, y: Number) -> Any:
        """Return the probability integral transform of `y`: uniform over a stream if the forecasts are calibrated."""

    def entropy(self) -> Any:
        """Return the expected negative log density: the negative log score that the forecast expects of itself."""

    def sample(self, rng: np.random.Generator, size: int | tuple[int, ...] | None = None) -> Any:
        """Draw values."""

    def plus(self, shift: Any, var: Any = 0.0) -> "Predictive":
        """Return the forecast of a sum: of this and an independent normal with mean `shift` and variance `var`."""


def plain(value: Any) -> Any:
    """Return a Python float for a single number, an array for many."""
    return float(value) if np.ndim(value) == 0 else value


def saturate(value: Any) -> Any:
    """Return the value, kept within the largest numbers of the library."""
    return plain(np.clip(value, -LARGEST, LARGEST))


def check_probability(q: Any) -> Floats:
    """Check the probabilities of quantiles."""
    values = check_array(q, "q")
    if not ((values >= 0) & (values <= 1)).all():
        raise ParameterError(f"q is {q!r}, but the probability of a quantile lies between 0 and 1.")
    return values.reshape(np.shape(q))


def check_level(level: float) -> float:
    """Check the level of an interval."""
    if type(level) is float and 0.0 < level < 1.0:  # as a rule: a stream asks for it with every row
        return level
    if isinstance(level, bool) or not isinstance(level, float | int | np.floating | np.integer) or not 0 < level < 1:
        raise ParameterError(f"level is {level!r}, but must lie between 0 and 1: 0.9 means 90 %.")
    return float(level)
