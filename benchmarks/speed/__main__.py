"""Measure speed as ratios in one run, best of several: `make bench`."""

import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from rich.console import Console
from rich.progress import Progress
from rich.table import Table
from scipy import stats

from adabypass import AdaBypass, AutoBypass, Bypass, EvidenceBypass, Normal, SequentialKalman
from adabypass.inference.reference import evidence, govi
from adabypass.model.spec import AdaBypassSpec, EvidenceBypassSpec
from adabypass.validation import Floats

REPEATS = 9


class Task(NamedTuple):
    """Something to time, and how many observations it handles."""

    run: Callable[[], object]
    per: int


def drifting(n: int, n_features: int) -> tuple[Floats, Floats]:
    """Make a stream of drifting weights with Gaussian noise."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, n_features))
    X[:, 0] = 1.0
    weights = (0.03 * rng.normal(size=(n, n_features))).cumsum(axis=0)
    return X, (X * weights).sum(axis=1) + 0.5 * rng.normal(size=n)


def race(*tasks: Task) -> list[float]:
    """Time the tasks in turn, several times over; give the least seconds per observation of each."""
    times: list[list[float]] = [[] for _ in tasks]
    for _ in range(REPEATS):
        for task, taken in zip(tasks, times, strict=True):
            start = time.perf_counter()
            task.run()
            taken.append((time.perf_counter() - start) / task.per)
    return [min(taken) for taken in times]


def whole_stream(model: Any, n: int, n_features: int) -> Task:
    """Let `run` take a stream."""
    X, y = drifting(n, n_features)

    def task() -> None:
        model.reset()
        model.run(X, y)

    return Task(task, n)


def reference_loop(n: int, n_features: int) -> Task:
    """Let the reference take a stream, predictions included."""
    X, y = drifting(n, n_features)
    spec = AdaBypassSpec()

    def task() -> None:
        belief = govi.start(spec, n_features)
        for x, target in zip(X, y, strict=True):
            govi.predict(belief, x)
            belief = govi.update(belief, x, float(target), spec)

    return Task(task, n)


def evidence_reference_loop(n: int, n_features: int) -> Task:
    """Let the reference of the exact-evidence filter take a stream."""
    X, y = drifting(n, n_features)
    spec = EvidenceBypassSpec()

    def task() -> None:
        belief = evidence.start(spec, n_features)
        for x, target in zip(X, y, strict=True):
            evidence.predict(belief, x, spec)
            belief = evidence.update(belief, x, float(target), spec)

    return Task(task, n)


def bank(n: int) -> Task:
    """Let the bank take a stream with one feature, which makes two weights, counting each of its filters."""
    X, y = drifting(n, 2)
    return Task(lambda: AutoBypass().run(X[:, 1:], y, keep_predictive=False), n * AutoBypass()._spec.n_filters)


def normal_scores(n: int, ours: bool) -> Task:
    """Density, distribution function and interval of many normal forecasts: at once, or by scipy.stats in a loop."""
    rng = np.random.default_rng(0)
    mean, var, y = rng.normal(size=n), rng.uniform(0.5, 2.0, n), rng.normal(size=n)

    def at_once() -> None:
        forecasts = Normal(mean, var)
        forecasts.logpdf(y), forecasts.cdf(y), forecasts.interval(0.9)

    def looped() -> None:
        for m, v, at in zip(mean, var, y, strict=True):
            forecast = stats.norm(m, v**0.5)
            forecast.logpdf(at), forecast.cdf(at), forecast.interval(0.9)

    return Task(at_once if ours else looped, n)


def row_by_row(model: Any, n: int, n_features: int) -> Task:
    """Call `predict` and `update` from Python."""
    X, y = drifting(n, n_features)
    rows, targets = list(X), y.tolist()

    def task() -> None:
        model.reset()
        for x, target in zip(rows, targets, strict=True):
            model.predict(x)
            model.update(x, target)

    return Task(task, n)


def river(n: int, n_features: int) -> Task:
    """Call predict_one and learn_one of River's linear regression."""
    from river import linear_model  # noqa: PLC0415  (an extra)

    X, y = drifting(n, n_features)
    rows, targets = [dict(enumerate(x)) for x in X.tolist()], y.tolist()

    def task() -> None:
        model: Any = linear_model.LinearRegression()
        for x, target in zip(rows, targets, strict=True):
            model.predict_one(x)
            model.learn_one(x, target)

    return Task(task, n)


