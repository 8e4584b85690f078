"""An append-only file of the rows that a stream has learned since its newest snapshot.

    24 bytes     the name of the format, the number of the snapshot that the journal goes on from, a checksum of both
    records      length, checksum, and: number of the row, lengths of id and time, id, time, y and exogenous values

A checksum covers its record and all those before it, so that a record is as good as all that went before it. Reading
ends at the first that does not fit: a torn tail, which a crash left. If whole records come after it, it is no torn tail
but damage, and the journal is refused: rows that were answered are in it.
"""

import os
import struct
import zlib
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import accumulate
from pathlib import Path
from time import monotonic
from typing import NamedTuple

from adabypass.errors import StateError
from adabypass.files import errors_naming, open_own, sync_folder, write_all

NAME = b"adabypass j1"
START = struct.Struct("<12sQI")
FRAME = struct.Struct("<II")
FIXED = struct.Struct("<QII")
MIN_RECORD = struct.Struct("<QIId")
MAX_RECORD_SIZE = 1 << 20
"""Bytes of a record at most: 30,000 exogenous values take a quarter of that."""
SECTOR = 512
"""Bytes that a disk writes as a whole."""
SYNC_INTERVAL = 1.0
"""Seconds that may pass before what was written is flushed to the disk, unless every write is."""


class Record(NamedTuple):
    """A row that was learned."""

    row: int
    """Its number in the input, from 1."""
    key: str
    """The id of its series as JSON; "" where there is but one series."""
    time: str
    """Its time; "" where rows have none."""
    values: tuple[float, ...]
    """The observation, nan if it is missing, and the exogenous values."""


class JournalContents(NamedTuple):
    """What was read of a journal; its records are unpacked as they are asked for, since there may be millions."""

    content: bytes
    start: int
    """Checksum of all records before this journal."""
    n_records: int
    """How many are whole."""
    last: Record | None
    """The newest of them."""
    n_torn: int
    """Bytes after it."""

    def records(self) -> Iterator[tuple[Record, int]]:
        """Yield each whole record, and the checksum after it."""
        for record, checksum, _ in _records(self.content, self.start):
            yield record, checksum


def pack(row: int, key: str, time: str, y: float, exog: Sequence[float] | None) -> bytes:
    """Return the content of a record as bytes."""
    if not key and not time and not exog:
        return MIN_RECORD.pack(row, 0, 0, y)
    name, stamp, values = key.encode("utf-8", "surrogatepass"), time.encode(), (y, *(exog or ()))
    return FIXED.pack(row, len(name), len(stamp)) + name + stamp + struct.pack(f"<{len(values)}d", *values)


def unpack(content: bytes) -> Record | None:
    """Return a record, None if the bytes are not those of one."""
    if len(content) < FIXED.size:
        return None
    row, n_key, n_time = FIXED.unpack_from(content)
    start = FIXED.size + n_key + n_time
    n_values, rest = divmod(len(content) - start, 8)
    if n_values < 1 or rest:
        return None
    try:
        key = content[FIXED.size : FIXED.size + n_key].decode("utf-8", "surrogatepass")
        time = content[FIXED.size + n_key : start].decode()
    except UnicodeDecodeError:
        return None
    return Record(row, key, time, struct.unpack_from(f"<{n_values}d", content, start))


def read(path: Path, number: int, checksum: int) -> JournalContents:
    """Return what the journal of snapshot `number` holds, which goes on from this checksum of all records before it."""
    content = _content(path)
    if len(content) < START.size:  # torn as it was made: nothing had been answered yet
        return JournalContents(b"", checksum, 0, None, len(content))
    name, belongs_to, own = START.unpack_from(content)
    if name != NAME or own != zlib.crc32(content[: START.size - 4]):
        raise StateError(f"{path} is not a journal of adabypass, or its beginning is damaged; move it away to go on.")
    if belongs_to != number:
        raise StateError(f"{path} goes on from snapshot {belongs_to}, but the folder's snapshot is number {number}.")
    n_records, last, end, before = 0, None, START.size, checksum
    for record, after, place in _records(content, checksum):
        n_records, last, end, before = n_records + 1, record, place, after
    if _is_damaged(content, end, before):
        raise StateError(
            f"{path} is damaged: record {n_records + 1}, at byte {end} of {len(content)}, does not fit its "
            "checksum, and whole records come after it; bring the folder back from a copy. (To give up all rows from "
            f"there on, cut the file to {end} bytes.)"
        )
    return JournalContents(content, checksum, n_records, last, len(content) - end)


def _content(path: Path) -> bytes:
    """Return the bytes of a journal; none if there is no such file."""
    try:
        descriptor = open_own(path, os.O_RDONLY)
    except FileNotFoundError:
        return b""
    with os.fdopen(descriptor, "rb") as file:
        return file.read()


def _records(content: bytes, checksum: int) -> Iterator[tuple[Record, int, int]]:
    """Yield each whole record, the checksum after it, and where it ends."""
    place = START.size
    while place + FRAME.size <= len(content):
        length, given = FRAME.unpack_from(content, place)
        place += FRAME.size
        data = content[place : place + length]
        place += length
        if length > MAX_RECORD_SIZE or len(data) < length:
            return
        checksum = zlib.crc32(data, checksum)
        record = unpack(data) if checksum == given else None
        if record is None:
            return
        yield record, checksum, place


