"""The fuzzer reports crashes with what is needed to see them again, and makes the same calls for the same seed."""

import sys

import numpy as np
import pytest
from tools.fuzz import calls, hostile, races, worker

from adabypass import AutoBypass
from tools import fuzz_api


def labels(seed: int, n: int = 300) -> list[str]:
    caller = calls.Caller(calls.Pool(), seed)
    return [caller.draw().label for _ in range(n)]


def test_one_seed_makes_one_sequence_of_calls() -> None:
    assert labels(1) == labels(1)
    assert labels(1) != labels(2)


def test_every_public_class_and_function_is_called() -> None:
    called = {label.partition("(")[0] for seed in range(10) for label in labels(seed)}
    assert {kind.__name__ for kind in (*calls.CONSTRUCTORS, *calls.PLAIN)} <= called
    for method in ("predict", "update", "step", "run", "add_features", "reset", "copy"):
        assert {f"{model.__name__}.{method}" for model in calls.MODELS} <= called


def test_only_the_score_of_a_blank_forecast_may_be_nan() -> None:
    model = AutoBypass()
    model.update([1.0], 2.0)  # nothing was known before it
    assert np.isnan(model.__getstate__()["row"]).sum() == 1
    assert worker.is_finite(model)
    state = model.__getstate__()
    state["row"][-1] = np.nan
    model.__setstate__(state)
    assert not worker.is_finite(model)


def test_every_hostile_value_can_be_made() -> None:
    for make in (*hostile.VALUES.values(), *hostile.TAMPERED.values()):
        make()


def test_a_race_whose_updates_are_lost_is_reported() -> None:
    with pytest.raises(races.LostUpdateError):
        races.run_race(AutoBypass, lambda _, i: None, 0)
    for race in races.RACES.values():
        races.run_race(*race)


def test_a_model_that_is_left_locked_is_reported() -> None:
    tally, pool, model = worker.Tally(), calls.Pool(), AutoBypass()

    def lock(_: object) -> tuple[None, None]:
        worker.make_call(calls.Call("AutoBypass.run()", model.reset, model, False), pool, tally, alone=True)
        return None, None

    model._guard.run(model, lock)
    assert tally.locked == {"AutoBypass.run": "AutoBypass.run()"}


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("import os; os.abort()", "killed by SIGABRT"),
        (
            "import os, signal as s; s.signal(s.SIGSEGV, s.SIG_DFL); os.kill(os.getpid(), s.SIGSEGV)",
            "killed by SIGSEGV",
        ),
        ("import sys; sys.exit(3)", "ended with exit code 3"),
        ("import time; time.sleep(60)", "hung: not done after 1 s"),
    ],
)
def test_a_worker_that_does_not_end_well_is_reported_with_its_seed(
    code: str, words: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    note = "pathlib.Path(sys.argv[-1]).write_text('AutoBypass.reset()')"  # the last argument is the file of notes
    monkeypatch.setattr(fuzz_api, "WORKER", ["-c", f"import pathlib, sys; {note}; {code}"])
    monkeypatch.setattr(sys, "argv", ["fuzz_api.py", "--calls", "5", "--seed", "77", "--timeout", "1"])
    assert fuzz_api.main() == 1
    shown = capsys.readouterr().out
    assert f"batch with seed 77 {words}" in shown
    assert "thread 0: AutoBypass.reset()" in shown
    assert "again: python tools/fuzz_api.py --calls 5 --batch 5 --threads 1 --seed 77" in shown
    assert "1 batches crashed" in shown


def test_raw_exceptions_are_counted_by_type(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    counts = (
        '{"calls": 5, "refused": 2, "raw": {"TypeError": 1}, "examples": {"TypeError in Normal": "Normal(mean=set)"},'
        ' "changed": {}, "unsound": {}, "locked": {}}'
    )
    monkeypatch.setattr(fuzz_api, "WORKER", ["-c", f"print({counts!r})"])
    monkeypatch.setattr(sys, "argv", ["fuzz_api.py", "--calls", "10", "--batch", "5"])
    assert fuzz_api.main() == 0
    shown = capsys.readouterr().out
    assert "10 calls" in shown
    assert "4 refused" in shown
    assert "2 raw exceptions: {'TypeError': 2}" in shown
    assert "Normal(mean=set)" in shown
