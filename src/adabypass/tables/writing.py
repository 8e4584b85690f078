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

from adabypass.errors import MissingExtraError, NotFiniteError, ShapeError
from adabypass.tables.cells import Array, is_missing
from adabypass.tables.files import replace_file
from adabypass.tables.frames import portable
from adabypass.tables.reading import ending
from adabypass.tables.table import check_names


def write(columns: Mapping[str, Array], path: str | os.PathLike[str]) -> None:
    """Write columns to a file of the kind told by its ending, or as CSV to standard output if the path is "-".

    Numbers are written so that reading gives them back to the last bit; nan and NaT become empty cells. The file
    appears when it is complete: nothing half-written is left behind, and an older file stays until then.
    """
    target = os.fspath(path)
    kind = ".csv" if target == "-" else ending(target)
    arrays = {str(name): np.asarray(column) for name, column in columns.items()}
    _check(arrays)
    content = _parquet(arrays) if kind == ".parquet" else _text(arrays, kind).encode()
    if target == "-":
        sys.stdout.write(content.decode())
        sys.stdout.flush()
    else:
        replace_file(gzip.compress(content, mtime=0) if target.lower().endswith(".gz") else content, target)


def _check(arrays: Mapping[str, Array]) -> None:
    check_names(list(arrays), "")
    shapes = {name: array.shape for name, array in arrays.items()}
    if len(set(shapes.values())) > 1 or len(next(iter(shapes.values()))) != 1:
        raise ShapeError(f"the columns have shapes {shapes}, but must be vectors of one length.")
    for name, array in arrays.items():
        if array.dtype.kind == "f" and np.isinf(array).any():
            at = int(np.flatnonzero(np.isinf(array))[0])
            raise NotFiniteError(
                f'row {at + 1}, column "{name}" is {array[at]}, but must be finite, or nan if missing.'
            )


def _cells(array: Array) -> list[Any]:
    """Make what a text file can hold: None for a missing value, ISO 8601 for times."""
    if array.dtype.kind == "M":
        return [None if stamp == "NaT" else stamp for stamp in np.datetime_as_string(array).tolist()]
    return [None if is_missing(cell) else cell for cell in array.tolist()]


def _text(arrays: Mapping[str, Array], kind: str) -> str:
    rows = zip(*map(_cells, arrays.values()), strict=True)
    if kind in (".jsonl", ".ndjson"):
        return "".join(json.dumps(dict(zip(arrays, row, strict=True)), ensure_ascii=False) + "\n" for row in rows)
    out = io.StringIO(newline="")
    table = [list(arrays), *rows]
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


def _parquet(arrays: Mapping[str, Array]) -> bytes:
    try:
        import pyarrow  # noqa: PLC0415  (optional, and slow to import)
        import pyarrow.parquet  # noqa: PLC0415
    except ImportError as missing:
        raise MissingExtraError("Parquet needs pyarrow; install it with: pip install 'adabypass[parquet]'") from missing
    out = io.BytesIO()
    table = pyarrow.table({name: pyarrow.array(portable(array), from_pandas=True) for name, array in arrays.items()})
    pyarrow.parquet.write_table(table, out)
    return out.getvalue()
