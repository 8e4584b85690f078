"""The forecaster that needs no choices: structures of a series, weighted by their evidence."""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from adabypass.distributions.normal import Normal
from adabypass.distributions.predictive import Mixture
from adabypass.errors import ConcurrentUseError, NotReadyError, ParameterError, ShapeError
from adabypass.forecasting import structure_state
from adabypass.forecasting.components import Explanation, explain
from adabypass.forecasting.exog_filling import fill_ahead, fill_missing
from adabypass.forecasting.forecaster import LONGEST_HORIZON, MOST_PATHS, Forecaster
from adabypass.forecasting.observations import check_exog, check_series, too_short
from adabypass.forecasting.periods import find_period
from adabypass.forecasting.settings import Method, check_method, check_missing, check_names
from adabypass.forecasting.structure_mixtures import last_value, mixture_of, mixtures_of_run, pooled
from adabypass.forecasting.structure_paths import draw_paths
from adabypass.kernels.pool import PoolCell
from adabypass.kernels.structure import StructureCell
from adabypass.results.forecast import Forecast
from adabypass.results.trace import Trace
from adabypass.snapshots.container import Snapshot
from adabypass.state.pool import pool_spec
from adabypass.state.series import Missing
from adabypass.validation import Floats, as_rng, check_array, check_flag, check_int, check_target

LEAST_VAR = 1e-300
"""Variance of a normal in the place of a forecast that has none: of a series of zeros."""


