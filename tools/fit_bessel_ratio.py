"""Fit K0(z)/K1(z) for z >= 1 by a ratio of polynomials in 1/z: the tables in numerics/special.pyx.

The fit is a linearised least-squares problem in relative error, reweighted by the denominator until it settles, in 40
digits; the printed error is that of the rounded coefficients.
"""

import mpmath
import numpy as np

DEGREE = 8
POINTS = 120


def ratio(inverse: mpmath.mpf) -> mpmath.mpf:
    z = 1 / inverse
    return mpmath.besselk(0, z) / mpmath.besselk(1, z)


def fit() -> tuple[list[float], list[float]]:
    nodes = [(1 - mpmath.cos(mpmath.pi * (k + 0.5) / POINTS)) / 2 for k in range(POINTS)]
    values = [ratio(t) for t in nodes]
    weights = [mpmath.mpf(1)] * POINTS
    for _ in range(8):
        system = mpmath.matrix(POINTS, 2 * DEGREE + 1)
        for i, (t, value, weight) in enumerate(zip(nodes, values, weights, strict=True)):
            for j in range(DEGREE + 1):
                system[i, j] = weight * t**j / value
            for j in range(1, DEGREE + 1):
                system[i, DEGREE + j] = -weight * t**j
        solution = mpmath.qr_solve(system, mpmath.matrix(weights))[0]
        above = [solution[j] for j in range(DEGREE + 1)]
        below = [mpmath.mpf(1), *(solution[DEGREE + j] for j in range(1, DEGREE + 1))]
        weights = [1 / abs(mpmath.polyval(below[::-1], t)) for t in nodes]
    return [float(c) for c in above], [float(c) for c in below]


if __name__ == "__main__":
    mpmath.mp.dps = 40
    above, below = fit()
    error = max(
        abs(float(np.polyval(above[::-1], t) / np.polyval(below[::-1], t) / ratio(mpmath.mpf(t)) - 1))
        for t in np.linspace(1e-3, 1, 997)
    )
    print(f"above = {above}\nbelow = {below}\nlargest relative error = {error:.1e}")
