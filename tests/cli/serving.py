"""`adabypass serve` and `adabypass watch` as processes of their own."""

import json
import os
import re
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ENVIRONMENT = {name: value for name, value in os.environ.items() if name not in ("DISPLAY", "WAYLAND_DISPLAY")}


@contextmanager
def started(*arguments: object, stdin: Any = subprocess.DEVNULL) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Yield a process that listens at a free port, and its address."""
    command = [sys.executable, "-m", "adabypass", *map(str, arguments), "--port", "0"]
    with subprocess.Popen(command, stdin=stdin, stderr=subprocess.PIPE, text=True, env=ENVIRONMENT) as process:
        reading = threading.Thread(target=pass_on, args=(process,), daemon=True)
        try:
            address = address_of(process)
            reading.start()  # a process whose words nobody reads waits
            yield process, address
        finally:
            process.kill()
            if reading.is_alive():
                reading.join()


def pass_on(process: "subprocess.Popen[str]") -> None:
    """Show what a process says from now on."""
    assert process.stderr is not None
    for line in process.stderr:
        sys.stderr.write(line)


def address_of(process: "subprocess.Popen[str]") -> str:
    """Return the address that a process says it listens at."""
    assert process.stderr is not None
    said = []
    for line in process.stderr:
        said.append(line)
        found = re.search(r"http://\S+", line)
        if found:
            return found[0].rstrip("/")
    raise AssertionError("".join(said))


def get(address: str, path: str) -> Any:
    """Return what the service answers."""
    with urllib.request.urlopen(f"{address}{path}", timeout=20) as found:
        return json.load(found)


def post(address: str, rows: Any, token: str = "") -> Any:
    """Send observations; return the answer."""
    headers = {"content-type": "application/json", "authorization": f"Bearer {token}"}
    request = urllib.request.Request(f"{address}/observations", json.dumps(rows).encode(), headers)
    with urllib.request.urlopen(request, timeout=60) as found:
        return json.load(found)


def until(address: str, path: str, is_done: Any) -> Any:
    """Return what the service answers, when it is what is waited for."""
    for _ in range(200):
        found = get(address, path)
        if is_done(found):
            return found
        subprocess.run(["sleep", "0.05"], check=True)
    raise AssertionError(found)


def written(path: Path, rows: list[str]) -> Path:
    """Append lines to a file."""
    with path.open("a") as file:
        file.writelines(f"{row}\n" for row in rows)
    return path
