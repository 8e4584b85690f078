"""The variational lower bound L of BYPASS, and the factors q(α), q(β) and q(μ) whose means the sweeps update."""

from collections.abc import Collection
from math import lgamma, log, pi, sqrt
from typing import NamedTuple

from scipy.special import digamma, kve

from adabypass.numerics.limits import MAX_PREC, MIN_RHO
from adabypass.reference.bypass import Omega, SweepInputs, Theta
from adabypass.reference.special import NoiseMean, noise_mean


class DriftPrec(NamedTuple):
    """q(α): a Gamma distribution."""

    shape: float
    rate: float

    @property
    def mean(self) -> float:
        """Mean of α."""
        return self.shape / self.rate

    @property
    def mean_log(self) -> float:
        """Mean of log α."""
        return float(digamma(self.shape)) - log(self.rate)

    def divergence(self, omega: Omega) -> float:
        """Return the Kullback-Leibler divergence from the prior, Gamma(a, b)."""
        a, b = omega.a, omega.b
        of_shape = (self.shape - a) * float(digamma(self.shape)) - lgamma(self.shape) + lgamma(a)
        return of_shape + a * log(self.rate / b) + self.shape * (b / self.rate - 1)


class NoisePrec(NamedTuple):
    """q(β): the generalised inverse Gaussian GIG(order, 1, rho), of order -1 as in the paper or -1/2 (E3)."""

    order: float
    rho: float

    @property
    def mean(self) -> float:
        """Mean of β."""
        z = sqrt(self.rho)
        return float(kve(self.order + 1, z) / (z * kve(self.order, z)))  # (C.18)

    def divergence_less_half_log(self) -> float:
        """Return the Kullback-Leibler divergence from the prior, InvGamma(1, 1/2), minus half the mean of log β."""
        z = sqrt(self.rho)
        log_norm = log(2 * float(kve(self.order, z))) - z - self.order * log(z)
        known = -self.rho * self.mean / 2 - log_norm + log(2)
        if self.order == -0.5:
            return known  # the means of log β cancel
        return known + (self.mean + log(z)) / 2  # (C.35)


class Factors(NamedTuple):
    """The variational factors of θ = (α, β, μ)."""

    drift_prec: DriftPrec
    noise_prec: NoisePrec
    location: float
    """q(μ) is N(location, 1/prec) on [-ε, ε], with an atom at either end (E4) or without."""
    prec: float
    noise_mean: NoiseMean

    @property
    def theta(self) -> Theta:
        """Means of the factors, as the sweeps update them."""
        q = self.noise_mean
        return Theta(self.drift_prec.mean, self.noise_prec.mean, q.mean, q.central(2))


def factors(theta: Theta, omega: Omega, seen: SweepInputs, corrections: Collection[str] = ()) -> Factors:
    """Update every factor from the old means: a sweep whose means equal those of `bypass.sweep`."""
    alpha, beta, mu, V = theta
    s, n, k, e, n_features = seen
    h = s + n / alpha
    D = h + 1 / beta
    c = e - mu
    p2 = n / alpha**2 if "E1" in corrections else k + 2 * s / alpha + n / alpha**2
    r = e - c * h / D
    shape = omega.a + (n_features / 2 if "E2" in corrections else 0)
    rate = omega.b + (p2 * c**2 / D**2 + n_features / alpha - p2 / D) / 2
    rho = max((r - mu) ** 2 + h / (D * beta) + V, MIN_RHO)
    return Factors(
        DriftPrec(shape, max(rate, shape / MAX_PREC)),
        NoisePrec(-0.5 if "E3" in corrections else -1.0, rho),
        r,
        beta,
        noise_mean(r, beta, omega.epsilon, atoms="E4" in corrections),
    )


def lower_bound(q: Factors, omega: Omega, seen: SweepInputs) -> float:
    """Return L minus that of the step before: a lower bound of log p(y), with the optimal q(w) for these factors."""
    alpha, beta, mu, V = q.theta
    D = seen.s + seen.n / alpha + 1 / beta
    fit = -(log(2 * pi * D) + (seen.e - mu) ** 2 / D) / 2
    spread = -(log(beta) + beta * V) / 2 + seen.n_features / 2 * (q.drift_prec.mean_log - log(alpha))
    divergence = q.drift_prec.divergence(omega) + q.noise_prec.divergence_less_half_log()
    return fit + spread - divergence - _noise_mean_divergence(q, omega.epsilon)  # (C.34)


def _noise_mean_divergence(q: Factors, epsilon: float) -> float:
    """Return the Kullback-Leibler divergence of q(μ) from its prior, which has the same base measure."""
    mean, var = q.noise_mean.mean, q.noise_mean.central(2)
    fall = q.prec / 2 * (var + (mean - q.location) ** 2)
    return -fall - q.noise_mean.log_mass + log(2 * (1 + epsilon))  # (C.36)
