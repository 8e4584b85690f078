"""The bytes of a snapshot: a JSON header, then arrays, in the safetensors layout, with a checksum of the whole file.

    8 bytes      length of the JSON text, little-endian
    JSON         {"__metadata__": {"crc32": "0123abcd", "adabypass": "<the header, as JSON text>"},
                  "row": {"dtype": "F64", "shape": [57], "data_offsets": [0, 456]}}, padded with spaces
    data         the arrays one after another, raw and little-endian

The checksum is computed over the whole file with zeros in place of its eight digits. A reader runs no code from the
file, and allocates no memory before it has checked the length of the file: docs/decisions/0009.
"""

import io
import json
import os
import re
import zlib
from collections.abc import Mapping
from math import prod
from typing import Any, BinaryIO, NamedTuple, NoReturn, TypeAlias

import numpy as np

from adabypass.errors import StateError
from adabypass.files import FilePath, open_regular

Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]

DTYPES: dict[str, np.dtype[Any]] = {"F64": np.dtype("<f8"), "U8": np.dtype("u1")}
"""Types of arrays, by their safetensors names."""
START = b'{"__metadata__":{"crc32":"'
DIGITS = 8
END = b'","adabypass":"'
"""The JSON text begins with START, the digits of the checksum, and END."""
NO_CHECKSUM = b"0" * DIGITS
MAX_HEADER_SIZE = 1 << 22
"""Maximum size of the JSON text in bytes, so that the parsed objects stay small; 30,000 columns with names of 30
characters fit."""
MAX_DEPTH = 16
"""Maximum nesting depth of the JSON text."""
MAX_DIMENSIONS = 8
MAX_NUMBERS = 1 << 48
"""Maximum number of elements of an array, where a dimension of 0 counts as 1."""
# An unclosed string matches to the end of the text; otherwise the search would be tried again at each quote in it.
_STRINGS = re.compile(rb'(?s)"(?:[^"\\]|\\.)*+"?')


class Snapshot(NamedTuple):
    """A saved object as plain values."""

    header: dict[str, Any]
    arrays: dict[str, Array]
    name: str
    """Name of the snapshot in error messages."""


def encode(header: Mapping[str, Any], arrays: Mapping[str, Array]) -> list[bytes | memoryview]:
    """Return the bytes of a snapshot as a list of parts, so that large arrays are not copied."""
    table: dict[str, Any] = {"__metadata__": {"crc32": "", "adabypass": json.dumps(header, allow_nan=False)}}
    parts: list[bytes | memoryview] = []
    place = 0
    for name, array in arrays.items():
        kind = next(kind for kind, dtype in DTYPES.items() if array.dtype == dtype)
        data: Any = np.ascontiguousarray(array, dtype=DTYPES[kind])
        table[name] = {"dtype": kind, "shape": list(array.shape), "data_offsets": [place, place + data.nbytes]}
        place += data.nbytes
        parts.append(memoryview(data.reshape(-1)).cast("B") if data.size else b"")
    text = json.dumps(table, separators=(",", ":")).encode()
    text = START + NO_CHECKSUM + text.removeprefix(START)
    text += b" " * (-len(text) % 8)
    if len(text) > MAX_HEADER_SIZE:
        raise StateError(f"the header would have {len(text)} bytes, but at most {MAX_HEADER_SIZE} are read again.")
    length = len(text).to_bytes(8, "little")
    checksum = zlib.crc32(text, zlib.crc32(length))
    for part in parts:
        checksum = zlib.crc32(part, checksum)
    return [length, START, b"%08x" % checksum, text[len(START) + DIGITS :], *parts]


def read(path: FilePath) -> Snapshot:
    """Read the snapshot in a file."""
    with open_regular(path) as file:
        return decode(file, os.fstat(file.fileno()).st_size, os.fspath(path))


def from_bytes(data: object, name: str = "data") -> Snapshot:
    """Read the snapshot in a bytes object."""
    try:
        content = memoryview(data)  # type: ignore[arg-type]
        whole = bytes(content)
    except (TypeError, ValueError, BufferError):
        raise StateError(
            f"{name} is of type {type(data).__name__}, but must be the bytes that to_bytes() returned."
        ) from None
    return decode(io.BytesIO(whole), len(whole), name)


