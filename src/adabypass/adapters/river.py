"""AutoBypass as River's estimators: a regressor, a forecaster, a detector of anomalies and one of drift.

Rows are dicts, whose features come, go and change their order. A feature that is absent from a row is 0 in it. One that
was never seen before is added to the model: its weight starts at the prior, and what was learned stays. `predict_one`
never changes the model.

Numbers equal those of an AutoBypass that knew all features from the beginning and saw 0 where they were absent: from
observation 20 on, up to rounding, if all features came within the first 20 rows; and as long as a feature that came
later is 0. The weight of a later one starts at the prior, whereas that of the other model has drifted since the start.
"""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from math import inf, isnan
from numbers import Real
from typing import Any

import numpy as np

from adabypass.errors import MissingExtraError, NotANumberError, NotFiniteError, NotReadyError, ParameterError
from adabypass.forecasting import Forecaster
from adabypass.regressors import AutoBypass
from adabypass.results.changes import FALSE_ALARMS, ChangeMonitor
from adabypass.validation import Floats, shown

try:
    from river.base import DriftDetector, MiniBatchRegressor, SupervisedAnomalyDetector
    from river.conf.interval import Interval
    from river.time_series.base import Forecaster as RiverForecaster
    from river.utils.dataframe import into_frame, into_series, to_native_series, to_numpy
except ImportError as missing:
    raise MissingExtraError(
        "adabypass.adapters.river needs river 0.26 or newer; install it with: pip install 'adabypass[river]'"
    ) from missing

Row = Mapping[Any, Any]

NO_FEATURE = ("adabypass", "no feature")
"""Name of the feature, always 0, of a model whose first row is empty."""


class AutoBypassRegressor(MiniBatchRegressor):
    """AutoBypass: nothing to tune, any units, a distribution for every row.

    Parameters
    ----------
    learn_intercept
        Whether the model has an intercept. Without one, forecasts are proportional to the features.
    period
        Number of rows after which a season comes again; 1 for none. A season has a share by evidence.

    Attributes
    ----------
    model : AutoBypass or None
        What has learned; it can be saved, and used without River. None before the first row.
    features : list
        The names of its features, in its order.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics
    >>> model = AutoBypassRegressor()
    >>> round(evaluate.progressive_val_score(datasets.TrumpApproval(), model, metrics.MAE()).get(), 2)
    0.19
    >>> x, y = next(iter(datasets.TrumpApproval()))
    >>> round(model.predict_one(x)), round(model.predict_one(x, with_dist=True).quantile(0.5))
    (43, 43)
    """

    def __init__(self, learn_intercept: bool = True, period: int = 1) -> None:
        self.learn_intercept, self.period = learn_intercept, period
        self.model: AutoBypass | None = None
        self.features: list[Hashable] = []
        self._known: frozenset[Hashable] = frozenset()

    def learn_one(self, x: Row, y: float) -> None:
        """Learn from having seen `y` at `x`; nan if the observation is missing."""
        model = self.model
        try:
            if model is not None and [*x] == self.features:
                model.update([*x.values()], y)
            elif model is None or not x.keys() <= self._known:
                self._grow_and_learn(x, y)
            else:
                model.update(_values(x, self.features), y)
        except (NotANumberError, NotFiniteError) as error:
            raise _explained(error, x) from error

    def predict_one(self, x: Row, with_dist: bool = False) -> Any:
        """Forecast the observation at `x`.

        Parameters
        ----------
        x : dict of numbers
        with_dist
            Whether to return the whole distribution: a `Mixture`, which has `mean`, `sd`, `quantile`, `cdf` ... If
            not, its mean; 0 while nothing is known.
        """
        model = self.model
        try:
            if model is not None and [*x] == self.features:
                forecast = model.predict([*x.values()])
            elif with_dist and (model is None or not x.keys() <= self._known):
                model, features = self._grown(x)
                forecast = model.predict(_values(x, features))
            elif model is None:
                return 0.0
            else:
                forecast = model.predict(_values(x, self.features))
        except (NotANumberError, NotFiniteError) as error:
            raise _explained(error, x) from error
        if with_dist:
            return forecast
        return 0.0 if isnan(forecast.mean) else forecast.mean

    def predict_interval_one(self, x: Row, level: float = 0.9) -> Interval:
        """Return the central interval that holds the observation at `x` with probability `level`."""
        forecast = self.predict_one(x, with_dist=True)
        return Interval(*(forecast.interval(level) if forecast.is_known else (-inf, inf)))

    def learn_many(self, X: Any, y: Any) -> None:
        """Learn from every row of a data frame, in order: as `learn_one` does, in compiled code."""
        frame, targets = into_frame(X), np.asarray(into_series(y).to_numpy(), dtype=np.float64)
        if not len(targets):
            return
        model, features = self._grown(frame.columns)
        model.run(_table(frame, features), targets, keep_predictive=False)
        self._take(model, features)

    def predict_many(self, X: Any) -> Any:
        """Forecast the observation at every row of a data frame: a series of means."""
        frame, model = into_frame(X), self.model
        if model is None:
            means = np.zeros(len(frame))
        else:
            means = np.array([model.predict(x).mean for x in _table(frame, self.features)])
        return to_native_series(np.nan_to_num(means), name=None, like=frame)

    def _grow_and_learn(self, x: Row, y: float) -> None:
        model, features = self._grown(x)
        model.update(_values(x, features), y)
        self._take(model, features)

    def _grown(self, names: Iterable[Hashable]) -> tuple[AutoBypass, list[Hashable]]:
        """Return a copy of the model that has these features too, and its features: a refused row changes nothing."""
        new = [name for name in names if name not in self._known]
        if self.model is None:
            features = new or [NO_FEATURE]
            return AutoBypass(intercept=self.learn_intercept, period=self.period, n_features=len(features)), features
        model = self.model.copy()
        if new:
            model.add_features(len(new), were_zero=True)
        return model, self.features + new

    def _take(self, model: AutoBypass, features: list[Hashable]) -> None:
        self.model, self.features, self._known = model, features, frozenset(features)


