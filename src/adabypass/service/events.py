"""Server-sent events: answers as they are made, to any number of readers, each at its own pace.

Nothing is queued for a reader: it has a place among the answers, and reads on from there whenever there are new ones.
So one that is slow, or was away, takes no memory and does not keep the others waiting.
"""

import asyncio
from bisect import bisect_right
from collections.abc import AsyncIterator, Sequence

from adabypass.service.errors import RefusedError
from adabypass.service.history import History, Kept, dumps

TICK = 0.1
"""Seconds in which answers are collected before readers are told of them."""
HEARTBEAT = 15.0
"""Seconds without answers after which a reader is told that the connection is alive."""
MAX_BATCH = 500
"""Answers in one event."""
MAX_RECENT = 20_000
"""Answers in memory; a reader who is further behind reads those in the file."""


class Events:
    """All readers, and the newest answers.

    Parameters
    ----------
    history : History
    newest : int
        Number of the newest row.
    max_streams : int
        Readers at once.
    """

    def __init__(self, history: History, newest: int, max_streams: int) -> None:
        self._history, self._max_streams = history, max_streams
        self._recent: list[Kept] = []
        self._start = self.newest = newest
        """Number of the last answer that is not in memory, and of the newest one."""
        self._readers: dict[asyncio.Event, frozenset[str] | None] = {}
        self._changed: set[str] = set()
        self._is_due = self.is_closing = False

    @property
    def n_streams(self) -> int:
        """How many readers there are."""
        return len(self._readers)

    def publish(self, answers: Sequence[Kept]) -> None:
        """Add answers; called in the thread of the event loop."""
        self._recent += answers
        self.newest = answers[-1].number
        if len(self._recent) > 2 * MAX_RECENT:
            self._start = self._recent[MAX_RECENT - 1].number
            del self._recent[:MAX_RECENT]
        self._changed.update(each.id for each in answers)
        if not self._is_due:
            self._is_due = True
            asyncio.get_running_loop().call_later(TICK, self._tell)

    def _tell(self) -> None:
        """Wake the readers of series that have new answers."""
        changed, self._changed, self._is_due = self._changed, set(), False
        for reader, ids in self._readers.items():
            if ids is None or not ids.isdisjoint(changed):
                reader.set()

    def close(self) -> None:
        """Let all readers end."""
        self.is_closing = True
        for reader in self._readers:
            reader.set()

    def check_room(self) -> None:
        """Refuse a reader if there are too many."""
        if self.n_streams >= self._max_streams:
            raise RefusedError(
                429, "too_many_event_streams",
                f"{self._max_streams} event streams are open; close one, or start the service with a larger "
                "--max-event-streams.",
                retry_after=10,
            )  # fmt: skip

    async def follow(self, ids: Sequence[str] | None, after: int | None) -> AsyncIterator[str]:
        """Yield events with the answers after a row (None: from now on), until the service ends.

        Parameters
        ----------
        ids : list of str, optional
            Only of these series.
        after : int, optional
            Number of the last row that the reader knows.
        """
        wake, wanted = asyncio.Event(), None if ids is None else frozenset(ids)
        place = self.newest if after is None or after > self.newest else after
        self._readers[wake] = wanted
        try:
            yield f"retry: 1000\nevent: hello\ndata: {self._hello(place, ids)}\n\n"
            while not self.is_closing:
                wake.clear()
                found, place, is_all = await self._next(place, ids, wanted)
                if found:
                    bodies = ",".join(each.body for each in found)
                    yield f"id: {place}\nevent: answers\ndata: [{bodies}]\n\n"
                if is_all:
                    try:
                        await asyncio.wait_for(wake.wait(), HEARTBEAT)
                    except TimeoutError:
                        yield f"id: {place}\nevent: alive\ndata: {place}\n\n"
        finally:
            self._readers.pop(wake, None)

    def _hello(self, place: int, ids: Sequence[str] | None) -> str:
        """Return whose answers follow, and whether some of them are gone."""
        is_gone = place < self.newest and self._history.was_pruned(place, ids)
        return dumps({"instance": self._history.instance, "newest": self.newest, "after": place, "gap": is_gone})

    async def _next(
        self, place: int, ids: Sequence[str] | None, wanted: frozenset[str] | None
    ) -> tuple[list[Kept], int, bool]:
        """Return the next answers after a place, the place after them, and whether these are all."""
        if place < self._start:
            found = await asyncio.to_thread(self._history.after, place, ids, MAX_BATCH)
            return found, (found[-1].number if found else self._start), False
        first = bisect_right(self._recent, place, key=lambda each: each.number)
        part = self._recent[first : first + 20 * MAX_BATCH]
        found = [each for each in part if wanted is None or each.id in wanted]
        if len(found) > MAX_BATCH:
            return found[:MAX_BATCH], found[MAX_BATCH - 1].number, False
        return found, (part[-1].number if part else place), first + len(part) >= len(self._recent)
