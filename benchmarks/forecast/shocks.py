"""The same series with a shock at their end: a gross error, or a change of the level."""

from collections.abc import Iterator, Sequence

import numpy as np

from benchmarks.forecast.contestants import RIVALS
from benchmarks.forecast.measures import score
from benchmarks.forecast.problems import Problem

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


def measure(given: Sequence[Problem]) -> dict[str, dict[str, tuple[float, float]]]:
    """Return CRPS, in scales of the series without a shock, and coverage of each rival after each kind of shock."""
    chosen = [problem for problem in given if problem.source == "M competitions"][::EVERY]
    found: dict[str, dict[str, tuple[float, float]]] = {}
    for rival in (each for each in RIVALS if each.name in NAMES and each.is_installed):
        for kind in KINDS:
            scored = []
            for plain, (problem, outlook) in zip(chosen, rival.run(list(shocked(chosen, kind))), strict=True):
                if outlook is not None:
                    values = score(problem, outlook)
                    scored.append(
                        (values["CRPS"] * (problem.scale or 1.0) / (plain.scale or 1.0), values["held by 90 %"])
                    )
            crps, held = np.mean(scored, axis=0)
            found.setdefault(rival.name, {})[kind] = (float(crps), float(held))
    return found


def markdown(found: dict[str, dict[str, tuple[float, float]]]) -> str:
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
