"""Sparse features are read as they are meant, in every form; those that cannot be meant are refused, and do no harm."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from adabypass import AdaBypass, AutoBypass, Regressor
from adabypass.errors import AdabypassError, NotANumberError, ShapeError
from adabypass.regressors.inputs import MAX_INDEX, nonzero_rows, sparse_row, sparse_stream
from tests.checks.every_form import tampered

FORMS = ("csr", "csc", "coo", "bsr", "dia", "lil", "dok")
MODELS: list[Callable[[], Regressor]] = [
    lambda: AutoBypass(sparse=True, n_features=3),
    lambda: AdaBypass(covariance="diagonal", n_features=3),
]


@given(seed=st.integers(0, 1000), form=st.sampled_from(FORMS), shape=st.tuples(st.integers(0, 6), st.integers(1, 5)))
def test_every_form_of_matrix_has_the_numbers_of_the_table(seed: int, form: str, shape: tuple[int, int]) -> None:
    rng = np.random.default_rng(seed)
    table = rng.normal(size=shape) * (rng.random(shape) < 0.5)
    if form == "dia" and 0 in shape:
        return  # which SciPy does not make
    matrix: Any = sparse.csr_array(table)
    rows, _ = sparse_stream(matrix.asformat(form), np.zeros(shape[0]))
    found = np.zeros(shape)
    found[np.repeat(np.arange(shape[0]), np.diff(rows.begin)), rows.indices] = rows.values
    np.testing.assert_array_equal(found, table)
    assert rows.n_features == shape[1]


@given(seed=st.integers(0, 1000), form=st.sampled_from(["csr", "csc", "coo"]))
def test_a_feature_that_is_given_twice_is_the_sum_of_both_in_any_order(seed: int, form: str) -> None:
    rng = np.random.default_rng(seed)
    row, column = rng.integers(0, 3, 12), rng.integers(0, 4, 12)
    values = rng.integers(1, 9, 12).astype(float)
    matrix: Any = sparse.coo_array((values, (row, column)), shape=(3, 4))
    if form != "coo":
        order = np.argsort(row if form == "csr" else column, kind="stable")
        major, minor = (row, column) if form == "csr" else (column, row)
        begin = np.searchsorted(major[order], np.arange(4 if form == "csr" else 5))
        matrix = (sparse.csr_array if form == "csr" else sparse.csc_array)((values[order], minor[order], begin), (3, 4))
    table = np.zeros((3, 4))
    np.add.at(table, (row, column), values)
    for found, wanted in zip(sparse_stream(matrix, np.zeros(3))[0], nonzero_rows(table), strict=True):
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("make", MODELS)
@given(
    field=st.sampled_from(
        [(kind, name) for kind in ("csr", "csc", "bsr") for name in ("indptr", "indices")]
        + [("coo", "row"), ("coo", "col")]
    ),
    value=st.one_of(st.integers(-5, 12), st.integers(-(2**31), 2**31 - 1)),
)
def test_indices_that_were_tampered_with_are_read_or_refused(
    make: Callable[[], Regressor], field: tuple[str, str], value: int
) -> None:
    model = make()
    before = model.to_bytes()
    try:
        model.run(tampered(*field, value), np.ones(4))
    except AdabypassError:
        assert model.to_bytes() == before
    else:
        assert model.n_seen == 4


@pytest.mark.parametrize("name", ["indptr", "indices", "data"])
@pytest.mark.parametrize(
    "values",
    [
        np.array([]),
        np.zeros((2, 2)),
        np.zeros(1000, int),
        np.array(["a"]),
        np.array([0.0, 1.5, np.nan, 2.0]),
        np.array([0, 2**63 + 5, 2, 3], np.uint64),
        np.array([None] * 4),
    ],
)
def test_arrays_that_do_not_belong_to_a_matrix_are_refused(name: str, values: Any) -> None:
    matrix: Any = sparse.csr_array(np.eye(3))
    setattr(matrix, name, values)
    for make in MODELS:
        with pytest.raises(AdabypassError):
            make().run(matrix, np.ones(3))


@pytest.mark.parametrize("shape", [(), (1,), (1, 0), (1, 3, 3), (1, 2**62), (2**62, 3), (-1, 3), ("1", 3), None])
def test_shapes_that_no_matrix_has_are_refused_before_memory_is_taken(shape: Any) -> None:
    class Matrix:
        ndim, format = 2, "csr"
        indptr, indices, data = np.array([0, 1]), np.array([0]), np.ones(1)

        def tocsr(self, copy: bool = False) -> Any:
            return self

    Matrix.shape = shape  # type: ignore[attr-defined]
    for read in (sparse_row, lambda X: sparse_stream(X, np.ones(1))):
        with pytest.raises(ShapeError):
            read(Matrix())


@pytest.mark.parametrize("make", MODELS)
@pytest.mark.parametrize("index", [3, MAX_INDEX - 1, MAX_INDEX, 2**63, 2**64, 10**30])
def test_an_index_beyond_the_features_is_refused(make: Callable[[], Regressor], index: int) -> None:
    with pytest.raises(ShapeError):
        make().predict({index: 1.0})
    with pytest.raises(ShapeError):
        make().update({0: 1.0, index: 1.0}, 1.0)


@pytest.mark.parametrize("index", [-1, -(2**64), 1.5, "a", None, True, np.int64(-1)])
def test_an_index_that_is_no_whole_number_from_0_is_refused(index: Any) -> None:
    with pytest.raises(NotANumberError):
        sparse_row({index: 1.0})


class Twice(Mapping[int, float]):
    """Gives a feature more than once."""

    def __iter__(self) -> Iterator[int]:
        yield from (1, 0, 1)

    def __len__(self) -> int:
        return 3

    def __getitem__(self, _: int) -> float:
        return 1.0


@pytest.mark.parametrize("x", [Twice(), {0: [1.0, 2.0]}, {0: [1.0]}, {0: [], 1: []}])
def test_a_feature_has_one_number(x: Any) -> None:
    with pytest.raises(AdabypassError):
        sparse_row(x)
