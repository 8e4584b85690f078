"""Series of counts are forecast as counts, without being told."""

import numpy as np
import pytest

from adabypass import Forecaster, forecast
from adabypass.distributions.mixture import Mixture

RNG = np.random.default_rng(5)
SERIES = {
    "many zeros": RNG.poisson(0.4, 150).astype(float),
    "few": RNG.poisson(3.0, 150).astype(float),
    "rising": RNG.poisson(np.linspace(1, 60, 150)).astype(float),
    "falling to nothing": RNG.poisson(np.linspace(30, 0, 150)).astype(float),
    "bursts": RNG.negative_binomial(0.3, 0.02, 150).astype(float),
    "large": RNG.poisson(1e5, 150).astype(float),
    "a week": RNG.poisson(np.resize([9, 9, 9, 9, 9, 1, 0], 154)).astype(float),
    "hardly ever another": np.append(np.full(40, 3.0), 4.0),
    "one at the end": np.append(np.zeros(60), 1.0),
}


@pytest.mark.parametrize("name", SERIES)
def test_quantiles_and_draws_are_counts_and_no_mean_is_negative(name: str) -> None:
    model = Forecaster()
    model.run(SERIES[name])
    found = model.forecast(24)
    levels = np.array([0.001, 0.05, 0.5, 0.95, 0.999])
    quantiles = found.quantile(levels)
    assert (quantiles == np.floor(quantiles)).all()
    assert (np.diff(quantiles, axis=0) >= 0.0).all()
    assert (quantiles >= 0.0).all()
    assert (found.mean >= 0.0).all()
    low, high = found.interval(0.999)
    assert ((low <= found.mean) & (found.mean <= high)).all()
    drawn = model.forecast(24, method="paths", n_paths=200, rng=0).paths
    assert drawn is not None
    assert (drawn == np.floor(drawn)).all()
    assert (drawn >= 0.0).all()


def test_probabilities_of_counts_are_near_what_happens() -> None:
    """Student's t, rounded, is not Poisson's law: 1 is 7 % too rare here."""
    y = np.random.default_rng(0).poisson(1.2, 4000).astype(float)
    trace = Forecaster().run(y)
    for k in range(4):
        expected = np.exp(trace.predictive.logpdf(np.full(len(trace.y), float(k))))
        assert np.mean(expected[500:]) == pytest.approx(np.mean(trace.y[500:] == k), abs=0.08)


@pytest.mark.parametrize("newest", [2.5, -1.0])
def test_a_value_that_is_no_count_ends_it_at_a_price_that_is_finite(newest: float) -> None:
    model = Forecaster()
    model.run(SERIES["few"])
    assert isinstance(before := model.forecast(1).predictive, Mixture)
    assert -20.0 < before.logpdf(newest)[0] < -3.0
    model.update(newest)
    after = model.forecast(5).quantile(0.3)
    assert (after != np.floor(after)).any()


def test_a_dozen_values_are_needed() -> None:
    model = Forecaster()
    model.run(SERIES["few"][:11])
    assert (model.forecast(5).quantile(0.3) != np.floor(model.forecast(5).quantile(0.3))).any()
    model.update(SERIES["few"][11])
    assert (model.forecast(5).quantile(0.3) == np.floor(model.forecast(5).quantile(0.3))).all()


def test_one_step_ahead_and_in_a_trace_they_are_counts_too() -> None:
    trace = Forecaster().run(SERIES["few"])
    median = trace.predictive.quantile(0.3)[20:]
    assert (median == np.floor(median)).all()
    model = Forecaster()
    model.run(SERIES["few"])
    assert model.predict().quantile(0.3) == np.floor(model.predict().quantile(0.3))


def test_a_frame_s_forecasts_are_counts() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"time": pandas.date_range("2024-01-01", periods=150), "sold": SERIES["few"]})
    table = forecast(frame, horizon=7, target="sold", time="time")
    assert (table["median"] == table["median"].round()).all()
