"""Exogenous columns: checked, and where a value is missing, filled as was agreed."""

from typing import Literal, NamedTuple

import numpy as np

from adabypass.errors import NotFiniteError, ShapeError
from adabypass.validation import Floats, check_array

Missing = Literal["raise", "mean", "last"]
NOTHING = np.empty(0)


class Exogenous(NamedTuple):
    """What is known of the exogenous columns so far; it never changes, learning makes another."""

    names: tuple[str, ...] | None
    missing: Missing
    n_columns: int | None = None
    """None until it is known."""
    mean: Floats = NOTHING
    last: Floats = NOTHING
    n_seen: Floats = NOTHING

    def rows(self, exog: object, n: int) -> tuple[Floats, "Exogenous"]:
        """Check `n` rows of values and fill what is missing; give them, and what is known after them."""
        if exog is None:
            if self.n_columns:
                names = f" ({', '.join(self.names)})" if self.names else ""
                raise ShapeError(f"exog is missing, but this forecaster has {self.n_columns} exogenous columns{names}.")
            return np.empty((n, 0)), self._replace(n_columns=0)
        table = check_array(exog, "exog")
        table = table.reshape(-1, 1) if table.ndim == 1 and self.n_columns in (None, 1) else table
        expected = "n_exog" if self.n_columns is None else str(self.n_columns)
        if table.ndim != 2 or len(table) != n or self.n_columns not in (None, table.shape[1]):
            raise ShapeError(f"exog has shape {table.shape}, but must be ({n}, {expected}): a row for each step.")
        if np.isinf(table).any():
            row, column = (int(i) for i in np.argwhere(np.isinf(table))[0])
            raise NotFiniteError(f"exog[{row}, {column}] is {table[row, column]}, but must be finite.")
        return self._filled(table)

    def _filled(self, table: Floats) -> tuple[Floats, "Exogenous"]:
        if np.isnan(table).any() and self.missing == "raise":
            row, column = (int(i) for i in np.argwhere(np.isnan(table))[0])
            name = self.names[column] if self.names else column
            raise NotFiniteError(
                f"exog is missing in row {row}, column {name!r}; fill it, or choose missing='mean' or missing='last'."
            )
        k = table.shape[1]
        fresh = len(self.mean) != k
        mean, last, count = (np.zeros(k) if fresh else each.copy() for each in (self.mean, self.last, self.n_seen))
        filled = table
        if np.isnan(table).any():
            filled = table.copy()
            for row in filled:
                seen = ~np.isnan(row)
                row[~seen] = (mean if self.missing == "mean" else last)[~seen]
                count[seen] += 1
                mean[seen] += (row[seen] - mean[seen]) / count[seen]
                last[seen] = row[seen]
        elif len(table):
            total = count + len(table)
            mean = mean + (table.mean(axis=0) - mean) * (len(table) / total)
            last, count = table[-1].copy(), total
        return filled, self._replace(n_columns=k, mean=mean, last=last, n_seen=count)
