"""Dynamic linear models with discount factors, each with those that prove best in hindsight."""

import logging
from typing import Any

import numpy as np

from adabypass.validation import Floats
from benchmarks.accuracy.records import Record, normal_record, standardise, student_record, total_score
from benchmarks.accuracy.streams import Stream

DISCOUNTS = (0.95, 0.98, 0.99, 0.998, 1.0)
"""Of the weights' precision, each step."""
LONGEST = 15_000
"""Longer streams would take them hours."""


def pybats(stream: Stream) -> Record | None:
    """Forecast with PyBATS: Student's t, its noise's variance discounted as the weights are."""
    try:
        from pybats.dglm import dlm  # noqa: PLC0415  (an extra)
    except ImportError:
        return None
    if len(stream.y) > LONGEST:
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
    if len(stream.y) > LONGEST:
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


def _column(values: Any) -> Floats:
    return np.array([float(np.ravel(each)[0]) for each in values])
