"""The same series with a shock at their end: a gross error, or a change of the level."""

from collections.abc import Iterator, Sequence

import numpy as np

from benchmarks.forecast import contestants
from benchmarks.forecast.cache import Cache
from benchmarks.forecast.measures import score
from benchmarks.forecast.problems import Problem
from benchmarks.forecast.rivals import Rival
from benchmarks.forecast.runs import outlooks

Errors = tuple[float, float]
"""CRPS, and what the 90 % interval holds."""
KINDS = {
    "none": "as they are",
    "error": "gross error in the last value",
    "change 1": "change at the last value",
    "change 3": "change 3 values before the end",
    "change 6": "change 6 values before the end",
}
SIZES = (4.0, 10.0)
"""A shock has between so many of MASE's scales, of either sign."""
EVERY = 4
"""One of so many series is taken."""
NAMES = ("Forecaster()", "Forecaster, lags by hand", "SeasonalNaive (ours)", "AutoETS", "AutoTheta")
RIVALS = tuple(rival for rival in contestants.RIVALS if rival.name in NAMES)


def shocked(given: Sequence[Problem], kind: str) -> Iterator[Problem]:
    """Return series with a shock; after a change the values to come are changed as well."""
    rng = np.random.default_rng(7)
    for problem in given:
        train, test = problem.train.copy(), problem.test.copy()
        size = rng.choice([-1.0, 1.0]) * rng.uniform(*SIZES) * problem.scale
        if train.min() > 0.0 and train[-1] + size <= 0.0:
            size = abs(size)
        if kind == "error":
            train[-1] += size
        elif kind != "none":
            train[-int(kind.split()[1]) :] += size
            test += size
        yield problem._replace(train=train, test=test)


def measure(given: Sequence[Problem], rivals: Sequence[Rival], cache: Cache) -> dict[str, dict[str, Errors]]:
    """Return CRPS, in scales of the series without a shock, and coverage of each rival after each kind of shock."""
    chosen = [problem for problem in given if problem.source == "M competitions"][::EVERY]
    scales = {problem.name: problem.scale or 1.0 for problem in chosen}
    found: dict[str, dict[str, Errors]] = {}
    for rival in rivals:
        for kind in KINDS:
            scored = []
            for problem, outlook in outlooks(rival, list(shocked(chosen, kind)), cache):
                if outlook is not None:
                    values = score(problem, outlook)
                    crps = values["CRPS"] * (problem.scale or 1.0) / scales[problem.name]
                    scored.append((crps, values["held by 90 %"]))
            crps, held = np.mean(scored, axis=0)
            found.setdefault(rival.name, {})[kind] = (float(crps), float(held))
    return found


def markdown(found: dict[str, dict[str, Errors]]) -> str:
    """Return the table."""
    lines = [
        "## After a shock\n",
        f"One of {EVERY} series of the M competitions, with a shock of {SIZES[0]:g} to {SIZES[1]:g} mean seasonal "
        "differences: CRPS, and what the 90 % interval holds. After a change the values to come have it too.\n",
        f"|  | {' | '.join(KINDS.values())} |\n| --- | {' | '.join(['---:'] * len(KINDS))} |",
    ]
    for name, by_kind in found.items():
        cells = " | ".join(f"{crps:.2f} ({100 * held:.0f} %)" for crps, held in by_kind.values())
        lines.append(f"| {name} | {cells} |")
    return "\n".join(lines)
