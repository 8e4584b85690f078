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
    for part in range(100):
        X = rng.normal(size=(100_000, 3)) * [1.0, 1e3, 1e-3]
        weights = weights + rng.normal(size=3)
        trace = model.run(X, X @ weights + rng.standard_t(2, 100_000))
        known = trace.is_known
        assert known[1 if part == 0 else 0 :].all()  # nothing may be known before the first observation
        assert np.isfinite(trace.mean[known]).all()
        if not trace.predictive.is_point:
            assert np.isfinite(trace.var[known]).all()
            assert (trace.var[known] > 0).all()
        assert_sound(model)
    assert model.n_seen == 10_000_000
