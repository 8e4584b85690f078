"""Series with a change, without one, and River's annotated ones."""

from typing import NamedTuple

import numpy as np
from river.drift import datasets

from adabypass.validation import Floats

UNCHANGED = (
    "normal",
    "Student's t, 3 degrees of freedom",
    "counts, mean 3",
    "counts, mean 0.3",
    "AR(1), 0.8",
    "season of 12",
)
JUMPS = ("level, 3 sd", "level, 1.5 sd", "noise x 3", "noise x 2", "noise / 3", "slope 1 to 3", "none")
N_ROWS, CHANGE_AT = 800, 500
"""Length of a series with a jump, and the row of the jump."""


def unchanged(kind: str, n: int, seed: int) -> Floats:
    """Draw a series that never changes."""
    rng = np.random.default_rng([UNCHANGED.index(kind), seed])
    if kind.startswith("Student"):
        return rng.standard_t(3, size=n)
    if kind.startswith("counts"):
        return rng.poisson(float(kind.rsplit(maxsplit=1)[-1]), size=n).astype(np.float64)
    noise = rng.normal(size=n)
    if kind.startswith("AR"):
        for t in range(1, n):
            noise[t] += 0.8 * noise[t - 1]
    return noise + 3.0 * np.sin(2.0 * np.pi * np.arange(n) / 12) if kind.startswith("season") else noise


def with_jump(kind: str, seed: int) -> tuple[Floats, Floats]:
    """Draw a series that jumps, and its feature: noise of sd 1, and a slope of 1 but for jumps of the slope."""
    rng = np.random.default_rng([JUMPS.index(kind), seed])
    feature, noise, is_late = rng.normal(size=N_ROWS), rng.normal(size=N_ROWS), np.arange(N_ROWS) >= CHANGE_AT
    if kind.startswith("level"):
        noise[is_late] += float(kind.split()[1])
    if kind.startswith("noise"):
        noise[is_late] *= float(kind.rsplit(maxsplit=1)[-1]) ** (1.0 if " x " in kind else -1.0)
    if kind.startswith("slope"):  # as in a regression whose noise is a third of its slope
        return np.where(is_late, 3.0, 1.0) * feature + 0.3 * noise, feature
    return feature + noise, feature


class Annotated(NamedTuple):
    """A series with the changes that people saw in it."""

    name: str
    columns: list[Floats]
    changes: list[list[int]]
    """Of each annotator."""


def annotated() -> list[Annotated]:
    """Return River's series, thinned out as those that the annotators saw (Turing Change Point Dataset, 2020)."""
    found = []
    for kind in (
        datasets.AirlinePassengers, datasets.Apple, datasets.Bitcoin, datasets.BrentSpotPrice, datasets.Occupancy,
        datasets.RunLog, datasets.UKCoalEmploy,
    ):  # fmt: skip
        source = kind()
        rows = [(x, y if isinstance(y, dict) else {"value": y}) for x, y in source]
        if kind is datasets.Apple:
            rows = [(x, {name: y[name] for name in ("Close", "Volume")}) for x, y in rows[1::3]]
        if kind is datasets.BrentSpotPrice:
            rows = [row for row in rows[::10] if row[0]["day"].year >= 2000]
        columns = [np.array([float(y[name]) for _, y in rows]) for name in rows[0][1]]
        found.append(Annotated(kind.__name__, columns, [list(each) for each in source.annotations.values()]))
    return found
