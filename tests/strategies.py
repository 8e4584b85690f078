"""Random hyperparameters and streams for property-based tests."""

import os
from typing import Any, NamedTuple

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st

from adabypass.state.paper import (
    AdaBypassSpec,
    BypassSpec,
)
from adabypass.validation import Floats

TIMES = int(os.environ.get("TIMES_EXAMPLES", "1"))
"""By how much more examples of expensive tests are tried; `make test-slow` sets it."""


def examples(n: int) -> settings:
    """Try so many examples in `make test`, where each of them is expensive, and more in `make test-slow`."""
    return settings(max_examples=n * TIMES)


class Stream(NamedTuple):
    X: Floats
    y: Floats


def powers(low: float, high: float) -> st.SearchStrategy[float]:
    """Numbers spread evenly over orders of magnitude."""
    return st.floats(low, high).map(lambda exponent: 10.0**exponent)


@st.composite
def streams(draw: st.DrawFn, max_features: int = 30, max_length: int = 25, min_length: int = 1) -> Stream:
    """Linear data with features of different sizes, outliers and gaps; hypothesis draws the shape, a seed the rest."""
    n_features = draw(st.integers(1, max_features))
    length = draw(st.integers(min_length, max_length))
    noise_scale = draw(powers(-2, 2))
    outliers, gaps = draw(st.sampled_from([0.0, 0.2])), draw(st.sampled_from([0.0, 0.3]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    X = rng.normal(size=(length, n_features)) * 10.0 ** rng.uniform(-1, 1, n_features)
    X[:, 0] = 1.0
    y = X @ rng.normal(size=n_features) + noise_scale * rng.standard_t(3, length)
    y[rng.random(length) < outliers] *= 100.0
    y[rng.random(length) < gaps] = np.nan
    return Stream(X, y)


corrections = st.sets(st.sampled_from(["E1", "E2", "E3", "E4"]), min_size=1).map(lambda names: tuple(sorted(names)))


@st.composite
def bypass_cases(
    draw: st.DrawFn,
    adaptive: bool,
    max_features: int = 30,
    max_length: int = 25,
    min_length: int = 1,
    corrected: bool = False,
) -> tuple[Stream, BypassSpec]:
    """A stream and hyperparameters; if `corrected`, with some of the paper's errata corrected.

    The paper's fixed point runs away where a is not well above half the number of features (erratum E2): such an a
    comes only with a few sweeps.
    """
    stream = draw(streams(max_features, max_length, min_length))
    max_sweeps = draw(st.sampled_from([1, 2, 7, None]))
    a = draw(powers(0, 3.5)) * stream.X.shape[1] if max_sweeps is None else draw(powers(-1, 4))
    common: dict[str, Any] = {
        "a": a,
        "b": draw(powers(-3, 3)),
        "epsilon": draw(powers(-2, 1.5)),
        "max_sweeps": max_sweeps,
        "tol": 1e-13,
        "corrections": draw(corrections) if corrected else (),
    }
    if not adaptive:
        return stream, BypassSpec(**common)
    return stream, AdaBypassSpec(**common, aggressiveness=draw(powers(-6, -1)), omega_min=draw(powers(-8, -3)))
