"""The library beside itself: compiled code beside its NumPy reference, a Kalman filter in NumPy, SciPy, and imports."""

import resource
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import stats

from adabypass import AdaBypass, Bypass, EvidenceBypass, Normal, SequentialKalman
from adabypass.reference import bypass, evidence
from adabypass.state.paper import AdaBypassSpec, EvidenceBypassSpec
from benchmarks.speed.streams import drifting
from benchmarks.speed.timing import Sample, Task, timed


def tasks() -> list[Task]:
    """Return every comparison within the library."""
    return [
        whole_stream("AdaBypass.run", AdaBypass, 20_000, 2),
        whole_stream("AdaBypass.run", AdaBypass, 20_000, 5),
        whole_stream("EvidenceBypass.run", EvidenceBypass, 20_000, 2),
        reference("AdaBypass", bypass, AdaBypassSpec(), 150, 2),
        reference("AdaBypass", bypass, AdaBypassSpec(), 150, 5),
        reference("EvidenceBypass", evidence, EvidenceBypassSpec(), 500, 2),
        whole_stream("AdaBypass.run", AdaBypass, 1_000, 200),
        whole_stream("Bypass.run", Bypass, 1_000, 200),
        whole_stream("SequentialKalman.run", SequentialKalman, 1_000, 200),
        numpy_kalman(1_000, 200),
        normal_scores(20_000, at_once=True),
        normal_scores(100, at_once=False),
        importing("from adabypass import *"),
        importing("import numpy, scipy.special"),
    ]


def whole_stream(name: str, new: Callable[[], Any], n: int, d: int) -> Task:
    """Let `run` take a stream."""
    X, y = drifting(n, d)

    def prepare() -> Callable[[], object]:
        model = new()
        return lambda: model.run(X, y).mean

    return timed(f"library/{name}/{d}", n, prepare)


def reference(name: str, module: Any, spec: Any, n: int, d: int) -> Task:
    """Let a reference, a module with `start`, `predict` and `update`, take a stream, forecasts included."""
    X, y = drifting(n, d)
    targets = y.tolist()

    def go() -> None:
        belief = module.start(spec, d)
        for x, target in zip(X, targets, strict=True):
            module.predict(belief, x, *([spec] if module is evidence else []))
            belief = module.update(belief, x, target, spec)

    return timed(f"library/NumPy reference of {name}/{d}", n, lambda: go)


def numpy_kalman(n: int, d: int) -> Task:
    """Run a Kalman filter as one writes it in NumPy: two BLAS-2 passes a step."""
    X, y = drifting(n, d)

    def go() -> list[float]:
        m, P = np.zeros(d), np.eye(d)
        diagonal = np.einsum("ii->i", P)
        forecasts = []
        for x, target in zip(X, y, strict=True):
            diagonal += 1e-3
            Px = P @ x
            D = x @ Px + 1.0
            forecasts.append(x @ m)
            m += Px * ((target - forecasts[-1]) / D)
            P -= np.outer(Px / D, Px)
        return forecasts

    return timed(f"library/Kalman filter in NumPy/{d}", n, lambda: go)


def normal_scores(n: int, *, at_once: bool) -> Task:
    """Density, distribution function and interval of many normal forecasts: at once, or by scipy.stats in a loop."""
    rng = np.random.default_rng(0)
    mean, var, y = rng.normal(size=n), rng.uniform(0.5, 2.0, n), rng.normal(size=n)

    def together() -> None:
        forecasts = Normal(mean, var)
        forecasts.logpdf(y), forecasts.cdf(y), forecasts.interval(0.9)

    def looped() -> None:
        for m, v, at in zip(mean, var, y, strict=True):
            forecast = stats.norm(m, v**0.5)
            forecast.logpdf(at), forecast.cdf(at), forecast.interval(0.9)

    name = "scores of Normal forecasts" if at_once else "scores by scipy.stats"
    return timed(f"library/{name}/1", n, lambda: together if at_once else looped)


def importing(statement: str) -> Task:
    """Start a fresh interpreter that imports something, and count the time it spends on a core."""

    def once() -> Sample:
        before = _used_by_children()
        subprocess.run([sys.executable, "-c", statement], check=True)
        return Sample(_used_by_children() - before)

    return Task(f"library/{statement}/1", once, 1)


def _used_by_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
