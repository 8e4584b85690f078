"""Arguments that no caller should pass, and that some caller will: odd types, odd numbers, objects that misbehave.

Every value is made anew for each call, since some of them (a generator, an object that counts its calls) are used up.
"""

import array
import decimal
import fractions
import math
from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import scipy.sparse

Make = Callable[[], object]


class HostileError(Exception):
    """Raised by a hostile object itself; the library may let it pass."""


class ArrayRaises:
    """Refuse to become an array."""

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise HostileError("no array")


class FloatRaises:
    """Refuse to become a number."""

    def __float__(self) -> float:
        raise HostileError("no number")

    def __index__(self) -> int:
        raise HostileError("no whole number")


class OnlyFloat:
    """Become a number, but nothing else."""

    def __float__(self) -> float:
        return 1.0


class OnlyIndex:
    """Become a whole number, but nothing else."""

    def __index__(self) -> int:
        return 2


class WrongLength:
    """Claim a length that indexing does not keep."""

    def __init__(self, claimed: int) -> None:
        self.claimed = claimed

    def __len__(self) -> int:
        return self.claimed

    def __getitem__(self, at: int) -> float:
        if at > 5:
            raise IndexError
        return 1.0


class ChangingShape:
    """Become an array of another shape each time."""

    shapes: ClassVar = [(3,), (1,), (40, 3), (7, 2), (0,), (2, 2, 2), ()]

    def __init__(self) -> None:
        self.calls = 0

    def __array__(self, *_: Any, **__: Any) -> Any:
        self.calls += 1
        return np.ones(self.shapes[self.calls % len(self.shapes)])


class Subclass(np.ndarray[Any, np.dtype[Any]]):
    """An array that answers questions about itself with an error."""

    def __getattribute__(self, name: str) -> Any:
        if name in ("mean", "all", "any", "copy", "astype", "sum"):
            raise HostileError(name)
        return super().__getattribute__(name)


class FloatSubclass(float):
    """A float that says something else than it is."""

    def __float__(self) -> float:
        return math.nan


class IntSubclass(int):
    """A whole number that says something else than it is."""

    def __index__(self) -> int:
        return -5


class CallsBack:
    """Call back into the library while it is being converted to an array, a number or a sequence."""

    def __init__(self, action: Callable[[], object], answer: Any) -> None:
        self.action, self.answer = action, answer
        self.active = False

    def _act(self) -> Any:
        if not self.active:  # the action may convert this object again
            self.active = True
            try:
                self.action()
            finally:
                self.active = False
        return self.answer

    def __array__(self, *_: Any, **__: Any) -> Any:
        return np.asarray(self._act(), dtype=float)

    def __float__(self) -> float:
        return float(np.ravel(self._act())[0])

    def __index__(self) -> int:
        return int(np.ravel(self._act())[0])

    def __len__(self) -> int:
        return len(np.ravel(self._act()))

    def __getitem__(self, at: Any) -> Any:
        return np.ravel(self._act())[at]


def _generator() -> Iterator[float]:
    yield from (1.0, 2.0, 3.0)


def _read_only() -> Any:
    values = np.arange(1.0, 4.0)
    values.flags.writeable = False
    return values


def _self_reference() -> list[Any]:
    inside: list[Any] = []
    inside.append(inside)
    return inside


