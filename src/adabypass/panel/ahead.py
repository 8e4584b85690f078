"""Forecasts of many series, many steps ahead: a part of the series at a time, since distributions take much memory."""

from collections.abc import Callable, Sequence
from numbers import Real
from typing import Any

import numpy as np

from adabypass.distributions import evaluate
from adabypass.distributions.base import check_level, check_probability, interval_tails
from adabypass.distributions.component import COMPONENT
from adabypass.distributions.mixture import Mixture
from adabypass.distributions.predictive import Predictive, from_components
from adabypass.errors import ParameterError
from adabypass.forecasting.engine import SeriesEngine
from adabypass.kernels.rows import RowStore, forecast_rows_ahead
from adabypass.kernels.runner import Runner
from adabypass.panel.results import MEDIAN, Id, PanelForecast
from adabypass.panel.threads import work_through
from adabypass.validation import Floats, as_tuple, shown

PART_BYTES = 1 << 23
"""Bytes of the components that a thread holds at a time."""
MAX_SINGLY = 16
"""Series that are forecast one by one before progress is reported, where compiled code does not take all at once."""


def forecast_ahead(
    engine: SeriesEngine,
    store: RowStore,
    which: "np.ndarray[Any, np.dtype[np.intp]]",
    X: Floats,
    runners: list[Runner],
    ids: Sequence[Id],
    levels: tuple[float, ...],
    quantiles: tuple[float, ...],
    progress: Callable[[int], None] | None,
) -> PanelForecast:
    """Forecast the series of these rows as many steps as X (n_series, n_steps, n_inputs) has."""
    n, n_steps = X.shape[:2]
    moments = np.full((2, n, n_steps), np.nan)
    bounds = np.full((len(levels), 2, n, n_steps), np.nan)
    wanted = dict.fromkeys((MEDIAN, *quantiles))
    found_quantiles = {q: np.full((n, n_steps), np.nan) for q in wanted}
    n_parts = runners[0].n_components

    def keep(part: slice, found: Predictive) -> None:
        n_here = part.stop - part.start
        moments[0, part] = np.reshape(found.mean, (n_here, n_steps))
        if engine.is_point:
            return
        moments[1, part] = np.reshape(found.sd, (n_here, n_steps))
        for i, level in enumerate(levels):
            bounds[i, :, part] = _interval(found, level, n_here, n_steps)
        for q, values in found_quantiles.items():
            values[part] = _quantile(found, q, n_here, n_steps)

    def work(runner: Runner, part: slice) -> int:
        n_here = int(part.stop - part.start)
        parts = np.empty((n_here, n_steps, n_parts), COMPONENT)
        forecast_rows_ahead(runner, store, which[part], X[part], parts)
        keep(part, from_components(parts.reshape(-1, n_parts), engine.name))
        return n_here

    def work_singly(runner: Runner, part: slice) -> int:
        for i in range(part.start, part.stop):
            single = engine.new_runner(store.row(int(which[i])).copy(), runner.n_inputs)
            if engine.is_ready(single):
                found = engine.forecast(single, X[i], "moments", 0, np.random.default_rng(0))
                keep(slice(i, i + 1), found.predictive)
        return int(part.stop - part.start)

    size = max(1, min(PART_BYTES // (n_steps * max(n_parts, 1) * COMPONENT.itemsize), -(-n // len(runners))))
    size = size if n_parts else min(size, MAX_SINGLY)
    parts = [slice(start, min(start + size, n)) for start in range(0, n, size)]
    work_through(parts, runners, work if n_parts else work_singly, progress)
    if engine.is_point:
        return PanelForecast(ids, moments[0], None, {}, {})
    intervals = {level: (bounds[i, 0], bounds[i, 1]) for i, level in enumerate(levels)}
    return PanelForecast(ids, moments[0], moments[1], intervals, found_quantiles)


def _interval(found: Predictive, level: float, n: int, n_steps: int) -> Floats:
    """Return the interval of every step of `n` series, (2, n, n_steps), each series as if it were alone."""
    if isinstance(found, Mixture) and found.extras is None:
        values = evaluate.quantile(found.components, np.array(interval_tails(level)), restart=n_steps)
        return np.reshape(values, (2, n, n_steps))
    each = [found[i * n_steps : (i + 1) * n_steps].interval(level) for i in range(n)]
    return np.array(each).reshape(n, 2, n_steps).swapaxes(0, 1)


def _quantile(found: Predictive, q: float, n: int, n_steps: int) -> Floats:
    """Return a quantile of every step of `n` series, (n, n_steps), each series as if it were alone."""
    if isinstance(found, Mixture) and found.extras is None:
        return np.reshape(evaluate.quantile(found.components, np.array([q]), restart=n_steps), (n, n_steps))
    return np.array([found[i * n_steps : (i + 1) * n_steps].quantile(q) for i in range(n)]).reshape(n, n_steps)


def check_quantiles(quantiles: object) -> tuple[float, ...]:
    """Return the probabilities of quantiles, checked."""
    found: tuple[Any, ...] | None = (quantiles,) if isinstance(quantiles, Real) else as_tuple(quantiles)
    if found is None:
        raise ParameterError(
            f"quantiles is {shown(quantiles)}, but must be a list of probabilities: [0.05, 0.95], say."
        )
    return tuple(np.atleast_1d(check_probability(found)).tolist()) if found else ()


def check_levels(levels: object) -> tuple[float, ...]:
    """Return the levels of intervals, checked: numbers between 0 and 1 that give columns of different names."""
    found: tuple[Any, ...] | None = (levels,) if isinstance(levels, Real) else as_tuple(levels)
    if found is None:
        raise ParameterError(f"levels is {shown(levels)}, but must be a list of numbers between 0 and 1: [0.9], say.")
    names: dict[str, float] = {}
    for level in found:
        name = f"{100 * check_level(level):g}"
        if name in names:
            raise ParameterError(f"the levels {names[name]} and {level} are both written as {name} %; leave one out.")
        names[name] = float(level)
    return tuple(names.values())
