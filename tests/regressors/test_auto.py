"""AutoBypass: units do not matter, the warm-up is honest, and what it says of itself is true."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pytest import approx

from adabypass import AutoBypass, Forecaster, Mixture, load_dataset
from adabypass.errors import ParameterError
from adabypass.results.trace import Trace
from adabypass.state.bank import AutoBypassSpec
from adabypass.validation import Floats
from tests.strategies import powers


def stream(n: int = 200, n_features: int = 3, seed: int = 0) -> tuple[Floats, Floats]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, n_features))
    weights = 1 + (0.05 * rng.normal(size=(n, n_features))).cumsum(axis=0)
    return X, (X * weights).sum(axis=1) + rng.standard_t(4, n)


def coverage_90(trace: Trace, skip: int) -> float:
    """Return what `scores` does, without the scores that take longer."""
    below = trace.predictive[skip:].cdf(trace.y[skip:])
    return float(np.mean((below >= 0.05) & (below <= 0.95)))


signs = st.sampled_from([-1.0, 1.0])


@settings(max_examples=60)
@given(
    seed=st.integers(0, 1000),
    y_unit=powers(-12, 12), y_sign=signs, y_offset=st.floats(-1e4, 1e4),
    x_unit=st.lists(powers(-12, 12), min_size=3, max_size=3), x_sign=st.lists(signs, min_size=3, max_size=3),
    x_offset=st.lists(st.floats(-1e4, 1e4), min_size=3, max_size=3),
)  # fmt: skip
def test_units_do_not_matter(
    seed: int,
    y_unit: float,
    y_sign: float,
    y_offset: float,
    x_unit: list[float],
    x_sign: list[float],
    x_offset: list[float],
) -> None:
    """Nor do offsets, which are in standard deviations of what they shift, where y itself is all that is learned.

    Of logs and roots only a unit does not matter: tests/kernels/test_transformed.py.
    """
    X, y = stream(seed=seed)
    c, d = y_sign * y_unit, y_offset * y_unit * y.std()
    C, D = np.array(x_unit) * x_sign, np.array(x_offset) * x_unit * X.std(axis=0)
    plain, other = (AutoBypass(transform="none").run(*each) for each in ((X, y), (X * C + D, y * c + d)))
    assert (other.mean[2:] - d) / c == approx(plain.mean[2:], abs=1e-6 * y.std())
    assert other.sd[2:] / y_unit == approx(plain.sd[2:], rel=1e-6)
    assert other.log_score[2:] + np.log(y_unit) == approx(plain.log_score[2:], abs=1e-6)


@settings(max_examples=60)
@given(
    seed=st.integers(0, 1000),
    n_equal=st.integers(0, 150),
    value=st.sampled_from([0.0, 1.0, -3.0, None]),
    unit=powers(-100, 100),
    sign=signs,
    intercept=st.booleans(),
)
def test_no_start_has_a_unit_of_its_own(
    seed: int, n_equal: int, value: float | None, unit: float, sign: float, intercept: bool
) -> None:
    """From the first forecast on, after zeros, equal values or none: y times c changes nothing but units."""
    X, y = stream(n=n_equal + 40, n_features=2, seed=seed)
    y[:n_equal] = y[0] if value is None else value
    y[n_equal::7] = 0.0
    plain = AutoBypass(intercept=intercept).run(X, y)
    other = AutoBypass(intercept=intercept).run(X, sign * unit * y)
    assert sign * other.mean / unit == approx(plain.mean, rel=1e-6, abs=1e-6 * y.std(), nan_ok=True)
    assert other.sd / unit == approx(plain.sd, rel=1e-6)
    assert other.log_score + np.log(unit) == approx(plain.log_score, abs=1e-6, nan_ok=True)
    is_blank = np.cumsum(y != 0.0) - (y != 0.0) == 0  # nothing but zeros before
    assert np.array_equal(np.isnan(plain.mean), is_blank)
    assert np.array_equal(np.isinf(plain.var), is_blank)
    assert np.array_equal(np.isnan(plain.log_score), is_blank)


def test_forecasts_of_the_warm_up_are_honest_and_blank_before_the_first_value() -> None:
    X, y = stream(n=40)
    trace = AutoBypass().run(X, 5 + y)
    assert np.isnan(trace.mean[0])
    assert np.isinf(trace.sd[0])
    assert np.isfinite(trace.mean[1:]).all()
    assert (trace.sd[1:] < 1000).all()
    covered = np.abs(5 + y - trace.mean) < 2 * trace.sd
    assert covered[2:20].mean() > 0.7


def test_log_scores_are_those_of_the_forecasts_made() -> None:
    X, y = stream(n=100)
    y[30:40] = np.nan
    model = AutoBypass()
    trace = model.run(X, y)
    assert trace.log_score == approx(trace.predictive.logpdf(y), rel=1e-9, nan_ok=True)
    light = AutoBypass().run(X, y, keep_predictive=False)
    assert np.array_equal(light.log_score, trace.log_score, equal_nan=True)
    assert np.array_equal(light.mean, trace.mean, equal_nan=True)


@pytest.mark.parametrize("y", [np.arange(600.0), 0.1 * np.arange(600), 1.01 ** np.arange(1500)])
def test_log_scores_are_those_of_forecasts_as_narrow_as_rounding(y: Floats) -> None:
    """On a line that can be forecast to the last digit, the forecast is what it is after rounding."""
    trace = AutoBypass().run(y[:-1, None], y[1:])
    assert trace.log_score == approx(trace.predictive.logpdf(trace.y), abs=1e-4, nan_ok=True)


def test_predict_gives_the_mixture_of_the_bank() -> None:
    X, y = stream()
    model = AutoBypass()
    model.run(X, y)
    forecast = model.predict(X[0])
    assert isinstance(forecast, Mixture)
    assert forecast.components["weight"].sum() == approx(1.0)
    again = Mixture(forecast.components)
    assert (again.mean, again.var) == approx((forecast.mean, forecast.var))


def test_weights_and_intercept_are_in_the_user_s_units() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal([100.0, -5.0], [1e3, 1e-3], size=(3000, 2))
    model = AutoBypass()
    model.run(X, 7.0 + X @ [0.02, 3000.0] + rng.normal(size=3000))
    assert model.weights.mean == approx([0.02, 3000.0], rel=0.03)
    assert model.intercept == approx(7.0, abs=500.0)  # 5 features' units away from the data: a wide extrapolation
    assert model.predict([100.0, -5.0]).mean == approx(7.0 + 2.0 - 15000.0, abs=0.5)


def test_shares_of_the_drift_rates_add_up_to_one_and_find_the_drift() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 2))
    static, moving = AutoBypass(), AutoBypass()
    noise = rng.normal(size=2000)
    still = static.run(X, X @ [1.0, 2.0] + noise)
    walk = (0.3 * rng.normal(size=(2000, 2))).cumsum(axis=0)
    moved = moving.run(X, (X * walk).sum(axis=1) + noise)
    shares = np.array([moved.history[f"drift_share_{level}"] for level in range(moving._spec.n_drifts)])
    assert shares[:, 30:].sum(axis=0) == approx(1.0)
    assert moved.history["drift"][-1] > 100 * still.history["drift"][-1]
    assert abs(np.log(moved.history["drift"][500:].mean() / 0.09)) < 1.75  # within half a step of the grid, e^3.5


def test_a_feature_that_is_constant_at_first_is_learned_when_it_moves() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 2))
    X[:100, 1] = 7.0
    model = AutoBypass()
    trace = model.run(X, X @ [1.0, 2.0] + 0.1 * rng.normal(size=600))
    assert model.weights.mean == approx([1.0, 2.0], abs=0.05)
    assert np.abs(trace.y - trace.mean)[300:].mean() < 0.15


def test_a_constant_stream_is_forecast_and_so_is_its_end() -> None:
    rng = np.random.default_rng(0)
    y = np.concatenate([np.full(200, 5.0), 5.0 + rng.normal(size=500)])
    trace = AutoBypass().run(np.ones((700, 1)), y)
    assert trace.mean[1:200] == approx(5.0)
    assert np.diff(trace.sd[2:200]).max() < 0
    assert coverage_90(trace, skip=300) == approx(0.9, abs=0.05)


@pytest.mark.parametrize("n", [1, 10, 1000, 10_000])
def test_the_end_of_a_constant_start_is_as_unlikely_as_laplace_says(n: int) -> None:
    """Equations (H.1)-(H.3): the score of a change falls as log(n + 1), not with the square of its size."""
    model = AutoBypass()
    model.run(np.ones((n, 1)), np.full(n, 100.0))
    forecast = model.predict([1.0])
    far = 1 - float(forecast.cdf(150.0)) + float(forecast.cdf(50.0))
    assert 0.5 / (n + 1) < far < 1 / (n + 1) or n <= 10
    for change in (50.0, 1e3, 1e6, 1e12):
        least = -np.log(n + 1) - 4 * np.log(change / 100 + 1) - np.log(100) - 4
        assert forecast.logpdf(100.0 + change) > least
    assert forecast.logpdf(100.0) > forecast.logpdf(101.0) > forecast.logpdf(150.0)


def test_the_second_forecast_is_honest_even_about_zero() -> None:
    """Where one value says least of the size of the others."""
    values = np.random.default_rng(0).normal(size=(1000, 2))
    covered = 0
    for first, second in values:
        model = AutoBypass()
        model.update([1.0], first)
        low, high = model.predict([1.0]).interval(0.9)
        covered += low <= second <= high
    assert covered / 1000 == approx(0.87, abs=0.04)


def test_a_stuck_sensor_may_come_back() -> None:
    """Equation (H.42): the first new value after 20,000 equal ones is unlikely, not impossible."""
    rng = np.random.default_rng(0)
    y = np.concatenate([rng.normal(size=500), np.full(20_000, 0.5), rng.normal(size=300)])
    for unit in (1.0, 1e-6):
        trace = AutoBypass().run(unit * y[:-1, None], unit * y[1:])
        scores = trace.log_score[20_499:] + np.log(unit)
        assert scores[0] > -15
        assert scores[1:].min() > -15
        assert scores[100:].mean() > -1.7  # -1.42 for the true distribution


def test_values_far_from_zero_are_forecast_up_to_the_resolution_of_a_double() -> None:
    noise = np.random.default_rng(0).normal(size=400)
    for offset in (0.0, 1e9, 1e13, 1e15):
        y = offset + noise
        trace = AutoBypass().run(y[:-1, None], y[1:])
        assert trace.sd[100:].mean() == approx(1.0, abs=0.15)
    constant = AutoBypass().run(np.ones((400, 1)), 1e17 + noise)  # adjacent doubles are 16 apart
    assert np.all(constant.mean[1:] == 1e17)


def test_a_bias_column_of_the_user_s_does_no_harm() -> None:
    X, y = stream()
    plain = AutoBypass().run(X, y)
    biased = AutoBypass().run(np.column_stack([np.ones(len(y)), X]), y)
    assert biased.mean == approx(plain.mean, rel=1e-6, abs=1e-9, nan_ok=True)


def test_without_intercept_the_forecast_at_zero_is_zero() -> None:
    X, y = stream()
    model = AutoBypass(intercept=False)
    model.run(X, y)
    assert model.predict(np.zeros(3)).mean == approx(0.0, abs=1e-12)


@pytest.mark.parametrize("n", [1, 2, 5, 30])
def test_without_intercept_the_forecast_is_proportional_to_x_from_the_first_row_on(n: int) -> None:
    model = AutoBypass(intercept=False)
    model.run(np.linspace(1.0, 2.0, n)[:, None], np.full(n, 100.0))
    assert model.predict([0.0]).mean == 0.0
    assert model.predict([3.0]).mean == approx(3 * float(model.weights.mean[0]))
    assert model.predict([3.0]).mean == approx(3 * model.predict([1.0]).mean)
    assert model.weights.mean[0] > 10.0
    assert model.intercept == 0.0


def test_with_intercept_the_start_expects_the_first_value_everywhere() -> None:
    model = AutoBypass()
    model.update([2.0], 100.0)
    assert model.predict([7.0]).mean == model.intercept == 100.0
    assert model.weights.mean == approx([0.0])


def test_intercept_is_true_or_false() -> None:
    with pytest.raises(ParameterError, match="intercept is 1"):
        AutoBypass(intercept=1)  # type: ignore[arg-type]


def test_nile_is_forecast_better_than_by_models_fitted_in_hindsight() -> None:
    """In cm, from the 21st forecast on: -3634 for the fitted random-walk regression, -3627 for AR(1)-GARCH(1,1)-t."""
    level = load_dataset("nile").y * 100
    trace = AutoBypass().run(level[:-1, None], level[1:])
    assert trace.log_score[20:].sum() > -3619
    assert coverage_90(trace, skip=20) == approx(0.9, abs=0.03)  # two and a half standard errors


def test_noise_in_proportion_to_a_level_that_comes_near_zero_is_learned() -> None:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(6000, 1))
    level = 20 + 6 * X[:, 0]
    y = level + 0.1 * np.abs(level) * rng.normal(size=6000)
    ratio = AutoBypass().run(X, y).sd[3000:] / (0.1 * np.abs(level[3000:]))
    order = np.argsort(level[3000:])
    tenths = [np.median(part) for part in np.array_split(ratio[order], 10)]
    assert tenths == approx(np.ones(10), abs=0.04)  # where the log of the scale follows the level, up to 0.1 off


def test_the_new_nilometer_of_the_nile_is_seen() -> None:
    """It was built in 715; what is read off it is less noisy."""
    nile = load_dataset("nile")
    first, *others = AutoBypass().run(nile.y[:-1, None], nile.y[1:]).changes(0.015)
    assert 715 <= nile.time[1:][first.at] <= 730
    assert (first.kind, first.size < 0) == ("noise", True)
    assert len(others) <= 5


def test_surprise_is_standard_normal_for_a_true_model_and_large_for_an_outlier() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 2))
    y = X @ [1.0, 2.0] + rng.normal(size=3000)
    y[2000] = 30.0
    y[100] = np.nan
    surprise = AutoBypass().run(X, y).surprise()
    assert np.flatnonzero(np.isnan(surprise)).tolist() == [0, 100]  # blank, and missing
    usual = np.delete(surprise[300:], 1700)
    assert usual.std() == approx(1.0, abs=0.05)  # some three standard errors
    assert usual.mean() == approx(0.0, abs=0.06)
    assert surprise[2000] > 4.9


@pytest.mark.parametrize("quiet", [1e-2, 1e-3])
def test_a_start_at_another_scale_is_left_behind(quiet: float) -> None:
    """Equation (H.47): the first 25 at a small fraction of the later scale; the rates alone would take hundreds."""
    coverages = []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(800, 1))
        y = X[:, 0] + rng.normal(size=800)
        y[:25] *= quiet
        coverages.append(coverage_90(AutoBypass().run(X, y), skip=150))
    assert np.mean(coverages) == approx(0.9, abs=0.03)


def test_an_outlier_in_the_warm_up_hides_no_feature() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 1))
    y = X[:, 0] + rng.normal(size=600)
    X[5] = 1e6
    assert AutoBypass().run(X, y).scores(skip=100)["rmse"] < 1.05


def test_a_late_feature_far_from_zero_is_learned() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal([0.0, 1e6], 1.0, size=(500, 2))
    y = X[:, 0] + 3 * (X[:, 1] - 1e6) + 0.5 * rng.normal(size=500)
    model = AutoBypass()
    model.run(X[:100, :1], y[:100])
    model.add_features(1)
    assert model.run(X[100:], y[100:]).scores(skip=200)["rmse"] < 0.6


def test_intervals_of_the_warm_up_are_honest_over_many_streams() -> None:
    covered = np.zeros(20)
    for seed in range(100):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(20, 1))
        y = X[:, 0] + rng.normal(size=20)
        low, high = AutoBypass().run(X, y).predictive.interval(0.9)
        covered += (low <= y) & (y <= high)
    assert covered[2:].mean() / 100 == approx(0.9, abs=0.05)
    assert covered[2:].min() > 70


def test_short_traces_have_no_changes_and_a_rate_is_above_0() -> None:
    trace = AutoBypass().run(*stream(n=25))
    assert trace.changes() == []
    with pytest.raises(ParameterError, match="false_alarms is -1"):
        trace.changes(-1)


def test_skewed_noise_is_learned() -> None:
    """Of gamma noise, each end of the interval is missed as often as it should be."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(6000, 1))
    y = X[:, 0] + rng.gamma(4, size=6000)
    pit = AutoBypass().run(X, y).predictive.pit(y)[1000:]
    assert np.mean(pit < 0.05) == approx(0.05, abs=0.015)
    assert np.mean(pit > 0.95) == approx(0.05, abs=0.015)


