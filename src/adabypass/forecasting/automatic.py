"""The forecaster that needs no choices: structures of a series, weighted by their evidence."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Self

import numpy as np

from adabypass.distributions.normal import Normal
from adabypass.distributions.predictive import Mixture
from adabypass.errors import ConcurrentUseError, NotReadyError, ParameterError, ShapeError
from adabypass.forecasting import structure_state
from adabypass.forecasting.components import Explanation, explain
from adabypass.forecasting.exog_filling import fill_ahead
from adabypass.forecasting.forecaster import MAX_HORIZON, MAX_PATHS, Forecaster
from adabypass.forecasting.observations import check_exog, check_exog_row, check_series, too_short
from adabypass.forecasting.periods import find_period
from adabypass.forecasting.settings import Method, check_method, check_missing, check_names
from adabypass.forecasting.structure_paths import draw_paths, mixture_ahead
from adabypass.kernels.pool import PoolRunner
from adabypass.kernels.structure import StructureRunner
from adabypass.results.forecast import Forecast
from adabypass.results.trace import Trace
from adabypass.snapshots.container import Snapshot
from adabypass.state.pool import PoolSpec, pool_spec
from adabypass.state.series import Missing
from adabypass.validation import Floats, as_rng, check_flag, check_int, check_target

MIN_VAR = 1e-300
"""Variance of a normal in the place of a forecast that has none: of a series of zeros."""
BLOCK = 1000
"""Forecasts whose whole distributions are in memory at once, where a trace does not keep them: some 10 MB."""


class AutoForecaster(Forecaster):
    """Forecasts a series with nothing to choose: what `Forecaster()` makes.

    A runner of filters, each with a structure of its own: a level that moves more or less fast, with no, a steady or a
    damped slope, with or without a season; regressions on lags; each for the series and, as long as all values are
    above 0, for its log. Each has a share in the forecast by how well it has forecast so far. One step ahead
    `AutoBypass` models on several sets of lags join them, whose shares are earned likewise; not where `support` is
    given.

    Parameters
    ----------
    exog : list of str, optional
        Names of exogenous columns, for data frames and for messages. Arrays may come without names.
    missing : "raise", "mean" or "last"
        What becomes of a missing exogenous value (nan): an error, the column's mean so far, or its last value.
    period : number or list of numbers, optional
        Steps after which the series repeats itself, such as 12, or [24, 168]; 1 or [] for no season. If not given, it
        is taken from the times where there are any, otherwise found in the first series that is run.
    support : "positive" or pair of numbers, optional
        Bounds that no forecast, interval or path leaves.

    Examples
    --------
    >>> from adabypass import Forecaster, load_dataset
    >>> forecaster = Forecaster()
    >>> trace = forecaster.run(load_dataset("nile").y)
    >>> forecast = forecaster.forecast(horizon=3)
    >>> bool(9 < forecast.mean[2] < 14)
    True
    """

    def __init__(
        self,
        model: None = None,
        lags: None = None,
        *,
        exog: Sequence[str] | None = None,
        missing: Missing = "raise",
        period: float | Sequence[float] | None = None,
        support: structure_state.Support = None,
    ) -> None:
        if model is not None or lags is not None:
            raise ParameterError("a model and lags belong to a Forecaster(model, lags); an AutoForecaster has neither.")
        names = None if exog is None else check_names(exog)
        self._settings = structure_state.Settings(
            structure_state.check_period(period), structure_state.check_support(support), check_missing(missing), names
        )
        self._runner = None

    @property
    def lags(self) -> tuple[int, ...]:
        return ()

    @property
    def difference(self) -> int:
        return 0

    @property
    def bias(self) -> bool:
        return False

    @property
    def missing(self) -> Missing:
        """What becomes of a missing exogenous value."""
        return self._settings.missing

    @property
    def exog(self) -> tuple[str, ...] | None:
        """Names of the exogenous columns, if they were given."""
        return self._settings.exog

    @property
    def support(self) -> tuple[float, float]:
        """Bounds of every forecast."""
        return self._settings.support

    @property
    def period(self) -> tuple[float, ...] | None:
        """The periods of the season; None before they are known."""
        runner = self._runner
        return self._settings.period if runner is None else runner.spec.periods

    @property
    def model(self) -> Any:
        """A copy of the forecaster, which is its own model."""
        return self.copy()

    @property
    def is_point(self) -> bool:
        return False

    @property
    def is_ready(self) -> bool:
        """Whether an observation was seen, so that a forecast can be made."""
        return self.n_seen > 0

    @property
    def n_seen(self) -> int:
        """How many observations were seen."""
        return 0 if self._runner is None else int(self._runner.row[0])

    def reset(self) -> None:
        """Forget everything that was seen."""
        self._guard.put(self, None)

    def copy(self) -> Self:
        """Return a forecaster that has learned the same, and is independent from here on."""
        twin = type(self).__new__(type(self))
        twin._settings, runner = self._settings, self._runner
        twin._runner = None if runner is None else new_runner(runner.spec, runner.row.copy(), self.exog)
        return twin

    def with_period(self, period: Sequence[float]) -> Self:
        """Return a forecaster that has seen nothing, with these periods where none were chosen."""
        twin = self.copy()
        twin._runner = None
        if self._settings.period is None:
            twin._settings = self._settings._replace(period=structure_state.check_period(period))
        return twin

    def __repr__(self) -> str:
        parts = [] if self.period is None else [f"period={list(self.period)}"]
        parts += [f"exog={list(self.exog)}"] if self.exog else []
        return f"AutoForecaster({', '.join([*parts, f'n_seen={self.n_seen}'])})"

    def predict(self, exog: object = None) -> Mixture:
        """Forecast the next observation.

        Parameters
        ----------
        exog : array (n_exog,), optional
            The exogenous values that go with it.
        """
        runner = self._ready_runner()
        forecast: Mixture = runner.predict(exog)
        return forecast

    def update(self, y: object, exog: object = None) -> None:
        """Learn the next observation; nan if it is missing.

        Parameters
        ----------
        y : number
        exog : array (n_exog,), optional
            The exogenous values that go with it.
        """
        self._act(y, exog, lambda runner, known, target: runner.update(known, target))

    def step(self, y: object, exog: object = None) -> Mixture | None:
        """Forecast the next observation, then learn that it was `y`: `predict` and `update` in one call.

        Returns
        -------
        Mixture
            The forecast that was made before; None if nothing had been seen.
        """
        forecast: Mixture | None = self._act(y, exog, lambda runner, known, target: runner.step(known, target))
        return forecast

    def _act(self, y: object, exog: object, act: Callable[..., Any]) -> Any:
        """Act on the runner, or on the first, which is kept if that succeeds."""
        runner = self._runner
        if runner is not None:
            return act(runner, exog, y)
        known, target = self._check_row(exog), check_target(y)  # a refused y must not fix the number of columns
        return self._guard.meet(
            self, lambda runner: self._fitting_pool(runner, len(known)), lambda runner: act(runner, known, target)
        )

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
            Has no effect: structures differ in what their weights mean. See `explain`.
        keep_predictive
            Whether the trace keeps the whole distribution of each forecast: some 10 kB each.

        Returns
        -------
        Trace
            From the first observation that could be forecast on: `trace.first` is its number. Where the period is
            neither given nor known from times, it is found in `y` at the end: forecasts in the trace have no season.
        """
        check_flag(keep_weights, "keep_weights")
        check_flag(keep_predictive, "keep_predictive")
        series = check_series(y)
        known = check_exog(exog, len(series), self._n_columns(), self.exog, self.missing)

        def work(before: PoolRunner | None) -> tuple[PoolRunner, Trace]:
            is_fresh = before is None or before.row[0] == 0
            if is_fresh and np.count_nonzero(~np.isnan(series)) < 2:
                raise too_short(series, 1)
            runner, teller = self._new_runners(before, series, known)
            first, forecasts, noise_scale = _forecasts(teller, known, series, keep_predictive)
            if teller is not runner:
                runner.run(known, series, False, False)
            return runner, Trace.unchecked(series[first:], forecasts, {"noise_scale": noise_scale}, first=first)

        return self._guard.run(self, work)

    def learn(self, y: object, exog: object = None) -> None:
        """Learn every observation in turn, as `run` does, without a trace: twice as fast."""
        series = check_series(y)
        known = check_exog(exog, len(series), self._n_columns(), self.exog, self.missing)

        def work(before: PoolRunner | None) -> tuple[PoolRunner, None]:
            runner, _ = self._new_runners(before, series, known)
            runner.run(known, series, False, False)
            return runner, None

        self._guard.run(self, work)

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

        Every structure's distribution is carried ahead with all that is not known: the state, its drift, the scale of
        the noise; of regressions, also the values that their lags reach. Shares and scales are those that forecasts at
        that horizon have earned; with exogenous columns, those of one step. The first step is forecast as by
        `predict`, with the regressions.

        Parameters
        ----------
        horizon : whole number from 1
        exog : array (horizon, n_exog), optional
            The exogenous values to come.
        method : "moments" or "paths"
            Mix the structures' distributions at each step, or draw `n_paths` futures, by the shares at the last step.
        n_paths : whole number from 2
        rng : Generator or seed, optional
            Where draws come from. The same seed gives the same paths.
        """
        steps = check_int(horizon, "horizon", minimum=1, maximum=MAX_HORIZON)
        check_method(method)
        known = check_exog(exog, steps, self._n_columns(), self.exog, self.missing)
        runner = self._ready_runner()
        spec = runner.spec
        mean, last = (spec.structures.view(runner.row, name) for name in ("exog_mean", "exog_last"))
        known = fill_ahead(known, mean, last, self.missing)
        row, record = runner.freeze(known[0])  # so that no other thread moves it meanwhile
        assert record is not None
        structures = StructureRunner(spec.structures, row)
        if method == "paths" and steps > 1:
            draws = check_int(n_paths, "n_paths", minimum=2, maximum=MAX_PATHS)
            return Forecast.from_paths(draw_paths(structures, known, draws, as_rng(rng), self.support))
        found = spec.with_regressions(mixture_ahead(structures, known, self.support), record[None])
        if method == "paths":
            draws = check_int(n_paths, "n_paths", minimum=2, maximum=MAX_PATHS)
            return Forecast.from_paths(found.sample(as_rng(rng), draws))
        return Forecast(found)

    def explain(self, level: float = 0.9, *, step: int = 1) -> Explanation:
        """Return which structures carry the forecast, and what they say of level, slope and season.

        Parameters
        ----------
        level : number between 0 and 1
            Probability of the intervals.
        step : whole number from 1
            Which step ahead to explain: what carries the next one need not carry those far ahead.
        """
        steps = check_int(step, "step", minimum=1, maximum=MAX_HORIZON)
        runner = self._ready_runner()
        share = runner.shares if steps == 1 and self.support == (-np.inf, np.inf) else np.ones(1)
        return explain(runner.structures, level, steps, dict(zip(runner.spec.names, share, strict=False)))

    def _snapshot(self) -> tuple[dict[str, Any], dict[str, Any]]:
        runner = self._runner
        row = None if runner is None else runner.row.copy()
        spec = None if runner is None else runner.spec
        return structure_state.describe(self._settings, spec, row), {} if row is None else {"row": row}

    def _restore(self, snapshot: Snapshot) -> None:
        settings, spec, row = structure_state.check_snapshot(snapshot)
        self._guard.put(self, None if spec is None or row is None else new_runner(spec, row, settings.exog))
        self._settings = settings

    def _new_runners(self, before: PoolRunner | None, series: Floats, known: Floats) -> tuple[PoolRunner, PoolRunner]:
        """Return a copy of the runner, or the first one, and the one whose forecasts a trace may show.

        A period that was found in this very series was not known while it came in: the forecasts are then those of a
        forecaster without a season.
        """
        if before is None and np.isnan(series).all():
            raise too_short(series, 1)
        runner = self._fitting_pool(before, known.shape[1], series)
        if runner is before:
            runner = new_runner(runner.spec, runner.row.copy(), self.exog)
        is_hindsight = before is None and self._settings.period is None and len(runner.spec.periods) > 0
        if not is_hindsight:
            return runner, runner
        blind = self._spec_of((), known.shape[1])
        return runner, new_runner(blind, blind.new_row(), self.exog)

    def _fitting_pool(self, runner: PoolRunner | None, n_exog: int, series: Floats | None = None) -> PoolRunner:
        """Return the forecaster's runner, or a new one for this number of exogenous columns."""
        if runner is None:
            if n_exog > structure_state.MAX_EXOG:
                raise ShapeError(
                    f"{n_exog} exogenous columns are too many; at most {structure_state.MAX_EXOG} will do."
                )
            period = self._settings.period
            if period is None:
                found = None if series is None else find_period(series)
                period = () if found is None else (found,)
            spec = self._spec_of(period, n_exog)
            return new_runner(spec, spec.new_row(), self.exog)
        if runner.spec.n_exog != n_exog:
            raise ConcurrentUseError("this forecaster was changed while its arguments were read; call it again.")
        return runner

    def _spec_of(self, periods: tuple[float, ...], n_exog: int) -> PoolSpec:
        return pool_spec(periods, n_exog, self.missing, self.support)

    def _ready_runner(self) -> PoolRunner:
        runner: PoolRunner | None = self._runner
        if runner is None or not self.is_ready:
            raise NotReadyError("forecasts begin when an observation was seen; update with one first.")
        return runner

    def _n_columns(self) -> int | None:
        """Return the number of exogenous columns, None until it is known."""
        if self._runner is not None:
            return int(self._runner.spec.n_exog)
        return None if self.exog is None else len(self.exog)

    def _check_row(self, exog: object) -> Floats:
        """Return a checked copy of the exogenous values of one observation."""
        return check_exog_row(exog, self._n_columns(), self.exog, self.missing)


