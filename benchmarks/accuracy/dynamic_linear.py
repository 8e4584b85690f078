"""Dynamic linear models with discount factors: those that prove best in hindsight, or averaged."""

import logging
from functools import partial
from importlib import import_module
from itertools import product
from typing import Any

import numpy as np

from adabypass.validation import Floats
from benchmarks import dlmax
from benchmarks.accuracy.records import Record, normal_record, standardise, student_record, total_score
from benchmarks.accuracy.streams import Stream

DISCOUNTS = (0.95, 0.98, 0.99, 0.998, 1.0)
"""Of the weights' precision, each step."""
MAX_LENGTH = 15_000
"""Longer streams would take them hours."""


def pybats(stream: Stream) -> Record | None:
    """Forecast with PyBATS: Student's t, its noise's variance discounted as the weights are."""
    try:
        from pybats.dglm import dlm  # noqa: PLC0415  (an extra)
    except ImportError:
        return None
    if len(stream.y) > MAX_LENGTH:
        return None
    units = standardise(stream)
    n, size = units.X.shape

    def run(discount: float) -> Record:
        model: Any = dlm(
            a0=np.zeros((size, 1)), R0=np.eye(size), ntrend=1, nregn=size - 1, deltrend=discount, delregn=discount,
            n0=2.0, s0=0.25, delVar=discount,
        )  # fmt: skip
        mean, var, degrees = np.empty(n), np.empty(n), np.empty(n)
        for t, (x, y) in enumerate(zip(units.X[:, 1:], units.y, strict=True)):
            forecast = model.forecast_marginal(k=1, X=x, state_mean_var=True)
            mean[t], var[t] = (float(np.ravel(each)[0]) for each in forecast)
            degrees[t] = float(np.ravel(model.n)[0])
            model.update(y=None if np.isnan(y) else y, X=x)
        return student_record(mean, np.sqrt(np.maximum(var, 1e-300)), np.maximum(degrees, 1.01), units)

    with np.errstate(all="ignore"):
        return max((run(discount) for discount in DISCOUNTS), key=lambda record: total_score(record, stream))


def pydlm(stream: Stream) -> Record | None:
    """Forecast with PyDLM: normal, its noise's variance learned as constant."""
    try:
        from pydlm import dlm, dynamic, trend  # noqa: PLC0415  (an extra)
    except ImportError:
        return None
    if len(stream.y) > MAX_LENGTH:
        return None
    logging.disable(logging.INFO)  # it tells of every filter
    units = standardise(stream)
    targets = [None if np.isnan(y) else y for y in units.y.tolist()]

    def run(discount: float) -> Record:
        model: Any = dlm(targets)
        model = model + trend(degree=0, discount=discount, name="level", w=1.0)
        model = model + dynamic(features=units.X[:, 1:].tolist(), discount=discount, name="features", w=1.0)
        model.fitForwardFilter()
        mean, var = (_column(model.getMean(filterType="predict")), _column(model.getVar(filterType="predict")))
        return normal_record(mean, var, units)

    with np.errstate(all="ignore"):
        return max((run(discount) for discount in DISCOUNTS), key=lambda record: total_score(record, stream))


FORGETTING = (0.9, 0.99, 1.0)
"""Powers of the averaged models' weights, each step; the first is what awen-dlmax takes where nothing is said."""
MIN_SHARE = 1e-8
"""Of all models together: scales are averaged too, and at its usual 0.001 models gone astray widen all forecasts."""


def awen(stream: Stream) -> Record | None:
    """Forecast with awen-dlmax: models of each discount of the weights and of the noise's variance, averaged.

    As it does, quantiles are averaged: locations, scales and, nearly so, degrees of freedom. The averaging forgets at
    the rate that proves best in hindsight, and pauses where y is missing. Discounts are given where it expects those
    of damping, because it would lessen others as long as a weight is near zero, which scored worse. For the same
    reason y is not centred.
    """
    try:
        dlmax.load()
    except ImportError:
        return None
    core: Any = import_module("DLMAX.dlm_core")
    devices: Any = import_module("DLMAX.ffs.devices")
    jax: Any = import_module("jax")
    units = standardise(stream)
    size, level = units.X.shape[1], units.center / units.scale
    discounts = list(product(DISCOUNTS, repeat=2))
    as_jax = jax.numpy.asarray

    def model(of_weights: float, of_noise: float) -> Any:
        return core.uv_dlm(
            series_ids=["y"], F=as_jax(np.ones(1)), G=as_jax(np.eye(1)), n_regressors=size - 1,
            m0=as_jax(level * np.eye(1, size)), C0=as_jax(np.eye(size)[None]), V0=as_jax([0.25]), nu0=as_jax([2.0]),
            disc_rates_norm=as_jax(np.ones(size)), disc_rates_damped=as_jax(np.full(size, of_weights)),
            variance_disc=of_noise, regressors_0=as_jax(np.zeros(size - 1)), device=devices.dlm_compute,
        )  # fmt: skip

    models = core.multi_model_dlm({f"{each}": model(*each) for each in discounts})
    y = units.y[:, None] + level
    forecasts = models.scan_filter(y, models.format_exog_yts(units.X[:, None, 1:]), monitor=False)
    mean, scale = (np.asarray(each)[:, :, 0] for each in (forecasts.loc, forecasts.sd))
    degrees = _degrees_of_freedom(np.array([of_noise for _, of_noise in discounts]), ~np.isnan(units.y))

    def run(forgetting: float) -> Record:
        rule = partial(core.PowerLawUpdate, dma_pdr=forgetting, dma_mdr=forgetting, c=MIN_SHARE)
        group = jax.numpy.ones((len(discounts), 1), dtype=int)
        allocator = core.Allocator(core.LogScore, rule, model_indicator=group, device=devices.allocation_compute)
        allocator.init(len(discounts), 1, 1, group)
        update = allocator.prepared_step()

        def step(state: Any, seen: Any) -> Any:
            mean, var, target = seen
            new, shares = update(state[0], core.ForecastBundle(mean[..., None], var[..., None]), target)
            new = jax.tree.map(
                lambda old, each: jax.numpy.where(jax.numpy.isnan(target), old, each), state, (new, shares)
            )
            return new, new[1][:, 0, 0]

        equal = jax.numpy.full((len(discounts), 1, 1), 1 / len(discounts))
        _, after = jax.lax.scan(step, (allocator.state, equal), (forecasts.loc, forecasts.var, y))
        shares = np.vstack([np.asarray(equal)[:, 0, 0], np.asarray(after)[:-1]])
        average = [(shares * each).sum(axis=1) for each in (mean, scale, degrees)]
        return student_record(average[0] - level, average[1], np.maximum(average[2], 1.01), units)

    with np.errstate(all="ignore"):
        return max((run(forgetting) for forgetting in FORGETTING), key=lambda record: total_score(record, stream))


def _degrees_of_freedom(discounts: Floats, is_seen: Any) -> Floats:
    """Return the degrees of freedom of each forecast, a column for each discount of the noise's variance."""
    degrees = np.full(len(discounts), 2.0)
    rows = []
    for seen in is_seen:
        rows.append(discounts * degrees)
        degrees = discounts * degrees + 1.0 if seen else degrees
    return np.array(rows)


def _column(values: Any) -> Floats:
    return np.array([float(np.ravel(each)[0]) for each in values])
