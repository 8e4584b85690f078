"""Which columns of a table mean what."""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from adabypass.errors import ParameterError
from adabypass.tables import Table

TIME, ID, TARGET = "ds", "unique_id", "y"
"""Names of the columns of a long frame, unless others are given."""


class Columns(NamedTuple):
    """The names of a table's columns, by what they hold."""

    target: str = TARGET
    time: str | None = None
    """None: `ds` if there is such a column; otherwise the rows are in the order of time."""
    id: str | None = None
    """None: `unique_id` if there is such a column; otherwise the table holds one series."""
    exog: tuple[str, ...] = ()
    calendar: tuple[str, ...] = ()
    """Periods whose sine and cosine are features: "day", "week", "year"."""
    freq: Any = None
    """Time between two observations; None: the most common difference."""

    def found_in(self, table: Table) -> "Columns":
        """Return the columns with those of time and id filled in by their usual names, if the table has them."""
        time = TIME if self.time is None and TIME in table else self.time
        key = ID if self.id is None and ID in table else self.id
        if self.calendar and time is None:
            raise ParameterError("calendar needs a column of times; say which one it is.")
        return self._replace(time=time, id=key)


def as_names(given: str | Sequence[str], name: str) -> tuple[str, ...]:
    """Return names of columns as a tuple; a single name is a tuple of one."""
    names = (given,) if isinstance(given, str) else tuple(given) if isinstance(given, Iterable) else (given,)
    if not all(isinstance(each, str) for each in names):
        raise ParameterError(f"{name} is {given!r}, but must be a list of names.")
    return names
