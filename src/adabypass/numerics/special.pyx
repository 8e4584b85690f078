"""Special functions for which SciPy's are too slow; tests compare each with mpmath."""

from libc.math cimport M_PI, copysign, erfc, exp, fabs, log, sqrt

from adabypass.numerics.scipy_functions cimport erfcx

import numpy as np

cdef enum:
    SERIES_TERMS = 11
    COARSE = 12         # quadrature nodes while the log density falls by less than 8
    FINE = 24           # and by less than 40

cdef double EULER_GAMMA = np.euler_gamma
cdef double SQRT_HALF = sqrt(0.5)
cdef double SQRT_HALF_PI = sqrt(0.5 * M_PI)

# K0(z) and z K1(z) for z <= 1 as power series in t = z²/4, equation (C.24):
#   K0 = sum_k (H_k - L) t^k / k!²,    z K1 = 1 + sum_k (2L - H_k - H_{k+1}) t^{k+1} / (k! (k+1)!),    L = log(z/2) + γ
cdef double[SERIES_TERMS] K0_PLAIN, K0_LOG, K1_PLAIN, K1_LOG

# K0(z)/K1(z) for z >= 1 as a ratio of polynomials in 1/z, fitted by tools/fit_bessel_ratio.py to 6e-16.
cdef double[9] RATIO_ABOVE = [
    1.0, 14.576280580040992, 77.91426366732468, 194.06038017928807, 236.9661276309591, 136.9137962462881,
    32.974499758612396, 2.4016201523123732, 0.011198432185306166,
]
cdef double[9] RATIO_BELOW = [
    1.0, 15.076280580040923, 85.07740395736174, 231.32047693890317, 325.8837574112048, 238.437913311486,
    85.72436434148196, 13.089770777799755, 0.5789816895377261,
]

cdef double[COARSE] COARSE_NODES, COARSE_WEIGHTS
cdef double[FINE] FINE_NODES, FINE_WEIGHTS


cdef int _fill_tables() except -1:
    cdef Py_ssize_t k
    cdef double factorial = 1.0, harmonic = 0.0, next_factorial, next_harmonic
    for k in range(SERIES_TERMS):
        next_factorial = factorial * (k + 1)
        next_harmonic = harmonic + 1.0 / (k + 1)
        K0_PLAIN[k] = harmonic / factorial / factorial
        K0_LOG[k] = 1.0 / factorial / factorial
        K1_PLAIN[k] = (harmonic + next_harmonic) / factorial / next_factorial
        K1_LOG[k] = 2.0 / factorial / next_factorial
        factorial, harmonic = next_factorial, next_harmonic
    nodes, weights = np.polynomial.legendre.leggauss(COARSE)
    for k in range(COARSE):
        COARSE_NODES[k], COARSE_WEIGHTS[k] = nodes[k], weights[k]
    nodes, weights = np.polynomial.legendre.leggauss(FINE)
    for k in range(FINE):
        FINE_NODES[k], FINE_WEIGHTS[k] = nodes[k], weights[k]
    return 0


_fill_tables()


cpdef double bessel_ratio(double rho) noexcept nogil:
    """Return k0e(z) / (z * k1e(z)), z = sqrt(rho): equation (C.18)."""
    cdef double z, t, L, k0_plain, k0_log, k1_plain, k1_log, above, below
    cdef Py_ssize_t k
    if rho < 1.0:
        t = 0.25 * rho
        L = 0.5 * log(t) + EULER_GAMMA
        k0_plain = k0_log = k1_plain = k1_log = 0.0
        for k in range(SERIES_TERMS - 1, -1, -1):
            k0_plain = k0_plain * t + K0_PLAIN[k]
            k0_log = k0_log * t + K0_LOG[k]
            k1_plain = k1_plain * t + K1_PLAIN[k]
            k1_log = k1_log * t + K1_LOG[k]
        return (k0_plain - L * k0_log) / (1.0 + t * (L * k1_log - k1_plain))
    z = 1.0 / sqrt(rho)
    above = below = 0.0
    for k in range(8, -1, -1):
        above = above * z + RATIO_ABOVE[k]
        below = below * z + RATIO_BELOW[k]
    return z * above / below


cdef Moments truncated_moments(double location, double prec, double half_width) noexcept nogil:
    """Return mean and variance of N(location, 1/prec) truncated to [-half_width, half_width]: equation (C.19)."""
    cdef Moments result
    cdef double scale = sqrt(prec)
    cdef Piece d = flat_piece(scale * (fabs(location) - half_width), 2.0 * scale * half_width)
    result.mean = smaller(fabs(location), half_width) - d.mean / scale
    result.mean = copysign(larger(-half_width, smaller(result.mean, half_width)), location)
    result.var = d.var / prec
    return result


