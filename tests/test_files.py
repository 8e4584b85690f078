"""A file is the old one or the new one, whole, whatever fails; two writers at once get a clear error."""

import errno
import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from adabypass import files
from adabypass.errors import AdabypassError, LockedError, StateError


@pytest.fixture
def place(tmp_path: Path) -> Path:
    path = tmp_path / "model"
    path.write_bytes(b"old")
    return path


def failing(number: int, after: int = 0) -> Callable[..., Any]:
    """Return a function that fails as the system would, after so many calls that do not."""
    calls = []

    def fail(*arguments: Any) -> Any:
        calls.append(arguments)
        if len(calls) > after:
            raise OSError(number, os.strerror(number))
        return len(arguments[1]) if len(arguments) > 1 else None

    return fail


def test_a_new_file_is_whole_and_alone(place: Path) -> None:
    files.replace_file([b"ne", memoryview(b"w")], place)
    assert place.read_bytes() == b"new"
    assert os.listdir(place.parent) == ["model"]


@pytest.mark.parametrize("call", ["write", "fsync", "replace"])
@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EIO])
def test_whatever_fails_the_old_file_stays(
    place: Path, monkeypatch: pytest.MonkeyPatch, call: str, number: int
) -> None:
    monkeypatch.setattr(os, call, failing(number))
    with pytest.raises(OSError, match="model") as failure:
        files.replace_file(b"new", place)
    assert failure.value.errno == number
    monkeypatch.undo()
    assert place.read_bytes() == b"old"
    assert os.listdir(place.parent) == ["model"]


def test_a_folder_that_cannot_be_flushed_is_an_error_and_the_new_file_is_there(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "fsync", failing(errno.EIO, after=1))
    with pytest.raises(OSError, match="Input/output error"):
        files.replace_file(b"new", place)
    assert place.read_bytes() == b"new"


