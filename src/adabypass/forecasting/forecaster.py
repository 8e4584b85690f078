"""Forecasts of a series from its own past: missing values, exogenous columns, many steps ahead."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self

import numpy as np

from adabypass.distributions.base import check_level
from adabypass.distributions.predictive import Predictive
from adabypass.errors import ConcurrentUseError, NotReadyError, ParameterError
from adabypass.forecasting.engine import SeriesEngine
from adabypass.forecasting.lag_engine import LagEngine
from adabypass.forecasting.observations import check_exog, check_series
from adabypass.forecasting.question import Question, check_past, exog_names, timeline
from adabypass.forecasting.settings import (
    Method,
    check_difference,
    check_method,
    check_missing,
    check_names,
    check_settings,
)
from adabypass.forecasting.state import check_snapshot, describe
from adabypass.forecasting.structure_engine import StructureEngine
from adabypass.forecasting.structure_settings import StructureSettings, check_period, check_support
from adabypass.regressors import AutoBypass, Regressor
from adabypass.regressors.guarded import Guarded
from adabypass.results.explanation import Explanation
from adabypass.results.forecast import Forecast, card_ahead
from adabypass.results.trace import Trace
from adabypass.snapshots.container import Snapshot
from adabypass.state.series import Missing
from adabypass.validation import Floats, as_rng, check_flag, check_int, check_target

MAX_HORIZON = 100_000
MAX_PATHS = 10_000_000


class Forecaster(Guarded):
    """Forecasts one series, many steps ahead, from its past and from exogenous columns, and learns value by value.

    `Forecaster()` needs no choices. It is a pool of filters, each with a structure of its own: a level that moves more
    or less fast, with no, a steady or a damped slope, with or without a season; regressions on lags; each for the
    series and, as long as all values are above 0, for its log. Each has a share in the forecast by how well it has
    forecast so far. One step ahead `AutoBypass` models on two sets of lags join them, whose shares are earned
    likewise; not where `support` is given. The period of the season is found while the data arrive, unless it is given
    or the times of a data frame say it.

    With a model or lags it is an autoregression, as in the paper: features are, in this order, a bias of 1 where the
    model has no intercept of its own, the lags, the exogenous columns. The first forecast is made when the longest lag
    is there. A forecast takes the place of a missing observation among the lags, and its uncertainty is taken into
    account for as long as a lag reaches it.

    All that a forecaster remembers is one row of numbers. As of a model, several threads may use it; while a `run` is
    under way, what would change it is refused with a `ConcurrentUseError`.

    Parameters
    ----------
    model : Regressor, optional
        Its hyperparameters are used; what it has learned is not. An `AutoBypass` if lags are given and it is not.
    lags : int or list of int, optional
        The newest `lags` values, or just these: 1, the default beside a model, is the value before. 0 or [] for none.
    exog : list of str, optional
        Names of exogenous columns, for data frames and for messages. Arrays may come without names.
    bias : bool
        Whether there is a constant in the forecast of a model with lags.
    difference : int
        How often the series is differenced before a model with lags; forecasts are those of the series itself.
    seasonal_lags : int or list of int, optional
        Further lags: 24 for the value of the same hour of the day before.
    missing : "raise", "mean" or "last"
        What becomes of a missing exogenous value (nan): an error, the column's mean so far, or its last value.
    period : number or list of numbers, optional
        Of `Forecaster()`: steps after which the series repeats itself, such as 12, or [24, 168]; 1 or [] for no season.
    support : "positive" or pair of numbers, optional
        Of `Forecaster()`: bounds that no forecast, interval or path leaves.

    Examples
    --------
    >>> from adabypass import load_dataset
    >>> minima = load_dataset("nile").y
    >>> automatic, autoregression = Forecaster(), Forecaster(lags=1)
    >>> trace = automatic.run(minima)
    >>> automatic.forecast(horizon=3).mean.round(1)
    array([11.3, 11.2, 11.3])
    >>> trace = autoregression.run(minima)
    >>> autoregression.forecast(horizon=3).mean.round(1)
    array([11.2, 11.4, 11.5])
    """

    _engine: SeriesEngine
    """How series are forecast."""

    def __init__(
        self,
        model: Regressor | None = None,
        lags: int | Sequence[int] | None = None,
        *,
        exog: str | Sequence[str] | None = None,
        bias: bool = True,
        difference: int = 0,
        seasonal_lags: int | Sequence[int] | None = None,
        missing: Missing = "raise",
        period: float | Sequence[float] | None = None,
        support: str | Sequence[float] | None = None,
    ) -> None:
        names = None if exog is None else check_names(exog)
        difference = check_difference(difference)
        has_lags = not (model is None and lags is None and seasonal_lags is None and difference == 0 and bias is True)
        if not has_lags:
            settings = StructureSettings(check_period(period), check_support(support), check_missing(missing), names)
            self._engine = StructureEngine(settings)
            return
        if period is not None or support is not None:
            raise ParameterError("period and support belong to Forecaster() without a model and lags; leave them out.")
        model = AutoBypass() if model is None else model
        if not isinstance(model, Regressor):
            raise ParameterError(f"model is {model!r}, but must be a model such as AutoBypass().")
        spec = check_settings(model, 1 if lags is None else lags, seasonal_lags, difference, bias, missing)
        self._engine = LagEngine(type(model)._of_spec(spec.model), spec, names)

    @classmethod
    def _of(cls, engine: SeriesEngine, row: Floats | None = None, n_exog: int = 0) -> Self:
        """Return a forecaster with this engine, which takes over a row that was checked."""
        made = cls.__new__(cls)
        made._engine = engine
        if row is not None:
            made._runner = engine.new_runner(row, n_exog)
        return made

    @property
    def lags(self) -> tuple[int, ...]:
        """Which values before the next one are features of the model: 1 is the value before. () of `Forecaster()`."""
        return self._engine.lags

    @property
    def difference(self) -> int:
        """How often the series is differenced before a model with lags."""
        return self._engine.difference

    @property
    def missing(self) -> Missing:
        """What becomes of a missing exogenous value."""
        return self._engine.missing

    @property
    def exog(self) -> tuple[str, ...] | None:
        """Names of the exogenous columns, if they were given."""
        return self._engine.exog

    @property
    def period(self) -> tuple[float, ...] | None:
        """The periods of the season, given or found so far; None with a model or lags."""
        return self._engine.periods(self._runner)

    @property
    def support(self) -> tuple[float, float]:
        """Bounds of every forecast."""
        return self._engine.support

    @property
    def model(self) -> Any:
        """The model as it is now, a copy; None of `Forecaster()`, where there is not one alone."""
        return self._engine.model(self._runner)

    @property
    def is_point(self) -> bool:
        """Whether forecasts are points, without a distribution."""
        return self._engine.is_point

    @property
    def is_ready(self) -> bool:
        """Whether enough was seen to make a forecast."""
        return self._engine.is_ready(self._runner)

    @property
    def n_seen(self) -> int:
        """How many observations it has learned from."""
        runner = self._runner
        return 0 if runner is None else self._engine.n_seen(runner.row, runner.n_inputs)

    def reset(self) -> None:
        """Forget everything that was seen."""
        self._guard.put(self, None)

    def copy(self) -> Self:
        """Return a forecaster that has learned the same, and is independent from here on."""
        runner = self._runner
        return self._of(self._engine) if runner is None else self._of(self._engine, runner.copy_row(), runner.n_inputs)

    @property
    def _learns_cycles(self) -> bool:
        """Whether cycles of the calendar are periods of its season, and not exogenous columns."""
        return self._engine.learns_cycles

    def _with_period(self, period: Sequence[float] | None, cycles: tuple[float, ...] = ()) -> Self:
        """Return a forecaster that has seen nothing, with these periods where they are its to choose.

        Parameters
        ----------
        period : numbers of steps, or None
            Where none were chosen.
        cycles : numbers of steps
            Besides, if it learns cycles of the calendar as seasons.
        """
        engine = self._engine.with_period(check_period(period), cycles)
        return self.copy() if engine is self._engine else self._of(engine)

    def _with_settings(self, given: Mapping[str, Any]) -> Self:
        """Return a forecaster with further settings, where it was given none of its own; refuse others than its own."""
        engine = self._engine.with_settings(given) if given else self._engine
        if engine is self._engine or engine.describe() == self._engine.describe():
            return self
        if self.n_seen:
            names = " and ".join(given)
            raise ParameterError(f"the forecaster has learned already, without {names}; pass {names} to Forecaster.")
        return self._of(engine)

    def _takes(self, setting: str) -> bool:
        """Return whether it has a use for "missing", "period" or "support"."""
        return setting == "missing" or self._engine.learns_cycles

    @property
    def label(self) -> str:
        """What makes this forecaster, in short: what tables call it."""
        return self._engine.label

    def __repr__(self) -> str:
        return self._engine.written(self.n_seen)

    def _repr_html_(self) -> str:
        facts: dict[str, object] = {"observations seen": self.n_seen}
        if self.period:
            facts["period"] = ", ".join(f"{each:g}" for each in self.period)
        n_exog = self._n_exog()
        if n_exog:
            facts["exogenous columns"] = ", ".join(self.exog or [str(n_exog)])
        return card_ahead(self.label, facts, self.forecast if self.is_ready and not n_exog else None)

    def predict(self, exog: object = None) -> Predictive:
        """Forecast the next observation.

        Parameters
        ----------
        exog : array (n_exog,), optional
            The exogenous values that go with it.
        """
        runner = self._runner
        if runner is None:
            known = self._check_row(exog)
            self._check_ready(None)
            forecast: Predictive | None = self._meet(known, lambda runner: runner.predict(known), changes=False)
        else:
            forecast = runner.predict(exog)
        if forecast is None:
            raise self._engine.not_ready(runner)
        return forecast

    def update(self, y: object, exog: object = None) -> None:
        """Learn the next observation; nan if it is missing.

        Parameters
        ----------
        y : number
        exog : array (n_exog,), optional
            The exogenous values that go with it.
        """
        runner = self._runner
        if runner is not None:
            runner.update(exog, y)
            return
        known, target = self._check_row(exog), check_target(y)  # a refused y must not fix the number of columns
        self._meet(known, lambda runner: runner.update(known, target))

    def step(self, y: object, exog: object = None) -> Predictive | None:
        """Forecast the next observation, then learn that it was `y`: `predict` and `update` in one call.

        Returns
        -------
        Predictive
            The forecast that was made before; None while too little was seen for one.
        """
        runner = self._runner
        if runner is not None:
            forecast: Predictive | None = runner.step(exog, y)
        else:
            known, target = self._check_row(exog), check_target(y)
            forecast = self._meet(known, lambda runner: runner.step(known, target))
        return forecast

    def run(self, y: object, exog: object = None, *, keep_weights: bool = False, keep_predictive: bool = True) -> Trace:
        """Predict, then update, for every observation in turn.

        An error, or Ctrl-C, leaves the forecaster as it was.

        Parameters
        ----------
        y : array (n,)
            nan where the observation is missing.
        exog : array (n, n_exog), optional
            The exogenous values that go with each.
        keep_weights
            Whether the trace also holds the weights of the model after each observation. `Forecaster()` has none.
        keep_predictive
            Whether the trace keeps whole distributions, some kB each; without, normals of the same mean and variance.

        Returns
        -------
        Trace
            From the first observation that could be forecast on: `trace.first` is its number.
        """
        check_flag(keep_weights, "keep_weights")
        check_flag(keep_predictive, "keep_predictive")
        engine = self._engine
        trace: Trace = self._run(
            y,
            exog,
            lambda runner, known, series: engine.run(runner, known, series, keep_weights, keep_predictive),
        )
        return trace

    def learn(self, y: object, exog: object = None) -> None:
        """Learn every observation in turn, as `run` does, without a trace, which takes more time than the learning."""
        self._run(y, exog, lambda runner, known, series: runner.run(known, series, False, False))

    def _run(self, y: object, exog: object, work: Callable[[Any, Floats, Floats], Any]) -> Any:
        """Let a copy of the runner run a series, and take the runner's place."""
        series = check_series(y)
        known = check_exog(exog, len(series), self._n_exog(), self.exog, self.missing)

        def replace(before: Any) -> tuple[Any, Any]:
            runner = self._fitting(before, known.shape[1])
            if runner is before:
                runner = self._engine.new_runner(runner.copy_row(), runner.n_inputs)
            return runner, work(runner, known, series)

        return self._guard.run(self, replace)

    def forecast(
        self,
        horizon: int,
        exog: object = None,
        *,
        method: Method = "moments",
        n_paths: int = 1000,
        rng: np.random.Generator | int | None = None,
    ) -> Forecast:
        """Forecast `horizon` steps ahead.

        Distributions are carried ahead with all that is not known: states or weights, their drift, the scale of the
        noise, and the values ahead that lags reach. Shares are those that forecasts at that horizon have earned; with
        exogenous columns, or more than 16 lags, those of one step. From the second step on weights may not make the
        series explode.

        Parameters
        ----------
        horizon : whole number from 1
        exog : array (horizon, n_exog), optional
            The exogenous values to come.
        method : "moments", "paths" or "iterated"
            Mix the distributions of each step; or draw `n_paths` futures, by the shares at the last step. "iterated",
            with a model or lags, is the paper's way: the forecast of one step, again and again, each mean taking the
            place of the value among the lags as that of a missing one does.
        n_paths : whole number from 2
        rng : Generator or seed, optional
            Where draws come from. The same seed gives the same paths.
        """
        steps = check_int(horizon, "horizon", minimum=1, maximum=MAX_HORIZON)
        check_method(method, has_lags=self._engine.iterates)
        if method == "paths" and self.is_point:
            raise ParameterError(f"{self._engine.name} forecasts points: it has no paths to draw.")
        known = check_exog(exog, steps, self._n_exog(), self.exog, self.missing)
        draws = check_int(n_paths, "n_paths", minimum=2, maximum=MAX_PATHS) if method == "paths" else 0
        return self._engine.forecast(self._ready_runner(), known, method, draws, as_rng(rng))

    def explain(
        self,
        horizon: int | None = None,
        exog: object = None,
        *,
        y: object = None,
        past_exog: object = None,
        time: object = None,
        level: float = 0.9,
    ) -> Explanation:
        """Explain the forecast of `Forecaster()`: level, slope, seasons and exogenous columns, with intervals.

        What carries the next value need not carry those far ahead: shares are those of the last step explained. The
        forecaster itself stays as it is.

        Parameters
        ----------
        horizon : whole number from 1, optional
            Explain the means of `forecast(horizon, exog)` too: what each part adds at each step.
        exog : array (horizon, n_exog), optional
            The exogenous values to come.
        y : array (n,), optional
            Everything it has learned, given back, since a forecaster keeps no past: explain it too. The newest 5,000
            values are, each in the light of all others.
        past_exog : array (n, n_exog), optional
            The exogenous values that went with `y`.
        time : array (n,) of dates or whole numbers, optional
            When the observations were made: seasons then have weekdays or months, and contributions have dates.
        level : number between 0 and 1
            Probability of the intervals.

        Examples
        --------
        >>> from adabypass import load_dataset
        >>> months = np.arange("2014-01", "2024-01", dtype="M8[M]")
        >>> forecaster = Forecaster(period=12)
        >>> forecaster.learn(20.0 * np.cos(np.arange(120) * np.pi / 6))
        >>> found = forecaster.explain(6, time=months)
        >>> january = found.seasons["season_year"].positions.index("January")
        >>> round(found.seasons["season_year"].effect.median[january])
        20
        >>> list(found.contributions.columns())
        ['ds', 'y', 'mean', 'level', 'slope', 'season_year', 'other']
        """
        runner = self._ready_runner()
        n_exog, names = int(runner.n_inputs), self._engine.exog
        steps = 0 if horizon is None else check_int(horizon, "horizon", minimum=1, maximum=MAX_HORIZON)
        ahead = check_exog(exog, steps, n_exog, names, self.missing) if steps else np.empty((0, n_exog))
        past, before = np.empty(0), np.empty((0, n_exog))
        if y is not None:
            past = check_past(check_series(y), self.n_seen)
            before = check_exog(past_exog, len(past), n_exog, names, self.missing)
        elif past_exog is not None or (horizon is None and exog is not None):
            what, with_it = ("past_exog", "y") if past_exog is not None else ("exog", "horizon")
            raise ParameterError(f"{what} is given without {with_it}, to which it belongs; pass both.")
        when, name = timeline(time, None if y is None else len(past))
        columns = exog_names(names, n_exog)
        return self._explain(Question(check_level(level), steps, ahead, past, before, columns, when, name))

    def _explain(self, question: Question) -> Explanation:
        explanation: Explanation = self._engine.explain(self._ready_runner(), question)
        return explanation

    def _snapshot(self) -> tuple[dict[str, Any], dict[str, Any]]:
        runner = self._runner
        row, n_exog = (None, None) if runner is None else (runner.copy_row(), int(runner.n_inputs))
        return describe(self._engine, row, n_exog), {} if row is None else {"row": row}

    def _restore(self, snapshot: Snapshot) -> None:
        engine, row, n_exog = check_snapshot(snapshot)
        self._guard.put(self, None if row is None or n_exog is None else engine.new_runner(row, n_exog))
        self._engine = engine

    def _n_exog(self) -> int | None:
        """Return the number of exogenous columns, None until it is known."""
        runner = self._runner
        return self._engine.n_inputs if runner is None else int(runner.n_inputs)

    def _check_row(self, exog: object) -> Floats:
        """Return a checked copy of the exogenous values of one observation."""
        return self._engine.check_exog_row(exog, self._n_exog())

    def _check_ready(self, runner: Any) -> None:
        if not self._engine.is_ready(runner):
            raise self._engine.not_ready(runner)

    def _ready_runner(self) -> Any:
        """Return the runner of a forecaster that has seen enough to forecast many steps ahead."""
        runner = self._runner
        self._check_ready(runner)
        if runner is None:
            raise NotReadyError("this forecaster has learned nothing yet; let it see an observation after its lags.")
        return runner

    def _meet(self, known: Floats, act: Callable[[Any], Any], *, changes: bool = True) -> Any:
        """Act on the runner, or on the first, for as many exogenous columns as `known` has, if there is none yet."""
        return self._guard.meet(self, lambda runner: self._fitting(runner, len(known)), act, changes)

    def _fitting(self, runner: Any, n_exog: int) -> Any:
        """Return the forecaster's runner, or a new one."""
        if runner is None:
            return self._engine.new_runner(self._engine.new_row(n_exog), n_exog)
        if runner.n_inputs != n_exog:  # another call came between the check of the columns and this
            raise ConcurrentUseError("this forecaster was changed while its arguments were read; call it again.")
        return runner
