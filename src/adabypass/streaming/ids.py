"""Ids of series: any JSON value in the input, text within a stream, and what a panel calls it."""

import json
import re
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from adabypass.errors import ParameterError, StateError, UnknownNameError
from adabypass.validation import shown

SEPARATOR = "/"
"""Between the parts of an id that is written as text."""


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
    """Return the key of the series whose id was written as text, as `panel_id` writes it.

    17 is "17" or 17; where nothing else is meant by it, so is a part of an id: eu/17.

    Parameters
    ----------
    has : function
        Whether there is a series of a key.
    keys : iterable
        The keys of all series, which are looked through if need be.
    """
    for key in (key_of(text), *_compound_keys(text)):
        if has(key):
            return key
    alike: list[str] = []
    for key in keys:
        if str(panel_id(key)) == text:
            return key
        found = id_of(key)
        alike += [key] if SEPARATOR.join(map(str, found if isinstance(found, tuple) else (found,))) == text else []
    if len(alike) != 1:
        names = " and ".join(str(panel_id(key)) for key in alike[:2])
        raise UnknownNameError(f"{shown(text)} may be {names}; write one of them." if alike else
                               f"there is no series {shown(text)}.")  # fmt: skip
    return alike[0]


def panel_id(key: str) -> str | int:
    """Return what a panel, a table and --id call a series: the parts of its id, with slashes between them.

    A part is written as JSON where it would be taken for another one: a text with a slash or a quote, and one that
    looks like a number. So ("eu", 17) is eu/17, ("eu", "17") is eu/"17", and ("a/b", "c") is "a/b"/c.
    """
    found = id_of(key)
    if found is None:
        return ""
    if isinstance(found, tuple):
        return SEPARATOR.join(map(_part_text, found))
    return found if type(found) in (str, int) else key


def _part_text(part: Any) -> str:
    is_plain = isinstance(part, str) and part and part.isprintable() and not set(part) & set(f'{SEPARATOR}"')
    return str(part) if is_plain and not _is_json(part) else json.dumps(part, ensure_ascii=False)


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _compound_keys(text: str) -> list[str]:
    """Return the key of an id of several parts that `panel_id` would write as this text, if there is one."""
    parts = re.findall(rf'(?:^|{SEPARATOR})((?:"(?:[^"\\]|\\.)*"|[^{SEPARATOR}"])*)', text)
    if len(parts) < 2:
        return []
    values = [json.loads(part) if _is_json(part) else part for part in parts]
    key = json.dumps(values)
    return [key] if panel_id(key) == text else []


def _plain(part: Any) -> str | int | float:
    value = part.item() if isinstance(part, np.generic) else part
    if not isinstance(value, str | int | float):
        raise ParameterError(f"an id is {shown(part)}, but must be text or a number.")
    return value
