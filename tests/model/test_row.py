"""Everything a row holds can be found again."""

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from adabypass.model.row import pack, unpack
from adabypass.model.spec import AdaBypassSpec


@given(st.integers(1, 30))
def test_a_packed_matrix_unpacks_to_itself(n: int) -> None:
    matrix = np.random.default_rng(n).normal(size=(n, n))
    matrix = matrix + matrix.T
    assert np.array_equal(unpack(pack(matrix), n), matrix)


@given(st.integers(1, 10), st.integers(1, 5))
def test_growing_twice_is_growing_once(n: int, more: int) -> None:
    spec = AdaBypassSpec()
    row = np.random.default_rng(n).normal(size=spec.layout.size(n))
    once = spec.layout.grown(row, n, more + 1, spec.new_row(n + more + 1))
    wider = spec.layout.grown(row, n, more, spec.new_row(n + more))
    twice = spec.layout.grown(wider, n + more, 1, spec.new_row(n + more + 1))
    assert np.array_equal(once, twice)


def test_parts_of_a_row_do_not_overlap() -> None:
    layout, n = AdaBypassSpec.layout, 3
    row = np.arange(layout.size(n), dtype=float)
    parts: list[Any] = [
        [row[0]],
        [layout.scalar(row, name) for name in layout.scalars],
        *(layout.vector(row, name, n) for name in layout.vectors),
        *(pack(layout.matrix(row, name, n)) for name in layout.matrices),
    ]
    assert np.array_equal(np.sort(np.concatenate(parts)), row)
