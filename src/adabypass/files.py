"""Files that are whole at every instant: written beside their place, made durable, then moved there in one step."""

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
else:
    try:
        import fcntl
    except ImportError:  # no locks on this system
        fcntl = None

FilePath: TypeAlias = str | os.PathLike[str]

LONGEST_NAME = 100
"""Characters of a file's name that the name of its draft begins with."""
BUFFER = 1 << 20
"""Bytes that are written at once."""
NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP)
"""What a file system answers that has no locks; then there is none, and everything else holds."""


def replace_file(content: bytes | Iterable[bytes | memoryview], path: FilePath) -> None:
    """Write a file as a whole: a crash at any instant leaves the old file or the new one.

    Parameters
    ----------
    content
        All of it, or its parts in order.
    path
        Its place. Folders are made as needed; a symbolic link stays one, a replaced file keeps its permissions.
    """
    with replacing(path) as file:
        for part in (content,) if isinstance(content, bytes) else content:
            file.write(part)


@contextmanager
def replacing(path: FilePath) -> Iterator[BinaryIO]:
    """Open a file for writing that takes the place of `path` when the block ends, and is dropped if the block fails.

    It is written beside its place, flushed to the disk, and moved there in one step; then the folder is flushed. A
    second writer, in this process or another, is refused with a `LockedError`.
    """
    place = Path(os.path.realpath(path))
    if place.exists() and not place.is_file():  # a device or a pipe, which cannot be replaced
        with place.open("wb") as file:
            yield file
        return
    place.parent.mkdir(parents=True, exist_ok=True)
    draft = _draft_of(place)
    try:
        # Left in the opposite order: a draft that failed is removed before it is closed, which unlocks it.
        with _open_draft(draft, path) as raw, _buffered(raw) as file, _removed_on_failure(draft):
            yield file
            file.flush()
            os.fsync(raw.fileno())
            if place.exists():
                shutil.copymode(place, draft)
            os.replace(draft, place)
    except OSError as error:
        if error.errno is None or isinstance(error, LockedError):
            raise
        raise type(error)(error.errno, error.strerror, os.fspath(path)) from error  # the name given, not the draft's
    sync_folder(place.parent)


def sync_folder(folder: Path) -> None:
    """Flush a folder to the disk, so that a file that was made in it, or moved into it, survives a crash."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # some file systems have no such thing
            raise
    finally:
        os.close(descriptor)


def lock(descriptor: int) -> bool:
    """Lock an open file against every other writer; return whether that worked. It is unlocked when it is closed."""
    if fcntl is None:
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        if error.errno not in NO_LOCKS:
            raise
    return True


def write_all(descriptor: int, content: bytes | memoryview) -> None:
    """Write all of `content` to an open file, in as many steps as the system takes."""
    rest = memoryview(content)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


@contextmanager
def errors_naming(path: FilePath) -> Iterator[None]:
    """Let system errors of the block name a file, where they name none: those of open descriptors do not."""
    try:
        yield
    except OSError as error:
        if error.errno is not None and error.filename is None:
            error.filename = os.fspath(path)
        raise


class _Draft(io.RawIOBase):
    """An open file that is locked; all that is written goes through `os.write`.

    The file object owns the descriptor from the moment it is opened: whatever interrupts the caller, even between two
    steps of Python, the descriptor is closed, and so unlocked, when nothing refers to the object any more.
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
    """Return where a file is written before it is moved: always the same, so that a crash leaves no more than one."""
    name = place.name
    if len(name) > LONGEST_NAME:
        name = f"{name[:LONGEST_NAME]}.{zlib.crc32(os.fsencode(name)):08x}"
    return place.with_name(f".{name}.part")


def _open_draft(draft: Path, path: FilePath) -> _Draft:
    """Open an empty draft that nobody else writes to."""
    while True:
        opened = _Draft(_new_or_left(draft))
        if not lock(opened.fileno()):
            opened.close()
            raise LockedError(f"{os.fspath(path)} is being written by another process or thread; wait for it.")
        with suppress(FileNotFoundError):
            found = os.fstat(opened.fileno())
            is_ours = os.path.samestat(os.lstat(draft), found)
            if is_ours and found.st_nlink == 1:
                os.ftruncate(opened.fileno(), 0)  # what a crash may have left
                return opened
            if is_ours:  # another name of it is another's: that one keeps what there is
                os.unlink(draft)
        opened.close()  # another writer moved it to its place between our two steps: open a new one


def _new_or_left(draft: Path) -> io.FileIO:
    """Open a draft for writing: a new one, or that which a crash has left, if it is a regular file and no link."""
    while True:
        with suppress(FileExistsError):
            return io.FileIO(draft, "x")  # follows no link
        with suppress(FileNotFoundError):  # gone meanwhile: make a new one
            if not stat.S_ISREG(os.lstat(draft).st_mode):
                raise OSError(errno.ELOOP, f"its draft {draft.name} is a link, or no regular file; remove it")
            return io.FileIO(draft, "r+")


def _buffered(raw: Any) -> BinaryIO:
    return cast(BinaryIO, io.BufferedWriter(raw, BUFFER))


@contextmanager
def _removed_on_failure(draft: Path) -> Iterator[None]:
    try:
        yield
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


def open_regular(path: FilePath) -> BinaryIO:
    """Open a file for reading; refuse devices and pipes, which have no size that could be checked."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)  # or a pipe would be waited for
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "is not a regular file", os.fspath(path))
    return os.fdopen(descriptor, "rb")


def open_own(path: FilePath, flags: int) -> int:
    """Return the descriptor of a regular file; refuse symbolic links, devices and pipes.

    Parameters
    ----------
    path
    flags : int
        Of `os.open`. `O_TRUNC` would empty the file before it is looked at; leave it out.
    """
    flags |= os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK  # without the last, opening a pipe waits for its other end
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
    """Return the error about a name that leads elsewhere."""
    return StateError(f"{os.fspath(path)} is a link, or no regular file; what it leads to is left alone. Remove it.")