cdef Moments atom_moments(double location, double prec, double half_width) noexcept nogil:
    """Return `truncated_moments` with an atom at each end, whose weight is the density there: equation (D.9)."""
    cdef Moments result
    cdef double scale = sqrt(prec)
    cdef double near = scale * (fabs(location) - half_width), width = 2.0 * scale * half_width
    cdef Piece d = flat_piece(near, width)
    # Distances from the interval's point nearest to `location`, weights over the density there.
    cdef double near_end = smaller(near, 0.0), far_end = near_end + width, tilt = larger(near, 0.0)
    cdef double at_near = exp(-0.5 * near_end * near_end), at_far = exp(-(tilt + 0.5 * far_end) * far_end)
    cdef double inside = d.mass / scale, total = inside + at_near + at_far
    cdef double mean = (inside * d.mean + at_near * near_end + (at_far * far_end if at_far > 0.0 else 0.0)) / total
    cdef double var = inside * (d.var + (d.mean - mean) * (d.mean - mean))
    if at_near > 0.0:
        var += at_near * (near_end - mean) * (near_end - mean)
    if at_far > 0.0:
        var += at_far * (far_end - mean) * (far_end - mean)
    result.mean = smaller(fabs(location), half_width) - mean / scale
    result.mean = copysign(larger(-half_width, smaller(result.mean, half_width)), location)
    result.var = smaller(var / total / prec, half_width * half_width)
    return result


cdef Piece flat_piece(double near, double width) noexcept nogil:
    """Return the standard normal on [near, near + width], near >= -width / 2."""
    cdef double fall = width * (near + 0.5 * width)         # log density at the near end less that at the far end
    if width > 0.5 and near <= 4.0:
        return normal_piece(near, width, exp(-0.5 * near * near), exp(-0.5 * near * near - fall))
    if fall > 40.0:
        return tail_piece(near)
    if fall > 8.0:
        return _by_quadrature(near, width, FINE_NODES, FINE_WEIGHTS, FINE)
    return _by_quadrature(near, width, COARSE_NODES, COARSE_WEIGHTS, COARSE)


cdef Piece tail_piece(double near) noexcept nogil:
    """Return the standard normal on [near, inf), its mass over the density at `near`, also for near < 0."""
    cdef Piece d
    cdef double hazard
    if near > 20.0:
        return _by_continued_fraction(near)
    d.mass = SQRT_HALF_PI * erfcx(near * SQRT_HALF)
    hazard = 1.0 / d.mass
    d.mean = hazard - near
    d.var = 1.0 - hazard * d.mean
    return d


cdef Piece normal_piece(double near, double width, double near_density, double far_density) noexcept nogil:
    """Return `flat_piece` in closed form, accurate for an interval that is neither narrow nor far in the tail.

    The densities are those at the two ends, times sqrt(2π).
    """
    cdef Piece d
    cdef double far = near + width
    cdef double mass = SQRT_HALF_PI * (erfc(near * SQRT_HALF) - (erfc(far * SQRT_HALF) if far_density > 0.0 else 0.0))
    cdef double mean = (near_density - far_density) / mass
    d.mass = mass / near_density if near > 0.0 else mass
    d.mean = mean - larger(near, 0.0)
    d.var = 1.0 + (near * near_density - (far * far_density if far_density > 0.0 else 0.0)) / mass - mean * mean
    d.var = larger(d.var, 0.0)
    return d


cdef inline Piece _by_continued_fraction(double near) noexcept nogil:
    """Return the tail far beyond 0 by Laplace's continued fraction, whose terms are all positive.

    With U = 2/(near + 3/(near + ...)) and T = 1/(near + U): mean T, variance T (U - T), mass 1/(near + T).
    """
    cdef Piece d
    cdef double U = 0.0
    cdef int k
    for k in range(<int>(8.0 + 700.0 / (near * near)), 1, -1):
        U = k / (near + U)
    d.mean = 1.0 / (near + U)
    d.var = larger(d.mean * (U - d.mean), 0.0)
    d.mass = 1.0 / (near + d.mean)
    return d


cdef inline Piece _by_quadrature(
    double near, double width, const double* nodes, const double* weights, int order
) noexcept nogil:
    """Return a piece by Gauss-Legendre quadrature, exact up to rounding while the log density falls by up to 40."""
    cdef Piece d
    cdef double[FINE] distance, density
    cdef double low = smaller(near, 0.0), tilt = larger(near, 0.0), half = 0.5 * width
    cdef double mass = 0.0, mean = 0.0, var = 0.0
    cdef int k
    for k in range(order):
        distance[k] = low + half * (1.0 + nodes[k])
        density[k] = weights[k] * exp(-(tilt + 0.5 * distance[k]) * distance[k])
        mass += density[k]
        mean += density[k] * distance[k]
    mean /= mass
    for k in range(order):
        var += density[k] * (distance[k] - mean) * (distance[k] - mean)
    d.mass = half * mass
    d.mean = mean
    d.var = var / mass
    return d


def moments(double location, double prec, double half_width, bint atoms=False):
    """Return `truncated_moments`, or `atom_moments`, as a pair."""
    cdef Moments result
    if atoms:
        result = atom_moments(location, prec, half_width)
    else:
        result = truncated_moments(location, prec, half_width)
    return result.mean, result.var
