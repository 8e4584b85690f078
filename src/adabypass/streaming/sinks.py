"""Where answers go: standard output, a file that appears when whole, or one that grows and is rotated."""

import errno
import io
import json
import os
import re
import select
import stat
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from itertools import accumulate
from pathlib import Path
from time import monotonic
from typing import Any, Protocol

from adabypass.errors import LockedError, MissingExtraError, StateError
from adabypass.files import errors_naming, lock, replacing, sync_folder, write_all
from adabypass.streaming.sources import Blocked, StopSignals
from adabypass.validation import shown

MAX_LINE_SIZE = 1 << 20
"""Bytes at the beginning of a file in which its first line is looked for."""
MAX_FILE_SIZE = 1 << 62
STANDARD_OUTPUT = "standard output"
PIPE_BUF = getattr(select, "PIPE_BUF", 512)
"""Bytes that a pipe takes at once if it has room."""
POLL = 0.2
"""Seconds between two looks for a signal while standard output is full."""
GRACE = 2.0
"""Seconds that whoever reads standard output has, after a signal, to take more of it."""
GROUP = 10_000
"""Rows of a group of a Parquet file."""


class Sink(Protocol):
    """Where answers go."""

    n_unanswered: int
    """Answers of a `flush` that failed which were not written, and which a resumed stream would not make good for."""
    can_grow: bool
    """Whether a resumed stream goes on in it."""

    def add(self, answer: Any, row: int, key: str) -> None:
        """Add the answer to a row of this number, of the series of this id."""

    def flush(self) -> None:
        """Write out all answers."""

    def finish(self) -> None:
        """Write out all answers, the last ones."""

    def abandon(self) -> None:
        """Drop the answers that wait."""


class StandardOutput:
    """Answers as text on standard output; they wait for `flush`, since an answer comes after its row is in the store.

    Parameters
    ----------
    header : str
        What comes before all answers.
    stop : StopSignals
        Ends a wait for whoever reads, and does not.
    """

    can_grow = False

    def __init__(self, header: str, stop: StopSignals) -> None:
        self._header, self._stop = header, stop
        self._waiting: list[str] = []
        self.n_unanswered = 0

    def add(self, answer: str, row: int, key: str) -> None:
        """Add the answer to a row."""
        self._waiting.append(answer)

    def flush(self) -> None:
        """Write out all answers; if that fails, `n_unanswered` tells how many of them were not written as a whole."""
        texts = [self._header, *self._waiting]
        self._header = ""
        self._waiting.clear()
        with errors_naming(STANDARD_OUTPUT):
            sys.stdout.flush()
            descriptor = _descriptor(sys.stdout)
            if descriptor is None:
                sys.stdout.write("".join(texts))
            else:
                self._write(descriptor, [_encoded(text) for text in texts])

    def _write(self, descriptor: int, parts: list[bytes]) -> None:
        rest = memoryview(b"".join(parts))
        try:
            while rest:
                self._wait_for_room(descriptor)
                with suppress(BlockingIOError):
                    rest = rest[os.write(descriptor, rest[:PIPE_BUF]) :]  # so much, a pipe with room takes at once
        except BaseException:
            n_written = sum(map(len, parts)) - len(rest)
            self.n_unanswered = sum(end > n_written for end in list(accumulate(map(len, parts)))[1:])
            raise

    def _wait_for_room(self, descriptor: int) -> None:
        """Wait until whoever reads takes more; after a signal, no longer than `GRACE`."""
        give_up = None
        while not select.select([], [descriptor], [], POLL)[1]:
            if self._stop.received is not None:
                give_up = monotonic() + GRACE if give_up is None else give_up
                if monotonic() >= give_up:
                    raise Blocked(self._stop.received)

    def finish(self) -> None:
        """Write out all answers, the last ones."""
        self.flush()

    def abandon(self) -> None:
        """Drop the answers that wait: their rows are not in the store."""
        self._waiting.clear()


def _descriptor(stream: Any) -> int | None:
    """Return the descriptor of an open stream that can be waited for; None if it has none."""
    try:
        number: int = stream.fileno()
    except (OSError, ValueError):  # text in memory
        return None
    return number if os.name == "posix" else None


def _encoded(text: str) -> bytes:
    return text.encode(sys.stdout.encoding or "utf-8", sys.stdout.errors or "strict")


