"""Child processes that run `adabypass stream` and are killed, from outside or at a call, or whose calls fail."""

import os
import resource
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from adabypass.cli import run as run_command
from adabypass.cli.stream import stream
from adabypass.streaming import sources

assert stream.name == "stream"  # imported here, so that no child has to
READ_AT_ONCE = 64
"""Bytes that a child reads at once, so that it commits every few rows."""
CALLS = ("write", "fsync", "replace")


class Fault(NamedTuple):
    """What goes wrong at one call of the system."""

    call: str
    """Which function of `os`."""
    number: int
    """Which of all such calls, from 0."""
    kind: str
    """"error" fails; "kill" ends the process before the call, "killed" after it; "torn" writes a part and ends it;
    "short" writes a part and fails from then on."""
    errno: int = 28


class Ended(NamedTuple):
    """What became of a child."""

    code: int
    """Its exit code, or minus the number of the signal that ended it."""
    answers: list[str]
    """The whole lines that it printed."""
    errors: str


def start(options: list[str], given: Path, work: Path, fault: Fault | None = None, limit: int | None = None) -> int:
    """Start a child in a copy of this process, which need not import anything again; return its number."""
    sys.stdout.flush()
    sys.stderr.flush()
    for name in ("stdout", "stderr"):  # a child may be killed before it has files of its own
        (work / name).write_text("")
    child = os.fork()
    if child:
        return child
    try:
        _redirect(given, work)
        sources.READ_BYTES = READ_AT_ONCE
        if limit is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
        if fault is not None:
            _inject(fault)
        sys.argv = ["adabypass", "stream", *options]
        code = run_command()
    except BaseException as error:
        os.write(2, f"unexpected: {error!r}\n".encode())
        code = 99
    os._exit(code)


def wait(child: int, work: Path, kill_after: float | None = None) -> Ended:
    """Wait for a child, or kill it after so many seconds; return what became of it."""
    if kill_after is not None:
        time.sleep(kill_after)
        os.kill(child, signal.SIGKILL)
    status = os.waitpid(child, 0)[1]
    text, errors = ((work / name).read_text() for name in ("stdout", "stderr"))
    return Ended(os.waitstatus_to_exitcode(status), text.splitlines()[: text.count("\n")], errors)


def _redirect(given: Path, work: Path) -> None:
    """Let the standard streams be files."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    for number, descriptor in enumerate(
        (os.open(given, os.O_RDONLY), os.open(work / "stdout", flags), os.open(work / "stderr", flags))
    ):
        os.dup2(descriptor, number)
    sys.stdin, sys.stdout, sys.stderr = (os.fdopen(i, "r" if i == 0 else "w", closefd=False) for i in range(3))


def _inject(fault: Fault) -> None:
    """Let one call of the system go wrong."""
    real: Callable[..., Any] = getattr(os, fault.call)
    write = os.write
    n_calls = 0

    def end() -> NoReturn:
        os.kill(os.getpid(), signal.SIGKILL)
        raise AssertionError

    def call(*arguments: Any) -> Any:
        nonlocal n_calls
        n_calls += 1
        if n_calls <= fault.number or (n_calls > fault.number + 1 and fault.kind != "short"):
            return real(*arguments)
        if fault.kind in ("torn", "short") and fault.call == "write" and n_calls == fault.number + 1:
            part = bytes(arguments[1])[: max(1, len(arguments[1]) // 2)]
            done = write(arguments[0], part)
            if fault.kind == "torn":
                end()
            return done
        if fault.kind == "kill":
            end()
        if fault.kind == "killed":
            real(*arguments)
            end()
        raise OSError(fault.errno, os.strerror(fault.errno))

    setattr(os, fault.call, call)


def count_calls(options: list[str], given: Path, work: Path) -> dict[str, int]:
    """Return how many calls of each kind a whole run makes."""
    child = os.fork()
    if child:
        os.waitpid(child, 0)
        found = (work / "counts").read_text().split()
        return dict(zip(CALLS, map(int, found), strict=True))
    counts = dict.fromkeys(CALLS, 0)

    def counted(name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            counts[name] += 1
            return real(*arguments)

        return call

    for name in CALLS:
        setattr(os, name, counted(name, getattr(os, name)))
    try:
        _redirect(given, work)
        sources.READ_BYTES = READ_AT_ONCE
        sys.argv = ["adabypass", "stream", *options]
        run_command()
        (work / "counts").write_text(" ".join(str(count) for count in counts.values()))
    finally:
        os._exit(0)
