"""Answers that were published stay; what cannot be answered is not learned; a file of others' is left alone."""

import errno
import fcntl
import json
import os
import shutil
import signal
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adabypass.errors import LockedError, StateError
from adabypass.streaming import sinks
from adabypass.streaming.folder import DATABASE
from adabypass.streaming.store import Store
from tests.cli.in_process import stream
from tests.cli.test_forecasting import COMMAND
from tests.cli.test_stream_state import DATED, PLAIN, done, killed_after, text

TIMED = ["--time", "t"]


def lines_of(path: Path) -> list[str]:
    return path.read_text().splitlines()


def whole_answers(folder: Path, ending: str, options: list[str], lines: list[str]) -> list[str]:
    out = folder / f"whole.{ending}"
    done(stream(*options, "--out", out, given=text(lines)))
    return lines_of(out)


@settings(max_examples=25, deadline=None)
@given(at=st.floats(0, 1, exclude_max=True), bit=st.integers(0, 7), ending=st.sampled_from(["csv", "jsonl"]))
def test_a_damaged_store_never_costs_a_published_answer(
    at: float, bit: int, ending: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """One bit anywhere: the folder is refused, or it goes on; no answer goes."""
    work = tmp_path_factory.mktemp("work")
    out = work / f"answers.{ending}"
    options = [*TIMED, "--out", str(out)]
    killed_after(work / "s", options, text(DATED, 0, 60), 1000)
    published, store = out.read_bytes(), work / "s" / DATABASE
    content = bytearray(store.read_bytes())
    content[int(at * len(content))] ^= 1 << bit
    store.write_bytes(content)
    again = stream(*options, "--state", work / "s", given=text(DATED))
    assert out.read_bytes().startswith(published)
    if again.error is None:
        assert lines_of(out) == whole_answers(work, ending, TIMED, DATED)
    else:
        assert isinstance(again.error, StateError)
        assert out.read_bytes() == published


@pytest.mark.parametrize("ending", ["csv", "jsonl"])
def test_answers_ahead_of_a_state_that_lost_its_end_are_met_again(ending: str, tmp_path: Path) -> None:
    """A power cut may take rows of the last second from the store and leave their answers."""
    out = tmp_path / f"answers.{ending}"
    options = [*TIMED, "--out", str(out)]
    killed_after(tmp_path / "s", options, text(DATED, 0, 30), 1000)
    shutil.copytree(tmp_path / "s", tmp_path / "before")
    killed_after(tmp_path / "s", options, text(DATED, 0, 60), 1000)
    shutil.rmtree(tmp_path / "s")
    (tmp_path / "before").rename(tmp_path / "s")
    published = out.read_bytes()
    with out.open("ab") as file:
        file.write(bytes(5000))  # blocks that were never written
    other = stream(*options, "--state", tmp_path / "s", given=text(DATED, 60))
    assert isinstance(other.error, StateError)
    assert "its state has not learned the rows that are answered there" in str(other.error)
    assert out.read_bytes().startswith(published)
    done(stream(*options, "--state", tmp_path / "s", given=text(DATED)))
    assert out.read_bytes().startswith(published)
    assert lines_of(out) == whole_answers(tmp_path, ending, TIMED, DATED)


@pytest.mark.parametrize("ending", ["csv", "jsonl"])
@settings(max_examples=20, deadline=None)
@given(cut=st.integers(0, 3000))
def test_a_file_that_a_crash_cut_anywhere_is_completed(
    ending: str, cut: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    work = tmp_path_factory.mktemp("work")
    out = work / f"answers.{ending}"
    options = [*TIMED, "--out", str(out)]
    killed_after(work / "s", options, text(DATED, 0, 60), 1000)
    os.truncate(out, max(out.stat().st_size - cut, len(lines_of(out)[0]) + 1 if ending == "csv" else 0))
    done(stream(*options, "--state", work / "s", given=text(DATED)))
    assert lines_of(out) == whole_answers(work, ending, TIMED, DATED)


def test_published_answers_stay_when_options_change(tmp_path: Path) -> None:
    out = tmp_path / "answers.jsonl"
    killed_after(tmp_path / "s", [*TIMED, "--out", str(out)], text(DATED, 0, 60), 1000)
    published = lines_of(out)
    done(stream(*TIMED, "--level", "50", "--out", out, "--state", tmp_path / "s", given=text(DATED)))
    assert lines_of(out)[:60] == published
    assert all("upper_50" in json.loads(line) for line in lines_of(out)[60:])
    assert len(lines_of(out)) == 120


FOREIGN: dict[str, list[bytes]] = {
    "csv": [b"my,precious\n1,2\n3,4", b"my,precious\n1,2\n", b"y\n", b"x" * 3_000_000, b"\n", b"y,mean,sd,lower_90"],
    "jsonl": [b'{"a": 1}\n', b'{"y": 1}', b"x" * 3_000_000, b"[1]\n", b"\n\n", b"[" * 100_000],
}


@pytest.mark.parametrize(("ending", "content"), [(kind, each) for kind, every in FOREIGN.items() for each in every])
@pytest.mark.parametrize("has_state", [False, True], ids=["new state", "state of another file"])
def test_a_file_of_others_is_never_cut(ending: str, content: bytes, has_state: bool, tmp_path: Path) -> None:
    out = tmp_path / f"keep.{ending}"
    if has_state:
        done(stream("--state", tmp_path / "s", "--out", tmp_path / f"other.{ending}", given=text(PLAIN, 0, 100)))
    out.write_bytes(content)
    ended = stream("--state", tmp_path / "s", "--out", out, given=text(PLAIN))
    assert out.read_bytes().startswith(content)
    if ended.code:
        assert isinstance(ended.error, StateError)
        assert "name another file with --out" in str(ended.error)
        assert out.read_bytes() == content


@pytest.mark.parametrize("ending", ["csv", "jsonl"])
def test_a_file_of_answers_is_added_to_by_a_new_state(ending: str, tmp_path: Path) -> None:
    out = tmp_path / f"answers.{ending}"
    done(stream("--state", tmp_path / "s", "--out", out, given=text(PLAIN, 0, 50)))
    before = out.read_bytes()
    again = stream("--state", tmp_path / "new", "--out", out, given=text(PLAIN, 0, 50))
    done(again)
    assert "answers are added after its last line" in again.err
    header = before.partition(b"\n")[0] + b"\n" if ending == "csv" else b""
    assert out.read_bytes() == before + before.removeprefix(header)


def test_what_others_add_to_the_file_is_not_cut(tmp_path: Path) -> None:
    out = tmp_path / "answers.jsonl"
    done(stream("--state", tmp_path / "s", "--out", out, given=text(PLAIN, 0, 50)))
    with out.open("a") as file:
        file.write('{"note": "mine"}\n')
    before = out.read_bytes()
    refused = stream("--state", tmp_path / "s", "--out", out, given=text(PLAIN))
    assert isinstance(refused.error, StateError)
    assert out.read_bytes() == before
    elsewhere = stream("--state", tmp_path / "s", "--out", tmp_path / "more.jsonl", given=text(PLAIN))
    assert "resumed after 50 rows" in elsewhere.err  # the refused row was not learned
    assert len(lines_of(tmp_path / "more.jsonl")) == 70


def test_two_streams_do_not_write_one_file(tmp_path: Path) -> None:
    out = tmp_path / "answers.jsonl"
    with subprocess.Popen(
        [*COMMAND, "stream", "--state", str(tmp_path / "a"), "--out", str(out)], stdin=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True,
    ) as first:  # fmt: skip
        assert first.stdin is not None
        assert first.stderr is not None
        first.stderr.readline()  # it has begun
        refused = stream("--state", tmp_path / "b", "--out", out, given=text(PLAIN))
        first.stdin.write(text(PLAIN, 0, 10))
        first.stdin.close()
        assert first.wait() == 0
    assert isinstance(refused.error, LockedError)
    assert "is being written by another stream" in str(refused.error)
    assert len(lines_of(out)) == 10


@pytest.mark.parametrize("options", [[], ["--state", "s"]], ids=["alone", "kept"])
@pytest.mark.parametrize("out", [True, False], ids=["--out", "standard output"])
def test_the_input_is_not_its_own_output(options: list[str], out: bool, tmp_path: Path) -> None:
    given = tmp_path / "self.jsonl"
    given.write_text('{"y": 1}\n' * 50)
    before = given.read_bytes()
    with given.open("rb") as file, given.open("ab") as end:
        ended = subprocess.run(
            [*COMMAND, "stream", *options, *(["--out", str(given)] if out else [])], stdin=file,
            stdout=subprocess.DEVNULL if out else end, stderr=subprocess.PIPE, text=True, cwd=tmp_path, check=False,
        )  # fmt: skip
    assert ended.returncode == 2
    assert "is the file of standard input: every answer would be a row again" in ended.stderr
    assert given.read_bytes() == before


@pytest.mark.parametrize("n_good", [0, 1, 1000, 4096, 5000, 9000])
def test_a_row_without_an_answer_is_not_learned(n_good: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The disk of standard output is full after so many bytes."""
    whole = done(stream(given=text(PLAIN))).splitlines()
    file, state, real, n_left = tmp_path / "out", tmp_path / "s", os.write, n_good
    done(stream("--state", state, given=text(PLAIN, 0, 3)))

    def write(descriptor: int, content: Any) -> int:
        nonlocal n_left
        if os.readlink(f"/proc/self/fd/{descriptor}") != str(file):
            return real(descriptor, content)
        if n_left <= 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        n_left -= (n_written := real(descriptor, bytes(content)[: max(n_left, 24)]))
        return n_written

    with monkeypatch.context() as patch, file.open("w") as out:
        patch.setattr(os, "write", write)
        patch.setattr(sinks, "_descriptor", lambda _: out.fileno())
        failed = stream("--state", state, given=text(PLAIN))
    assert isinstance(failed.error, OSError)
    assert "standard output" in str(failed.error)
    n_answered = file.read_text().count("\n")
    rest = done(stream("--state", state, given=text(PLAIN))).splitlines()
    assert file.read_text().splitlines()[:n_answered] + rest == whole[3:]


def test_a_row_that_cannot_be_kept_is_not_answered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The store's disk is full."""
    whole = done(stream(given=text(PLAIN))).splitlines()
    done(stream("--state", tmp_path / "s", given=text(PLAIN, 0, 3)))

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(tmp_path / "s"))

    with monkeypatch.context() as patch:
        patch.setattr(Store, "append", full)
        failed = stream("--state", tmp_path / "s", given=text(PLAIN))
    assert (type(failed.error), failed.out) == (OSError, "")
    assert done(stream("--state", tmp_path / "s", given=text(PLAIN))).splitlines() == whole[3:]


@pytest.mark.parametrize(
    ("options", "number", "code"),
    [(["--state", "s"], signal.SIGTERM, 2), ([], signal.SIGINT, 130)],
    ids=["kept", "alone"],
)
def test_a_signal_ends_a_stream_whose_answers_nobody_reads(
    options: list[str], number: int, code: int, tmp_path: Path
) -> None:
    given = text(PLAIN, 0, 1) + "1.5\n" * 5000  # more answers than a pipe holds
    with subprocess.Popen(
        [*COMMAND, "stream", *options], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True, cwd=tmp_path,
    ) as process:  # fmt: skip
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        threading.Thread(target=_send, args=(process.stdin, given), daemon=True).start()
        wait_until_full(process.stdout)
        process.send_signal(number)
        assert process.wait(timeout=30) == code
        n_answered = process.stdout.read().count("\n")
        assert "stopped while standard output took no more" in process.stderr.read()
    assert 0 < n_answered < 5001
    if options:
        again = subprocess.run(
            [*COMMAND, "stream", *options], input=given, capture_output=True, text=True, cwd=tmp_path, check=True
        )
        assert n_answered + again.stdout.count("\n") == 5001


def wait_until_full(pipe: Any) -> None:
    """Wait until a pipe that nobody reads takes no more."""
    for _ in range(600):
        n_waiting = int.from_bytes(fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)), sys.byteorder)
        if n_waiting > fcntl.fcntl(pipe, fcntl.F_GETPIPE_SZ) - 4096:
            return
        time.sleep(0.1)
    raise AssertionError("the pipe was not filled")


