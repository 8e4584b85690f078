"""Columns of Spark's tables: which mean what, and what is made of them."""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from pyspark.sql import DataFrame
from pyspark.sql.types import DoubleType, LongType, StructField

from adabypass.errors import ParameterError, UnknownNameError
from adabypass.panel.columns import Columns, as_names

Names = str | Sequence[str]


class GroupColumns(NamedTuple):
    """The names of a table's columns, by what they hold."""

    by: tuple[str, ...]
    time: str
    target: str
    exog: tuple[str, ...]

    @classmethod
    def checked(cls, df: DataFrame, by: Names, time: str, target: str, exog: Names) -> "GroupColumns":
        """Return the names, each of which the table has, and none of which has two meanings."""
        if not hasattr(df, "sparkSession"):
            raise ParameterError(
                f"df is of type {type(df).__name__}, but must be a DataFrame of Spark; adabypass.forecast takes those "
                "of pandas, polars and pyarrow."
            )
        found = cls(as_names(by, "by"), time, target, as_names(exog, "exog"))
        if not found.by:
            raise ParameterError("by is empty, but must name the columns that say to which series a row belongs.")
        for name in found.names:
            if name not in df.columns:
                known = ", ".join(df.columns)
                raise UnknownNameError(f'there is no column "{name}"; the table has {known}.')
        for key in found.by:
            if found.names.count(key) > 1:
                raise ParameterError(f'"{key}" is named twice among by, time, target and exog; name it once.')
        Columns(target, time, None, found.exog)._check_distinct()
        return found

    @property
    def names(self) -> list[str]:
        """All columns that are used."""
        return [*self.by, self.time, self.target, *(name for name in self.exog if name != self.time)]

    @property
    def of_a_series(self) -> list[str]:
        """The columns of one series: all but those of its key."""
        return self.names[len(self.by) :]

    @staticmethod
    def check_passed(passed: Sequence[str], names: Sequence[str]) -> None:
        """Check that no column that is passed through is named as another one of the answer, `names`, is."""
        for name in passed:
            if name in names:
                raise ParameterError(
                    f'the column "{name}" is named as a column of the answer is; rename it before: '
                    f'df.withColumnRenamed("{name}", "{name}_")'
                )

    def fields(self, df: DataFrame, names: Iterable[str]) -> list[Any]:
        """Return the columns of the table with their types, to be passed through; any of them may be missing."""
        return [StructField(name, df.schema[name].dataType, nullable=True) for name in names]


def doubles(names: Iterable[str]) -> list[Any]:
    """Return fields of numbers."""
    return [StructField(name, DoubleType(), nullable=True) for name in names]


def wholes(names: Iterable[str]) -> list[Any]:
    """Return fields of whole numbers."""
    return [StructField(name, LongType(), nullable=True) for name in names]
