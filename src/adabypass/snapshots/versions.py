"""Formats of saved models: which can be read, and how older ones are upgraded."""

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from adabypass.errors import StateError
from adabypass.snapshots.container import Snapshot

FORMAT = 14
"""Number of the current format. It is raised when the layout or the meaning of a row or a header changes."""
OLDEST_FORMAT = 14
"""Oldest format that can be read. Formats 1 to 12 belong to versions before the first release."""
UPGRADES: Mapping[int, Callable[[Snapshot], Snapshot]] = {}
"""Function that upgrades a snapshot to the next format, for each older format."""


def upgrade(snapshot: Snapshot) -> Snapshot:
    """Upgrade a snapshot to the newest format; reject one that is too old, or newer than this version."""
    number, name = snapshot.header.get("format"), snapshot.name
    if not isinstance(number, int) or isinstance(number, bool):
        raise StateError(f"{name} has no format number in its header, so it is not a saved model of adabypass.")
    if number > FORMAT:
        by = snapshot.header.get("version")
        raise StateError(
            f"{name} is in format {number}{f', of adabypass {by[:20]}' if isinstance(by, str) else ''}, but this "
            f"version, {library_version()}, reads formats up to {FORMAT}; install a newer version of adabypass."
        )
    if number < OLDEST_FORMAT:
        raise StateError(
            f"{name} is in format {number}, but this version, {library_version()}, reads formats from {OLDEST_FORMAT} "
            "on; train the model anew."
        )
    for each in range(number, FORMAT):
        snapshot = UPGRADES[each](snapshot)
    return snapshot


def base_header(kind: str) -> dict[str, Any]:
    """Return the entries that every header begins with: format, version and kind."""
    return {"format": FORMAT, "version": library_version(), "kind": kind}


@cache
def library_version() -> str:
    """Return the version of the library."""
    from importlib.metadata import version  # noqa: PLC0415  (rarely needed, and slow to import)

    return version("adabypass")
