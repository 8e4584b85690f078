"""The automatic forecaster stays sound for as long as anyone will let it run."""

import numpy as np
import pytest

from adabypass import Forecaster


@pytest.mark.slow
def test_ten_million_observations_stay_sound() -> None:
    rng = np.random.default_rng(12)
    forecaster = Forecaster(period=4)
    level = 0.0
    for part in range(100):
        steps = rng.standard_t(2, 100_000)
        y = level + 0.1 * steps.cumsum() + rng.normal(size=100_000) + 3.0 * (np.arange(100_000) % 4 == 1)
        if part % 10 == 3:
            y[50_000:50_500] = np.nan
        level = float(y[-1])
        forecaster.learn(y)
        forecast = forecaster.forecast(40)
        assert np.isfinite(forecast.mean).all()
        assert (forecast.var > 0).all()
        low, high = forecast.interval(0.9)
        assert (low < high).all()
    assert forecaster.n_seen == 10_000_000 - 10 * 500
    bank = forecaster._runner
    assert bank is not None
    spec, row = bank.structures.spec, bank.row
    assert np.isfinite(row).all()
    for k in range(len(spec.sizes)):
        values = np.linalg.eigvalsh(spec.belief(row, k)[1])
        assert values[0] > -1e-10 * values[-1]