ARRAYS: dict[str, Make] = {
    "complex array": lambda: np.array([1j, 2, 3]),
    "masked": lambda: np.ma.array([1.0, 2.0, 3.0], mask=[False, True, False]),
    "masked constant": lambda: np.ma.masked,
    "sparse": lambda: scipy.sparse.csr_matrix(np.eye(3)),
    "Fortran order": lambda: np.asfortranarray(np.arange(12.0).reshape(4, 3)),
    "reversed": lambda: np.arange(3.0)[::-1],
    "strided": lambda: np.arange(6.0)[::2],
    "broadcast": lambda: np.broadcast_to(np.float64(1.0), (40, 3)),
    "zero stride": lambda: np.lib.stride_tricks.as_strided(np.ones(1), (30,), (0,)),
    "read-only": _read_only,
    "float16": lambda: np.array([1, 2, 3], np.float16),
    "float32": lambda: np.array([1, 2, 3], np.float32),
    "long double": lambda: np.array([np.longdouble("1e4000"), 2, 3]),
    "uint64": lambda: np.array([2**64 - 1, 1, 2], np.uint64),
    "bool array": lambda: np.array([True, False, True]),
    "big-endian": lambda: np.arange(3.0).astype(">f8"),
    "unaligned": lambda: np.ndarray(3, dtype="f8", buffer=bytearray(25), offset=1),
    "structured": lambda: np.zeros(3, dtype=[("a", float)]),
    "record": lambda: np.zeros(3, dtype=[("a", float), ("b", int)]).view(np.recarray),
    "strings": lambda: np.array(["1", "2", "x"]),
    "objects": lambda: np.array(["a", 1, None], object),
    "dates": lambda: np.array(["2020-01-01"] * 3, "M8[D]"),
    "time spans": lambda: np.array([1, 2, 3], "m8[D]"),
    "subclass": lambda: np.arange(3.0).view(Subclass),
    "empty": lambda: np.empty(0),
    "no rows": lambda: np.empty((0, 3)),
    "no columns": lambda: np.empty((3, 0)),
    "zero-dimensional": lambda: np.array(2.0),
    "two-dimensional": lambda: np.arange(12.0).reshape(4, 3),
    "three-dimensional": lambda: np.zeros((2, 2, 3)),
    "wide": lambda: np.ones((2, 60)),
    "long": lambda: np.ones(150),
    "nan array": lambda: np.array([np.nan, 1, 2]),
    "all nan": lambda: np.full(3, np.nan),
    "inf array": lambda: np.array([np.inf, 1, 2]),
    "huge array": lambda: np.array([1e308, -1e308, 1e308]),
    "subnormal array": lambda: np.array([5e-324, 0, 0]),
    "negative zeros": lambda: np.array([-0.0, -0.0, -0.0]),
    "memoryview": lambda: memoryview(array.array("d", [1, 2, 3])),
    "array.array": lambda: array.array("d", [1, 2, 3]),
    "bytearray": lambda: bytearray(24),
    "pandas series": lambda: pd.Series([1, 2, 3]),
    "pandas index": lambda: pd.Series([1.0, 2, 3], index=[5, 6, 7]),
    "pandas frame": lambda: pd.DataFrame({"ds": [1, 2, 3], "y": [1.0, 2.0, 4.0]}),
    "pandas Int64": lambda: pd.Series([1, None, 3], dtype="Int64"),
    "pandas category": lambda: pd.Categorical([1, 2, 3]),
    "polars series": lambda: pl.Series([1, None, 3]),
    "polars frame": lambda: pl.DataFrame({"a": [1.0, 2.0], "y": [3, 4]}),
    "arrow array": lambda: pa.array([1, None, 3]),
    "arrow table": lambda: pa.table({"y": [1.0, 2.0]}),
}

NUMBERS: dict[str, Make] = {
    "nan": lambda: math.nan,
    "inf": lambda: math.inf,
    "-inf": lambda: -math.inf,
    "1e308": lambda: 1e308,
    "-1e308": lambda: -1e308,
    "5e-324": lambda: 5e-324,
    "-0.0": lambda: -0.0,
    "0": lambda: 0,
    "-1": lambda: -1,
    "1.5": lambda: 1.5,
    "2**31": lambda: 2**31,
    "2**62": lambda: 2**62,
    "-2**63": lambda: -(2**63),
    "10**400": lambda: 10**400,
    "True": lambda: True,
    "complex": lambda: 1 + 2j,
    "decimal": lambda: decimal.Decimal("1.5"),
    "fraction": lambda: fractions.Fraction(1, 3),
    "float32 number": lambda: np.float32(2),
    "longdouble number": lambda: np.longdouble("1e4000"),
    "pandas NA": lambda: pd.NA,
    "pandas NaT": lambda: pd.NaT,
    "FloatSubclass": lambda: FloatSubclass(1.0),
    "IntSubclass": lambda: IntSubclass(3),
}

