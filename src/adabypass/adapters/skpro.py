"""AutoBypass as a probabilistic regressor of skpro that learns online, and its forecasts as distributions of skpro."""

from typing import Any, Self

import numpy as np

from adabypass.distributions.predictive import Mixture, Normal, Predictive, concatenate
from adabypass.errors import MissingExtraError
from adabypass.regressors import AutoBypass
from adabypass.validation import Floats

try:
    import pandas as pd
    from skpro.distributions.base import BaseDistribution
    from skpro.regression.base import BaseProbaRegressor
except ImportError as missing:
    raise MissingExtraError(
        "adabypass.adapters.skpro needs skpro; install it with: pip install 'adabypass[skpro]'"
    ) from missing

FAR = 1000.0
"""Standard deviations from the mean at which the expected distance of an observation is that of the mean."""


class PredictiveDistribution(BaseDistribution):
    """Forecasts of adabypass as a distribution of skpro, in one column.

    Parameters
    ----------
    predictive : Predictive
        One forecast, or as many as `index` has entries.
    index, columns : pandas.Index, optional
        Of the rows, and of the one column.

    Examples
    --------
    >>> import numpy as np
    >>> from adabypass import Normal
    >>> from adabypass.adapters.skpro import PredictiveDistribution
    >>> distribution = PredictiveDistribution(Normal(np.array([0.0, 1.0]), np.array([1.0, 4.0])))
    >>> distribution.quantile([0.5]).to_numpy().tolist()
    [[0.0], [1.0]]
    """

    _tags = {  # noqa: RUF012  (as skpro has it)
        "capabilities:approx": ["pdfnorm"],
        "capabilities:exact": ["mean", "var", "energy", "pdf", "log_pdf", "cdf", "ppf"],
        "distr:measuretype": "continuous",
        "distr:paramtype": "nonparametric",
    }

    def __init__(self, predictive: Predictive, index: Any = None, columns: Any = None) -> None:
        self.predictive = predictive
        if np.ndim(predictive.mean):
            index = pd.RangeIndex(len(predictive.mean)) if index is None else index
            columns = pd.RangeIndex(1) if columns is None else columns
        super().__init__(index=index, columns=columns)

    def _mean(self) -> Any:
        return self._shaped(self.predictive.mean)

    def _var(self) -> Any:
        return self._shaped(self.predictive.var)

    def _pdf(self, x: Any) -> Any:
        return self._each(self.predictive.pdf, x)

    def _log_pdf(self, x: Any) -> Any:
        return self._each(self.predictive.logpdf, x)

    def _cdf(self, x: Any) -> Any:
        return self._each(self.predictive.cdf, x)

    def _ppf(self, p: Any) -> Any:
        if self.ndim == 0:
            return self.predictive.quantile(float(p))
        values = np.asarray(p, dtype=np.float64).reshape(-1)
        return self._shaped([self.predictive[i].quantile(float(value)) for i, value in enumerate(values)])

    def _energy_x(self, x: Any) -> Any:
        """Return the expected distance of an observation from `x`: the CRPS has half that of two of them less."""
        return self._each(lambda at: self.predictive.crps(at) + self._half_energy(), x)

    def _energy_self(self) -> Any:
        return self._shaped(2 * self._half_energy())

    def _half_energy(self) -> Any:
        """Return half the expected distance of two observations."""
        away = FAR * np.asarray(self.predictive.sd)
        return away - self.predictive.crps(self.predictive.mean + away)

    def _iloc(self, rowidx: Any = None, colidx: Any = None) -> "PredictiveDistribution":
        if _is_number(rowidx) and _is_number(colidx):
            return self._iat(rowidx, colidx)
        rows = np.arange(len(self))[slice(None) if rowidx is None else np.atleast_1d(rowidx)]
        columns = self.columns if colidx is None else self.columns[np.atleast_1d(colidx)]
        return PredictiveDistribution(self.predictive[rows], self.index[rows], columns)

    def _iat(self, rowidx: Any = None, colidx: Any = None) -> "PredictiveDistribution":
        return PredictiveDistribution(self.predictive[int(rowidx)])

    def _each(self, function: Any, x: Any) -> Any:
        """Call a function of the forecasts with a value for each."""
        return self._shaped(function(float(x) if self.ndim == 0 else np.asarray(x, dtype=np.float64).reshape(-1)))

    def _shaped(self, values: Any) -> Any:
        return float(values) if self.ndim == 0 else np.asarray(values, dtype=np.float64).reshape(self.shape)

    @classmethod
    def get_test_params(cls, parameter_set: str = "default") -> list[dict[str, Any]]:
        """Return parameters for skpro's checks."""
        normal = Normal(np.array([0.0, 1.0, 2.0]), np.array([1.0, 4.0, 9.0]))
        mixture = Mixture.of(weight=[[0.3, 0.7]] * 2, mean=[[0.0, 1.0], [2.0, 3.0]], signal_var=1.0)
        return [
            {"predictive": normal},
            {"predictive": mixture, "index": pd.Index([2, 5]), "columns": pd.Index(["a"])},
            {"predictive": Normal(1.0, 2.0)},
        ]


