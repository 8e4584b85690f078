"""Where the answers of `adabypass stream` go: standard output, a file that appears when whole, or one that grows."""

import errno
import io
import json
import os
import select
import stat
import sys
from collections.abc import Callable
from contextlib import ExitStack, suppress
from itertools import accumulate
from pathlib import Path
from time import monotonic
from typing import Any, BinaryIO, Protocol

from adabypass.cli.stream_input import Blocked, StopSignals
from adabypass.cli.stream_output import AnswerFormat, Encode, csv_line, encode_csv, encode_json, encode_values
from adabypass.errors import LockedError, MissingExtraError, StateError
from adabypass.files import errors_naming, lock, replacing, write_all
from adabypass.snapshots.header import Header

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

    def add(self, answer: Any, row: int, key: str) -> None:
        """Add the answer to a row of this number, of the series of this id."""

    def flush(self) -> None:
        """Write out all answers."""

    def finish(self) -> None:
        """Write out all answers, the last ones."""

    def abandon(self) -> None:
        """Drop the answers that wait."""


class StandardOutput:
    """Answers as text on standard output; they wait for `flush`, since an answer comes after its record in the journal.

    Parameters
    ----------
    header : str
        What comes before all answers.
    stop : StopSignals
        Ends a wait for whoever reads, and does not.
    """

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
        """Drop the answers that wait: their rows are not in the journal."""
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

    n_unanswered = 0

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

    n_unanswered = 0

    def __init__(self, path: str, wanted: AnswerFormat) -> None:
        try:
            import pyarrow  # noqa: PLC0415  (optional, and slow to import)
            import pyarrow.parquet  # noqa: PLC0415
        except ImportError as missing:
            raise MissingExtraError(
                "Parquet needs pyarrow; install it with: pip install 'adabypass[parquet]'"
            ) from missing
        self._arrow = pyarrow
        kinds = {"anomaly": pyarrow.bool_(), "change": pyarrow.string()}
        kinds |= {name: pyarrow.string() for name in (wanted.key, wanted.time) if name is not None}
        self._schema = pyarrow.schema([(name, kinds.get(name, pyarrow.float64())) for name in wanted.header()])
        self._texts = [i for i, field in enumerate(self._schema) if field.type == pyarrow.string()]
        self._rows: list[list[Any]] = []
        self._stack = ExitStack()
        file = self._stack.enter_context(replacing(path))
        self._writer = self._stack.enter_context(pyarrow.parquet.ParquetWriter(file, self._schema))

    def add(self, values: list[Any], row: int, key: str) -> None:
        """Add the answer to a row."""
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


class GrowingFile:
    """A file of CSV or JSON lines that grows with the journal: a resumed stream goes on in it, and no answer is twice.

    What is in the file is never cut. Answers after the place that the snapshot knows of were published by the run
    before: each is met again when its row is, learned from the journal or from the input, and is not written again.

    Parameters
    ----------
    path : str
    header : str
        What a new file begins with.
    columns : list of str
        Of an answer.
    note : function
        Takes a sentence for the user.
    """

    n_unanswered = 0

    def __init__(self, path: str, header: str, columns: list[str], note: Callable[[str], None]) -> None:
        self._path, self._header, self._columns, self._note = path, header.encode(), columns, note
        self._waiting: list[bytes] = []
        self._file: io.FileIO | None = None
        self._published: BinaryIO | None = None
        """Reads what the run before has published after the place that the snapshot knows of."""
        self._size = 0
        """Where answers end that this run has met or written."""
        self._is_replaying = True

    def add(self, answer: str, row: int, key: str) -> None:
        """Add the answer to a row."""
        self._add(answer.encode("utf-8", "surrogatepass"))

    def _add(self, content: bytes) -> None:
        if self._published is not None:
            content = self._unpublished(self._published, content)
        if content:
            self._waiting.append(content)

    def _unpublished(self, published: BinaryIO, content: bytes) -> bytes:
        """Return the part of an answer that the file does not hold yet."""
        n_lines = content.count(b"\n")
        held = b"".join(published.readline() for _ in range(n_lines))
        is_whole = held.count(b"\n") == n_lines
        if not is_whole:  # the end of the file
            self._published = None
            published.close()
        if b"\0" in held:  # what a power cut left is no answer
            self._published = None
            os.ftruncate(self._descriptor, self._size)
            return content
        # What the journal has was answered as it stands, even if other options would answer it otherwise now.
        if not content.startswith(held) and not (is_whole and self._is_replaying):
            raise StateError(
                f"{self._path} holds, from byte {self._size} on, something else than the next answer of this stream: "
                "its state has not learned the rows that are answered there. Let the input begin with these rows, or "
                "name another file with --out."
            )
        self._size += len(held)
        return b"" if is_whole else content[len(held) :]

    def resume(self, header: Header | None) -> None:
        """Go on after the size that the file had when the snapshot was taken."""
        size = None if header is None else header.whole_or_none("answers_size", maximum=MAX_FILE_SIZE)
        Path(self._path).absolute().parent.mkdir(parents=True, exist_ok=True)
        self._file = io.FileIO(self._path, "r+", opener=_open_or_make)
        if not stat.S_ISREG(os.fstat(self._descriptor).st_mode):
            raise OSError(errno.EINVAL, "is not a regular file, as --state needs it for --out", self._path)
        if not lock(self._descriptor):
            raise LockedError(f"{self._path} is being written by another stream; stop it first, or name another file.")
        found = os.fstat(self._descriptor).st_size
        start = os.pread(self._descriptor, MAX_LINE_SIZE, 0)
        is_begun = found <= len(self._header) and self._header.startswith(start)  # also a new one
        if not is_begun and self._header and not start.startswith(self._header):
            raise self._foreign()
        if is_begun:
            size = 0
        elif size is None or found < size:
            self._check_answers(start, found)
            self._note(f"{self._path} is not as the state knows it; answers are added after its last line.")
            size = found
        self._size = size
        if size < found:
            self._published = open(self._path, "rb")  # noqa: SIM115  (closed when all of it was met)
            self._published.seek(size)
        if is_begun:
            self._add(self._header)

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
        """Write out all answers."""
        if self._waiting:
            content = b"".join(self._waiting)
            self._waiting.clear()
            with errors_naming(self._path):
                os.lseek(self._descriptor, self._size, os.SEEK_SET)
                write_all(self._descriptor, content)
            self._size += len(content)

    def sync(self) -> dict[str, Any]:
        """Flush the file to the disk; return its size."""
        self.flush()
        with errors_naming(self._path):
            os.fsync(self._descriptor)
        self._is_replaying = False  # the first snapshot comes after the journal
        return {"answers_size": self._size}

    def finish(self) -> None:
        """Write out all answers, the last ones."""
        self.sync()

    def abandon(self) -> None:
        """Drop the answers that wait: their rows are not in the journal."""
        self._waiting.clear()
        for file in (self._file, self._published):
            if file is not None:
                file.close()
        self._file = self._published = None


def _open_or_make(path: str, flags: int) -> int:
    # Without O_NONBLOCK, a pipe would be waited for.
    return os.open(path, flags | os.O_CREAT | os.O_NONBLOCK, 0o666)


def encoding(kind: str, wanted: AnswerFormat, *, is_shown: bool = False) -> tuple[Encode, str]:
    """Return how answers are encoded, and what comes before them; `is_shown`: on a terminal."""
    if kind == "csv":
        return encode_csv(wanted, is_shown=is_shown), csv_line(wanted.header(), is_shown=is_shown)
    if kind == "parquet":
        return encode_values(wanted), ""
    return encode_json(wanted), ""