class AutoForecaster(Forecaster):
    """Forecasts a series with nothing to choose: what `Forecaster()` makes.

    A bank of filters, each with a structure of its own: a level that moves more or less fast, with no, a steady or a
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

    _place = "_bank"

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
        self._bank: PoolCell | None = None

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
        bank = self._bank
        return self._settings.period if bank is None else bank.spec.periods

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
        return 0 if self._bank is None else int(self._bank.row[0])

    def reset(self) -> None:
        """Forget everything that was seen."""
        self._guard.put(self, None)

    def copy(self) -> Self:
        """Return a forecaster that has learned the same, and is independent from here on."""
        twin = type(self).__new__(type(self))
        twin._settings, bank = self._settings, self._bank
        twin._bank = None if bank is None else PoolCell(bank.spec, bank.row.copy())
        return twin

    def with_period(self, period: Sequence[float]) -> Self:
        """Return a forecaster that has seen nothing, with these periods where none were chosen."""
        twin = self.copy()
        twin._bank = None
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
        known = self._check_row(exog)
        bank = self._ready_bank()
        filled = fill_missing(known[None], bank.spec.structures, bank.row.copy(), self.missing)[0]
        (share, mean, scale, dof), *beside = bank.describe(filled)
        parts = share[None], mean[None], scale[None], dof[None]
        structures = mixture_of(bank.structures, *parts, self.support)
        return self._with_regressions(bank, structures, beside, is_single=True)

    def update(self, y: object, exog: object = None) -> None:
        """Learn the next observation; nan if it is missing.

        Parameters
        ----------
        y : number
        exog : array (n_exog,), optional
            The exogenous values that go with it.
        """
        known, target = self._check_row(exog), check_target(y)
        self._guard.meet(
            self,
            lambda bank: self._fitting_bank(bank, len(known)),
            lambda bank: bank.update(target, known, self.missing),
        )

    def step(self, y: object, exog: object = None) -> Mixture | None:
        """Forecast the next observation, then learn that it was `y`: `predict` and `update` in one call.

        Returns
        -------
        Mixture
            The forecast that was made before; None if nothing had been seen.
        """
        known, target = self._check_row(exog), check_target(y)
        forecast = self.predict(known) if self.is_ready else None
        self.update(target, known)
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

        def work(before: PoolCell | None) -> tuple[PoolCell, Trace]:
            last = None if before is None or before.row[0] == 0 else last_value(before.structures)
            if last is None and np.count_nonzero(~np.isnan(series)) < 2:
                raise too_short(series, 1)
            bank, teller, answer = self._learn(before, series, known, keep=True)
            return bank, self._trace_of(teller, answer, series, last, keep_predictive)

        return self._guard.run(self, work)

    def _trace_of(
        self, teller: PoolCell, answer: Any, series: Floats, last: float | None, keep_predictive: bool
    ) -> Trace:
        """Return the trace of a run: of the bank that made the forecasts, what `PoolCell.run` returned of them."""
        tables, share, mean, var, records = answer
        first = 0 if last is not None else int(np.argmax(~np.isnan(series))) + 1
        inner = mixtures_of_run(teller.spec.structures, tables, series, last, self.support)[first:]
        forecasts = pooled(inner, teller.spec, share[first:], mean[first:], var[first:], records[:, first:])
        parts = inner.components
        spread = {"noise_scale": np.sqrt(np.sum(parts["weight"] * parts["noise_scale"] ** 2, axis=1))}
        kept = forecasts if keep_predictive else Normal(forecasts.mean, np.maximum(forecasts.var, LEAST_VAR))
        return Trace(series[first:], kept, spread, first=first)

    def learn(self, y: object, exog: object = None) -> None:
        """Learn every observation in turn, as `run` does, without a trace: twice as fast."""
        series = check_series(y)
        known = check_exog(exog, len(series), self._n_columns(), self.exog, self.missing)

        def work(before: PoolCell | None) -> tuple[PoolCell, None]:
            return self._learn(before, series, known, keep=False)[0], None

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
        the noise; of regressions, also the values that their lags reach. Shares and scales are those that forecasts so
        many steps ahead have earned; with exogenous columns, those of one step. The first step is forecast as by
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
        steps = check_int(horizon, "horizon", minimum=1, maximum=LONGEST_HORIZON)
        check_method(method)
        known = check_exog(exog, steps, self._n_columns(), self.exog, self.missing)
        bank = self._ready_bank()
        mean, last = (bank.spec.structures.view(bank.row, name) for name in ("exog_mean", "exog_last"))
        known = fill_ahead(known, mean, last, self.missing)
        row, (_, *beside) = bank.freeze(known[0])  # so that no other thread moves it meanwhile
        structures = StructureCell(bank.spec.structures, row)
        if method == "paths" and steps > 1:
            draws = check_int(n_paths, "n_paths", minimum=2, maximum=MOST_PATHS)
            return Forecast.from_paths(draw_paths(structures, known, draws, as_rng(rng), self.support))
        share, dof, means, scales = structures.ahead(known)
        found = self._with_regressions(bank, mixture_of(structures, share, means, scales, dof, self.support), beside)
        if method == "paths":
            draws = check_int(n_paths, "n_paths", minimum=2, maximum=MOST_PATHS)
            return Forecast.from_paths(found.sample(as_rng(rng), draws))
        return Forecast(found)

    def explain(self, level: float = 0.9, *, step: int = 1) -> Explanation:
        """Return which structures carry the forecast, and what they say of level, slope and season.

        Parameters
        ----------
        level : number between 0 and 1
            Probability of the intervals.
        step : whole number from 1
            The forecast so many steps ahead: what carries the next one need not carry those far ahead.
        """
        steps = check_int(step, "step", minimum=1, maximum=LONGEST_HORIZON)
        bank = self._ready_bank()
        share = bank.shares if steps == 1 and self.support == (-np.inf, np.inf) else np.ones(1)
        return explain(bank.structures, level, steps, dict(zip(bank.spec.names, share, strict=False)))

    def _snapshot(self) -> tuple[dict[str, Any], dict[str, Any]]:
        bank = self._bank
        row = None if bank is None else bank.row.copy()
        spec = None if bank is None else bank.spec
        return structure_state.describe(self._settings, spec, row), {} if row is None else {"row": row}

    def _restore(self, snapshot: Snapshot) -> None:
        settings, spec, row = structure_state.check_snapshot(snapshot)
        self._guard.put(self, None if spec is None or row is None else PoolCell(spec, row))
        self._settings = settings

    def _learn(
        self, before: PoolCell | None, series: Floats, known: Floats, *, keep: bool
    ) -> tuple[PoolCell, PoolCell, Any]:
        """Run a copy of the bank, or the first one; return it, what made the forecasts, and these.

        A period that was found in this very series was not known while it came in: the forecasts are then those of a
        bank without a season.
        """
        if before is None and np.isnan(series).all():
            raise too_short(series, 1)
        bank = self._fitting_bank(before, known.shape[1], series)
        if bank is before:
            bank = PoolCell(bank.spec, bank.row.copy())
        filled = fill_missing(known, bank.spec.structures, bank.row, self.missing)
        is_hindsight = before is None and self._settings.period is None and len(bank.spec.periods) > 0
        if not (keep and is_hindsight):
            return bank, bank, bank.run(series, filled, keep)
        blind = pool_spec((), known.shape[1])
        teller = PoolCell(blind, blind.new_row())
        answer = teller.run(series, fill_missing(known, blind.structures, teller.row, self.missing), keep)
        bank.run(series, filled, False)
        return bank, teller, answer

    def _fitting_bank(self, bank: PoolCell | None, n_exog: int, series: Floats | None = None) -> PoolCell:
        """Return the forecaster's bank, or a new one for as many exogenous columns."""
        if bank is None:
            if n_exog > structure_state.MOST_EXOG:
                raise ShapeError(
                    f"{n_exog} exogenous columns are too many; at most {structure_state.MOST_EXOG} will do."
                )
            period = self._settings.period
            if period is None:
                found = None if series is None else find_period(series)
                period = () if found is None else (found,)
            spec = pool_spec(period, n_exog)
            return PoolCell(spec, spec.new_row())
        if bank.spec.n_exog != n_exog:
            raise ConcurrentUseError("this forecaster was changed while its arguments were read; call it again.")
        return bank

    def _ready_bank(self) -> PoolCell:
        bank = self._bank
        if bank is None or not self.is_ready:
            raise NotReadyError("forecasts begin when an observation was seen; update with one first.")
        return bank

    def _with_regressions(self, bank: PoolCell, found: Mixture, beside: Any, *, is_single: bool = False) -> Mixture:
        """Mix the first forecast with those of the regressions, as `PoolCell.describe` tells of them."""
        share, mean, var, records = beside
        return pooled(found, bank.spec, share[None], mean[None], var[None], records[:, None], is_single=is_single)

    def _n_columns(self) -> int | None:
        """Return the number of exogenous columns, None until it is known."""
        if self._bank is not None:
            return int(self._bank.spec.n_exog)
        return None if self.exog is None else len(self.exog)

    def _check_row(self, exog: object) -> Floats:
        """Return a checked copy of the exogenous values of one observation."""
        rows = None if exog is None else [np.atleast_1d(check_array(exog, "exog"))]
        row: Floats = check_exog(rows, 1, self._n_columns(), self.exog, self.missing)[0]
        return row
