"""A folder that holds the state of a stream: a snapshot, and the journal of what was learned since.

    lock                     held by the process that writes
    snapshot.safetensors     the newest snapshot; its header has its number
    journal-0000000012       what was learned since snapshot 12

A snapshot is in its place before the journal before it is deleted; at any instant the folder holds all that was
committed. The journal carries the number of its snapshot, so that one of another is never applied.
"""

import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from adabypass.errors import LockedError, StateError
from adabypass.files import FilePath, lock, not_own, open_own, replace_file, sync_folder
from adabypass.snapshots import container
from adabypass.snapshots.container import Array, Snapshot
from adabypass.snapshots.header import Header
from adabypass.snapshots.versions import upgrade
from adabypass.storage import journal

SNAPSHOT = "snapshot.safetensors"
LOCK = "lock"
JOURNAL = "journal-{:010d}"
MAX_SNAPSHOTS = 10**10 - 1


class FolderContent(NamedTuple):
    """What a folder holds."""

    snapshot: Snapshot
    journal: journal.JournalContents


def read(path: FilePath) -> FolderContent | None:
    """Return what a folder holds, None if it holds no state yet."""
    folder = Path(path)
    place = folder / SNAPSHOT
    if place.is_symlink():  # a snapshot would be written through it
        raise not_own(place)
    if not place.exists():
        stray = next(folder.glob("journal-*"), None)
        if stray is not None:
            raise StateError(f"{folder} holds the journal {stray.name}, but no {SNAPSHOT}; bring it back from a copy.")
        return None
    snapshot = upgrade(container.read(place))
    number, checksum = place_of(snapshot)
    return FolderContent(snapshot, journal.read(folder / JOURNAL.format(number), number, checksum))


def place_of(snapshot: Snapshot) -> tuple[int, int]:
    """Return the number of a snapshot, and the checksum of all records before it."""
    header = Header(snapshot.header, snapshot.name)
    number = header.whole("number", minimum=1, maximum=MAX_SNAPSHOTS)
    return number, header.whole("checksum", maximum=(1 << 32) - 1)


class StateFolder:
    """The folder of a stream's state, open for writing: no other process can open it meanwhile.

    Parameters
    ----------
    path
        Of the folder, which is made if there is none.
    always : bool
        Whether every commit of the journal is flushed to the disk.
    """

    def __init__(self, path: FilePath, *, always: bool) -> None:
        self.path, self._always = Path(path), always
        self.path.mkdir(parents=True, exist_ok=True)
        self._journal: journal.Journal | None = None
        self._number = 0
        self._lock = open_own(self.path / LOCK, os.O_RDWR | os.O_CREAT)
        if not lock(self._lock):
            owner = os.read(self._lock, 20).decode("ascii", "replace").strip()
            os.close(self._lock)
            raise LockedError(
                f"{path} is in use by another process{f' (number {owner})' if owner else ''}; stop it first, or choose "
                "another folder: two writers would mix up what they learn."
            )
        with suppress(OSError):  # the number is for a message only; a full disk is found soon enough
            if os.fstat(self._lock).st_nlink == 1:  # what has another name may be another's
                os.ftruncate(self._lock, 0)
                os.write(self._lock, f"{os.getpid()}\n".encode())

    def read(self) -> FolderContent | None:
        """Return what the folder holds, None if it holds no state yet."""
        found = read(self.path)
        self._number = 0 if found is None else place_of(found.snapshot)[0]
        return found

    def save(self, header: Mapping[str, Any], arrays: Mapping[str, Array], checksum: int) -> None:
        """Write the next snapshot, and begin a new journal after it; whatever fails, the state before it stays."""
        number = self._number + 1
        place = {"number": number, "checksum": checksum}
        replace_file(container.encode({**header, **place}, arrays), self.path / SNAPSHOT)
        self._number = number
        self.close_journal()
        self._journal = journal.Journal(self.path / JOURNAL.format(number), number, checksum, always=self._always)
        for other in self.path.glob("journal-*"):
            if other.name != JOURNAL.format(number):
                other.unlink()
        sync_folder(self.path)

    @property
    def journal(self) -> journal.Journal:
        """The open journal; there is one after the first `save`."""
        assert self._journal is not None
        return self._journal

    def close_journal(self) -> None:
        """Close the journal; what was not committed is dropped."""
        if self._journal is not None:
            self._journal.close()
            self._journal = None

    def close(self) -> None:
        """Close the folder, so that another process can open it."""
        self.close_journal()
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1