def test_noise_with_a_season_is_learned_where_the_period_is_given() -> None:
    rng = np.random.default_rng(4)
    step = np.arange(4000) % 4
    X, sd = rng.normal(size=(4000, 1)), np.array([0.1, 1.0, 0.5, 3.0])[step]
    y = X[:, 0] + sd * rng.normal(size=4000)
    y[rng.random(4000) < 0.1] = np.nan
    told, untold = AutoBypass(period=4).run(X, y), AutoBypass().run(X, y)
    assert np.nanmean(told.log_score[200:]) > np.nanmean(untold.log_score[200:]) + 0.3
    inside = np.where(np.isnan(y), np.nan, np.abs(told.predictive.pit(y) - 0.5) < 0.45)
    for each in range(4):
        assert np.nanmean(inside[(step == each) & (np.arange(4000) > 400)]) == approx(0.9, abs=0.04)


def test_a_season_is_known_many_steps_ahead() -> None:
    rng = np.random.default_rng(5)
    y = np.tile([0.2, 2.0, 1.0], 700) * rng.normal(size=2100)
    forecaster = Forecaster(AutoBypass(period=3), lags=1)
    forecaster.run(y)
    low, high = forecaster.forecast(6).interval(0.5)  # rare filters in differences have most of the variance
    sd = (high - low) / 1.349  # by the quartiles of a normal
    assert sd == approx(np.tile([0.2, 2.0, 1.0], 2), rel=0.2)
    assert sd[:3] == approx(sd[3:], rel=0.2)
    paths = forecaster.forecast(3, method="paths", n_paths=20_000, rng=0)
    assert np.sqrt(paths.var) == approx(sd[:3], rel=0.15)