def test_a_file_system_without_flushing_of_folders_will_do(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", failing(errno.EINVAL, after=1))
    files.replace_file(b"new", place)
    assert place.read_bytes() == b"new"


def test_file_and_folder_are_flushed_in_this_order(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[str] = []
    replace = os.replace

    def noted(*names: str) -> None:
        done.append("replace")
        replace(*names)

    monkeypatch.setattr(os, "fsync", lambda descriptor: done.append(os.readlink(f"/proc/self/fd/{descriptor}")))
    monkeypatch.setattr(os, "replace", noted)
    files.replace_file(b"new", place)
    assert done == [str(place.with_name(".model.part")), "replace", str(place.parent)]


def test_a_block_that_fails_leaves_the_old_file(place: Path) -> None:
    with pytest.raises(KeyboardInterrupt), files.replacing(place) as file:  # noqa: PT012
        file.write(b"half")
        raise KeyboardInterrupt
    assert place.read_bytes() == b"old"
    assert os.listdir(place.parent) == ["model"]


def test_a_second_writer_is_refused_until_the_first_is_done(place: Path) -> None:
    with files.replacing(place) as file:
        file.write(b"first")
        with pytest.raises(LockedError, match=r"model is being written by another process or thread"):
            files.replace_file(b"second", place)
        assert place.read_bytes() == b"old"
    assert place.read_bytes() == b"first"
    files.replace_file(b"second", place)
    assert place.read_bytes() == b"second"


def test_many_writers_leave_one_whole_file(place: Path) -> None:
    """Each either succeeds or is refused; what is read at any time is some writer's whole content."""
    contents = {b"old"} | {bytes([65 + i]) * 100_000 for i in range(6)}
    refused: list[BaseException] = []
    seen: set[bytes] = set()

    def write(content: bytes) -> None:
        for _ in range(30):
            try:
                files.replace_file(content, place)
            except AdabypassError as error:
                refused.append(error)
            seen.add(place.read_bytes())

    threads = [threading.Thread(target=write, args=(content,)) for content in contents]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen <= contents
    assert all(isinstance(error, LockedError) for error in refused)
    assert os.listdir(place.parent) == ["model"]


def test_what_a_crash_left_is_used_again(place: Path) -> None:
    place.with_name(".model.part").write_bytes(b"left by a crash, and longer than what comes now")
    files.replace_file(b"new", place)
    assert place.read_bytes() == b"new"
    assert os.listdir(place.parent) == ["model"]


def test_a_link_in_the_place_of_the_draft_is_not_followed(place: Path) -> None:
    other = place.with_name("other")
    other.write_bytes(b"another's")
    place.with_name(".model.part").symlink_to(other)
    with pytest.raises(OSError, match=r"its draft \.model\.part is a link"):
        files.replace_file(b"new", place)
    assert other.read_bytes() == b"another's"


def test_links_permissions_and_long_names_are_kept(place: Path) -> None:
    place.chmod(0o640)
    link = place.with_name("link")
    link.symlink_to(place)
    files.replace_file(b"new", link)
    assert link.is_symlink()
    assert place.read_bytes() == b"new"
    assert place.stat().st_mode & 0o777 == 0o640
    long = place.with_name("x" * 250)
    files.replace_file(b"new", long)
    assert long.read_bytes() == b"new"


def test_a_device_is_written_to_as_it_is() -> None:
    files.replace_file(b"new", "/dev/null")
    assert not Path("/dev/null").is_file()


def test_all_is_written_where_the_system_takes_a_part_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = os.write
    monkeypatch.setattr(os, "write", lambda descriptor, content: write(descriptor, bytes(content)[:3]))
    descriptor = os.open(tmp_path / "file", os.O_WRONLY | os.O_CREAT)
    files.write_all(descriptor, b"0123456789")
    os.close(descriptor)
    assert (tmp_path / "file").read_bytes() == b"0123456789"


class FakeMsvcrt:
    """Locks single bytes of files, as Python's module for Windows does."""

    LK_NBLCK = 2

    def __init__(self) -> None:
        self.held: set[tuple[int, int]] = set()

    def locking(self, descriptor: int, mode: int, n_bytes: int) -> None:
        assert (mode, n_bytes) == (self.LK_NBLCK, 1)
        byte = (os.fstat(descriptor).st_ino, os.lseek(descriptor, 0, os.SEEK_CUR))
        if byte in self.held:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        self.held.add(byte)


def test_on_windows_a_byte_beyond_the_content_is_locked(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "fcntl", None)
    monkeypatch.setattr(files, "msvcrt", FakeMsvcrt())
    with place.open("r+b") as first, place.open("r+b") as second:
        first.seek(2)
        assert files.lock(first.fileno())
        assert first.read() == b"d"  # it is where it was
        assert not files.lock(second.fileno())
    assert place.read_bytes() == b"old"


@pytest.mark.parametrize("fails", [False, True])
def test_on_windows_a_file_is_closed_before_it_is_replaced_or_removed(
    place: Path, monkeypatch: pytest.MonkeyPatch, fails: bool
) -> None:
    """There, both are refused while it is open; and a folder cannot be opened, so that it is not flushed."""
    monkeypatch.setattr(files, "WINDOWS", True)
    for name in ("replace", "unlink"):
        monkeypatch.setattr(os, name, refusing_open_files(getattr(os, name)))
    try:
        with files.replacing(place) as file:
            file.write(b"new")
            if fails:
                raise ZeroDivisionError
    except ZeroDivisionError:
        assert fails
    assert place.read_bytes() == (b"old" if fails else b"new")
    assert os.listdir(place.parent) == ["model"]


def refusing_open_files(call: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of the system that refuses a file which this process has open."""

    def checked(path: Path, *others: Any) -> Any:
        opened = [_target(each) for each in os.listdir("/proc/self/fd")]
        assert os.fspath(path) not in opened
        return call(path, *others)

    return checked


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning", "ignore::ResourceWarning")
def test_an_interrupted_save_leaves_nothing_open_or_locked(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C may come after any step of Python; here it comes once after each line that a save runs."""
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)
    number = 0
    while not interrupted_at(number, place):
        files.replace_file(f"save {number}".encode(), place)
        assert place.read_bytes() == f"save {number}".encode()
        number += 1
    assert number > 20
    drafts = [each for each in os.listdir("/proc/self/fd") if ".part" in _target(each)]
    assert drafts == []


def interrupted_at(number: int, place: Path) -> bool:
    """Interrupt a save at its step of this number; return whether it was done before that."""
    n_left = number

    def trace(frame: Any, event: str, argument: Any) -> Any:
        nonlocal n_left
        if frame.f_code.co_filename != files.__file__:
            return None
        frame.f_trace_opcodes = True
        if event == "opcode":
            n_left -= 1
            if n_left == -1:
                raise KeyboardInterrupt
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        files.replace_file(b"half", place)
    except KeyboardInterrupt:
        return False
    finally:
        sys.settrace(before)
    return True


def _target(descriptor: str) -> str:
    try:
        return os.readlink(f"/proc/self/fd/{descriptor}")
    except FileNotFoundError:  # of the listing itself
        return ""


@pytest.mark.parametrize("kind", ["link", "pipe", "device"])
def test_a_file_of_our_own_is_no_link_and_no_pipe(kind: str, place: Path) -> None:
    name = place.with_name("own")
    if kind == "link":
        name.symlink_to(place)
    elif kind == "pipe":
        os.mkfifo(name)
    else:
        name = Path("/dev/zero")
    for flags in (os.O_RDONLY, os.O_WRONLY, os.O_RDWR | os.O_CREAT):
        with pytest.raises(StateError, match="is a link, or not a regular file"):
            files.open_own(name, flags)
    assert place.read_bytes() == b"old"
