"""Columns into files: CSV, TSV, JSON lines and Parquet, by the file's ending."""

import csv
import gzip
import io
import json
import os
import sys
from collections.abc import Mapping
from typing import Any

import numpy as np

from adabypass.data.cells import is_missing
from adabypass.data.frames import portable
from adabypass.data.reading import ending
from adabypass.data.table import Column, check_names
from adabypass.data.zones import ZonedTimes
from adabypass.errors import MissingExtraError, NotFiniteError, ShapeError, TableError
from adabypass.files import replace_file


def write_table(columns: Mapping[str, Column], path: str | os.PathLike[str]) -> None:
    """Write columns to a file of the kind given by its ending, or as CSV to standard output if the path is "-".

    Numbers are written so that reading gives them back to the last bit; nan and NaT become empty cells. Times with a
    zone are written with their offset from UTC, in Parquet with the zone. Text is written as it is, also where it
    begins with =, +, - or @, which a spreadsheet program may take for a formula: a guard such as a leading apostrophe
    would change the data, so that an id would not be found again. Import files from sources you do not trust into a
    spreadsheet as text.

    The file is written beside its place under another name and moved there when it is complete: a failed write leaves
    an older file as it was. A symbolic link stays one, and a replaced file keeps its permissions.
    """
    target = os.fspath(path)
    kind = ".csv" if target == "-" else ending(target)
    named: dict[str, Column] = {
        str(name): column if isinstance(column, ZonedTimes) else np.asarray(column) for name, column in columns.items()
    }
    _check(named)
    content = _parquet(named) if kind == ".parquet" else _encoded(_text(named, kind))
    if target == "-":
        _print(content)
    else:
        replace_file(gzip.compress(content, mtime=0) if target.lower().endswith(".gz") else content, target)


def _check(columns: Mapping[str, Column]) -> None:
    check_names(list(columns), "")
    shapes = {
        name: (len(column),) if isinstance(column, ZonedTimes) else column.shape for name, column in columns.items()
    }
    if len(set(shapes.values())) > 1 or len(next(iter(shapes.values()))) != 1:
        raise ShapeError(f"the columns have shapes {shapes}, but must be vectors of one length.")
    for name, column in columns.items():
        if isinstance(column, np.ndarray) and column.dtype.kind == "f" and np.isinf(column).any():
            at = int(np.flatnonzero(np.isinf(column))[0])
            raise NotFiniteError(
                f'row {at + 1}, column "{name}" is {column[at]}, but must be finite, or nan if missing.'
            )


def _cells(column: Column) -> list[Any]:
    """Return what a text file can hold: None for a missing value, ISO 8601 for times."""
    if isinstance(column, ZonedTimes) or column.dtype.kind == "M":
        stamps = column.text() if isinstance(column, ZonedTimes) else np.datetime_as_string(column).tolist()
        return [None if stamp == "NaT" else stamp for stamp in stamps]
    return [None if is_missing(cell) else cell for cell in column.tolist()]


def _text(columns: Mapping[str, Column], kind: str) -> str:
    rows = zip(*map(_cells, columns.values()), strict=True)
    if kind in (".jsonl", ".ndjson"):
        objects = (dict(zip(columns, row, strict=True)) for row in rows)
        return "".join(json.dumps(each, ensure_ascii=False, default=str) + "\n" for each in objects)
    out = io.StringIO(newline="")
    table = [list(columns), *rows]
    # The csv module leaves a carriage return unquoted, though it ends a line.
    odd = any("\r" in cell for row in table for cell in row if isinstance(cell, str))
    writer = csv.writer(
        out,
        delimiter="\t" if kind == ".tsv" else ",",
        lineterminator="\n",
        quoting=csv.QUOTE_ALL if odd else csv.QUOTE_MINIMAL,
    )
    writer.writerows(table)
    return out.getvalue()


def _encoded(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise TableError(
            f"the text {text[max(error.start - 10, 0) : error.end + 10]!r} holds half of a surrogate pair, which no "
            "file of text can hold; correct it."
        ) from None


def _parquet(columns: Mapping[str, Column]) -> bytes:
    try:
        import pyarrow  # noqa: PLC0415  (optional, and slow to import)
        import pyarrow.parquet  # noqa: PLC0415
    except ImportError as missing:
        raise MissingExtraError("Parquet needs pyarrow; install it with: pip install 'adabypass[parquet]'") from missing
    arrays = {}
    for name, column in columns.items():
        try:
            array = pyarrow.array(portable(column), from_pandas=True)
        except (pyarrow.ArrowException, TypeError, OverflowError) as error:
            raise TableError(f'column "{name}" cannot be written to Parquet: {error}') from error
        if isinstance(column, ZonedTimes) and not column.as_text:
            array = array.cast(pyarrow.timestamp(array.type.unit, tz=column.zone or "UTC"))
        arrays[name] = array
    out = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.table(arrays), out)
    return out.getvalue()


def _print(content: bytes) -> None:
    """Write to standard output in UTF-8, whatever encoding the terminal was given."""
    if sys.stdout is None:
        raise OSError("standard output is closed, so nothing can be written to it")
    sys.stdout.flush()
    if hasattr(sys.stdout, "buffer"):
        sys.stdout.buffer.write(content)
    else:
        sys.stdout.write(content.decode())
    sys.stdout.flush()
