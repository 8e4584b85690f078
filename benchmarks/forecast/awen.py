"""awen-dlmax: dynamic linear models averaged over discount factors, in JAX."""

import time
from collections import defaultdict
from collections.abc import Iterator, Sequence

import numpy as np

from adabypass.validation import Floats
from benchmarks import dlmax
from benchmarks.forecast.measures import Outlook
from benchmarks.forecast.problems import Problem

MAX_LENGTH = {12: 120, 4: 64}
"""By period, how many of the newest values are learned from: ten years of months, sixteen of quarters."""
STEP = {12: 12, 4: 8}
"""By period, what lengths of series are cut to multiples of."""
MAX_BATCH = 16
"""So many series are given at once, so that some come back while others are waited for."""

Key = tuple[int, int, int]
"""Period, horizon and length of series that are forecast at once."""


def run(problems: Sequence[Problem]) -> Iterator[tuple[Problem, Outlook | None]]:
    """Forecast all monthly and quarterly series of one length at once; the others are not asked.

    It compiles for every period and length of a series anew, for some 20 seconds; so the oldest few values of a series
    are left out where that makes lengths equal. The time is shared among the series of a batch.
    """
    batches: dict[Key, list[Problem]] = defaultdict(list)
    for problem in problems:
        if problem.period in MAX_LENGTH:
            step = STEP[problem.period]
            length = min(len(problem.train), MAX_LENGTH[problem.period]) // step * step
            batches[problem.period, problem.horizon, length].append(problem)
    for (period, horizon, length), batch in _parts(batches):
        start = time.process_time()
        try:
            found = _forecast(batch, period, horizon, length)
        except Exception:  # a library that fails is shown to have failed, whatever its error
            yield from ((problem, None) for problem in batch)
            continue
        seconds = (time.process_time() - start) / len(batch)
        for problem, (point, quantiles) in zip(batch, found, strict=True):
            is_finite = bool(np.isfinite(point).all() and np.isfinite(quantiles).all())
            yield problem, Outlook(point, quantiles, seconds) if is_finite else None


def _parts(batches: dict[Key, list[Problem]]) -> Iterator[tuple[Key, list[Problem]]]:
    for key, problems in batches.items():
        for at in range(0, len(problems), MAX_BATCH):
            yield key, problems[at : at + MAX_BATCH]


def _forecast(batch: Sequence[Problem], period: int, horizon: int, length: int) -> list[tuple[Floats, Floats]]:
    import pandas as pd  # noqa: PLC0415  (extras of the benchmark)

    wide = np.column_stack([problem.train[-length:] for problem in batch])
    levels = list(range(10, 100, 10))
    model = dlmax.load().AutoFFS(season_length=period if period > 1 else None)
    model.fit(pd.DataFrame(wide, columns=[f"{i:06d}" for i in range(len(batch))]), freq=1)
    table = model.forecast(h=horizon, level=levels).sort_values(["unique_id", "ds"])
    names = [f"AutoFFS-lo-{level}" for level in reversed(levels)] + ["AutoFFS"]
    names += [f"AutoFFS-hi-{level}" for level in levels]
    values = table[names].to_numpy(np.float64).reshape(len(batch), horizon, len(names))
    return [(each[:, len(levels)].copy(), each.T.copy()) for each in values]
