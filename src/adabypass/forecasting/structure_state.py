"""The automatic forecaster as plain values: its settings and its row, as a header says them, and the checks of that."""

import zlib
from collections.abc import Sequence
from functools import lru_cache
from math import inf
from numbers import Real
from typing import Any, NamedTuple

from adabypass.errors import AdabypassError, ParameterError, StateError
from adabypass.forecasting.settings import check_missing, check_names
from adabypass.regressors.state import check_row
from adabypass.snapshots.container import Snapshot
from adabypass.snapshots.header import Header
from adabypass.snapshots.versions import base_header
from adabypass.state.pool import PoolSpec, pool_spec
from adabypass.state.series import Missing
from adabypass.validation import Floats, as_tuple, shown

KIND = "AutoForecaster"
MAX_PERIOD = 100_000.0
MAX_PERIODS = 4
MAX_EXOG = 100
Support = str | Sequence[float] | None


class Settings(NamedTuple):
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


def describe(settings: Settings, spec: PoolSpec | None, row: Floats | None) -> dict[str, Any]:
    """Return the header of an automatic forecaster."""
    low, high = settings.support
    header = base_header(KIND) | {
        "period": None if settings.period is None else list(settings.period),
        "support": [None if low == -inf else low, None if high == inf else high],
        "missing": settings.missing,
        "exog": None if settings.exog is None else list(settings.exog),
    }
    if spec is None or row is None:
        return header | {"periods": None, "n_exog": None, "n_seen": 0, "design": None, "layout": None}
    return header | {
        "periods": list(spec.periods),
        "n_exog": spec.n_exog,
        "n_seen": int(row[0]),
        "design": _design(spec),
        "layout": spec.shapes(),
    }


def check_snapshot(snapshot: Snapshot) -> tuple[Settings, PoolSpec | None, Floats | None]:
    """Return the parts of an automatic forecaster, with a copy of the row; refuse what does not fit together."""
    header = Header(snapshot.header, snapshot.name)
    if header.text("kind") != KIND:
        header.refuse(f"it holds {header.text('kind')[:40]!r}, not an {KIND}; use adabypass.load or from_bytes")
    bounds = header.value("support")
    if not isinstance(bounds, list) or len(bounds) != 2:
        header.refuse('its "support" must be a pair')
    names = header.texts_or_none("exog")
    try:
        settings = Settings(
            check_period(header.value("period")),
            check_support([-inf if bounds[0] is None else bounds[0], inf if bounds[1] is None else bounds[1]]),
            check_missing(header.text("missing")),
            None if names is None else check_names(names),
        )
        periods = check_period(header.value("periods"))
    except AdabypassError as error:
        header.refuse(str(error).rstrip("."))
    if periods is None:
        return settings, None, None
    n_exog = header.whole("n_exog", maximum=MAX_EXOG)
    if names is not None and len(names) != n_exog:
        header.refuse(f"it has {n_exog} exogenous columns, but {len(names)} names for them")
    spec = pool_spec(periods, n_exog, settings.missing, settings.support)
    if header.value("design") != _design(spec):
        header.refuse(f"its {KIND} was saved by a version of adabypass with other constants; train it anew")
    row = check_row(snapshot, header, spec.row_size, spec.shapes())
    try:
        spec.check_row(row)
    except StateError as error:
        header.refuse(str(error).rstrip("."))
    return settings, spec, row


@lru_cache(maxsize=256)
def _design(spec: PoolSpec) -> str:
    """Return a checksum of the numbers that the kernel needs."""
    own, regression = spec.structures, spec.regressions[0].model
    numbers = [*own.settings.ravel(), *own.lags.ravel(), *own.lag_priors.ravel(), *own.waves.ravel()]
    numbers += [*regression.constants(), *spec.min_seen]
    return f"{zlib.crc32(' '.join(f'{number:.12g}' for number in numbers).encode()):08x}"
