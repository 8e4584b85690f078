"""One checklist, run on every regressor."""

import pickle
import threading
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pytest import approx

from adabypass import (
    AdaBypass,
    AutoBypass,
    Bypass,
    EvidenceBypass,
    PassiveAggressive,
    Point,
    Regressor,
    SequentialKalman,
)
from adabypass.errors import AdabypassError, NotANumberError, NotFiniteError, NotReadyError, ParameterError, ShapeError
from adabypass.inference.kernel.cell import Cell
from tests.strategies import Stream, powers, streams

Make = Callable[[], Regressor]

REGRESSORS: dict[str, Make] = {
    "PA": lambda: PassiveAggressive("PA"),
    "PA-I": lambda: PassiveAggressive("PA-I"),
    "PA-II": lambda: PassiveAggressive("PA-II"),
    "SequentialKalman": SequentialKalman,
    "SequentialKalman, adapted": lambda: SequentialKalman(adapt_noise=True),
    "Bypass": Bypass,
    "Bypass, 2 sweeps": lambda: Bypass(max_sweeps=2),
    "AdaBypass": AdaBypass,
    "EvidenceBypass": EvidenceBypass,
    "AutoBypass": AutoBypass,
    "AutoBypass, no intercept": lambda: AutoBypass(intercept=False),
    "AdaBypass, aggressive": lambda: AdaBypass(aggressiveness=10.0),
}
# Ten thousand times the paper's aggressiveness is there to be survived, not to learn well.
SENSIBLE = {name: make for name, make in REGRESSORS.items() if "aggressive" not in name}

every_regressor = pytest.mark.parametrize("make", REGRESSORS.values(), ids=REGRESSORS.keys())
every_sensible_regressor = pytest.mark.parametrize("make", SENSIBLE.values(), ids=SENSIBLE.keys())


def row_of(model: Regressor) -> bytes:
    """Take the whole memory of a model."""
    return pickle.dumps(model.__getstate__()["row"])


def trained(make: Make, n_features: int = 3) -> Regressor:
    rng = np.random.default_rng(7)
    model = make()
    X = rng.normal(size=(50, n_features))
    model.run(X, X @ np.arange(1, n_features + 1) + rng.normal(size=50))
    return model


# Streams that a careless filter dies of: n is long enough to settle, small enough to test often.


def hostile_streams() -> dict[str, Stream]:
    n = 400
    rng = np.random.default_rng(3)
    noise = rng.normal(size=(n, 3))
    sign = np.where(np.arange(n) % 2, 1.0, -1.0)
    walk = noise.cumsum(axis=0)
    return {
        "constants": Stream(np.ones((n, 3)), np.full(n, 5.0)),
        "zeros": Stream(np.zeros((n, 3)), np.zeros(n)),
        "zero features": Stream(np.zeros((n, 3)), noise[:, 0]),
        "tiny everything": Stream(1e-300 * noise, 1e-300 * noise[:, 1]),
        "tiny features": Stream(1e-300 * noise, 1e300 * sign),
        "huge everything": Stream(1e300 * np.sign(noise), 1e300 * sign),
        "huge features": Stream(1e300 * np.sign(noise), noise[:, 0]),
        "huge targets": Stream(noise, 1e300 * sign),
        "largest doubles": Stream(np.full((n, 3), np.finfo(float).max), np.finfo(float).max * sign),
        "smallest doubles": Stream(np.full((n, 3), 5e-324), 5e-324 * sign),
        "alternating 1e150": Stream(1e150 * np.outer(sign, np.ones(3)), 1e150 * sign),
        "alternating sizes": Stream(noise * (10.0 ** (150 * sign))[:, None], noise[:, 0] * 10.0 ** (150 * sign)),
        "mixed sizes": Stream(noise * [1e-200, 1.0, 1e200], noise[:, 0]),
        "collinear": Stream(np.outer(noise[:, 0], [1.0, 2.0, -3.0]), noise[:, 0]),
        "nearly collinear": Stream(np.outer(noise[:, 0], [1.0, 1.0, 1.0]) + 1e-9 * noise, noise[:, 0]),
        "random walks": Stream(1e6 * walk, walk[:, 0]),
        "one outlier": Stream(noise, np.where(np.arange(n) == 200, 1e200, noise[:, 0])),
        "all missing": Stream(noise, np.full(n, np.nan)),
        "random scales": Stream(noise * 10.0 ** rng.uniform(-300, 300, (n, 3)), 10.0 ** rng.uniform(-300, 300, n)),
        "huge, then calm": Stream(np.where(np.arange(n)[:, None] < 10, 1e300, noise), noise[:, 0]),
    }


