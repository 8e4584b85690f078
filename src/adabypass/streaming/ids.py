"""Ids of series: any JSON value in the input, text within a stream, and what a panel calls it."""

import json
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from adabypass.errors import ParameterError, StateError, UnknownNameError
from adabypass.validation import shown


def key_of(id: Any) -> str:
    """Return the id of a series as JSON, so that 1 and "1" are different; a tuple or list has several parts."""
    if id is None:
        return ""
    parts = [_plain(each) for each in id] if isinstance(id, tuple | list) else _plain(id)
    return json.dumps(parts)


def id_of(key: str) -> Any:
    """Return the id of a series of its JSON; None where there is but one series, a tuple where it has several parts."""
    try:
        found = json.loads(key) if key else None
    except (ValueError, RecursionError):
        raise StateError(f"{shown(key)} is the id of a series, but not JSON.") from None
    return tuple(found) if isinstance(found, list) else found


def find_key(text: str, has: Callable[[str], bool], keys: Iterable[str]) -> str:
    """Return the key of a series whose id was written as text: 17 is "17" or 17, and eu,web has two parts.

    Parameters
    ----------
    has : function
        Whether there is a series of a key.
    keys : iterable
        The keys of all series, which are looked through if need be.
    """
    if has(key_of(text)):
        return key_of(text)
    for key in keys:
        found = id_of(key)
        if text == (",".join(map(str, found)) if isinstance(found, tuple) else str(found)):
            return key
    raise UnknownNameError(f"there is no series {shown(text)}.")


def panel_id(key: str) -> str | int:
    """Return what a panel calls a series: ids of several parts are joined by a slash."""
    found = id_of(key)
    if found is None:
        return ""
    if isinstance(found, tuple):
        return "/".join(map(str, found))
    return found if type(found) in (str, int) else key


def _plain(part: Any) -> str | int | float:
    value = part.item() if isinstance(part, np.generic) else part
    if not isinstance(value, str | int | float):
        raise ParameterError(f"an id is {shown(part)}, but must be text or a number.")
    return value
