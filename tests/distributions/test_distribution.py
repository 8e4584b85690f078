"""What holds for every distribution, over families of parameters that are hostile, or moderate where quadrature judges.

Each property compares two methods with each other, or one with an integral that SciPy computes: none is known to the
other.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.integrate import quad

from adabypass import AutoBypass, Family, Forecaster, Mixture, Normal, StudentT
from adabypass.distributions.component import COMPONENT_FAMILIES, MixtureExtras, Target
from adabypass.distributions.record import RecordLayout
from adabypass.errors import ParameterError

LEVELS = np.array([1e-9, 1e-4, 0.05, 0.25, 0.499999, 0.5, 0.500001, 0.75, 0.88, 0.89, 0.95, 1 - 1e-4, 1 - 1e-9])
NEAR = 1e-7  # of a probability: the last step of a search all but cubes a miss of 1e-4
EXTREME = 1e290  # beyond it the log of Student's t distribution has quantiles that no number holds
CRPS_ERROR = 1e-4  # of the score: what its quadrature promises
SUPPORTS = [(-np.inf, np.inf), (0.0, np.inf), (-np.inf, 5.0), (0.0, 1.0)]
CENTERS = {
    Target.IDENTITY: [0.0, 1.0, -3.0, 40.0, 1e3, -1e9],
    Target.LOG: [0.0, 5.0, -30.0],
    Target.ROOT: [1.0, -3.0, 40.0],  # at 0 its density is infinite
}
SIZES = {
    Target.IDENTITY: [1e-9, 1e-2, 1.0, 7.0, 1e4],
    Target.LOG: [1e-9, 0.1, 3.0],
    Target.ROOT: [1e-9, 1e-2, 1.0, 7.0],
}
MODERATE_CENTERS = {Target.IDENTITY: [0.0, 1.0, -3.0, 9.0], Target.LOG: [0.0, 1.5], Target.ROOT: [1.0, 3.0]}
MODERATE_SIZES = {Target.IDENTITY: [0.1, 1.0, 4.0], Target.LOG: [0.1, 0.4], Target.ROOT: [0.1, 0.3]}


@st.composite
def components(draw: st.DrawFn, *, is_moderate: bool, families: Sequence[Family]) -> dict[str, Any]:
    """Draw the fields of a few components, each of any family, about y, its log or its root."""
    centers, sizes = (MODERATE_CENTERS, MODERATE_SIZES) if is_moderate else (CENTERS, SIZES)
    parts = []
    for _ in range(draw(st.integers(1, 5))):
        family = draw(st.sampled_from(families))
        is_student = family is Family.STUDENT
        target = draw(st.sampled_from([Target.IDENTITY, Target.LOG] if is_student else list(Target)))
        size = draw(st.sampled_from(sizes[target]))
        parts.append(
            {
                "weight": draw(st.sampled_from([1.0, 0.3, 0.05] if is_moderate else [1.0, 0.3, 1e-3, 1e-8])),
                "mean": draw(st.sampled_from(centers[target])),
                "signal_var": 0.0 if is_student else size**2,
                "noise_scale": size if is_student else size * draw(st.sampled_from([1.0, 1e-3])),
                "epsilon": draw(st.sampled_from([0.0, 1.25])) if family is Family.INSENSITIVE else 0.0,
                "family": family,
                "target": target,
                "dof": draw(st.sampled_from([5.0, 9.0, 30.0] if is_moderate else [2.1, 5.0, 30.0])),
            }
        )
    fields = {name: np.array([each[name] for each in parts]) for name in parts[0]}
    return fields | {"weight": fields["weight"] / fields["weight"].sum()}


@st.composite
def mixtures(draw: st.DrawFn, *, is_moderate: bool = False) -> Mixture:
    """Draw a forecast: plain, with a probability of zero and bounds, or mixed with another one."""
    kind = draw(st.sampled_from(["plain", "bounded", "pool"]))
    families: Sequence[Family] = [Family.STUDENT] if kind == "bounded" else list(COMPONENT_FAMILIES)
    fields = draw(components(is_moderate=is_moderate, families=families))
    if kind == "bounded":
        fields |= {"zero_share": draw(st.sampled_from([0.0, 0.3, 1.0])), "support": draw(st.sampled_from(SUPPORTS))}
    forecast = Mixture.of(**fields)
    if kind != "pool":
        return forecast
    other = Mixture.of(**draw(components(is_moderate=is_moderate, families=list(COMPONENT_FAMILIES))))
    share = np.array([[0.25, 0.75]])
    extras = MixtureExtras(np.zeros(1), share=share, pooled_at=np.zeros(1, dtype=int), parts=(many(other),))
    return Mixture.with_extras(forecast.components, extras)


def many(forecast: Mixture) -> Mixture:
    """Return one forecast as an array of one."""
    return Mixture(forecast.components[None])


def atoms(forecast: Mixture) -> list[float]:
    """Return the values that have a probability of their own."""
    if forecast.extras is None:
        return []
    bounds = [float(each) for each in forecast.extras.support if np.isfinite(each)]
    return bounds + [float(np.clip(0.0, *forecast.extras.support))] * bool(forecast.extras.zero_share[0] > 0)


@settings(max_examples=250, deadline=None)
@given(mixtures())
def test_quantiles_rise_and_have_their_probability(forecast: Mixture) -> None:
    quantiles = np.asarray(forecast.quantile(LEVELS))
    if np.abs(quantiles).max() >= EXTREME:
        return
    assert np.isfinite(quantiles).all()
    rounding = 4 * np.spacing(np.abs(quantiles[1:]))
    assert (np.diff(quantiles) >= -NEAR * (quantiles[9] - quantiles[3]) - rounding).all()
    step = 1e-12 * np.abs(quantiles) + 1e-300  # a component may be narrower than the distance of two numbers
    below, above = np.asarray(forecast.cdf(quantiles - step)), np.asarray(forecast.cdf(quantiles + step))
    assert (below <= LEVELS + NEAR).all()
    assert (above >= LEVELS - NEAR).all()


@settings(max_examples=100, deadline=None)
@given(mixtures(), st.sampled_from([-1e300, -7.0, 0.0, 1e-9, 3.0, 1e12]))
def test_every_answer_is_finite_and_within_its_range(forecast: Mixture, y: float) -> None:
    cdf, sf = forecast.cdf(y), forecast.sf(y)
    assert 0.0 <= cdf <= 1.0
    assert 0.0 <= sf <= 1.0
    assert cdf + sf == pytest.approx(1.0, abs=1e-12)
    for value in (forecast.logpdf(y), forecast.crps(y), forecast.mean, forecast.sd, forecast.entropy()):
        assert np.isfinite(value)
    assert forecast.crps(y) >= 0.0
    low, high = forecast.interval(0.9)
    assert low <= forecast.median <= high


@settings(max_examples=80, deadline=None)
@given(mixtures(is_moderate=True))
def test_the_density_is_the_derivative_of_the_distribution_function(forecast: Mixture) -> None:
    edges = [-30.0, *sorted(float(each) for each in forecast.quantile([1e-3, 0.1, 0.5, 0.9])), 40.0]
    for low, high in pairwise(edges):
        if high - low < 1e-6 or any(low - 1e-9 <= each <= high + 1e-9 for each in [*atoms(forecast), 0.0]):
            continue  # there is a probability, or the density of a root or a log may be infinite
        mass = quad(forecast.pdf, low, high, limit=300, epsabs=1e-10)[0]
        assert mass == pytest.approx(forecast.cdf(high) - forecast.cdf(low), abs=1e-7)


@settings(max_examples=60, deadline=None)
@given(mixtures(is_moderate=True), st.sampled_from([-4.0, 0.0, 0.7, 3.0, 30.0]))
def test_crps_is_the_integral_of_its_definition(forecast: Mixture, y: float) -> None:
    levels = np.concatenate([10.0 ** np.arange(-6.0, -1.0), np.arange(0.02, 0.5, 0.02)])
    inner = np.asarray(forecast.quantile(np.concatenate([levels, 1.0 - levels])))
    extreme = forecast.quantile([1e-4, 1 - 1e-4])
    tails = (extreme[1] - extreme[0]) * 10.0 ** np.arange(5)  # the last of them are where the score ends
    below, above = min(extreme[0], y) - tails, max(extreme[1], y) + tails
    edges = [*np.clip(inner, below[-1], above[-1]), *below, *above, *atoms(forecast), y, 0.0]
    ends, (node, weight) = np.unique(edges), np.polynomial.legendre.leggauss(16)
    half = np.diff(ends)[:, None] / 2
    at = ends[:-1, None] + half * (1 + node)
    total = np.sum(half * weight * np.where(at < y, forecast.cdf(at), forecast.sf(at)) ** 2)
    assert forecast.crps(y) == pytest.approx(total, rel=CRPS_ERROR, abs=1e-7)


@settings(max_examples=40, deadline=None)
@given(mixtures(is_moderate=True), st.integers(0, 2**32 - 1))
def test_draws_follow_the_distribution(forecast: Mixture, seed: int) -> None:
    draws = np.sort(forecast.sample(np.random.default_rng(seed), 2000))
    values, first = np.unique(draws, return_index=True)
    at, n = np.asarray(forecast.cdf(values)), len(draws)
    up_to = np.append(first[1:], n) / n
    assert np.abs(up_to - at).max() < stats.kstwobign.isf(1e-7) / np.sqrt(n)  # one test in 10 million fails by chance


@settings(max_examples=60, deadline=None)
@given(components(is_moderate=False, families=[Family.STUDENT]), st.sampled_from(SUPPORTS[1:]), st.integers(0, 99))
def test_nothing_lies_outside_the_support(fields: dict[str, Any], support: tuple[float, float], seed: int) -> None:
    forecast = Mixture.of(**fields, support=support)
    low, high = support
    found = [forecast.mean, *forecast.quantile(LEVELS), *forecast.sample(np.random.default_rng(seed), 50)]
    assert all(low <= each <= high for each in found)
    assert forecast.cdf(np.nextafter(low, -np.inf)) == 0.0
    assert forecast.cdf(high) == 1.0


@settings(max_examples=40, deadline=None)
@given(mixtures(is_moderate=True))
def test_entropy_is_the_expected_negative_log_density(forecast: Mixture) -> None:
    draws = forecast.sample(np.random.default_rng(0), 4000)
    scores = -np.asarray(forecast.logpdf(draws))
    assert forecast.entropy() == pytest.approx(scores.mean(), abs=6.0 * scores.std() / np.sqrt(4000) + 1e-3)


@settings(max_examples=40, deadline=None)
@given(mixtures())
def test_many_forecasts_answer_as_each_alone(forecast: Mixture) -> None:
    if forecast.extras is None:
        both = Mixture(np.stack([forecast.components] * 2))
    else:
        picked = forecast.extras.choose(np.zeros(2, dtype=int))
        both = Mixture.with_extras(np.stack([forecast.components] * 2), picked)
    y = np.array([0.3, 12.0])
    for name in ("cdf", "sf", "logpdf", "crps"):
        alone = [getattr(forecast, name)(float(each)) for each in y]
        assert np.asarray(getattr(both, name)(y)) == pytest.approx(alone, rel=1e-12)
    assert np.asarray(both.mean) == pytest.approx([forecast.mean] * 2, rel=1e-12)
    assert both[1].cdf(0.3) == forecast.cdf(0.3)


@given(st.floats(-1e3, 1e3), st.floats(1e-3, 1e3), st.floats(2.5, 300.0), st.floats(-5, 5))
def test_one_component_is_the_distribution_of_its_name(mean: float, scale: float, dof: float, z: float) -> None:
    """A mixture of one component, evaluated by quadrature and search, has the closed forms of its family."""
    y = mean + z * scale
    student = Mixture.of(weight=[1.0], mean=mean, noise_scale=scale, family=Family.STUDENT, dof=dof)
    normal = Mixture.of(weight=[1.0], mean=mean, signal_var=scale**2)
    for found, exact in ((student, StudentT(mean, scale, dof)), (normal, Normal(mean, scale**2))):
        assert found.cdf(y) == pytest.approx(exact.cdf(y), abs=1e-12)
        assert found.logpdf(y) == pytest.approx(exact.logpdf(y), abs=1e-9)
        assert found.quantile(0.93) == pytest.approx(exact.quantile(0.93), abs=1e-7 * scale)
        assert found.crps(y) == pytest.approx(exact.crps(y), rel=CRPS_ERROR)
        assert found.entropy() == pytest.approx(exact.entropy(), abs=1e-4)
        assert found.mean == pytest.approx(exact.mean)
        assert found.sd == pytest.approx(exact.sd)


@pytest.mark.parametrize("gap", [10.0, 40.0, 1e3, 1e9])
@pytest.mark.parametrize("weight", [0.5, 0.1, 1e-6])
def test_a_quantile_in_a_gap_between_two_modes_lies_between_them(gap: float, weight: float) -> None:
    forecast = Mixture.of(weight=[1 - weight, weight], mean=[0.0, gap], signal_var=[1.0, 1.0])
    for level in (1 - weight - 1e-9, 1 - weight, 1 - weight + 1e-9):
        assert -9.0 < forecast.quantile(level) < gap + 9.0


@settings(max_examples=60, deadline=None)
@given(st.floats(0.05, 0.95), st.floats(8.0, 10.0), st.floats(0.5, 2.0), st.floats(2e3, 2e4), st.floats(5.0, 30.0))
def test_quantiles_near_zero_see_the_density_of_a_log(
    weight: float, center: float, log_scale: float, scale: float, dof: float
) -> None:
    """Far below its centre, the density of a log changes over a part of y, however wide the components are."""
    forecast = Mixture.of(
        weight=[weight, 1 - weight],
        mean=[np.exp(center), center],
        noise_scale=[scale, log_scale],
        dof=dof,
        family=Family.STUDENT,
        target=[Target.IDENTITY, Target.LOG],
    )
    below = forecast.cdf(0.0)
    levels = below + np.geomspace(1e-6, 0.02, 30)
    assert np.abs(forecast.cdf(forecast.quantile(levels)) - levels).max() < NEAR


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"support": (1.0, 0.0)}, "the lower one first"),
        ({"support": (0.0, np.inf), "family": Family.GAUSSIAN}, "support is .* only Student's t"),
        ({"zero_share": 1.5}, "lies between 0 and 1"),
        ({"zero_share": [0.5, 0.5]}, "zero_share has shape"),
        ({"dof": 0.0}, "dof is 0.0, but must be above 0"),
        ({"noise_scale": 0.0}, "noise_scale is 0.0, but must be above 0"),
        ({"signal_var": 1.0}, "signal_var is 1.0, but must be 0"),
    ],
)
def test_what_a_mixture_may_not_consist_of_is_refused(more: dict[str, Any], words: str) -> None:
    fields: dict[str, Any] = {"weight": [1.0], "mean": 0.0, "noise_scale": 1.0, "dof": 5.0, "family": Family.STUDENT}
    with pytest.raises((ParameterError, ValueError), match=words):
        Mixture.of(**(fields | more))


def test_nobody_writes_to_what_compiled_code_indexes_with() -> None:
    one = Mixture.of(weight=[1.0], mean=0.0, signal_var=1.0)
    row = np.zeros(1, dtype=int)
    forecast = Mixture.with_extras(
        one.components, MixtureExtras(np.zeros(1), share=np.array([[0.5, 0.5]]), pooled_at=row, parts=(many(one),))
    )
    row[:] = 10**9
    assert forecast.extras is not None
    assert forecast.extras.pooled_at is not None
    with pytest.raises(ValueError, match="read-only"):
        forecast.extras.pooled_at[:] = 10**9
    assert forecast.cdf(0.0) == pytest.approx(0.5)


def test_a_record_that_somebody_writes_to_harms_nobody() -> None:
    """Whatever family is written to it, compiled code stays within its memory; run under the sanitizers."""
    X = np.random.default_rng(0).normal(size=(60, 2))
    model = AutoBypass()
    model.run(X, X.sum(axis=1) + 0.1 * X[:, 0])
    for family in (Family.STUDENT, Family.FLEXIBLE, 7, 1e18, -1.0, np.nan):
        forecast: Any = model.predict(X[0])
        forecast.record[0] = family
        for _ in range(20):
            forecast.quantile([0.1, 0.9])
            forecast.interval(0.9)
            forecast.cdf(0.3)
            forecast.crps(0.3)
    with pytest.raises(ValueError, match="no room for degrees of freedom"):
        RecordLayout((Family.STUDENT,) * 40)


def test_a_record_without_flexible_noise_is_read_as_far_as_it_goes() -> None:
    layout = RecordLayout((Family.GAUSSIAN,))
    forecast = Mixture.from_record(np.array([-1.0, 1.0, 2.0, 0.75, 0.5]), layout, 2.0, 1.0)
    assert forecast.interval(0.9) == pytest.approx(Normal(2.0, 1.0).interval(0.9))


def test_a_missing_value_says_nothing_about_the_others() -> None:
    forecast = Mixture.of(weight=[1.0], mean=0.0, signal_var=1.0)
    for y in ([np.nan, 0.0], [0.0, np.nan]):
        assert np.isnan(forecast.cdf(np.array(y))).tolist() == np.isnan(y).tolist()


@pytest.mark.parametrize("dof", [1e6, 1e9, 1e15, 1e300])
def test_student_s_t_of_many_degrees_of_freedom_is_a_normal(dof: float) -> None:
    student = Mixture.of(weight=[1.0], mean=0.0, noise_scale=1.0, family=Family.STUDENT, dof=dof)
    for y in (0.0, 1.5, -3.0):
        assert student.logpdf(y) == pytest.approx(Normal(0.0, 1.0).logpdf(y), abs=1e-4)
    assert student.entropy() == pytest.approx(Normal(0.0, 1.0).entropy(), abs=1e-4)


def test_a_pool_with_an_unknown_part_knows_nothing() -> None:
    one = Mixture.of(weight=[1.0], mean=0.0, signal_var=1.0)
    blank = np.array(many(one).components)
    blank["mean"] = np.nan
    parts = (Mixture.made(blank),)
    for share, is_known in (([[0.5, 0.5]], False), ([[1.0, 0.0]], True)):
        extras = MixtureExtras(np.zeros(1), share=np.array(share), pooled_at=np.zeros(1, dtype=int), parts=parts)
        forecast = Mixture.with_extras(one.components, extras)
        assert forecast.is_known is is_known
        for value in (forecast.cdf(0.0), forecast.logpdf(0.0), forecast.quantile(0.5), forecast.crps(0.0)):
            assert np.isfinite(value) == is_known
    inner = Mixture.of(weight=[[1.0]], mean=0.0, noise_scale=1.0, dof=5.0, family=Family.STUDENT, zero_share=0.5)
    extras = MixtureExtras(np.zeros(1), share=np.array([[0.5, 0.5]]), pooled_at=np.zeros(1, dtype=int), parts=(inner,))
    with pytest.raises(ValueError, match="components alone"):
        Mixture.with_extras(one.components, extras).cdf(0.0)


def test_forecasts_of_a_pool_that_are_not_pooled_can_be_drawn_from() -> None:
    y = np.random.default_rng(0).normal(size=60).cumsum()
    forecasts: Any = Forecaster().run(y).predictive
    assert np.isfinite(forecasts[0].sample(np.random.default_rng(0)))
    assert forecasts[:2].sample(np.random.default_rng(0), 3).shape == (3, 2)


@pytest.mark.parametrize("more", [{"family": 1.7}, {"target": 0.9}])
def test_a_family_is_a_whole_number(more: dict[str, float]) -> None:
    fields: dict[str, Any] = {"weight": [1.0], "mean": 0.0, "signal_var": 1.0} | more
    with pytest.raises(ParameterError, match=r"but must be one of (Family|Target)"):
        Mixture.of(**fields)
