"""Fit the series of exp and log by polynomials: the coefficients in numerics/c/functions.h.

Each is an interpolation at Chebyshev's points, in 50 digits; the printed error is that of the rounded coefficients.
"""

from collections.abc import Callable

import mpmath

Function = Callable[[mpmath.mpf], mpmath.mpf]


def fit(function: Function, low: mpmath.mpf, high: mpmath.mpf, degree: int) -> list[float]:
    n = degree + 1
    points = [(low + high + (high - low) * mpmath.cos(mpmath.pi * (2 * k + 1) / (2 * n))) / 2 for k in range(n)]
    system = mpmath.matrix(n, n)
    for i, x in enumerate(points):
        for j in range(n):
            system[i, j] = x**j
    return [float(c) for c in mpmath.lu_solve(system, mpmath.matrix([function(x) for x in points]))]


def value(coefficients: list[float], x: mpmath.mpf) -> mpmath.mpf:
    return mpmath.polyval([mpmath.mpf(c) for c in coefficients[::-1]], x)


def exp_rest(r: mpmath.mpf) -> mpmath.mpf:
    return (mpmath.exp(r) - 1 - r) / r**2


def log_rest(s: mpmath.mpf) -> mpmath.mpf:
    t = mpmath.sqrt(s)
    return (2 * mpmath.atanh(t) / t - 2) / s


if __name__ == "__main__":
    mpmath.mp.dps = 50
    half = mpmath.log(2) / 2 * mpmath.mpf("1.0001")
    exp = fit(exp_rest, -half, half, 9)
    error = max(abs((1 + r + r * r * value(exp, r)) / mpmath.exp(r) - 1) for r in mpmath.linspace(-half, half, 801))
    print(f"exp = {exp}\nlargest relative error = {float(error):.1e}")
    widest = ((mpmath.sqrt(2) - 1) / (mpmath.sqrt(2) + 1)) ** 2 * mpmath.mpf("1.0001")
    log = fit(log_rest, mpmath.mpf("1e-12"), widest, 6)
    error = max(
        abs((2 + s * value(log, s)) / (2 + s * log_rest(s)) - 1)
        for s in mpmath.linspace(mpmath.mpf("1e-9"), widest, 801)
    )
    print(f"log = {log}\nlargest relative error = {float(error):.1e}")