def assert_sound(model: Regressor) -> None:
    """The whole memory is finite; the covariance is symmetric, positive semi-definite, non-negative."""
    assert np.isfinite(model.__getstate__()["row"]).all()
    mean, cov = model.weights
    assert np.isfinite(mean).all()
    assert np.isfinite(list(model.parameters.values())).all()
    if cov is not None:
        assert np.isfinite(cov).all()
        assert np.array_equal(cov, cov.T)
        assert (cov.diagonal() >= 0).all()
        size = float(np.abs(cov).max()) or 1.0
        # eigvalsh itself errs by a few units in the last place of the largest entry.
        assert np.linalg.eigvalsh(cov / size).min() >= -1e-15 * len(cov)


@every_regressor
@pytest.mark.parametrize("name", hostile_streams().keys())
def test_hostile_streams_stay_finite(make: Make, name: str) -> None:
    model, stream = make(), hostile_streams()[name]
    for part in range(0, len(stream.y), 20):
        trace = model.run(stream.X[part : part + 20], stream.y[part : part + 20])
        assert np.isfinite(trace.mean).all()
        if not isinstance(trace.predictive, Point):
            assert np.isfinite(trace.var).all()
            assert (trace.var >= 0).all()
            assert np.isfinite(trace.log_score[~np.isnan(trace.y)]).all()
            if part == 40:  # often enough: a mixture's quantiles take a while
                low, high = trace.predictive[:3].interval(0.9)
                assert (low <= high).all()
                assert np.isfinite([low, high]).all()
        assert_sound(model)


@every_regressor
@settings(max_examples=40)
@given(
    X=st.lists(
        st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=2, max_size=2), min_size=1, max_size=8
    ),
    data=st.data(),
)
def test_any_finite_stream_stays_finite(make: Make, X: list[list[float]], data: st.DataObject) -> None:
    y = data.draw(st.lists(st.floats(allow_infinity=False), min_size=len(X), max_size=len(X)))
    model = make()
    trace = model.run(X, y)
    assert np.isfinite(trace.mean).all()
    assert_sound(model)


@settings(max_examples=150)
@given(
    kind=st.sampled_from([Bypass, AdaBypass, SequentialKalman, EvidenceBypass]),
    told=st.lists(powers(-4, 4), min_size=3, max_size=3),
    seed=st.integers(0, 1000),
    n_features=st.integers(2, 6),
    unit=powers(-3, 9),
    outlier=powers(0, 14),
    shape=st.sampled_from(["signs", "collinear", "constant", "one dead"]),
)
def test_any_hyperparameters_stay_sound_on_hard_features(
    kind: Callable[..., Regressor],
    told: list[float],
    seed: int,
    n_features: int,
    unit: float,
    outlier: float,
    shape: str,
) -> None:
    """Large drift, small noise, features that repeat themselves: here rounding alone can make a variance negative."""
    rng = np.random.default_rng(seed)
    X = {
        "signs": np.sign(rng.normal(size=(60, n_features))),
        "collinear": np.outer(rng.normal(size=60), np.arange(1, n_features + 1) / 10),
        "constant": np.ones((60, n_features)),
        "one dead": rng.normal(size=(60, n_features)) * (np.arange(n_features) > 0),
    }[shape] * unit
    y = X.sum(axis=1) + rng.normal(size=60)
    y[20] *= outlier
    model = SequentialKalman(told[0]) if kind is SequentialKalman else kind(*told)
    for part in range(0, 60, 5):
        assert (model.run(X[part : part + 5], y[part : part + 5]).var > 0).all()
        assert_sound(model)


@pytest.mark.parametrize("make", [SequentialKalman, Bypass, AdaBypass])
def test_a_feature_that_is_never_active_does_not_disturb_the_others(make: Make) -> None:
    rng = np.random.default_rng(0)
    X = np.column_stack([np.ones(500), rng.normal(size=500), np.zeros(500)])
    y = X @ [1.0, 2.0, 0.0] + rng.normal(size=500)
    y[20] = 1e9
    with_it, without = make().run(X, y), make().run(X[:, :2], y)
    if make is SequentialKalman:  # the others count the number of features in their drift
        assert with_it.sd[-1] == approx(without.sd[-1], rel=1e-3)
    assert with_it.sd[-1] < 10.0


