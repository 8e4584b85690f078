"""The interface of every forecast, what all distributions share, and checks of their arguments."""

from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from adabypass.errors import ParameterError, ShapeError
from adabypass.validation import Floats, check_array, shown

Number: TypeAlias = float | Floats


class Predictive(Protocol):
    """The interface of one forecast (numbers) or of many (arrays): a `Distribution`, or a `Point`."""

    @property
    def mean(self) -> Any:
        """Expected value."""

    @property
    def median(self) -> Any:
        """Quantile 0.5: the value with the smallest expected absolute error."""

    @property
    def var(self) -> Any:
        """Variance."""

    @property
    def sd(self) -> Any:
        """Standard deviation."""

    @property
    def is_point(self) -> bool:
        """Whether the forecast is a mean without a distribution."""

    @property
    def is_known(self) -> Any:
        """Whether anything is known about the observation; if not, the mean is nan and the variance infinite."""

    def __getitem__(self, chosen: Any) -> "Predictive":
        """Select among many forecasts, with the index of an array."""

    def pdf(self, y: Number) -> Any:
        """Return the probability density at `y`."""

    def logpdf(self, y: Number) -> Any:
        """Return the log density at `y`: the log score. It is never below -1e300."""

    def cdf(self, y: Number) -> Any:
        """Return the cumulative distribution function at `y`: the probability of a value up to `y`."""

    def sf(self, y: Number) -> Any:
        """Return the survival function at `y`: the probability of a value above `y`."""

    def quantile(self, q: ArrayLike) -> Any:
        """Return the value up to which the observation lies with probability `q`.

        The shape is that of q for one forecast; for n forecasts it is (n,), or (*q.shape, n) if q is an array.
        """

    def interval(self, level: float = 0.9, *, start: Floats | None = None) -> tuple[Any, Any]:
        """Return the central interval that contains the observation with probability `level`.

        `start` speeds up the search of a mixture in a stream of similar forecasts: an array of two numbers, -1 and 1 at
        first, in which the search stores where it ended. The bounds are then accurate to about 1e-5 standard
        deviations. Other distributions ignore it.
        """

    def crps(self, y: Number) -> Any:
        """Return the continuous ranked probability score at `y`: smaller is better, in the units of y."""

    def pit(self, y: Number) -> Any:
        """Return the probability integral transform of `y`: uniform if the forecasts are calibrated."""

    def entropy(self) -> Any:
        """Return the differential entropy: the expected negative log density."""

    def sample(self, rng: np.random.Generator, size: int | tuple[int, ...] | None = None) -> Any:
        """Draw values: `size` of a single forecast; for n forecasts, `size` rows of n values."""


class Distribution:
    """Base class of forecasts that are distributions: what follows from `logpdf`, `cdf` and `quantile`."""

    __slots__ = ()

    is_point = False

    @property
    def median(self) -> Any:
        """Quantile 0.5: the value with the smallest expected absolute error."""
        return self.quantile(0.5)

    def quantile(self, q: ArrayLike) -> Any:
        """Return the value up to which the observation lies with probability `q`: see `Predictive`."""
        raise NotImplementedError

    def logpdf(self, y: Number) -> Any:
        """Return the log density at `y`: the log score. It is never below -1e300."""
        raise NotImplementedError

    def cdf(self, y: Number) -> Any:
        """Return the cumulative distribution function at `y`."""
        raise NotImplementedError

    def pdf(self, y: Number) -> Any:
        """Return the probability density at `y`."""
        return plain(np.exp(self.logpdf(y)))

    def pit(self, y: Number) -> Any:
        """Return the probability integral transform of `y`: uniform if the forecasts are calibrated."""
        return self.cdf(y)

    def interval(self, level: float = 0.9, *, start: Floats | None = None) -> tuple[Any, Any]:
        """Return the central interval that contains the observation with probability `level`: see `Predictive`."""
        low, high = self.quantile(np.array(interval_tails(check_level(level))))
        return plain(low), plain(high)


def interval_tails(level: float) -> tuple[float, float]:
    """Return the probabilities of the two quantiles that bound a central interval."""
    return (1 - level) / 2, (1 + level) / 2


def plain(value: Any) -> Any:
    """Convert a single number to a Python float; return an array unchanged."""
    return float(value) if isinstance(value, float) or np.ndim(value) == 0 else value


_NEEDED = ("is_point", "is_known", "mean", "__getitem__")
"""Attributes that every forecast has, a `Point` too."""


def check_predictive(value: Any, name: str, n: int | None = None) -> Predictive:
    """Check that `value` holds many forecasts: `n` of them, if that is given."""
    if isinstance(value, type) or not all(hasattr(value, part) for part in _NEEDED):
        raise ParameterError(f"{name} is {shown(value)}, but must be forecasts: a Normal, a Mixture or a Point.")
    shape = np.shape(value.mean)
    if len(shape) != 1:
        raise ShapeError(f"{name} is {shown(value)}, which is one forecast; pass many, made of arrays of shape (n,).")
    if n is not None and shape != (n,):
        raise ShapeError(f"{name} holds {shape[0]} forecasts, but y has {n} values; pass one forecast for each.")
    predictive: Predictive = value
    return predictive


def check_values(y: Any, shape: tuple[int, ...]) -> Any:
    """Check the values at which forecasts are evaluated: any array for one forecast; for n, shape (n,) or a number."""
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
        wrong = float(values[~((values >= 0) & (values <= 1))].flat[0])
        raise ParameterError(
            f"q is {wrong:g}, but the probability of a quantile lies between 0 and 1: {_as_share(wrong, 0.05)}."
        )
    return values


def check_level(level: float) -> float:
    """Check the level of an interval."""
    if type(level) is float and 0.0 < level < 1.0:  # fast path: streams call this for every record
        return level
    if isinstance(level, bool) or not isinstance(level, float | int | np.floating | np.integer) or not 0 < level < 1:
        raise ParameterError(f"level is {shown(level)}, but must lie between 0 and 1: {_as_share(level, 0.9)}.")
    return float(level)


def _as_share(given: Any, example: float) -> str:
    """Return advice on what to pass instead of a percentage."""
    share = given / 100 if isinstance(given, float | int) and 1 < given < 100 else example
    return f"pass {share:g} for {100 * share:g} %"


def check_alike(**parameters: Any) -> tuple[Any, ...]:
    """Return parameters as floats, or as arrays of one shape (n,)."""
    arrays = {name: check_array(value, name) for name, value in parameters.items()}
    shapes = {array.shape for array in arrays.values()}
    if len(shapes) > 1 or len(max(shapes)) > 1:
        found = ", ".join(f"{name} has shape {array.shape}" for name, array in arrays.items())
        raise ShapeError(f"{found}, but all must be numbers, or arrays of one shape (n,).")
    return tuple(arrays.values()) if max(shapes) else tuple(float(array) for array in arrays.values())