def _send(to: Any, given: str) -> None:
    try:
        to.write(given)
        to.close()
    except OSError:  # the process has ended
        pass


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
def test_a_terminal_gets_no_character_that_it_would_obey(kind: str) -> None:
    ours, theirs = os.openpty()
    ended = subprocess.run(
        [*COMMAND, "stream", "--format", kind, "--id", "k\x1b[31m", "--model", "pa"], stdout=theirs,
        input="k\x1b[31m,y\n" + "a\x1b]0;owned\x07,1\n" * 3, text=True, check=False,
    )  # fmt: skip
    os.close(theirs)
    shown = os.read(ours, 100_000)
    os.close(ours)
    assert ended.returncode == 0
    assert b"owned" in shown
    assert b"\x1b" not in shown
    assert b"\x07" not in shown


def test_answers_in_a_file_keep_their_ids(tmp_path: Path) -> None:
    given = "k,y\n" + "a\x1b[31m,1\n" * 3
    assert "a\x1b[31m" in done(stream("--format", "csv", "--id", "k", given=given))
    done(stream("--id", "k", "--out", tmp_path / "answers.csv", given=given))
    assert "a\x1b[31m" in (tmp_path / "answers.csv").read_text()


def rotated(out: Path) -> list[str]:
    """Return the lines of all files into which answers were rotated, and of the newest, each with one header."""
    files = [*sorted(out.parent.glob(f"{out.stem}.[0-9]*{out.suffix}")), out]
    every = [lines_of(file) for file in files]
    return every[0] + [line for lines in every[1:] for line in lines[out.suffix == ".csv" :]]


