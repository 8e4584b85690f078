"""The interface of every forecast, what all distributions share, and checks of their arguments."""

from math import inf, isfinite, nextafter
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri

from adabypass.errors import ParameterError, ShapeError
from adabypass.validation import Floats, check_array, shown

Number: TypeAlias = float | Floats
MAX_DEVIATE = 38.0
"""Maximum size of a surprise: beyond it the tail probability is 0 in double precision."""


class Predictive(Protocol):
    """The interface of every forecast, one (numbers) or many (arrays): a `Distribution` or a `Point`.

    Examples
    --------
    >>> from adabypass import Normal
    >>> forecast: Predictive = Normal(10.0, 4.0)
    >>> forecast.mean, forecast.sd, forecast.interval(0.9)[0] < forecast.mean
    (10.0, 2.0, True)
    """

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

        The shape is that of q for one forecast; for n forecasts it is (n,), or `(*q.shape, n)` if q is an array.
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

    def surprise(self, y: Number) -> Any:
        """Return how surprising `y` is, as a standard normal deviate: below 0 for a low value, above 0 for a high one.

        Its size answers the two-sided question: if the forecasts are calibrated, the probability of a size of at least
        c is that of a standard normal number, and one value in 370 is beyond 3. The probability of the value itself
        counts in its tail, so that for forecasts with atoms, such as counts, it is at most that; a value that is
        neither in the lower nor in the upper half has 0. Sizes end at 38, where the tail probability of a mixture
        leaves the range of double precision; nan where `y` is missing or nothing is known.
        """

    def to_dict(self, level: float = 0.9) -> dict[str, Any]:
        """Return the mean, the standard deviation, the median and the central interval, for JSON.

        The values are Python numbers, or lists of them for many forecasts; None where nothing is known. A point
        forecast has only the mean.
        """

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

    def sf(self, y: Number) -> Any:
        """Return the survival function at `y`."""
        raise NotImplementedError

    def surprise(self, y: Number) -> Any:
        """Return how surprising `y` is, as a standard normal deviate: equation (P.1), and `Predictive`."""
        # The probability of y itself counts in both tails.
        if isinstance(y, float) and isinstance(below := self.cdf(y), float):  # fast path
            if below < 0.5:
                return max(float(ndtri(below)), -MAX_DEVIATE)
            above = self.sf(nextafter(y, -inf))
            return min(-float(ndtri(above)), MAX_DEVIATE) if not above >= 0.5 else 0.0
        below = np.asarray(self.cdf(y))
        above = np.asarray(self.sf(np.nextafter(y, -inf)))
        middle = np.where(np.isnan(below), np.nan, 0.0)
        deviate = np.where(below < 0.5, ndtri(below), np.where(above < 0.5, -ndtri(above), middle))
        return plain(np.clip(deviate, -MAX_DEVIATE, MAX_DEVIATE))

    def to_dict(self: Predictive, level: float = 0.9) -> dict[str, Any]:
        """Return the mean, the standard deviation, the median and the central interval, for JSON: see `Predictive`."""
        low, high = self.interval(level)
        lower, upper = interval_names(level)
        fields = {"mean": self.mean, "sd": self.sd, "median": self.median, lower: low, upper: high}
        return {name: json_safe(value) for name, value in fields.items()}

    def interval(self, level: float = 0.9, *, start: Floats | None = None) -> tuple[Any, Any]:
        """Return the central interval that contains the observation with probability `level`: see `Predictive`."""
        low, high = self.quantile(np.array(interval_tails(check_level(level))))
        return plain(low), plain(high)


def interval_tails(level: float) -> tuple[float, float]:
    """Return the probabilities of the two quantiles that bound a central interval."""
    return (1 - level) / 2, (1 + level) / 2


def interval_names(level: float) -> tuple[str, str]:
    """Return the names of the bounds of an interval: `lower_90` and `upper_90` for level 0.9."""
    return f"lower_{100 * level:g}", f"upper_{100 * level:g}"


def json_safe(value: Any) -> Any:
    """Convert a number or an array to what JSON has: None takes the place of nan and of infinite numbers."""
    if np.ndim(value):
        return [each if isfinite(each) else None for each in np.asarray(value).tolist()]
    return float(value) if isfinite(value) else None


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
