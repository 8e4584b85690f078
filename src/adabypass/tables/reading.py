"""Tables out of files: CSV, TSV, JSON lines and Parquet, by the file's ending."""

import csv
import gzip
import io
import json
import sys
import zlib
from collections.abc import Sequence
from os import PathLike, fspath
from typing import Any

from adabypass.errors import MissingExtraError, TableError
from adabypass.tables.table import Table, check_names, from_frame

ENDINGS = (".csv", ".tsv", ".jsonl", ".ndjson", ".parquet")
"""Each but the last may be followed by .gz."""


def read(path: str | PathLike[str]) -> Table:
    """Read a table from a file, or from standard input if the path is "-".

    The kind of file is told by its ending: .csv or .tsv with a header, .jsonl or .ndjson with one object a line, each
    also followed by .gz, or .parquet, which needs pyarrow. Standard input is JSON lines if it begins with a brace,
    and CSV otherwise. Text is UTF-8.

    Empty lines are skipped, but for a file of one column, where an empty line within the data is an empty cell.
    A key that a line of JSON leaves out is an empty cell.
    """
    source = fspath(path)
    if source == "-":
        return _standard_input()
    kind = ending(source)
    if kind == ".parquet":
        return _parquet(source)
    with open(source, "rb") as file:
        text = _decode(_unpack(file.read(), source), source)
    if kind in (".csv", ".tsv"):
        return _csv(text, source, "\t" if kind == ".tsv" else ",")
    return _json_lines(text, source)


def ending(path: str) -> str:
    """Tell the kind of a file by its ending, in small letters and without .gz."""
    name = path.lower().removesuffix(".gz")
    for known in ENDINGS:
        if name.endswith(known) and not (known == ".parquet" and path.lower().endswith(".gz")):
            return known
    raise TableError(f"{path} must end in one of {', '.join(ENDINGS)}, all but the last also in .gz.")


def _standard_input() -> Table:
    source = "standard input"
    text = _decode(sys.stdin.buffer.read(), source)
    start = text.lstrip()[:1]
    if start == "[":
        raise TableError(f"{source} is a JSON array; write one object a line, or CSV with a header.")
    return _json_lines(text, source) if start == "{" else _csv(text, source, ",")


def _unpack(packed: bytes, source: str) -> bytes:
    if not source.lower().endswith(".gz"):
        return packed
    try:
        return gzip.decompress(packed)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise TableError(f"{source} cannot be unpacked: {error}.") from error


def _decode(content: bytes, source: str) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise TableError(
            f"{source}: line {line} holds the byte 0x{content[error.start]:02x}, which is not UTF-8; "
            "save the file as UTF-8."
        ) from error


def _csv(text: str, source: str, delimiter: str) -> Table:
    rows, lines = _csv_rows(text, source, delimiter)
    while rows and not rows[-1]:
        rows.pop()
    start = next((i for i, row in enumerate(rows) if row), None)
    if start is None:
        raise TableError(f"{source} is empty; a header with the columns' names was expected.")
    names = [name.strip() for name in rows[start]]
    check_names(names, source)
    if len(names) == 1 and ";" in names[0]:
        raise TableError(f'{source}: the header is "{names[0]}"; separate columns with commas, not semicolons.')
    rows, lines = rows[start + 1 :], lines[start + 1 :]
    if not all(rows):
        kept = [(row or [""], line) for row, line in zip(rows, lines, strict=False) if row or len(names) == 1]
        rows, lines = [row for row, _ in kept], [line for _, line in kept]
    _check_widths(rows, lines, len(names), source)
    columns: Sequence[Sequence[str]] = list(zip(*rows, strict=True)) or [() for _ in names]
    return Table(dict(zip(names, columns, strict=True)), source=source, lines=lines)


def _csv_rows(text: str, source: str, delimiter: str) -> tuple[list[list[str]], Sequence[int]]:
    """Read the rows, an empty one for an empty line, and the line on which each ends."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    try:
        rows = list(reader)
    except csv.Error as error:
        raise TableError(f"{source}: line {reader.line_num}: {error}.") from error
    if reader.line_num == len(rows):
        return rows, range(1, len(rows) + 1)
    # Some quoted cell spans lines: read again, noting where each row ends.
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    return rows, [reader.line_num for _ in reader]


def _check_widths(rows: list[list[str]], lines: Sequence[int], width: int, source: str) -> None:
    if set(map(len, rows)) <= {width}:
        return
    at = next(i for i, row in enumerate(rows) if len(row) != width)
    cells = len(rows[at])
    raise TableError(
        f"{source}: row {at + 1} has {cells} cell{'s' * (cells != 1)}, but the header has {width} (line {lines[at]})."
    )


def _json_lines(text: str, source: str) -> Table:
    objects, lines = [], []
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            objects.append(_json_object(line, f"{source}: line {number}"))
            lines.append(number)
    if not objects:
        raise TableError(f"{source} is empty; one JSON object a line was expected.")
    names = list(dict.fromkeys(name for one in objects for name in one))
    columns = {name: [one.get(name) for one in objects] for name in names}
    return Table(columns, source=source, lines=lines)


def _json_object(line: str, where: str) -> dict[str, Any]:
    try:
        found = json.loads(line, object_pairs_hook=_once_each)
    except json.JSONDecodeError as error:
        raise TableError(f"{where} is not JSON: {error}.") from error
    except TableError as error:
        raise TableError(f"{where} {error}") from None
    if not isinstance(found, dict):
        raise TableError(f'{where} is not a JSON object; write each row as in {{"y": 1.5}}.')
    return found


def _once_each(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        twice = next(name for i, (name, _) in enumerate(pairs) if name in dict(pairs[:i]))
        raise TableError(f'has two values for "{twice}"; keep one.')
    return found


def _parquet(source: str) -> Table:
    try:
        import pyarrow  # noqa: PLC0415  (optional, and slow to import)
        import pyarrow.parquet  # noqa: PLC0415
    except ImportError as missing:
        raise MissingExtraError(
            f"{source} needs pyarrow; install it with: pip install 'adabypass[parquet]'"
        ) from missing
    try:
        frame = pyarrow.parquet.read_table(source)
    except pyarrow.ArrowException as error:
        raise TableError(f"{source} is not a Parquet file: {error}") from error
    return from_frame(frame, source=source)
