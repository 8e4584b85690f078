"""Atomic file writes: a file is written next to its destination, flushed to disk, then renamed."""

import errno
import io
import os
import shutil
import stat
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, TypeAlias, cast

from adabypass.errors import LockedError, StateError

if TYPE_CHECKING:
    import fcntl

    msvcrt: Any
else:
    try:
        import fcntl
    except ImportError:  # Windows, or a system without locks
        fcntl = None
    try:
        import msvcrt
    except ImportError:  # any other
        msvcrt = None

FilePath: TypeAlias = str | os.PathLike[str]

MAX_NAME_LENGTH = 100
"""Maximum number of characters of a file name that are kept in the name of its draft."""
BUFFER = 1 << 20
"""Size of the write buffer, in bytes."""
NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP)
"""Error numbers of file systems without locks; files are then not locked, and everything else works."""
LOCKED_BYTE = (1 << 31) - 2
"""The byte of a file that is locked on Windows, where nobody else can read or write what is locked: beyond its content,
and no further than its C library reaches."""
WINDOWS = os.name == "nt"
"""Windows neither replaces nor removes a file that is open, and opens no folder."""
CLOSED_ON_EXEC = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
NEVER_WAITING = getattr(os, "O_NONBLOCK", 0)
"""Without this, opening a pipe waits for its other end."""
FOLLOWING_NO_LINK = getattr(os, "O_NOFOLLOW", 0)


def replace_file(content: bytes | Iterable[bytes | memoryview], path: FilePath) -> None:
    """Write a file atomically: a crash at any time leaves either the old file or the new one.

    Parameters
    ----------
    content
        The whole content, or its parts in order.
    path
        The destination. Missing folders are created; a symbolic link is followed and kept, and a replaced file keeps
        its permissions.
    """
    with replacing(path) as file:
        for part in (content,) if isinstance(content, bytes) else content:
            file.write(part)


@contextmanager
def replacing(path: FilePath) -> Iterator[BinaryIO]:
    """Open a file for writing that replaces `path` when the block ends, and is discarded if the block fails.

    It is written next to its destination, flushed to disk, and renamed; then the folder is flushed. A second writer, in
    this process or another, gets a `LockedError`.
    """
    place = Path(os.path.realpath(path))
    if place.exists() and not place.is_file():  # a device or a pipe, which cannot be replaced
        with place.open("wb") as device:
            yield device
        return
    place.parent.mkdir(parents=True, exist_ok=True)
    draft = _draft_of(place)
    try:
        # Exited in reverse order: a failed draft is removed before it is closed, which unlocks it.
        with _open_draft(draft, path) as raw, _buffered(raw) as file, _removed_on_failure(draft, file):
            yield file
            file.flush()
            os.fsync(raw.fileno())
            if place.exists():
                shutil.copymode(place, draft)
            if WINDOWS:
                file.close()
            os.replace(draft, place)
    except OSError as error:
        if error.errno is None or isinstance(error, LockedError):
            raise
        raise type(error)(error.errno, error.strerror, os.fspath(path)) from error  # not the draft's name
    sync_folder(place.parent)


def sync_folder(folder: Path) -> None:
    """Flush a folder to disk, so that a file that was created in it, or moved into it, survives a crash."""
    if WINDOWS:
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # some file systems cannot flush a folder
            raise
    finally:
        os.close(descriptor)


def lock(descriptor: int) -> bool:
    """Lock an open file for exclusive writing, until it is closed; return whether that succeeded."""
    if fcntl is None:
        return msvcrt is None or _lock_byte(descriptor)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        if error.errno not in NO_LOCKS:
            raise
    return True


def _lock_byte(descriptor: int) -> bool:
    """Lock a file as Windows does, by one of its bytes; return whether that succeeded."""
    position = os.lseek(descriptor, 0, os.SEEK_CUR)
    os.lseek(descriptor, LOCKED_BYTE, os.SEEK_SET)  # it locks what comes next
    try:
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
    except PermissionError:
        return False
    finally:
        os.lseek(descriptor, position, os.SEEK_SET)
    return True


def write_all(descriptor: int, content: bytes | memoryview) -> None:
    """Write all of `content` to an open file, also where the system writes it in parts."""
    rest = memoryview(content)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


