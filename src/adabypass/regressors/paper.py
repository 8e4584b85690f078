"""The paper's models: passive-aggressive regression, SKF, BYPASS and ADA-BYPASS; and BYPASS with exact evidence."""

from collections.abc import Sequence
from math import isnan

import numpy as np

from adabypass.errors import ParameterError
from adabypass.kernels import bypass
from adabypass.kernels.evidence_filter import KERNEL as EVIDENCE_FILTER
from adabypass.kernels.kalman import KERNEL as KALMAN
from adabypass.kernels.passive_aggressive import KERNEL as PASSIVE_AGGRESSIVE
from adabypass.kernels.step import Kernel
from adabypass.numerics.noise import Family
from adabypass.reference import bound
from adabypass.reference import bypass as reference
from adabypass.reference.linear_gaussian import Weights
from adabypass.regressors.base import Regressor
from adabypass.state.linear_mixture import LinearMixture, single
from adabypass.state.paper import (
    AdaBypassSpec,
    BypassSpec,
    EvidenceBypassSpec,
    PassiveAggressiveSpec,
    SequentialKalmanSpec,
    Variant,
)
from adabypass.state.spec import Covariance, Spec
from adabypass.validation import check_features, check_target


class PassiveAggressive(Regressor):
    """Passive-aggressive regression (PA, PA-I, PA-II), which forecasts points: BYPASS is its Bayesian form.

    The weights stay where they are while the error is below `epsilon`, and otherwise move no further than needed.

    Parameters
    ----------
    variant : "PA", "PA-I" or "PA-II"
        How far an update goes: all the way, at most `C`, or all the way less a part that `C` sets.
    C : number above 0
        Aggressiveness. PA makes no use of it.
    epsilon : number from 0
        Half-width of the band of errors that are ignored, in the units of y.
    n_features : int, optional
        Taken from the first x if not given.

    Examples
    --------
    >>> model = PassiveAggressive("PA", epsilon=0.0)
    >>> model.update([1.0, 2.0], 5.0)
    >>> model.predict([1.0, 2.0])
    Point(mean=5)
    """

    _kernel = PASSIVE_AGGRESSIVE
    _spec_type = PassiveAggressiveSpec

    def __init__(
        self, variant: Variant = "PA-I", C: float = 1.0, epsilon: float = 0.1, *, n_features: int | None = None
    ) -> None:
        super().__init__(PassiveAggressiveSpec(variant, C, epsilon), n_features)

    def linear_mixture(self) -> LinearMixture:
        mean = self.weights.mean
        return single(mean, np.zeros((len(mean), len(mean))), 0.0, np.nan)

    @property
    def is_point(self) -> bool:
        return True


class SequentialKalman(Regressor):
    """The paper's benchmark SKF: a Kalman filter of drifting weights, whose drift is estimated at every step.

    Parameters
    ----------
    noise_var : number above 0
        Variance of the noise, in the squared units of y.
    adapt_noise : bool
        Whether that variance is only where a running estimate starts.
    covariance : "auto", "full" or "diagonal"
        Of the weights. "auto" is "full" up to 2,000 features, and "diagonal" if a model begins with more. "diagonal"
        takes weights for uncorrelated, in memory and time that are linear in the features: for many thousand of them,
        most of which are 0.
    n_features : int, optional
        Taken from the first x if not given.

    Examples
    --------
    >>> model = SequentialKalman()
    >>> trace = model.run([[1.0], [1.0], [1.0]], [3.0, 3.1, 2.9])
    >>> trace.mean.round(2)
    array([0.  , 2.67, 2.87])
    """

    _kernel = KALMAN
    _spec_type = SequentialKalmanSpec

    def __init__(
        self,
        noise_var: float = 1.0,
        adapt_noise: bool = False,
        *,
        covariance: Covariance = "auto",
        n_features: int | None = None,
    ) -> None:
        super().__init__(SequentialKalmanSpec(noise_var, adapt_noise, covariance=covariance), n_features)

    def linear_mixture(self) -> LinearMixture:
        mean, cov = self._full_weights()
        return single(mean, cov, self.parameters["drift_var"], self.parameters["noise_var"] ** 0.5)


