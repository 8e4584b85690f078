"""AutoBypass: the bank of filters that needs no tuning."""

from typing import TYPE_CHECKING

import numpy as np

from adabypass.distributions.predictive import Mixture
from adabypass.errors import NotReadyError, ParameterError
from adabypass.kernels.auto_bypass import KERNEL
from adabypass.kernels.shared_season import KERNEL as SHARED_SEASON
from adabypass.kernels.step import Kernel
from adabypass.numerics.read_only import ReadOnly
from adabypass.regressors.base import Regressor, Weights
from adabypass.state import bank_belief
from adabypass.state.bank import AutoBypassSpec, Transform
from adabypass.state.linear_mixture import LinearMixture
from adabypass.state.shared_season import SharedSeasonSpec, bank_spec, share_season
from adabypass.state.spec import Covariance, Spec
from adabypass.validation import Floats


class AutoBypass(Regressor):
    """Regression on a stream with nothing to tune: a bank of filters, weighted by how well each foresaw the data.

    The filters differ in how fast the weights drift, in how fast the noise's scale moves, and in the family of the
    noise. Features and y are centred and scaled by the first observations, so that units do not matter; the model
    carries its own intercept. Its forecast is the mixture of the filters' forecasts. While y is positive there are
    three such banks: of y itself, its log and its square root.

    Before anything but zeros was seen no unit can be known, and the forecast is blank: mean nan, variance infinite.
    Then, as long as all values are equal, it is a distribution about them whose width comes from their size. Values
    that differ by less than 1e-15 of their size, the resolution of float64, are taken for equal: a series further than
    1e15 standard deviations from 0 is forecast as a constant.

    Parameters
    ----------
    intercept : bool
        Whether the model has an intercept of its own. Without one, nothing is centred, and forecasts are proportional
        to x.
    period : int
        Of a season, in observations, missing ones included: 24 where the same hour of every day is as high, or as
        uncertain, as that of the day before. Three models then learn side by side, and have shares in the forecast by
        evidence: one learns what each step of the season adds to the forecast and to the noise, one takes waves over
        the season for features, and one has no season, so that a period that is none costs next to nothing. `weights`
        and `parameters` are those of the first. Without an intercept, and of sparse features, the first is alone.
        1 for no season.
    covariance : "auto", "full" or "diagonal"
        What is kept of the covariance of the weights. Diagonal, they are taken for uncorrelated: memory and time
        are linear in the features, and forecasts are worse where features are correlated. By default full up to 200
        features, beyond that diagonal.
    sparse : bool
        Whether features are mostly 0, given as dicts of index and value or as rows of SciPy sparse matrices: then a
        step takes time for those alone that are not 0. They are not centred, and their unit is the first value other
        than 0; covariances are diagonal. A model whose first x is a dict or a sparse matrix is of this kind anyway.
    transform : "auto" or "none"
        While every y is positive, the log and the square root of y are learned too, from the same functions of those
        features that keep their sign, and have shares in the forecast by evidence: noise that grows with the level, and
        products instead of sums. The forecast is about y, whichever has the larger share. By default so with up to 50
        features to begin with, an intercept and full covariances; with "none" y itself is all that is learned.
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
    (array([ 3.1, -2. ]), 1000)
    """

    _kernel = KERNEL
    _spec_type = staticmethod(bank_spec)
    _spec: AutoBypassSpec

    def __init__(
        self,
        *,
        intercept: bool = True,
        period: int = 1,
        covariance: Covariance = "auto",
        sparse: bool = False,
        transform: Transform = "auto",
        n_features: int | None = None,
    ) -> None:
        spec = AutoBypassSpec(intercept, period, covariance=covariance, sparse=sparse, transform=transform)
        super().__init__(share_season(spec), n_features)

    if TYPE_CHECKING:

        def predict(self, x: object) -> Mixture: ...
        def step(self, x: object, y: object) -> Mixture: ...

    def _kernel_of(self, spec: Spec) -> Kernel:
        kernel: Kernel = SHARED_SEASON if isinstance(spec, SharedSeasonSpec) else self._kernel
        return kernel

    @property
    def has_intercept(self) -> bool:
        return self._spec.intercept

    @property
    def weights(self) -> Weights:
        """Belief about the weights under the mixture, in the user's units: `mean` and `cov`, as read-only copies.

        `cov` is None if covariances are diagonal: then `weights_var` says how sure each weight is.
        """
        runner = self._runner
        if runner is None:
            return super().weights
        _, mean, cov = bank_belief.weights(self._spec, runner.row, runner.n_features)
        mean.flags.writeable = cov.flags.writeable = False
        return Weights(mean, cov if runner.spec.is_full else None)

    @property
    def weights_var(self) -> Floats | None:
        """Variance of each weight, as a read-only copy."""
        runner = self._runner
        if runner is None or self._spec.is_full:
            return super().weights_var
        var = bank_belief.weights(self._spec, runner.row, runner.n_features)[2]
        var.flags.writeable = False
        return var

    def linear_mixture(self) -> LinearMixture:
        runner = self._runner
        if runner is None:
            raise NotReadyError("this model has no belief to return yet; call predict, update or run first.")
        if not self._spec.is_full:
            raise ParameterError("diagonal covariances are not carried many steps ahead; use covariance='full'.")
        n = runner.n_features
        if self._spec.is_scaled(runner.row):
            return bank_belief.linear_mixture(self._spec, runner.row, n)
        parts = self.predict(np.zeros(n)).components  # before the scale of y is known, x does not matter
        parts = parts[parts["weight"] > 0]
        zeros = np.zeros((len(parts), n, n))
        return LinearMixture(
            share=parts["weight"].copy(),
            mean=zeros[:, 0],
            cov=zeros,
            drift=zeros,
            noise_scale=parts["noise_scale"].copy(),
            epsilon=parts["epsilon"].copy(),
            family=parts["family"].copy(),
            fading=zeros[:, 0, 0],
            fade=zeros[:, 0, 0],
            level_slope=zeros[:, 0, 0],
            level_center=0.0,
            level_unit=1.0,
            x_center=np.zeros(n),
            y_center=float(parts["mean"][0]),
            intercept=False,
        )

    @property
    def intercept(self) -> float:
        """The intercept, in the units of y: what is expected where every feature is 0."""
        runner = self._runner
        if runner is None:
            raise NotReadyError("this model has no intercept yet; call predict, update or run first.")
        return bank_belief.weights(self._spec, runner.row, runner.n_features)[0]

    @property
    def parameters(self) -> ReadOnly[float]:
        """What was learned besides the weights, by name; read-only.

        `noise_scale` is the noise's standard deviation in the units of y, `epsilon` the half-width of the flat top in
        units of the scale of its tails, `drift` the variance of a step of the weights in units of the noise's, and
        `drift_share_0`, `drift_share_1` ... are the shares of the drift rates in the mixture, from the slowest up.
        """
        runner, layout = self._runner, self._spec.layout
        known = {name: 0.0 if runner is None else layout.scalar(runner.row, name) for name in self._spec.learned}
        return ReadOnly(known)
