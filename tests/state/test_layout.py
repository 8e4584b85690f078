"""Everything a row holds can be found again."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adabypass.state.bank import AutoBypassSpec
from adabypass.state.layout import LINE, aligned, pack, set_diagonal, unpack
from adabypass.state.paper import (
    AdaBypassSpec,
    BypassSpec,
    EvidenceBypassSpec,
    PassiveAggressiveSpec,
    SequentialKalmanSpec,
)
from adabypass.state.spec import Spec

SPECS = [
    PassiveAggressiveSpec(), BypassSpec(), AdaBypassSpec(), SequentialKalmanSpec(), EvidenceBypassSpec(),
    AutoBypassSpec(), AutoBypassSpec(intercept=False), AdaBypassSpec(covariance="diagonal"),
]  # fmt: skip


@given(st.integers(1, 30))
def test_a_packed_matrix_unpacks_to_itself(n: int) -> None:
    matrix = np.random.default_rng(n).normal(size=(n, n))
    matrix = matrix + matrix.T
    assert np.array_equal(unpack(pack(matrix)), matrix)


@given(st.integers(1, 30))
def test_setting_the_diagonal_leaves_the_rest_of_a_matrix_as_it_was(n: int) -> None:
    matrix = np.random.default_rng(n).normal(size=(n, n))
    matrix = matrix + matrix.T
    packed = pack(matrix)
    set_diagonal(packed, 7.0)
    np.fill_diagonal(matrix, 7.0)
    assert np.array_equal(unpack(packed), matrix)


@given(st.integers(1, 10), st.integers(1, 5), st.sampled_from(SPECS))
def test_widening_twice_is_widening_once(n: int, more: int, spec: Spec) -> None:
    row = np.random.default_rng(n).uniform(size=spec.layout.size(**spec.dims(n)))
    once = spec.widened(row, n, more + 1)
    twice = spec.widened(spec.widened(row, n, more), n + more, 1)
    assert np.array_equal(once, twice)


@pytest.mark.parametrize("spec", SPECS)
def test_fields_fill_the_row_without_a_gap_or_an_overlap(spec: Spec) -> None:
    layout, dims = spec.layout, spec.dims(3)
    row = np.arange(layout.size(**dims), dtype=float)
    views = [layout.view(row, field.name, **dims) for field in layout.fields]
    assert all(np.shares_memory(view, row) for view in views if view.size)
    assert np.array_equal(np.concatenate([view.ravel() for view in views]), row)
    assert [layout.scalar(row, name) for name in layout.scalars] == list(range(1, len(layout.scalars) + 1))
    assert len(spec.new_row(3)) == len(row)


def test_scalars_come_first() -> None:
    """Since their position is taken to depend on no dimension."""
    for spec in SPECS:
        is_scalar = [field.shape is None for field in spec.layout.fields]
        assert is_scalar == sorted(is_scalar, reverse=True)
        assert spec.layout.position("n_seen") == 0


@given(size=st.integers(1, 40), start=st.integers(0, 7), at=st.integers(0, 39))
def test_an_aligned_row_has_the_same_numbers_and_one_of_them_at_a_cache_line(size: int, start: int, at: int) -> None:
    row = np.arange(start + size, dtype=float)[start:]
    found = aligned(row, at % size)
    assert np.array_equal(found, row)
    assert found[at % size :].ctypes.data % (LINE * row.itemsize) == 0
    assert aligned(found, at % size) is found
    assert aligned(row, None) is row


def test_a_spec_says_how_its_row_starts_and_what_its_kernel_needs() -> None:
    with pytest.raises(TypeError, match="abstract method"):
        Spec()  # type: ignore[abstract]
