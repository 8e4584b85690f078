"""Mathematics found elsewhere: slow, exact, and sharing no code with the library."""

from functools import cache
from itertools import pairwise
from typing import NamedTuple

import mpmath
import numpy as np
from mpmath.calculus.quadrature import GaussLegendre

from adabypass.distributions.component import Components
from adabypass.validation import Floats


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
    """Mean and variance of N(location, 1/prec) on [-half_width, half_width]: the textbook form, in 200 digits."""
    with mpmath.workdps(200):
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


def atom_moments(location: float, prec: float, half_width: float) -> tuple[float, float]:
    """Mean and variance of the same with an atom at either end, whose weight is the Gaussian's density there."""
    with mpmath.workdps(200):
        r, scale, eps = abs(mpmath.mpf(location)), mpmath.sqrt(mpmath.mpf(prec)), mpmath.mpf(half_width)
        low, high = scale * (r - eps), scale * (r + eps)
        mass = (mpmath.erfc(low / mpmath.sqrt(2)) - mpmath.erfc(high / mpmath.sqrt(2))) / 2
        near, far = scale * mpmath.npdf(low), scale * mpmath.npdf(high)  # at eps and at -eps
        shift = (mpmath.npdf(low) - mpmath.npdf(high)) / mass
        inner = r - shift / scale
        second = (1 + (low * mpmath.npdf(low) - high * mpmath.npdf(high)) / mass - shift**2) / scale**2 + inner**2
        total = mass + near + far
        mean = (mass * inner + (near - far) * eps) / total
        var = (mass * second + (near + far) * eps**2) / total - mean**2
        return (-1 if location < 0 else 1) * float(mean), float(var)


def mixture_nodes(components: Components, *edges: float) -> tuple[Floats, Floats]:
    """Points and weights of a quadrature over the line, in panels as narrow as each component's own scales.

    No panel reaches over any of the `edges`.
    """
    nodes, weights = np.polynomial.legendre.leggauss(20)
    ladder = np.array([0, 0.3, 0.7, 1.2, 2, 3, 4.5, 6.5, 9, 13, 20, 30, 45, 70, 120, 200, 350, 600, 1000])
    ladder = np.concatenate([-ladder, ladder])
    ends = [np.array(edges)]
    for part in components:
        top = part["noise_scale"] * part["epsilon"]
        for scale in (np.sqrt(part["signal_var"]), part["noise_scale"]):
            ends += [part["mean"] + corner + ladder * scale for corner in (-top, 0.0, top)]
    panels = np.unique(np.concatenate(ends))
    half = np.diff(panels)[:, None] / 2
    return (panels[:-1, None] + half * (1 + nodes)).ravel(), (half * weights).ravel()


def normal_logpdf(y: Floats, mean: Floats, cov: Floats) -> float:
    """Joint log density of a Gaussian vector."""
    centred = y - mean
    return float(
        -0.5 * (centred @ np.linalg.solve(cov, centred) + np.linalg.slogdet(cov)[1] + len(y) * np.log(2 * np.pi))
    )


class ExactEvidence(NamedTuple):
    """Log density of y times σ, its slopes, and the posterior of η, in many digits, rounded at the end."""

    log_density: float
    mean: float
    shift: float
    var: float
    scale_slope: float
    epsilon_slope: float


@cache
def _gauss_legendre() -> list[tuple[mpmath.mpf, mpmath.mpf]]:
    """24 nodes on [-1, 1] and their weights."""
    with mpmath.workdps(30):
        nodes: list[tuple[mpmath.mpf, mpmath.mpf]] = GaussLegendre(mpmath.mp).calc_nodes(4, mpmath.mp.prec)
        return nodes