def decode(file: BinaryIO, size: int, name: str) -> Snapshot:
    """Read the snapshot in a file of `size` bytes; reject a damaged or foreign one before allocating memory."""
    length = _read_exactly(file, min(8, size), name)
    n_text = int.from_bytes(length, "little")
    start = _read_exactly(file, min(len(START) + DIGITS + len(END), max(size - 8, 0)), name)
    if size < 8 or not (start.startswith(START) and start.endswith(END)):
        raise StateError(f"{name} is not a saved model of adabypass, or its beginning is damaged.")
    if not len(start) < n_text <= min(MAX_HEADER_SIZE, size - 8):
        _raise_damaged(name, f"its header should have {n_text} bytes, but the file has {size}")
    text = start + _read_exactly(file, n_text - len(start), name)
    checksum = start[len(START) : len(START) + DIGITS]
    table = parse(text, name)
    metadata = table.pop("__metadata__")
    shapes = _check_arrays(table, size - 8 - n_text, name)
    found = zlib.crc32(text.replace(checksum, NO_CHECKSUM, 1), zlib.crc32(length))
    arrays: dict[str, Array] = {}
    for each, (dtype, shape) in shapes.items():
        arrays[each] = array = np.empty(shape, dtype)
        if array.size:
            flat: Any = array.reshape(-1)
            data = memoryview(flat).cast("B")
            if file.readinto(data) != len(data):  # type: ignore[attr-defined]
                _raise_damaged(name, "it became shorter while it was read")
            found = zlib.crc32(data, found)
    if b"%08x" % found != checksum:
        _raise_damaged(name, "its checksum does not match its content")
    if not isinstance(metadata, dict) or not isinstance(metadata.get("adabypass"), str):
        _raise_damaged(name, "it has no header")
    return Snapshot(parse(metadata["adabypass"].encode("utf-8", "surrogatepass"), name), arrays, name)


def parse(text: bytes, name: str) -> dict[str, Any]:
    """Parse a JSON object; reject text that is nested too deeply, repeats a name, or is not JSON."""
    codes = np.frombuffer(_STRINGS.sub(b"", text), np.uint8)
    opened, closed = ((codes == first) | (codes == second) for first, second in (b"[{", b"]}"))
    if np.cumsum(opened.astype(np.int32) - closed).max(initial=0) > MAX_DEPTH:
        _raise_damaged(name, f"its header is nested more than {MAX_DEPTH} levels deep")
    try:
        values = json.loads(text, object_pairs_hook=_once_each, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        _raise_damaged(name, f"its header is not JSON ({str(error)[:80]})")
    if not isinstance(values, dict):
        _raise_damaged(name, "its header is not a JSON object")
    return values


def _check_arrays(table: Mapping[str, Any], size: int, name: str) -> dict[str, tuple[np.dtype[Any], tuple[int, ...]]]:
    """Return type and shape of each array; reject them unless they fill the `size` bytes of data exactly."""
    shapes: dict[str, tuple[np.dtype[Any], tuple[int, ...]]] = {}
    place = 0
    for each, entry in table.items():
        fields = entry if isinstance(entry, dict) else {}
        dtype = DTYPES.get(str(fields.get("dtype")))
        shape, offsets = _sizes(fields.get("shape")), _sizes(fields.get("data_offsets"))
        if dtype is None or shape is None or offsets is None:
            _raise_damaged(name, f"the entry of its array {each[:40]!r} is invalid")
        n_bytes = prod(shape) * dtype.itemsize
        if offsets != [place, place + n_bytes] or place + n_bytes > size:
            _raise_damaged(name, f"its array {each[:40]!r} of shape {str(shape)[:80]} does not fit its place")
        if prod(max(each, 1) for each in shape) > MAX_NUMBERS:  # NumPy rejects such a shape even if one dimension is 0
            _raise_damaged(name, f"its array {each[:40]!r} of shape {str(shape)[:80]} is too large")
        shapes[each] = dtype, tuple(shape)
        place += n_bytes
    if place != size:
        _raise_damaged(name, f"it holds {size} bytes of data, but its arrays take {place}")
    return shapes


def _sizes(values: object) -> list[int] | None:
    """Return `values` if it is a short list of whole numbers, otherwise None."""
    if not isinstance(values, list) or len(values) > MAX_DIMENSIONS:
        return None
    return values if all(type(each) is int and 0 <= each < 1 << 48 for each in values) else None


def _read_exactly(file: BinaryIO, n: int, name: str) -> bytes:
    content = file.read(n)
    if len(content) != n:
        _raise_damaged(name, "it became shorter while it was read")
    return content


def _raise_damaged(name: str, what: str) -> NoReturn:
    raise StateError(f"{name} is damaged: {what}; take an older copy of it.")


def _once_each(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a name occurs twice")
    return found


def _refuse_constant(text: str) -> NoReturn:
    raise ValueError(f"{text} is not a JSON number")
