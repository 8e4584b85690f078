"""Formats of saved models: which of them can be read, and how an older one becomes the newest."""

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from adabypass.errors import StateError
from adabypass.snapshots.container import Snapshot

FORMAT = 12
"""Number of the format; it grows when a row's layout or meaning changes, or the header does."""
OLDEST_FORMAT = 12
"""The oldest that can be read. Formats 1 to 11 were of versions before the first release."""
UPGRADES: Mapping[int, Callable[[Snapshot], Snapshot]] = {}
"""For each older format, the function that makes a snapshot of the next one of it."""


def upgraded(snapshot: Snapshot) -> Snapshot:
    """Return a snapshot in the newest format; refuse one that is too old, or newer than this version of the library."""
    number, name = snapshot.header.get("format"), snapshot.name
    if not isinstance(number, int) or isinstance(number, bool):
        raise StateError(f"{name} does not say in which format it is: it is not a saved model of adabypass.")
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


def heading(kind: str) -> dict[str, Any]:
    """Return what every header begins with."""
    return {"format": FORMAT, "version": library_version(), "kind": kind}


@cache
def library_version() -> str:
    """Return the version of the library."""
    from importlib.metadata import version  # noqa: PLC0415  (rarely asked for, and not free)

    return version("adabypass")
