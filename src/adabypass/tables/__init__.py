"""Columns of numbers and times from files and data frames and back.

    table = tables.read("data.csv")         # or .csv.gz, .tsv, .jsonl, .ndjson, .parquet, or "-" for standard input
    table = tables.from_frame(frame)        # pandas, polars, pyarrow, or a dict of arrays
    table.numbers("y"), table.times("date"), table.text("id")
    tables.write({"date": date, "mean": mean}, "out.csv")

Errors name rows as a person counts them below the header: the first row of data is row 1. Where the line of the file
is another number, the line is named as well.
"""

from adabypass.tables.cells import Array
from adabypass.tables.reading import read
from adabypass.tables.table import Column, Table, from_frame, no_such_column
from adabypass.tables.times import check_increasing
from adabypass.tables.writing import write
from adabypass.tables.zones import ZonedTimes

__all__ = [
    "Array",
    "Column",
    "Table",
    "ZonedTimes",
    "check_increasing",
    "from_frame",
    "no_such_column",
    "read",
    "write",
]