@every_regressor
@given(stream=streams(max_features=30, max_length=15))
@settings(max_examples=40)
def test_run_equals_the_loop_bit_for_bit(make: Make, stream: Stream) -> None:
    looped, ran = make(), make()
    trace = ran.run(stream.X, stream.y, keep_weights=True)
    assert trace.weights_mean is not None
    for t, (x, y) in enumerate(zip(stream.X, stream.y, strict=True)):
        forecast = looped.predict(x)
        assert forecast.mean == trace.mean[t]
        if not isinstance(forecast, Point):
            assert forecast.var == trace.var[t]
        looped.update(x, y)
        assert {name: values[t] for name, values in trace.history.items()} == looped.parameters
        assert trace.weights_mean[t] == approx(looped.weights.mean)
        if looped.weights.cov is not None:
            assert trace.weights_var is not None
            assert trace.weights_var[t] == approx(looped.weights.cov.diagonal())
    assert row_of(looped) == row_of(ran)


@every_regressor
def test_predicting_changes_nothing(make: Make) -> None:
    model = trained(make)
    before = row_of(model)
    model.predict([1.0, 2.0, 3.0])
    assert row_of(model) == before


@every_regressor
def test_a_missing_observation_only_lets_time_pass(make: Make) -> None:
    model = trained(make)
    weights, parameters, n_seen = model.weights, dict(model.parameters), model.n_seen
    model.update([1.0, 2.0, 3.0], np.nan)
    assert np.array_equal(model.weights.mean, weights.mean)
    assert model.parameters == parameters
    assert model.n_seen == n_seen
    if weights.cov is not None:
        assert model.weights.cov is not None
        assert np.linalg.eigvalsh(model.weights.cov - weights.cov).min() > 0.0  # uncertainty grows in every direction


@every_regressor
@pytest.mark.parametrize(
    ("x", "y", "error", "words"),
    [
        ([1.0, 2.0], 0.0, ShapeError, "x has shape (2,), but this model has 3 features"),
        ([1.0, 2.0, 3.0, 4.0], 0.0, ShapeError, "add_features(1)"),
        ([[1.0, 2.0, 3.0]], 0.0, ShapeError, "vector"),
        (["a", "b", "c"], 0.0, NotANumberError, "must be made of numbers"),
        (None, 0.0, NotANumberError, "must be made of numbers"),
        ([1.0, np.nan, 3.0], 0.0, NotFiniteError, "x[1] is nan"),
        ([1.0, 2.0, np.inf], 0.0, NotFiniteError, "x[2] is inf"),
        ([1.0, 2.0, 3.0], np.inf, NotFiniteError, "pass nan if the observation is missing"),
        ([1.0, 2.0, 3.0], "5", NotANumberError, "must be made of numbers"),
        ([1.0, 2.0, 3.0], None, NotANumberError, "a missing observation is nan"),
        ([1.0, 2.0, 3.0], [1.0, 2.0], ShapeError, "single number"),
        ([1.0, 2.0, 3.0], 1j, NotANumberError, "must be made of numbers"),
        ([1.0, 2.0, 3.0], 10**400, NotANumberError, "must be made of numbers"),
    ],
)
def test_a_refused_update_leaves_the_model_as_it_was(
    make: Make, x: object, y: object, error: type[AdabypassError], words: str
) -> None:
    model = trained(make)
    before = row_of(model)
    with pytest.raises(error) as caught:
        model.update(x, y)
    assert words in str(caught.value)
    assert row_of(model) == before


@every_regressor
@pytest.mark.parametrize(
    ("X", "y", "error", "words"),
    [
        (np.ones((5, 2)), np.ones(5), ShapeError, "X has shape (5, 2), but this model has 3 features"),
        (np.ones((5, 3)), np.ones(4), ShapeError, "X has 5 rows and y has 4"),
        (np.ones(5), np.ones(5), ShapeError, "reshape(-1, 1)"),
        (np.ones((5, 3)), np.ones((5, 1)), ShapeError, "y has shape (5, 1)"),
        (np.where(np.arange(15).reshape(5, 3) == 7, np.nan, 1.0), np.ones(5), NotFiniteError, "X[2, 1] is nan"),
        (np.ones((5, 3)), [1, 2, 3, np.inf, 5], NotFiniteError, "y[3] is inf"),
        (np.ones((5, 3)), list("abcde"), NotANumberError, "y is"),
    ],
)
def test_a_refused_run_leaves_the_model_as_it_was(
    make: Make, X: object, y: object, error: type[AdabypassError], words: str
) -> None:
    model = trained(make)
    before = row_of(model)
    with pytest.raises(error) as caught:
        model.run(X, y)
    assert words in str(caught.value)
    assert row_of(model) == before


