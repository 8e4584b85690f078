"""The exact-evidence filter."""

from adabypass.kernels import evidence_filter
from adabypass.numerics.noise import Family
from adabypass.regressors.base import Regressor
from adabypass.state.covariance import Covariance
from adabypass.state.linear_mixture import LinearMixture, single
from adabypass.state.paper import EvidenceBypassSpec


class EvidenceBypass(Regressor):
    """The model of BYPASS with a noise scale, its evidence exact: no variational approximation, no inner iteration.

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
    covariance : "auto", "full" or "diagonal"
        Of the weights. "auto" is "full" up to 2,000 features, and "diagonal" if a model begins with more. "diagonal"
        takes weights for uncorrelated, in memory and time that are linear in the features: for many thousand of them,
        most of which are 0.
    n_features : int, optional
        Taken from the first x if not given.

    Examples
    --------
    >>> model = EvidenceBypass(noise_scale=0.1, epsilon=0.5)
    >>> trace = model.run([[1.0], [1.0], [1.0]], [3.0, 3.1, 2.9])
    >>> trace.mean.round(2)
    array([0.  , 2.93, 3.04])
    """

    _kernel = evidence_filter.KERNEL
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
