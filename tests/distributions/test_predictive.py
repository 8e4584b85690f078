"""Forecasts of every kind are asked, copied and joined in the same way."""

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from pytest import approx

from adabypass import AutoBypass, Family, Forecast, Mixture, Normal, Point, Trace
from adabypass.distributions.component import COMPONENT
from adabypass.distributions.empirical import Empirical
from adabypass.distributions.predictive import Predictive, concatenate, from_components
from adabypass.errors import NotANumberError, ParameterError, ShapeError
from tests.mixtures import insensitive

DRAWS = np.random.default_rng(0).normal(size=(50, 3))


def mixture(n: int = 3) -> Mixture:
    return Mixture.of(weight=[0.3, 0.7], mean=np.arange(2.0 * n).reshape(n, 2), signal_var=1.0, noise_scale=0.5)


EVERY_KIND: dict[str, Callable[[], Any]] = {
    "Normal": lambda: Normal(np.arange(3.0), np.ones(3)),
    "Mixture": mixture,
    "Insensitive": lambda: insensitive(np.arange(3.0), np.ones(3), 0.5, 1.0),
    "Empirical": lambda: Empirical(DRAWS),
    "Point": lambda: Point(np.arange(3.0), model="PassiveAggressive"),
    "one Normal": lambda: Normal(1.0, 2.0),
    "one Mixture": lambda: Mixture.of(weight=[0.3, 0.7], mean=[0.0, 1.0], signal_var=1.0),
    "one Insensitive": lambda: insensitive(1.0, 1.0, 0.5, 1.0),
    "one Point": lambda: Point(1.0, model="PassiveAggressive"),
}


def duplicates(forecast: Any) -> list[Any]:
    return [pickle.loads(pickle.dumps(forecast)), copy.copy(forecast), copy.deepcopy(forecast)]


@pytest.mark.parametrize("kind", EVERY_KIND)
def test_every_forecast_can_be_copied_and_pickled(kind: str) -> None:
    forecast = EVERY_KIND[kind]()
    for twin in duplicates(forecast):
        assert type(twin) is type(forecast)
        assert repr(twin) == repr(forecast)
        assert np.array_equal(twin.mean, forecast.mean)
        if not forecast.is_point:
            assert np.array_equal(twin.quantile(0.2), forecast.quantile(0.2))


def test_traces_and_parameters_can_be_copied_and_pickled() -> None:
    model = AutoBypass()
    trace = model.run(np.arange(30.0)[:, None], np.sin(np.arange(30.0)))
    for twin in duplicates(trace):
        assert dict(twin.scores(5)) == dict(trace.scores(5))
    for values in (model.parameters, model.hyperparameters, trace.scores(5)):
        assert all(twin == values for twin in duplicates(values))
        with pytest.raises(TypeError):
            values["new"] = 1.0  # type: ignore[index]


@pytest.mark.parametrize("kind", [kind for kind in EVERY_KIND if not kind.startswith("one")])
def test_every_forecast_says_what_it_can_do(kind: str) -> None:
    forecast = EVERY_KIND[kind]()
    assert forecast.is_point == (kind == "Point")
    assert Forecast(forecast).is_point == Trace(np.zeros(3), forecast, {}).is_point == (kind == "Point")
    assert forecast.is_known.tolist() == [True] * 3


@pytest.mark.parametrize("kind", ["Normal", "Mixture", "Insensitive", "Empirical"])
def test_quantiles_of_many_forecasts_have_a_row_for_each_probability(kind: str) -> None:
    forecast = EVERY_KIND[kind]()
    both = [forecast, Forecast(forecast)]
    for each in both:
        assert each.quantile([0.1, 0.5]).shape == (2, 3)
        assert each.quantile([0.1, 0.5])[1] == approx(each.quantile(0.5))
        assert each.quantile(np.full((2, 2), 0.5)).shape == (2, 2, 3)
        for wrong in (1.5, [0.5, -0.1], np.nan):
            with pytest.raises(ParameterError, match="between 0 and 1"):
                each.quantile(wrong)