@every_regressor
def test_a_refused_first_observation_does_not_fix_the_number_of_features(make: Make) -> None:
    model = make()
    with pytest.raises(NotFiniteError):
        model.update([1.0, 2.0], np.inf)
    assert model.n_features is None
    with pytest.raises(NotReadyError):
        _ = model.weights
    model.update([1.0, 2.0, 3.0], 1.0)
    assert model.n_features == 3


@every_regressor
def test_numbers_of_every_kind_are_accepted(make: Make) -> None:
    kinds: list[tuple[object, object]] = [
        (np.array([1.0, 2.0]), 3.0),
        ([1, 2], 3),
        ((1.0, 2.0), np.float32(3)),
        (np.array([1, 2], dtype=np.int8), np.int64(3)),
        (np.array([1.0, 9.0, 2.0])[::2], np.array(3.0)),
        (np.array([1.0, 2.0], dtype=">f8"), np.array([3.0])),
    ]
    rows = set()
    for x, y in kinds:
        model = make()
        model.predict(x)
        model.update(x, y)
        rows.add(row_of(model))
    assert len(rows) == 1


@every_regressor
def test_a_plain_number_is_a_vector_of_one(make: Make) -> None:
    model = make()
    model.update(2.0, 3.0)
    assert model.n_features == 1
    assert np.isfinite(model.predict(1).mean)


@every_regressor
def test_a_copy_goes_its_own_way(make: Make) -> None:
    model = trained(make)
    before, twin = row_of(model), model.copy()
    assert row_of(twin) == before
    twin.update([1.0, 2.0, 3.0], 100.0)
    assert row_of(model) == before
    assert row_of(twin) != before


@every_regressor
def test_a_pickled_model_learns_on_as_if_nothing_had_happened(make: Make) -> None:
    model = trained(make)
    twin = pickle.loads(pickle.dumps(model))
    for each in (model, twin):
        each.update([1.0, 2.0, 3.0], 4.0)
    assert row_of(model) == row_of(twin)
    assert repr(model) == repr(twin)


@every_regressor
def test_reset_forgets_everything(make: Make) -> None:
    model = trained(make)
    model.reset()
    assert model.n_seen == 0
    assert model.n_features is None
    again = trained(make)
    rng = np.random.default_rng(7)
    X = rng.normal(size=(50, 3))
    model.run(X, X @ np.arange(1, 4) + rng.normal(size=50))
    assert row_of(model) == row_of(again)


@every_regressor
def test_a_grown_model_keeps_what_it_learned(make: Make) -> None:
    model = trained(make)
    mean, cov = model.weights
    parameters, forecast = dict(model.parameters), model.predict([1.0, 2.0, 3.0])
    model.add_features(2)
    assert model.n_features == 5
    assert model.parameters == parameters
    assert model.weights.mean == approx([*mean, 0.0, 0.0])
    assert model.predict([1.0, 2.0, 3.0, 0.0, 0.0]).mean == approx(forecast.mean)
    if cov is not None:
        assert model.weights.cov is not None
        assert model.weights.cov[:3, :3] == approx(cov)
        assert not model.weights.cov[3:, :3].any()


@every_sensible_regressor
def test_a_grown_model_learns_its_new_weights(make: Make) -> None:
    model = trained(make)
    model.add_features(2)
    X = np.random.default_rng(0).normal(size=(1000, 5))
    model.run(X, X @ [1.0, 2.0, 3.0, 4.0, 5.0])
    assert model.weights.mean == approx([1.0, 2.0, 3.0, 4.0, 5.0], abs=1.0)  # BYPASS ignores errors up to 1.25


@every_regressor
def test_growing_a_fresh_model_equals_one_built_with_as_many_features(make: Make) -> None:
    grown, wide = make(), make()
    grown.predict([0.0, 0.0])
    grown.add_features(3)
    wide.predict(np.zeros(5))
    assert row_of(grown) == row_of(wide)


@every_regressor
def test_growing_needs_features_to_add_to_and_a_count(make: Make) -> None:
    with pytest.raises(NotReadyError):
        make().add_features(1)
    for wrong in (0, -1, 1.5, True):
        with pytest.raises(ParameterError):
            trained(make).add_features(wrong)  # type: ignore[arg-type]