@contextmanager
def errors_naming(path: FilePath) -> Iterator[None]:
    """Add the file name to system errors of the block that have none, as those of open descriptors."""
    try:
        yield
    except OSError as error:
        if error.errno is not None and error.filename is None:
            error.filename = os.fspath(path)
        raise


class _Draft(io.RawIOBase):
    """An open, locked file that writes through `os.write`.

    The file object owns the descriptor from the moment it is opened. Whatever interrupts the caller, even between two
    bytecodes, the descriptor is closed, and so unlocked, when the object is garbage-collected.
    """

    def __init__(self, file: io.FileIO) -> None:
        self._file = file

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._file.fileno()

    def write(self, content: bytes | memoryview) -> int:  # type: ignore[override]
        return os.write(self._file.fileno(), content)

    def close(self) -> None:
        self._file.close()
        super().close()


def _draft_of(place: Path) -> Path:
    """Return the path of the draft of a file: always the same, so that crashes leave at most one."""
    name = place.name
    if len(name) > MAX_NAME_LENGTH:
        name = f"{name[:MAX_NAME_LENGTH]}.{zlib.crc32(os.fsencode(name)):08x}"
    return place.with_name(f".{name}.part")


def _open_draft(draft: Path, path: FilePath) -> _Draft:
    """Open an empty draft with an exclusive lock."""
    while True:
        opened = _Draft(_new_or_left(draft))
        if not lock(opened.fileno()):
            opened.close()
            raise LockedError(f"{os.fspath(path)} is being written by another process or thread; wait for it.")
        with suppress(FileNotFoundError):
            found = os.fstat(opened.fileno())
            is_ours = os.path.samestat(os.lstat(draft), found)
            if is_ours and found.st_nlink == 1:
                os.ftruncate(opened.fileno(), 0)  # remove what a crash may have left
                return opened
            if is_ours:  # it is hard-linked: the other name keeps the content
                os.unlink(draft)
        opened.close()  # another writer renamed it between our two steps: open a new one


def _new_or_left(draft: Path) -> io.FileIO:
    """Open a draft for writing: a new one, or one that a crash left, if it is a regular file and not a link."""
    while True:
        with suppress(FileExistsError):
            return io.FileIO(draft, "x")  # follows no link
        with suppress(FileNotFoundError):  # removed meanwhile: create a new one
            if not stat.S_ISREG(os.lstat(draft).st_mode):
                raise OSError(errno.ELOOP, f"its draft {draft.name} is a link, or not a regular file; remove it")
            return io.FileIO(draft, "r+")


def _buffered(raw: Any) -> BinaryIO:
    return cast(BinaryIO, io.BufferedWriter(raw, BUFFER))


@contextmanager
def _removed_on_failure(draft: Path, file: BinaryIO) -> Iterator[None]:
    try:
        yield
    except BaseException:
        if WINDOWS:
            with suppress(OSError):  # what could not be written, perhaps
                file.close()
        draft.unlink(missing_ok=True)
        raise


def open_regular(path: FilePath) -> BinaryIO:
    """Open a file for reading; reject devices and pipes, whose size cannot be checked."""
    descriptor = os.open(path, os.O_RDONLY | CLOSED_ON_EXEC | NEVER_WAITING)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "is not a regular file", os.fspath(path))
    return os.fdopen(descriptor, "rb")


def open_own(path: FilePath, flags: int) -> int:
    """Return the descriptor of a regular file; reject symbolic links, devices and pipes.

    Parameters
    ----------
    path
    flags : int
        Flags of `os.open`, without `O_TRUNC`, which would empty the file before it is checked.
    """
    flags |= CLOSED_ON_EXEC | FOLLOWING_NO_LINK | NEVER_WAITING
    try:
        descriptor = os.open(path, flags, 0o666)
    except OSError as error:
        if error.errno not in (errno.ELOOP, errno.ENXIO):
            raise
        raise not_own(path) from None
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise not_own(path)
    return descriptor


def not_own(path: FilePath) -> StateError:
    """Return the error for a path that is not a regular file."""
    return StateError(f"{os.fspath(path)} is a link, or not a regular file; its target is left alone. Remove it.")