def unknown(kind: str) -> Predictive:
    """Two forecasts, of which the first knows nothing."""
    if kind == "Normal":
        return Normal(np.array([np.nan, 1.0]), np.array([np.inf, 4.0]))
    components = np.zeros((2, 2), COMPONENT)
    components["weight"], components["family"] = 0.5, Family.GAUSSIAN
    components["mean"], components["signal_var"] = [[np.nan], [1.0]], [[np.inf], [4.0]]
    return Mixture.made(components)


@pytest.mark.parametrize("kind", ["Normal", "Mixture"])
def test_a_forecast_that_knows_nothing_is_blank(kind: str) -> None:
    forecast = unknown(kind)
    y = np.array([0.0, 0.0])
    assert forecast.is_known.tolist() == [False, True]
    assert forecast.mean == approx([np.nan, 1.0], nan_ok=True)
    assert forecast.var == approx([np.inf, 4.0])
    values = [forecast.logpdf(y), forecast.cdf(y), forecast.sf(y), forecast.crps(y), forecast.entropy()]
    values += [forecast.quantile(0.5), *forecast.interval(0.9), forecast[:1].quantile([0.5, 0.6])[:, 0]]
    for value in values[:-1]:
        assert np.isnan(value).tolist() == [True, False]
    assert np.isnan(values[-1]).all()
    assert not np.any(forecast[0].is_known)


@pytest.mark.parametrize("kind", ["Normal", "Mixture"])
def test_scores_count_the_forecasts_that_they_leave_out(kind: str) -> None:
    forecasts = concatenate([unknown(kind), Normal(1.0, 4.0), Normal(1.0, 4.0)])
    scores = Trace(np.array([5.0, 2.0, np.nan, 2.0]), forecasts, {}).scores()
    assert (scores["n"], scores["n_left_out"]) == (2, 1)
    assert scores["mae"] == approx(1.0)
    assert scores["log_likelihood"] == approx(2 * Normal(1.0, 4.0).logpdf(2.0))
    assert scores["crps"] == approx(Normal(1.0, 4.0).crps(2.0))


def test_a_normal_before_mixtures_leaves_them_mixtures() -> None:
    normal, wide = Normal(1.0, 4.0), Mixture.of(weight=[0.9, 0.1], mean=[0.0, 5.0], signal_var=[1e-4, 100.0])
    both = concatenate([normal, wide, normal])
    assert isinstance(both, Mixture)
    for level in (0.5, 0.9):
        expected = np.array([normal.interval(level), wide.interval(level), normal.interval(level)]).T
        assert np.array(both.interval(level)) == approx(expected, rel=1e-6)
    y = np.array([0.3, 0.01, 1e6])
    assert both.logpdf(y) == approx([normal.logpdf(0.3), wide.logpdf(0.01), normal.logpdf(1e6)])
    assert both.mean == approx([1.0, wide.mean, 1.0])


@pytest.mark.parametrize("kind", ["Normal", "Mixture", "Insensitive", "Empirical", "Point"])
def test_forecasts_of_one_kind_keep_it(kind: str) -> None:
    forecast = EVERY_KIND[kind]()
    both = concatenate([forecast, forecast])
    assert type(both) is type(forecast)
    assert both.mean == approx(np.tile(forecast.mean, 2))


def test_forecasts_of_different_noise_are_joined() -> None:
    both = concatenate([insensitive(0.0, 1.0, 0.5, 1.0), insensitive(0.0, 1.0, 0.7, 1.0)])
    assert both.sd[0] < both.sd[1]


@pytest.mark.parametrize("other", ["Normal", "Mixture", "Empirical"])
def test_points_are_joined_with_points_alone(other: str) -> None:
    with pytest.raises(ParameterError, match="cannot be joined; join normals with mixtures"):
        concatenate([EVERY_KIND["Point"](), EVERY_KIND[other]()])


@pytest.mark.parametrize(
    ("family", "noise_scale", "kind"),
    [
        (Family.GAUSSIAN, 2.0, Normal),
        (Family.HEAVY, 2.0, Mixture),
        (Family.INSENSITIVE, 2.0, Mixture),
        (Family.GAUSSIAN, np.nan, Point),
    ],
)
def test_a_single_component_becomes_the_forecast_of_its_family(family: Family, noise_scale: float, kind: type) -> None:
    components = np.zeros((3, 1), COMPONENT)
    components["weight"], components["noise_scale"], components["family"] = 1.0, noise_scale, family
    assert type(from_components(components, "a model")) is kind


