"""Many series at once: a matrix of rows, moved by compiled code in several threads."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from adabypass.data import from_frame
from adabypass.errors import ParameterError, ShapeError
from adabypass.files import FilePath
from adabypass.forecasting import Forecaster
from adabypass.forecasting.engine import SeriesEngine
from adabypass.panel import learning
from adabypass.panel.ahead import check_levels, check_quantiles, forecast_ahead
from adabypass.panel.cards import MAX_SERIES, series_card
from adabypass.panel.columns import TARGET, Columns, as_names
from adabypass.panel.engines import engine_of
from adabypass.panel.ids import check_distinct, check_ids, find
from adabypass.panel.learning import Rows, StepOutput
from adabypass.panel.pooling import pooled
from adabypass.panel.results import Id, PanelForecast, PanelTrace
from adabypass.panel.series import SeriesTable
from adabypass.panel.series_rows import SeriesStore
from adabypass.regressors import Regressor
from adabypass.validation import Floats, check_array, check_flag, check_function, check_int

MAX_HORIZON = 100_000
Progress = Callable[[int], None]


class Panel(SeriesStore):
    """Forecasts many series at once: each has a forecaster, or a model, of its own, all with the same settings.

    Every series has one row of numbers, which is what a single forecaster would remember, to the bit. Compiled code
    goes through the rows, in several threads; neither their number nor the order of series changes any result.

    A series is added when its id is first seen. Several threads may use a panel: calls take effect one after another.
    Ctrl-C during a call stops it between series; those that were done have learned all of their observations.

    Parameters
    ----------
    forecaster : Forecaster or Regressor, optional
        Its settings are used; what it has learned is not. `Forecaster()` if not given; `Forecaster(lags=1)` takes a
        fraction of the memory and of the time.
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
        self._start(engine_of(forecaster), n_threads, rows_in)
        if ids is not None:
            self.add(ids)

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
        table = self._engine.check_inputs(X, len(chosen), self._n_inputs)
        with self._exclusive():
            which = find(self._index, chosen)
            rows, _ = self._started(table.shape[1])
            found = learning.forecast_next(self._engine, rows.store, self._workers(len(which)), which, table)
        return self._engine.predictive(found.seen, found.records)

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
        self._learn(*self._check_observations(ids, y, X), keep=False, keep_records=False)

    def step(self, ids: Any, y: object, X: object = None, *, keep_predictive: bool = True) -> PanelTrace:
        """Forecast each observation, then learn it: as `update`, with the record of the forecasts."""
        check_flag(keep_predictive, "keep_predictive")
        chosen, targets, table = self._check_observations(ids, y, X)
        found = self._learn(chosen, targets, table, keep=True, keep_records=keep_predictive)
        return self._trace(chosen, targets, found.seen, found.records if keep_predictive else None)

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
        checked = self._engine.check_inputs(inputs, table.size, self._n_inputs)
        with self._exclusive():
            rows, which = self._rows_of(chosen, checked.shape[1])
            runners = self._workers(table.size)
            report = rows.releasing(progress, table.shape[1])
            seen = learning.learn_rectangle(
                self._engine, rows.store, runners, which, table, checked, keep_trace, report
            )
        return self._trace(chosen, table.copy(), seen, None) if keep_trace else None

    def run_frame(
        self,
        data: Any,
        *,
        target: str = TARGET,
        time: str | None = None,
        id: str | None = None,
        exog: str | Sequence[str] = (),
        keep_trace: bool = True,
        progress: Progress | None = None,
    ) -> PanelTrace | None:
        """Predict, then update, for every row of a long data frame, series by series in the order of time.

        Parameters
        ----------
        data : pandas, polars or pyarrow frame, or dict of arrays
            One row for each observation. A gap in the times of a series is a missing observation.
        target, time, id : str
            Names of columns: `y`, and `ds` and `unique_id` if they are there.
        exog : list of str
            Columns that come with each observation: exogenous values, or the features of a model.
        keep_trace, progress
            As of `run`. The trace has a value for each time of each series, gaps included.
        """
        check_flag(keep_trace, "keep_trace")
        check_function(progress, "progress")
        table = SeriesTable(from_frame(data), Columns(target, time, id, as_names(exog, "exog")))
        names = table.names
        every = [table.series(name) for name in names]
        chosen = check_distinct(check_ids(table.ids(names, 1) if table.columns.id is not None else [""]))
        inputs = [each.exog for each in every if each.exog is not None]
        y, begin = _joined([each.y for each in every])
        checked = self._engine.check_inputs(np.concatenate(inputs) if inputs else None, len(y), self._n_inputs)
        found, _ = self._learn_joined(chosen, y, begin, checked, keep_trace, progress)
        if not keep_trace:
            return None
        return self._trace(np.repeat(np.array(chosen, object), np.diff(begin)).tolist(), y, found.seen, None)

    def forecast(
        self,
        horizon: int,
        X: object = None,
        *,
        ids: Any = None,
        levels: float | Sequence[float] = (0.9,),
        quantiles: float | Sequence[float] = (),
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
        quantiles : number between 0 and 1, or several
            Probabilities of quantiles, besides the median.
        progress : function, optional
            Called now and then with the number of series done since the last call.
        """
        n_steps = check_int(horizon, "horizon", minimum=1, maximum=MAX_HORIZON)
        check_function(progress, "progress")
        wanted, further = check_levels(levels), check_quantiles(quantiles)
        if not self._engine.forecasts_ahead:
            raise ParameterError(
                f"a panel of {self._engine.name} is not forecast {n_steps} steps ahead, since its features are not "
                f"known then; use Panel(Forecaster({self._engine.name}(), lags=1)), or predict."
            )
        chosen = self.ids if ids is None else check_ids(ids)
        inputs = None if X is None else _flat_inputs(X, (len(chosen), n_steps))
        checked = self._engine.check_inputs(inputs, len(chosen) * n_steps, self._n_inputs)
        table = np.ascontiguousarray(checked.reshape(len(chosen), n_steps, checked.shape[1]))
        with self._exclusive():
            which = find(self._index, chosen)
            rows, _ = self._started(table.shape[2])
            runners = self._workers(len(which) * n_steps)
            assert isinstance(self._engine, SeriesEngine)
            if np.isnan(table).any():
                for each, row in zip(table, which.tolist(), strict=True):
                    each[:] = self._engine.fill_ahead(rows.store.row(row), each)
            return forecast_ahead(self._engine, rows.store, which, table, runners, chosen, wanted, further, progress)

    def _repr_html_(self) -> str:
        title = f"Panel of {len(self)} series of {self._engine.label}, {self.n_bytes / 1e6:.1f} MB"
        return series_card(title, self.select(self.ids[:MAX_SERIES]), len(self))

    @property
    def can_forecast_alone(self) -> bool:
        """Whether series are forecast many steps ahead, from nothing but their own past."""
        return self._engine.forecasts_ahead and len(self) > 0 and not self._n_inputs

    def pooled(self) -> Forecaster | Regressor:
        """Return the panel's forecaster, with nothing seen, but starting from what the series have learned on average.

        A short series is then forecast by filters that others like it have favoured: shares of drift rates, noise
        families and scales. Use it for a panel of new series, or with `forecast`. Of panels of AutoBypass.

        Examples
        --------
        >>> import numpy as np
        >>> from adabypass import Forecaster, Panel
        >>> walks = np.random.default_rng(0).normal(size=(20, 100)).cumsum(axis=1)
        >>> panel = Panel(Forecaster(lags=1))
        >>> _ = panel.run(walks[:10])
        >>> new = Panel(panel.pooled())
        >>> _ = new.run(walks[10:, :6])
        """
        with self._exclusive():
            return pooled(self._engine, self._each_row(), self._n_inputs or 0)

    def _check_observations(self, ids: Any, y: object, X: object) -> tuple[list[Id], Floats, Floats]:
        chosen = check_ids(ids)
        targets = np.atleast_1d(check_array(y, "y", copy=True))
        if targets.shape != (len(chosen),):
            raise ShapeError(f"y has shape {targets.shape}, but there are {len(chosen)} ids; pass one y for each.")
        learning.check_targets(targets)
        return chosen, targets, self._engine.check_inputs(X, len(chosen), self._n_inputs)

    def _learn(self, ids: list[Id], y: Floats, X: Floats, *, keep: bool, keep_records: bool) -> StepOutput:
        with self._exclusive():
            rows, row_of = self._rows_of(ids, X.shape[1])
            runners = self._workers(len(y))
            found = learning.new_record(len(y), runners[0].n_record, keep=keep, keep_records=keep_records)
            learning.learn(self._engine, rows.store, runners, row_of, y, X, found)
            return found

    def _step_rows(
        self, row_of: Rows, y: Floats, X: object, watched: Rows, finish: Callable[[StepOutput, Rows], None] | None
    ) -> StepOutput:
        """Forecast, then learn, observations of series whose row numbers are `row_of`.

        Parameters
        ----------
        y : array
            The caller's own, and checked: none is infinite.
        watched : array
            Which numbers of a row are kept after each observation.
        finish : function, optional
            Called in several threads with what is kept, and with the numbers of observations that were learned.
        """
        table = self._engine.check_inputs(X, len(row_of), self._n_inputs)
        with self._exclusive():
            rows, _ = self._started(table.shape[1])
            runners = self._workers(len(y))
            found = learning.new_record(len(y), runners[0].n_record, keep=True, keep_records=True, watched=watched)
            then = None if finish is None else lambda chosen: finish(found, chosen)
            learning.learn(self._engine, rows.store, runners, row_of, y, table, found, then)
            return found

    def _run_series(self, series: Sequence[Floats], X: Floats | None) -> Rows:
        """Learn whole series of any length, ids 0, 1, 2 ...; return how many observations of each could be forecast."""
        y, begin = _joined(series)
        table = self._engine.check_inputs(X, len(y), self._n_inputs)
        return self._learn_joined(list(range(len(series))), y, begin, table, False, None)[1]

    def _learn_joined(
        self, ids: list[Id], y: Floats, begin: Rows, X: Floats, keep: bool, progress: Progress | None
    ) -> tuple[StepOutput, Rows]:
        """Learn whole series, one after the other in `y`: where each begins says `begin`."""
        with self._exclusive():
            rows, which = self._rows_of(ids, X.shape[1])
            runners, order = self._workers(len(y)), np.arange(len(y))
            found = learning.new_record(len(y), runners[0].n_record, keep=keep, keep_records=False)
            return found, learning.learn_sorted(
                self._engine, rows.store, runners, which, begin, order, y, X, found, progress=progress
            )

    def _trace(self, ids: list[Id], y: Floats, seen: Floats, records: Any) -> PanelTrace:
        predictive = self._engine.predictive(seen, records)
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


def _flat_inputs(X: object, shape: tuple[int, ...]) -> Floats:
    """Return what comes with a rectangle of observations, with a row for each of them."""
    table = check_array(X, "X")
    if table.shape[:2] != shape or table.ndim not in (2, 3):
        raise ShapeError(f"X has shape {table.shape}, but must be ({shape[0]}, {shape[1]}, n): series, steps, numbers.")
    return table.reshape(shape[0] * shape[1], -1)


def _joined(series: Sequence[Floats]) -> tuple[Floats, Rows]:
    """Return series one after the other, and where each begins."""
    return np.concatenate(series), np.cumsum([0, *map(len, series)], dtype=np.intp)
