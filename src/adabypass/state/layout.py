"""Where each number of a model's memory is kept in its row of float64.

A row is a sequence of named fields. The scalars come first, so their position depends on nothing; the shape of every
other field depends on dimensions such as `n_features`, which are given by name. A symmetric matrix is kept as its lower
triangle, row after row: it is symmetric whatever happens, and a new feature goes to its end.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from math import prod
from typing import NamedTuple

import numpy as np

from adabypass.errors import StateError
from adabypass.validation import Floats

Shape = Callable[..., tuple[int, ...]]
"""Computes the shape of a field from the dimensions, which it takes by name; it ignores those it has no use for."""

LINE = 8
"""Number of float64 in a cache line of 64 bytes."""


class Field(NamedTuple):
    """One named part of a row."""

    name: str
    shape: Shape | None = None
    """Function that computes the shape; None for a scalar."""
    is_symmetric: bool = False
    """Whether the last axis is the lower triangle of a symmetric matrix."""


def scalars(*names: str) -> tuple[Field, ...]:
    """Return fields that are scalars."""
    return tuple(Field(name) for name in names)


def vectors(*names: str, size: str = "n_features") -> tuple[Field, ...]:
    """Return fields that are vectors, whose length is the dimension named `size`."""
    return tuple(Field(name, lambda **dims: (dims[size],)) for name in names)


def symmetric_matrices(*names: str, size: str = "n_features") -> tuple[Field, ...]:
    """Return fields that are symmetric matrices, whose number of rows is the dimension named `size`."""
    return tuple(Field(name, lambda **dims: (triangle(dims[size]),), is_symmetric=True) for name in names)


@dataclass(frozen=True, eq=False)
class Layout:
    """The named fields of a row, in order.

    Parameters
    ----------
    fields
        The fields in order, scalars before all others.

    Examples
    --------
    >>> layout = Layout((*scalars("n_seen"), *vectors("mean"), *symmetric_matrices("cov")))
    >>> row = layout.new_row({"n_seen": 7.0}, n_features=3)
    >>> len(row), layout.scalar(row, "n_seen")
    (10, 7.0)
    >>> layout.view(row, "mean", n_features=3)[:] = 0.5
    >>> row
    array([7. , 0.5, 0.5, 0.5, 0. , 0. , 0. , 0. , 0. , 0. ])
    """

    fields: tuple[Field, ...]

    @property
    def scalars(self) -> tuple[str, ...]:
        """Names of the scalars except `n_seen`, the count that every row of a model starts with."""
        return tuple(field.name for field in self.fields if field.shape is None and field.name != "n_seen")

    @property
    def matrices(self) -> tuple[str, ...]:
        """Names of the symmetric matrices."""
        return tuple(field.name for field in self.fields if field.is_symmetric)

    def size(self, **dims: int) -> int:
        """Count the numbers of a row."""
        place, _ = self.places(**dims)[self.fields[-1].name]
        return int(place.stop)

    def places(self, **dims: int) -> Mapping[str, tuple[slice, tuple[int, ...]]]:
        """Return the slice of the row and the shape of each field."""
        return _places(self, tuple(sorted(dims.items())))

    def shapes(self, **dims: int) -> list[tuple[str, list[int]]]:
        """Return the name and the shape of every field, in order, as they are saved with a row."""
        return [(name, list(shape)) for name, (_, shape) in self.places(**dims).items()]

    def new_row(self, start: Mapping[str, float], **dims: int) -> Floats:
        """Return a row of zeros, except for the scalars in `start`."""
        row = np.zeros(self.size(**dims))
        for name, value in start.items():
            row[self.position(name)] = value
        return row

    def position(self, name: str) -> int:
        """Return the index of a scalar in the row."""
        return [field.name for field in self.fields if field.shape is None].index(name)

    def scalar(self, row: Floats, name: str) -> float:
        """Read a scalar."""
        return float(row[self.position(name)])

    def view(self, row: Floats, name: str, **dims: int) -> Floats:
        """Return a view of a field of the row in its shape; of a symmetric matrix, the packed lower triangle."""
        place, shape = self.places(**dims)[name]
        return row[place].reshape(shape)

    def matrix(self, row: Floats, name: str, **dims: int) -> Floats:
        """Return a symmetric matrix as a full copy."""
        return unpack(self.view(row, name, **dims))

    def copy_into(self, wide: Floats, row: Floats, dims: Mapping[str, int], wide_dims: Mapping[str, int]) -> None:
        """Copy every field of `row` to the beginning of the same field of `wide`, along each of its axes."""
        for field in self.fields:
            self.copy_field(wide, row, field.name, dims, wide_dims)

    def copy_field(
        self, wide: Floats, row: Floats, name: str, dims: Mapping[str, int], wide_dims: Mapping[str, int]
    ) -> None:
        """Copy one field of `row` to the beginning of the same field of `wide`, along each of its axes."""
        old = self.view(row, name, **dims)
        corner = tuple(slice(length) for length in old.shape)
        self.view(wide, name, **wide_dims)[corner] = old


def aligned(row: Floats, at: int | None) -> Floats:
    """Return the row, or a copy of it, with number `at` at the start of a cache line, where vectors load faster.

    Parameters
    ----------
    row
        A contiguous array.
    at
        Index of the number to align; None to return the row as it is.
    """
    if at is None or _line_offset(row, at) == 0:
        return row
    room = np.empty(len(row) + LINE)
    start = -_line_offset(room, at) % LINE
    copy = room[start : start + len(row)]
    copy[:] = row
    return copy


def _line_offset(row: Floats, at: int) -> int:
    """Return the offset of number `at` from the start of its cache line; float64 arrays are aligned to 8 bytes."""
    address: int = row.__array_interface__["data"][0]
    return (address // row.itemsize + at) % LINE


@lru_cache(maxsize=1024)
def _places(layout: Layout, dims: tuple[tuple[str, int], ...]) -> dict[str, tuple[slice, tuple[int, ...]]]:
    places: dict[str, tuple[slice, tuple[int, ...]]] = {}
    start, given = 0, dict(dims)
    for field in layout.fields:
        shape = () if field.shape is None else field.shape(**given)
        places[field.name] = slice(start, start + prod(shape)), shape
        start += prod(shape)
    return places


def check_count(value: float, name: str, maximum: float) -> None:
    """Check that a number of a saved row is a whole number in range: compiled code uses it as a count or an index."""
    if not (0 <= value <= maximum and value == int(value)):
        raise StateError(f"{name} of the row is {value}, but must be a whole number from 0 to {maximum:g}.")


def triangle(size: int) -> int:
    """Return the number of elements of a lower triangle."""
    return size * (size + 1) // 2


def pack(matrix: Floats) -> Floats:
    """Return the lower triangle of a symmetric matrix, row after row."""
    packed: Floats = matrix[np.tril_indices(len(matrix))]
    return packed


def set_diagonal(packed: Floats, value: float) -> None:
    """Set the diagonal of a packed lower triangle."""
    size = (int(np.sqrt(8 * len(packed) + 1)) - 1) // 2
    packed[np.cumsum(np.arange(1, size + 1)) - 1] = value


def unpack(packed: Floats) -> Floats:
    """Return the symmetric matrices whose lower triangles are packed along the last axis."""
    size = (int(np.sqrt(8 * packed.shape[-1] + 1)) - 1) // 2
    rows, columns = np.tril_indices(size)
    matrix = np.empty((*packed.shape[:-1], size, size))
    matrix[..., rows, columns] = matrix[..., columns, rows] = packed
    return matrix