def _forecasts(
    runner: PoolRunner, known: Floats, series: Floats, keep_predictive: bool
) -> tuple[int, Mixture | Normal, Floats]:
    """Run a series; return the number of the first forecast, the forecasts, and the scale of their noise.

    Where whole distributions are not kept, their moments are taken block by block, so that few are in memory at once.
    """
    if keep_predictive:
        first, _, _, records = runner.run(known, series, False, True)
        forecasts = runner.spec.predictive(records)
        return first, forecasts, _noise_scale(forecasts)
    firsts, blocks = 0, []
    for start in range(0, len(series), BLOCK):
        block = slice(start, start + BLOCK)
        first, _, _, records = runner.run(np.ascontiguousarray(known[block]), series[block], False, True)
        firsts += first
        if len(records):
            found = runner.spec.predictive(records)
            blocks.append((found.mean, np.maximum(found.var, MIN_VAR), _noise_scale(found)))
    mean, var, noise_scale = (np.concatenate(each) for each in zip(*blocks, strict=True))
    return firsts, Normal(mean, var), noise_scale


def _noise_scale(forecasts: Mixture) -> Floats:
    """Return the root mean square scale of the structures' noise in each forecast."""
    parts = forecasts.components
    scale: Floats = np.sqrt(np.sum(parts["weight"] * parts["noise_scale"] ** 2, axis=1))
    return scale


def new_runner(spec: PoolSpec, row: Floats, names: tuple[str, ...] | None) -> PoolRunner:
    """Return the runner of an automatic forecaster, which takes over the row."""
    return PoolRunner(spec, row, partial(check_exog_row, names=names, missing=spec.missing))
