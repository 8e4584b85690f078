"""What a rival says of a stream, and the units in which it is given one."""

from typing import NamedTuple

import numpy as np
from scipy import special, stats

from adabypass import Normal
from adabypass.validation import Floats
from benchmarks.accuracy.streams import Stream

LEVELS = (0.5, 0.9, 0.99)
WARM_UP = 20


class Record(NamedTuple):
    """What a rival said before each observation; None where it says nothing."""

    mean: Floats
    log_score: Floats | None
    crps: Floats | None
    intervals: dict[float, tuple[Floats, Floats]]
    own_median: Floats | None = None
    """None where it is the mean."""

    @property
    def median(self) -> Floats:
        """Median of each forecast."""
        return self.mean if self.own_median is None else self.own_median


class Units(NamedTuple):
    """A stream in standard units, with a bias, and the way back."""

    X: Floats
    y: Floats
    center: float
    scale: float


def standardise(stream: Stream) -> Units:
    """Centre and scale by the first twenty observations."""
    center, scale = float(np.nanmean(stream.y[:WARM_UP])), float(np.nanstd(stream.y[:WARM_UP])) or 1.0
    x_scale = stream.X[:WARM_UP].std(axis=0)
    X = (stream.X - stream.X[:WARM_UP].mean(axis=0)) / np.where(x_scale > 0, x_scale, 1.0)
    return Units(np.column_stack([np.ones(len(X)), X]), (stream.y - center) / scale, center, scale)


def normal_record(mean: Floats, var: Floats, units: Units) -> Record:
    """Give the record of normal forecasts that were made in standard units."""
    failed = np.isnan(mean) | ~(var > 0)  # where a rival's own arithmetic broke down
    mean, var = np.where(failed, np.nan, mean), np.where(failed, np.inf, var)
    forecasts = Normal(units.center + units.scale * mean, units.scale**2 * var)
    y = units.center + units.scale * units.y
    return Record(
        forecasts.mean, forecasts.logpdf(y), forecasts.crps(y), {level: forecasts.interval(level) for level in LEVELS}
    )


def student_record(mean: Floats, scale: Floats, degrees: Floats, units: Units) -> Record:
    """Give the record of Student's t forecasts that were made in standard units; degrees of freedom above 1."""
    z, size = (units.y - mean) / scale, units.scale * scale
    with np.errstate(all="ignore"):  # the constants of many degrees of freedom underflow: then they are a normal's
        ratio = np.exp(special.betaln(0.5, degrees - 0.5) - 2 * special.betaln(0.5, degrees / 2))
        constant = 2 * np.sqrt(degrees) / (degrees - 1) * ratio
        density = stats.t.pdf(z, degrees)
        crps = z * (2 * stats.t.cdf(z, degrees) - 1) + 2 * density * (degrees + z**2) / (degrees - 1) - constant
    middle = units.center + units.scale * mean
    reach = {level: size * stats.t.ppf(0.5 + level / 2, degrees) for level in LEVELS}
    intervals = {level: (middle - each, middle + each) for level, each in reach.items()}
    return Record(middle, stats.t.logpdf(z, degrees) - np.log(size), size * crps, intervals)


def total_score(record: Record, stream: Stream) -> float:
    """Return the sum of the log scores, by which the best of several settings is chosen in hindsight."""
    scores = np.asarray(record.log_score, dtype=np.float64)[WARM_UP:][~np.isnan(stream.y[WARM_UP:])]
    return float(scores.sum()) if np.isfinite(scores).all() else -np.inf
