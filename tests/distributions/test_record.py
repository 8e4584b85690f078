"""Records of forecasts: they say the same as the components that are made of them."""

import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pytest import approx

from adabypass import AutoBypass, EvidenceBypass, Forecaster, Mixture
from adabypass.distributions import evaluate
from adabypass.distributions.component import COMPONENT, Components
from adabypass.distributions.predictive import concatenate
from adabypass.distributions.record import RecordLayout
from adabypass.numerics.noise import FLEXIBLE_NORMALS, Family
from adabypass.validation import Floats
from tests.mixtures import split_flexible

FAMILIES = (Family.FLEXIBLE, Family.FLEXIBLE, Family.INSENSITIVE, Family.GAUSSIAN, Family.MODERATE, Family.HEAVY)
FIELDS = ("weight", "mean", "signal_var", "noise_scale", "epsilon")


def drawn(
    seed: int, families: tuple[Family, ...] = FAMILIES, n_signals: int | None = None
) -> tuple[Floats, Floats, Components]:
    """Return a record, its shares of the normals, and what it says of every linear model."""
    rng = np.random.default_rng(seed)
    n = len(families)
    n_signals = n if n_signals is None else n_signals
    parts, shaped, signals = np.zeros(n, COMPONENT), np.array(families) == Family.INSENSITIVE, np.arange(n) % n_signals
    mean, signal_var = rng.normal(size=n_signals), rng.gamma(1, 1, n_signals)
    parts["weight"], parts["noise_scale"] = rng.dirichlet(np.ones(n)), rng.gamma(2, 1, n)
    parts["mean"], parts["signal_var"] = mean[signals], signal_var[signals]
    parts["epsilon"] = np.where(shaped, rng.uniform(0.1, 2.0, n), 0.0)
    parts["family"] = families
    shares = rng.dirichlet(np.ones(len(FLEXIBLE_NORMALS.start)))
    kept = shares if Family.FLEXIBLE in families else shares[:0]
    record = [[-1.0], kept, parts["weight"], mean, signal_var, parts["noise_scale"], parts["epsilon"][shaped]]
    return np.concatenate(record), shares, parts


@given(st.integers(0, 2**32), st.integers(1, len(FAMILIES)))
def test_components_are_those_of_the_linear_models_with_flexible_noise_split(seed: int, n_signals: int) -> None:
    record, shares, parts = drawn(seed, n_signals=n_signals)
    expected, found = split_flexible(parts, shares), RecordLayout(FAMILIES, n_signals).expand(record)
    assert list(found["family"]) == list(expected["family"])
    for name in FIELDS:
        assert found[name] == approx(expected[name], rel=1e-14, abs=1e-14)


@given(st.integers(0, 2**32), st.integers(1, len(FAMILIES)), st.floats(0.001, 0.999))
def test_quantiles_and_probabilities_are_those_of_the_components(seed: int, n_signals: int, q: float) -> None:
    record, layout = drawn(seed, n_signals=n_signals)[0], RecordLayout(FAMILIES, n_signals)
    by_components = Mixture(layout.expand(record))
    by_record = Mixture.from_record(record, layout, by_components.mean, by_components.var)
    y = by_components.quantile(q)
    assert by_record.quantile(q) == approx(y, rel=1e-9, abs=1e-9)
    assert by_record.cdf(y) == approx(q, rel=1e-9)
    assert by_record.sf(y) == approx(1 - q, rel=1e-9)
    assert by_record.logpdf(y) == by_components.logpdf(y)
    assert by_record.interval(0.8) == approx(by_components.interval(0.8), rel=1e-9, abs=1e-9)


def test_a_record_without_flexible_noise_has_no_shares() -> None:
    families = (Family.INSENSITIVE, Family.GAUSSIAN)
    record, _, parts = drawn(3, families)
    layout = RecordLayout(families)
    assert layout.size == len(record) == 10
    assert layout.expand(record)["mean"] == approx(parts["mean"])


