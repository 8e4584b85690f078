"""Run the parts of the benchmark and gather their results."""

import dataclasses
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks.speed import adapters, builds, library, matrices, models, peers, stream_command
from benchmarks.speed.contestants import Contestant, task_of
from benchmarks.speed.results import DIFFERENCE, MEGABYTES, ROWS_A_SECOND, Measurement, Results
from benchmarks.speed.streams import Stream, accuracy, drifting
from benchmarks.speed.timing import Best, Effort, NotAvailable, Task, explain, measure

PARTS = ("builds", "peers", "matrices", "stream", "library")
CONTESTANTS: tuple[Contestant, ...] = (*models.CONTESTANTS, *adapters.CONTESTANTS, *peers.CONTESTANTS)


class Scale(NamedTuple):
    """How much is measured."""

    effort: Effort
    rows: dict[int, int]
    """Rows of the stream, by the number of features."""
    stream_rows: int
    stream_repetitions: int


FULL = Scale(Effort(0.45, 3, 7), {1: 4000, 5: 4000, 20: 4000, 50: 3000, 200: 2000}, 20_000, 2)
QUICK = Scale(Effort(0.06, 2, 3), {1: 2000, 5: 2000, 20: 2000, 50: 2000, 200: 2000}, 5_000, 1)
Report = Callable[[str], None]


def time_peers(results: Results, scale: Scale, features: Sequence[int], report: Report) -> None:
    """Time every contestant at each number of features, all in turn."""
    for d in features:
        stream = drifting(scale.rows[d], d)
        tasks: list[Task] = []
        given: dict[str, Stream] = {}
        for contestant in CONTESTANTS:
            key = contestant.key(d)
            report(key)
            try:
                task, given[key] = task_of(contestant, stream, scale.effort)
                tasks.append(task)
            except Exception as problem:  # whatever a peer raises is a result to show
                results.measurements[key] = Measurement(None, note=explain(problem))
        _keep(results, tasks, measure(tasks, scale.effort, report), given)


def time_builds(results: Results, scale: Scale, baseline: str | None, folder: Path, report: Report) -> None:
    """Time this build, each instruction set and the baseline commit, in processes that run in turn."""
    if baseline is not None:
        report(f"building {baseline}")
    wanted = builds.builds(baseline, folder)
    with builds.workers(wanted) as started:
        tasks = builds.tasks(started)
        _keep(results, tasks, measure(tasks, scale.effort, report))
        report("comparing the forecasts of the builds")
        for key, difference in builds.agreement(started).items():
            results.measurements[key] = Measurement(difference, DIFFERENCE)
        results.configurations = {each.build.name: each.config for each in started}
    results.baseline = baseline


def time_stream_command(results: Results, scale: Scale, report: Report) -> None:
    """Time the command from end to end, its start included."""
    short, long = stream_command.measure(scale.stream_rows, scale.stream_repetitions, report)
    results.measurements |= {
        "stream/rows a second": Measurement(long.rows / long.seconds, ROWS_A_SECOND, rows=long.rows),
        "stream/rows a second by the clock": Measurement(long.rows / long.elapsed, ROWS_A_SECOND, rows=long.rows),
        "stream/peak at 1x rows": Measurement(short.peak / 1e6, MEGABYTES, rows=short.rows),
        "stream/peak at 10x rows": Measurement(long.peak / 1e6, MEGABYTES, rows=long.rows),
    }


def run(
    results: Results, scale: Scale, parts: Sequence[str], features: Sequence[int], baseline: str | None, folder: Path,
    report: Report, save: Callable[[], None],
) -> None:  # fmt: skip
    """Run the parts, and save after each: builds first, since a commit that cannot be built ends it all."""
    runs: dict[str, Callable[[], None]] = {
        "builds": lambda: time_builds(results, scale, baseline, folder, report),
        "peers": lambda: time_peers(results, scale, features, report),
        "matrices": lambda: _time(results, matrices.tasks(is_quick=scale is QUICK), scale, report),
        "stream": lambda: time_stream_command(results, scale, report),
        "library": lambda: _time(results, library.tasks(), scale, report),
    }
    for part in PARTS:
        if part in parts:
            runs[part]()
            save()


def _time(results: Results, tasks: Sequence[Task], scale: Scale, report: Report) -> None:
    _keep(results, tasks, measure(tasks, scale.effort, report))


def _keep(
    results: Results, tasks: Sequence[Task], found: dict[str, Best | str], given: dict[str, Stream] | None = None
) -> None:
    for task in tasks:
        best = found[task.key]
        if isinstance(best, str):
            results.measurements[task.key] = Measurement(None, note=best)
            continue
        kept = Measurement(best.seconds * 1e6, rows=task.per)
        if given is not None:
            if best.forecasts is None:
                raise NotAvailable(f"{task.key} was timed, but forecast nothing")
            mae, mae_of_mean, learned = accuracy(best.forecasts, given[task.key])
            kept = dataclasses.replace(kept, mae=mae, mae_of_mean=mae_of_mean, learned=learned)
        results.measurements[task.key] = kept
