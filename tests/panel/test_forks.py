"""A forked process neither changes the rows of the other one, nor waits for threads that it does not have."""

import subprocess
import sys
from pathlib import Path

import pytest

BEGIN = """
import os, sys, threading, time
import numpy as np
from adabypass import Forecaster, Panel
from adabypass.errors import ConcurrentUseError
from adabypass.panel import threads
threads.CHUNK = 100
y = np.random.default_rng(0).normal(size=(40, 400))

def forked(work):
    child = os.fork()
    if child == 0:
        try:
            work()
            code = 0
        except ConcurrentUseError as error:
            code = 7 if "forked" in str(error) else 8
        except BaseException as error:
            print(repr(error), file=sys.stderr)
            code = 9
        os._exit(code)
    for _ in range(200):
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.1)
    os.kill(child, 9)
    os.waitpid(child, 0)
    return "waits"
"""
"""In a process of its own: this one may have threads of pytest's."""


def run(code: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", BEGIN + code], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


@pytest.mark.parametrize("rows_in", [False, True], ids=["memory", "file"])
def test_what_a_child_learns_is_its_own_or_refused(rows_in: bool, tmp_path: Path) -> None:
    folder = repr(str(tmp_path)) if rows_in else "None"
    codes = run(f"""
panel = Panel(Forecaster(lags=1), ids=list(range(40)), rows_in={folder}, n_threads=2)
panel.run(y)
before = panel.to_bytes()
works = [lambda: panel.update([0] * 50, np.full(50, 1e3)), lambda: panel.run(y), lambda: panel[3],
         lambda: panel.copy().update([1], [1.0]), lambda: panel.predict(), lambda: panel.add(["new"])]
print(*(forked(work) for work in works))
print(panel.to_bytes() == before)
""")
    assert codes == [*(["7"] * 6 if rows_in else ["0"] * 6), "True"]


def test_a_panel_in_a_file_that_is_made_after_the_fork_is_the_child_s_own(tmp_path: Path) -> None:
    codes = run(f"""
empty = Panel(Forecaster(lags=1), rows_in={str(tmp_path)!r})
print(forked(lambda: Panel(Forecaster(lags=1), rows_in={str(tmp_path)!r}).run(y)), forked(lambda: empty.run(y)))
""")
    assert codes == ["0", "0"]


def test_a_fork_while_another_thread_runs_the_panel_is_told_so_and_others_work() -> None:
    codes = run("""
panel, other = Panel(Forecaster(lags=1), n_threads=2), Panel(Forecaster(lags=1), n_threads=2)
begun = threading.Event()
runner = threading.Thread(target=lambda: [panel.run(y, progress=lambda n: begun.set()) for _ in range(20)])
runner.start()
begun.wait()
while not panel._exclusive._lock.locked():
    pass
print(forked(lambda: panel.predict()), forked(lambda: other.run(y)))
runner.join()
print(forked(lambda: panel.predict()), panel.n_seen[0])
""")
    assert codes[0] in ("7", "0")  # 0 if the run had ended between the two steps
    assert codes[1:3] == ["0", "0"]
    assert int(codes[3]) == 20 * 400 - 1


def test_a_fork_from_within_a_threaded_run_ends_in_the_child_and_goes_on_in_the_parent() -> None:
    codes = run("""
panel, parent, child = Panel(Forecaster(lags=1), n_threads=2), os.getpid(), []
def fork_once(n):
    if not child:
        child.append(os.fork())
try:
    panel.run(y, progress=fork_once)
except ConcurrentUseError as error:
    assert os.getpid() != parent and "forked" in str(error)
    try:
        panel.predict()
    except ConcurrentUseError as error:
        os._exit(7 if "forked" in str(error) else 8)
    os._exit(9)
if os.getpid() != parent:
    os._exit(6)
for _ in range(200):
    done, status = os.waitpid(child[0], os.WNOHANG)
    if done:
        break
    time.sleep(0.1)
else:
    os.kill(child[0], 9)
print(os.waitstatus_to_exitcode(status) if done else "waits")
alone = Panel(Forecaster(lags=1), n_threads=1)
alone.run(y)
print(alone.to_bytes() == panel.to_bytes())
""")
    assert codes == ["7", "True"]
