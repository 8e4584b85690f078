"""Fit the tail of a normal distribution by a ratio of polynomials: the coefficients in numerics/c/functions.h.

What is fitted is U(x) = 2/(x + 3/(x + ...)), from which mass, mean and variance beyond x >= 0 follow without
cancellation. As in fit_bessel_ratio.py, the fit is a linearised least-squares problem in relative error, reweighted by
the denominator until it settles; the printed error is that of the rounded coefficients.
"""

import mpmath
import numpy as np

ABOVE, BELOW = 9, 10  # degrees; U falls as 2/x
MIDDLE = 3  # half of the points are below it
POINTS = 160


def ratio(x: mpmath.mpf) -> mpmath.mpf:
    if x > 60:
        fraction = mpmath.mpf(0)
        for k in range(400, 1, -1):
            fraction = k / (x + fraction)
        return fraction
    mass = mpmath.sqrt(mpmath.pi / 2) * mpmath.erfc(x / mpmath.sqrt(2)) * mpmath.exp(x * x / 2)
    return 1 / (1 / mass - x) - x


def fit() -> tuple[list[float], list[float]]:
    nodes = [(1 - mpmath.cos(mpmath.pi * (k + 0.5) / POINTS)) / 2 for k in range(POINTS)]
    points = [MIDDLE * (1 - t) / t for t in nodes]
    values = [ratio(x) for x in points]
    weights = [t**BELOW for t in nodes]
    for _ in range(8):
        system = mpmath.matrix(POINTS, ABOVE + 1 + BELOW)
        for i, (x, value, weight) in enumerate(zip(points, values, weights, strict=True)):
            for j in range(ABOVE + 1):
                system[i, j] = weight * x**j / value
            for j in range(1, BELOW + 1):
                system[i, ABOVE + j] = -weight * x**j
        solution = mpmath.qr_solve(system, mpmath.matrix(weights))[0]
        above = [solution[j] for j in range(ABOVE + 1)]
        below = [mpmath.mpf(1), *(solution[ABOVE + j] for j in range(1, BELOW + 1))]
        weights = [1 / abs(mpmath.polyval(below[::-1], x)) for x in points]
    return [float(c) for c in above], [float(c) for c in below]


if __name__ == "__main__":
    mpmath.mp.dps = 60
    above, below = fit()
    exact_above, exact_below = [mpmath.mpf(c) for c in above[::-1]], [mpmath.mpf(c) for c in below[::-1]]
    error = max(
        abs(float(mpmath.polyval(exact_above, x) / mpmath.polyval(exact_below, x) / ratio(x) - 1))
        for x in (mpmath.mpf(float(MIDDLE * (1 - t) / t)) for t in np.linspace(1e-6, 1, 997))
    )
    print(f"above = {above}\nbelow = {below}\nlargest relative error = {error:.1e}")
