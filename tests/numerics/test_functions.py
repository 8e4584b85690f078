"""The functions for vectors equal mpmath's."""

from collections.abc import Callable

import mpmath
import numpy as np
import pytest
from pytest import approx

from adabypass.numerics import dispatch
from adabypass.validation import Floats


def tail(x: float) -> tuple[float, float, float]:
    """Mills' ratio, mean excess and variance of a standard normal beyond x, by mpmath."""
    with mpmath.workdps(60):
        at = mpmath.mpf(x)
        mass = mpmath.sqrt(mpmath.pi / 2) * mpmath.erfc(at / mpmath.sqrt(2)) * mpmath.exp(at**2 / 2)
        mean = 1 / mass - at
        return float(mass), float(mean), float(1 - at * mean - mean**2)


def sizes(low: float, high: float, n: int = 400) -> Floats:
    return np.geomspace(low, high, n)


def test_exp_is_exact_to_the_last_digit() -> None:
    x = np.concatenate([np.linspace(-708, 709, 1001), sizes(1e-18, 1), -sizes(1e-18, 1)])
    assert dispatch.apply("exp", x) == approx(np.exp(x), rel=5e-16, abs=0.0)


@pytest.mark.parametrize(("x", "y"), [(-709.0, 0.0), (-1e300, 0.0), (-np.inf, 0.0), (0.0, 1.0), (-0.0, 1.0)])
def test_exp_is_0_where_it_would_lose_digits(x: float, y: float) -> None:
    assert dispatch.apply("exp", np.array([x])) == y


def test_exp_is_never_infinite() -> None:
    assert np.isfinite(dispatch.apply("exp", np.array([710.0, 1e300, np.inf]))).all()


def test_log_is_exact_to_the_last_digit() -> None:
    x = np.concatenate([sizes(1e-307, 1e308, 2001), 1 + sizes(1e-16, 0.5), 1 - sizes(1e-16, 0.5)])
    assert dispatch.apply("log", x) == approx(np.log(x), rel=5e-16, abs=0.0)


@pytest.mark.parametrize(("name", "of"), [("tail_mass", 0), ("tail_mean", 1), ("tail_var", 2)])
def test_the_tail_of_a_normal_loses_no_digits(name: str, of: int) -> None:
    x = np.concatenate([[0.0], sizes(1e-8, 1e8, 300)])
    assert dispatch.apply(name, x) == approx([tail(each)[of] for each in x], rel=4e-14, abs=0.0)


@pytest.mark.parametrize(("name", "limit"), [("tail_mass", lambda x: 1 / x), ("tail_mean", lambda x: 1 / x)])
def test_far_out_the_tail_is_exponential(name: str, limit: Callable[[Floats], Floats]) -> None:
    x = sizes(1e8, 1e200, 50)
    assert dispatch.apply(name, x) == approx(limit(x), rel=1e-14, abs=0.0)