@pytest.mark.parametrize("ending", ["csv", "jsonl"])
@settings(max_examples=15, deadline=None)
@given(cut=st.integers(0, 120), size=st.sampled_from(["300", "1k", "5kB", "1MB"]), every=st.sampled_from([5, 1000]))
def test_a_file_is_rotated_and_no_answer_is_lost_or_repeated(
    ending: str, cut: int, size: str, every: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    work = tmp_path_factory.mktemp("work")
    out = work / f"answers.{ending}"
    options = [*TIMED, "--out", str(out), "--rotate", size]
    killed_after(work / "s", options, text(DATED, 0, cut), every)
    done(stream(*options, "--state", work / "s", given=text(DATED)))
    assert rotated(out) == whole_answers(work, ending, TIMED, DATED)
    files = [out, *work.glob("answers.0*")]
    bound = {"300": 300, "1k": 1000, "5kB": 5000, "1MB": 10**6}[size]
    longest = max(len(line) for line in rotated(out)) + 1
    assert max(file.stat().st_size for file in files) <= bound + longest
    if size == "300":
        assert len(files) > 1


@pytest.mark.parametrize("ending", ["csv", "jsonl"])
@pytest.mark.parametrize("stage", ["renamed", "begun"])
def test_a_kill_in_the_middle_of_a_rotation_costs_nothing(
    ending: str, stage: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file was moved away, or the new one begun as well, and the state does not know of it yet."""
    out = tmp_path / f"answers.{ending}"
    options = [*TIMED, "--out", str(out)]
    killed_after(tmp_path / "s", options, text(DATED, 0, 60), 40)
    out.rename(tmp_path / f"answers.000001.{ending}")
    if stage == "begun":
        header = lines_of(tmp_path / "answers.000001.csv")[0] + "\n" if ending == "csv" else ""
        out.write_text(header)
    done(stream(*options, "--state", tmp_path / "s", given=text(DATED)))
    assert rotated(out) == whole_answers(tmp_path, ending, TIMED, DATED)


@pytest.mark.parametrize("is_moved", [True, False], ids=["by logrotate", "by the stream"])
def test_sighup_rotates_the_file(is_moved: bool, tmp_path: Path) -> None:
    out = tmp_path / "answers.jsonl"
    command = [*COMMAND, "stream", *TIMED, "--state", str(tmp_path / "s"), "--out", str(out)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        process.stdin.write(text(DATED, 0, 60))
        process.stdin.flush()
        wait_for(lambda: out.exists() and out.read_text().count("\n") == 60)
        moved = tmp_path / "answers.000001.jsonl"
        if is_moved:
            out.rename(moved)
        process.send_signal(signal.SIGHUP)
        wait_for(lambda: moved.exists() and out.exists())
        process.stdin.write("\n".join(DATED[61:]) + "\n")
        process.stdin.close()
        assert process.wait(timeout=60) == 0
    assert len(lines_of(moved)) == len(lines_of(out)) == 60
    assert rotated(out) == whole_answers(tmp_path, "jsonl", TIMED, DATED)


def wait_for(condition: Callable[[], bool]) -> None:
    for _ in range(600):
        if condition():
            return
        time.sleep(0.1)
    raise AssertionError("it did not happen")


@pytest.mark.parametrize("n_bytes", [500, 2500, 3000])
def test_a_full_disk_takes_back_whole_records(n_bytes: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Steps of a gap belong to the row after them: they are learned with it, or again with it."""
    given = "t,y\n" + "".join(f"{5 * i},{i % 7}\n" for i in range(60))
    options = ("--time", "t", "--freq", "1", "--lags", "1")
    whole = done(stream(*options, given=given)).splitlines()
    file, n_left, real = tmp_path / "out", n_bytes, os.write

    def write(descriptor: int, content: Any) -> int:
        nonlocal n_left
        if os.readlink(f"/proc/self/fd/{descriptor}") != str(file):
            return real(descriptor, content)
        n_left -= len(content)
        if n_left < 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(descriptor, content)

    with monkeypatch.context() as patch, file.open("w") as out:
        patch.setattr(sinks, "PIPE_BUF", 50)
        patch.setattr(os, "write", write)
        patch.setattr(sinks, "_descriptor", lambda _: out.fileno())
        assert isinstance(stream(*options, "--state", tmp_path / "s", given=given).error, OSError)
    n_answered = file.read_text().count("\n")
    assert 0 < n_answered < 59
    rest = done(stream(*options, "--state", tmp_path / "s", given=given)).splitlines()
    assert file.read_text().splitlines()[:n_answered] + rest == whole
