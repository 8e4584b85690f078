"""Read-only mappings."""

from collections.abc import Iterator, Mapping
from typing import TypeVar

from adabypass.errors import ParameterError
from adabypass.validation import shown

Value = TypeVar("Value")


class ReadOnly(Mapping[str, Value]):
    """A read-only mapping of names to values that, unlike `types.MappingProxyType`, can be copied and pickled."""

    __slots__ = ("_values",)

    def __init__(self, values: Mapping[str, Value]) -> None:
        if not isinstance(values, Mapping):
            raise ParameterError(f"values is {shown(values)}, but must be a dict with names as keys.")
        self._values = dict(values)

    def __getitem__(self, name: str) -> Value:
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        return repr(self._values)
