"""Kill `adabypass serve` under load: what was acknowledged is there once, in order, bit-equal.

`make test-serve-crash`
"""

import argparse
import http.client
import json
import random
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from pathlib import Path
from typing import Any

import numpy as np

from adabypass.service.keeper import Keeper, Settings
from adabypass.service.requests import Observation
from tests.cli.serving import ENVIRONMENT, address_of, post

IDS = ("a", "b", "c", "d")
KEEP = 1_000_000
BATCHES = (1, 3, 1, 7, 2)


def rows_of(id: str, n: int) -> list[dict[str, Any]]:
    """Return the observations of a series."""
    rng = np.random.default_rng(IDS.index(id))
    values = 10.0 + np.sin(np.arange(n) / 7.0) + rng.normal(0.0, 0.3, n)
    return [{"id": id, "time": i, "y": float(y)} for i, y in enumerate(values)]


class Sender(threading.Thread):
    """Sends a series in small requests, each until it is acknowledged, and notes what was answered."""

    def __init__(self, address: str, id: str) -> None:
        super().__init__(daemon=True)
        self._address, self._id = address, id
        self.answers: list[dict[str, Any]] = []
        self.n_tries = 0
        self.stop = threading.Event()

    def run(self) -> None:
        rows = rows_of(self._id, 200_000)
        at, turn = 0, 0
        while not self.stop.is_set():
            batch = rows[at : at + BATCHES[turn % len(BATCHES)]]
            self.n_tries += 1
            try:
                found = post(self._address, batch)["answers"]
            except (OSError, http.client.HTTPException, ValueError):
                time.sleep(0.02)
                continue
            assert all(each["status"] in ("learned", "repeated") for each in found), found
            self.answers += found
            at, turn = at + len(batch), turn + 1


def kill_under_load(folder: Path, n_kills: int, seed: int, fsync: str = "interval") -> dict[str, int]:
    """Kill the service so often at random instants, and check what is there; return counts."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "adabypass", "serve", "--port", port, "--state", folder, "--keep", KEEP]
    address, chance = f"http://127.0.0.1:{port}", random.Random(seed)
    senders = [Sender(address, id) for id in IDS]
    for kill in range(n_kills + 1):
        with subprocess.Popen(
            [*map(str, command), "--fsync", fsync, "--rate", "1000000"],
            stderr=subprocess.PIPE, text=True, env=ENVIRONMENT,
        ) as process:  # fmt: skip
            address_of(process)
            if kill == 0:
                for each in senders:
                    each.start()
            if kill == n_kills:
                for each in senders:
                    each.stop.set()
                    each.join(60)
                found = {id: _answers(address, id) for id in IDS}
            else:
                time.sleep(chance.uniform(0.02, 0.6))
            process.kill()
    return check(found, {each._id: each.answers for each in senders}) | {
        "kills": n_kills,
        "requests": sum(each.n_tries for each in senders),
    }


def _answers(address: str, id: str) -> list[dict[str, Any]]:
    """Return all answers of a series."""
    found: list[dict[str, Any]] = []
    before = 1 << 62
    while True:
        with urllib.request.urlopen(f"{address}/series/{id}/answers?limit=5000&before={before}", timeout=60) as answer:
            part = json.load(answer)["answers"]
        if not part:
            return found
        found, before = part + found, part[0]["number"]


def check(found: dict[str, Any], acknowledged: dict[str, Any]) -> dict[str, int]:
    """Compare what is there with what was acknowledged, and with an uninterrupted run; return counts."""
    numbers = [each["number"] for answers in found.values() for each in answers]
    assert len(numbers) == len(set(numbers)), "a row was learned twice"
    assert sorted(numbers) == list(range(1, len(numbers) + 1)), "the numbers of rows have a gap"
    keeper = Keeper(None, Settings(keep=KEEP, n_threads=1))
    n_acknowledged = 0
    for id, answers in found.items():
        rows = rows_of(id, len(answers))
        assert [each["time"] for each in answers] == list(range(len(answers))), "a row is lost, or out of order"
        whole = json.loads(keeper.learn([Observation(**each) for each in rows]))["answers"]
        assert [_without(each) for each in answers] == [_without(each) for each in whole], "answers differ"
        assert [_without(each) for each in acknowledged[id]] == [
            _without(each) for each in whole[: len(acknowledged[id])]
        ], "an acknowledged answer is not that of an uninterrupted run"
        n_acknowledged += len(acknowledged[id])
    keeper.close()
    return {"rows": len(numbers), "acknowledged": n_acknowledged}


def _without(answer: dict[str, Any]) -> dict[str, Any]:
    """Return an answer without what depends on the turns that series took."""
    return {name: value for name, value in answer.items() if name not in ("number", "status")}


def main() -> None:
    """Kill it 50 times; the first loss ends with an error."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        print(kill_under_load(Path(folder) / "state", arguments.kills, arguments.seed))


if __name__ == "__main__":
    main()
