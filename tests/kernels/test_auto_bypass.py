"""AutoBypass of y, its log and its root obeys the reference, which mixes three banks by equations (J.1)-(J.5)."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pytest import approx
from scipy import integrate

from adabypass import AutoBypass, Mixture
from adabypass.distributions.component import Target
from adabypass.kernels.auto_bypass import KERNEL
from adabypass.kernels.series import SeriesRunner
from adabypass.reference import auto_bypass as reference
from adabypass.reference import bank as reference_bank
from adabypass.state.bank import AutoBypassSpec
from adabypass.state.bank_layout import TRANSFORMED
from adabypass.state.past import Design
from adabypass.state.series import SeriesSpec
from adabypass.validation import Floats

N_FEATURES = 2


def positive_stream(n: int, seed: int) -> tuple[Floats, Floats]:
    """Return a stream of products, with features of either sign, missing values and an outlier."""
    rng = np.random.default_rng(seed)
    X = np.exp(rng.normal(size=(n, N_FEATURES))) * [1e-3, -50.0]
    y = 7.0 * (X[:, 0] * 1e3) ** 0.8 * (-X[:, 1]) ** 0.3 * np.exp(0.2 * rng.standard_t(4, n))
    y[rng.random(n) < 0.1] = np.nan
    y[n // 2] *= 20
    return X, y


def assert_follows_reference(
    X: Floats, y: Floats, period: int = 1, relative: float = 1e-6
) -> tuple[AutoBypass, reference.State]:
    model, state = AutoBypass._of_spec(AutoBypassSpec(period=period)), reference.nothing_seen(X.shape[1])
    spec = model._spec
    for x, target in zip(X, y, strict=True):
        share = reference.shares(state, x)
        parts = model.predict(x).components
        found = [parts["weight"][parts["target"] == each].sum() for each in Target]
        assert found == approx(share, rel=relative, abs=1e-9)
        score = model.run(x[None], [target]).log_score[0]
        state, log_density = reference.update(state, x, float(target), spec)
        assert score == approx(log_density, rel=relative, abs=relative, nan_ok=True)
    row, dims = model.__getstate__()["row"], spec.dims(X.shape[1])
    if state.is_followed:
        assert spec.layout.view(row, "target_evidence", **dims) == approx(state.evidence, rel=1e-5, abs=1e-6)
        assert spec.layout.view(row, "target_unit", **dims) == approx(state.units)
    return model, state


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_positive_streams_equal_reference(seed: int) -> None:
    X, y = positive_stream(90, seed)
    model, state = assert_follows_reference(X, y)
    row = model.__getstate__()["row"]
    for name, bank in zip(TRANSFORMED, state.banks[1:], strict=True):
        part, spec = model._spec.view(row, name, N_FEATURES), model._spec.transformed
        assert bank.bank is not None
        assert spec.view(part, "filter_share", N_FEATURES) == approx(bank.bank.shares, rel=1e-5, abs=1e-9)
        assert (
            approx(np.array([each.weights.mean for each in bank.bank.walks]), rel=1e-5, abs=1e-6)
            == spec.view(part, "walk_mean", N_FEATURES).T
        )


@pytest.mark.parametrize("last", [-3.0, 0.0, -1e-300])
def test_after_a_value_that_is_not_positive_the_bank_of_y_is_alone(last: float) -> None:
    X, y = positive_stream(80, 3)
    y[45] = last
    _, state = assert_follows_reference(X, y)
    assert not state.is_positive


def test_a_feature_that_loses_its_sign_is_taken_as_it_is() -> None:
    X, y = positive_stream(110, 4)
    X[40, 0] = -2.0
    X[41, 1] = 0.0
    _, state = assert_follows_reference(X, y)
    assert state.units is not None
    assert state.units[1:] == approx([0.0, 0.0])
    assert reference.shares(state, X[0])[1:].sum() > 0  # both have settled again


def test_a_season_goes_on_in_all_banks() -> None:
    X, y = positive_stream(100, 5)
    y[:2] = np.nan
    X[60, 0] = 0.0
    assert_follows_reference(X, y, period=7)


@pytest.mark.parametrize("constant", [1.0, 5.0])
def test_a_constant_start_equals_reference(constant: float) -> None:
    rng = np.random.default_rng(0)
    y = np.concatenate([np.full(8, constant), constant * np.exp(0.1 * rng.normal(size=60))])
    assert_follows_reference(rng.normal(size=(68, 2)), y, relative=1e-5)


def mixed_forecast(seed: int) -> tuple[AutoBypass, Floats]:
    X, y = positive_stream(120, seed)
    model = AutoBypass()
    model.run(X[:-1], y[:-1])
    return model, X[-1]


@pytest.mark.parametrize("seed", [0, 1])
def test_moments_are_those_of_normals_on_the_transformed_scale(seed: int) -> None:
    """Mean and variance of the mixture, from those of each bank and its share: (J.4)."""
    X, y = positive_stream(120, seed)
    model, state = assert_follows_reference(X[:-1], y[:-1])
    x, spec, means, variances = X[-1], model._spec, [], []
    assert state.units is not None
    for target, bank in zip(Target, state.banks, strict=True):
        own, unit = (spec, 1.0) if target is Target.IDENTITY else (spec.transformed, state.units[0])
        z = x if target is Target.IDENTITY else reference.features(target, x, state.units)
        assert bank.bank is not None
        assert z is not None
        mean, var = reference_bank.moments(bank.bank, z, own)
        scale = bank.bank.units.y_scale
        mean, var = reference.moments(target, bank.bank.units.y_center + scale * mean, scale**2 * var)
        means.append(mean * unit)
        variances.append(var * unit**2)
    share = reference.shares(state, x)
    expected = float(share @ means)
    forecast = model.predict(x)
    assert forecast.mean == approx(expected, rel=1e-6)
    assert forecast.var == approx(share @ (np.array(variances) + (np.array(means) - expected) ** 2), rel=1e-5)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_distribution_is_one(seed: int) -> None:
    """The density integrates to differences of the distribution function, whose inverse gives quantiles."""
    model, x = mixed_forecast(seed)
    forecast = model.predict(x)
    levels = np.array([0.001, 0.05, 0.3, 0.5, 0.9, 0.999])
    points = forecast.quantile(levels)
    assert forecast.cdf(points) == approx(levels, abs=1e-9)
    assert forecast.sf(points) == approx(1 - levels, abs=1e-9)
    for low, high, mass in zip(points, points[1:], np.diff(levels), strict=False):
        assert integrate.quad(forecast.pdf, low, high, epsabs=1e-10)[0] == approx(mass, abs=1e-7)
    low, high = forecast.interval(0.9)
    assert (low, high) == approx((forecast.quantile(0.05), forecast.quantile(0.95)), rel=1e-6)
    start = np.array([-1.0, 1.0])
    for _ in range(3):
        found = forecast.interval(0.9, start=start)
    assert found == approx((low, high), rel=1e-4)


@pytest.mark.parametrize("seed", [0, 1])
def test_scores_and_draws_are_those_of_the_distribution(seed: int) -> None:
    model, x = mixed_forecast(seed)
    forecast = model.predict(x)
    draws = forecast.sample(np.random.default_rng(0), 50_000)
    assert (np.sort(draws)[[250, 25_000, 49_750]]) == approx(forecast.quantile([0.005, 0.5, 0.995]), rel=0.1)
    y = float(forecast.quantile(0.8))
    levels = np.linspace(0.00135, 0.99865, 1001)  # three normal deviates: beyond, a log may have no mean
    error = y - forecast.quantile(levels)
    expected = 2 * np.trapezoid(np.where(error > 0, levels * error, (levels - 1) * error), levels)
    assert forecast.crps(y) == approx(expected, rel=2e-3)
    assert forecast.entropy() == approx(-np.mean(forecast.logpdf(draws)), abs=0.02)


@settings(max_examples=40)
@given(seed=st.integers(0, 1000), unit=st.floats(-100, 100), x_unit=st.floats(-100, 100), sign=st.sampled_from([-1, 1]))
def test_units_do_not_matter(seed: int, unit: float, x_unit: float, sign: int) -> None:
    X, y = positive_stream(60, seed)
    plain = AutoBypass().run(X, y)
    other = AutoBypass().run(X * sign * 10.0**x_unit, y * 10.0**unit)
    assert other.mean / 10.0**unit == approx(plain.mean, rel=1e-5, nan_ok=True)
    assert other.log_score + unit * np.log(10) == approx(plain.log_score, abs=1e-5, nan_ok=True)


def test_scores_of_a_wide_log_are_those_of_its_draws() -> None:
    """However far a glitch of the log may lead; and the CRPS is not ruled by it."""
    rng = np.random.default_rng(0)
    X = np.abs(rng.normal(size=(400, 2))) + 0.1
    y = np.exp(1 + 0.5 * X[:, 0] + 0.4 * rng.normal(size=400))
    auto, none = AutoBypass().run(X, y), AutoBypass(transform="none").run(X, y)
    assert auto.log_score[100:].sum() > none.log_score[100:].sum()
    assert auto.crps[100:].mean() < 1.05 * none.crps[100:].mean()  # 0.1 to 3 % more, on eight such streams
    forecast = auto.predictive[399]
    draws = forecast.sample(rng, 100_000)
    draws = draws[draws < np.quantile(draws, 0.9987)]
    from_draws = np.abs(draws - 3).mean() - 0.5 * np.abs(draws[:50_000] - draws[-50_000:]).mean()
    assert forecast.crps(3.0) == approx(from_draws, rel=0.05)


def test_a_normal_has_the_scores_of_a_normal_whichever_way_they_are_found() -> None:
    weight = [1 - 1e-5, 1e-5]
    plain = Mixture.of(weight=[1.0], mean=[4.0], signal_var=[0.25])
    mixed = Mixture.of(weight=weight, mean=[4.0, np.log(4.0)], signal_var=[0.25, 0.01], target=[0, Target.LOG])
    assert mixed.crps(4.3) == approx(plain.crps(4.3), rel=1e-3)
    assert mixed.entropy() == approx(plain.entropy(), abs=1e-4)
    log = Mixture.of(weight=[1.0], mean=[2.0], signal_var=[0.25], target=Target.LOG)
    assert log.entropy() == approx(2.0 + 0.5 * np.log(2 * np.pi * np.e * 0.25), abs=1e-6)


def test_values_that_differ_by_rounding_are_taken_for_equal() -> None:
    rng = np.random.default_rng(0)
    y = 0.3 * np.where(rng.random(301) < 0.5, 1.0, 1 + 2.3e-16)
    y[300] = 0.45
    X = rng.normal(size=(301, 1))
    auto, none = AutoBypass().run(X, y), AutoBypass(transform="none").run(X, y)
    assert auto.log_score[300] == none.log_score[300]


@pytest.mark.parametrize("first", [1e-160, 1e-300, 1e300])
def test_the_first_value_is_but_a_unit(first: float) -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 1)), np.exp(0.5 * rng.normal(size=300))
    y[0] = first
    model = AutoBypass()
    model.run(X, y)
    forecast = model.predict(X[0])
    assert forecast.quantile(0.1) < forecast.mean < forecast.quantile(0.9)  # of values about 1
    assert forecast.sd < 2.0


def test_moments_of_any_size_are_finite() -> None:
    assert Mixture.of(weight=[1.0], mean=[1e200], signal_var=[1.0]).var == approx(1.0)
    wide = Mixture.of(weight=[1.0], mean=[1e80], signal_var=[1e160], target=Target.ROOT)
    narrow = Mixture.of(weight=[1.0], mean=[1.0], signal_var=[1.0], target=Target.ROOT)
    assert wide.mean == approx(1e160 * narrow.mean)
    assert wide.var == 1e300


def test_the_distribution_function_of_a_log_rises() -> None:
    log = Mixture.of(weight=[1.0], mean=[-702.0], signal_var=[1.0], target=Target.LOG)
    assert np.array_equal(log.cdf(np.array([-5.0, 0.0])), [0.0, 0.0])
    assert np.array_equal(log.sf(np.array([-5.0, 0.0])), [1.0, 1.0])
    assert log.cdf(np.exp(-702.0)) == approx(0.5)
    assert log.quantile(0.5) == approx(np.exp(-702.0), rel=1e-6)


def test_products_are_learned_as_such() -> None:
    """Where the log of y is linear in the logs of the features, and only there, its bank takes over."""
    rng = np.random.default_rng(0)
    X = np.exp(rng.normal(size=(1000, 2)))
    y = X[:, 0] ** 1.5 / X[:, 1] * np.exp(0.1 * rng.normal(size=1000))
    auto, none = AutoBypass().run(X, y), AutoBypass(transform="none").run(X, y)
    assert auto.log_score[20:].mean() > none.log_score[20:].mean() + 1.0
    truth = -0.5 * np.log(2 * np.pi * 0.01) - np.log(y) - 0.5 * (np.log(y / X[:, 0] ** 1.5 * X[:, 1]) / 0.1) ** 2
    assert auto.log_score[200:].mean() > truth[200:].mean() - 0.02


def test_one_by_one_and_as_a_stream_are_the_same() -> None:
    X, y = positive_stream(200, 8)
    y[150] = -1.0
    one, many = AutoBypass(), AutoBypass()
    trace = many.run(X, y)
    for t, (x, target) in enumerate(zip(X, y, strict=True)):
        forecast = one.step(x, target)
        assert (forecast.mean, forecast.var) == approx((trace.mean[t], trace.var[t]), rel=0, abs=0, nan_ok=True)
        if t in (5, 100, 149, 150, 151, 199):
            same = trace.predictive[t]
            assert isinstance(same, Mixture)
            assert np.array_equal(forecast.components, same.components[: len(forecast.components)])
            assert forecast.quantile(0.3) == approx(same.quantile(0.3), rel=1e-12)
    assert np.array_equal(one.__getstate__()["row"], many.__getstate__()["row"], equal_nan=True)


@pytest.mark.parametrize(("at", "is_transformed"), [(None, True), (0, False), (19, False), (20, True), (100, True)])
def test_a_run_has_room_for_the_log_and_the_root_where_they_can_be_in_a_forecast(
    at: int | None, is_transformed: bool
) -> None:
    """They can be once the values of the warm-up, here 20 and one gap, are positive; missing values do not count."""
    rng = np.random.default_rng(4)
    X, y = rng.normal(size=(120, 2)), np.exp(rng.normal(size=120))
    if at is not None:
        y[at] = -1.0
    y = np.insert(y, 10, np.nan)
    model, layout = AutoBypass(), AutoBypassSpec().record_layout
    predictive = model.run(np.insert(X, 10, 0.0, axis=0), y).predictive
    assert isinstance(predictive, Mixture)
    assert predictive.record_layout == (layout if is_transformed else layout.own)
    later = model.run(X[:5], np.abs(y[:5])).predictive
    assert isinstance(later, Mixture)
    assert later.record_layout == (layout if at is None else layout.own)  # after -1 the bank of y stays alone


def test_unknown_features_widen_every_bank_by_its_own_slope() -> None:
    """Equation (J.5): after a gap the newest lag is a forecast, and its variance counts in the units of each target."""
    rng = np.random.default_rng(0)
    y = np.exp(0.3 * np.cumsum(rng.normal(size=150)) / np.sqrt(np.arange(1, 151)) + 0.1 * rng.normal(size=150))
    spec = SeriesSpec(AutoBypassSpec(), Design((1,)), is_judged=False)
    runner = SeriesRunner(KERNEL, spec, spec.new_row(0), 0)
    for value in y:
        runner.step(None, value)
    before = runner.predict(None)
    assert isinstance(before, Mixture)
    filled = before.mean
    runner.step(None, np.nan)
    known = AutoBypass()._from_row(runner.row[-spec.model.row_size(1) :], 1).predict([filled]).components
    after = runner.predict(None)
    assert isinstance(after, Mixture)
    unknown = after.components
    assert np.array_equal(unknown["mean"], known["mean"])
    more = unknown["signal_var"] - known["signal_var"]
    walk_more = more[known["target"] == Target.IDENTITY][:96:12]  # flexible noise comes first: 12 normals of each walk
    own = known[known["target"] == Target.IDENTITY]
    level = (own["weight"] * own["mean"]).sum() / own["weight"].sum()
    assert walk_more.max() > 0
    for target, slope in ((Target.LOG, 1 / level), (Target.ROOT, 0.5 / np.sqrt(level))):
        assert more[known["target"] == target][:96:12] == approx(walk_more * slope**2, rel=1e-6, abs=1e-12)


def test_features_can_be_added() -> None:
    X, y = positive_stream(80, 9)
    model = AutoBypass()
    model.run(X[:, :1], y)
    before = model.predict(X[0, :1])
    model.add_features(1)
    assert model.predict(X[0]).quantile(0.5) == approx(before.quantile(0.5), rel=1e-9)
    model.run(X, y)
    assert model.n_features == N_FEATURES


def test_many_features_are_not_transformed() -> None:
    model = AutoBypass(n_features=51)
    assert not model._spec.is_transformed
    late = AutoBypass()
    late.predict(np.ones(51))
    assert not late._spec.is_transformed


@pytest.mark.parametrize("wrong", ["log", None, True])
def test_a_wrong_transform_is_refused(wrong: object) -> None:
    with pytest.raises(ValueError, match="must be 'auto' or 'none'"):
        AutoBypass(transform=wrong)  # type: ignore[arg-type]
