"""Rows of many keys as they reach a stream: with gaps, out of order, late and twice; and what is to come of them."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from adabypass.validation import Floats

N_KEYS, N_STEPS, N_BATCHES = 200, 30, 4


class Arrivals(NamedTuple):
    """Rows in the order of their arrival, and which of them a stream has to use."""

    rows: pd.DataFrame
    """`batch`, `key`, `step`, `y`: nan where the value is missing."""
    n_late: int
    """Rows older than one of their key in an earlier batch."""
    n_duplicate: int
    """Further rows of the newest step of their key, or of the same step in the same batch."""

    def used(self, key: str) -> pd.DataFrame:
        """Return the rows of a key that are neither late nor duplicates, in the order of time."""
        newest, used = -1, []
        for _, batch in self.rows[self.rows["key"] == key].groupby("batch"):
            fresh = batch[batch["step"] > newest].sort_values("step").drop_duplicates("step")
            newest = max([newest, *fresh["step"]])
            used.append(fresh)
        return pd.concat(used)

    def write(self, folder: Path) -> None:
        """Write each batch to a file, which a stream reads in their order."""
        folder.mkdir(parents=True)
        for number, batch in self.rows.groupby("batch"):
            file = folder / f"{number:03d}.parquet"
            batch.drop(columns="batch").to_parquet(file)
            os.utime(file, (1_700_000_000 + number, 1_700_000_000 + number))  # Spark takes older files first

    def in_batches(self, numbers: Mapping[int, int]) -> "Arrivals":
        """Return the rows with those of each batch in the one that its number stands for here."""
        rows = self.rows.assign(batch=self.rows["batch"].map(numbers))
        return Arrivals(rows, *_counts(rows))

    def regular(self, key: str) -> Floats:
        """Return the values of all steps of a key, from its first to its last; nan where there is none."""
        rows = self.rows[self.rows["key"] == key].drop_duplicates("step").set_index("step")["y"].sort_index()
        values: Floats = rows.reindex(range(rows.index[0], rows.index[-1] + 1)).to_numpy()
        return values


def arrivals(seed: int = 0, n_keys: int = N_KEYS, n_batches: int = N_BATCHES) -> Arrivals:
    """Draw the rows: a tenth of the steps has no row, a tenth no value; a tenth comes late, a tenth twice."""
    rng = np.random.default_rng(seed)
    parts = []
    for key in range(n_keys):
        step = np.sort(rng.choice(N_STEPS, size=int(0.9 * N_STEPS), replace=False))
        y = 10 * rng.normal() + np.cumsum(rng.normal(size=N_STEPS))[step]
        y[rng.random(len(step)) < 0.1] = np.nan
        batch = step * n_batches // N_STEPS
        parts.append(pd.DataFrame({"batch": batch, "key": f"key {key}", "step": step, "y": y}))
    rows = pd.concat(parts, ignore_index=True)
    rows["batch"] += (rng.random(len(rows)) < 0.1) & (rows["batch"] < n_batches - 1)
    again = rows.sample(frac=0.1, random_state=seed)
    again = again.assign(batch=np.minimum(again["batch"] + rng.integers(0, 2, len(again)), n_batches - 1))
    is_old = rows["key"] == "key 1"  # whose second batch holds nothing but its first once more
    old = rows[is_old & (rows["batch"] == 0)].assign(batch=1)
    rows, again = rows[~(is_old & (rows["batch"] == 1))], again[~((again["key"] == "key 1") & (again["batch"] == 1))]
    rows = pd.concat([rows, again, old]).sample(frac=1, random_state=seed)
    rows = rows.sort_values("batch", kind="stable", ignore_index=True)
    return Arrivals(rows, *_counts(rows))


def _counts(rows: pd.DataFrame) -> tuple[int, int]:
    """Count late and duplicate rows, one by one."""
    newest: dict[str, int] = {}
    n_late = n_duplicate = 0
    for _, batch in rows.groupby("batch"):
        before = dict(newest)
        seen = set()
        for row in batch.itertuples():
            if row.step < before.get(row.key, -1):
                n_late += 1
            elif row.step == before.get(row.key, -1) or (row.key, row.step) in seen:
                n_duplicate += 1
            seen.add((row.key, row.step))
            newest[row.key] = max(newest.get(row.key, -1), row.step)
    return n_late, n_duplicate
