"""Four tasks of the Chronos zero-shot benchmark, beside published scores of foundation models."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.forecast.contestants import RIVALS
from benchmarks.forecast.measures import PROBABILITIES, Outlook
from benchmarks.forecast.problems import Problem

BASELINE = "seasonal_naive"
"""By whose scores those of each task are divided."""
OURS = "Forecaster()"
DECILES = slice(1, None, 2)
"""Of the nineteen quantiles, those of 10 %, 20 % ... 90 %."""
FREQUENCIES = {"monthly": "monthly", "quarterly": "quarterly", "yearly": "yearly", "hospital": "monthly"}


def tasks(path: Path) -> dict[str, list[Problem]]:
    """Return the series of each task."""
    import pandas as pd  # noqa: PLC0415  (an extra of the benchmark)

    found: dict[str, list[Problem]] = {}
    for (task, name), rows in pd.read_csv(path, dtype={"unique_id": str}).groupby(["task", "unique_id"], sort=False):
        parts = {part: rows.y[rows.part == part].to_numpy(np.float64) for part in ("train", "test")}
        frequency = FREQUENCIES[str(task).rsplit("_", 1)[-1]]
        found.setdefault(str(task), []).append(
            Problem(f"{task}.{name}", str(task), frequency, int(rows.period.iloc[0]), **parts)
        )
    return found


def published(path: Path) -> dict[str, dict[str, tuple[float, float]]]:
    """Return WQL and MASE of each task, of each model."""
    import pandas as pd  # noqa: PLC0415  (an extra of the benchmark)

    found: dict[str, dict[str, tuple[float, float]]] = {}
    for row in pd.read_csv(path).itertuples():
        found.setdefault(str(row.model), {})[str(row.task)] = (float(row.WQL), float(row.MASE))
    return found


def measure(found: dict[str, list[Problem]]) -> dict[str, tuple[float, float]]:
    """Return WQL and MASE of the automatic forecaster on each task, as the benchmark defines them."""
    ours = next(rival for rival in RIVALS if rival.name == OURS)
    return {task: _scores(ours.run(problems)) for task, problems in found.items()}


def _scores(outlooks: Iterator[tuple[Problem, Outlook | None]]) -> tuple[float, float]:
    loss, size, errors = 0.0, 0.0, []
    for problem, outlook in outlooks:
        assert outlook is not None
        error = problem.test - outlook.quantiles[DECILES]
        at = PROBABILITIES[DECILES, None]
        loss += 2 * float(np.maximum(at * error, (at - 1) * error).sum()) / len(at)
        size += float(np.abs(problem.test).sum())
        seasonal = np.abs(problem.train[problem.period :] - problem.train[: -problem.period])
        if len(seasonal) and seasonal.mean() > 0.0:
            errors.append(np.abs(problem.test - outlook.point).mean() / seasonal.mean())
    return loss / size, float(np.mean(errors))


def relative(scores: dict[str, tuple[float, float]], baseline: dict[str, tuple[float, float]]) -> Any:
    """Return the geometric means over tasks of WQL and MASE over those of the baseline."""
    ratios = np.array([np.array(scores[task]) / baseline[task] for task in baseline])
    return np.exp(np.log(ratios).mean(axis=0))


def markdown(ours: dict[str, tuple[float, float]], others: dict[str, dict[str, tuple[float, float]]]) -> str:
    """Return the table, the best WQL first."""
    every = {OURS: ours} | {name: scores for name, scores in others.items() if scores.keys() == ours.keys()}
    means = {name: relative(scores, others[BASELINE]) for name, scores in every.items()}
    lines = [
        "## Four tasks of the Chronos zero-shot benchmark\n",
        "M1 monthly, quarterly and yearly, and hospital: 1,768 series. WQL, the weighted quantile loss at 10 %, 20 % "
        "... 90 %, and MASE of the median, over those of the seasonal naive forecast: geometric means over the tasks. "
        "Scores of the other models are those published in the results of the repository autogluon/fev. What happens "
        "at gross errors was chosen with a look at these series (docs/decisions/0010), the other constants without.\n",
        "|  | WQL | MASE |\n| --- | ---: | ---: |",
    ]
    ranked = sorted(means, key=lambda name: means[name][0])
    return "\n".join(lines + [f"| {name} | {means[name][0]:.3f} | {means[name][1]:.3f} |" for name in ranked])