class AutoBypassForecaster(RiverForecaster):
    """Forecasts a series from its past values, and from features that are known ahead.

    Parameters
    ----------
    lags
        If not given, levels, trends, seasons and lags are weighed by evidence, as by `adabypass.Forecaster()`.
        Otherwise how many of the newest values one AutoBypass model forecasts from, or a tuple of just these: 1 is the
        value before.
    seasonal_lags
        Further lags of such a model: 24 for the value of the same hour of the day before.
    difference
        How often the series is differenced before such a model; forecasts are those of the series itself.
    period
        Observations in a season, where there are no lags; found while the data arrive if not given, 1 for none.

    Attributes
    ----------
    forecaster : adabypass.Forecaster
        What has learned; it can be saved, and used without River.

    Examples
    --------
    >>> from river import datasets
    >>> model = AutoBypassForecaster()
    >>> for x, y in datasets.AirlinePassengers():
    ...     model.learn_one(y)
    >>> [round(y, -1) for y in model.forecast(horizon=3)]
    [460.0, 430.0, 490.0]
    >>> model.forecaster.period
    (12,)
    """

    def __init__(
        self,
        lags: int | tuple[int, ...] | None = None,
        seasonal_lags: int | tuple[int, ...] | None = None,
        difference: int = 0,
        period: int | tuple[int, ...] | None = None,
    ) -> None:
        self.lags = lags
        self.seasonal_lags = seasonal_lags
        self.difference = difference
        self.period = period
        self.forecaster = Forecaster(lags=lags, seasonal_lags=seasonal_lags, difference=difference, period=period)
        self._features: list[Hashable] | None = None

    def learn_one(self, y: float, x: Row | None = None) -> None:
        """Learn the next observation, nan if it is missing, and the features that go with it.

        The features of the first row are those of all; one that is absent later is 0.
        """
        features = [*(x or {})] if self._features is None else self._features
        try:
            self.forecaster.update(y, _exog([x], features)[0] if features else None)
        except (NotANumberError, NotFiniteError) as error:
            raise _explained(error, x or {}) from error
        self._features = features

    def forecast(self, horizon: int, xs: Sequence[Row] | None = None, with_dist: bool = False) -> Any:
        """Forecast `horizon` steps ahead.

        Parameters
        ----------
        horizon : int
        xs
            The features of each step, if the model has learned from features.
        with_dist
            Whether to return the whole distributions: a `Forecast`, which has `mean`, `sd`, `quantile`, `interval`. If
            not, the means; 0 as long as there are fewer observations than lags.
        """
        features = self._features
        if features and (xs is None or len(xs) != horizon):
            raise ParameterError(f"xs must hold {horizon} rows, with the features {', '.join(map(str, features))}.")
        try:
            exog = _exog(xs, features) if features and xs is not None else None
            forecast = self.forecaster.forecast(horizon, exog)
        except NotReadyError:
            if with_dist:
                raise
            return [0.0] * horizon
        return forecast if with_dist else np.nan_to_num(forecast.mean).tolist()


