"""The names of a forecast's columns, in every table: `mean`, `median`, `sd`, `lower_90`, `upper_90`, `quantile_5`."""

from collections.abc import Sequence

from adabypass.distributions.base import interval_names


def levels_of(names: Sequence[str]) -> tuple[float, ...]:
    """Return the levels of the intervals among the columns of a forecast, the inverse of `interval_names`.

    Examples
    --------
    >>> levels_of(["mean", "lower_90", "upper_90", "lower_99.5"])
    (0.9,)
    """
    percents = [name.removeprefix("lower_") for name in names if name.startswith("lower_")]
    levels = [float(percent) / 100 for percent in percents if percent.replace(".", "", 1).isdecimal()]
    return tuple(level for level in levels if set(interval_names(level)) <= set(names))


def quantile_name(q: float) -> str:
    """Return the name of a quantile: `quantile_5` for 0.05."""
    return f"quantile_{100 * q:g}"


def column_names(levels: Sequence[float], quantiles: Sequence[float] = (), *, is_point: bool = False) -> list[str]:
    """Return the names of a forecast's columns, in order."""
    if is_point:
        return ["mean"]
    bounds = [name for level in levels for name in interval_names(level)]
    return ["mean", "median", "sd", *bounds, *map(quantile_name, quantiles)]
