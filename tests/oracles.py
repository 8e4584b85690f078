"""Mathematics found elsewhere: slow, exact, and sharing no code with the library."""

import mpmath
import numpy as np

from adabypass.model.row import Floats


def bessel_ratio(rho: float) -> float:
    """K0(z) / (z K1(z)), z = sqrt(rho), in 30 digits."""
    with mpmath.workdps(30):
        z = mpmath.sqrt(mpmath.mpf(rho))
        if z > 60:  # Hankel's expansion: 25 terms give 30 digits here
            return float(_hankel(0, z) / (z * _hankel(1, z)))
        return float(mpmath.besselk(0, z) / (z * mpmath.besselk(1, z)))


def _hankel(order: int, z: mpmath.mpf) -> mpmath.mpf:
    total = term = mpmath.mpf(1)
    for k in range(1, 25):
        term *= (4 * order**2 - (2 * k - 1) ** 2) / (8 * k * z)
        total += term
    return total


def truncated_moments(location: float, prec: float, half_width: float) -> tuple[float, float]:
    """Mean and variance of N(location, 1/prec) on [-half_width, half_width]: the textbook form, in 400 digits."""
    with mpmath.workdps(400):
        r, scale, eps = mpmath.mpf(location), mpmath.sqrt(mpmath.mpf(prec)), mpmath.mpf(half_width)
        sign = -1 if r < 0 else 1
        r = abs(r)
        # Mirrored, so that the tail is the upper one, where erfc keeps its digits.
        low, high = scale * (r - eps), scale * (r + eps)
        mass = (mpmath.erfc(low / mpmath.sqrt(2)) - mpmath.erfc(high / mpmath.sqrt(2))) / 2
        low_pdf, high_pdf = mpmath.npdf(low), mpmath.npdf(high)
        shift = (low_pdf - high_pdf) / mass
        mean = r - shift / scale
        var = (1 + (low * low_pdf - high * high_pdf) / mass - shift**2) / scale**2
        return sign * float(mean), float(var)


def normal_logpdf(y: Floats, mean: Floats, cov: Floats) -> float:
    """Joint log density of a Gaussian vector."""
    centred = y - mean
    return float(
        -0.5 * (centred @ np.linalg.solve(cov, centred) + np.linalg.slogdet(cov)[1] + len(y) * np.log(2 * np.pi))
    )
