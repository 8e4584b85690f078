"""Columns of numbers and times from files and data frames and back, and regular grids of times.

    table = read_table("data.csv")          # or .csv.gz, .tsv, .jsonl, .ndjson, .parquet, or "-" for standard input
    table = from_frame(frame)               # pandas, polars, pyarrow, or a dict of arrays
    table.numbers("y"), table.times("date"), table.text("id")
    write_table({"date": date, "mean": mean}, "out.csv")
    grid = regular_grid(table.times("date"))

Errors name rows as a person counts them below the header: the first row of data is row 1. Where the line of the file
is another number, the line is named as well.

A model that steps from one observation to the next needs steps of one length. So times lie on a grid, whose frequency
is given or is the most common difference; grid times without an observation are missing; an observation off the grid
is an error that names it, never moved in silence by more than a hundredth of a step.
"""

from adabypass.data.calendar import calendar_features
from adabypass.data.cells import Array
from adabypass.data.grid import Grid, following_times, regular_grid
from adabypass.data.reading import read_table
from adabypass.data.table import Column, Table, from_frame, no_such_column
from adabypass.data.times import check_increasing
from adabypass.data.writing import write_table
from adabypass.data.zones import ZonedTimes

__all__ = [
    "Array",
    "Column",
    "Grid",
    "Table",
    "ZonedTimes",
    "calendar_features",
    "check_increasing",
    "following_times",
    "from_frame",
    "no_such_column",
    "read_table",
    "regular_grid",
    "write_table",
]