OBJECTS: dict[str, Make] = {
    "None": lambda: None,
    "text": lambda: "abc",
    "number in text": lambda: "1.5",
    "text with NUL": lambda: "a\0b",
    "surrogate": lambda: "\udcff",
    "bytes": lambda: b"abc",
    "object": object,
    "class": lambda: int,
    "function": lambda: print,
    "list": lambda: [1, 2, 3],
    "tuple": lambda: (1, 2, 3),
    "nested": lambda: [[1, 2, 3]],
    "ragged": lambda: [[1, 2], [3]],
    "self-reference": _self_reference,
    "set": lambda: {1, 2, 3},
    "dict": lambda: {0: 1, 1: 2, 2: 3},
    "dict of columns": lambda: {"ds": [1, 2, 3, 5], "y": [1.0, 2.0, math.nan, 4.0]},
    "dict of ragged columns": lambda: {"ds": [1, 2, 3], "y": [1.0]},
    "generator": _generator,
    "range": lambda: range(3),
    "decimals": lambda: [decimal.Decimal(1)] * 3,
    "huge whole numbers": lambda: [10**400, 1, 2],
    "ArrayRaises": ArrayRaises,
    "FloatRaises": FloatRaises,
    "list of FloatRaises": lambda: [FloatRaises()] * 3,
    "OnlyFloat": OnlyFloat,
    "list of OnlyFloat": lambda: [OnlyFloat()] * 3,
    "OnlyIndex": OnlyIndex,
    "WrongLength(3)": lambda: WrongLength(3),
    "WrongLength(40)": lambda: WrongLength(40),
    "WrongLength(0)": lambda: WrongLength(0),
    "ChangingShape": ChangingShape,
    "random generator": lambda: np.random.default_rng(0),
}


def _tampered(form: str, field: str, value: int, n_rows: int = 4) -> Make:
    """Return what makes a sparse matrix with a number in its arrays that does not belong there."""

    def make() -> object:
        matrix: Any = scipy.sparse.csr_array(np.arange(1.0, 1.0 + 3 * n_rows).reshape(n_rows, 3))
        matrix = matrix.asformat(form)
        numbers = np.array(getattr(matrix, field))
        numbers[len(numbers) // 2] = value
        setattr(matrix, field, numbers)
        return matrix

    return make


class FakeMatrix:
    """Claim to be a sparse matrix, of a shape that its arrays do not have."""

    ndim, format = 2, "csr"

    def __init__(self, shape: object) -> None:
        self.shape = shape
        self.indptr, self.indices, self.data = np.array([0, 1]), np.array([0]), np.ones(1)

    def tocsr(self, copy: bool = False) -> "FakeMatrix":
        return self


FIELDS = {
    "csr": ("indptr", "indices"),
    "csc": ("indptr", "indices"),
    "bsr": ("indptr", "indices"),
    "coo": ("row", "col"),
}
TAMPERED: dict[str, Make] = {
    f"{form} of {n_rows} with {field} {value}": _tampered(form, field, value, n_rows)
    for form, fields in FIELDS.items()
    for field in fields
    for value in (-(2**30), 3)
    for n_rows in (1, 20)
} | {
    "coo, absurdly long": lambda: scipy.sparse.coo_array(([1.0], ([0], [0])), shape=(2**40, 3)),
    "coo, absurdly wide": lambda: scipy.sparse.coo_array(([1.0], ([0], [2**40])), shape=(1, 2**62)),
    "matrix of a false shape": lambda: FakeMatrix((1, 2**62)),
    "matrix of a false length": lambda: FakeMatrix((2**62, 3)),
    "matrix without a shape": lambda: FakeMatrix(None),
}
"""For arguments that are converted to numbers. Elsewhere SciPy's own code may be what is called, which trusts them."""
SPARSE: dict[str, Make] = {
    "csr": lambda: scipy.sparse.csr_array(np.eye(20, 3)),
    "csr row": lambda: scipy.sparse.csr_array(np.eye(1, 3)),
    "csr with nan": lambda: scipy.sparse.csr_array(np.full((1, 3), np.nan)),
    "csr, wide": lambda: scipy.sparse.csr_array((1, 5000)),
    "csr, without features": lambda: scipy.sparse.csr_array((1, 0)),
    "dict with a huge index": lambda: {2**64: 1.0},
    "dict with a large index": lambda: {2**31 - 1: 1.0},
    "dict with a negative index": lambda: {-1: 1.0},
    "dict with names": lambda: {"a": 1.0},
    "dict of lists": lambda: {0: [1.0, 2.0]},
    "dict with nan": lambda: {0: math.nan},
    "empty dict": dict,
}

VALUES: dict[str, Make] = ARRAYS | NUMBERS | OBJECTS | SPARSE
