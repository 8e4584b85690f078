"""Validation of the values of a header: each has the type and the range that its reader expects."""

from typing import Any, NoReturn

from adabypass.errors import StateError
from adabypass.validation import shown


class Header:
    """The values of a header, each checked as it is read.

    Parameters
    ----------
    values
        The parsed header.
    name : str
        Name of the file in error messages.
    """

    def __init__(self, values: object, name: str) -> None:
        self.name = name
        if not isinstance(values, dict):
            self.refuse(f"it holds {shown(values)} in place of named values")
        self._values = values

    def refuse(self, what: str) -> NoReturn:
        """Raise the error for a header that cannot be used."""
        raise StateError(f"{self.name} cannot be loaded: {what}.")

    def value(self, key: str) -> Any:
        """Return a value of any type."""
        if key not in self._values:
            self.refuse(f'its header has no "{key}"')
        return self._values[key]

    def part(self, key: str) -> "Header":
        """Return a nested header."""
        return Header(self.value(key), self.name)

    def named(self, key: str) -> dict[str, Any]:
        """Return a dictionary of values by name."""
        value = self.value(key)
        if not isinstance(value, dict) or not all(isinstance(name, str) for name in value):
            self._refuse(key, value, "named values")
        return value

    def named_values(self) -> dict[str, Any]:
        """Return all values by name."""
        return dict(self._values)

    def text(self, key: str) -> str:
        """Return a text."""
        value = self.value(key)
        if not isinstance(value, str):
            self._refuse(key, value, "text")
        return value

    def flag(self, key: str) -> bool:
        """Return a boolean."""
        value = self.value(key)
        if not isinstance(value, bool):
            self._refuse(key, value, "true or false")
        return value

    def whole(self, key: str, *, minimum: int = 0, maximum: int) -> int:
        """Return a whole number."""
        value = self.value(key)
        if type(value) is not int or not minimum <= value <= maximum:
            self._refuse(key, value, f"a whole number from {minimum} to {maximum}")
        return value

    def whole_or_none(self, key: str, *, minimum: int = 0, maximum: int) -> int | None:
        """Return a whole number or None."""
        return None if self.value(key) is None else self.whole(key, minimum=minimum, maximum=maximum)

    def wholes(self, key: str, *, minimum: int = 0, maximum: int) -> list[int]:
        """Return a list of whole numbers."""
        value = self.value(key)
        if not isinstance(value, list) or not all(type(each) is int and minimum <= each <= maximum for each in value):
            self._refuse(key, value, f"a list of whole numbers from {minimum} to {maximum}")
        return value

    def texts_or_none(self, key: str) -> list[str] | None:
        """Return a list of texts, or None."""
        value = self.value(key)
        if value is not None and not (isinstance(value, list) and all(isinstance(each, str) for each in value)):
            self._refuse(key, value, "a list of names")
        names: list[str] | None = value
        return names

    def _refuse(self, key: str, value: object, expected: str) -> NoReturn:
        self.refuse(f'its "{key}" is {shown(value)}, but must be {expected}')
