"""What every forecast can be asked, and the checks that all share."""

from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from adabypass.errors import ParameterError, ShapeError
from adabypass.validation import Floats, check_array, shown

Number: TypeAlias = float | Floats


class Predictive(Protocol):
    """What every forecast can be asked."""

    @property
    def mean(self) -> Any:
        """Expected value."""

    @property
    def median(self) -> Any:
        """The value that is exceeded with probability one half: it has the least expected absolute error."""

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


def plain(value: Any) -> Any:
    """Return a Python float for a single number, an array for many."""
    return float(value) if np.ndim(value) == 0 else value


_NEEDED = ("is_point", "is_known", "mean", "__getitem__")
"""What every forecast has, a point too."""


def check_predictive(value: Any, name: str, n: int | None = None) -> Predictive:
    """Check that `value` holds many forecasts: `n` of them, if that is given."""
    if isinstance(value, type) or not all(hasattr(value, part) for part in _NEEDED):
        raise ParameterError(
            f"{name} is {shown(value)}, but must be forecasts: a Normal, an Insensitive, a Mixture or a Point."
        )
    shape = np.shape(value.mean)
    if len(shape) != 1:
        raise ShapeError(f"{name} is {shown(value)}, which is one forecast; pass many, made of arrays of shape (n,).")
    if n is not None and shape != (n,):
        raise ShapeError(f"{name} holds {shape[0]} forecasts, but y has {n} values; pass one forecast for each.")
    predictive: Predictive = value
    return predictive


def check_values(y: Any, shape: tuple[int, ...]) -> Any:
    """Check the values at which forecasts are asked: any array for one of shape (), one number each for (n,)."""
    if isinstance(y, float):
        return y
    values = check_array(y, "y")
    if shape and values.shape not in ((), (1,), shape):
        raise ShapeError(
            f"y has shape {values.shape}, but there are {shape[0]} forecasts; pass shape {shape}, or one number."
        )
    return values


def check_probability(q: Any) -> Floats:
    """Check the probabilities of quantiles."""
    values = check_array(q, "q")
    if not ((values >= 0) & (values <= 1)).all():
        raise ParameterError(f"q is {shown(q)}, but the probability of a quantile lies between 0 and 1.")
    return values


def check_level(level: float) -> float:
    """Check the level of an interval."""
    if type(level) is float and 0.0 < level < 1.0:  # as a rule: a stream asks for it with every row
        return level
    if isinstance(level, bool) or not isinstance(level, float | int | np.floating | np.integer) or not 0 < level < 1:
        raise ParameterError(f"level is {shown(level)}, but must lie between 0 and 1: 0.9 means 90 %.")
    return float(level)
