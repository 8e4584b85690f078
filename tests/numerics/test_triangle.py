"""Models of one symmetric matrix: any number of features is right, and every instruction set gives the same bits."""

import numpy as np
import pytest
from pytest import approx

from adabypass.kernels.kalman import KERNEL as KALMAN
from adabypass.kernels.runner import DenseRunner
from adabypass.numerics import dispatch
from adabypass.reference import kalman
from adabypass.reference.linear_gaussian import Weights
from adabypass.state.layout import pack
from adabypass.state.paper import SequentialKalmanSpec
from tests.numerics.learned import learned, one_worker


@one_worker
def test_every_instruction_set_gives_the_same_bits() -> None:
    expected = learned("plain").many_features
    assert len(expected) == 44
    for name in dispatch.available():
        assert learned(name).many_features == expected


@pytest.mark.parametrize("n", [*range(1, 42), 63, 64, 65, 127, 200])
def test_a_step_equals_the_reference_with_any_number_of_features(n: int) -> None:
    rng, spec = np.random.default_rng(n), SequentialKalmanSpec()
    root = rng.normal(size=(n, n)) / np.sqrt(n)
    belief = kalman.Belief(Weights(rng.normal(size=n), root @ root.T + np.eye(n)), 0.5, 2.0, 3)
    row = np.concatenate([[3.0, 0.5, 2.0], belief.weights.mean, pack(belief.weights.cov)])
    model = DenseRunner(KALMAN, spec, row, n)
    x, y = rng.normal(size=n), 5.0
    forecast = model.predict(x)
    assert (forecast.mean, forecast.var) == approx(kalman.predict(belief, x), rel=1e-12)
    model.update(x, y)
    after = kalman.update(belief, x, y, spec)
    assert model.row[3 : 3 + n] == approx(after.weights.mean, rel=1e-10, abs=1e-12)
    assert model.row[3 + n :] == approx(pack(after.weights.cov), rel=1e-10, abs=1e-12)
