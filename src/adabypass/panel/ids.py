"""The ids of a panel's series, and which row each has."""

import os
import threading
import weakref
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from adabypass.errors import ConcurrentUseError, ParameterError, UnknownNameError
from adabypass.panel.results import Id
from adabypass.validation import shown


def check_ids(ids: Any) -> list[Id]:
    """Return ids as a list of text and whole numbers; a single one is a list of one."""
    if isinstance(ids, str | int | np.integer | np.str_):
        ids = [ids]
    if hasattr(ids, "to_numpy"):
        ids = ids.to_numpy()
    try:
        found = ids.tolist() if isinstance(ids, np.ndarray) else list(ids)
    except TypeError:
        found = None
    if not isinstance(found, list):
        raise ParameterError(f"ids are {shown(ids)}, but must be a list of ids: text, or whole numbers.")
    kinds = set(map(type, found))
    if kinds <= {str, int}:
        return found
    return [_check_id(each) for each in found]


def _check_id(value: Any) -> Id:
    if isinstance(value, str):
        return str(value)
    if isinstance(value, int | np.integer) and not isinstance(value, bool):
        return int(value)
    raise ParameterError(f"an id is {shown(value)}, but must be text or a whole number.")


def check_distinct(ids: list[Id]) -> list[Id]:
    """Check that no id comes twice."""
    if len(set(ids)) < len(ids):
        seen: set[Id] = set()
        twice = next(each for each in ids if each in seen or seen.add(each))  # type: ignore[func-returns-value]
        raise ParameterError(f"the id {shown(twice)} comes twice; every series has one id of its own.")
    return ids


def find(index: dict[Id, int], ids: Iterable[Id]) -> "np.ndarray[Any, np.dtype[np.intp]]":
    """Return the rows of series; refuse an id that the panel does not have."""
    try:
        return np.array([index[each] for each in ids], dtype=np.intp)
    except KeyError as error:
        raise UnknownNameError(f"the panel has no series {shown(error.args[0])}; update or run it first.") from None


class Exclusive:
    """A lock that a second call waits for; a call from within the first one is refused, since it would wait forever.

    A forked process has a lock of its own. If another thread held it at the fork, nobody will release it there, and
    what it guards is half changed: every call is refused.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._owner: int | None = None
        self._is_torn = False
        _EVERY.add(self)

    @contextmanager
    def __call__(self) -> Iterator[None]:
        me, process = threading.get_ident(), os.getpid()
        if self._is_torn:
            raise ConcurrentUseError(
                "this process was forked while the panel was at work in threads, which are not in this process, so "
                "that its copy of the panel is not whole; fork before or after, or save the panel and load it here."
            )
        if self._owner == me:
            raise ConcurrentUseError("this panel is at work, and this call came from within it; wait until it returns.")
        with self._lock:
            self._owner = me
            try:
                yield
            except BaseException:
                self._is_torn |= os.getpid() != process  # forked from within, and then stopped half way
                raise
            finally:
                self._owner = None

    def _after_fork(self) -> None:
        if self._lock.locked() and self._owner != threading.get_ident():
            self._lock, self._owner, self._is_torn = threading.Lock(), None, True


_EVERY: "weakref.WeakSet[Exclusive]" = weakref.WeakSet()


def _after_fork() -> None:
    for each in list(_EVERY):
        each._after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