class AutoBypassRegressor(BaseProbaRegressor):
    """AutoBypass as a regressor of skpro: nothing to tune, any units, and `update` learns without a refit.

    Rows are learned once, in the order in which they come, which is that of time.

    Parameters
    ----------
    fit_intercept : bool
        Whether the model has an intercept. Without one, forecasts are proportional to x.

    Attributes
    ----------
    model_ : AutoBypass
        What has learned; it can be saved, and used without skpro.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from adabypass.adapters.skpro import AutoBypassRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = pd.DataFrame(rng.normal(size=(300, 2)), columns=["sun", "wind"])
    >>> y = pd.DataFrame({"load": 5 + 2 * X["sun"] - X["wind"] + rng.normal(size=300)})
    >>> regressor = AutoBypassRegressor().fit(X[:200], y[:200]).update(X[200:299], y[200:299])
    >>> regressor.predict_proba(X[299:]).cdf(y[299:]).shape
    (1, 1)
    """

    _tags = {  # noqa: RUF012  (as skpro has it)
        "authors": "adabypass developers",
        "maintainers": "adabypass developers",
        "capability:update": True,
        "capability:multioutput": False,
        "capability:missing": False,
        "X_inner_mtype": "pd_DataFrame_Table",
        "y_inner_mtype": "pd_DataFrame_Table",
    }

    def __init__(self, fit_intercept: bool = True) -> None:
        self.fit_intercept = fit_intercept
        super().__init__()

    def _fit(self, X: Any, y: Any, C: Any = None) -> Self:
        self.model_ = AutoBypass(intercept=bool(self.fit_intercept))
        self._columns = y.columns
        return self._update(X, y)

    def _update(self, X: Any, y: Any, C: Any = None) -> Self:
        self.model_.run(_numbers(X), _numbers(y)[:, 0], keep_predictive=False)
        return self

    def _predict(self, X: Any) -> Any:
        """Return the means, 0 where nothing is known yet."""
        means = np.nan_to_num([self.model_.predict(x).mean for x in _numbers(X)])
        return pd.DataFrame(means, index=X.index, columns=self._columns)

    def _predict_proba(self, X: Any) -> PredictiveDistribution:
        forecasts = concatenate([self.model_.predict(x) for x in _numbers(X)])
        return PredictiveDistribution(forecasts, X.index, self._columns)

    @classmethod
    def get_test_params(cls, parameter_set: str = "default") -> list[dict[str, Any]]:
        """Return parameters for skpro's checks."""
        return [{}, {"fit_intercept": False}]


def _numbers(table: Any) -> Floats:
    return table.to_numpy(dtype=np.float64)  # type: ignore[no-any-return]


def _is_number(value: Any) -> bool:
    return value is not None and np.ndim(value) == 0 and not isinstance(value, slice)
