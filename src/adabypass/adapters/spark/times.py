"""Times of a stream as whole numbers, and back: exact in every zone, where local times occur twice a year."""

from typing import Any, NamedTuple

import numpy as np
from pyspark.sql import DataFrame
from pyspark.sql.functions import expr
from pyspark.sql.types import ByteType, DateType, IntegerType, LongType, ShortType, TimestampNTZType, TimestampType

from adabypass.data.freq import Freq, as_freq
from adabypass.data.grid import regular_grid
from adabypass.data.periods import periods_of
from adabypass.errors import ParameterError

_WHOLE = (ByteType, ShortType, IntegerType, LongType)
_EPOCH = "timestamp_ntz'1970-01-01'"
MONTH = np.timedelta64(2_629_746, "s")
"""A month on average: whole numbers of months, rounded, are right in every year."""


class TimeColumn(NamedTuple):
    """The type of a column of times."""

    kind: Any
    """Of Spark."""

    @classmethod
    def of(cls, df: DataFrame, name: str) -> "TimeColumn":
        """Return the type of a column; refuse one that does not hold times."""
        kind = df.schema[name].dataType
        if not isinstance(kind, (DateType, TimestampType, TimestampNTZType, *_WHOLE)):
            raise ParameterError(
                f'the column "{name}" is of type {kind.simpleString()}, but times of a stream must be dates, '
                "timestamps or whole numbers; cast it."
            )
        return cls(kind)

    def as_number(self, name: str) -> Any:
        """Return an expression for the times as whole numbers: days of dates, microseconds of timestamps."""
        column = f"`{name}`"
        if isinstance(self.kind, DateType):
            return expr(f"cast(unix_date({column}) AS bigint)")
        if isinstance(self.kind, TimestampType):
            return expr(f"unix_micros({column})")
        if isinstance(self.kind, TimestampNTZType):
            return expr(f"timestampdiff(MICROSECOND, {_EPOCH}, {column})")
        return expr(f"cast({column} AS bigint)")

    def restored(self, name: str) -> Any:
        """Return an expression for the times of those numbers."""
        column = f"`{name}`"
        if isinstance(self.kind, DateType):
            return expr(f"date_from_unix_date(cast({column} AS int))")
        if isinstance(self.kind, TimestampType):
            return expr(f"timestamp_micros({column})")
        if isinstance(self.kind, TimestampNTZType):
            return expr(f"timestampadd(MICROSECOND, {column}, {_EPOCH})")
        return expr(f"cast({column} AS {self.kind.simpleString()})")

    def span(self, freq: Freq) -> float:
        """Return a frequency in the unit of the numbers."""
        given = as_freq(freq, dates=self._is_dated)
        if not self._is_dated:
            return float(given)
        if np.datetime_data(given.dtype)[0] in "YM":
            given = int(given / np.timedelta64(1, "M")) * MONTH
        return float(given / np.timedelta64(1, "D" if isinstance(self.kind, DateType) else "us"))

    def periods(self, freq: Freq) -> tuple[float, ...] | None:
        """Return the periods of a series with such a time between observations; None of numbers."""
        if not self._is_dated:
            return None
        return periods_of(regular_grid(np.array(["2000-01-01"], "M8[us]"), freq).frequency)

    @property
    def _is_dated(self) -> bool:
        return not isinstance(self.kind, _WHOLE)
