"""Forecasts of a series from its own past: lags, exogenous features, missing values, many steps ahead."""

from collections.abc import Sequence
from math import isfinite, isnan
from typing import Literal, Self

import numpy as np

from adabypass.errors import AdabypassError, NotFiniteError, NotReadyError, ParameterError, ShapeError
from adabypass.forecasting.design import chosen_lags, design, names
from adabypass.forecasting.exogenous import Exogenous, Missing
from adabypass.inference import multistep
from adabypass.inference.multistep import Past
from adabypass.model.forecast import Forecast
from adabypass.model.limits import LARGEST
from adabypass.model.predictive import Insensitive, Mixture, Point, Predictive, concatenate, from_components
from adabypass.model.trace import Trace, joined
from adabypass.regressors import AutoBypass, Regressor
from adabypass.validation import Floats, check_array, check_int, check_target

Method = Literal["moments", "paths"]

LONGEST_HORIZON = 100_000
KNOWS_NOTHING = 1e4
"""A forecast whose variance is so many times the square of the largest level says nothing."""


class Forecaster:
    """A model of a series: x is made of the series' own lags, and of what else is known.

    Features are, in this order: a bias of 1 where the model has no intercept of its own, the lags, the exogenous
    columns. The first forecast is made when the longest lag is there.

    Parameters
    ----------
    model : Regressor, optional
        What learns; it belongs to the forecaster from now on, and starts afresh. A new `AutoBypass` if not given.
    lags : int or list of int
        The newest `lags` values, or just these: 1 is the value before. 0 or [] for none.
    exog : list of str, optional
        Names of exogenous columns, for data frames and for messages. Arrays may come without names.
    bias : bool
        Whether there is a constant in the forecast.
    difference : int
        How often the series is differenced first; forecasts are those of the series itself.
    seasonal_lags : int or list of int, optional
        Lags besides: 24 for the value of the same hour a day before.
    missing : "raise", "mean" or "last"
        What becomes of a missing exogenous value (nan): an error, the column's mean so far, or its last value.

    Examples
    --------
    >>> from adabypass import load_dataset
    >>> forecaster = Forecaster(lags=1)
    >>> trace = forecaster.run(load_dataset("nile").y)
    >>> forecast = forecaster.forecast(horizon=3)
    >>> forecast.mean.round(1)
    array([11.2, 11.3, 11.4])
    """

    def __init__(
        self,
        model: Regressor | None = None,
        lags: int | Sequence[int] = 1,
        *,
        exog: Sequence[str] | None = None,
        bias: bool = True,
        difference: int = 0,
        seasonal_lags: int | Sequence[int] | None = None,
        missing: Missing = "raise",
    ) -> None:
        self.model = AutoBypass() if model is None else model
        if not isinstance(self.model, Regressor):
            raise ParameterError(f"model is {model!r}, but must be a model such as AutoBypass().")
        if missing not in ("raise", "mean", "last"):
            raise ParameterError(f"missing is {missing!r}, but must be 'raise', 'mean' or 'last'.")
        self.lags = chosen_lags(lags, seasonal_lags)
        self.exog = None if exog is None else names(exog)
        self.difference = check_int(difference, "difference", minimum=0, maximum=10)
        self.missing = missing
        own = isinstance(self.model, AutoBypass) and bool(self.model.hyperparameters["intercept"])
        if own and not bias:
            raise ParameterError(
                "bias is False, but this AutoBypass has an intercept of its own; use AutoBypass(intercept=False)."
            )
        self.bias = bool(bias) and not own
        self._design = design(self.lags, self.difference, int(self.bias))
        self._plain = not self.bias and not self.difference and self.lags == tuple(range(1, len(self.lags) + 1))
        self.reset()

    def reset(self) -> None:
        """Forget everything that was seen."""
        self.model.reset()
        self._levels = np.empty(0)  # newest first
        self._largest = 0.0  # level so far, either sign
        self._unknown = np.empty(0, dtype=np.int64)
        self._cov = np.empty((0, 0))
        self._exogenous = Exogenous(self.exog, self.missing, None if self.exog is None else len(self.exog))

    def copy(self) -> Self:
        """Make a forecaster that has learned the same, and goes its own way from here."""
        twin = type(self).__new__(type(self))
        twin.__dict__.update(self.__dict__)
        twin.model = self.model.copy()
        return twin

    def __repr__(self) -> str:
        parts = [repr(self.model), f"lags={list(self.lags)}"]
        parts += [f"exog={list(self.exog)}"] if self.exog else []
        parts += [f"difference={self.difference}"] if self.difference else []
        return f"Forecaster({', '.join(parts)})"

    @property
    def is_ready(self) -> bool:
        """Whether every lag is there, so that a forecast can be made."""
        return len(self._levels) == self._n_levels

    @property
    def n_seen(self) -> int:
        """How many observations the model has learned from."""
        return self.model.n_seen

    def predict(self, exog: object = None) -> Predictive:
        """Forecast the next observation.

        Parameters
        ----------
        exog : array (n_exog,), optional
            The exogenous values that go with it.
        """
        self._check_ready()
        known = self._exog_rows(None if exog is None else [_row(exog)], 1, learn=False)[0]
        return self._predict(self._features(known))

    def update(self, y: object, exog: object = None) -> None:
        """Learn the next observation; nan if it is missing: then its forecast stands in for it among the lags.

        Parameters
        ----------
        y : number
        exog : array (n_exog,), optional
            The exogenous values that went with it.
        """
        value, before = _level(check_target(y)), self.__dict__.copy()
        try:
            known = self._exog_rows(None if exog is None else [_row(exog)], 1, learn=True)[0]
            if not self.is_ready:
                self._begin(value)
            else:
                self._update(self._features(known), value)
        except AdabypassError:  # a refused observation changes nothing
            self.__dict__.update(before)
            raise

    def step(self, y: object, exog: object = None) -> Predictive | None:
        """Forecast the next observation, then learn that it was `y`: `predict` and `update` in one go.

        Returns
        -------
        Predictive
            The forecast that was made before; None while the lags are still to be filled.
        """
        if not self.is_ready:
            self.update(y, exog)
            return None
        value = _level(y if isinstance(y, float) and isfinite(y) else check_target(y))
        if self._levels_are_features and exog is None and not isnan(value) and len(self._unknown) == 0:
            forecast = self.model.step(self._levels, value)
            self._largest = max(self._largest, abs(value))
            self._push(value, None)
            return forecast
        before = self.__dict__.copy()
        try:
            return self._step(value, exog)
        except AdabypassError:  # a refused observation changes nothing
            self.__dict__.update(before)
            raise

    def _step(self, value: float, exog: object) -> Predictive:
        x = self._features(self._exog_rows(None if exog is None else [_row(exog)], 1, learn=True)[0])
        if len(self._unknown) == 0 and not isnan(value):
            base = float(self._design.base @ self._levels) if self.difference else 0.0
            forecast = self.model.step(x, value - base)
            self._largest = max(self._largest, abs(value))
            self._push(value, None)
            return forecast.plus(base) if self.difference else forecast
        extra = self._extra_var(x)
        forecast = self._predict(x, extra)
        self._update(x, value, forecast, extra)
        return forecast

    def run(self, y: object, exog: object = None, *, keep_weights: bool = False) -> Trace:
        """Predict, then update, for every observation in turn.

        Parameters
        ----------
        y : array (n,)
            nan where the observation is missing.
        exog : array (n, n_exog), optional
            The exogenous values that go with each.
        keep_weights
            Whether the trace also holds the weights after each observation.

        Returns
        -------
        Trace
            From the first observation that could be forecast on: `trace.first` is its number.
        """
        series = check_array(y, "y")
        if series.ndim != 1:
            raise ShapeError(f"y has shape {series.shape}, but a series has shape (n,).")
        if np.isinf(series).any():
            at = int(np.flatnonzero(np.isinf(series))[0])
            raise NotFiniteError(f"y[{at}] is {series[at]}, but must be finite, or nan if the observation is missing.")
        within = np.clip(series, -LARGEST, LARGEST)
        twin = self.copy()  # what goes wrong on the way leaves nothing half-learned
        known = twin._exog_rows(exog, len(series), learn=True)
        first = 0
        while first < len(series) and not twin.is_ready:
            twin._begin(within[first])
            first += 1
        pieces: list[Trace] = []
        at = first
        while at < len(series):
            stop = twin._clean_until(within, at)
            if stop > at:
                pieces.append(twin._run_clean(within[at:stop], known[at:stop], keep_weights))
            else:
                stop = at + 1
                pieces.append(twin._run_one(within[at], known[at], keep_weights))
            at = stop
        if not pieces and len(series) and np.isnan(series).all():
            raise ShapeError(f"y has {len(series)} observations, but all are missing: there is nothing to learn from.")
        if not pieces:
            raise ShapeError(
                f"y has {len(series)} observations, but forecasts begin after {self._n_levels - len(self._levels)}: "
                "give a longer series, or shorter lags."
            )
        self.model.__setstate__(twin.model.__getstate__())
        self.__dict__.update(twin.__dict__ | {"model": self.model})
        trace = joined(pieces, first)
        trace.y = series[first:].copy()
        return trace

    def forecast(
        self,
        horizon: int,
        exog: object = None,
        *,
        method: Method = "moments",
        n_paths: int = 1000,
        rng: np.random.Generator | int | None = None,
    ) -> Forecast:
        """Forecast `horizon` steps ahead, by iterating the one-step forecast.

        The uncertainty of the weights, their drift, the noise and the forecasts that stand in for lags all go in.

        Parameters
        ----------
        horizon : whole number from 1
        exog : array (horizon, n_exog), optional
            The exogenous values to come.
        method : "moments" or "paths"
            Carry means and variances along, or draw `n_paths` futures.
        n_paths : whole number from 2
        rng : Generator or seed, optional
            Where draws come from. The same seed gives the same paths.
        """
        steps = check_int(horizon, "horizon", minimum=1, maximum=LONGEST_HORIZON)
        if method not in ("moments", "paths"):
            raise ParameterError(f"method is {method!r}, but must be 'moments' or 'paths'.")
        self._check_ready()
        known = self._exog_rows(exog, steps, learn=False)
        if self.model.n_features is None:
            raise NotReadyError("this forecaster has learned nothing yet; let it see an observation after its lags.")
        features = np.zeros((steps, self.model.n_features))
        features[:, : self.bias] = 1.0
        features[:, self.bias + len(self.lags) :] = known
        belief = self.model.linear_mixture()
        if method == "paths":
            if np.isnan(belief.noise_scale).any():
                raise ParameterError(f"{type(self.model).__name__} forecasts points: it has no paths to draw.")
            draws = check_int(n_paths, "n_paths", minimum=2, maximum=10_000_000)
            return Forecast.from_paths(
                multistep.paths(belief, self._design, self._past, features, draws, np.random.default_rng(rng))
            )
        components = multistep.moments(belief, self._design, self._past, features)
        return Forecast(from_components(components, type(self.model).__name__))

    @property
    def _n_levels(self) -> int:
        return len(self._design.base)

    @property
    def _levels_are_features(self) -> bool:
        """Whether x is simply the newest levels: the common case, which need not be assembled."""
        return self._plain and self._exogenous.n_columns in (None, 0)

    @property
    def _past(self) -> Past:
        return Past(self._levels, self._unknown, self._cov)

    def _check_ready(self) -> None:
        if not self.is_ready:
            raise NotReadyError(
                f"forecasts begin when {self._n_levels} observations are there, and {len(self._levels)} are; "
                "update with more first."
            )

    def _features(self, known: Floats) -> Floats:
        return np.concatenate([np.ones(int(self.bias)), self._design.lags @ self._levels, known])

    def _predict(self, x: Floats, extra: Floats | None = None) -> Predictive:
        forecast = self.model.predict(x)
        if not self.difference and len(self._unknown) == 0:
            return forecast
        extra = self._extra_var(x) if extra is None else extra
        is_mixture = isinstance(forecast, Mixture) and not isinstance(forecast, Insensitive)
        return forecast.plus(float(self._design.base @ self._levels), extra if is_mixture else float(extra[0]))

    def _extra_var(self, x: Floats) -> Floats:
        """Variance that the next observation gains, under each component, because lags are not known."""
        if len(self._unknown) == 0:
            return np.zeros(1)
        if self.model.n_features is None:
            self.model.predict(x)  # so that it knows its features
        extra = multistep.extra_var(self.model.linear_mixture(), self._design, self._past, x)
        return np.clip(np.nan_to_num(extra, nan=LARGEST), 0.0, LARGEST)

    def _stand_in(self, forecast: Predictive) -> tuple[float, float]:
        """Mean and variance of what stands in for an observation that is missing."""
        mean, var = float(forecast.mean), 0.0 if isinstance(forecast, Point) else float(forecast.var)
        seen_var = min(self._largest * self._largest, LARGEST)
        if var > KNOWS_NOTHING * seen_var and len(self._levels):  # then what was seen says more
            return float(self._levels.mean()), seen_var
        return mean, var

    def _update(self, x: Floats, y: float, forecast: Predictive | None = None, extra: Floats | None = None) -> None:
        base = float(self._design.base @ self._levels)
        self._largest = max(self._largest, abs(float(y)))
        if not np.isnan(y) and len(self._unknown) == 0:
            self.model.update(x, y - base)
            self._push(y, None)
            return
        extra = self._extra_var(x) if extra is None else extra
        mean, var = self._stand_in(self._predict(x, extra) if forecast is None else forecast)
        belief = self.model.linear_mixture()
        first = self._design.first + belief.intercept
        weights = belief.share @ belief.mean[:, first : first + len(self.lags)]
        slope = weights @ self._design.lags[:, self._unknown] + self._design.base[self._unknown]
        with np.errstate(over="ignore", invalid="ignore"):
            along = multistep.finite(self._cov @ slope)  # of the forecast with the unknown levels
            due = float(multistep.finite(slope @ along))
        self.model.update(x, y - base, extra_var=extra if len(extra) > 1 else None)
        if np.isnan(y):
            self._push(mean, np.append(along, var))
            return
        var = max(var, due)
        if len(self._unknown) and var > 0:  # what was seen says something of what was not
            self._levels = self._levels.copy()
            with np.errstate(over="ignore", invalid="ignore"):
                moved = self._levels[self._unknown] + along / var * (y - mean)
                self._levels[self._unknown] = multistep.finite(moved)
                self._cov = multistep.finite(self._cov - np.outer(along, along / var))
        self._push(y, None)

    def _push(self, level: float, cov: Floats | None) -> None:
        """Let `level` be the newest; `cov`, if it is not known, is its covariance with the unknown ones and itself."""
        levels = np.empty(len(self._levels))
        if len(levels):
            levels[0], levels[1:] = level, self._levels[:-1]
        self._levels = levels
        if cov is None and len(self._unknown) == 0:
            return
        ages = self._unknown + 1
        if cov is not None:
            u = len(ages)
            wide = np.empty((u + 1, u + 1))
            wide[:u, :u], wide[u, :], wide[:, u] = self._cov, cov, cov
            ages, self._cov = np.append(ages, 0), wide
        kept = ages < self._n_levels
        self._unknown, self._cov = ages[kept], self._cov[np.ix_(kept, kept)]

    def _begin(self, y: float) -> None:
        """Fill the lags; observations that are missing among them take the others' mean, once all are there."""
        if np.isnan(y) and len(self._levels) == 0:
            return
        self._levels = np.concatenate([[y], self._levels])
        self._largest = max(self._largest, abs(float(y)))
        if not self.is_ready:
            return
        self._unknown = np.flatnonzero(np.isnan(self._levels))
        seen = self._levels[~np.isnan(self._levels)]
        self._levels = np.where(np.isnan(self._levels), seen.mean(), self._levels)
        with np.errstate(over="ignore"):
            var = min(float(seen.var() or seen.mean() ** 2), LARGEST)
        self._cov = np.eye(len(self._unknown)) * var

    def _clean_until(self, series: Floats, at: int) -> int:
        """Find the observation up to which every lag is known: so many can be run at once."""
        if len(self._unknown):
            return at
        gaps = np.flatnonzero(np.isnan(series[at:]))
        return len(series) if len(gaps) == 0 else at + int(gaps[0]) + 1

    def _run_clean(self, series: Floats, known: Floats, keep_weights: bool) -> Trace:
        """Run observations whose lags are all known; only the last may be missing."""
        n, n_levels = len(series), self._n_levels
        levels = np.concatenate([self._levels[::-1], series])
        windows = np.lib.stride_tricks.sliding_window_view(levels, n_levels)[:n, ::-1] if n_levels else None
        if windows is None:
            lagged, base = np.empty((n, 0)), np.zeros(n)
        else:
            columns = np.flatnonzero((self._design.base != 0) | (self._design.lags != 0).any(axis=0))
            lagged = windows[:, columns] @ self._design.lags[:, columns].T
            base = windows[:, columns] @ self._design.base[columns]
        X = np.column_stack([np.ones((n, int(self.bias))), lagged, known])
        is_missing = bool(np.isnan(series[-1]))
        trace = self.model.run(X, series - base, keep_weights=keep_weights)
        if self.difference:
            trace.y, trace.predictive = series.copy(), trace.predictive.plus(base)
        seen = levels[: n_levels + n - is_missing]
        self._largest = float(np.max(np.abs(series[: n - is_missing]), initial=self._largest))
        self._levels = seen[::-1][:n_levels].copy()
        if is_missing:
            mean, var = self._stand_in(trace.predictive[n - 1])
            self._push(mean, np.array([var]))
        return trace

    def _run_one(self, y: float, known: Floats, keep_weights: bool) -> Trace:
        """Predict and update once, with lags that are not all known."""
        x = self._features(known)
        extra = self._extra_var(x)
        forecast = self._predict(x, extra)
        self._update(x, y, forecast, extra)
        after = self.model.parameters
        weights = self.model.weights if keep_weights else None
        return Trace(
            y=np.array([y]),
            predictive=concatenate([forecast]),
            history={name: np.array([value]) for name, value in after.items()},
            weights_mean=None if weights is None else weights.mean[None],
            weights_var=None if weights is None or weights.cov is None else weights.cov.diagonal()[None],
        )

    def _exog_rows(self, exog: object, n: int, *, learn: bool) -> Floats:
        """Check exogenous values, fill what is missing among them as was agreed, and remember them if asked to."""
        if exog is None and not self.lags and not self.bias and not self._exogenous.n_columns:
            raise ShapeError("there are neither lags nor exogenous columns to forecast from; give lags or exog.")
        known, after = self._exogenous.rows(exog, n)
        if learn:
            self._exogenous = after
        return known


def _level(y: float) -> float:
    """Keep an observation where differences of any order stay finite; nan stays nan."""
    return min(max(y, -LARGEST), LARGEST)


def _row(exog: object) -> Floats:
    return np.atleast_1d(check_array(exog, "exog"))
