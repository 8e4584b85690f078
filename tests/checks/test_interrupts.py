"""Ctrl-C, and memory that runs out, at any instant of a call leave a model whole, and free for the next call."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np
import pytest
from tools.fuzz.interrupts import StopAt

from adabypass import AdaBypass, AutoBypass, Forecaster
from tests.checks.every_form import N_FEATURES, trained

Make = Callable[[], Any]
N_INSTANTS = 20
"""Of each call at which it is stopped, beside those at its end: every instruction of the library is one."""

MODELS: dict[str, Make] = {
    "AutoBypass": AutoBypass,
    "AutoBypass, sparse": lambda: AutoBypass(sparse=True),
    "AdaBypass, diagonal": lambda: AdaBypass(covariance="diagonal"),
    "Forecaster": lambda: Forecaster(lags=1),
    "Forecaster, automatic": Forecaster,
}
FORMS = MODELS | {f"{name}, trained": lambda make=make: trained(make()) for name, make in MODELS.items()}
X, Y = np.random.default_rng(0).normal(size=(6, N_FEATURES)), np.array([3.0, 1.0, 4.0, 1.0, 5.0, 9.0])
CALLS: dict[str, Callable[[Any], object]] = {
    "run": lambda model: model.run(Y) if isinstance(model, Forecaster) else model.run(X, Y),
    "update": lambda model: model.update(2.0) if isinstance(model, Forecaster) else model.update(X[0], 2.0),
    "step": lambda model: model.step(2.0) if isinstance(model, Forecaster) else model.step(X[0], 2.0),
    "reset": lambda model: model.reset(),
}


@pytest.mark.parametrize(
    ("name", "error"), [*((name, KeyboardInterrupt) for name in CALLS), ("run", MemoryError), ("step", MemoryError)]
)
@pytest.mark.parametrize("make", FORMS.values(), ids=FORMS.keys())
def test_a_call_that_is_stopped_at_any_instant_has_done_all_or_nothing(
    make: Make, name: str, error: type[BaseException]
) -> None:
    model, call = make(), CALLS[name]
    before, twin = model.to_bytes(), model.copy()
    whole = StopAt(0, error)
    whole.run(lambda: call(twin))
    after = twin.to_bytes()
    last = range(max(whole.n_done - 25, 1), whole.n_done + 1)
    for at in {*np.linspace(1, whole.n_done, N_INSTANTS, dtype=int).tolist(), *last}:
        stopped, stop = model.copy(), StopAt(at, error)
        with suppress(error):
            stop.run(lambda stopped=stopped: call(stopped))  # type: ignore[misc]
            assert stop.n_done < at  # what is remembered for all models may make one call shorter than another
        found = stopped.to_bytes()
        assert found in (before, after)
        call(stopped)  # it is free again
        if found == before:
            assert stopped.to_bytes() == after
