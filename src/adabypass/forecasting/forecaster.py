"""Forecasts of a series from its own past: lags, exogenous features, missing values, many steps ahead."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Self

import numpy as np

from adabypass.distributions.predictive import Predictive, concatenate, from_components
from adabypass.errors import ConcurrentUseError, NotReadyError, ParameterError, ShapeError
from adabypass.forecasting.by_arguments import ByArguments
from adabypass.forecasting.exog_filling import fill_series_ahead
from adabypass.forecasting.horizon import draw_paths
from adabypass.forecasting.observations import check_exog, check_exog_row, check_series, too_short
from adabypass.forecasting.settings import Method, check_method, check_names, check_settings
from adabypass.forecasting.state import check_snapshot, describe
from adabypass.kernels.runner import RunGuard
from adabypass.kernels.series import SeriesRunner
from adabypass.regressors import AutoBypass, Regressor
from adabypass.regressors.base import MAX_FEATURES
from adabypass.results.forecast import Forecast
from adabypass.results.trace import Trace
from adabypass.snapshots.container import Snapshot
from adabypass.snapshots.savable import Savable
from adabypass.state.series import LAYOUT, Missing, SeriesSpec
from adabypass.validation import Floats, as_rng, check_flag, check_int, check_target

MAX_HORIZON = 100_000
MAX_PATHS = 10_000_000


class Forecaster(Savable, metaclass=ByArguments):
    """Forecasts a series from its own past values, and from what else is known.

    `Forecaster()`, without a model and lags, is an `AutoForecaster`: it needs no choices. Otherwise features are, in
    this order: a bias of 1 where the model has no intercept of its own, the lags, the exogenous columns. The first
    forecast is made when the longest lag is there. A forecast takes the place of a missing observation among the lags,
    and its uncertainty is taken into account for as long as a lag reaches it.

    All that a forecaster remembers is one row of numbers. As of a model, several threads may use it; while a `run` is
    under way, what would change it is refused with a `ConcurrentUseError`.

    Parameters
    ----------
    model : Regressor, optional
        Its hyperparameters are used; what it has learned is not. An `AutoBypass` if not given.
    lags : int or list of int
        The newest `lags` values, or just these: 1, the default beside a model, is the value before. 0 or [] for none.
    exog : list of str, optional
        Names of exogenous columns, for data frames and for messages. Arrays may come without names.
    bias : bool
        Whether there is a constant in the forecast.
    difference : int
        How often the series is differenced first; forecasts are those of the series itself.
    seasonal_lags : int or list of int, optional
        Further lags: 24 for the value of the same hour of the day before.
    missing : "raise", "mean" or "last"
        What becomes of a missing exogenous value (nan): an error, the column's mean so far, or its last value.
    period, support : see `AutoForecaster`

    Examples
    --------
    >>> from adabypass import load_dataset
    >>> forecaster = Forecaster(lags=1)
    >>> trace = forecaster.run(load_dataset("nile").y)
    >>> forecast = forecaster.forecast(horizon=3)
    >>> forecast.mean.round(1)
    array([11.2, 11.4, 11.5])
    """

    _runner: Any
    """The row and what moves it; None until something was seen."""
    _guard: RunGuard
    """Replaces the runner."""

    def __new__(cls, *_: Any, **__: Any) -> Self:
        forecaster = super().__new__(cls)
        forecaster._guard = RunGuard()
        return forecaster

    def __init__(
        self,
        model: Regressor | None = None,
        lags: int | Sequence[int] | None = None,
        *,
        exog: Sequence[str] | None = None,
        bias: bool = True,
        difference: int = 0,
        seasonal_lags: int | Sequence[int] | None = None,
        missing: Missing = "raise",
        period: float | Sequence[float] | None = None,
        support: str | Sequence[float] | None = None,
    ) -> None:
        if (period, support) != (None, None):
            raise ParameterError("period and support belong to Forecaster() without a model and lags; leave them out.")
        model = AutoBypass() if model is None else model
        lags = 1 if lags is None else lags
        if not isinstance(model, Regressor):
            raise ParameterError(f"model is {model!r}, but must be a model such as AutoBypass().")
        self._names = None if exog is None else check_names(exog)
        self._spec = check_settings(model, lags, seasonal_lags, difference, bias, missing)
        self._untrained = type(model)._of_spec(self._spec.model)
        if self._names is not None:
            self._check_features(len(self._names))
        self._runner = None

    @property
    def lags(self) -> tuple[int, ...]:
        """Which values before the next one are features: 1 is the value before."""
        return self._spec.design.lags

    @property
    def difference(self) -> int:
        """How often the series is differenced first."""
        return self._spec.design.difference

    @property
    def bias(self) -> bool:
        """Whether the first feature is constant, since the model has no intercept of its own."""
        return self._spec.design.bias

    @property
    def missing(self) -> Missing:
        """What becomes of a missing exogenous value."""
        return self._spec.missing

    @property
    def exog(self) -> tuple[str, ...] | None:
        """Names of the exogenous columns, if they were given."""
        return self._names

    @property
    def model(self) -> Regressor:
        """The model as it is now: a copy, so that what is done to it does not change the forecaster."""
        runner = self._runner
        if runner is None:
            return self._untrained.copy()
        return self._untrained._from_row(self._spec.model_row(runner.row, runner.n_inputs), runner.n_features)

    @property
    def is_point(self) -> bool:
        """Whether forecasts are points, without a distribution."""
        return self._untrained.is_point

    @property
    def is_ready(self) -> bool:
        """Whether every lag is there, so that a forecast can be made."""
        runner = self._runner
        return self._spec.design.n_values == 0 if runner is None else bool(runner.is_ready)

    @property
    def n_seen(self) -> int:
        """How many observations the model has learned from."""
        runner = self._runner
        return 0 if runner is None else int(self._spec.model_row(runner.row, runner.n_inputs)[0])

    def reset(self) -> None:
        """Forget everything that was seen."""
        self._guard.put(self, None)

    def copy(self) -> Self:
        """Return a forecaster that has learned the same, and is independent from here on."""
        twin = type(self).__new__(type(self))
        twin._untrained, twin._spec, twin._names, twin._runner = self._untrained, self._spec, self._names, None
        runner = self._runner
        if runner is not None:
            twin._runner = twin._new_runner(runner.row.copy(), runner.n_inputs)
        return twin

    def __repr__(self) -> str:
        parts = [repr(self.model), f"lags={list(self.lags)}"]
        parts += [f"exog={list(self._names)}"] if self._names else []
        parts += [f"difference={self.difference}"] if self.difference else []
        return f"Forecaster({', '.join(parts)})"

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
            self._check_ready()
            forecast: Predictive | None = self._meet(known, lambda runner: runner.predict(known), changes=False)
        else:
            forecast = runner.predict(exog)
        if forecast is None:
            raise self._not_ready()
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
            The forecast that was made before; None while the lags are still to be filled.
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
            Whether the trace also holds the weights after each observation.
        keep_predictive
            Whether the trace keeps whole distributions, some kB each; without, normals of the same mean and variance.

        Returns
        -------
        Trace
            From the first observation that could be forecast on: `trace.first` is its number.
        """
        check_flag(keep_weights, "keep_weights")
        check_flag(keep_predictive, "keep_predictive")
        series = check_series(y)
        known = check_exog(exog, len(series), self._n_exog(self._runner), self._names, self.missing)

        def work(before: SeriesRunner | None) -> tuple[SeriesRunner, Trace]:
            runner = self._fitting(before, known.shape[1])
            if runner is before:
                runner = self._new_runner(runner.row.copy(), runner.n_inputs)
            return runner, self._run(runner, before, series, known, keep_weights, keep_predictive)

        return self._guard.run(self, work)

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

        The uncertainty of the weights, their drift, the noise and the forecasts among the lags are all included. Drift
        rates have the shares that forecasts at that horizon have earned, without exogenous columns and with up to
        16 lags; otherwise those of one step. From the second step on weights may not make the series explode.
        method="iterated" is the paper's way instead: the forecast of one step, again and again, each mean taking the
        place of the value among the lags as that of a missing one does.

        Parameters
        ----------
        horizon : whole number from 1
        exog : array (horizon, n_exog), optional
            The exogenous values to come.
        method : "moments", "paths" or "iterated"
            Propagate means and variances, draw `n_paths` futures, by the shares at the last step, or iterate forecasts
            of one step.
        n_paths : whole number from 2
        rng : Generator or seed, optional
            Where draws come from. The same seed gives the same paths.
        """
        steps = check_int(horizon, "horizon", minimum=1, maximum=MAX_HORIZON)
        check_method(method, has_lags=True)
        if method == "paths" and self.is_point:
            raise ParameterError(f"{type(self._untrained).__name__} forecasts points: it has no paths to draw.")
        known = check_exog(exog, steps, self._n_exog(self._runner), self._names, self.missing)
        self._check_ready()
        twin = self.copy()  # so that no other thread moves it meanwhile
        runner = twin._runner
        if runner is None:
            raise NotReadyError("this forecaster has learned nothing yet; let it see an observation after its lags.")
        known = fill_series_ahead(known, self._spec, runner.row)
        if method == "iterated":
            one_step = (runner.step(row, np.nan) for row in known)
            return Forecast(concatenate([each for each in one_step if each is not None]))
        if method == "moments":
            return Forecast(from_components(runner.forecast_steps(known), type(self._untrained).__name__))
        draws = check_int(n_paths, "n_paths", minimum=2, maximum=MAX_PATHS)
        share = runner.step_shares(steps)
        return draw_paths(twin.model, self._spec, runner.row, share, known, draws, as_rng(rng))

    def _snapshot(self) -> tuple[dict[str, Any], dict[str, Any]]:
        runner = self._runner
        row, n_exog = (None, None) if runner is None else (runner.row.copy(), int(runner.n_inputs))
        return describe(self._untrained, self._spec, self._names, row, n_exog), {} if row is None else {"row": row}

    def _restore(self, snapshot: Snapshot) -> None:
        untrained, spec, names, row, n_exog = check_snapshot(snapshot)
        self._guard.put(
            self, None if row is None or n_exog is None else new_runner(untrained, spec, names, row, n_exog)
        )
        self._untrained, self._spec, self._names = untrained, spec, names

    def _run(
        self,
        runner: SeriesRunner,
        before: SeriesRunner | None,
        series: Floats,
        known: Floats,
        keep_weights: bool,
        keep_predictive: bool,
    ) -> Trace:
        """Run a series with a runner that is not the forecaster's yet."""
        first, history, weights, records = runner.run(known, series, keep_weights, keep_predictive)
        if first == len(series):
            there = 0 if before is None else int(LAYOUT.scalar(before.row, "n_filled"))
            raise too_short(series, self._spec.design.n_values - there)
        kept = records if keep_predictive else None
        return self._untrained._trace(self._spec.model, series[first:].copy(), history, weights, kept, first)

    def _n_exog(self, runner: SeriesRunner | None) -> int | None:
        """Return the number of exogenous columns, None until it is known."""
        return runner.n_inputs if runner is not None else None if self._names is None else len(self._names)

    def _check_row(self, exog: object) -> Floats:
        """Return a checked copy of the exogenous values of one observation."""
        return check_exog_row(exog, self._n_exog(self._runner), self._names, self.missing)

    def _check_features(self, n_exog: int) -> None:
        if self._spec.n_features(n_exog) == 0:
            raise ShapeError("there are neither lags nor exogenous columns to forecast from; give lags or exog.")
        if self._spec.n_features(n_exog) > MAX_FEATURES:
            raise ShapeError(f"{self._spec.n_features(n_exog)} features are too many; at most {MAX_FEATURES} will do.")

    def _check_ready(self) -> None:
        if not self.is_ready:
            raise self._not_ready()

    def _not_ready(self) -> NotReadyError:
        runner = self._runner
        there = 0 if runner is None else int(LAYOUT.scalar(runner.row, "n_filled"))
        return NotReadyError(
            f"forecasts begin when {self._spec.design.n_values} observations are there, and {there} are; "
            "update with more first."
        )

    def _meet(self, known: Floats, act: Callable[[SeriesRunner], Any], *, changes: bool = True) -> Any:
        """Act on the runner, or on the first, for as many exogenous columns as `known` has, if there is none yet."""
        return self._guard.meet(self, lambda runner: self._fitting(runner, len(known)), act, changes)

    def _fitting(self, runner: SeriesRunner | None, n_exog: int) -> SeriesRunner:
        """Return the forecaster's runner, or a new one."""
        if runner is None:
            self._check_features(n_exog)
            return self._new_runner(self._spec.new_row(n_exog), n_exog)
        if runner.n_inputs != n_exog:  # another call came between the check of the columns and this
            raise ConcurrentUseError("this forecaster was changed while its arguments were read; call it again.")
        return runner

    def _new_runner(self, row: Floats, n_exog: int) -> SeriesRunner:
        return new_runner(self._untrained, self._spec, self._names, row, n_exog)


def new_runner(
    untrained: Regressor, spec: SeriesSpec, names: tuple[str, ...] | None, row: Floats, n_exog: int
) -> SeriesRunner:
    """Return the runner of a forecaster, which takes over the row."""
    check = partial(check_exog_row, names=names, missing=spec.missing)
    return SeriesRunner(untrained._kernel_of(spec.model), spec, row, n_exog, check)
