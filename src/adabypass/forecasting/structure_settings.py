"""The settings of the automatic forecaster: their checks, and what a header says of them."""

import zlib
from collections.abc import Sequence
from functools import lru_cache
from math import inf
from numbers import Real
from typing import Any, NamedTuple

from adabypass.errors import ParameterError
from adabypass.forecasting.settings import check_missing, check_names
from adabypass.snapshots.header import Header
from adabypass.state.pool import PoolSpec
from adabypass.state.season import SeasonSpec
from adabypass.state.series import Missing
from adabypass.validation import as_tuple, shown

KIND = "structures"
MAX_PERIOD = 100_000.0
MAX_PERIODS = 4
MAX_EXOG = 100
Support = str | Sequence[float] | None


class StructureSettings(NamedTuple):
    """What an automatic forecaster was given before it saw data."""

    period: tuple[float, ...] | None
    support: tuple[float, float]
    missing: Missing
    exog: tuple[str, ...] | None


def check_period(period: object) -> tuple[float, ...] | None:
    """Return periods in ascending order, those of 1 left out; None if none were given."""
    if period is None:
        return None
    given: Any = (period,) if isinstance(period, Real) else as_tuple(period)
    if given is None or len(given) > MAX_PERIODS:
        raise ParameterError(f"period is {shown(period)}, but must be a number such as 12, or up to {MAX_PERIODS}.")
    for each in given:
        is_number = isinstance(each, Real) and not isinstance(each, bool)
        if not (is_number and 1 <= each <= MAX_PERIOD):
            raise ParameterError(
                f"period is {shown(period)}, but must be a number of steps from 1 to {MAX_PERIOD:.0f}, or several: "
                "12, say, or [24, 168]."
            )
    found = sorted({float(each) for each in given if each >= 2})
    return tuple(int(each) if each == int(each) else each for each in found)


def check_support(support: Any) -> tuple[float, float]:
    """Return the bounds of forecasts."""
    if support is None:
        return (-inf, inf)
    if isinstance(support, str) and support == "positive":
        return (0.0, inf)
    bounds = None if isinstance(support, str) else as_tuple(support)
    if bounds is None or len(bounds) != 2 or not all(isinstance(each, Real) for each in bounds):
        raise ParameterError(f"support is {shown(support)}, but must be 'positive' or a pair such as (0, 100).")
    try:
        low, high = (float(each) for each in bounds)
    except OverflowError:
        raise ParameterError("support has a bound that is too large for a float; leave it out, or use inf.") from None
    if not low < high:
        raise ParameterError(f"support is {shown(support)}, but its lower bound must be below its upper one.")
    return (low, high)


def describe_settings(settings: StructureSettings) -> dict[str, Any]:
    """Return what a header says of the settings."""
    low, high = settings.support
    return {
        "kind": KIND,
        "period": None if settings.period is None else list(settings.period),
        "support": [None if low == -inf else low, None if high == inf else high],
        "missing": settings.missing,
        "exog": None if settings.exog is None else list(settings.exog),
    }


def check_settings(header: Header) -> StructureSettings:
    """Return the settings that a header describes."""
    bounds = header.value("support")
    if not isinstance(bounds, list) or len(bounds) != 2:
        header.refuse('its "support" must be a pair')
    names = header.texts_or_none("exog")
    return StructureSettings(
        check_period(header.value("period")),
        check_support([-inf if bounds[0] is None else bounds[0], inf if bounds[1] is None else bounds[1]]),
        check_missing(header.text("missing")),
        None if names is None else check_names(names),
    )


@lru_cache(maxsize=256)
def design_of(spec: PoolSpec | SeasonSpec) -> str:
    """Return a checksum of the numbers that the kernel needs."""
    pool = spec if isinstance(spec, PoolSpec) else spec.widest
    own, regression = pool.structures, pool.regressions[0].model
    numbers = [*own.settings.ravel(), *own.lags.ravel(), *own.lag_priors.ravel(), *own.waves.ravel()]
    numbers += [*regression.constants(), *pool.min_seen]
    return f"{zlib.crc32(' '.join(f'{number:.12g}' for number in numbers).encode()):08x}"
