"""The series that a panel holds: their ids, their rows, and the runners that move these."""

from collections.abc import Iterator
from typing import Any, Self

import numpy as np

from adabypass.errors import ParameterError, ShapeError, StateError
from adabypass.files import FilePath
from adabypass.forecasting import Forecaster
from adabypass.kernels.runner import Runner
from adabypass.panel import state
from adabypass.panel.engines import Given
from adabypass.panel.ids import Exclusive, check_distinct, check_ids, find
from adabypass.panel.learning import Rows
from adabypass.panel.results import Id
from adabypass.panel.rows import PanelRows
from adabypass.panel.threads import SMALL, check_threads
from adabypass.regressors import Regressor
from adabypass.snapshots.container import Snapshot
from adabypass.snapshots.savable import Savable
from adabypass.snapshots.versions import upgrade
from adabypass.validation import Floats, Integers


class SeriesStore(Savable):
    """Series with a row each: added, dropped, selected, saved and loaded."""

    def _start(self, given: Given, n_threads: int | None = None, rows_in: FilePath | None = None) -> None:
        self._given, self._engine = given, given.engine
        self.n_threads, self._rows_in = check_threads(n_threads), rows_in
        self._index: dict[Id, int] = {}
        self._rows: PanelRows | None = None
        self._n_inputs: int | None = None
        self._runners: list[Runner] = []
        self._exclusive = Exclusive()

    def __len__(self) -> int:
        return len(self._index)

    def __contains__(self, each: object) -> bool:
        return each in self._index

    def __repr__(self) -> str:
        return f"Panel({len(self)} series of {self._engine.label}, {self.n_bytes / 1e6:.1f} MB)"

    def __getitem__(self, each: Id) -> Forecaster | Any:
        """Return a copy of the forecaster, or of the model, of one series."""
        (found,) = check_ids(each)
        with self._exclusive():
            at = int(find(self._index, [found])[0])
            rows, n_inputs = self._started()
            single: Forecaster | Regressor = self._given.single(rows.store.row(at).copy(), n_inputs)
            return single

    @property
    def ids(self) -> list[Id]:
        """The ids of the series, in the order in which they were added."""
        return list(self._index)

    @property
    def n_bytes(self) -> int:
        """Bytes of the rows."""
        return 0 if self._rows is None else self._rows.n_bytes

    @property
    def n_seen(self) -> Integers:
        """How many observations each series has learned from."""
        with self._exclusive():
            if self._rows is None or self._n_inputs is None:
                return np.zeros(len(self), np.int64)
            count, store, n = self._engine.n_seen, self._rows.store, self._n_inputs
            return np.array([count(store.row(row), n) for row in self._index.values()], np.int64)

    def add(self, ids: Any) -> None:
        """Add series of which nothing was seen yet; a model must know its number of features."""
        new = check_distinct(check_ids(ids))
        with self._exclusive():
            known = [each for each in new if each in self._index]
            if known:
                raise ParameterError(f"the panel has a series {known[0]!r} already.")
            if new:
                self._rows_of(new, self._engine.n_inputs_at_start if self._n_inputs is None else self._n_inputs)

    def drop(self, ids: Any) -> None:
        """Forget series altogether; their rows are used for series that are added later."""
        gone = check_distinct(check_ids(ids))
        with self._exclusive():
            rows = find(self._index, gone).tolist()
            for each in gone:
                del self._index[each]
            if self._rows is not None:
                self._rows.give_back(rows)

    def select(self, ids: Any) -> Self:
        """Return a panel of some of the series, as they are now."""
        chosen = check_distinct(check_ids(ids))
        with self._exclusive():
            which = find(self._index, chosen)
            twin = type(self).__new__(type(self))
            twin._start(self._given, self.n_threads, self._rows_in)
            if self._rows is not None and self._n_inputs is not None:
                rows, _ = twin._rows_of(chosen, self._n_inputs)
                for source, target in zip(which.tolist(), twin._index.values(), strict=True):
                    rows.store.row(target)[:] = self._rows.store.row(source)
            return twin

    def copy(self) -> Self:
        """Return a panel that has learned the same, and is independent from here on."""
        return self.select(self.ids)

    def _rows_of(self, ids: list[Id], n_inputs: int) -> tuple[PanelRows, Rows]:
        """Return all rows, and which of them the series have; those that are new get one."""
        (rows, _), index = self._started(n_inputs), self._index
        new = list(dict.fromkeys(each for each in ids if each not in index))
        if new:
            index.update(zip(new, rows.add(len(new)), strict=True))
        return rows, find(index, ids)

    def _started(self, n_inputs: int | None = None) -> tuple[PanelRows, int]:
        """Return the rows, and how many numbers come with an observation; refuse another number of them."""
        known = self._n_inputs
        if n_inputs is not None and known not in (None, n_inputs):
            raise ShapeError(f"{n_inputs} {self._engine.inputs} came, but the panel has {known}.")
        n = known if known is not None else n_inputs or 0
        if self._rows is None:
            self._rows = PanelRows(self._engine.new_row(n), self._engine.aligned_at(n), self._rows_in)
            self._n_inputs = n
        return self._rows, n

    def _each_row(self) -> Iterator[Floats]:
        """Yield the row of each series: the panel's own memory, not a copy."""
        if self._rows is not None:
            yield from map(self._rows.store.row, self._index.values())

    def _workers(self, n_observations: int) -> list[Runner]:
        """Return a runner for each thread that is worth starting."""
        n = 1 if n_observations <= SMALL else min(self.n_threads, -(-n_observations // (SMALL // 2)))
        while len(self._runners) < n:
            assert self._n_inputs is not None
            self._runners.append(self._engine.new_runner(self._engine.new_row(self._n_inputs), self._n_inputs))
        return self._runners[:n]

    def _snapshot(self) -> tuple[dict[str, Any], dict[str, Any]]:
        with self._exclusive():
            return state.describe(self._engine, self._index, self._rows, self._n_inputs)

    def _restore(self, snapshot: Snapshot) -> None:
        given, ids, rows, n_inputs = state.check_snapshot(snapshot)
        self._start(given)
        self._n_inputs = n_inputs
        if ids and n_inputs is not None:  # without series, no row is made: however long, it would fit into any file
            self._rows_of(ids, n_inputs)
            for row, saved in zip(self._each_row(), rows, strict=True):
                row[:] = saved

    def __getstate__(self) -> dict[str, Any]:
        header, arrays = self._snapshot()
        return {"header": header, "arrays": arrays}

    def __setstate__(self, given: object) -> None:
        if not isinstance(given, dict) or not isinstance(given.get("header"), dict):
            raise StateError("this pickled Panel holds no panel; make it anew.")
        self._restore(upgrade(Snapshot(given["header"], dict(given.get("arrays") or {}), "this pickled Panel")))
