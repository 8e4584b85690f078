"""The arrays of a stream's snapshot: rows of numbers, and texts as lines."""

from collections.abc import Iterable

import numpy as np

from adabypass.snapshots.container import Array, Snapshot
from adabypass.snapshots.header import Header
from adabypass.validation import Floats


def stacked(rows: Iterable[Floats], n: int, size: int) -> Floats:
    """Return `n` rows as a matrix."""
    stacked = np.empty((n, size))
    for i, row in enumerate(rows):
        stacked[i] = row
    return stacked


def lines(values: Iterable[str]) -> Array:
    """Return texts without line breaks as bytes, a line each."""
    return np.frombuffer("".join(f"{text}\n" for text in values).encode("utf-8", "surrogatepass"), np.uint8)


def texts(snapshot: Snapshot, header: Header, name: str, n: int) -> list[str]:
    """Return the texts of an array that `lines` made, `n` of them; refuse any other."""
    found = snapshot.arrays.get(name)
    if found is None or found.dtype != np.uint8:
        header.refuse(f"it has no {name}")
    try:
        values = found.tobytes().decode("utf-8", "surrogatepass").split("\n")
    except UnicodeDecodeError:
        header.refuse(f"its {name} are not text")
    if len(values) != n + 1 or values[-1]:
        header.refuse(f"it has {len(values) - 1} {name} for {n} series")
    return values[:-1]


def check_array(snapshot: Snapshot, header: Header, name: str, shape: tuple[int, int]) -> Floats:
    """Return an array of numbers; refuse one of another shape."""
    found = snapshot.arrays.get(name)
    if found is None or found.dtype != np.float64 or found.shape != shape:
        header.refuse(f"its {name} do not have the shape {shape}")
    return found


def checkpoints(header: Header) -> dict[int, int]:
    """Return the checksums after 1, 2, 4, 8 ... records."""
    pairs = header.value("checkpoints")
    is_sound = isinstance(pairs, list) and all(
        isinstance(pair, list) and len(pair) == 2 and all(type(each) is int and each >= 0 for each in pair)
        for pair in pairs
    )
    if not is_sound:
        header.refuse('its "checkpoints" are not pairs of whole numbers')
    return {count: checksum for count, checksum in pairs}
