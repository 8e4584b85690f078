"""The insensitive noise plus a Gaussian of variance v, in closed form: expected distances.

Their sum is what an observation shows of the noise while the weights are uncertain: equations (61) and (71)-(74).
"""

from libc.math cimport M_PI, erfc, exp, fabs, sqrt

from adabypass.model.special cimport Piece, larger, smaller, tail_piece

cdef double SQRT_HALF = sqrt(0.5)
cdef double INV_SQRT_2PI = 1.0 / sqrt(2.0 * M_PI)
cdef double NEGLIGIBLE = 9.0        # standard deviations: a normal's mass beyond them is lost beside 1


cdef double mean_distance(double distance, double v, double epsilon) noexcept nogil:
    """E |noise + N(0, v) - distance|, for distance >= 0: equation (61)."""
    cdef double s = sqrt(v), p1 = (-distance - epsilon) / s, p2 = (epsilon - distance) / s
    cdef double below = _cdf(p2), bell = INV_SQRT_2PI * exp(-0.5 * p2 * p2), beyond
    beyond = v * _twice_integral(p2, below, bell) + s * _integral(p2, below, bell) + below
    beyond += _smoothed_tail(-p2 - s, bell, epsilon - distance + 0.5 * v)
    if p1 > -NEGLIGIBLE:
        below, bell = _cdf(p1), INV_SQRT_2PI * exp(-0.5 * p1 * p1)
        beyond += s * _integral(p1, below, bell) - v * _twice_integral(p1, below, bell) - below
        beyond += _smoothed_tail(p1 - s, bell, epsilon + distance + 0.5 * v)
    return distance + beyond / (1.0 + epsilon)


cdef inline double _cdf(double x) noexcept nogil:
    return 0.5 * erfc(-x * SQRT_HALF)


cdef inline double _integral(double x, double below, double bell) noexcept nogil:
    """x Φ(x) + φ(x): the integral of Φ up to x, where `below` is Φ(x) and `bell` φ(x)."""
    if x < -4.0:        # the two terms cancel: with T the mean of the tail beyond -x, it is φ T M
        return _tail_integral(-x)
    return x * below + bell


cdef inline double _twice_integral(double x, double below, double bell) noexcept nogil:
    """((x² + 1) Φ(x) + x φ(x)) / 2: the integral of that integral."""
    if x < -NEGLIGIBLE:
        return 0.0
    return 0.5 * ((x * x + 1.0) * below + x * bell)


cdef inline double _tail_integral(double x) noexcept nogil:
    cdef Piece tail = tail_piece(x)
    return INV_SQRT_2PI * exp(-0.5 * x * x) * tail.mass * tail.mean


cdef inline double _smoothed_tail(double b, double bell, double log_height) noexcept nogil:
    """exp(log_height) Φ(b), where `bell` is exp(log_height) φ(b): an exponential tail, smoothed."""
    if b < 0.0:
        return bell * tail_piece(-b).mass
    return exp(log_height) * _cdf(b)


cdef double pair_distance(
    double distance, double v, double scale, double epsilon, double other_scale, double other_epsilon
) noexcept nogil:
    """E |Y - Y'| of two independent sums of insensitive noise and a normal: equations (71)-(74).

    Their means are `distance` apart, and the two normals' variances add up to v. Exact but for rounding while the
    standard deviations of both noises and of the normal are within a factor of some 100.
    """
    cdef double near = 1e-6, sq, other_sq, s, x, total = 0.0, sign, other_sign
    cdef int i, j
    if fabs(scale - other_scale) < 2.0 * near * scale:      # (72) divides by the difference of their squares
        scale, other_scale = scale * (1.0 + near), scale * (1.0 - near)
    sq, other_sq = scale * scale, other_scale * other_scale
    s = sqrt(larger(v, 1e-24 * smaller(sq, other_sq)))
    for i in range(2):
        for j in range(2):
            sign, other_sign = 2.0 * i - 1.0, 2.0 * j - 1.0
            x = distance + sign * scale * epsilon + other_sign * other_scale * other_epsilon
            total += _corner(x, s, scale, other_scale, sign, other_sign)
    return total / (4.0 * (1.0 + epsilon) * (1.0 + other_epsilon))


cdef inline double _corner(
    double x, double s, double scale, double other_scale, double sign, double other_sign
) noexcept nogil:
    """H + (sign/σ + sign'/σ') H₁ + sign sign'/(σσ') H₂ at x: equations (71)-(74)."""
    cdef double z = x / s, bell = INV_SQRT_2PI * exp(-0.5 * z * z), below = _cdf(z), twice = 2.0 * below - 1.0
    cdef double sq = scale * scale, other_sq = other_scale * other_scale, gap = sq - other_sq, g, H, H_1, H_2
    cdef double odd, even, other_odd, other_even
    g = x * twice + 2.0 * s * bell                                                          # (73)
    _laplace(z, s, bell, scale, &even, &odd)
    _laplace(z, s, bell, other_scale, &other_even, &other_odd)
    even, odd = sq * scale * even, sq * sq * (below - 0.5 - odd)
    other_even, other_odd = other_sq * other_scale * other_even, other_sq * other_sq * (below - 0.5 - other_odd)
    H = g + 2.0 * (even - other_even) / gap                                                 # (72)
    H_1 = 0.5 * (x * x + s * s) * twice + x * s * bell + 2.0 * (odd - other_odd) / gap
    H_2 = x * (x * x / 6.0 + 0.5 * s * s) * twice + s * (x * x + 2.0 * s * s) * bell / 3.0
    H_2 += (sq + other_sq) * g + 2.0 * (sq * even - other_sq * other_even) / gap
    return H + (sign / scale + other_sign / other_scale) * H_1 + sign * other_sign / (scale * other_scale) * H_2


cdef inline void _laplace(double z, double s, double bell, double scale, double* even, double* odd) noexcept nogil:
    """Half the sum and half the difference of the tails of N(0, s²) plus Laplace noise: equation (74)."""
    cdef double ratio = s / scale, falling, rising
    falling = _smoothed_tail(z - ratio, bell, ratio * (0.5 * ratio - z))
    rising = _smoothed_tail(-z - ratio, bell, ratio * (0.5 * ratio + z))
    even[0], odd[0] = 0.5 * (falling + rising), 0.5 * (falling - rising)
