"""Two functions of the fixed point of BYPASS: a ratio of Bessel functions, and the moments of a truncated normal."""

from math import copysign, sqrt

import numpy as np
from scipy.special import k0e, k1e

NODES, WEIGHTS = np.polynomial.legendre.leggauss(64)
NEGLIGIBLE_LOG = 40.0  # exp(-40) is beyond double precision beside 1


def bessel_ratio(rho: float) -> float:
    """Mean of the generalised inverse Gaussian GIG(-1, 1, ρ): K0(√ρ) / (√ρ K1(√ρ))."""
    z = sqrt(rho)
    return float(k0e(z) / (z * k1e(z)))  # (23)


def truncated_moments(location: float, prec: float, half_width: float) -> tuple[float, float]:
    """Mean and variance of N(location, 1/prec) truncated to [-half_width, half_width], by quadrature.

    The density is integrated over the distance d, in standard deviations, from the point of the interval nearest to
    `location` (where it is largest) towards the far end, as far as it is not negligible. No term cancels another.
    """
    scale = sqrt(prec)
    nearest = min(abs(location), half_width)
    tilt = scale * max(abs(location) - half_width, 0.0)  # log density falls as tilt d + d²/2
    reach = 2 * NEGLIGIBLE_LOG / (tilt + sqrt(tilt**2 + 2 * NEGLIGIBLE_LOG))
    low = -min(reach, scale * (half_width - nearest))
    high = min(reach, scale * (half_width + nearest))
    d = low + (high - low) / 2 * (1 + NODES)
    density = WEIGHTS * np.exp(-(tilt + d / 2) * d)
    density /= density.sum()
    mean = density @ d
    var = density @ (d - mean) ** 2
    return copysign(nearest - mean / scale, location), float(var) / prec  # (24)
