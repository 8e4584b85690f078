"""The wind, step by step: forecasters that learn all of it online, beside repeating the last value."""

from typing import Any

import numpy as np

from adabypass import Baseline, Drift, Forecaster, Naive, compare, load_dataset

STEPS = (1, 6, 12, 18, 24, 36)
"""Ten minutes, and one, two, three, four and six hours."""
EVERY = 36
"""A forecast is made every six hours."""
SKIP = 29 * EVERY
"""Forecasts of the first week, and the next one, are not scored."""


def contestants() -> dict[str, Forecaster | Baseline]:
    """Return who forecasts the wind."""
    return {
        "Forecaster()": Forecaster(period=144),  # a day, as a column of times would say
        "Forecaster(lags=1)": Forecaster(lags=1),
        "Forecaster(lags=3)": Forecaster(lags=3),
        "Naive": Naive(),
        "Drift": Drift(),
    }


def measure(n: int | None = None) -> dict[str, Any]:
    """Return the evaluations by name, of the first `n` values or of all."""
    speed = load_dataset("wind").y[:n]
    found = compare(speed, contestants(), horizon=max(STEPS), every=EVERY, skip=SKIP, loss="crps")
    return dict(found.evaluations)


def markdown(evaluations: dict[str, Any]) -> str:
    """Return the tables: RMSE, CRPS and coverage at each of the steps."""
    first = next(iter(evaluations.values()))
    parts = [
        "## The wind, learned online\n\nEvery model sees all values once, in order, with their gaps, and forecasts six "
        f"hours ahead: {first.counts(max(STEPS))}. RMSE and CRPS in m/s. `Naive` repeats the last value."
    ]
    for score, title in (("rmse", "RMSE"), ("crps", "CRPS"), ("coverage_90", "held by 90 %")):
        rows = [["", *(_ahead(step) for step in STEPS)], ["---", *["---:"] * len(STEPS)]]
        for name, result in evaluations.items():
            values = np.array([result.scores(step)[score] for step in STEPS])
            cells = [f"{100 * value:.1f} %" if score == "coverage_90" else f"{value:.3f}" for value in values]
            rows.append([name, *cells])
        parts.append(f"### {title}\n\n" + "\n".join(f"| {' | '.join(row)} |" for row in rows))
    return "\n\n".join(parts)


def _ahead(step: int) -> str:
    return f"{10 * step} minutes" if step < 6 else f"{step // 6} hour{'s' * (step > 6)}"
