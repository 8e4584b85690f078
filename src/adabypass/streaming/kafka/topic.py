"""Addresses of topics."""

import re
from typing import NamedTuple

from adabypass.errors import ParameterError

NAME = re.compile(r"[A-Za-z0-9._-]{1,249}")
ADDRESS = re.compile(rf"kafka://([^/\s]+)/({NAME.pattern})")


class Topic(NamedTuple):
    """Where a topic is."""

    servers: str
    """Addresses of brokers, with commas between them."""
    name: str

    @classmethod
    def parse(cls, address: str) -> "Topic":
        """Return the topic of an address such as kafka://broker1:9092,broker2:9092/name."""
        found = ADDRESS.fullmatch(address)
        if found is None:
            raise ParameterError(
                f"{address!r} is not the address of a topic; write kafka://host:9092/topic, where the topic's name "
                "consists of letters, digits, dots, dashes and underscores."
            )
        return cls(*found.groups())

    def __str__(self) -> str:
        return f"kafka://{self.servers}/{self.name}"
