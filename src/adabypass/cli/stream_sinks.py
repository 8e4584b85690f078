"""Where the answers of `adabypass stream` go: standard output, a file that appears when whole, or one that grows."""

import errno
import os
import stat
import sys
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Protocol

from adabypass.cli.stream_output import Encode, Wanted, csv_line, encode_csv, encode_json, encode_values
from adabypass.errors import MissingExtraError
from adabypass.files import replacing, write_all
from adabypass.snapshots.header import Header

LONGEST_LINE = 1 << 20
"""Bytes from the end of a file in which the end of a line is looked for."""
LARGEST_FILE = 1 << 62
GROUP = 10_000
"""Rows of a group of a Parquet file."""


class Sink(Protocol):
    """Where answers go."""

    def add(self, answer: Any, row: int, key: str) -> None:
        """Add the answer to a row of this number, of the series of this id."""

    def flush(self) -> None:
        """Write out all answers."""

    def finish(self) -> None:
        """Write out all answers, the last ones."""

    def abandon(self) -> None:
        """Drop the answers that wait."""


class StandardOutput:
    """Answers as text on standard output.

    Parameters
    ----------
    header : str
        What comes before all answers.
    waits : bool
        Whether answers wait for `flush`: with a journal, an answer comes after its record.
    """

    def __init__(self, header: str, waits: bool) -> None:
        self._waiting: list[str] = [header] if header else []
        self._add: Callable[[str], object] = self._waiting.append if waits else sys.stdout.write
        if header and not waits:
            sys.stdout.write(self._waiting.pop())

    def add(self, answer: str, row: int, key: str) -> None:
        """Add the answer to a row."""
        self._add(answer)

    def flush(self) -> None:
        """Write out all answers."""
        if self._waiting:
            sys.stdout.write("".join(self._waiting))
            self._waiting.clear()
        sys.stdout.flush()

    def finish(self) -> None:
        """Write out all answers, the last ones."""
        self.flush()

    def abandon(self) -> None:
        """Drop the answers that wait: their rows are not in the journal."""
        self._waiting.clear()


class WholeFile:
    """A file of CSV or JSON lines that takes its place when the stream has ended; a failed run leaves an older one."""

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

    def __init__(self, path: str, wanted: Wanted) -> None:
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

    Parameters
    ----------
    path : str
    header : str
        What a new file begins with.
    note : function
        Takes a sentence for the user.
    """

    def __init__(self, path: str, header: str, note: Callable[[str], None]) -> None:
        self._path, self._header, self._note = path, header, note
        self._waiting: list[str] = []
        self._descriptor = -1

    def add(self, answer: str, row: int, key: str) -> None:
        """Add the answer to a row."""
        self._waiting.append(answer)

    def resume(self, header: Header | None) -> None:
        """Cut the file to the size that it had when the snapshot was taken."""
        size = None if header is None else header.whole_or_none("answers_size", maximum=LARGEST_FILE)
        Path(self._path).absolute().parent.mkdir(parents=True, exist_ok=True)
        self._descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NONBLOCK, 0o666)
        if not stat.S_ISREG(os.fstat(self._descriptor).st_mode):
            raise OSError(errno.EINVAL, "is not a regular file, as --state needs it for --out", self._path)
        found = os.fstat(self._descriptor).st_size
        if size is None or found < size:
            size = self._end_of_lines(found)
            if size:
                self._note(f"{self._path} is not as the state knows it; answers are added after its last whole line.")
            else:
                self._waiting.append(self._header)
        os.ftruncate(self._descriptor, size)
        os.lseek(self._descriptor, size, os.SEEK_SET)

    def _end_of_lines(self, size: int) -> int:
        """Return where the last whole line of the file ends."""
        start = max(size - LONGEST_LINE, 0)
        return start + os.pread(self._descriptor, LONGEST_LINE, start).rfind(b"\n") + 1

    def flush(self) -> None:
        """Write out all answers."""
        if self._waiting:
            content = "".join(self._waiting).encode("utf-8", "surrogatepass")
            self._waiting.clear()
            write_all(self._descriptor, content)

    def sync(self) -> dict[str, Any]:
        """Flush the file to the disk; return its size."""
        self.flush()
        os.fsync(self._descriptor)
        return {"answers_size": os.lseek(self._descriptor, 0, os.SEEK_CUR)}

    def finish(self) -> None:
        """Write out all answers, the last ones."""
        self.sync()

    def abandon(self) -> None:
        """Drop the answers that wait: their rows are not in the journal."""
        self._waiting.clear()


def encoding(kind: str, wanted: Wanted) -> tuple[Encode, str]:
    """Return how answers are encoded, and what comes before them."""
    if kind == "csv":
        return encode_csv(wanted), csv_line(wanted.header())
    if kind == "parquet":
        return encode_values(wanted), ""
    return encode_json(wanted), ""
