import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from adabypass.service import events
from adabypass.service.errors import RefusedError
from adabypass.service.events import Events
from adabypass.service.history import History, Kept


def kept(number: int, id: str = "a") -> Kept:
    return Kept(number, id, str(number), None, json.dumps({"number": number, "id": id}))


def numbers(event: str) -> list[int]:
    line = next(line for line in event.splitlines() if line.startswith("data: "))
    found: Any = json.loads(line.removeprefix("data: "))
    return [each["number"] for each in found] if isinstance(found, list) else []


async def take(stream: AsyncIterator[str], n: int) -> list[int]:
    """Return the numbers of the next `n` answers."""
    found: list[int] = []
    while len(found) < n:
        found += numbers(await asyncio.wait_for(anext(stream), 5.0))
    return found


def publish(hub: Events, history: History, answers: list[Kept]) -> None:
    history.add(answers)
    hub.publish(answers)


def test_a_reader_has_each_answer_once_from_memory_and_from_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "MAX_RECENT", 40)
    monkeypatch.setattr(events, "MAX_BATCH", 7)

    async def run() -> None:
        history = History(None, 1000)
        hub = Events(history, 0, 10)
        for start in range(1, 301, 10):
            publish(hub, history, [kept(i, "ab"[i % 2]) for i in range(start, start + 10)])
        assert await take(hub.follow(None, 0), 300) == list(range(1, 301))
        odd = hub.follow(["b"], 100)
        assert await take(odd, 100) == list(range(101, 301, 2))
        publish(hub, history, [kept(301, "b"), kept(302, "a")])
        assert await take(odd, 1) == [301]
        history.close()

    asyncio.run(run())


def test_a_reader_without_a_place_has_what_comes_from_now_on() -> None:
    async def run() -> None:
        history = History(None, 1000)
        hub = Events(history, 0, 10)
        publish(hub, history, [kept(1)])
        reader = hub.follow(None, None)
        assert "hello" in await anext(reader)
        publish(hub, history, [kept(2)])
        assert await take(reader, 1) == [2]
        history.close()

    asyncio.run(run())


def test_a_reader_is_told_if_answers_are_gone() -> None:
    async def run() -> None:
        history = History(None, 50)
        history.add([kept(i) for i in range(1, 321)])
        hub = Events(history, 320, 10)
        first = await anext(hub.follow(None, 5))
        assert '"gap":true' in first
        assert '"gap":false' in await anext(hub.follow(None, 300))
        history.close()

    asyncio.run(run())


def test_readers_are_counted_refused_and_ended() -> None:
    async def run() -> None:
        history = History(None, 50)
        hub = Events(history, 0, 1)
        reader = hub.follow(None, None)
        await anext(reader)
        with pytest.raises(RefusedError, match="event streams are open"):
            hub.check_room()
        hub.close()
        assert [each async for each in reader] == []
        assert hub.n_streams == 0
        history.close()

    asyncio.run(run())