def insensitive_evidence(d: float, v: float, epsilon: float) -> ExactEvidence:
    """Integrate N(η; d, v) p(η | ε) and its moments piece by piece, by Gauss-Legendre in 30 digits.

    All integrals share their nodes: the integrand is what costs.
    """
    with mpmath.workdps(30):
        d_, v_, e = mpmath.mpf(d), mpmath.mpf(v), mpmath.mpf(epsilon)
        sd = mpmath.sqrt(v_)

        def log_integrand(eta: mpmath.mpf) -> mpmath.mpf:
            return -((eta - d_) ** 2) / (2 * v_) - max(abs(eta) - e, 0)

        # The posterior's mode: the density is log-concave, and each piece has its own centre.
        centres = [max(-mpmath.inf, min(d_ + v_, -e)), max(-e, min(d_, e)), max(d_ - v_, e)]
        top = max(log_integrand(c) for c in centres)

        def scale(c: mpmath.mpf, centre: mpmath.mpf) -> mpmath.mpf:
            slope = abs(c - centre) / v_
            return 1 / mpmath.sqrt(1 / v_ + slope**2)

        sums = [mpmath.mpf(0)] * 3
        tails = [mpmath.mpf(0)] * 2
        base = centres[max(range(3), key=lambda i: log_integrand(centres[i]))]
        for index, (c, centre, low, high) in enumerate(
            zip(centres, (d_ + v_, d_, d_ - v_), (-mpmath.inf, -e, e), (-e, e, mpmath.inf), strict=True)
        ):
            if log_integrand(c) - top < -120:
                continue
            width = scale(c, centre)
            steps = [-60, -30, -14, -7, -3, -1, 0, 1, 3, 7, 14, 30, 60]
            points = sorted({min(max(c + k * width, low), high) for k in steps})
            for left, right in pairwise(points):
                half = (right - left) / 2
                for node, weight in _gauss_legendre():
                    t = left + half * (1 + node)
                    part = half * weight * mpmath.exp(log_integrand(t) - top)
                    for power in range(3):
                        sums[power] += part * (t - base) ** power
                    if index != 1:
                        tails[0] += part
                        tails[1] += part * abs(t)
        mean = sums[1] / sums[0]
        return ExactEvidence(
            log_density=float(mpmath.log(sums[0] / (2 * (1 + e) * sd * mpmath.sqrt(2 * mpmath.pi))) + top),
            mean=float(base + mean),
            shift=float(base + mean - d_),
            var=float(sums[2] / sums[0] - mean**2),
            scale_slope=float(tails[1] / sums[0] - 1),
            epsilon_slope=float(tails[0] / sums[0] - 1 / (1 + e)),
        )


def normals_evidence(d: float, v: float, share: Floats, center: Floats, sd: Floats) -> ExactEvidence:
    """Integrate N(η; d, v) p(η), p a mixture of normals, and its moments by Gauss-Legendre."""
    # The product peaks where that of each normal does: panels of half its width, out to 14 of them on either side.
    peaks, widths = (sd**2 * d + v * center) / (sd**2 + v), np.sqrt(sd**2 * v / (sd**2 + v))
    edges = np.unique(np.concatenate([c + w * np.arange(-14, 14.1, 0.5) for c, w in zip(peaks, widths, strict=True)]))
    nodes, weights = np.polynomial.legendre.leggauss(20)
    half = np.diff(edges)[:, None] / 2
    eta = (edges[:-1, None] + half * (1 + nodes)).ravel()
    measure = (half * weights).ravel()
    apart = eta[:, None] - center
    logs = np.log(share) - 0.5 * (apart / sd) ** 2 - np.log(sd) - np.log(2 * np.pi)
    logs += (-0.5 * ((eta - d) ** 2 / v + np.log(v)))[:, None]
    top = logs.max()
    parts = np.exp(logs - top) * measure[:, None]
    total = parts.sum()
    mean = (parts * (eta - d)[:, None]).sum() / total
    return ExactEvidence(
        log_density=float(top + np.log(total)),
        mean=float(d + mean),
        shift=float(mean),
        var=float((parts * ((eta - d - mean) ** 2)[:, None]).sum() / total),
        scale_slope=float((parts * (eta[:, None] * apart / sd**2 - 1)).sum() / total),
        epsilon_slope=0.0,
    )