def test_before_a_scale_is_known_all_noise_is_of_one_family() -> None:
    record, _, parts = drawn(5)
    record[0] = Family.MODERATE
    found = RecordLayout(FAMILIES).expand(record)
    assert set(found["family"]) == {Family.MODERATE}
    assert found["weight"][found["weight"] > 0] == approx(parts["weight"])
    assert found["noise_scale"][found["weight"] > 0] == approx(parts["noise_scale"])


def test_nothing_is_known_where_the_mean_is_nan() -> None:
    layout = RecordLayout(FAMILIES)
    record = np.full(layout.size, np.nan)
    found = layout.expand(record)
    assert np.isnan(found["mean"]).all()
    assert found["weight"].sum() == approx(1.0)
    forecast = Mixture.from_record(record, layout, np.nan, np.inf)
    assert np.isnan(forecast.interval(0.9)).all()
    assert np.isnan(forecast.cdf(0.0))


@pytest.mark.parametrize("families", [(), (Family.GAUSSIAN, Family.FLEXIBLE)])
def test_a_record_layout_needs_families_and_flexible_ones_first(families: tuple[Family, ...]) -> None:
    with pytest.raises(ValueError, match="at least one noise family, flexible ones first"):
        RecordLayout(families)


@pytest.mark.parametrize("n_signals", [0, 7])
def test_a_record_layout_has_no_more_signals_than_linear_models(n_signals: int) -> None:
    with pytest.raises(ValueError, match=f"n_signals is {n_signals}, but must be from 1 to 6"):
        RecordLayout(FAMILIES, n_signals)


@pytest.mark.parametrize("call", [
    lambda layout: layout.expand(np.zeros(layout.size + 1)),
    lambda layout: evaluate.cdf(np.zeros((1, layout.size - 1)), np.zeros(1), layout),
    lambda layout: evaluate.interval(np.zeros(layout.size - 1), layout, 0.1, 0.9),
])  # fmt: skip
def test_records_of_another_size_are_refused(call: Any) -> None:
    with pytest.raises(ValueError, match="numbers"):
        call(RecordLayout(FAMILIES))


def stream(n: int = 40) -> tuple[Floats, Floats]:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(n, 2))
    return X, X @ [1.0, -2.0] + rng.standard_t(4, n)


@pytest.mark.parametrize("model", [AutoBypass(), EvidenceBypass()], ids=lambda model: type(model).__name__)
def test_a_trace_says_what_each_forecast_said(model: Any) -> None:
    X, y = stream()
    trace = model.copy().run(X, y).predictive
    for t, (x, target) in enumerate(zip(X, y, strict=True)):
        forecast = model.step(x, target)
        assert forecast.components.tobytes() == trace[t].components.tobytes()
    assert trace[5:9].components.tobytes() == trace.components[5:9].tobytes()
    assert trace[y > 0].mean.tobytes() == trace.mean[y > 0].tobytes()


def test_differences_added_up_are_in_the_record() -> None:
    rng = np.random.default_rng(2)
    series = rng.normal(size=60).cumsum() + 100
    forecaster = Forecaster(lags=1, difference=1)
    predictive = forecaster.run(series).predictive
    assert isinstance(predictive, Mixture)
    parts = predictive.components[-1]
    assert parts["weight"] @ parts["mean"] == approx(predictive.mean[-1])


def test_pickles_and_joins_stay_records() -> None:
    X, y = stream()
    many = AutoBypass().run(X, y).predictive
    assert isinstance(many, Mixture)
    assert many.record is not None
    again = pickle.loads(pickle.dumps(many))
    joined = concatenate([many[:7], many[7], many[8:]])
    assert isinstance(joined, Mixture)
    for each in (again, joined):
        assert each.record_layout == many.record_layout
        assert each.record is not None
        assert each.record.tobytes() == many.record.tobytes()
