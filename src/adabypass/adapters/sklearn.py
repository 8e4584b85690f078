"""The models as scikit-learn estimators, and a transformer that makes lags.

Order matters to all of them: rows are observations in the order of time. `fit` learns from them once, from the first to
the last; `predict` learns nothing, so the order of its rows makes no difference.
"""

from collections.abc import Iterator, Sequence
from inspect import signature
from typing import Any, Literal, Self

import numpy as np
from scipy import sparse

from adabypass.distributions.predictive import Predictive, concatenate
from adabypass.errors import MissingExtraError, ParameterError
from adabypass.regressors import AdaBypass, AutoBypass, Regressor
from adabypass.validation import Floats, as_tuple, check_int, shown

try:
    from sklearn.base import BaseEstimator, OneToOneFeatureMixin, RegressorMixin, TransformerMixin
    from sklearn.utils.validation import check_is_fitted, validate_data
except ImportError as missing:
    raise MissingExtraError(
        "adabypass.adapters.sklearn needs scikit-learn 1.6 or newer; install it with: pip install 'adabypass[sklearn]'"
    ) from missing

CHUNK = 4096
"""So many rows of a sparse matrix are made dense at a time."""

FEW = 200
"""Fewer rows than this are learned one by one: a run begins with a copy of the model."""

MAX_LAG = 1_000_000

NESTED = "model__"
"""How the name of a parameter begins that is a hyperparameter of the model."""


class _OnlineRegressor(RegressorMixin, BaseEstimator):
    """What the estimators have in common: they learn rows in their order, and forecast distributions."""

    fit_intercept: bool
    model_: Any

    def _new_model(self) -> Regressor:
        """Return the model that the parameters describe, which has seen nothing."""
        raise NotImplementedError

    def fit(self, X: object, y: object) -> Self:
        """Forget all, then learn every row of X once, in order.

        Parameters
        ----------
        X : array, sparse matrix or data frame (n_samples, n_features)
            In the order of time.
        y : array (n_samples,)
        """
        return self._learn(X, y, is_new=True)

    def partial_fit(self, X: object, y: object) -> Self:
        """Learn further rows, in order: as if `fit` had been given all of them at once.

        X and y are as of `fit`.
        """
        return self._learn(X, y, is_new=not hasattr(self, "model_"))

    def predict(self, X: object, return_std: bool = False) -> Any:
        """Return the mean of each row's forecast, 0 where nothing is known yet; and its standard deviation, if asked.

        Parameters
        ----------
        X : array, sparse matrix or data frame (n_samples, n_features)
        return_std
            Whether to return the standard deviation as well: a second array.
        """
        if not return_std:
            return np.nan_to_num([forecast.mean for forecast in self._forecasts(X)])
        means, sds = zip(*((forecast.mean, forecast.sd) for forecast in self._forecasts(X)), strict=True)
        return np.nan_to_num(means), np.array(sds)

    def predict_interval(self, X: object, level: float = 0.9) -> Floats:
        """Return the central interval that holds each observation with probability `level`: shape (n_samples, 2)."""
        return np.array([forecast.interval(level) for forecast in self._forecasts(X)])

    def predict_quantiles(self, X: object, quantiles: Sequence[float] = (0.05, 0.25, 0.5, 0.75, 0.95)) -> Floats:
        """Return the quantiles of each forecast: shape (n_samples, n_quantiles)."""
        wanted = np.atleast_1d(quantiles)
        return np.array([forecast.quantile(wanted) for forecast in self._forecasts(X)])

    def predict_distribution(self, X: object) -> Predictive:
        """Return the forecasts themselves, one for each row: see `adabypass.Predictive`."""
        return concatenate([*self._forecasts(X)])

    @property
    def coef_(self) -> Floats:
        """Mean of the weights, without that of the intercept."""
        return np.asarray(self.model_.weights.mean[: self.n_features_in_])

    @property
    def intercept_(self) -> float:
        """What is expected where every feature is 0."""
        if self.model_.has_intercept:
            return float(self.model_.intercept)
        return float(self.model_.weights.mean[-1]) if self._adds_constant else 0.0

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _learn(self, X: object, y: object, *, is_new: bool) -> Self:
        table, targets = validate_data(
            self, X, y, reset=is_new, accept_sparse="csr", dtype=np.float64, y_numeric=True, multi_output=False
        )
        model = self._new_model() if is_new else self.model_
        adds_constant = self.fit_intercept and not model.has_intercept if is_new else self._adds_constant
        for start, rows in _dense_parts(table):
            features, y_part = _with_constant(rows) if adds_constant else rows, targets[start : start + len(rows)]
            if len(rows) < FEW:  # the same numbers
                for x, target in zip(features, y_part.tolist(), strict=True):
                    model.update(x, target)
            else:
                model.run(features, y_part, keep_predictive=False)
        self.model_ = model
        return self

    def _forecasts(self, X: object) -> Iterator[Predictive]:
        """Return the forecast of every row."""
        check_is_fitted(self)
        model, adds_constant = self.model_, self._adds_constant
        table = validate_data(self, X, reset=False, accept_sparse="csr", dtype=np.float64)
        for _, rows in _dense_parts(table):
            yield from map(model.predict, _with_constant(rows) if adds_constant else rows)

    @property
    def _adds_constant(self) -> bool:
        """Whether the model's last feature is constant, since it has no intercept of its own."""
        return bool(self.model_.n_features != self.n_features_in_)