def _is_damaged(content: bytes, end: int, checksum: int) -> bool:
    """Return whether whole records come after what follows the last that fits, which ends at `end`.

    A crash of the process leaves a part of what it wrote, from its beginning on; a power cut may also leave whole
    sectors of zeros in it, and anything after these.
    """
    data = end + FRAME.size
    if data > len(content):
        return False
    length, given = FRAME.unpack_from(content, end)
    crc, read_up_to = checksum, data
    for place in range(data, len(content) - FRAME.size - MIN_RECORD.size + 1):
        after = _if_plausible(content, place)
        if after is None:
            continue
        crc, read_up_to = zlib.crc32(content[read_up_to:place], crc), place
        # What is damaged is the record's length or checksum, or its data, or more than this record.
        starts = [crc, *([given] if place == data + length else [])]
        if any(_fits(content, place, start) for start in starts) or _fits(content, after, _stored(content, place)):
            return not _has_blank_sector(content[end:place])
    return False


def _if_plausible(content: bytes, place: int) -> int | None:
    """Return where a record that may begin at `place` ends; None if none can."""
    length, _ = FRAME.unpack_from(content, place)
    end = place + FRAME.size + length
    if not MIN_RECORD.size <= length <= MAX_RECORD_SIZE or end > len(content):
        return None
    _, n_key, n_time = FIXED.unpack_from(content, place + FRAME.size)
    n_values, rest = divmod(length - FIXED.size - n_key - n_time, 8)
    return end if n_values >= 1 and not rest else None


def _fits(content: bytes, place: int, checksum: int) -> bool:
    """Return whether a whole record begins at `place` that goes on from a checksum."""
    if place + FRAME.size + MIN_RECORD.size > len(content):
        return False
    end = _if_plausible(content, place)
    return end is not None and zlib.crc32(content[place + FRAME.size : end], checksum) == _stored(content, place)


def _stored(content: bytes, place: int) -> int:
    """Return the checksum that is stored with the record at `place`."""
    checksum: int = FRAME.unpack_from(content, place)[1]
    return checksum


def _has_blank_sector(content: bytes) -> bool:
    return bytes(SECTOR) in content


class Journal:
    """A journal that is written: records wait until `commit`, which returns when the system has them.

    Parameters
    ----------
    path
        Of the new file.
    number : int
        Of the snapshot that it goes on from.
    checksum : int
        Of all records before.
    always : bool
        Whether every `commit` is flushed to the disk, or the first of every second.
    """

    def __init__(self, path: Path, number: int, checksum: int, *, always: bool) -> None:
        self._path, self._always, self.checksum = path, always, checksum
        self._waiting: list[bytes] = []
        self._unsynced_since: float | None = None
        path.unlink(missing_ok=True)  # whatever it is: a link's target is left alone
        self._descriptor = open_own(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
        self._ends = [START.size]
        """Where the records of the newest commit end in the file, from where it began."""
        try:
            start = START.pack(NAME, number, 0)[:-4]
            with errors_naming(path):
                write_all(self._descriptor, start + zlib.crc32(start).to_bytes(4, "little"))
                os.fsync(self._descriptor)
            sync_folder(path.parent)
        except BaseException:
            self.close()
            raise

    def append(self, content: bytes) -> int:
        """Add a packed record, to be written with the next `commit`; return the checksum of all records."""
        self.checksum = checksum = zlib.crc32(content, self.checksum)
        self._waiting += (FRAME.pack(len(content), checksum), content)
        return checksum

    def commit(self) -> None:
        """Write all records that wait; if that fails, none of them is in the file."""
        if not self._waiting:
            return
        parts = self._waiting.copy()
        self._waiting.clear()
        lengths = (len(frame) + len(content) for frame, content in zip(parts[::2], parts[1::2], strict=True))
        self._ends = list(accumulate(lengths, initial=self._ends[-1]))
        try:
            with errors_naming(self._path):
                write_all(self._descriptor, b"".join(parts))
                if self._unsynced_since is None:
                    self._unsynced_since = monotonic()
                if self._always or self.sync_due() <= 0.0:
                    self.sync()
        except BaseException:
            self.take_back(len(self._ends) - 1)
            raise

    def take_back(self, n: int) -> None:
        """Cut off the last `n` records of the newest commit: nobody was answered. Nothing may be appended after it."""
        kept = len(self._ends) - 1 - n
        with suppress(OSError):  # a disk that fails altogether: its error is on its way
            os.ftruncate(self._descriptor, self._ends[kept])
            os.fsync(self._descriptor)

    def sync_due(self) -> float:
        """Return in how many seconds what was written is to be flushed to the disk; infinity if all of it is."""
        since = self._unsynced_since
        return float("inf") if since is None else since + SYNC_INTERVAL - monotonic()

    def sync(self) -> None:
        """Flush what was written to the disk."""
        if self._unsynced_since is not None:
            with errors_naming(self._path):
                os.fsync(self._descriptor)
            self._unsynced_since = None

    def close(self) -> None:
        """Close the file; what waits is dropped."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1