class VariationalBypass(Regressor):
    """Base class of BYPASS and ADA-BYPASS: the variational bound, and the belief many steps ahead."""

    _spec: BypassSpec

    def lower_bound(self, x: object, y: object) -> float:
        """Return the variational lower bound of log p(y) at `x`, after the sweeps that learning it would take.

        Equation (C.34) of docs/equations.md, for study: computed in NumPy, with the hyperparameters as they are, and
        nothing is learned.
        """
        spec, learned, (mean, cov) = self._spec, self.parameters, self.weights
        if cov is None:
            raise ParameterError(
                "the variational bound needs a full covariance; make the model with covariance='full'."
            )
        features, target = check_features(x, len(mean)), check_target(y)
        if isnan(target):
            raise ParameterError("y is nan, but the bound is that of an observation; pass a number.")
        seen = reference.sweep_inputs(Weights(mean, cov), features, target)
        omega = reference.Omega(*(learned[name] for name in reference.Omega._fields))
        theta = reference.Theta(*(learned[name] for name in reference.Theta._fields))
        theta = reference.solve(theta, omega, seen, spec.max_sweeps, spec.tol, spec.corrections)
        return bound.lower_bound(bound.factors(theta, omega, seen, spec.corrections), omega, seen)

    def linear_mixture(self) -> LinearMixture:
        """Return the belief of BYPASS: Gaussian noise of the mean and precision that were last inferred."""
        mean, cov = self._full_weights()
        learned = self.parameters
        noise_scale = learned["noise_prec"] ** -0.5
        return single(mean, cov, 1.0 / learned["drift_prec"], noise_scale, noise_mean=learned["noise_mean"])


class Bypass(VariationalBypass):
    """The paper's BYPASS regression (Algorithm 1): drifting weights, insensitive noise, variational inference.

    Parameters
    ----------
    a, b : numbers above 0
        Shape and rate of the prior of the drift's precision. Let a be well above half the number of features: the
        paper's fixed point runs away otherwise (erratum E2 in docs/equations.md).
    epsilon : number above 0
        Half-width of the noise's flat top, in the units of y.
    max_sweeps : int, optional
        How many sweeps of the fixed point a step may take. None runs it to convergence, as the paper says.
    tol : number from 0
        The fixed point has converged when a sweep moves nothing by more than this, relative to its size.
    corrections : list of "E1", "E2", "E3", "E4"
        Errata of the paper (docs/equations.md) that are to be corrected; none by default.
    covariance
        As of `SequentialKalman`.
    n_features : int, optional
        Taken from the first x if not given.

    Examples
    --------
    >>> model = Bypass()
    >>> trace = model.run([[1.0], [1.0], [1.0]], [3.0, 3.1, 2.9])
    >>> trace.mean.round(2)
    array([0.  , 0.44, 0.44])
    """

    _kernel = bypass.BYPASS
    _spec_type = BypassSpec

    def __init__(
        self,
        a: float = 1000.0,
        b: float = 1.0,
        epsilon: float = 1.25,
        *,
        max_sweeps: int | None = None,
        tol: float = 1e-8,
        corrections: Sequence[str] = (),
        covariance: Covariance = "auto",
        n_features: int | None = None,
    ) -> None:
        spec = BypassSpec(a, b, epsilon, max_sweeps, tol, corrections=corrections, covariance=covariance)
        super().__init__(spec, n_features)

    def _kernel_of(self, spec: Spec) -> Kernel:
        is_corrected = isinstance(spec, BypassSpec) and spec.corrections
        return bypass.CORRECTED_BYPASS if is_corrected else bypass.BYPASS


