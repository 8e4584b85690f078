"""Whatever a model or a forecaster refuses leaves it as it was, bit for bit: fresh or trained, in every form."""

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy import sparse

from adabypass import AutoBypass, Forecaster
from adabypass.errors import AdabypassError
from adabypass.results.trace import Trace
from tests.checks.every_form import N_FEATURES, every_forecaster, every_form, every_model, tampered

NAN, INF = np.nan, np.inf
Call = Callable[[Any], object]

numbers = st.one_of(
    st.floats(), st.integers(-5, 5), st.sampled_from(["5", None, 1j, [1.0, 2.0], {}, 10**400, object(), True])
)
widths = st.sampled_from([0, 1, 2, N_FEATURES, 4, 60, 300])
indices = st.one_of(st.integers(-2, 5), st.sampled_from([2**31, 2**64, 10**30, "a", None, True, 1.5]))
vectors = st.one_of(
    st.lists(st.floats(), max_size=4),
    widths.map(lambda n: np.full(n, NAN)),
    widths.map(np.ones),
    widths.map(lambda n: np.where(np.arange(n) == n - 1, INF, 1.0)),
    widths.map(lambda n: np.ones((1, n))),
    st.dictionaries(indices, numbers, max_size=4),
    st.sampled_from(["abc", None, {0: [1.0, 2.0]}, {0: NAN}, 5]),
    widths.filter(bool).map(lambda n: sparse.csr_array(np.where(np.arange(n) == 0, NAN, 1.0)[None])),
    widths.filter(bool).map(lambda n: sparse.coo_array(np.ones((2, n)))),
    st.builds(tampered, st.just("csr"), st.sampled_from(["indptr", "indices"]), st.integers(-3, 9), st.just(1)),
)
tables = st.one_of(
    widths.map(lambda n: np.ones((4, n))),
    widths.map(lambda n: np.where(np.arange(4 * n).reshape(4, n) == 2 * n - 1, NAN, 1.0)),
    st.sampled_from([3000]).map(lambda n: np.full((4, n), NAN)),
    widths.filter(bool).map(lambda n: sparse.csr_array(np.where(np.arange(4 * n).reshape(4, n) == n, NAN, 1.0))),
    st.builds(
        tampered,
        st.sampled_from(["csr", "csc"]),
        st.sampled_from(["indptr", "indices"]),
        st.integers(-(2**31), 2**31 - 1),
    ),
    st.sampled_from(["abc", None, {0: 1.0}, np.ones(4), np.ones((2, 2, 2))]),
)
targets = st.one_of(
    st.lists(numbers, max_size=5), st.sampled_from([np.ones(4), [1.0, 2.0, INF, 4.0], np.full(4, NAN), "abcd", None])
)
flags = st.sampled_from([True, False, None, "yes"])


def of_models() -> st.SearchStrategy[tuple[str, Call]]:
    """Draw a call of a model that may be refused, and its description."""
    return st.one_of(
        st.tuples(vectors).map(lambda given: (f"predict{given}", lambda model: model.predict(*given))),
        st.tuples(vectors, numbers).map(lambda given: (f"update{given}", lambda model: model.update(*given))),
        st.tuples(vectors, numbers).map(lambda given: (f"step{given}", lambda model: model.step(*given))),
        st.tuples(tables, targets, flags, flags).map(
            lambda given: (
                f"run{given}",
                lambda model: model.run(*given[:2], keep_weights=given[2], keep_predictive=given[3]),
            )
        ),
        st.tuples(numbers, flags).map(
            lambda given: (f"add_features{given}", lambda model: model.add_features(given[0], were_zero=given[1]))
        ),
        st.just(("linear_mixture", lambda model: model.linear_mixture())),
    )


def of_forecasters() -> st.SearchStrategy[tuple[str, Call]]:
    """Draw a call of a forecaster that may be refused, and its description."""
    columns = st.one_of(st.none(), tables)
    return st.one_of(
        st.tuples(vectors).map(lambda given: (f"predict{given}", lambda model: model.predict(*given))),
        st.tuples(numbers, vectors).map(lambda given: (f"update{given}", lambda model: model.update(*given))),
        st.tuples(numbers, vectors).map(lambda given: (f"step{given}", lambda model: model.step(*given))),
        st.tuples(targets, columns, flags).map(
            lambda given: (f"run{given}", lambda model: model.run(*given[:2], keep_predictive=given[2]))
        ),
        st.tuples(numbers, columns)
        .map(lambda given: (f"forecast{given}", lambda model: model.forecast(*given)))
        .filter(lambda call: "inf" not in call[0]),
    )


def assert_a_refusal_changes_nothing(model: Any, name: str, call: Call) -> None:
    before = model.to_bytes()
    try:
        call(model)
    except AdabypassError:
        assert model.to_bytes() == before, f"{name} was refused, but changed the model"


@every_model
@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(call=of_models())
def test_a_refused_call_of_a_model_changes_nothing(make: Callable[[], Any], call: tuple[str, Call]) -> None:
    assert_a_refusal_changes_nothing(make(), *call)


@every_forecaster
@settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow])
@given(call=of_forecasters())
def test_a_refused_call_of_a_forecaster_changes_nothing(make: Callable[[], Any], call: tuple[str, Call]) -> None:
    assert_a_refusal_changes_nothing(make(), *call)


@every_form
def test_a_refused_state_changes_nothing(make: Callable[[], Any]) -> None:
    model = make()
    before, state = model.to_bytes(), copy.deepcopy(model.__getstate__())
    state["header"]["format"] = 999
    with pytest.raises(AdabypassError):
        model.__setstate__(state)
    assert model.to_bytes() == before


@every_form
def test_a_run_whose_trace_cannot_be_made_has_learned_nothing(
    make: Callable[[], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: Any, **__: Any) -> Any:
        raise MemoryError

    model = make()
    before = model.to_bytes()
    for maker in ("unchecked", "__init__"):
        monkeypatch.setattr(Trace, maker, fails)
    y, columns = np.arange(8.0), getattr(model, "exog", None)
    features = np.ones((8, len(columns))) if columns else None
    with pytest.raises(MemoryError):
        model.run(*((y, features) if hasattr(model, "forecast") else (np.ones((8, N_FEATURES)), y)))
    assert model.to_bytes() == before
    monkeypatch.undo()
    model.reset()  # which would be refused if it still ran


@pytest.mark.parametrize("width", [1, 40, 60, 300, 2500])
@pytest.mark.parametrize("form", [np.array, sparse.csr_array, list])
@pytest.mark.parametrize("make", [AutoBypass, lambda: AutoBypass(transform="none"), lambda: AutoBypass(n_features=2)])
def test_reset_undoes_what_the_first_features_chose(make: Callable[[], AutoBypass], form: Any, width: int) -> None:
    model = make()
    fresh = model.to_bytes()
    X = np.zeros((3, model.n_features or width))
    X[:, 0] = 1.0
    model.run(X.tolist() if form is list else form(X), [1.0, 2.0, 1.5], keep_predictive=False)
    assert model.to_bytes() != fresh
    model.reset()
    assert model.to_bytes() == fresh


def test_a_refused_observation_does_not_fix_the_columns_of_a_forecaster() -> None:
    forecaster = Forecaster(lags=1)
    with pytest.raises(AdabypassError):
        forecaster.update(np.inf, [1.0, 2.0])
    forecaster.update(1.0, [1.0])
    assert forecaster._runner is not None
    assert forecaster._runner.n_inputs == 1
