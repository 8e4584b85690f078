"""The part of a header that describes a model: its kind, hyperparameters and row layout; writing and validation."""

import zlib
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from adabypass.errors import AdabypassError
from adabypass.snapshots.container import Snapshot
from adabypass.snapshots.header import Header
from adabypass.state.spec import Spec
from adabypass.validation import Floats


def describe_spec(spec: Spec, kind: str) -> dict[str, Any]:
    """Return the header entries of an untrained model: kind, hyperparameters, checksum of its constants."""
    return {"kind": kind, "hyperparameters": _plain(spec.hyperparameters()), "design": _design(spec)}


def check_spec(header: Header, spec_type: Callable[..., Spec], kind: str) -> Spec:
    """Return the spec that a header describes."""
    try:
        spec = spec_type(**header.named("hyperparameters"))
    except (AdabypassError, TypeError) as error:
        header.refuse(f"its hyperparameters are not those of {kind}: {str(error).rstrip('.')}")
    if header.text("design") != _design(spec):
        header.refuse(f"its {kind} was saved by a version of adabypass with other constants; train it anew")
    return spec


def check_row(
    snapshot: Snapshot, header: Header, size: int, shapes: list[tuple[str, list[int]]], key: str = "row"
) -> Floats:
    """Return a copy of the row of a snapshot; refuse one that has not the layout of this version.

    Parameters
    ----------
    size : int
        How many numbers it must have.
    shapes
        Name and shape of every field that it must have, in order.
    """
    row = snapshot.arrays.get(key)
    if not isinstance(row, np.ndarray) or row.dtype.kind != "f" or row.shape != (size,):
        found = f"the shape {row.shape}" if isinstance(row, np.ndarray) else "no shape"
        header.refuse(f"its row has {found}, but the header needs {size} numbers")
    check_layout(header, shapes)
    return np.array(row, dtype=np.float64)  # a copy: what is unpickled may be in memory that is shared or read-only


def check_layout(header: Header, shapes: list[tuple[str, list[int]]]) -> None:
    """Check that rows were saved in the layout of this version."""
    layout = header.value("layout")
    expected = [[name, shape] for name, shape in shapes]
    if not isinstance(layout, list) or [list(each) if isinstance(each, tuple) else each for each in layout] != expected:
        header.refuse("its row has other fields than this version of adabypass; train the model anew")


@lru_cache(maxsize=256)
def _design(spec: Spec) -> str:
    """Return a checksum of the numbers that the kernel needs: rounded, as logarithms differ between machines."""
    return f"{zlib.crc32(' '.join(f'{number:.12g}' for number in spec.constants()).encode()):08x}"


def _plain(values: dict[str, Any]) -> dict[str, Any]:
    """Return values as JSON has them."""
    return {name: value.item() if isinstance(value, np.generic) else value for name, value in values.items()}
