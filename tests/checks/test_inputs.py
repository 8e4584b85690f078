"""Every regressor takes numbers of every kind, and refuses what it cannot use without being changed by it."""

import numpy as np
import pytest

from adabypass.errors import AdabypassError, NotANumberError, NotFiniteError, NotReadyError, ShapeError
from tests.checks.regressors import Make, every_regressor, row_of, trained


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
def test_what_a_mask_hides_is_missing(make: Make) -> None:
    X = np.ones((3, 1))
    masked, missing = make(), make()
    masked.run(X, np.ma.array([1.0, 999.0, 3.0], mask=[False, True, False]))
    missing.run(X, [1.0, np.nan, 3.0])
    assert row_of(masked) == row_of(missing)
    with pytest.raises(NotFiniteError):
        masked.run(np.ma.array(X, mask=[[False], [True], [False]]), [1.0, 2.0, 3.0])


@every_regressor
def test_numbers_that_are_not_aligned_in_memory_are_read(make: Make) -> None:
    """As those of a packed record are."""
    records = np.zeros(4, dtype=[("flag", "u1"), ("x", "f8", 2), ("y", "f8")])
    records["x"], records["y"] = np.arange(8.0).reshape(4, 2), [1.0, 2.0, 4.0, 3.0]
    assert not records["x"][1].flags.aligned
    packed, plain = make(), make()
    for record in records:
        packed.step(record["x"], record["y"])
        plain.step(record["x"].copy(), float(record["y"]))
    assert packed.predict(records["x"][0]).mean == plain.predict(records["x"][0].copy()).mean
