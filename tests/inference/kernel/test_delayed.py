"""A run that takes observations in blocks equals one that takes them one by one, to rounding."""

import signal
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adabypass import AdaBypass, Bypass, EvidenceBypass, Regressor, SequentialKalman
from adabypass.inference.kernel import evidence, govi, kalman
from adabypass.inference.kernel.cell import BLOCKS_FROM, Cell
from adabypass.inference.kernel.step import Kernel
from adabypass.model.paper_spec import BypassSpec
from adabypass.model.spec import Spec
from adabypass.validation import Floats
from tests.checks.regressors import assert_sound, hostile_streams, row_of
from tests.strategies import Stream, bypass_cases, evidence_specs, kalman_specs, streams

RELATIVE = 1e-9  # thousands of steps, each of which rounds
SENSITIVE = 10  # times what the data's own rounding changes: a sum of n terms rounds n times
CHAOTIC = 1e-6  # of a result that this much of it depends on the last bits of the data, no digits can be compared
LEAST_RUN = 64  # observations of a run that takes blocks
ALWAYS, NEVER = 1, 10**9  # features from which on blocks are taken
MODELS: dict[str, Callable[[], Regressor]] = {
    "SequentialKalman": SequentialKalman,
    "SequentialKalman, adapted": lambda: SequentialKalman(adapt_noise=True),
    "Bypass": Bypass,
    "Bypass, 2 sweeps": lambda: Bypass(max_sweeps=2),
    "AdaBypass": AdaBypass,
    "EvidenceBypass": EvidenceBypass,
    "EvidenceBypass, wide": lambda: EvidenceBypass(prior_var=1e12, drift=1e-6),
}
every_model = pytest.mark.parametrize("make", MODELS.values(), ids=MODELS.keys())


def ran(kernel: Kernel, spec: Spec, stream: Stream, blocks_from: int) -> tuple[Floats, ...]:
    """Return all that a run keeps, and the covariance and the mean after it."""
    n = stream.X.shape[1]
    cell = Cell(kernel, spec, spec.new_row(n), n)
    kept = cell.run(stream.X, stream.y, True, True, blocks_from)
    return *kept, spec.layout.view(cell.row, "mean", n_features=n), spec.layout.matrix(cell.row, "cov", n_features=n)


def distance(ours: Floats, theirs: Floats) -> Floats:
    """Return the largest difference in each column, relative to the column's largest number."""
    size = np.abs(np.nan_to_num(theirs)).max(axis=0, initial=1e-12)
    largest: Floats = np.nan_to_num(np.abs(ours - theirs) / size).max(axis=0, initial=0.0)
    return largest


def nudged(stream: Stream, seed: int) -> Stream:
    """Return the stream with every number off by up to one unit in its last place."""
    rng = np.random.default_rng(seed)
    return Stream(*(values * (1.0 + np.spacing(1.0) * rng.choice([-1.0, 1.0], values.shape)) for values in stream))


def assert_same(kernel: Kernel, spec: Spec, stream: Stream) -> None:
    """Blocks change no result by more than rounding does: how much that is, the data with other last bits tells."""
    one_by_one, in_blocks = (ran(kernel, spec, stream, each) for each in (NEVER, ALWAYS))
    off = [ran(kernel, spec, nudged(stream, seed), NEVER) for seed in range(3)]
    for ours, theirs, *others in zip(in_blocks, one_by_one, *off, strict=True):
        assert np.array_equal(np.isnan(ours), np.isnan(theirs))
        change = max(float(distance(other, theirs).max(initial=0.0)) for other in others)
        assert change > CHAOTIC or (distance(ours, theirs) <= RELATIVE + SENSITIVE * change).all()


def dense(n_features: int, length: int, seed: int = 0) -> Stream:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(length, n_features))
    y = X @ rng.normal(size=n_features) + rng.standard_t(3, length)
    y[rng.random(length) < 0.1] = np.nan
    return Stream(X, y)


@given(streams(max_features=80, max_length=150, min_length=LEAST_RUN), evidence_specs)
@settings(max_examples=60)
def test_evidence_in_blocks_equals_one_by_one(stream: Stream, spec: Spec) -> None:
    assert_same(evidence.KERNEL, spec, stream)


@given(streams(max_features=80, max_length=150, min_length=LEAST_RUN), kalman_specs)
@settings(max_examples=60)
def test_kalman_in_blocks_equals_one_by_one(stream: Stream, spec: Spec) -> None:
    assert_same(kalman.KERNEL, spec, stream)


