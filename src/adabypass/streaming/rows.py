"""Rows of a stream: what a record of the input says, as values."""

from typing import NamedTuple


class Row(NamedTuple):
    """A row that a stream learns."""

    number: int
    """The number of its record in the input, from 1; or the position of its message in a topic."""
    key: str
    """The id of its series as JSON; "" if there is only one series."""
    time: str
    """Its time as JSON; "" if records have no time."""
    y: float
    """The observation; nan if it is missing."""
    exog: list[float] | None
    """Exogenous values, if there are any."""
