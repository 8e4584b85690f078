"""The guard of a model replaces its runner as a whole or not at all, whatever happens meanwhile."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from adabypass.errors import ConcurrentUseError
from adabypass.kernels import bypass
from adabypass.kernels.runner import DenseRunner, RunGuard
from adabypass.state.paper import AdaBypassSpec

X = np.ones(2)


class Model:
    """What a guard needs of a model."""

    def __init__(self, runner: DenseRunner | None) -> None:
        self._runner, self.guard = runner, RunGuard()


def new_runner() -> DenseRunner:
    spec = AdaBypassSpec()
    return DenseRunner(bypass.ADA_BYPASS, spec, spec.new_row(2), 2)


@pytest.mark.parametrize("error", [ValueError, MemoryError, KeyboardInterrupt, SystemExit, GeneratorExit])
@pytest.mark.parametrize("start", [new_runner, lambda: None])
def test_work_that_raises_changes_nothing(error: type[BaseException], start: Callable[[], DenseRunner | None]) -> None:
    model = Model(start())
    before = model._runner

    def work(_: object) -> Any:
        assert model.guard.is_running
        raise error

    with pytest.raises(error):
        model.guard.run(model, work)
    assert model._runner is before
    assert not model.guard.is_running
    if before is not None:
        before.update(X, 1.0)


@pytest.mark.parametrize("answer", [None, 3, (1, 2, 3)])
def test_work_that_does_not_return_a_runner_and_an_answer_changes_nothing(answer: object) -> None:
    model = Model(new_runner())
    before = model._runner
    with pytest.raises((TypeError, ValueError)):
        model.guard.run(model, lambda _: answer)  # type: ignore[arg-type,return-value]
    assert model._runner is before
    assert not model.guard.is_running


def test_what_comes_during_a_run_is_refused_and_what_comes_too_late_is_not_lost() -> None:
    old, new = new_runner(), new_runner()
    model = Model(old)

    def work(before: DenseRunner) -> tuple[DenseRunner, str]:
        assert before is old
        assert old.is_running
        for call in (
            lambda: old.update(X, 1.0),
            lambda: old.step(X, 1.0),
            lambda: model.guard.run(model, work),
            lambda: model.guard.put(model, None),
        ):
            with pytest.raises(ConcurrentUseError, match="running a stream"):
                call()
        old.predict(X)
        return new, "answer"

    assert model.guard.run(model, work) == "answer"
    assert model._runner is new
    assert not old.is_running
    with pytest.raises(ConcurrentUseError, match="call it again"):
        old.update(X, 1.0)
    new.update(X, 1.0)


def test_the_first_runner_is_kept_once_it_has_been_used() -> None:
    model = Model(None)
    with pytest.raises(ZeroDivisionError):
        model.guard.meet(model, lambda _: new_runner(), lambda _: 1 / 0)
    assert model._runner is None
    first = new_runner()
    assert model.guard.meet(model, lambda runner: runner or first, lambda runner: runner) is first
    assert model._runner is first


def test_who_comes_second_acts_on_the_runner_of_the_first() -> None:
    model, first = Model(None), new_runner()
    runners = []

    def act(runner: DenseRunner) -> None:
        runners.append(runner)
        model.guard.meet(model, lambda runner: runner or first, lambda runner: runner.update(X, 1.0))
        runner.update(X, 2.0)

    model.guard.meet(model, lambda runner: runner or new_runner(), act)
    assert len(runners) == 2
    assert runners[1] is model._runner is first
    assert first.row[0] == 3.0  # once from the call that was dropped, and twice from that which was repeated


def test_a_runner_that_has_learned_meanwhile_is_not_replaced_by_one_that_has_not() -> None:
    old = new_runner()
    model = Model(old)
    made = []

    def choose(runner: DenseRunner) -> DenseRunner:
        if runner.row[0] > 0:
            return runner
        made.append(new_runner())
        old.update(X, 1.0)  # of another thread
        return made[-1]

    model.guard.meet(model, choose, lambda runner: runner.update(X, 2.0))
    assert model._runner is old
    assert old.row[0] == 2.0
    assert len(made) == 1


def test_during_a_first_run_forecasts_are_made_and_nothing_is_kept() -> None:
    model, new = Model(None), new_runner()

    def work(_: None) -> tuple[DenseRunner, None]:
        model.guard.meet(model, lambda _: new_runner(), lambda runner: runner.predict(X), changes=False)
        assert model._runner is None
        with pytest.raises(ConcurrentUseError):
            model.guard.meet(model, lambda _: new_runner(), lambda runner: runner.update(X, 1.0))
        return new, None

    model.guard.run(model, work)
    assert model._runner is new
