"""Rows as bytes, as the store keeps those that were learned since its last checkpoint; and checksums of all rows.

8 bytes      number of rows n, number of values k of each (the observation, then exogenous values)
8 bytes      bytes of all keys, bytes of all times
data         n row numbers of 8 bytes, n * k float64 values, the keys and the times as lines of text
"""

import struct
import zlib
from collections.abc import Sequence
from itertools import chain

from adabypass.errors import StateError
from adabypass.streaming.rows import Row

HEAD = struct.Struct("<IIII")
MAX_TEXT_BYTES = 1 << 26
"""Bytes of all keys, or of all times, of a batch."""


def pack(rows: Sequence[Row], n_exog: int) -> bytes:
    """Return rows as bytes; all have this number of exogenous values."""
    if not rows:
        return HEAD.pack(0, 1 + n_exog, 0, 0)
    numbers, keys, times, y, exog = zip(*rows, strict=True)
    n = len(rows)
    n_values = 1 + n_exog
    values = y if n_exog == 0 else [*chain.from_iterable((each, *more) for each, more in zip(y, exog, strict=True))]
    key_text, time_text = _lines(keys), _lines(times)
    head = HEAD.pack(n, n_values, len(key_text), len(time_text))
    return b"".join((head, struct.pack(f"<{n}Q{n * n_values}d", *numbers, *values), key_text, time_text))


def unpack(data: bytes, n_exog: int) -> list[Row]:
    """Return the rows that `pack` made bytes of; refuse what is none of them with a `StateError`."""
    if len(data) < HEAD.size:
        raise StateError("a batch of rows is too short.")
    n, n_values, n_key_bytes, n_time_bytes = HEAD.unpack_from(data)
    start = HEAD.size + 8 * n * (1 + n_values)
    if n_values != 1 + n_exog or len(data) != start + n_key_bytes + n_time_bytes:
        raise StateError(f"a batch of {n} rows of {n_values} values does not fit the settings, or its size.")
    found = struct.unpack_from(f"<{n}Q{n * n_values}d", data, HEAD.size)
    keys = _texts(data[start : start + n_key_bytes], n)
    times = _texts(data[start + n_key_bytes :], n)
    if n_exog == 0:
        return list(map(Row, found[:n], keys, times, found[n:], [None] * n))
    values = [found[at : at + n_values] for at in range(n, len(found), n_values)]
    return [
        Row(number, key, time, each[0], list(each[1:]))
        for number, key, time, each in zip(found[:n], keys, times, values, strict=True)
    ]


def _lines(texts: Sequence[str]) -> bytes:
    """Return texts without line breaks as lines; nothing if all are blank."""
    return "\n".join(texts).encode("utf-8", "surrogatepass") if any(texts) else b""


def _texts(data: bytes, n: int) -> list[str]:
    if not data:
        return [""] * n
    try:
        texts = data.decode("utf-8", "surrogatepass").split("\n")
    except UnicodeDecodeError:
        texts = []
    if len(texts) != n:
        raise StateError(f"a batch of {n} rows has {len(texts)} keys or times.")
    return texts


class InputChecksum:
    """Checksums after 1, 2, 4, 8 ... rows: they tell whether an input that is read again is the same as before.

    Attributes
    ----------
    count : int
        Rows so far.
    milestones : dict
        The checksum after each power of two of rows.
    """

    def __init__(self, count: int = 0, current: tuple[int, int] = (0, 0)) -> None:
        self.count, self._values, self._keys = count, *current
        self.milestones: dict[int, tuple[int, int]] = {}

    @property
    def current(self) -> tuple[int, int]:
        """The checksum of all rows: of their values, and of their keys."""
        return self._values, self._keys

    def add(self, rows: Sequence[Row]) -> None:
        """Add rows, however many at a time: the result is the same."""
        start = 0
        while start < len(rows):  # up to the next power of two
            milestone = 1 << self.count.bit_length()
            part = rows[start : start + milestone - self.count]
            values = [value for row in part for value in (row[3], *(row[4] or ()))]
            self._values = zlib.crc32(struct.pack(f"<{len(values)}d", *values), self._values)
            keys = "".join(f"{row[1]}\n" for row in part)
            self._keys = zlib.crc32(keys.encode("utf-8", "surrogatepass"), self._keys)
            start += len(part)
            self.count += len(part)
            if self.count == milestone:
                self.milestones[milestone] = self.current
