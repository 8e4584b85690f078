"""What a snapshot of a panel says is checked before memory is taken for it."""

import pickle
import tracemalloc
from typing import Any

import numpy as np
import pytest

from adabypass import AdaBypass, AutoBypass, Forecaster, Panel, PassiveAggressive, Regressor, from_bytes
from adabypass.errors import NotReadyError, StateError
from adabypass.panel.engines import engine_of
from adabypass.snapshots import container

KINDS: list[Forecaster | Regressor] = [
    AdaBypass(covariance="full"),
    AutoBypass(covariance="full"),
    PassiveAggressive(),
    Forecaster(AdaBypass(), lags=1),
    Forecaster(lags=3),
]
LITTLE = 20 << 20
"""Bytes: a row of 12,000 features with full covariances has a hundred times as many, or more."""


def snapshot(kind: Forecaster | Regressor, n_inputs: int, **changed: Any) -> bytes:
    """Return the bytes of a panel without series, whose header says that its rows have so many inputs."""
    header, arrays = Panel(kind)._snapshot()
    header |= {"n_inputs": n_inputs, "layout": engine_of(kind).engine.shapes(n_inputs)} | changed
    rows = np.empty((0, engine_of(kind).engine.row_size(n_inputs)))
    return b"".join(container.encode(header, arrays | {"rows": rows}))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n_inputs", [1, 300, 12_000, 29_000])
@pytest.mark.parametrize("changed", [{}, {"layout": None}, {"layout": [["mean", [3]]]}])
def test_a_header_takes_no_more_memory_than_its_series(
    kind: Forecaster | Regressor, n_inputs: int, changed: dict[str, Any]
) -> None:
    data = snapshot(kind, n_inputs, **changed)
    tracemalloc.start()
    try:
        if changed:
            with pytest.raises(StateError):
                from_bytes(data)
        else:
            panel = from_bytes(data)
            assert len(panel) == 0
            assert panel.to_bytes() == data
        assert tracemalloc.get_traced_memory()[1] < LITTLE
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("kind", KINDS)
def test_a_panel_without_series_knows_its_inputs_again(kind: Forecaster | Regressor) -> None:
    panel: Any = from_bytes(snapshot(kind, 2))
    y, X = np.arange(6.0), np.ones((6, 2))
    panel.update(["a"] * 6, y, X)
    fresh = Panel(kind)
    fresh.update(["a"] * 6, y, X)
    assert panel.to_bytes() == fresh.to_bytes()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("ids", [[], ["a", "b"]])
@pytest.mark.parametrize("number", [0, 999, "11", None, True])
def test_a_pickled_panel_of_another_format_is_refused(
    kind: Forecaster | Regressor, ids: list[str], number: Any
) -> None:
    panel = Panel(kind)
    if ids:
        panel.update(ids, [1.0, 2.0], np.ones((2, 1)))
    state = panel.__getstate__()
    assert pickle.loads(pickle.dumps(panel)).ids == ids
    state["header"]["format"] = number
    before = panel.to_bytes()
    with pytest.raises(StateError, match="format"):
        panel.__setstate__(state)
    assert panel.to_bytes() == before


def test_asking_an_empty_panel_for_what_it_has_learned_does_not_fix_its_features() -> None:
    panel = Panel(AutoBypass())
    before = panel.to_bytes()
    with pytest.raises(NotReadyError):
        panel.pooled()
    assert panel.to_bytes() == before
    panel.update(["a"], [1.0], [[1.0, 2.0]])
