"""Special functions of the fixed point of BYPASS: a ratio of Bessel functions, and the moments of q(μ)."""

from math import copysign, sqrt
from typing import NamedTuple

import numpy as np
from scipy.special import k0e, k1e

from adabypass.validation import Floats

NODES, WEIGHTS = np.polynomial.legendre.leggauss(64)
NEGLIGIBLE_LOG = 40.0  # 1 + exp(-40) equals 1 in double precision


def bessel_ratio(rho: float) -> float:
    """Return the mean of the generalised inverse Gaussian GIG(-1, 1, ρ): K0(√ρ) / (√ρ K1(√ρ))."""
    z = sqrt(rho)
    return float(k0e(z) / (z * k1e(z)))  # (C.18)


def bessel_ratio_slope(rho: float) -> float:
    """Return the derivative of `bessel_ratio`: K0' = -K1 and (z K1)' = -z K0."""
    return (bessel_ratio(rho) ** 2 - 1 / rho) / 2  # (D.10)


class NoiseMean(NamedTuple):
    """q(μ): N(location, 1/prec) on [-half_width, half_width], with or without an atom at each end, as weighted points.

    A point is stored as its distance, in standard deviations, from the point of the interval nearest to `location`,
    where the density is largest. The terms of a moment then do not cancel.
    """

    nearest: float
    sign: float
    scale: float
    d: Floats
    share: Floats
    ends: tuple[float, float]
    """Density at -half_width and at half_width; with atoms, their probabilities, which are the same numbers."""
    log_mass: float
    """Log of the integral of exp(-prec (μ - location)²/2) over the interval, and its ends where these are atoms."""

    def value(self, distance: float) -> float:
        """Return μ at a distance."""
        return self.sign * (self.nearest - distance / self.scale)

    def central(self, power: int) -> float:
        """Return a central moment of μ."""
        mean = self.share @ self.d
        return float(self.share @ (self.d - mean) ** power) * (-self.sign / self.scale) ** power

    @property
    def mean(self) -> float:
        """Mean of μ."""
        return self.value(float(self.share @ self.d))


def noise_mean(location: float, prec: float, half_width: float, atoms: bool = False) -> NoiseMean:
    """Compute q(μ) by quadrature over the range where the density is not negligible."""
    scale = sqrt(prec)
    nearest = min(abs(location), half_width)
    tilt = scale * max(abs(location) - half_width, 0.0)  # log density falls as tilt d + d²/2
    reach = 2 * NEGLIGIBLE_LOG / (tilt + sqrt(tilt**2 + 2 * NEGLIGIBLE_LOG))
    near_end, far_end = scale * (nearest - half_width), scale * (nearest + half_width)
    low, high = max(-reach, near_end), min(reach, far_end)
    d = low + (high - low) / 2 * (1 + NODES)
    mass = (high - low) / 2 * WEIGHTS * np.exp(-(tilt + d / 2) * d) / scale
    ends = np.exp([-(tilt + end / 2) * end if end < 1e100 else -np.inf for end in (near_end, far_end)])
    total = mass.sum() + (ends.sum() if atoms else 0.0)
    share = mass / total
    if atoms:
        d, share = np.append(d, [near_end, far_end]), np.append(share, ends / total)  # (D.9)
    near, far = (float(each) for each in ends / total)
    sign = copysign(1.0, location)
    ends_in_order = (far, near) if sign > 0 else (near, far)
    return NoiseMean(nearest, sign, scale, d, share, ends_in_order, float(np.log(total)) - tilt**2 / 2)


def truncated_moments(location: float, prec: float, half_width: float, atoms: bool = False) -> tuple[float, float]:
    """Return mean and variance of N(location, 1/prec) on [-half_width, half_width], with or without two atoms."""
    q = noise_mean(location, prec, half_width, atoms)
    return q.mean, q.central(2)  # (C.19)