def test_more_draws_than_fit_into_memory_are_refused() -> None:
    rng = np.random.default_rng(0)
    forecasts: list[Predictive] = [
        Normal(0.0, 1.0),
        Mixture.of(weight=[1.0], mean=[0.0], signal_var=[1.0], noise_scale=[0.0]),
    ]
    for forecast in forecasts:
        assert forecast.sample(rng, (2, 3)).shape == (2, 3)
        for size in (2**31, (100_000, 100_000), -1, 1.5):
            with pytest.raises(ParameterError, match="size is"):
                forecast.sample(rng, size)  # type: ignore[arg-type]


MANY = ["Normal", "Mixture", "Insensitive", "Empirical"]


@pytest.mark.parametrize("name", MANY)
@pytest.mark.parametrize("rng", [None, 5, np.random, np.random.RandomState(0), "seed"])
def test_draws_need_a_generator(name: str, rng: Any) -> None:
    with pytest.raises(ParameterError, match=r"but must be a random number generator; pass np.random.default_rng"):
        EVERY_KIND[name]().sample(rng)


@pytest.mark.parametrize("name", MANY)
@pytest.mark.parametrize(("size", "shape"), [(None, (3,)), (4, (4, 3)), ((2, 4), (2, 4, 3)), (0, (0, 3))])
def test_many_forecasts_are_drawn_row_by_row(name: str, size: Any, shape: tuple[int, ...]) -> None:
    assert np.shape(EVERY_KIND[name]().sample(np.random.default_rng(0), size)) == shape


@pytest.mark.parametrize("name", MANY)
@pytest.mark.parametrize("method", ["cdf", "sf", "pit", "crps"])
def test_many_forecasts_are_asked_with_one_number_or_one_each(name: str, method: str) -> None:
    ask = getattr(EVERY_KIND[name](), method)
    assert ask(1.0) == approx(ask([1.0, 1.0, 1.0]))
    for wrong in ([1.0, 2.0], np.ones((2, 3))):
        with pytest.raises(
            ShapeError, match=r"y has shape .*, but there are 3 forecasts; pass shape \(3,\), or one nu"
        ):
            ask(wrong)
    for text in ("1.5", {1.0}, Normal):
        with pytest.raises(NotANumberError, match=r"y is .*, but must be made of numbers"):
            ask(text)


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: Point("high", "PA"), NotANumberError, "mean is 'high', but must be made of numbers"),  # type: ignore[arg-type]
        (lambda: Point(np.zeros((2, 2)), "PA"), ShapeError, r"mean has shape \(2, 2\)"),
        (lambda: insensitive(0.0, 1.0, "wide", 1.0), NotANumberError, "noise_scale is 'wide'"),  # type: ignore[arg-type]
        (lambda: Mixture.of(weight=[0.5, 0.5], mean=[1, 2, 3]), ShapeError, r"weight \(2,\), mean \(3,\)"),
        (lambda: Mixture.of(weight=1.0, mean="high"), NotANumberError, "mean is 'high'"),
    ],
)
def test_a_forecast_is_made_of_numbers_that_fit(make: Callable[[], Any], error: Any, words: str) -> None:
    with pytest.raises(error, match=words):
        make()


@pytest.mark.parametrize("start", [np.zeros(3), [0.0, 1.0], np.zeros(2, dtype=np.float32), np.zeros(4)[::2]])
def test_a_search_begins_at_two_numbers_that_can_be_written(start: Any) -> None:
    with pytest.raises(ParameterError, match="start"):
        mixture(1)[0].interval(0.9, start=start)


def test_an_array_that_changes_its_shape_is_read_once() -> None:
    class ChangingShape:
        calls = 0

        def __array__(self, dtype: object = None, copy: object = None) -> Any:
            self.calls += 1
            return np.ones(self.calls)

    for ask in (Normal(0.0, 1.0).cdf, mixture(1)[0].cdf, Normal(0.0, 1.0).quantile):
        assert np.shape(ask(ChangingShape())) == (1,)  # type: ignore[arg-type]
