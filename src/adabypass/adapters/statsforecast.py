"""AutoBypass as a model of statsforecast, which its `StatsForecast` takes beside its own.

Nothing of statsforecast is imported: a model is any object with `fit`, `predict`, `predict_in_sample`, `forecast`,
`forward` and `new`. Levels are in percent here, as everywhere in statsforecast.
"""

import copy
from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from adabypass.adapters.seasonal import Lags, make_forecaster
from adabypass.distributions.base import Predictive
from adabypass.errors import NotReadyError, ParameterError
from adabypass.forecasting import Forecaster
from adabypass.forecasting.observations import check_series
from adabypass.results.trace import Trace
from adabypass.validation import Floats, shown

Columns = dict[str, Floats]


class AutoBypass:
    """A `Forecaster` of one series, as statsforecast has its models.

    `forward`, which cross-validation with `refit=False` uses, learns the observations that have come since, and nothing
    anew: its forecasts are those of a model that is fitted to the whole series.

    Parameters
    ----------
    season_length : int, optional
        Observations in a season; found in the series as it comes in if not given, 1 for none.
    lags : int or sequence of int, optional
        If not given, levels, trends, seasons and lags are weighed by evidence, as by `Forecaster()`. Otherwise one
        model: the newest `lags` values are its features, or just these, and the value of a season before.
    difference : int
        How often the series is differenced first, for such a model.
    alias : str
        The name of the model's columns.

    Examples
    --------
    >>> from adabypass import load_dataset
    >>> model = AutoBypass().fit(load_dataset("nile").y)
    >>> ahead = model.predict(h=2, level=[90])
    >>> list(ahead), ahead["mean"].round(1).tolist()
    (['mean', 'lo-90', 'hi-90'], [11.3, 11.2])
    """

    uses_exog = True

    def __init__(
        self,
        season_length: int | None = None,
        lags: Lags = None,
        difference: int = 0,
        alias: str = "AutoBypass",
    ) -> None:
        self.season_length = season_length
        self.lags = lags
        self.difference = difference
        self.alias = alias
        self.prediction_intervals: object = None
        """Set by statsforecast where conformal intervals are asked for; they are refused, see `predict`."""
        self.forecaster_: Forecaster | None = None
        self._y = np.empty(0)
        self._fitted: Columns = {}

    def __repr__(self) -> str:
        return self.alias

    def new(self) -> Self:
        """Return a copy; a fit of the copy does not change this one."""
        return copy.copy(self)

    def fit(self, y: object, X: object = None) -> Self:
        """Learn a series from its first value to its last.

        Parameters
        ----------
        y : array (n,)
            nan where an observation is missing.
        X : array (n, n_exog), optional
            Exogenous values that go with it.
        """
        forecaster, trace, series = self._learn(y, X)
        self.forecaster_, self._y = forecaster, series
        self._fitted = {"fitted": _padded(trace.mean, trace)}
        return self

    def predict(self, h: int, X: object = None, level: Sequence[float] | None = None) -> Columns:
        """Forecast `h` steps after what was learned: `mean`, and `lo-90` and `hi-90` for a level of 90.

        Parameters
        ----------
        h : int
        X : array (h, n_exog), optional
            The exogenous values to come.
        level : list of numbers between 0 and 100, optional
            Of intervals of the model's own distribution; conformal ones are refused.
        """
        return self._columns(self._learned(), h, X, level)

    def predict_in_sample(self, level: Sequence[float] | None = None) -> Columns:
        """Return the forecasts that were made before each observation was learned; nan while the lags were filled."""
        self._learned()
        if level:
            raise ParameterError("fit keeps no intervals; call forecast(fitted=True, level=...) for them.")
        return dict(self._fitted)

    def forecast(
        self,
        y: object,
        h: int,
        X: object = None,
        X_future: object = None,
        level: Sequence[float] | None = None,
        fitted: bool = False,
    ) -> Columns:
        """Learn a series, and forecast `h` steps after it, keeping nothing.

        Parameters
        ----------
        y, X
            As of `fit`.
        h, X_future, level
            As of `predict`.
        fitted
            Whether to return the forecasts before each observation as well: `fitted`, `fitted-lo-90`, `fitted-hi-90`.
        """
        forecaster, trace, _ = self._learn(y, X, keep_predictive=fitted and bool(level))
        columns = self._columns(forecaster, h, X_future, level)
        if fitted:
            columns["fitted"] = _padded(trace.mean, trace)
            for name, values in _intervals(trace.predictive, level).items():
                columns[f"fitted-{name}"] = _padded(values, trace)
        return columns

    def forward(
        self,
        y: object,
        h: int,
        X: object = None,
        X_future: object = None,
        level: Sequence[float] | None = None,
        fitted: bool = False,
    ) -> Columns:
        """Forecast `h` steps after a series that begins with what was fitted: only the rest of it is learned.

        The fitted model stays as it is. Another series is learned from its beginning; arguments are as of `forecast`.
        """
        learned, series = self._learned(), check_series(y)
        n = len(self._y)
        if fitted or not np.array_equal(series[:n], self._y, equal_nan=True):
            return self.forecast(y, h, X, X_future, level, fitted)
        forecaster = learned.copy()
        for i in range(n, len(series)):
            forecaster.update(series[i], None if X is None else np.asarray(X)[i])
        return self._columns(forecaster, h, X_future, level)

    def _learn(self, y: object, X: object, *, keep_predictive: bool = False) -> tuple[Forecaster, Trace, Floats]:
        """Return a forecaster that has learned a series, the forecasts it made on the way, and the series."""
        forecaster = make_forecaster(self.season_length, self.lags, self.difference, "raise")
        series = check_series(y)
        return forecaster, forecaster.run(series, X, keep_predictive=keep_predictive), series

    def _learned(self) -> Forecaster:
        if self.forecaster_ is None:
            raise NotReadyError("this model has learned nothing yet; call fit first.")
        return self.forecaster_

    def _columns(self, forecaster: Forecaster, h: int, X: object, level: Sequence[float] | None) -> Columns:
        if self.prediction_intervals is not None and level:
            raise ParameterError(
                f"prediction_intervals is {shown(self.prediction_intervals)}, but {self.alias} has a distribution of "
                "its own; leave it out, or use it with other models."
            )
        forecast = forecaster.forecast(h, X)
        return {"mean": forecast.mean, **_intervals(forecast.predictive, level)}


def _intervals(predictive: Predictive, level: Sequence[float] | None) -> Columns:
    """Return the bounds of intervals by statsforecast's names: the lowest first, and the highest last."""
    bounds = {each: predictive.interval(each / 100) for each in sorted(level or ())}
    lower = {f"lo-{each}": np.asarray(low) for each, (low, _) in reversed(bounds.items())}
    return lower | {f"hi-{each}": np.asarray(high) for each, (_, high) in bounds.items()}


def _padded(values: Any, trace: Trace) -> Floats:
    """Return a value for each observation: nan for those before the first forecast."""
    return np.concatenate([np.full(trace.first, np.nan), np.asarray(values)])