class AutoBypassAnomalyDetector(SupervisedAnomalyDetector):
    """Scores how unlikely a target is, given all that was seen: the size of its surprise.

    The score is the distance of the target from the middle of its forecast, as a standard normal deviate: calibrated
    forecasts give the sizes of standard normal numbers, whatever the distribution of the noise. One in 370 is above 3.
    Score a row before learning from it. Without features (x is None, or empty) the level of the target is learned.

    A threshold on the score has its rate of false alarms only when the forecasts of the series have become calibrated;
    `is_anomaly` has it at any age: see `adabypass.ChangeMonitor`.

    Parameters
    ----------
    false_alarms : number between 0 and 0.5
        Maximum share of ordinary rows that are called an anomaly.

    Attributes
    ----------
    is_anomaly : bool
        Whether the target that was learned last is an anomaly.

    Examples
    --------
    >>> import random
    >>> rng = random.Random(0)
    >>> detector = AutoBypassAnomalyDetector()
    >>> for _ in range(200):
    ...     detector.learn_one(None, rng.gauss(10, 2))
    >>> round(detector.score_one(None, 10.5)), round(detector.score_one(None, 26.0))
    (0, 4)
    >>> detector.learn_one(None, 26.0)
    >>> detector.is_anomaly
    True
    """

    def __init__(self, false_alarms: float = FALSE_ALARMS) -> None:
        self.false_alarms = false_alarms
        self.regressor = AutoBypassRegressor()
        self._monitor = ChangeMonitor(false_alarms=false_alarms)

    @property
    def is_anomaly(self) -> bool:
        """Whether the target that was learned last is an anomaly."""
        return self._monitor.is_anomaly

    def learn_one(self, x: Row | None, y: Any) -> None:
        """Learn from having seen `y` at `x`."""
        forecast = self.regressor.predict_one(x or {}, with_dist=True)
        self.regressor.learn_one(x or {}, y)
        self._monitor.update(forecast, y)

    def score_one(self, x: Row | None, y: Any) -> float:
        """Return how unlikely `y` is at `x`: 0 in the middle of its forecast, and while nothing is known."""
        forecast = self.regressor.predict_one(x or {}, with_dist=True)
        return abs(forecast.surprise(y)) if forecast.is_known else 0.0


class AutoBypassDriftDetector(DriftDetector):
    """Detects changes of regime in a stream of numbers: of its level, or of the size of its noise.

    An AutoBypass learns the level of the stream, and a `ChangeMonitor` watches its forecasts.

    Parameters
    ----------
    false_alarms : number between 0 and 0.5
        Maximum rate of false alarms: of 10,000 numbers without a change expect at most ten, and far fewer if their
        noise is about normal.

    Attributes
    ----------
    change : "level", "noise" or None
        What changed with the last number.

    Examples
    --------
    >>> import random
    >>> rng = random.Random(0)
    >>> detector = AutoBypassDriftDetector()
    >>> for i, mean in enumerate([0] * 500 + [5] * 500):
    ...     detector.update(rng.gauss(mean, 1))
    ...     if detector.drift_detected:
    ...         print(i, detector.change)
    501 level
    """

    def __init__(self, false_alarms: float = FALSE_ALARMS) -> None:
        super().__init__()
        self.false_alarms = false_alarms
        self._reset()

    def _reset(self) -> None:
        super()._reset()
        self.change: str | None = None
        self._model = AutoBypass(n_features=1)
        self._monitor = ChangeMonitor(false_alarms=self.false_alarms)

    def update(self, x: float) -> None:
        """Learn the next number, and find out whether the regime has changed."""
        model = self._model
        change = self._monitor.update(model.step([0.0], x), x)
        self.change = None if change is None else change.kind
        self._drift_detected = change is not None


def _values(x: Row, features: Sequence[Hashable]) -> list[Any]:
    """Return the values of the features, 0 where one is absent."""
    return [x.get(name, 0.0) for name in features]


def _table(frame: Any, features: Sequence[Hashable]) -> Floats:
    """Return the rows of a data frame as the model has its features, 0 where one is absent."""
    values, columns = to_numpy(frame), {name: i for i, name in enumerate(frame.columns)}
    table = np.zeros((len(values), len(features)))
    for i, name in enumerate(features):
        if name in columns:
            table[:, i] = values[:, columns[name]]
    return table


def _exog(rows: Sequence[Row | None], features: Sequence[Hashable]) -> list[list[Any]]:
    """Return the values of a forecaster's features in each row, 0 where one is absent."""
    for row in rows:
        new = [name for name in row or () if name not in features]
        if new:
            raise ParameterError(
                f"the feature {new[0]!r} is new, but a forecaster keeps the features of its first row "
                f"({', '.join(map(str, features))}); give it all from the beginning, 0 where there is nothing."
            )
    return [_values(row or {}, features) for row in rows]


def _explained(error: NotANumberError | NotFiniteError, x: Row) -> NotANumberError | NotFiniteError:
    """Return the error about a row in terms of its features, with the remedy in River."""
    for name, value in x.items():
        if value is None or (isinstance(value, float) and isnan(value)):
            return NotFiniteError(
                f"the feature {name!r} is {value}; leave it out, which means 0, or put preprocessing.StatImputer "
                "before the model."
            )
        if not isinstance(value, Real):
            return NotANumberError(
                f"the feature {name!r} is {shown(value)}, but must be a number; before the model put "
                "compose.FuncTransformer, or for text (compose.SelectType(str) | preprocessing.OneHotEncoder()) + "
                "compose.SelectType(int, float)."
            )
    return error
