"""AutoBypass: the bank of filters that needs no tuning."""

from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from adabypass.errors import NotReadyError
from adabypass.inference.kernel import bank
from adabypass.model.bank import AutoBypassSpec
from adabypass.model.component import Components
from adabypass.model.linear_mixture import LinearMixture, single
from adabypass.model.predictive import Mixture, Normal, Predictive
from adabypass.regressors.base import Regressor, Weights


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
    _spec_type = AutoBypassSpec
    _spec: AutoBypassSpec

    def __init__(self, *, intercept: bool = True, n_features: int | None = None) -> None:
        super().__init__(AutoBypassSpec(intercept), n_features)

    if TYPE_CHECKING:

        def predict(self, x: object) -> Mixture: ...
        def step(self, x: object, y: object) -> Mixture: ...

    @property
    def has_intercept(self) -> bool:
        return self._spec.intercept

    def _predictive(self, mean: Any, var: Any, components: Components | None = None) -> Predictive:
        return Normal(mean, var) if components is None else Mixture.unchecked(components, mean, var)

    @property
    def weights(self) -> Weights:
        """Belief about the weights under the mixture, in the user's units: `mean` and `cov`, as read-only copies."""
        cell = self._cell
        if cell is None:
            return super().weights
        _, mean, cov = self._spec.weights(cell.row, cell.n_features)
        mean.flags.writeable = cov.flags.writeable = False
        return Weights(mean, cov)

    def linear_mixture(self) -> LinearMixture:
        cell = self._cell
        if cell is None:
            raise NotReadyError("this model believes nothing yet; let it meet its first x.")
        n = cell.n_features
        if self._spec.is_scaled(cell.row):
            return self._spec.linear_mixture(cell.row, n)
        p = self.predict(np.zeros(n))  # before the scale of y is known, any x gives the same wide forecast
        return single(np.zeros(n), np.zeros((n, n)), 0.0, p.sd, noise_mean=p.mean)

    @property
    def intercept(self) -> float:
        """The intercept, in the units of y: what is expected where every feature is 0."""
        cell = self._cell
        if cell is None:
            raise NotReadyError("this model has no intercept yet; let it meet its first x.")
        return self._spec.weights(cell.row, cell.n_features)[0]

    @property
    def parameters(self) -> MappingProxyType[str, float]:
        """What was learned besides the weights, by name; read-only.

        `noise_scale` is the noise's standard deviation in the units of y, `epsilon` the half-width of the flat top in
        units of the scale of its tails, `drift` the variance of a step of the weights in units of the noise's, and
        `drift_share_0` to `drift_share_5` are the mixture's weights of the six drift rates, from the slowest up.
        """
        cell, layout = self._cell, self._spec.layout
        known = {name: 0.0 if cell is None else layout.scalar(cell.row, name) for name in self._spec.learned}
        return MappingProxyType(known)
