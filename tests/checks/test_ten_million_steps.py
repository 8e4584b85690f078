"""Every regressor stays sound for as long as anyone will let it run."""

import numpy as np
import pytest

from tests.checks.regressors import Make, assert_sound, every_regressor


@pytest.mark.slow
@every_regressor
def test_ten_million_steps_stay_sound(make: Make) -> None:
    model = make()
    rng = np.random.default_rng(11)
    weights = np.zeros(3)
    for _ in range(100):
        X = rng.normal(size=(100_000, 3)) * [1.0, 1e3, 1e-3]
        weights = weights + rng.normal(size=3)
        trace = model.run(X, X @ weights + rng.standard_t(2, 100_000))
        assert np.isfinite(trace.mean).all()
        if not trace.predictive.is_point:
            assert np.isfinite(trace.var).all()
            assert (trace.var > 0).all()
        assert_sound(model)
    assert model.n_seen == 10_000_000
