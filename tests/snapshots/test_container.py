"""What is written is read again, by us and by safetensors; what is damaged, foreign or absurd is refused."""

import io
import json
import re
import zlib
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
import pytest
from safetensors import deserialize

from adabypass.errors import StateError
from adabypass.snapshots import container

HEADER = {"format": 4, "kind": "test", "names": ["a", "é\ud800"], "rate": 1e-3}
ARRAYS = {"row": np.array([1.5, -0.0, np.nan]), "none": np.empty((0, 3)), "text": np.frombuffer(b"abc", np.uint8)}


def encoded() -> bytes:
    return b"".join(container.encode(HEADER, ARRAYS))


def signed(table: bytes, data: bytes = b"") -> bytes:
    """Return a file with this JSON and a checksum that fits."""
    start = container.START + container.NO_CHECKSUM
    text = start + table.removeprefix(start)
    length = len(text).to_bytes(8, "little")
    digits = b"%08x" % zlib.crc32(data, zlib.crc32(text, zlib.crc32(length)))
    return length + text.replace(container.NO_CHECKSUM, digits, 1) + data


def test_what_was_written_is_read_bit_for_bit() -> None:
    found = container.from_bytes(encoded())
    assert found.header == HEADER
    assert list(found.arrays) == list(ARRAYS)
    for name, array in ARRAYS.items():
        assert (found.arrays[name].shape, found.arrays[name].tobytes()) == (array.shape, array.tobytes())


def test_safetensors_reads_it_too() -> None:
    found = dict(deserialize(encoded()))  # type: ignore[no-untyped-call]
    assert found["row"]["shape"] == [3]
    assert bytes(found["row"]["data"]) == ARRAYS["row"].tobytes()


def test_arrays_begin_at_multiples_of_eight_bytes() -> None:
    assert (8 + int.from_bytes(encoded()[:8], "little")) % 8 == 0


def test_every_single_bit_that_flips_is_noticed() -> None:
    content = encoded()
    for at in range(8 * len(content)):
        damaged = bytearray(content)
        damaged[at // 8] ^= 1 << at % 8
        with pytest.raises(StateError):
            container.from_bytes(bytes(damaged))


def test_every_shorter_and_every_longer_file_is_refused() -> None:
    content = encoded()
    for end in range(len(content)):
        with pytest.raises(StateError):
            container.from_bytes(content[:end])
    with pytest.raises(StateError, match=r"holds 35 bytes of data, but its arrays take 27"):
        container.from_bytes(content + bytes(8))


@pytest.mark.parametrize(
    ("table", "says"),
    [
        (b'{"row":{"dtype":"F64","shape":[1000000000000],"data_offsets":[0,8000000000000]}', "does not fit its place"),
        (b'{"row":{"dtype":"F64","shape":[281474976710655,281474976710655,4],"data_offsets":[0,8]}', "not fit its"),
        (b'{"row":{"dtype":"F64","shape":[-1],"data_offsets":[0,8]}', "is invalid"),
        (b'{"row":{"dtype":"F64","shape":[1.0],"data_offsets":[0,8]}', "is invalid"),
        (b'{"row":{"dtype":"F64","shape":[true],"data_offsets":[0,8]}', "is invalid"),
        (b'{"row":{"dtype":"O","shape":[1],"data_offsets":[0,8]}', "is invalid"),
        (b'{"row":{"dtype":"F64","shape":[1],"data_offsets":[8,16]}', "does not fit its place"),
        (b'{"row":{"dtype":"F64","shape":[],"data_offsets":[0,8]},"x":{"dtype":"F64","shape":[],"data_offsets":[0,8]}',
         "does not fit its place"),
        (b'{"row":' + b"[" * 100_000 + b"]" * 100_000, "nested more than 16 levels deep"),
        (b'{"row":1,"row":1', "a name occurs twice"),
        (b'{"row":NaN', "not a JSON number"),
        (b'{"row":' + b"9" * 5000, "is not JSON"),
    ],
)  # fmt: skip
def test_what_is_absurd_is_refused_before_memory_is_taken(table: bytes, says: str) -> None:
    rest = b'0000","adabypass":"{}"},' + table.removeprefix(b"{") + b"}"
    with pytest.raises(StateError, match=says):
        container.from_bytes(signed(container.START + container.NO_CHECKSUM + rest.removeprefix(b"0000"), bytes(8)))


def test_a_header_that_claims_to_be_huge_is_refused_without_reading_it() -> None:
    class Counting(io.BytesIO):
        n_read = 0

        def read(self, size: int | None = -1, /) -> bytes:
            self.n_read += size or 0
            return super().read(size)

    content = (1 << 60).to_bytes(8, "little") + encoded()[8:]
    file = Counting(content)
    with pytest.raises(StateError, match="its header should have 1152921504606846976 bytes"):
        container.decode(file, len(content), "it")
    assert file.n_read < 100


@pytest.mark.parametrize("content", [b"", b"\0", b"PK\3\4" + bytes(100), b"\x80\x05K\1.", b"y\n1\n2\n", bytes(1000)])
def test_foreign_files_are_said_to_be_foreign(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(content)
    with pytest.raises(StateError, match="is not a saved model of adabypass"):
        container.read(path)


def test_a_file_of_safetensors_that_is_not_ours_is_foreign() -> None:
    text = json.dumps({"a": {"dtype": "F64", "shape": [1], "data_offsets": [0, 8]}}).encode()
    with pytest.raises(StateError, match="is not a saved model of adabypass"):
        container.from_bytes(len(text).to_bytes(8, "little") + text + bytes(8))


def test_devices_and_folders_are_refused(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="is not a regular file"):
        container.read("/dev/zero")
    with pytest.raises(OSError, match=re.escape(str(tmp_path))):
        container.read(tmp_path)


@pytest.mark.parametrize("data", [None, 5, "text", [1], object()])
def test_what_is_no_bytes_is_refused(data: Any) -> None:
    with pytest.raises(StateError, match="but must be the bytes that to_bytes\\(\\) returned"):
        container.from_bytes(data)


@pytest.mark.parametrize("text", [b'"' + b'\\"' * 1_000_000, b'{"a":[' + b"[]," * 1_000_000, b'"' * 1_000_001])
def test_long_headers_take_time_in_proportion_to_their_length(text: bytes) -> None:
    """Each takes a part of a second; tried at every quote, the first would take hours."""
    begun = process_time()
    with pytest.raises(StateError):
        container.parse(text, "it")
    assert process_time() - begun < 20.0


def test_a_header_that_would_not_be_read_again_is_not_written() -> None:
    with pytest.raises(StateError, match="at most 4194304 are read again"):
        container.encode({"name": "x" * (1 << 22)}, {})


@pytest.mark.parametrize(
    "shape", [[0, 2**47, 2**47], [2**47, 0], [2**40, 0, 2**40], [0] + [2**47] * 7, [2**47, 2**47, 0, 0]]
)
@pytest.mark.parametrize("dtype", ["F64", "U8"])
def test_an_empty_array_with_absurd_dimensions_is_read_or_refused(shape: list[int], dtype: str) -> None:
    entry = {"dtype": dtype, "shape": shape, "data_offsets": [0, 0]}
    table = {"__metadata__": {"crc32": "0" * 8, "adabypass": "{}"}, "none": entry}
    data = signed(json.dumps(table, separators=(",", ":")).encode())
    if np.prod([max(each, 1) for each in shape], dtype=float) > container.MAX_NUMBERS:
        with pytest.raises(StateError, match="too large"):
            container.from_bytes(data)
    else:
        assert container.from_bytes(data).arrays["none"].shape == tuple(shape)
