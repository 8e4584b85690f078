"""What comes in is checked, and shown in errors, whatever it is."""

from typing import Any

import numpy as np
import pytest
from scipy import sparse

from adabypass import load_dataset
from adabypass.errors import UnknownNameError
from adabypass.validation import as_tuple, shown


class Unprintable:
    def __repr__(self) -> str:
        raise RuntimeError("no text")


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, "None"),
        ("a", "'a'"),
        (Unprintable(), "an object of type Unprintable"),
        ("a" * 100, "'" + "a" * 56 + "..."),
    ],
)
def test_any_value_is_shown_in_sixty_characters(value: object, expected: str) -> None:
    assert shown(value) == expected
    assert len(shown(value)) <= 60


@pytest.mark.parametrize(
    ("value", "expected"),
    [([1, 2], (1, 2)), (np.arange(2), (0, 1)), ("text", None), (3, None), (np.array(3), None), (np.ma.masked, None)],
)
def test_items_are_those_of_iterables_but_not_of_text(value: Any, expected: object) -> None:
    assert as_tuple(value) == expected


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "bsr", "dia", "lil", "dok"])
def test_a_sparse_matrix_is_no_list_of_items(form: str) -> None:
    matrix: Any = sparse.csr_array(np.eye(3))
    matrix = matrix.asformat(form)
    assert as_tuple(matrix) is None
    if hasattr(matrix, "indptr"):
        matrix.indptr = np.array([0, -(2**30), 2, 3])  # which SciPy would read from
        assert as_tuple(matrix) is None
        with pytest.raises(UnknownNameError):
            load_dataset(matrix)
