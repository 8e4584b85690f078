"""Means over series, for each frequency and over all."""

from collections.abc import Sequence

import numpy as np

from benchmarks.forecast.problems import Problem

Scores = dict[str, dict[str, dict[str, float]]]
"""By rival, problem and measure."""
ORDER = (
    "yearly",
    "quarterly",
    "monthly",
    "weekly",
    "daily",
    "hourly",
    "half-hourly",
    "10 minutes",
    "5 minutes",
    "other",
)


def frequencies(given: Sequence[Problem]) -> list[str]:
    """Return the frequencies that there are series of."""
    present = {problem.frequency for problem in given}
    return [frequency for frequency in ORDER if frequency in present]


def names_of(given: Sequence[Problem], *, source: str | None = None, frequency: str | None = None) -> list[str]:
    """Return the names of the problems of a source, a frequency, or both."""
    return [
        problem.name for problem in given if source in (None, problem.source) and frequency in (None, problem.frequency)
    ]


def mean(scores: Scores, rival: str, names: Sequence[str], measure: str) -> float:
    """Return the mean of a measure over the named series; nan if a rival forecast fewer than nine in ten of them."""
    found = scores.get(rival, {})
    values = [found[name][measure] for name in names if name in found]
    return float(np.mean(values)) if values and len(values) >= 0.9 * len(names) else float("nan")


def n_failed(scores: Scores, rival: str, names: Sequence[str]) -> int:
    """Return on how many of the named series a rival failed."""
    return sum(name not in scores.get(rival, {}) for name in names)
