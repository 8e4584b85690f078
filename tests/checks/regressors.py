"""The regressors that the checklist is run on, and what several of its parts need."""

import pickle
from collections.abc import Callable

import numpy as np
import pytest

from adabypass import (
    AdaBypass,
    AutoBypass,
    Bypass,
    PassiveAggressive,
    Regressor,
    SequentialKalman,
)
from adabypass.regressors import KINDS
from adabypass.state.bank import AutoBypassSpec
from tests.strategies import Stream

Make = Callable[[], Regressor]

REGRESSORS: dict[str, Make] = {name: kind for name, kind in KINDS.items() if kind is not PassiveAggressive} | {
    "PA": lambda: PassiveAggressive("PA"),
    "PA-I": lambda: PassiveAggressive("PA-I"),
    "PA-II": lambda: PassiveAggressive("PA-II"),
    "SequentialKalman, adapted": lambda: SequentialKalman(adapt_noise=True),
    "Bypass, 2 sweeps": lambda: Bypass(max_sweeps=2),
    "AutoBypass, no intercept": lambda: AutoBypass(intercept=False),
    "AutoBypass, diagonal": lambda: AutoBypass(covariance="diagonal"),
    "AutoBypass, season": lambda: AutoBypass._of_spec(AutoBypassSpec(period=5)),
    "AutoBypass, shared season": lambda: AutoBypass(period=5),
    "Bypass, corrected": lambda: Bypass(corrections=["E1", "E2", "E3", "E4"]),
    "AdaBypass, right gradients": lambda: AdaBypass(corrections=["E5"]),
    "AdaBypass, right gradients, aggressive": lambda: AdaBypass(corrections=["E3", "E5", "E8"], aggressiveness=10.0),
    "AdaBypass, aggressive": lambda: AdaBypass(aggressiveness=10.0),
}
# Ten thousand times the paper's aggressiveness is there to be survived, not to learn well.
SENSIBLE = {name: make for name, make in REGRESSORS.items() if "aggressive" not in name}

every_regressor = pytest.mark.parametrize("make", REGRESSORS.values(), ids=REGRESSORS.keys())
every_sensible_regressor = pytest.mark.parametrize("make", SENSIBLE.values(), ids=SENSIBLE.keys())


def row_of(model: Regressor) -> bytes:
    """Return the whole memory of a model, bit for bit."""
    return pickle.dumps(model.__getstate__()["row"])


def bits(values: object) -> bytes:
    """Return the bits of numbers: 0.0 differs from -0.0, and nan equals the same nan."""
    return np.asarray(values, dtype=np.float64).tobytes()


def trained(make: Make, n_features: int = 3) -> Regressor:
    rng = np.random.default_rng(7)
    model = make()
    X = rng.normal(size=(50, n_features))
    model.run(X, X @ np.arange(1, n_features + 1) + rng.normal(size=50))
    return model


def hostile_streams() -> dict[str, Stream]:
    n = 400
    rng = np.random.default_rng(3)
    noise = rng.normal(size=(n, 3))
    sign = np.where(np.arange(n) % 2, 1.0, -1.0)
    walk = noise.cumsum(axis=0)
    return {
        "constants": Stream(np.ones((n, 3)), np.full(n, 5.0)),
        "zeros": Stream(np.zeros((n, 3)), np.zeros(n)),
        "zero features": Stream(np.zeros((n, 3)), noise[:, 0]),
        "tiny everything": Stream(1e-300 * noise, 1e-300 * noise[:, 1]),
        "tiny features": Stream(1e-300 * noise, 1e300 * sign),
        "huge everything": Stream(1e300 * np.sign(noise), 1e300 * sign),
        "huge features": Stream(1e300 * np.sign(noise), noise[:, 0]),
        "huge targets": Stream(noise, 1e300 * sign),
        "largest doubles": Stream(np.full((n, 3), np.finfo(float).max), np.finfo(float).max * sign),
        "smallest doubles": Stream(np.full((n, 3), 5e-324), 5e-324 * sign),
        "alternating 1e150": Stream(1e150 * np.outer(sign, np.ones(3)), 1e150 * sign),
        "alternating sizes": Stream(noise * (10.0 ** (150 * sign))[:, None], noise[:, 0] * 10.0 ** (150 * sign)),
        "mixed sizes": Stream(noise * [1e-200, 1.0, 1e200], noise[:, 0]),
        "collinear": Stream(np.outer(noise[:, 0], [1.0, 2.0, -3.0]), noise[:, 0]),
        "nearly collinear": Stream(np.outer(noise[:, 0], [1.0, 1.0, 1.0]) + 1e-9 * noise, noise[:, 0]),
        "random walks": Stream(1e6 * walk, walk[:, 0]),
        "one outlier": Stream(noise, np.where(np.arange(n) == 200, 1e200, noise[:, 0])),
        "all missing": Stream(noise, np.full(n, np.nan)),
        "random scales": Stream(noise * 10.0 ** rng.uniform(-300, 300, (n, 3)), 10.0 ** rng.uniform(-300, 300, n)),
        "huge, then ordinary": Stream(np.where(np.arange(n)[:, None] < 10, 1e300, noise), noise[:, 0]),
    }


def assert_sound(model: Regressor) -> None:
    """The whole memory is finite; the covariance is symmetric, positive semi-definite, non-negative."""
    row, layout = model.__getstate__()["row"].copy(), model._spec.layout
    if "log_score" in layout.scalars and np.isnan(layout.scalar(row, "log_score")):
        row[layout.position("log_score")] = 0.0  # the newest forecast was blank, and has no score
    assert np.isfinite(row).all()
    mean, cov = model.weights
    assert np.isfinite(mean).all()
    assert np.isfinite(list(model.parameters.values())).all()
    if cov is not None:
        assert np.isfinite(cov).all()
        assert np.array_equal(cov, cov.T)
        assert (cov.diagonal() >= 0).all()
        size = float(np.abs(cov).max()) or 1.0
        # eigvalsh itself errs by a few units in the last place of the largest entry.
        assert np.linalg.eigvalsh(cov / size).min() >= -1e-15 * len(cov)
