"""Measure `adabypass serve`: throughput, latency, memory, event streams, and a bare echo beside it."""

import argparse
import asyncio
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.serve.client import Connection, Outcome, load

N_SERIES = 200
N_CONNECTIONS = 8
FREE = ("--rate", "1000000000")


@contextmanager
def server(*command: object) -> Iterator[tuple[int, int]]:
    """Yield the process of a server, and its port."""
    arguments = [sys.executable, "-m", *map(str, command)]
    with subprocess.Popen(arguments, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None
            found = next(found for line in process.stderr if (found := re.search(r"http://127.0.0.1:(\d+)", line)))
            time.sleep(0.5)
            yield process.pid, int(found[1])
        finally:
            process.terminate()


def rows_of(ids: list[str], at: int, values: Any) -> list[dict[str, Any]]:
    """Return one observation of each of these series."""
    return [{"id": id, "time": at, "y": round(float(y), 3)} for id, y in zip(ids, values, strict=True)]


def memory_of(pid: int) -> float:
    """Return the resident memory of a process, in MB."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0]) / 1024.0


class Steady:
    """Observations of 200 series, spread over the connections."""

    def __init__(self) -> None:
        rng = np.random.default_rng(1)
        self._values = (  # a slow walk, and a level of its own
            50.0 + np.cumsum(rng.normal(0.0, 0.3, (20_000, N_SERIES)), axis=0) * 0.1 + rng.normal(size=N_SERIES)
        )
        self._at = np.zeros(N_SERIES, np.int64)

    def single(self, connection: int, number: int) -> list[dict[str, Any]]:
        """Return one observation."""
        own = N_SERIES // N_CONNECTIONS
        series = connection * own + number % own
        return self._next([series])

    def batch(self, connection: int, number: int) -> list[dict[str, Any]]:
        """Return an observation of each series of a connection, of all series if there is one connection."""
        own = N_SERIES // N_CONNECTIONS
        return self._next(range(connection * own, (connection + 1) * own))

    def whole(self, connection: int, number: int) -> list[dict[str, Any]]:
        """Return five observations of each series."""
        return [row for _ in range(5) for row in self._next(range(N_SERIES))]

    def _next(self, chosen: Any) -> list[dict[str, Any]]:
        found = []
        for series in chosen:
            at = int(self._at[series])
            self._at[series] += 1
            found.append({"id": f"s{series:03d}", "time": at, "y": float(self._values[at % 20_000, series])})
        return found


def told(what: str, outcome: Outcome) -> None:
    """Print what became of requests."""
    p50, p99 = outcome.quantile(0.5), outcome.quantile(0.99)
    print(f"{what:<52} {outcome.rate:>9,.0f} a second   p50 {p50:6.1f} ms   p99 {p99:6.1f} ms", flush=True)


def throughput(n_requests: int) -> None:
    """Measure observations a second with each model, singly and in batches, beside a bare echo."""
    for name, command in (
        ("bare Starlette echo", ("benchmarks.serve.echo", 8799)),
        ("automatic forecaster", ("adabypass", "serve", "--port", 0, *FREE)),
        ("lag 1", ("adabypass", "serve", "--port", 0, "--model", "lag", *FREE)),
    ):
        with tempfile.TemporaryDirectory() as folder:
            kept = () if "echo" in name else ("--state", folder)
            with server(*command, *kept) as (_, port):
                steady = Steady()
                if kept:
                    asyncio.run(load(port, steady.batch, 60, N_CONNECTIONS))  # so that all series are known
                told(
                    f"{name}, one observation a request",
                    asyncio.run(load(port, steady.single, n_requests, N_CONNECTIONS)),
                )
                told(f"{name}, 25 a request", asyncio.run(load(port, steady.batch, n_requests // 10, N_CONNECTIONS)))


def memory(n_rows: int) -> None:
    """Measure memory over many observations."""
    with tempfile.TemporaryDirectory() as folder:
        command = ("adabypass", "serve", "--port", 0, "--model", "lag", "--state", folder, *FREE)
        with server(*command) as (pid, port):
            steady, each = Steady(), max(1, n_rows // 10_000)
            for part in range(10):
                outcome = asyncio.run(load(port, steady.whole, each, 1))
                disk = sum(file.stat().st_size for file in Path(folder).iterdir()) / 1e6
                n, size, rate = (part + 1) * each * 1000, memory_of(pid), outcome.rate
                print(f"{n:>9,} observations: {size:5.1f} MB of memory, {disk:5.1f} on disk, {rate:,.0f} a second",
                      flush=True)  # fmt: skip


async def streams(port: int, pid: int, n: int) -> None:
    """Measure events with many idle readers, and with one that does not read."""
    told("no event streams", await load(port, Steady().single, 300, 1))
    before = memory_of(pid)
    idle = [await Connection(port).open() for _ in range(n)]
    for each in idle:
        await each.follow()
    print(f"{n} idle event streams take {memory_of(pid) - before:.1f} MB", flush=True)
    reading = await Connection(port).open()
    begun = asyncio.create_task(delays(await reading.follow(), 100))
    steady = Steady()
    steady._at += 1000
    sent = await load(port, steady.single, 300, 1)
    told(f"{n} event streams that do not read, one that does", sent)
    print(
        f"the one that reads has an event each {1e3 * float(np.median(await begun)):.0f} ms in the median",
        flush=True,
    )
    for each in (reading, *idle):
        each.close()


async def delays(reader: asyncio.StreamReader, n: int) -> list[float]:
    """Return how long events took, between two that follow each other."""
    found, last = [], time.perf_counter()
    numbers: list[int] = []
    while len(numbers) < n:
        line = await reader.readuntil(b"\n")
        if line.startswith(b"data: ["):
            numbers += [each["number"] for each in json.loads(line[6:])]
            found.append(time.perf_counter() - last)
            last = time.perf_counter()
    assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))
    return found


def main() -> None:
    """Measure all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=1500, help="Of each of eight connections.")
    parser.add_argument("--rows", type=int, default=1_000_000, help="Over which memory is measured.")
    parser.add_argument("--streams", type=int, default=500)
    arguments = parser.parse_args()
    print(
        f"{os.cpu_count()} processors, {N_SERIES} series, {N_CONNECTIONS} connections, client and server together",
        flush=True,
    )
    throughput(arguments.requests)
    with server("adabypass", "serve", "--port", 0, "--model", "lag", *FREE) as (pid, port):
        asyncio.run(streams(port, pid, arguments.streams))
    memory(arguments.rows)


if __name__ == "__main__":
    main()