def numpy_kalman(n: int, n_features: int) -> Task:
    """Run a Kalman filter as one writes it in NumPy: two BLAS-2 passes a step."""
    X, y = drifting(n, n_features)

    def task() -> None:
        m, P = np.zeros(n_features), np.eye(n_features)
        diagonal = np.einsum("ii->i", P)
        for x, target in zip(X, y, strict=True):
            diagonal += 1e-3
            Px = P @ x
            D = x @ Px + 1.0
            m += Px * ((target - x @ m) / D)
            P -= np.outer(Px / D, Px)

    return Task(task, n)


def importing(modules: str) -> Task:
    """Start a fresh interpreter that imports something."""
    return Task(lambda: subprocess.run([sys.executable, "-c", f"import {modules}"], check=True), 1)


def main() -> None:
    """Run every comparison and print the table."""
    comparisons: list[tuple[str, str, Task, Task, float]] = [
        ("AdaBypass().run, 2 features", "its NumPy reference",
         whole_stream(AdaBypass(), 20_000, 2), reference_loop(150, 2), 60.0),
        ("AdaBypass().run, 5 features", "its NumPy reference",
         whole_stream(AdaBypass(), 20_000, 5), reference_loop(150, 5), 60.0),
        ("AdaBypass, row by row, 5 features", "River LinearRegression",
         row_by_row(AdaBypass(), 2_000, 5), river(2_000, 5), 1.0),
        ("Bypass, row by row, 5 features", "River LinearRegression",
         row_by_row(Bypass(), 2_000, 5), river(2_000, 5), 1.0),
        ("AdaBypass().run, 200 features", "a Kalman filter in NumPy",
         whole_stream(AdaBypass(), 1_000, 200), numpy_kalman(1_000, 200), 1.0),
        ("Bypass().run, 200 features", "a Kalman filter in NumPy",
         whole_stream(Bypass(), 1_000, 200), numpy_kalman(1_000, 200), 1.0),
        ("SequentialKalman().run, 200 features", "a Kalman filter in NumPy",
         whole_stream(SequentialKalman(), 1_000, 200), numpy_kalman(1_000, 200), 1.0),
        ("EvidenceBypass().run, 2 features", "its NumPy reference",
         whole_stream(EvidenceBypass(), 20_000, 2), evidence_reference_loop(500, 2), 60.0),
        ("EvidenceBypass().run, 2 features", "Bypass().run with one sweep",
         whole_stream(EvidenceBypass(), 20_000, 2), whole_stream(Bypass(max_sweeps=1), 20_000, 2), 1.0),
        ("AutoBypass().run, a filter of the bank", "EvidenceBypass().run",
         bank(20_000), whole_stream(EvidenceBypass(), 20_000, 2), 1 / 1.2),
        ("scores of Normal forecasts", "a loop over scipy.stats",
         normal_scores(20_000, ours=True), normal_scores(100, ours=False), 20.0),
        ("import adabypass", "import numpy, scipy.special",
         importing("adabypass"), importing("numpy, scipy.special"), 0.5),
    ]  # fmt: skip
    table = Table("ours", "beside", box=None, pad_edge=False, header_style="bold")
    for heading in ("ours (µs)", "theirs (µs)", "times faster", "aim"):
        table.add_column(heading, justify="right")
    with Progress(transient=True) as progress:
        for name, beside, ours, theirs, aim in progress.track(comparisons, description="measuring"):
            ours_time, theirs_time = race(ours, theirs)
            ratio = theirs_time / ours_time
            table.add_row(
                name, beside, f"{ours_time * 1e6:.2f}", f"{theirs_time * 1e6:.2f}", f"{ratio:.2f}",
                f">= {aim:.3g}" + ("" if ratio >= aim else "  missed"),
            )  # fmt: skip
    Console(width=None if sys.stdout.isatty() else 120).print(table)


if __name__ == "__main__":
    main()
