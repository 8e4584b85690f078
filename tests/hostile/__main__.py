"""Send hostile requests to `adabypass serve`: `make test-serve-hostile`.

By schemathesis, from the service's own description; and by hand what no client library would send. No answer may be an
error of the server or say anything of its inside, and what was acknowledged must be there at the end.
"""

import argparse
import json
import random
import re
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections import Counter
from pathlib import Path
from typing import Any

from tests.cli.serving import post, started

TOKEN = "0123456789abcdef-hostile"
INSIDE = (b"Traceback", b"site-packages", b"sqlite", b"/src/", TOKEN.encode())
"""What no answer may hold."""
EXCLUDED = ("/events", "/session")
"""Paths that schemathesis leaves out: a stream that does not end, and one that gives the cookie back."""


def by_hand(port: int, n: int, seed: int) -> Counter[int]:
    """Send requests that no library would; return the statuses."""
    chance, found = random.Random(seed), Counter[int]()
    for _ in range(n):
        answer = exchange(port, hostile_request(chance))
        status = re.match(rb"HTTP/1\.1 (\d{3}) ", answer)
        assert answer == b"" or status is not None, answer[:200]
        code = 0 if status is None else int(status[1])
        assert code < 500, answer[:500]
        assert not any(each in answer for each in INSIDE), answer[:2000]
        found[code] += 1
    return found


def hostile_request(chance: random.Random) -> bytes:
    """Return a request: each part of it sometimes wrong."""
    token = chance.choice([TOKEN] * 6 + ["", "x", TOKEN[:-1], TOKEN + "x", "é", "\x00"])
    host = chance.choice(["localhost"] * 8 + ["evil.example", "", "[::1", "localhost:1:2", "\xff"])
    kind = chance.choice(["application/json"] * 6 + ["application/x-ndjson", "text/plain", "", "application/json;" * 9])
    method = chance.choice(["GET", "POST", "PUT", "DELETE", "HEAD", "OPTIONS", "PATCH", "TRACE", "G E T", "\x00"])
    body = hostile_body(chance)
    length = chance.choice([len(body)] * 400 + [len(body) + 5, max(0, len(body) - 3), -1, 10**20])
    head = [
        f"{method} {hostile_path(chance)} HTTP/1.1", f"host: {host}", f"authorization: Bearer {token}",
        f"content-type: {kind}", f"content-length: {length}", "connection: close",
        *chance.choice([[]] * 60 + [["last-event-id: x"], ["idempotency-key: " + "k" * 300], ["x: " + "a" * 40_000],
                                   ["transfer-encoding: chunked"], ["cookie: adabypass=x; \x01"]]),
    ]  # fmt: skip
    return "\r\n".join(head).encode("latin-1", "replace") + b"\r\n\r\n" + body


def hostile_path(chance: random.Random) -> str:
    """Return a path."""
    ids = ["a", "..", "%2e%2e", "%2F..%2F..%2Fetc%2Fpasswd", "%00", "%ff", "%", "a%0d%0ax:%20y", "<script>", "a" * 5000,
           "'%20OR%201=1--", "%F0%9F%92%A9"]  # fmt: skip
    ends = ["", "/forecast?horizon=", "/answers?limit=", "/changes?limit=", "/explain", "/observations", "/../../x",
            "/forecast?levels=", "/forecast?quantiles=", "/answers?before="]  # fmt: skip
    values = ["", "0", "1", "-1", "1e9", "99999999999999999999", "nan", "0.5,0.9", "0.5," * 50, "%00", "١"]
    one = f"/series/{chance.choice(ids)}{chance.choice(ends)}"
    value = chance.choice(values)
    return chance.choice([
        f"{one}{value if one.endswith('=') else ''}", f"/observations?horizon={value}", f"/series?sort={value}",
        f"/series?search={chance.choice(ids)}", f"/events?series={chance.choice(['%5B', '%5B1', 'a,' * 200])}&after=x",
        "/page/../../../etc/passwd", "/page/%2e%2e/asset", "//", "/metrics", "*", "http://evil.example/series",
    ])  # fmt: skip