@every_regressor
def test_weights_are_read_only_copies(make: Make) -> None:
    model = trained(make)
    mean, cov = model.weights
    with pytest.raises(ValueError, match="read-only"):
        mean[0] = 5.0
    if cov is not None:
        with pytest.raises(ValueError, match="read-only"):
            cov[0, 0] = 5.0
    before = mean.copy()
    model.update([1.0, 2.0, 3.0], 1000.0)
    assert np.array_equal(mean, before)


@every_sensible_regressor
def test_it_learns(make: Make) -> None:
    """A linear truth without drift: the forecasts end up far better than the mean of y."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 3))
    y = X @ [3.0, -2.0, 1.0] + 0.1 * rng.normal(size=2000)
    scores = make().run(X, y).scores(skip=1000)
    assert scores["rmse"] < 0.5 < y.std()


@every_regressor
def test_run_lets_other_threads_work(make: Make) -> None:
    """This thread takes turns while nothing but compiled code runs in the other: with the lock held there are none."""
    X = np.random.default_rng(0).normal(size=(50_000, 8))
    y = X[:, 0].copy()
    model = make()
    cell = Cell(model.kernel, model.spec, model.spec.new_row(8), 8)
    turns, taken = 0, 0

    def run() -> None:
        nonlocal taken
        for _ in range(200):  # a busy machine may give this thread's fast runs no rival at first
            before = turns
            cell.run(X, y, False, False)
            taken = turns - before
            if taken:
                break

    running = threading.Thread(target=run)
    running.start()
    while running.is_alive():
        turns += 1
    assert taken


@every_regressor
@pytest.mark.parametrize("n_features", [33, 70])
def test_run_equals_the_loop_with_many_features(make: Make, n_features: int) -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, n_features)), rng.normal(size=30)
    looped, ran = make(), make()
    trace = ran.run(X, y)
    for t, (x, target) in enumerate(zip(X, y, strict=True)):
        assert looped.predict(x).mean == trace.mean[t]
        looped.update(x, target)
    assert row_of(looped) == row_of(ran)


@every_regressor
def test_what_a_mask_hides_is_missing(make: Make) -> None:
    X = np.ones((3, 1))
    masked, missing = make(), make()
    masked.run(X, np.ma.array([1.0, 999.0, 3.0], mask=[False, True, False]))
    missing.run(X, [1.0, np.nan, 3.0])
    assert row_of(masked) == row_of(missing)
    with pytest.raises(NotFiniteError):
        masked.run(np.ma.array(X, mask=[[False], [True], [False]]), [1.0, 2.0, 3.0])


@every_regressor
def test_an_unpickled_model_writes_to_memory_of_its_own(make: Make) -> None:
    model = trained(make)
    buffers: list[pickle.PickleBuffer] = []
    data = pickle.dumps(model, protocol=5, buffer_callback=buffers.append)
    frozen = [bytes(buffer) for buffer in buffers]
    before = [bytes(buffer) for buffer in frozen]
    twin = pickle.loads(data, buffers=frozen)
    twin.update([1.0, 2.0, 3.0], 100.0)
    assert frozen == before


@every_regressor
def test_what_it_was_told_can_be_read(make: Make) -> None:
    model = make()
    assert model.hyperparameters == model._spec.hyperparameters()
    with pytest.raises(TypeError):
        model.hyperparameters["epsilon"] = 3.0  # type: ignore[index]


def test_a_model_given_its_features_is_ready_at_once() -> None:
    model = Bypass(n_features=2)
    assert model.weights.mean == approx([0.0, 0.0])
    model.update([1.0, 1.0], 1.0)
    model.reset()
    assert model.n_features == 2
    with pytest.raises(ShapeError):
        model.predict([1.0])


@every_regressor
def test_step_is_predict_then_update(make: Make) -> None:
    model, twin = trained(make), trained(make)
    for x, y in (([1.0, 2.0, 3.0], 4.0), ([0.5, -1.0, 2.0], np.nan), ([1.0, 0.0, 0.0], -2.0)):
        expected = twin.predict(x)
        twin.update(x, y)
        assert model.step(x, y).mean == expected.mean
        assert row_of(model) == row_of(twin)
    with pytest.raises(NotFiniteError):
        model.step([1.0, 2.0, 3.0], np.inf)
    assert row_of(model) == row_of(twin)