class AutoBypassRegressor(_OnlineRegressor):
    """AutoBypass as a scikit-learn estimator: nothing to tune, any units, a distribution for every row.

    Rows are learned once, in the order in which they come, which is that of time: shuffle neither them nor the folds of
    a cross-validation; use `TimeSeriesSplit`.

    Parameters
    ----------
    fit_intercept : bool
        Whether the model has an intercept. Without one, forecasts are proportional to x.

    Attributes
    ----------
    model_ : AutoBypass
        What has learned; it can be saved, and used without scikit-learn.
    coef_, intercept_
        Mean of the weights (n_features,), and the intercept.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(500, 2))
    >>> y = 1000 + X @ [3.0, -2.0] + rng.normal(size=500)
    >>> regressor = AutoBypassRegressor().fit(X[:400], y[:400])
    >>> round(regressor.score(X[400:], y[400:]), 2)
    0.92
    >>> regressor.predict_interval([[1.0, 1.0]], level=0.8).round()
    array([[1000., 1002.]])
    """

    def __init__(self, *, fit_intercept: bool = True) -> None:
        self.fit_intercept = fit_intercept

    def _new_model(self) -> Regressor:
        return AutoBypass(intercept=bool(self.fit_intercept))


class BypassRegressor(_OnlineRegressor):
    """One of the paper's models, or passive-aggressive regression, as a scikit-learn estimator.

    Rows are learned once, in the order in which they come. Units matter: scale features and y to about 1.

    Parameters
    ----------
    model : Regressor, optional
        Such as `EvidenceBypass(noise_scale=0.3)`; `AdaBypass()` if None. It stays as it is: a copy that has seen
        nothing learns. Its hyperparameters are parameters too, for a search: `model__noise_scale`.
    fit_intercept : bool
        Whether there is a constant feature of 1 beside those of X.

    Attributes
    ----------
    model_ : Regressor
        What has learned; it can be saved, and used without scikit-learn.
    coef_, intercept_
        Mean of the weights (n_features,), and the intercept.

    Examples
    --------
    >>> from adabypass import PassiveAggressive
    >>> regressor = BypassRegressor(PassiveAggressive("PA-I", C=0.5, epsilon=0.0), fit_intercept=False)
    >>> regressor.fit([[1.0, 2.0], [2.0, 1.0]], [5.0, 4.0]).coef_
    array([1.3, 1.4])
    """

    def __init__(self, model: Regressor | None = None, *, fit_intercept: bool = True) -> None:
        self.model = model
        self.fit_intercept = fit_intercept

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters; with `deep` those of the model as well, as `model__epsilon`."""
        own: dict[str, Any] = super().get_params(deep=False)
        if not deep or not isinstance(self.model, Regressor | None):
            return own
        return own | {f"{NESTED}{name}": value for name, value in self._template.hyperparameters.items()}

    def set_params(self, **params: Any) -> Self:
        """Set parameters; one such as `model__epsilon` gives the estimator another model, with this hyperparameter."""
        nested = {name.removeprefix(NESTED): params[name] for name in params if name.startswith(NESTED)}
        super().set_params(**{name: value for name, value in params.items() if not name.startswith(NESTED)})
        if nested:
            self.model = _with_hyperparameters(self._template, nested)
        return self

    @property
    def _template(self) -> Regressor:
        """The model that is copied."""
        if not isinstance(self.model, Regressor | None):
            raise ParameterError(f"model is {shown(self.model)}, but must be a model such as EvidenceBypass().")
        return AdaBypass() if self.model is None else self.model

    def _new_model(self) -> Regressor:
        model = self._template.copy()
        model.reset()
        return model


def _with_hyperparameters(model: Regressor, changed: dict[str, Any]) -> Regressor:
    """Return a model of the same class, with other hyperparameters."""
    known = [name for name in signature(type(model)).parameters if name != "n_features"]
    for name in changed:
        if name not in known:
            kind = type(model).__name__
            raise ParameterError(f"{kind} has no hyperparameter {name!r}; it has {', '.join(known)}.")
    return type(model)(**{**model.hyperparameters, **changed})


class LagTransformer(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Make lags: the values that every column had some rows before.

    Rows are observations in the order of time. What is before the first row is not known: `fill_value` takes its place,
    or the rows that were fitted, if those to transform follow them.

    Parameters
    ----------
    lags : int or list of int
        The values of the `lags` rows before each row, or of just these: 1 is the row before, 0 the row itself.
    fill_value : number or "first"
        What takes the place of values before the first row: a number, nan among them, or the first row's value.
    follows_fit : bool
        Whether the rows given to `transform` follow those given to `fit`, as a test set follows its training set in
        `TimeSeriesSplit`. `fit_transform` begins anew in any case.

    Examples
    --------
    >>> LagTransformer(lags=[1, 2]).fit_transform([[1.0], [2.0], [3.0], [4.0]])
    array([[1., 1.],
           [1., 1.],
           [2., 1.],
           [3., 2.]])
    >>> LagTransformer(lags=1, follows_fit=True).fit([[1.0], [2.0]]).transform([[np.nan]])
    array([[2.]])
    """

    def __init__(
        self,
        lags: int | Sequence[int] = 1,
        *,
        fill_value: float | Literal["first"] = "first",
        follows_fit: bool = False,
    ) -> None:
        self.lags = lags
        self.fill_value = fill_value
        self.follows_fit = follows_fit

    def fit(self, X: object, y: object = None) -> Self:
        """Remember the last rows of X, an array or a data frame (n_samples, n_features); y is ignored."""
        self._fit(X)
        return self

    def transform(self, X: object) -> Floats:
        """Return the lags of each row: first those of the smallest lag, of all columns."""
        check_is_fitted(self)
        table = validate_data(self, X, reset=False, dtype=np.float64, ensure_all_finite="allow-nan")
        return self._lagged(np.vstack([self.past_, table]) if self.follows_fit else self._extended(table))

    def fit_transform(self, X: object, y: object = None) -> Floats:
        """Remember the last rows, and return the lags of each row."""
        return self._lagged(self._fit(X))

    def get_feature_names_out(self, input_features: object = None) -> Any:
        """Return the names of the columns of `transform`: `load_lag1` of a column `load`."""
        names = super().get_feature_names_out(input_features)
        return np.array([f"{name}_lag{lag}" for lag in self.lags_ for name in names], dtype=object)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def _fit(self, X: object) -> Floats:
        """Remember the last rows, and return all of them after what takes the place of those before."""
        lags = _check_lags(self.lags)
        table = validate_data(self, X, dtype=np.float64, ensure_all_finite="allow-nan")
        self.lags_ = lags
        extended = self._extended(table)
        self.past_ = extended[len(table) :].copy()
        return extended

    def _extended(self, table: Floats) -> Floats:
        """Return the rows after what takes the place of those before the first."""
        filler = table[0] if self.fill_value == "first" else np.full(table.shape[1], self.fill_value, dtype=np.float64)
        return np.vstack([np.repeat(filler[None], max(self.lags_), axis=0), table])

    def _lagged(self, extended: Floats) -> Floats:
        longest = max(self.lags_)
        n = len(extended) - longest
        return np.hstack([extended[longest - lag : longest - lag + n] for lag in self.lags_])


def _dense_parts(table: Any) -> Iterator[tuple[int, Floats]]:
    """Return the rows as dense arrays, and the number of the first of each; a sparse matrix a part at a time."""
    is_sparse = sparse.issparse(table)
    for start in range(0, table.shape[0], CHUNK if is_sparse else table.shape[0]):
        yield start, table[start : start + CHUNK].toarray() if is_sparse else table


def _with_constant(rows: Floats) -> Floats:
    return np.column_stack([rows, np.ones(len(rows))])


def _check_lags(lags: Any) -> tuple[int, ...]:
    """Return the lags, from the smallest up."""
    given = as_tuple(lags)
    if given is None:
        return tuple(range(1, check_int(lags, "lags", minimum=1, maximum=MAX_LAG) + 1))
    if not given:
        raise ParameterError("lags is empty; give at least one, as in lags=[1].")
    return tuple(sorted({check_int(lag, "lags", minimum=0, maximum=MAX_LAG) for lag in given}))
