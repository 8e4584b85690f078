"""Many series at once: a matrix of rows, moved by compiled code in several threads."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from adabypass.errors import ParameterError, ShapeError, StateError
from adabypass.files import FilePath
from adabypass.forecasting import Forecaster
from adabypass.inference.kernel.row_cell import RowCell
from adabypass.panel import learning, state
from adabypass.panel.ahead import check_levels, forecast_ahead
from adabypass.panel.ids import Exclusive, check_distinct, check_ids, find
from adabypass.panel.kinds import RowKind, kind_of
from adabypass.panel.results import Id, PanelForecast, PanelTrace
from adabypass.panel.rows import PanelRows
from adabypass.panel.threads import SMALL, check_threads
from adabypass.regressors import Regressor
from adabypass.snapshots.container import Snapshot
from adabypass.snapshots.savable import Savable
from adabypass.validation import Floats, Integers, check_array, check_flag, check_function, check_int

LONGEST_HORIZON = 100_000
Progress = Callable[[int], None]


class Panel(Savable):
    """Many series, each forecast by itself: as many forecasters, or models, with the same settings.

    Every series has one row of numbers, which is what a single forecaster would remember, to the bit. Compiled code
    goes through the rows, in several threads; neither their number nor the order of series changes any result.

    A series is added when its id is first seen. Several threads may use a panel: calls take effect one after another.
    Ctrl-C during a call stops it between series; those that were done have learned all of their observations.

    Parameters
    ----------
    forecaster : Forecaster or Regressor, optional
        Its settings are used; what it has learned is not. A new `Forecaster()` if not given.
    ids : list of text or whole numbers, optional
        Series to begin with.
    n_threads : int, optional
        By default as many as this process has processors.
    rows_in : path of a folder, optional
        Keep the rows in a temporary file there, mapped into memory, for panels that are larger than it.

    Examples
    --------
    >>> import numpy as np
    >>> from adabypass import Forecaster, Panel
    >>> panel = Panel(Forecaster(lags=1))
    >>> trace = panel.run(np.random.default_rng(0).normal(10.0, 1.0, size=(3, 50)), ids=["a", "b", "c"])
    >>> panel.update(["c", "a", "c"], [9.5, 10.5, 9.9])
    >>> panel.forecast(horizon=2)
    PanelForecast(3 series, 2 steps)
    """

    def __init__(
        self,
        forecaster: Forecaster | Regressor | None = None,
        ids: Any = None,
        *,
        n_threads: int | None = None,
        rows_in: FilePath | None = None,
    ) -> None:
        self._start(kind_of(forecaster), n_threads, rows_in)
        if ids is not None:
            self.add(ids)

    def _start(self, kind: RowKind, n_threads: int | None = None, rows_in: FilePath | None = None) -> None:
        self._kind, self.n_threads, self._rows_in = kind, check_threads(n_threads), rows_in
        self._index: dict[Id, int] = {}
        self._rows: PanelRows | None = None
        self._n_inputs: int | None = None
        self._cells: list[RowCell] = []
        self._exclusive = Exclusive()

    def __len__(self) -> int:
        return len(self._index)

    def __contains__(self, each: object) -> bool:
        return each in self._index

    def __repr__(self) -> str:
        return f"Panel({len(self)} series of {self._kind.name}, {self.n_bytes / 1e6:.1f} MB)"

    def __getitem__(self, each: Id) -> Forecaster | Regressor:
        """Return a copy of the forecaster, or of the model, of one series."""
        (found,) = check_ids(each)
        with self._exclusive():
            at = int(find(self._index, [found])[0])
            rows, n_inputs = self._started()
            return self._kind.single(rows.store.row(at), n_inputs)

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
            at, store = self._kind.n_seen_at(self._n_inputs), self._rows.store
            return np.array([store.row(row)[at] for row in self._index.values()], np.int64)

    def add(self, ids: Any) -> None:
        """Add series of which nothing was seen yet; a model must know its number of features."""
        new = check_distinct(check_ids(ids))
        with self._exclusive():
            known = [each for each in new if each in self._index]
            if known:
                raise ParameterError(f"the panel has a series {known[0]!r} already.")
            if new:
                self._rows_of(new, self._kind.n_inputs_at_start if self._n_inputs is None else self._n_inputs)

    def predict(self, ids: Any = None, X: object = None) -> Any:
        """Forecast the next observation of each series.

        Parameters
        ----------
        ids : list of ids, optional
            All series if not given.
        X : array (n, n_features) for models, (n, n_exog) for forecasters with exogenous columns

        Returns
        -------
        Predictive
            Many forecasts, in the order of the ids; nan where none is possible yet.
        """
        chosen = self.ids if ids is None else check_ids(ids)
        table = self._kind.check_inputs(X, len(chosen), self._n_inputs)
        with self._exclusive():
            which = find(self._index, chosen)
            rows, _ = self._started(table.shape[1])
            seen, parts = learning.forecast_next(rows.store, self._workers(len(which)), which, table)
        return self._kind.predictive(seen, parts)

    def update(self, ids: Any, y: object, X: object = None) -> None:
        """Learn observations, in any order of series, each series any number of times.

        Parameters
        ----------
        ids : list of ids
            To which series each observation belongs; an id that is new adds a series.
        y : array (n,)
            nan where an observation is missing. Observations of one series come in the order of time.
        X : array (n, n_features) for models, (n, n_exog) for forecasters with exogenous columns
        """
        self._learn(*self._check_observations(ids, y, X), keep=False, keep_parts=False)

    def step(self, ids: Any, y: object, X: object = None, *, keep_predictive: bool = True) -> PanelTrace:
        """Forecast each observation, then learn it: as `update`, with the record of the forecasts."""
        check_flag(keep_predictive, "keep_predictive")
        chosen, targets, table = self._check_observations(ids, y, X)
        seen, parts = self._learn(chosen, targets, table, keep=True, keep_parts=keep_predictive)
        return self._trace(chosen, targets, seen, parts if keep_predictive else None)

    def run(
        self,
        y: object,
        X: object = None,
        *,
        ids: Any = None,
        keep_trace: bool = True,
        progress: Progress | None = None,
    ) -> PanelTrace | None:
        """Predict, then update, for a rectangle of observations.

        Parameters
        ----------
        y : array (n_series, n_steps)
            nan where an observation is missing.
        X : array (n_series, n_steps, n_features) for models, or n_exog for forecasters with exogenous columns
        ids : list of ids, optional
            Of the rows of `y`. The panel's own if it has as many series; 0, 1, 2 ... if it has none.
        keep_trace : bool
            Whether the record of the forecasts is returned: 24 bytes for each observation.
        progress : function, optional
            Called now and then, in this thread, with the number of observations done since the last call.
        """
        check_flag(keep_trace, "keep_trace")
        check_function(progress, "progress")
        table = check_array(y, "y")
        if table.ndim != 2:
            raise ShapeError(f"y has shape {table.shape}, but must be (n_series, n_steps).")
        learning.check_targets(table)
        chosen = self._row_ids(ids, len(table))
        inputs = None if X is None else _flat_inputs(X, table.shape)
        checked = self._kind.check_inputs(inputs, table.size, self._n_inputs)
        with self._exclusive():
            rows, which = self._rows_of(chosen, checked.shape[1])
            cells = self._workers(table.size)
            seen = learning.learn_rectangle(rows.store, cells, which, table, checked, keep_trace, progress)
        return self._trace(chosen, table.copy(), seen, None) if keep_trace else None

    def forecast(
        self,
        horizon: int,
        X: object = None,
        *,
        ids: Any = None,
        levels: float | Sequence[float] = (0.9,),
        progress: Progress | None = None,
    ) -> PanelForecast:
        """Forecast every series many steps ahead.

        Parameters
        ----------
        horizon : whole number of steps ahead, from 1
        X : array (n_series, horizon, n_exog), optional
            The exogenous values to come.
        ids : list of ids, optional
            All series if not given.
        levels : number between 0 and 1, or several
            Probabilities of the intervals.
        progress : function, optional
            Called now and then with the number of series done since the last call.
        """
        n_steps = check_int(horizon, "horizon", minimum=1, maximum=LONGEST_HORIZON)
        check_function(progress, "progress")
        wanted = check_levels(levels)
        if not self._kind.forecasts_ahead:
            raise ParameterError(
                f"a panel of {self._kind.name} is not forecast {n_steps} steps ahead, since its features are not known "
                f"then; use Panel(Forecaster({self._kind.name}(), lags=1)), or predict."
            )
        chosen = self.ids if ids is None else check_ids(ids)
        inputs = None if X is None else _flat_inputs(X, (len(chosen), n_steps))
        checked = self._kind.check_inputs(inputs, len(chosen) * n_steps, self._n_inputs)
        table = np.ascontiguousarray(checked.reshape(len(chosen), n_steps, checked.shape[1]))
        with self._exclusive():
            which = find(self._index, chosen)
            rows, _ = self._started(table.shape[2])
            cells = self._workers(len(which) * n_steps)
            return forecast_ahead(self._kind, rows.store, which, table, cells, chosen, wanted, progress)

    def drop(self, ids: Any) -> None:
        """Forget series altogether; their rows are used for series that are added later."""
        gone = check_distinct(check_ids(ids))
        with self._exclusive():
            rows = find(self._index, gone).tolist()
            for each in gone:
                del self._index[each]
            if self._rows is not None:
                self._rows.give_back(rows)

    def select(self, ids: Any) -> "Panel":
        """Return a panel of some of the series, as they are now."""
        chosen = check_distinct(check_ids(ids))
        with self._exclusive():
            which = find(self._index, chosen)
            twin = Panel.__new__(Panel)
            twin._start(self._kind, self.n_threads, self._rows_in)
            if self._rows is not None and self._n_inputs is not None:
                rows, _ = twin._rows_of(chosen, self._n_inputs)
                for source, target in zip(which.tolist(), twin._index.values(), strict=True):
                    rows.store.row(target)[:] = self._rows.store.row(source)
            return twin

    def copy(self) -> "Panel":
        """Return a panel that has learned the same, and is independent from here on."""
        return self.select(self.ids)

    def _check_observations(self, ids: Any, y: object, X: object) -> tuple[list[Id], Floats, Floats]:
        chosen = check_ids(ids)
        targets = np.atleast_1d(check_array(y, "y", copy=True))
        if targets.shape != (len(chosen),):
            raise ShapeError(f"y has shape {targets.shape}, but there are {len(chosen)} ids; pass one y for each.")
        learning.check_targets(targets)
        return chosen, targets, self._kind.check_inputs(X, len(chosen), self._n_inputs)

    def _learn(self, ids: list[Id], y: Floats, X: Floats, *, keep: bool, keep_parts: bool) -> learning.Record:
        with self._exclusive():
            rows, row_of = self._rows_of(ids, X.shape[1])
            return learning.learn(rows.store, self._workers(len(y)), row_of, y, X, keep, keep_parts)

    def _trace(self, ids: list[Id], y: Floats, seen: Floats, parts: Any) -> PanelTrace:
        predictive = self._kind.predictive(seen, parts)
        if not predictive.is_point and np.isnan(seen[:, 2]).all():  # a model that does not keep its log score
            seen[:, 2] = predictive.logpdf(y.reshape(-1))
        return PanelTrace(ids, y, seen, predictive)

    def _row_ids(self, ids: Any, n: int) -> list[Id]:
        """Return the ids of the rows of a rectangle."""
        if ids is None and len(self) in (0, n):
            return self.ids if len(self) else list(range(n))
        if ids is None:
            raise ShapeError(f"y has {n} rows, but the panel has {len(self)} series; say with ids which they are.")
        chosen = check_distinct(check_ids(ids))
        if len(chosen) != n:
            raise ShapeError(f"y has {n} rows, but there are {len(chosen)} ids; pass one id for each.")
        return chosen

    def _rows_of(self, ids: list[Id], n_inputs: int) -> tuple[PanelRows, learning.Rows]:
        """Return all rows, and which of them the series have; those that are new get one."""
        (rows, _), index = self._started(n_inputs), self._index
        new = list(dict.fromkeys(each for each in ids if each not in index))
        if new:
            index.update(zip(new, rows.add(len(new)), strict=True))
        return rows, find(index, ids)

    def _started(self, n_inputs: int | None = None) -> tuple[PanelRows, int]:
        """Return the rows, and how many numbers come with an observation; refuse another number of them."""
        if self._rows is None or self._n_inputs is None:
            self._rows = PanelRows(self._kind.new_row(n := n_inputs or 0), self._kind.aligned_at(n), self._rows_in)
            self._n_inputs = n
        if n_inputs not in (None, self._n_inputs):
            raise ShapeError(f"{n_inputs} {self._kind.inputs} came, but the panel has {self._n_inputs}.")
        return self._rows, self._n_inputs

    def _workers(self, n_observations: int) -> list[RowCell]:
        """Return a cell for each thread that is worth starting."""
        n = 1 if n_observations <= SMALL else min(self.n_threads, -(-n_observations // (SMALL // 2)))
        while len(self._cells) < n:
            assert self._n_inputs is not None
            self._cells.append(self._kind.new_cell(self._n_inputs))
        return self._cells[:n]

    def _snapshot(self) -> tuple[dict[str, Any], dict[str, Any]]:
        with self._exclusive():
            return state.describe(self._kind, self._index, self._rows, self._n_inputs)

    def _restore(self, snapshot: Snapshot) -> None:
        kind, ids, rows, n_inputs = state.check_snapshot(snapshot)
        self._start(kind)
        if n_inputs is not None:
            held, _ = self._rows_of(ids, n_inputs)
            for at, row in zip(self._index.values(), rows, strict=True):
                held.store.row(at)[:] = row

    def __getstate__(self) -> dict[str, Any]:
        header, arrays = self._snapshot()
        return {"header": header, "arrays": arrays}

    def __setstate__(self, given: object) -> None:
        if not isinstance(given, dict) or not isinstance(given.get("header"), dict):
            raise StateError("this pickled Panel holds no panel; make it anew.")
        self._restore(Snapshot(given["header"], dict(given.get("arrays") or {}), "this pickled Panel"))


def _flat_inputs(X: object, shape: tuple[int, ...]) -> Floats:
    """Return what comes with a rectangle of observations, with a row for each of them."""
    table = check_array(X, "X")
    if table.shape[:2] != shape or table.ndim not in (2, 3):
        raise ShapeError(f"X has shape {table.shape}, but must be ({shape[0]}, {shape[1]}, n): series, steps, numbers.")
    return table.reshape(shape[0] * shape[1], -1)