def test_a_mean_with_a_season_is_learned_where_the_period_is_given() -> None:
    """Features explain a part; what a truth that knows the season scores is nearly reached."""
    rng = np.random.default_rng(3)
    X, season = rng.normal(size=(2000, 2)), np.tile(rng.normal(size=12) * 3.0, 167)[:2000]
    y = X @ [1.0, -2.0] + season + rng.normal(size=2000)
    told, untold = AutoBypass(period=12).run(X, y), AutoBypass().run(X, y)
    truth = -0.5 * np.log(2 * np.pi) - 0.5 * (y - X @ [1.0, -2.0] - season) ** 2
    late = slice(500, None)
    assert told.log_score[late].mean() > truth[late].mean() - 0.05
    assert told.log_score[late].mean() > untold.log_score[late].mean() + 0.5


def test_a_period_without_a_season_costs_little() -> None:
    X, y = stream(n=3000, seed=5)
    told, untold = AutoBypass(period=10).run(X, y), AutoBypass().run(X, y)
    assert told.log_score[20:].sum() > untold.log_score[20:].sum() - 20
    low, high = told.predictive.interval(0.9)
    assert 0.88 < np.mean((low <= y) & (y <= high)) < 0.92


@pytest.mark.parametrize(("slope", "jump"), [(0.05, 0.0), (0.2, 0.0), (0.0, 1e4), (0.0, 1e12)])
def test_a_trend_or_a_jump_is_no_season(slope: float, jump: float) -> None:
    """What all steps have in common belongs to the level, and a jump passes."""
    rng = np.random.default_rng(0)
    y = slope * np.arange(3000) + rng.normal(size=3000)
    y[:300] += jump
    X = rng.normal(size=(3000, 1))
    specs = (AutoBypassSpec(period=7, transform="none", seasonal_mean=each) for each in (True, False))
    told, untold = (AutoBypass._of_spec(spec).run(X, y).log_score[1500:].mean() for spec in specs)
    assert told > untold - 0.005


def test_a_season_of_the_mean_is_in_every_part_of_the_forecast() -> None:
    """The log score is that of the density, and the mean that of the components."""
    rng = np.random.default_rng(4)
    X = rng.normal(size=(300, 1))
    y = 20 + np.tile([5.0, 0.0, -5.0], 100) + X[:, 0] + rng.normal(size=300)
    trace = AutoBypass._of_spec(AutoBypassSpec(period=3, transform="none")).run(X, y)
    predictive = trace.predictive
    assert isinstance(predictive, Mixture)
    assert predictive.logpdf(y)[20:] == approx(trace.log_score[20:], abs=1e-9)
    parts = predictive.components
    assert (parts["weight"] * parts["mean"]).sum(axis=1)[20:] == approx(trace.mean[20:], rel=1e-9)
    assert np.abs(y - trace.mean)[100:].mean() < 1.2


@pytest.mark.parametrize("period", [0, -1, 1.5, True, "12", 10**6])
def test_a_period_is_a_count(period: object) -> None:
    with pytest.raises(ParameterError, match=r"period is .*, but must be a whole number from 1 to"):
        AutoBypass(period=period)  # type: ignore[arg-type]
