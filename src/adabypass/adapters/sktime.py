"""A probabilistic forecaster of sktime whose `update` learns what is new, and nothing anew."""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from adabypass.adapters.seasonal import Lags, make_forecaster
from adabypass.data.periods import periods_in
from adabypass.distributions.predictive import Predictive
from adabypass.errors import MissingExtraError, ParameterError
from adabypass.results.forecast import Forecast

try:
    import pandas as pd
    from sktime.forecasting.base import BaseForecaster, ForecastingHorizon
except ImportError as missing:
    raise MissingExtraError(
        "adabypass.adapters.sktime needs sktime; install it with: pip install 'adabypass[sktime]'"
    ) from missing


class AutoBypassForecaster(BaseForecaster):
    """A `Forecaster` of one series, as a forecaster of sktime.

    `update` learns the observations after the newest that was learned, with the same numbers as a fit to the whole
    series. It does so whatever `update_params` says: to take an observation into account is to learn it. Forecasts
    within the sample are not made.

    Parameters
    ----------
    sp : int or list of int, optional
        Seasonal periodicity. If not given, it follows from an index of dates (12 in monthly data), or is found in the
        series as it comes in; 1 for none.
    lags : int or sequence of int, optional
        If not given, levels, trends, seasons and lags are weighed by evidence, as by `Forecaster()`. Otherwise one
        `AutoBypass` model: the newest `lags` values are its features, or just these, and the value of a season before.
    difference : int
        How often the series is differenced first, for such a model.

    Attributes
    ----------
    forecaster_ : adabypass.Forecaster
        What has learned; it can be saved, and used without sktime.

    Examples
    --------
    >>> import pandas as pd
    >>> from adabypass import load_dataset
    >>> from adabypass.adapters.sktime import AutoBypassForecaster
    >>> series = pd.Series(load_dataset("nile").y)
    >>> forecaster = AutoBypassForecaster().fit(series[:600]).update(series[600:])
    >>> forecaster.predict(fh=[1, 2]).round(1).tolist()
    [11.3, 11.2]
    >>> forecaster.predict_interval(fh=[1, 2], coverage=0.9).shape
    (2, 2)
    """

    _tags = {  # noqa: RUF012  (as sktime has it)
        "authors": "adabypass developers",
        "maintainers": "adabypass developers",
        "capability:multivariate": False,
        "capability:exogenous": True,
        "capability:insample": False,
        "capability:pred_int": True,
        "capability:pred_int:insample": False,
        "capability:missing_values": True,
        "capability:non_contiguous_X": False,
        "capability:categorical_in_X": False,
        "capability:update": True,
        "requires-fh-in-fit": False,
        "y_inner_mtype": "pd.Series",
        "X_inner_mtype": "pd.DataFrame",
    }

    def __init__(self, sp: int | Sequence[int] | None = None, lags: Lags = None, difference: int = 0) -> None:
        self.sp = sp
        self.lags = lags
        self.difference = difference
        super().__init__()

    def _fit(self, y: Any, X: Any = None, fh: Any = None) -> Self:
        forecaster = make_forecaster(self.sp, self.lags, self.difference, "mean")
        self.forecaster_ = forecaster._with_period(_periods(y.index))
        self.forecaster_.run(y.to_numpy(dtype=np.float64), _numbers(X), keep_predictive=False)
        self.newest_ = y.index[-1]
        return self

    def _update(self, y: Any, X: Any = None, update_params: bool = True) -> Self:
        is_new = np.asarray(y.index > self.newest_)  # sktime also gives what was given before
        y, known = y[is_new], None if X is None else _numbers(X[np.asarray(X.index > self.newest_)])
        for i, value in enumerate(y.to_numpy(dtype=np.float64)):
            self.forecaster_.update(value, None if known is None else known[i])
        self.newest_ = y.index[-1] if len(y) else self.newest_
        return self

    def _predict(self, fh: Any, X: Any = None) -> Any:
        """Return the means, 0 where nothing is known yet."""
        forecast, at = self._ahead(fh, X)
        return pd.Series(np.nan_to_num(forecast.mean[at]), index=self._times(fh), name=self._y_name())

    def _predict_quantiles(self, fh: Any, X: Any, alpha: Sequence[float]) -> Any:
        forecast, at = self._ahead(fh, X)
        columns = pd.MultiIndex.from_product([self._get_varnames(), alpha])
        return pd.DataFrame(forecast.quantile(np.array(alpha))[:, at].T, index=self._times(fh), columns=columns)

    def _predict_var(self, fh: Any = None, X: Any = None, cov: bool = False) -> Any:
        forecast, at = self._ahead(fh, X)
        return pd.DataFrame(forecast.var[at], index=self._times(fh), columns=self._get_varnames())

    def _predict_proba(self, fh: Any, X: Any, marginal: bool = True) -> Any:
        from adabypass.adapters.skpro import PredictiveDistribution  # noqa: PLC0415  (skpro is an extra of sktime's)

        forecast, at = self._ahead(fh, X)
        chosen: Predictive = forecast.predictive[at]
        return PredictiveDistribution(chosen, self._times(fh), pd.Index(self._get_varnames()))

    def _ahead(self, fh: Any, X: Any) -> tuple[Forecast, Any]:
        """Return the forecast of every step up to the last of `fh`, and which of them are in it."""
        steps = np.asarray(fh.to_relative(self.cutoff).to_numpy(), dtype=int)
        horizon, exog = int(steps.max()), None
        if X is not None:
            every = ForecastingHorizon(range(1, horizon + 1), is_relative=True, freq=self._cutoff)
            times = every.to_absolute_index(self.cutoff)
            if not times.isin(X.index).all():
                raise ParameterError(f"X must have a row for each of the {horizon} steps up to the last of fh.")
            exog = _numbers(X.loc[times])
        return self.forecaster_.forecast(horizon, exog), steps - 1

    def _times(self, fh: Any) -> Any:
        return fh.to_absolute_index(self.cutoff)

    def _y_name(self) -> Any:
        name = self._get_varnames()[0]
        return None if name == 0 else name

    @classmethod
    def get_test_params(cls, parameter_set: str = "default") -> list[dict[str, Any]]:
        """Return parameters for sktime's checks."""
        return [{"sp": 4}, {"sp": 4, "lags": [1, 2]}, {"difference": 1}]


def _periods(index: Any) -> tuple[float, ...] | None:
    """Return the periods that an index of dates suggests; None of numbers, and of times that are not regular."""
    times = index.to_timestamp() if isinstance(index, pd.PeriodIndex) else index
    return periods_in(times.to_numpy()) if isinstance(times, pd.DatetimeIndex) and times.tz is None else None


def _numbers(X: Any) -> Any:
    return None if X is None else X.to_numpy(dtype=np.float64)
