"""The folder of a stream: one SQLite file, a lock for the process that writes, and a count of what was committed.

    stream.sqlite      all that is kept; stream.sqlite-wal and -shm belong to it while it is open, or after a crash
    lock               held by the process that writes; has its number
    commits            how many commits there were, and how many of them were flushed to the disk

SQLite takes a damaged write-ahead log for a torn one, and reads it up to the damage without a word. The count tells the
two apart: after a killed process all commits must be there, after a power cut all that were flushed. Whoever opens a
store, for reading or writing, compares them.
"""

import mmap
import os
import stat
import struct
import zlib
from contextlib import suppress
from pathlib import Path
from time import sleep

from adabypass.errors import LockedError, StateError
from adabypass.files import FilePath, lock, not_own, open_own

DATABASE, LOCK, COMMITS = "stream.sqlite", "lock", "commits"
LOG, SHARED = f"{DATABASE}-wal", f"{DATABASE}-shm"
OLD_NAMES = ("snapshot.safetensors", "journal-*")
"""What folders of versions before the first release held."""
BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
COUNT = struct.Struct("<36sQQI")
N_TRIES = 10
"""How often a count is read that does not fit its checksum, as while another process writes it."""


def check_folder(folder: Path) -> None:
    """Refuse a folder of an earlier version, and names in it that lead elsewhere."""
    for pattern in OLD_NAMES:
        old = next(folder.glob(pattern), None)
        if old is not None:
            raise StateError(
                f"{folder} holds {old.name}, the state of a version before the first release, which this version does "
                "not read; move it away, and let the stream learn its rows again."
            )
    for name in (DATABASE, LOG, SHARED, COMMITS):
        place = folder / name
        with suppress(FileNotFoundError):  # one look: SQLite removes its log when a stream is closed
            if not stat.S_ISREG(place.lstat().st_mode):
                raise not_own(place)


def lock_folder(path: FilePath) -> int:
    """Lock a folder for writing, until the descriptor that is returned is closed; make the folder if there is none."""
    folder = Path(path)
    folder.mkdir(parents=True, exist_ok=True)
    locked = open_own(folder / LOCK, os.O_RDWR | os.O_CREAT)
    if not lock(locked):
        owner = os.read(locked, 20).decode("ascii", "replace").strip()
        os.close(locked)
        if owner == str(os.getpid()):
            raise LockedError(
                f"{path} is in use by another Stream of this process; close it first: two writers would mix up what "
                "they learn."
            )
        raise LockedError(
            f"{path} is in use by another process{f' (number {owner})' if owner else ''}; stop it first, or choose "
            "another folder: two writers would mix up what they learn."
        )
    with suppress(OSError):  # the number is for a message only; a full disk is found soon enough
        if os.fstat(locked).st_nlink == 1:  # what has another name may be another's
            os.ftruncate(locked, 0)
            os.write(locked, f"{os.getpid()}\n".encode())
    return locked


def required_commits(folder: Path) -> int:
    """Return how many commits the store of a folder must have; 0 if nothing is known of them.

    A reader asks for this before it begins to read: what was counted by then was committed before.
    """
    for _ in range(N_TRIES):
        try:
            with (folder / COMMITS).open("rb") as file:
                found = _unpack(file.read(COUNT.size))
        except OSError:
            return 0
        if found is not None:
            return _required(found, _boot_id())
        sleep(0.001)  # the process that writes was at it
    return 0


class CommitCount:
    """How many commits there were, kept outside of the database, in mapped memory: a killed process has it written."""

    def __init__(self, folder: Path) -> None:
        descriptor = open_own(folder / COMMITS, os.O_RDWR | os.O_CREAT)
        try:
            os.posix_fallocate(descriptor, 0, mmap.PAGESIZE)  # a full disk is an error here, not a signal later
            self._map = mmap.mmap(descriptor, mmap.PAGESIZE)
        finally:
            os.close(descriptor)
        self._boot = _boot_id()
        content = self._map[: COUNT.size]
        found = _unpack(content) or (b"", 0, 0)
        self.n_commits, self.n_flushed = _required(found, self._boot), found[2]

    def note(self, n_commits: int, *, is_flushed: bool) -> None:
        """Note that there were so many commits."""
        self.n_commits = n_commits
        if is_flushed:
            self.n_flushed = n_commits
        content = COUNT.pack(self._boot, self.n_commits, self.n_flushed, 0)[:-4]
        self._map[: COUNT.size] = content + zlib.crc32(content).to_bytes(4, "little")

    def close(self) -> None:
        """Close the file."""
        self._map.close()


def _unpack(content: bytes) -> tuple[bytes, int, int] | None:
    if len(content) != COUNT.size or zlib.crc32(content[:-4]) != int.from_bytes(content[-4:], "little"):
        return None
    boot, n_commits, n_flushed, _ = COUNT.unpack(content)
    return boot, n_commits, n_flushed


def _required(found: tuple[bytes, int, int], boot_now: bytes) -> int:
    """Return how many commits must be there: after another start of the system, those that were flushed."""
    boot, n_commits, n_flushed = found
    return n_commits if boot == boot_now and any(boot_now) else n_flushed


def _boot_id() -> bytes:
    """Return what tells one start of the system from another; nothing on systems that do not say."""
    try:
        return BOOT_ID.read_bytes()[:36].ljust(36, b"\0")
    except OSError:
        return bytes(36)