class WholeFile:
    """A file of CSV or JSON lines that takes its place when the stream has ended; a failed run leaves an older one."""

    n_unanswered, can_grow = 0, False

    def __init__(self, path: str, header: str) -> None:
        self._stack = ExitStack()
        self._file = self._stack.enter_context(replacing(path))
        self._file.write(header.encode())

    def add(self, answer: str, row: int, key: str) -> None:
        """Add the answer to a row."""
        self._file.write(answer.encode("utf-8", "surrogatepass"))

    def flush(self) -> None:
        """Do nothing: nobody sees the file before it is whole."""

    def finish(self) -> None:
        """Move the file to its place."""
        self._stack.close()

    def abandon(self) -> None:
        """Drop the file."""
        error = InterruptedError()
        self._stack.__exit__(type(error), error, None)


class ParquetFile:
    """A Parquet file that takes its place when the stream has ended; a failed run leaves an older one."""

    n_unanswered, can_grow = 0, False

    def __init__(self, path: str, header: list[str], texts: Sequence[str | None]) -> None:
        try:
            import pyarrow  # noqa: PLC0415  (optional, and slow to import)
            import pyarrow.parquet  # noqa: PLC0415
        except ImportError as missing:
            raise MissingExtraError(
                "Parquet needs pyarrow; install it with: pip install 'adabypass[parquet]'"
            ) from missing
        self._arrow = pyarrow
        kinds = {"anomaly": pyarrow.bool_(), "change": pyarrow.string()}
        kinds |= {name: pyarrow.string() for name in texts if name is not None}
        self._schema = pyarrow.schema([(name, kinds.get(name, pyarrow.float64())) for name in header])
        self._texts = [i for i, field in enumerate(self._schema) if field.type == pyarrow.string()]
        self._rows: list[list[Any]] = []
        self._stack = ExitStack()
        file = self._stack.enter_context(replacing(path))
        self._writer = self._stack.enter_context(pyarrow.parquet.ParquetWriter(file, self._schema))

    def add(self, values: list[Any] | str, row: int, key: str) -> None:
        """Add the answer to a row; "" if it is not to be answered."""
        if isinstance(values, str):
            return
        for i in self._texts:
            values[i] = None if values[i] is None else str(values[i])
        self._rows.append(values)
        if len(self._rows) >= GROUP:
            self._write()

    def flush(self) -> None:
        """Do nothing: nobody sees the file before it is whole."""

    def finish(self) -> None:
        """Move the file to its place."""
        self._write()
        self._stack.close()

    def abandon(self) -> None:
        """Drop the file."""
        error = InterruptedError()
        self._stack.__exit__(type(error), error, None)

    def _write(self) -> None:
        if self._rows:
            columns = zip(*self._rows, strict=True)
            arrays = [
                self._arrow.array(column, field.type) for column, field in zip(columns, self._schema, strict=True)
            ]
            self._writer.write_table(self._arrow.Table.from_arrays(arrays, schema=self._schema))
            self._rows.clear()


class Published:
    """Answers in one or more files that were written after the last checkpoint, by a run that then ended.

    Parameters
    ----------
    places : list of (path, int)
        The files in the order in which they were written, each with the byte where its answers begin.
    """

    def __init__(self, places: list[tuple[str, int]]) -> None:
        self._places, self._file = places, io.BytesIO()
        self._file = self._next()

    def _next(self) -> Any:
        path, start = self._places.pop(0)
        self._file.close()
        file = open(path, "rb")  # noqa: SIM115  (closed when all of it was met)
        file.seek(start)
        return file

    @property
    def is_last(self) -> bool:
        """Whether what is read is in the newest file."""
        return not self._places

    def lines(self, n: int) -> bytes:
        """Return the next `n` lines, which are in one file; fewer, or a part of one, at the end."""
        while True:
            held = b"".join(self._file.readline() for _ in range(n))
            if held or self.is_last:
                return held
            self._file = self._next()

    def close(self) -> None:
        """Close the file."""
        self._file.close()