class AdaBypass(VariationalBypass):
    """The paper's ADA-BYPASS regression (Algorithm 2): BYPASS whose hyperparameters move with its errors.

    Parameters
    ----------
    a, b, epsilon
        Where the hyperparameters of `Bypass` start.
    aggressiveness : number from 0
        How far an observation moves them; 0 leaves them where they are.
    omega_min : number above 0
        Minimum of each of them.
    max_sweeps, tol, n_features
        As in `Bypass`.
    corrections : list of "E1", "E2", "E3", "E4", "E5", "E8"
        Errata of the paper (docs/equations.md) that are to be corrected; none by default. "E5" follows the right
        gradients, "E8" those of the whole log likelihood besides: both take a full covariance, whatever the number of
        features, and sweeps to convergence.
    covariance
        As of `SequentialKalman`. If it is "diagonal", so is its gradient: (M.14) in docs/equations.md.

    Examples
    --------
    >>> model = AdaBypass()
    >>> model.update([1.0, 0.5], 2.0)
    >>> model.predict([1.0, 0.5])
    Normal(mean=0.409132, sd=1.46996)
    >>> model
    AdaBypass(n_features=2, n_seen=1)
    """

    _kernel = bypass.ADA_BYPASS
    _spec_type = AdaBypassSpec

    def __init__(
        self,
        a: float = 1000.0,
        b: float = 1.0,
        epsilon: float = 1.25,
        *,
        aggressiveness: float = 1e-3,
        omega_min: float = 1e-8,
        max_sweeps: int | None = None,
        tol: float = 1e-8,
        corrections: Sequence[str] = (),
        covariance: Covariance = "auto",
        n_features: int | None = None,
    ) -> None:
        spec = AdaBypassSpec(
            a, b, epsilon, max_sweeps, tol, aggressiveness, omega_min, corrections=corrections, covariance=covariance,
        )  # fmt: skip
        super().__init__(spec, n_features)

    def _kernel_of(self, spec: Spec) -> Kernel:
        if not (isinstance(spec, AdaBypassSpec) and spec.corrections):
            return bypass.ADA_BYPASS
        return bypass.EXACT_ADA_BYPASS if spec.is_exact else bypass.CORRECTED_ADA_BYPASS


class EvidenceBypass(Regressor):
    """Regression with the model of BYPASS and a noise scale, whose evidence is exact instead of variational.

    Parameters
    ----------
    drift : number from 0
        Variance of a step of the weights' random walk, in units of `noise_scale` squared.
    noise_scale : number above 0
        Scale of the noise's tails, in the units of y.
    epsilon : number above 0
        Half-width of the noise's flat top, in units of `noise_scale`.
    prior_var : number above 0
        Variance of the weights before anything is seen.
    covariance, n_features
        As of `SequentialKalman`.

    Examples
    --------
    >>> model = EvidenceBypass(noise_scale=0.1, epsilon=0.5)
    >>> trace = model.run([[1.0], [1.0], [1.0]], [3.0, 3.1, 2.9])
    >>> trace.mean.round(2)
    array([0.  , 2.93, 3.04])
    """

    _kernel = EVIDENCE_FILTER
    _spec_type = EvidenceBypassSpec
    _spec: EvidenceBypassSpec

    def __init__(
        self,
        drift: float = 1e-3,
        noise_scale: float = 1.0,
        epsilon: float = 1.25,
        *,
        prior_var: float = 1.0,
        covariance: Covariance = "auto",
        n_features: int | None = None,
    ) -> None:
        super().__init__(EvidenceBypassSpec(drift, noise_scale, epsilon, prior_var, covariance=covariance), n_features)

    def linear_mixture(self) -> LinearMixture:
        mean, cov = self._full_weights()
        spec = self._spec
        drift_var = spec.drift * spec.noise_scale**2
        return single(mean, cov, drift_var, spec.noise_scale, family=Family.INSENSITIVE, epsilon=spec.epsilon)
