"""Detectors: ours on the forecasts of three models, River's on the values and on the errors of the same models."""

from collections.abc import Callable, Iterator

import numpy as np
from river.drift import ADWIN, KSWIN, PageHinkley

from adabypass import AutoBypass, ChangeMonitor, Forecaster, Trace
from adabypass.validation import Floats

Detect = Callable[[Floats], list[int]]
"""Returns the rows of the alarms."""
MODELS = {"the regression": None, "Forecaster(lags=1)": 1, "Forecaster()": "auto"}


def run(model: str, y: Floats, feature: Floats) -> tuple[Trace, Floats]:
    """Run a model; return its trace and its standardised errors, 0 where nothing was known."""
    chosen = MODELS[model]
    if chosen is None:
        trace = AutoBypass().run(feature[:, None], y)
    else:
        trace = (Forecaster() if chosen == "auto" else Forecaster(lags=1)).run(y)
    errors = np.nan_to_num((trace.y - trace.mean) / trace.sd)
    return trace, np.concatenate([np.zeros(len(y) - len(trace)), np.clip(errors, -100.0, 100.0)])


def ours(trace: Trace, n: int, rate: float) -> list[tuple[int, str]]:
    """Return the rows and kinds of our alarms."""
    monitor = ChangeMonitor(false_alarms=rate)
    changes = monitor.run(trace.predictive, trace.y, trace.history.get("drift")).changes
    return [(change.found_at + n - len(trace), change.kind) for change in changes]


def rivals() -> Iterator[tuple[str, str, Detect]]:
    """Yield each of River's detectors with each of its settings."""
    for delta in (0.1, 0.02, 0.002, 2e-4, 2e-5):
        yield "ADWIN", f"delta={delta:g}", lambda x, delta=delta: alarms(ADWIN(delta=delta), x)  # type: ignore[misc]
    for alpha in (5e-3, 5e-5):
        yield "KSWIN", f"alpha={alpha:g}", lambda x, a=alpha: alarms(KSWIN(alpha=a, seed=1), x)  # type: ignore[misc]
    for threshold in (10.0, 20.0, 35.0, 50.0):
        for delta in (0.005, 0.25, 0.5):
            yield (
                "PageHinkley", f"threshold={threshold:g}, delta={delta:g}",
                lambda x, t=threshold, d=delta: alarms(PageHinkley(threshold=t, delta=d), x),  # type: ignore[misc]
            )  # fmt: skip


def alarms(detector: ADWIN | KSWIN | PageHinkley, x: Floats) -> list[int]:
    """Return the rows at which a detector of River says that a drift was detected."""
    found = []
    for row, value in enumerate(x.tolist()):
        detector.update(value)
        if detector.drift_detected:
            found.append(row)
    return found
