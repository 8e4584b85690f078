"""AutoBypass: the bank of filters that needs no tuning."""

from types import MappingProxyType

import numpy as np

from adabypass.errors import NotReadyError
from adabypass.inference.kernel import bank
from adabypass.model.bank import AutoBypassSpec
from adabypass.model.component import COMPONENT
from adabypass.model.linear_mixture import LinearMixture, single
from adabypass.model.predictive import Mixture, Normal
from adabypass.model.trace import Trace
from adabypass.regressors.base import Regressor, Weights
from adabypass.validation import check_stream, check_target


class AutoBypass(Regressor):
    """Nothing to tune, any units: a bank of exact-evidence filters, each weighted by how well it foresaw the data.

    The filters differ in how fast the weights drift, in how fast the noise's scale moves, and in the family of the
    noise. Features and y are centred and scaled by the first observations, so that units do not matter; the model
    carries its own intercept. Its forecast is the mixture of the filters' forecasts.

    Parameters
    ----------
    intercept : bool
        Whether the model has an intercept of its own. Without one, nothing is centred.
    n_features : int, optional
        Taken from the first x if not given.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(500, 2))
    >>> model = AutoBypass()
    >>> trace = model.run(X, 1000 + X @ [3.0, -2.0] + rng.normal(size=500))
    >>> model.weights.mean.round(1), round(model.intercept)
    (array([ 3., -2.]), 1000)
    """

    _kernel = bank.KERNEL
    _spec: AutoBypassSpec

    def __init__(self, *, intercept: bool = True, n_features: int | None = None) -> None:
        super().__init__(AutoBypassSpec(intercept), n_features)

    def predict(self, x: object) -> Mixture:
        """Forecast the observation at `x`, before it is seen.

        Parameters
        ----------
        x : array (n_features,) of finite numbers; a plain number if there is one feature
        """
        components = np.empty(self._spec.n_filters, COMPONENT)
        mean, var = self._cell_for(x).components(x, components)
        return Mixture.unchecked(components, mean, var)

    def step(self, x: object, y: object) -> Mixture:
        value = y if isinstance(y, float) else check_target(y)
        components = np.empty(self._spec.n_filters, COMPONENT)
        mean, var = self._cell_for(x).step(x, value, components)
        return Mixture.unchecked(components, mean, var)

    def run(self, X: object, y: object, *, keep_weights: bool = False, keep_predictive: bool = True) -> Trace:
        """Predict, then update, for every row of `X` in turn.

        Parameters
        ----------
        X : array (n, n_features) of finite numbers
        y : array (n,)
            nan where the observation is missing.
        keep_weights
            Whether the trace also holds the weights after each observation.
        keep_predictive
            Whether the trace keeps the whole distribution of each forecast, about 2 kB each. Without it the trace has
            means, variances and log scores; CRPS and intervals are then those of a normal with that mean and variance.

        Returns
        -------
        Trace
            The forecasts made before each observation, and what was learned after it.
        """
        table, targets = check_stream(X, y, self.n_features)
        n, n_features = table.shape
        cell = self._copied_cell(n_features)
        layout = self._spec.layout
        history = np.empty((n, 2 + 1 + len(layout.scalars)))
        components = np.empty((n if keep_predictive else 0, self._spec.n_filters), COMPONENT)
        kept = np.empty((n if keep_weights else 0, 2 * n_features))
        cell.run(table, targets, history, kept, 0, components)
        self._cell = cell
        after = {name: history[:, 3 + i].copy() for i, name in enumerate(layout.scalars)}
        mean, var = history[:, 0].copy(), history[:, 1].copy()
        return Trace(
            y=targets.copy(),
            predictive=Mixture.unchecked(components, mean, var) if keep_predictive else Normal(mean, var),
            history={name: after[name] for name in self._spec.learned},
            weights_mean=kept[:, :n_features] if keep_weights else None,
            weights_var=kept[:, n_features:] if keep_weights else None,
            log_score=np.where(np.isnan(targets), np.nan, after["log_score"]),
        )

    @property
    def weights(self) -> Weights:
        """Belief about the weights under the mixture, in the user's units: `mean` and `cov`, as read-only copies."""
        if self._cell is None:
            return super().weights
        _, mean, cov = self._spec.weights(self._cell.row, self._cell.n_features)
        mean.flags.writeable = cov.flags.writeable = False
        return Weights(mean, cov)

    def linear_mixture(self) -> LinearMixture:
        if self._cell is None:
            raise NotReadyError("this model believes nothing yet; let it meet its first x.")
        n = self._cell.n_features
        if self._spec.is_scaled(self._cell.row):
            return self._spec.linear_mixture(self._cell.row, n)
        p = self.predict(np.zeros(n))  # before the scale of y is known, any x gives the same wide forecast
        return single(np.zeros(n), np.zeros((n, n)), 0.0, p.sd, noise_mean=p.mean)

    @property
    def intercept(self) -> float:
        """The intercept, in the units of y: what is expected where every feature is 0."""
        if self._cell is None:
            raise NotReadyError("this model has no intercept yet; let it meet its first x.")
        return self._spec.weights(self._cell.row, self._cell.n_features)[0]

    @property
    def parameters(self) -> MappingProxyType[str, float]:
        """What was learned besides the weights, by name; read-only.

        `noise_scale` is the noise's standard deviation in the units of y, `epsilon` the half-width of the flat top in
        units of the scale of its tails, `drift` the variance of a step of the weights in units of the noise's, and
        `drift_share_0` to `drift_share_5` are the mixture's weights of the six drift rates, from the slowest up.
        """
        row, layout = (None if self._cell is None else self._cell.row), self._spec.layout
        return MappingProxyType({name: 0.0 if row is None else layout.scalar(row, name) for name in self._spec.learned})
