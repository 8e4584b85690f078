"""Child processes that run a `Stream` and are killed, from outside or at a call of the system, or whose calls fail."""

import ctypes
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from adabypass import Forecaster, Stream, cli
from adabypass.cli import stream_run
from adabypass.errors import AdabypassError
from adabypass.files import write_all
from adabypass.streaming import sources
from adabypass.streaming.answers import AnswerFormat, encode_answers
from adabypass.streaming.rows import Columns

CALLS = ("write", "sync", "truncate", "unlink")
KINDS = ("error", "kill", "killed", "torn", "short")
assert stream_run.__name__  # imported here, so that no child has to
PRINTED = "state.printed"
"""The file of what a child has answered; its name begins as the folder's does, so that its writes can fail too."""
ANSWERS = "state.answers.jsonl"
"""The file that has each answer exactly once."""
READ_AT_ONCE = 64
"""Bytes that the command reads at once, so that it commits every few rows."""
BATCHES = (1, 3, 2, 7, 1, 5)
"""Rows that are learned at once, in turn."""
FAILED = 2


class Fault(NamedTuple):
    """What goes wrong at one call of the system."""

    call: str
    number: int
    """Which of all such calls, from 0."""
    kind: str
    """"error" fails; "kill" ends the process before the call, "killed" after it; "torn" writes a part and ends it;
    "short" writes a part and fails from then on."""
    errno: int = 28


class Case(NamedTuple):
    """A way in which a stream is used."""

    name: str
    options: dict[str, Any]
    """Of `Stream`."""
    lags: int | None = None
    """None: the automatic forecaster."""
    exog: tuple[str, ...] = ()
    has_file: bool = False
    """Whether answers go to a file that has each exactly once."""
    command: tuple[str, ...] | None = None
    """Options of `adabypass stream`, if that is what runs the stream."""

    def shortened(self, every: int) -> "Case":
        """Return the same with so many rows between two checkpoints."""
        if self.command is None:
            return self._replace(options=self.options | {"checkpoint_every": every})
        at = self.command.index("--every") + 1
        return self._replace(command=(*self.command[:at], str(every), *self.command[at + 1 :]))

    def open(self, folder: Path, sink: Any = None) -> Stream:
        """Open the stream in a folder."""
        template = Forecaster(lags=self.lags, exog=list(self.exog) or None)
        if sink is None:
            return Stream(folder / "state", template, **self.options)
        wanted = AnswerFormat()
        encode = encode_answers(wanted)
        return Stream._of(folder / "state", template, wanted, Columns(("y",)), encode, sink=sink, **self.options)


class CommandError(Exception):
    """The command has ended with another exit code than 0."""


class Ended(NamedTuple):
    """What became of a child."""

    code: int
    """Its exit code, or minus the number of the signal that ended it."""
    answers: list[str]
    """The whole lines that it wrote."""
    errors: str


def preload() -> None:
    """Let this process, and its children, have calls that can be made to fail; it begins anew for that."""
    library = Path(__file__).parents[2] / "build" / "faults.so"
    if os.environ.get("LD_PRELOAD") == str(library):
        return
    library.parent.mkdir(exist_ok=True)
    source = Path(__file__).with_name("faults.c")
    draft = library.with_suffix(f".{os.getpid()}")
    subprocess.run([os.environ.get("CC", "cc").split()[-1], "-shared", "-fPIC", "-O1", "-o", draft, source, "-ldl"],
                   check=True)  # fmt: skip
    draft.replace(library)
    os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], os.environ | {"LD_PRELOAD": str(library)})


class FileOfAnswers:
    """A file that has the answer to each row once: a resumed stream goes on where the last checkpoint knows it."""

    def __init__(self, path: Path) -> None:
        self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT)

    def resume(self, position: dict[str, Any] | None) -> None:
        os.ftruncate(self._descriptor, 0 if position is None else position["size"])
        os.lseek(self._descriptor, 0, os.SEEK_END)

    def add(self, answer: Any, number: int, key: str) -> None:
        write_all(self._descriptor, line_of(answer).encode())

    def sync(self) -> dict[str, Any]:
        os.fsync(self._descriptor)
        return {"size": os.lseek(self._descriptor, 0, os.SEEK_END)}


