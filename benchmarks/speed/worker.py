"""Time one build of the library in a process of its own: `python -m benchmarks.speed.worker`.

Which build that is, PYTHONPATH and ADABYPASS_SIMD decide. The process first writes one line of JSON that says what it
has loaded; then it answers each name that it reads with one line of JSON. Only names are used that old builds have too.
"""

import contextlib
import inspect
import io
import json
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import adabypass
from adabypass import AutoBypass
from benchmarks.speed.streams import drifting
from benchmarks.speed.timing import Task, timed

RUN_SIZES = {1: 8000, 5: 6000, 20: 3000, 50: 1000, 200: 80}
MATRIX_SIZES = {200: 1000, 1000: 60}
WARM_UP, CALLS = 500, 2000
LEVEL = 0.9

RUN_TASKS = tuple(f"AutoBypass.run/{d}" for d in RUN_SIZES)
INTERVAL_TASKS = (
    "AutoBypass.predict",
    "AutoBypass.interval",
    "AutoBypass.interval from the last",
    "AutoBypass.predict and interval",
)
MATRIX_TASKS = tuple(f"{name}.run/{d}" for name in ("Bypass", "AdaBypass") for d in MATRIX_SIZES)
AGREEMENT_SIZES = (1, 5, 20, 50)


def run_task(new: Callable[[], Any], name: str, d: int, n: int) -> Task:
    """Return the task that runs a new model over a stream."""
    X, y = drifting(n, d)

    def prepare() -> Callable[[], object]:
        model = new()

        def go() -> None:
            model.run(X, y)

        return go

    return timed(name, n, prepare)


def interval_task(name: str) -> Task:
    """Return the task that asks a model of 5 features, which has seen 500 rows, for many forecasts or intervals."""
    X, y = drifting(WARM_UP + CALLS, 5)
    rows = list(X[WARM_UP:])

    def prepare() -> Callable[[], object]:
        model = AutoBypass()
        model.run(X[:WARM_UP], y[:WARM_UP])
        predict = model.predict
        made = [predict(x) for x in rows] if name.startswith("AutoBypass.interval") else []

        def only_predict() -> None:
            for x in rows:
                predict(x)

        def only_interval() -> None:
            for forecast in made:
                forecast.interval(LEVEL)

        def from_the_last() -> None:
            options = {"start": np.array([-1.0, 1.0])} if _takes_start(made[0]) else {}
            for forecast in made:
                forecast.interval(LEVEL, **options)

        def both() -> None:
            for x in rows:
                predict(x).interval(LEVEL)

        return dict(zip(INTERVAL_TASKS, (only_predict, only_interval, from_the_last, both), strict=True))[name]

    return timed(name, CALLS, prepare)


def _takes_start(forecast: Any) -> bool:
    """Return whether a build's `interval` can start its search at the last answer, or does so by itself."""
    return "start" in inspect.signature(forecast.interval).parameters


def task_of(name: str) -> Task:
    """Return the task of a name."""
    if name in INTERVAL_TASKS:
        return interval_task(name)
    model, d = name.split(".run/")
    return run_task(getattr(adabypass, model), name, int(d), per(name))


def per(name: str) -> int:
    """Return how many rows, or calls, the task of a name times."""
    if name in INTERVAL_TASKS:
        return CALLS
    model, d = name.split(".run/")
    return (RUN_SIZES if model == "AutoBypass" else MATRIX_SIZES)[int(d)]


def save_forecasts(path: str) -> None:
    """Write mean, variance and log score of AutoBypass's forecasts of every stream, to be compared between builds."""
    kept: dict[str, Any] = {}
    for d in AGREEMENT_SIZES:
        trace = AutoBypass().run(*drifting(RUN_SIZES[d], d))
        kept |= {f"mean {d}": trace.mean, f"var {d}": trace.var, f"log_score {d}": trace.log_score}
    np.savez(path, **kept)


def configuration() -> str:
    """Return what the build says about its instruction sets; empty if it has none to choose from."""
    show = getattr(adabypass, "show_config", None)
    if show is None:
        return ""
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        returned = show()
    return said.getvalue().strip() or str(returned or "")


def answers(names: Iterator[str]) -> Iterator[dict[str, object]]:
    """Answer each name in turn; a task is prepared once and kept."""
    tasks: dict[str, Task] = {}
    yield {"path": adabypass.__file__, "config": configuration()}
    for line in names:
        name = line.rstrip("\n")
        if name.startswith("save "):
            save_forecasts(name.removeprefix("save "))
            yield {}
            continue
        if name not in tasks:
            tasks[name] = task_of(name)
            tasks[name].once()
        yield {"seconds": tasks[name].once().seconds}


if __name__ == "__main__":
    for answer in answers(iter(sys.stdin)):
        print(json.dumps(answer), flush=True)
