"""Which columns of a table mean what."""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from adabypass.data import Table
from adabypass.data.holidays import PREFIX
from adabypass.errors import ParameterError
from adabypass.state.series import Missing
from adabypass.validation import as_tuple, shown

TIME, ID, TARGET = "ds", "unique_id", "y"
"""Names of the columns of a long frame, unless others are given."""


class Columns(NamedTuple):
    """The names of a table's columns, by what they hold."""

    target: str = TARGET
    time: str | None = None
    """None: `ds` if there is such a column, otherwise an index of dates; otherwise the order of the rows."""
    id: str | None = None
    """None: `unique_id` if there is such a column; otherwise the table holds one series."""
    exog: tuple[str, ...] = ()
    calendar: tuple[str, ...] = ()
    """Cycles to learn: "day", "week", "year"; "holidays:DE" for public holidays."""
    freq: Any = None
    """Time between two observations; None: the most common difference."""
    missing: Missing | None = None
    """What becomes of a missing exogenous value; None: rows that are absent have those of the row before."""

    @property
    def cycles(self) -> tuple[str, ...]:
        """What recurs in the calendar, holidays left out."""
        return tuple(each for each in self.calendar if not each.startswith(PREFIX))

    @property
    def holidays(self) -> tuple[str, ...]:
        """The public holidays of the calendar."""
        return tuple(each for each in self.calendar if each.startswith(PREFIX))

    def found_in(self, table: Table) -> "Columns":
        """Return the columns with those of time and id filled in by their usual names, if the table has them."""
        self._check_text()
        time = self.time
        if time is None:
            time = TIME if TIME in table else table.time_index
        key = ID if self.id is None and ID in table else self.id
        found = self._replace(time=time, id=key)
        if self.calendar and time is None:
            raise ParameterError("calendar needs a column of times; say which one it is.")
        found._check_distinct()
        return found

    def check_against(self, names: Iterable[str]) -> None:
        """Check that the columns of id and time are not named as a column of the forecasts, `names`, is."""
        taken = {*names} | ({"step"} if self.time is None else set())
        for role, name in (("id", self.id), ("time", self.time)):
            if name in taken:
                raise ParameterError(
                    f'the column of {role}s is named "{name}", which is also a column of the forecasts; rename it, for '
                    f'example to "{TIME if role == "time" else ID}".'
                )

    def _check_text(self) -> None:
        """Check that names are text, as the names in a table are."""
        for role, name in [("target", self.target), ("time", self.time), ("id", self.id)]:
            if not isinstance(name, str) and (name is not None or role == "target"):
                raise ParameterError(
                    f'{role} is {shown(name)}, but must be the name of a column, as text: "{TARGET}", say.'
                )

    def _check_distinct(self) -> None:
        """Check that no column has two meanings; times may also be an exogenous column, for a trend."""
        meaning: dict[str, str] = {}
        for role, name in [("target", self.target), ("time", self.time), ("id", self.id)]:
            if name is not None and meaning.setdefault(name, role) != role:
                raise ParameterError(
                    f'"{name}" is named as {meaning[name]} and as {role}; each needs a column of its own.'
                )
        for name in self.exog:
            if name == self.target or self.exog.count(name) > 1:
                again = "as target and as exog" if name == self.target else "twice as exog"
                raise ParameterError(f'"{name}" is named {again}; leave it out of exog.')


def as_names(given: str | Sequence[str], name: str) -> tuple[str, ...]:
    """Return names of columns as a tuple; a single name is a tuple of one."""
    names = (given,) if isinstance(given, str) else as_tuple(given)
    if names is None or not all(isinstance(each, str) for each in names):
        raise ParameterError(f"{name} is {shown(given)}, but must be a list of names.")
    return names