def line_of(answer: Any) -> str:
    """Return an answer as a line."""
    return json.dumps(answer.to_dict()) + "\n"


def batches(rows: list[Any], first: int) -> Iterator[list[Any]]:
    """Yield rows from a place on, a few at a time."""
    at, turn = first, first
    while at < len(rows):
        size = BATCHES[turn % len(BATCHES)]
        yield rows[at : at + size]
        at, turn = at + size, turn + 1


def work(case: Case, rows: list[dict[str, Any]], folder: Path) -> None:
    """Learn the rows that are left; write each answer to a file, or to the file of what was printed."""
    if case.command is not None:
        out = ["--out", str(folder / ANSWERS)] if case.has_file else []
        run_command([*case.command, *out, "--state", str(folder / "state")], folder)
        return
    printed = os.open(folder / PRINTED, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    if not case.has_file:
        with case.open(folder) as stream:
            for some in batches(rows, stream.n_learned):
                write_all(printed, "".join(map(line_of, stream.learn(some))).encode())
        return
    sink = FileOfAnswers(folder / ANSWERS)
    with case.open(folder, sink) as stream:
        for some in batches(rows, stream.n_learned):
            for answer in stream.learn(some):
                sink.add(answer, answer.number, "")


def run_command(options: Sequence[str], folder: Path) -> None:
    """Run `adabypass stream` on the rows of a file; what it prints is below the path whose calls go wrong."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    files = os.open(folder / "given.csv", os.O_RDONLY), os.open(folder / PRINTED, flags), os.open(
        folder / "errors", flags
    )  # fmt: skip
    for number, descriptor in enumerate(files):
        os.dup2(descriptor, number)
    sys.stdin, sys.stdout, sys.stderr = (os.fdopen(i, "r" if i == 0 else "w", closefd=False) for i in range(3))
    sources.READ_BYTES = READ_AT_ONCE
    sys.argv = ["adabypass", "stream", *options]
    code = cli.run()
    if code:
        raise CommandError(code)


def write_csv(rows: Sequence[dict[str, Any]], path: Path) -> None:
    """Write rows as CSV, for the command."""
    names = list(rows[0])
    lines = [",".join("" if row[name] is None else str(row[name]) for name in names) for row in rows]
    path.write_text("\n".join([",".join(names), *lines]) + "\n")


def start(case: Case, rows: list[Any], folder: Path, fault: Fault | None = None, *, counts: bool = False) -> int:
    """Start a child in a copy of this process, which need not import anything again; return its number."""
    for name in (PRINTED, "errors", "counts"):  # a child may be killed before it has files of its own
        (folder / name).write_text("")
    sys.stdout.flush()
    child = os.fork()
    if child:
        return child
    code = 0
    errors = os.open(folder / "errors", os.O_WRONLY)
    library: Any = ctypes.CDLL(None)
    try:
        if fault is not None or counts:
            plan = (-1, 0, 0, 0) if fault is None else (
                CALLS.index(fault.call), fault.number, KINDS.index(fault.kind), fault.errno
            )  # fmt: skip
            library.plan_fault(os.fsencode(folder.resolve() / "state"), *plan)
        work(case, rows, folder)
        if counts:
            found = [library.count_calls(i) for i in range(len(CALLS))]
            library.plan_fault(b"", -1, 0, 0, 0)
            (folder / "counts").write_text(" ".join(map(str, found)))
    except CommandError as error:
        code = int(error.args[0])
    except (AdabypassError, OSError) as error:
        os.write(errors, f"{error}\n".encode())
        code = FAILED
    except BaseException as error:
        os.write(errors, f"unexpected: {error!r}\n".encode())
        code = 99
    os._exit(code)


def wait(child: int, folder: Path, kill_after: float | None = None) -> Ended:
    """Wait for a child, or kill it after so many seconds; return what became of it."""
    if kill_after is not None:
        time.sleep(kill_after)
        os.kill(child, signal.SIGKILL)
    status = os.waitpid(child, 0)[1]
    text = (folder / PRINTED).read_text()
    return Ended(
        os.waitstatus_to_exitcode(status), text.splitlines()[: text.count("\n")], (folder / "errors").read_text()
    )