def hostile_body(chance: random.Random) -> bytes:
    """Return a body."""
    cells = ["1", "null", "NaN", "1e999", "-Infinity", '"1"', "true", "[]", "{}", "9" * 400, "9" * 5000, "1e308"]
    times = [
        "1",
        "null",
        '"2026-01-01"',
        '"yesterday"',
        "1e300",
        "-1e300",
        '"9999-12-31T23:59:59Z"',
        '"0001-01-01"',
        "[]",
    ]
    ids = [
        '"a"',
        '"\\ud800"',
        '"\\u0000"',
        '""',
        "1",
        "null",
        "[1]",
        '"<img src=x onerror=alert(1)>"',
        f'"{"i" * 300}"',
    ]
    row = f'{{"id":{chance.choice(ids)},"y":{chance.choice(cells)},"time":{chance.choice(times)}}}'
    return chance.choice([
        row.encode(), f"[{row},{row}]".encode(), f"{row}\n{row}".encode(), b"[" * 50_000, b"\xff\xfe", b"", b"{",
        b'{"id":"a","y":1,"__proto__":{}}', b"[" + b"0," * 20_000 + b"0]", b"x" * 2_000_000,
    ])  # fmt: skip


def exchange(port: int, request: bytes) -> bytes:
    """Send bytes; return what comes back."""
    with socket.create_connection(("127.0.0.1", port), 0.5) as connection:
        found = b""
        try:
            connection.sendall(request)
            while part := connection.recv(1 << 16):
                found += part
        except OSError:  # reset, or waited for more than was sent
            pass
        return found


def slowly(port: int) -> bytes:
    """Send a body that does not arrive; return the answer."""
    head = f"POST /observations HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {TOKEN}\r\n"
    with socket.create_connection(("127.0.0.1", port), 30) as connection:
        connection.sendall(f"{head}content-type: application/json\r\ncontent-length: 100\r\n\r\n[".encode())
        return connection.recv(1 << 16)


def by_schemathesis(address: str, seconds: int, seed: int) -> str:
    """Let schemathesis generate requests for so long; return its report."""
    excluded = [option for path in EXCLUDED for option in ("--exclude-path", path)]
    excluded += ["--exclude-method", "DELETE"]  # it would delete what is looked at afterwards
    command = [
        str(Path(sys.executable).with_name("schemathesis")), "run", f"{address}/openapi.json", *excluded,
        "--header", f"Authorization: Bearer {TOKEN}", "--checks", "not_a_server_error", "--max-examples", "1000000",
        "--max-time", str(seconds), "--phases", "coverage,fuzzing", "--seed", str(seed), "--no-color",
        "--suppress-health-check", "all", "--warnings", "off", "--generation-database", ":memory:",
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    return done.stdout


def get(address: str, path: str) -> Any:
    """Ask with the token."""
    request = urllib.request.Request(f"{address}{path}", headers={"authorization": f"Bearer {TOKEN}"})
    with urllib.request.urlopen(request, timeout=60) as found:
        return found.read().decode()


def main() -> None:
    """Send all requests; the first answer that must not be ends with an error."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, default=900, help="Of schemathesis.")
    parser.add_argument("--by-hand", type=int, default=95_000, help="Requests by hand.")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        token = Path(folder) / "token"
        token.write_text(TOKEN)
        with started("serve", "--token-file", token, "--state", Path(folder) / "state", "--rate", 1_000_000,
                     "--max-series", 2_000) as (process, address):  # fmt: skip
            attack(process, address, arguments)


def attack(process: "subprocess.Popen[str]", address: str, arguments: argparse.Namespace) -> None:
    """Send all requests to a service, and look at what is there afterwards."""
    port = int(address.rpartition(":")[2])
    rows = [{"id": "kept", "time": i, "y": float(i % 7)} for i in range(200)]
    kept = post(address, rows, TOKEN)["answers"]
    begun = time.monotonic()
    print("by hand:", dict(sorted(by_hand(port, arguments.by_hand, arguments.seed).items())), flush=True)
    assert b" 408 " in slowly(port)
    print(by_schemathesis(address, arguments.seconds, arguments.seed)[-1500:], flush=True)
    statuses = dict(re.findall(r'responses_total\{status="(\d+)"\} (\d+)', get(address, "/metrics")))
    assert not any(status.startswith("5") for status in statuses), statuses
    assert process.poll() is None
    assert get(address, "/readyz") == '{"status":"ready"}'
    found = json.loads(get(address, "/series/kept/answers?limit=5000"))["answers"]
    assert found == [{name: each[name] for name in each if name != "status"} for each in kept]
    print(f"{sum(map(int, statuses.values())):,} requests answered: {statuses}; {time.monotonic() - begun:.0f} s")


if __name__ == "__main__":
    main()
