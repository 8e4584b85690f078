"""`adabypass serve` and `adabypass watch`, as a shell runs them."""

import signal
import socket
import struct
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.cli.in_process import program
from tests.cli.serving import get, post, started, until, written


def test_what_was_answered_is_there_after_a_kill_and_a_client_that_leaves_ends_nothing(tmp_path: Path) -> None:
    rows = [{"id": "a", "time": i, "y": float(i % 5)} for i in range(40)]
    with started("serve", "--model", "lag", "--state", tmp_path / "state") as (process, address):
        sent = post(address, rows)
        port = int(address.rpartition(":")[2])
        for _ in range(3):  # connections that are reset while events are written
            with socket.create_connection(("127.0.0.1", port)) as rude:
                rude.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                rude.sendall(f"GET /events?after=0 HTTP/1.1\r\nhost: localhost:{port}\r\n\r\n".encode())
        assert get(address, "/readyz") == {"status": "ready"}
        process.kill()
        process.wait()
    with started("serve", "--model", "lag", "--state", tmp_path / "state") as (process, address):
        found = get(address, "/series/a/answers")["answers"]
        assert found == [{name: each[name] for name in each if name != "status"} for each in sent["answers"]]
        assert post(address, rows)["repeated"] == 40
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 0


def test_ctrl_c_ends_it_while_a_page_follows(tmp_path: Path) -> None:
    with started("serve") as (process, address):
        port = int(address.rpartition(":")[2])
        with socket.create_connection(("127.0.0.1", port)) as page:
            page.sendall(f"GET /events HTTP/1.1\r\nhost: localhost:{port}\r\n\r\n".encode())
            assert b"200 OK" in page.recv(100)
            process.send_signal(signal.SIGINT)
            assert process.wait(4) == 130


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["serve", "--host", "0.0.0.0"], "--token-file"),
        (["serve", "--host", "192.0.2.1"], "--token-file"),
        (["serve", "--lags", "1", "--period", "7"], "--period is for"),
        (["watch", "nothing.csv"], "no such file, folder or data set"),
        (["watch", "--target", ""], "names no column"),
        (["watch", "--target", "a", "--id", "a,a"], "twice"),
    ],
)
def test_mistakes_are_named(arguments: list[str], words: str) -> None:
    done = program(*arguments)
    assert done.returncode == 2
    assert words in done.stderr


def test_a_port_in_use_and_a_short_token_are_named(tmp_path: Path) -> None:
    token = written(tmp_path / "token", ["short"])
    assert "16 or more" in program("serve", "--token-file", str(token)).stderr
    with socket.create_server(("127.0.0.1", 0)) as taken:
        done = program("serve", "--port", str(taken.getsockname()[1]))
    assert (done.returncode, "cannot listen" in done.stderr or "in use" in done.stderr) == (2, True)


def test_a_data_set_is_replayed() -> None:
    with started("watch", "--replay", "100000", "--no-open", "nile") as (_, address):
        found = until(address, "/series/nile", lambda each: each["last"] and each["last"]["time"] == 1284)
    assert found["unit"] == "m"
    assert found["last"]["number"] == 663


def newest(found: Any, field: str) -> list[Any]:
    """Return a field of the newest answer of each series that has one: its series is there a moment earlier."""
    return [each["last"][field] for each in found["series"] if each["last"]]


def test_a_file_that_grows_is_followed_and_goes_on_after_a_restart(tmp_path: Path) -> None:
    rows = [f"2026-01-01T{i:02d}:00,{host},{i}.5" for i in range(20) for host in "ab"]
    log = written(tmp_path / "log.csv", ["t,host,load", *rows[:20], "2026-01-01T09:30,a,broken"])
    options = ("--target", "load", "--id", "host", "--time", "t", "--no-open", "--state", tmp_path / "state")
    with started("watch", log, *options) as (process, address):
        until(address, "/series", lambda found: newest(found, "number") == [19, 20])
        written(log, rows[20:30])
        until(address, "/series", lambda found: newest(found, "number") == [29, 30])
        process.kill()
        process.wait()
    written(log, rows[30:])
    with started("watch", log, *options) as (_, address):
        until(address, "/series", lambda found: newest(found, "number") == [39, 40])
        found = get(address, "/series/b/answers")["answers"]
    assert [each["time"] for each in found] == [f"2026-01-01T{i:02d}:00" for i in range(20)]
    with started("watch", tmp_path / "state", "--no-open") as (_, address):
        assert get(address, "/series/b/answers")["answers"] == found


def test_standard_input_is_watched_and_its_page_stays() -> None:
    with started("watch", "--target", "load,heat", "--no-open", stdin=subprocess.PIPE) as (process, address):
        assert process.stdin is not None
        process.stdin.write('{"load": 1, "heat": 2}\n{"load": 2}\n{"load": null, "heat": 3}\n')
        process.stdin.flush()
        found = until(address, "/series", lambda found: 3.0 in newest(found, "y"))
        process.stdin.close()
        assert process.poll() is None
    assert {each["id"]: each["last"]["y"] for each in found["series"]} == {"heat": 3.0, "load": None}
