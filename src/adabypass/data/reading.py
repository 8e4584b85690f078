"""Tables from files: CSV, TSV, JSON lines and Parquet, by the file's ending."""

import gzip
import io
import sys
import zlib
from array import array
from collections.abc import Sequence
from os import PathLike, fspath
from typing import BinaryIO

from adabypass.data.cells import Decimal
from adabypass.data.rows import CsvRows, JsonRows, Rows, open_rows
from adabypass.data.table import Table, check_names, from_frame
from adabypass.errors import MissingExtraError, TableError

ENDINGS = (".csv", ".tsv", ".jsonl", ".ndjson", ".parquet")
"""Each but the last may be followed by .gz."""
STANDARD_INPUT = "standard input"


def read_table(path: str | PathLike[str], *, sep: str | None = None, decimal: Decimal = ".") -> Table:
    """Read a table from a file, or from standard input if the path is "-".

    The ending gives the kind of file: .csv or .tsv with a header, .jsonl or .ndjson with one object a line, each also
    followed by .gz, or .parquet, which needs pyarrow. Standard input is JSON lines if it begins with a brace, and CSV
    otherwise. Text is UTF-8.

    Empty lines are skipped, but for a file of one column, where an empty line within the data is an empty cell.
    A key that a line of JSON leaves out is an empty cell.

    Parameters
    ----------
    path : str or path
    sep : str, optional
        The character between two cells of CSV; by default a comma, or a tab in a .tsv.
    decimal : "." or ","
        The decimal sign of numbers in text.
    """
    source = fspath(path)
    if source == "-":
        return _table(open_rows(standard_input(), STANDARD_INPUT, sep=sep), decimal)
    kind = ending(source)
    if kind == ".parquet":
        if sep is not None:
            raise TableError(f"{source} is Parquet, in which nothing separates cells; leave --sep out.")
        return _parquet(source)
    with open(source, "rb") as file:
        return _table(open_rows(_unpacked(file, source), source, kind, sep=sep), decimal)


def ending(path: str) -> str:
    """Return the kind of a file by its ending, in small letters and without .gz."""
    name = path.lower().removesuffix(".gz")
    for known in ENDINGS:
        if name.endswith(known) and not (known == ".parquet" and path.lower().endswith(".gz")):
            return known
    raise TableError(f"{path} must end in one of {', '.join(ENDINGS)}, all but the last also in .gz.")


def standard_input() -> BinaryIO:
    """Return standard input, as bytes."""
    if sys.stdin is None or not sys.stdin.readable():
        raise TableError("standard input is closed; redirect it to a file or to /dev/null.")
    return sys.stdin.buffer


def _unpacked(file: BinaryIO, source: str) -> BinaryIO:
    if not source.lower().endswith(".gz"):
        return file
    try:
        return io.BytesIO(gzip.decompress(file.read()))
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise TableError(f"{source} cannot be unpacked: {error}.") from error


def _table(rows: Rows, decimal: Decimal) -> Table:
    return _csv_table(rows, decimal) if isinstance(rows, CsvRows) else _json_table(rows, decimal)


def _csv_table(rows: CsvRows, decimal: Decimal) -> Table:
    cells, lines = [], array("q")
    for each in rows:
        cells.append(each)
        lines.append(rows.line)
    del cells[rows.last_filled :], lines[rows.last_filled :]  # empty lines at the end of a file of one column
    columns: Sequence[Sequence[str]] = list(zip(*cells, strict=True)) or [() for _ in rows.names]
    return Table(dict(zip(rows.names, columns, strict=True)), source=rows.source, lines=lines, decimal=decimal)


def _json_table(rows: JsonRows, decimal: Decimal) -> Table:
    objects, lines = [], array("q")
    for each in rows:
        objects.append(each)
        lines.append(rows.line)
    if not objects:
        raise TableError(f"{rows.source} is empty; one JSON object a line was expected.")
    names = list(dict.fromkeys(name for each in objects for name in each))
    columns = {name: [each.get(name) for each in objects] for name in names}
    return Table(columns, source=rows.source, lines=lines, decimal=decimal)


def _parquet(source: str) -> Table:
    try:
        import pyarrow  # noqa: PLC0415  (optional, and slow to import)
        import pyarrow.parquet  # noqa: PLC0415
    except ImportError as missing:
        raise MissingExtraError(
            f"{source} needs pyarrow; install it with: pip install 'adabypass[parquet]'"
        ) from missing
    try:
        check_names(pyarrow.parquet.read_schema(source).names, source)  # read_table gives equal names a puzzling error
        frame = pyarrow.parquet.read_table(source)
    except pyarrow.ArrowException as error:
        raise TableError(f"{source} is not a Parquet file: {error}") from error
    return from_frame(frame, source=source)