@given(bypass_cases(adaptive=False, max_features=80, max_length=150, min_length=LEAST_RUN))
@settings(max_examples=60)
def test_bypass_in_blocks_equals_one_by_one(case: tuple[Stream, BypassSpec]) -> None:
    assert_same(govi.BYPASS, case[1], case[0])


@given(bypass_cases(adaptive=True, max_features=80, max_length=150, min_length=LEAST_RUN))
@settings(max_examples=60)
def test_ada_bypass_in_blocks_equals_one_by_one(case: tuple[Stream, BypassSpec]) -> None:
    assert_same(govi.ADA_BYPASS, case[1], case[0])


@every_model
@pytest.mark.parametrize("n_features", [1, 31, 32, 33, 100])
def test_thousands_of_steps_in_blocks_equal_one_by_one(make: Callable[[], Any], n_features: int) -> None:
    model = make()
    assert_same(model._kernel, model._spec, dense(n_features, 5000))


@every_model
@given(n_features=st.integers(1, 70), seed=st.integers(0, 99))
@settings(max_examples=15)
def test_rows_with_few_features_in_blocks_equal_one_by_one(make: Callable[[], Any], n_features: int, seed: int) -> None:
    """Each is the first that says anything of some weight, whose variance falls far: so blocks end early."""
    rng = np.random.default_rng(seed)
    X = np.zeros((300, n_features))
    X[np.arange(300), rng.integers(0, n_features, 300)] = 10.0 ** rng.uniform(-2, 2, 300)
    model = make()
    assert_same(model._kernel, model._spec, Stream(X, X.sum(axis=1) + rng.normal(size=300)))


def test_short_runs_are_taken_one_by_one() -> None:
    model: Any = EvidenceBypass()
    for length, is_taken in ((LEAST_RUN - 1, False), (LEAST_RUN, True)):
        ours, theirs = (ran(model._kernel, model._spec, dense(70, length), each) for each in (ALWAYS, NEVER))
        assert np.array_equal(ours[-1], theirs[-1]) is not is_taken


def run_in_blocks(model: Any, stream: Stream) -> None:
    """Run a stream as the model's own `run` does, but in blocks."""
    n = stream.X.shape[1]
    cell = model._new_cell(model._spec.new_row(n), n)
    history, weights, _ = cell.run(stream.X, stream.y, True, False, ALWAYS)
    assert np.isfinite(history[:, :2]).all()
    assert np.isfinite(weights).all()
    assert (weights[:, n:] >= 0.0).all()
    model._cell = cell


@every_model
@pytest.mark.parametrize("name", hostile_streams())
@pytest.mark.parametrize("copies", [1, 13])
def test_hostile_streams_in_blocks_leave_a_sound_model(make: Callable[[], Any], name: str, copies: int) -> None:
    X, y = hostile_streams()[name]
    model = make()
    run_in_blocks(model, Stream(np.tile(X, (1, copies)), np.ascontiguousarray(y)))
    assert_sound(model)


@every_model
def test_blocks_are_taken_from_the_threshold_on(make: Callable[[], Any]) -> None:
    """They round in another order: so the last bits tell."""
    for n_features, is_taken in ((BLOCKS_FROM - 1, False), (BLOCKS_FROM, True)):
        X, y = dense(n_features, LEAST_RUN)
        looped, whole = make(), make()
        whole.run(X, y)
        for x, target in zip(X, y, strict=True):
            looped.update(x, target)
        ours, theirs = (each.__getstate__()["row"] for each in (whole, looped))
        assert distance(ours, theirs) <= RELATIVE
        assert np.array_equal(ours, theirs) is not is_taken
        assert whole.predict(X[0]).mean == pytest.approx(looped.predict(X[0]).mean, rel=RELATIVE)


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs POSIX signals")
def test_ctrl_c_in_a_block_changes_nothing() -> None:
    X, y = dense(BLOCKS_FROM, 100)
    model = EvidenceBypass()
    model.run(X, y)
    before, many = row_of(model), (np.tile(X, (200, 1)), np.tile(y, 200))

    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    old = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, 0.25)
    try:
        with pytest.raises(KeyboardInterrupt):
            model.run(*many, keep_predictive=False)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, old)
    assert row_of(model) == before
