"""The page docs/speed.md, written from a run."""

from collections.abc import Sequence
from pathlib import Path

from benchmarks.speed import picture
from benchmarks.speed.aims import AIMS, Kind, judge
from benchmarks.speed.contestants import Mode
from benchmarks.speed.results import MICROSECONDS, Measurement, Results
from benchmarks.speed.suite import CONTESTANTS
from benchmarks.speed.tables import number

TEXT = """# Speed

Written by `make bench ARGS="--docs"`. Each library forecasts an observation, then learns from it; times are
microseconds an observation on one core, the best of several repetitions in which all libraries take turns. Behind
each time: how many times as long as AutoBypass in the same mode, and the mean absolute error of the forecasts made
while the clock ran, over the second half of the stream. The noise alone costs an error of 0.4, forecasting the mean
one of 1.6.

- *Row by row* is a loop in Python: a forecast, then an update. *In bulk* is one call for the whole stream.
- Rows are brought into each library's own format before the clock starts: arrays, River's dicts, Vowpal Wabbit's
  examples.
- AutoBypass forecasts a whole distribution by a mixture of filters and is given nothing. The Kalman filters of
  filterpy, pykalman, statsmodels and C know the variances that the streams were made with; learning rates of SGD suit
  the number of features.
- scikit-learn in bulk forecasts a hundred rows before it learns from them. Vowpal Wabbit in bulk reads its own binary
  cache and writes no forecasts, which would take several times as long; its forecasts are checked in a run apart.
- filterpy's `batch_filter` is its row-by-row loop. Viking has no interface for single rows.
- Slow libraries are given fewer rows; an error in brackets comes from too few rows to learn from.
"""


def write(results: Results, features: Sequence[int], folder: Path) -> None:
    """Write the page and its picture."""
    drawn = folder / "images" / "speed.png"
    picture.draw(results, features, drawn)
    machine = f"{results.machine}; " + ", ".join(f"{name} {version}" for name, version in results.versions.items())
    parts = [
        TEXT,
        results.doubts,
        "![Time an observation over the number of features](images/speed.png)",
        f"Measured at {results.commit}, {results.date}, on {machine}.",
    ]
    parts += [f"## {mode.capitalize()}\n\n{_peers(results, mode, features)}" for mode in Mode]
    parts += [f"## Aims\n\n{_aims(results)}"]
    (folder / "speed.md").write_text("\n\n".join(part.strip() for part in parts if part) + "\n")


def _table(rows: list[list[str]]) -> str:
    head, *body = rows
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *body]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _peers(results: Results, mode: Mode, features: Sequence[int]) -> str:
    rows = [["", *(f"{d} feature{'s' if d > 1 else ''}" for d in features)]]
    for contestant in (each for each in CONTESTANTS if each.mode is mode):
        rows.append([contestant.name])
        for d in features:
            found = results.measurements.get(contestant.key(d), Measurement(None, note="not measured"))
            own = results.value(f"{mode}/AutoBypass/{d}")
            if found.value is None or found.mae is None or own is None:
                rows[-1].append(found.note)
                continue
            error = f"({found.mae:.2f})" if found.learned is None else f"{found.mae:.2f}"
            rows[-1].append(f"{number(found.value)}, {number(found.value / own)}x, {error}")
    return _table(rows)


def _aims(results: Results) -> str:
    rows = [["", "ours", "theirs", "reached", "aim", ""]]
    for verdict in (judge(aim, results) for aim in AIMS):
        aim, times = verdict.aim, "x" if verdict.aim.kind in {Kind.FASTER, Kind.WITHIN} else ""
        sign = ">=" if aim.kind in {Kind.FASTER, Kind.AT_LEAST} else "<="
        unit = verdict.unit or MICROSECONDS
        rows.append([
            aim.what,
            "" if verdict.ours is None else f"{number(verdict.ours)} {unit}",
            "" if verdict.theirs is None else f"{number(verdict.theirs)} {unit}",
            "" if verdict.reached is None else number(verdict.reached) + times,
            f"{sign} {number(aim.bound)}{times}",
            {True: "met", False: "missed", None: verdict.note}[verdict.is_met],
        ])  # fmt: skip
    return _table(rows)
