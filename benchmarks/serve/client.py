"""A client that takes little time of its own: HTTP/1.1 over kept connections, written by hand."""

import asyncio
import json
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np


class Outcome(NamedTuple):
    """What became of requests."""

    seconds: float
    latencies: "np.ndarray[Any, np.dtype[np.float64]]"
    """Of each request, in seconds."""
    n_rows: int

    @property
    def rate(self) -> float:
        """Observations a second."""
        return self.n_rows / self.seconds

    def quantile(self, share: float) -> float:
        """Return a quantile of the latencies, in milliseconds."""
        return 1e3 * float(np.quantile(self.latencies, share))


class Connection:
    """One connection that is kept."""

    def __init__(self, port: int) -> None:
        self._port = port

    async def open(self) -> "Connection":
        """Connect."""
        self._reader, self._writer = await asyncio.open_connection("127.0.0.1", self._port, limit=1 << 24)
        return self

    async def post(self, rows: Sequence[dict[str, Any]]) -> Any:
        """Send observations; return the body of the answer."""
        body = json.dumps(rows).encode()
        head = (
            "POST /observations HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
            f"content-length: {len(body)}\r\n\r\n"
        )
        self._writer.write(head.encode() + body)
        headers = (await self._reader.readuntil(b"\r\n\r\n")).lower()
        size = int(headers.partition(b"content-length:")[2].split(b"\r\n", 1)[0])
        found = await self._reader.readexactly(size)
        if b" 200 " not in headers.split(b"\r\n", 1)[0]:
            raise RuntimeError(found.decode())
        return found

    async def follow(self) -> asyncio.StreamReader:
        """Follow events; return what they are read from."""
        self._writer.write(b"GET /events HTTP/1.1\r\nhost: localhost\r\n\r\n")
        await self._reader.readuntil(b"\r\n\r\n")
        return self._reader

    def close(self) -> None:
        """Close the connection."""
        self._writer.close()


async def load(
    port: int, batches: Callable[[int, int], list[dict[str, Any]]], n_requests: int, n_connections: int
) -> Outcome:
    """Send requests over several connections as fast as they are answered.

    Parameters
    ----------
    batches : function
        Returns the observations of a request, by its connection and its number.
    n_requests : int
        Of each connection.
    """
    connections = [await Connection(port).open() for _ in range(n_connections)]
    latencies: list[float] = []
    n_rows = 0

    async def send(at: int) -> None:
        nonlocal n_rows
        for number in range(n_requests):
            rows = batches(at, number)
            begun = time.perf_counter()
            await connections[at].post(rows)
            latencies.append(time.perf_counter() - begun)
            n_rows += len(rows)

    begun = time.perf_counter()
    await asyncio.gather(*(send(at) for at in range(n_connections)))
    seconds = time.perf_counter() - begun
    for each in connections:
        each.close()
    return Outcome(seconds, np.array(latencies), n_rows)