class GrowingFile:
    """A file of CSV or JSON lines that grows as rows are committed: a resumed stream goes on in it, no answer is twice.

    What is in the file is never cut. Answers after the place that the state knows of were published by the run
    before: each is met again when its row is, learned from the state or from the input, and is not written again.

    When it is rotated, what was written moves to answers.000001.jsonl, answers.000002.jsonl and so on.

    Parameters
    ----------
    path : str
    header : str
        What a new file begins with.
    columns : list of str
        Of an answer.
    note : function
        Takes a sentence for the user.
    max_size : int, optional
        Bytes after which it is rotated.
    """

    n_unanswered, can_grow = 0, True

    def __init__(
        self, path: str, header: str, columns: list[str], note: Callable[[str], None], max_size: int | None = None
    ) -> None:
        self._path, self._header, self._columns, self._note = path, header.encode(), columns, note
        self._max_size = MAX_FILE_SIZE if max_size is None else max_size
        self._waiting: list[bytes] = []
        self._file: io.FileIO | None = None
        self._published: Published | None = None
        self._size = 0
        """Where answers end that this run has met or written."""
        self._part = 0
        """Files that were moved away so far."""
        self._is_replaying = True
        self._has_turned = False
        """Whether a new file was begun since the state was written."""

    def add(self, answer: str, row: int, key: str) -> None:
        """Add the answer to a row; "" if it is not to be answered."""
        if answer:
            self._add(answer.encode("utf-8", "surrogatepass"))

    def _add(self, content: bytes) -> None:
        if self._published is not None:
            content = self._unpublished(self._published, content)
        if content:
            self._waiting.append(content)

    def _unpublished(self, published: Published, content: bytes) -> bytes:
        """Return the part of an answer that the file does not hold yet."""
        n_lines = content.count(b"\n")
        held = published.lines(n_lines)
        is_whole = held.count(b"\n") == n_lines
        if not is_whole:  # the end of the file
            self._published = None
            published.close()
        if b"\0" in held:  # what a power cut left is no answer
            self._published = None
            os.ftruncate(self._descriptor, self._size)
            return content
        # What the state has was answered as it stands, even if other options would answer it otherwise now.
        if not content.startswith(held) and not (is_whole and self._is_replaying):
            raise StateError(
                f"{self._path} holds, from byte {self._size} on, something else than the next answer of this stream: "
                "its state has not learned the rows that are answered there. Let the input begin with these rows, or "
                "name another file with --out."
            )
        if published.is_last:
            self._size += len(held)
        return b"" if is_whole else content[len(held) :]

    def resume(self, position: Mapping[str, Any] | None) -> None:
        """Go on after the place where the file ended when the state was written; None if there is no state."""
        part, size = (None, None) if position is None else (position.get("part"), position.get("size"))
        if position is not None and not all(type(each) is int and 0 <= each <= MAX_FILE_SIZE for each in (part, size)):
            raise StateError(f"the state's place in {self._path}, {shown(position)}, is none.")
        Path(self._path).absolute().parent.mkdir(parents=True, exist_ok=True)
        self._open()
        found = os.fstat(self._descriptor).st_size
        start = os.pread(self._descriptor, MAX_LINE_SIZE, 0)
        is_begun = found <= len(self._header) and self._header.startswith(start)  # also a new one
        if not is_begun and self._header and not start.startswith(self._header):
            raise self._foreign()
        self._part = max([*self._parts(), part or 0])
        if is_begun and self._header:
            self._waiting.append(self._header)
            self.flush()
            found = self._size
        rotated = [] if part is None else [each for each in self._parts() if each > part]
        self._size = len(self._header) if is_begun or rotated else found if size is None else size
        if rotated and rotated[0] == 1 + (part or 0):  # it was rotated after the state was written
            places = [(self._part_path(each), len(self._header)) for each in rotated]
            self._published = Published([(places[0][0], size or 0), *places[1:], (self._path, self._size)])
        elif not is_begun and (size is None or found < size):
            self._check_answers(start, found)
            self._note(f"{self._path} is not as the state knows it; answers are added after its last line.")
            self._size = found
        elif self._size < found:
            self._published = Published([(self._path, self._size)])

    def _open(self) -> None:
        self._file = io.FileIO(self._path, "r+", opener=_open_or_make)
        if not stat.S_ISREG(os.fstat(self._descriptor).st_mode):
            raise OSError(errno.EINVAL, "is not a regular file, as --state needs it for --out", self._path)
        if not lock(self._descriptor):
            raise LockedError(f"{self._path} is being written by another stream; stop it first, or name another file.")

    def _check_answers(self, start: bytes, size: int) -> None:
        """Refuse a file that this stream has not made, unless it holds whole lines of answers with the same columns."""
        if os.pread(self._descriptor, 1, size - 1) != b"\n":
            raise self._foreign()
        if not self._header:
            try:
                first = json.loads(start.partition(b"\n")[0])
            except (ValueError, RecursionError):
                raise self._foreign() from None
            if not isinstance(first, dict) or set(first) != set(self._columns):
                raise self._foreign()

    def _foreign(self) -> StateError:
        return StateError(
            f"{self._path} exists, and does not hold whole lines of answers with the columns "
            f"{', '.join(self._columns)}; name another file with --out, or move this one away."
        )

    @property
    def _descriptor(self) -> int:
        assert self._file is not None
        return self._file.fileno()

    def flush(self) -> None:
        """Write out all answers; begin a new file whenever one is full."""
        while self._waiting:
            n, size = 0, self._size
            while n < len(self._waiting) and (
                size < self._max_size or size <= len(self._header) or self._published is not None
            ):
                size += len(self._waiting[n])
                n += 1
            content = b"".join(self._waiting[:n])
            del self._waiting[:n]
            with errors_naming(self._path):
                os.lseek(self._descriptor, self._size, os.SEEK_SET)
                write_all(self._descriptor, content)
            self._size += len(content)
            if self._waiting:
                self._turn()

    @property
    def is_full(self) -> bool:
        """Whether it is time to rotate the file, or it was rotated, and the state must be written."""
        return (self._size >= self._max_size or self._has_turned) and self._published is None

    def rotate(self) -> None:
        """Move the file away, unless somebody has done so, and begin a new one; the state must be written next."""
        if self._published is not None:  # answers of the run before are still to be met
            return
        self.flush()
        if not self._has_turned or self._size >= self._max_size or not self._is_in_place():
            self._turn()
            self.flush()
        self._has_turned = False

    def _is_in_place(self) -> bool:
        """Return whether nobody has moved the file away."""
        here = Path(self._path)
        return here.exists() and os.path.samestat(here.stat(), os.fstat(self._descriptor))

    def _turn(self) -> None:
        """Move the file away, unless somebody has done so, and begin a new one."""
        assert self._file is not None
        with errors_naming(self._path):
            os.fsync(self._descriptor)
            if self._is_in_place():
                if self._size <= len(self._header):
                    return
                self._part = 1 + max([*self._parts(), self._part])
                os.rename(self._path, self._part_path(self._part))
            sync_folder(Path(self._path).absolute().parent)
        self._file.close()
        self._open()
        found = os.fstat(self._descriptor).st_size
        self._size = 0
        if found:  # whoever moved it has begun a new one
            raise self._foreign()
        self._waiting[:0] = [self._header] if self._header else []
        self._has_turned = True

    def _part_path(self, number: int) -> str:
        path = Path(self._path)
        return str(path.with_name(f"{path.stem}.{number:06d}{path.suffix}"))

    def _parts(self) -> list[int]:
        """Return the numbers of the files that were moved away, in increasing order."""
        path = Path(self._path)
        form = re.compile(rf"{re.escape(path.stem)}\.([0-9]{{6,9}}){re.escape(path.suffix)}")
        found = (form.fullmatch(each) for each in os.listdir(path.absolute().parent))
        return sorted(int(each[1]) for each in found if each is not None)

    def sync(self) -> dict[str, Any]:
        """Flush the file to the disk; return where it ends."""
        self.flush()
        with errors_naming(self._path):
            os.fsync(self._descriptor)
        self._is_replaying = False  # the first writing of the state comes after the rows that it learned again
        return {"part": self._part, "size": self._size}

    def finish(self) -> None:
        """Write out all answers, the last ones."""
        self.sync()

    def abandon(self) -> None:
        """Drop the answers that wait: their rows are not in the state."""
        self._waiting.clear()
        for file in (self._file, self._published):
            if file is not None:
                file.close()
        self._file = self._published = None


def _open_or_make(path: str, flags: int) -> int:
    # Without O_NONBLOCK, a pipe would be waited for.
    return os.open(path, flags | os.O_CREAT | os.O_NONBLOCK, 0o666)
