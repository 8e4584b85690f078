"""Builds of the library side by side: this one, an older commit's, and this one under each instruction set."""

import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.speed import worker
from benchmarks.speed.timing import NotAvailable, Sample, Task

ROOT = Path(__file__).parents[2]
SIMD_VARIABLE = "ADABYPASS_SIMD"
"""The environment variable that forces an instruction set."""
CURRENT, BASELINE = "this build", "baseline commit"


class Build(NamedTuple):
    """A build to time, and how its process is started."""

    name: str
    site: Path | None
    """Folder that it is installed in; None for the virtual environment's own."""
    simd: str | None
    tasks: tuple[str, ...]


def git(*arguments: str) -> str:
    """Return what git says about this repository."""
    done = subprocess.run(["git", "-C", str(ROOT), *arguments], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise NotAvailable(f"git {arguments[0]}: {done.stderr.strip()}")
    return done.stdout.strip()


def check_installed(source: Path, installed: Path) -> None:
    """Check that the installed package was built from these sources, and not from older ones."""
    for path in sorted(source.rglob("*.py")):
        twin = installed / path.relative_to(source)
        if not twin.exists() or twin.read_bytes() != path.read_bytes():
            raise NotAvailable(
                f"{installed} was not built from {source}: {path.relative_to(source)} differs; "
                "remove .venv/installed and run make setup."
            )


def build_commit(commit: str, folder: Path) -> Path:
    """Build a commit in a temporary worktree, unless it was built before; return where it is installed."""
    sha = git("rev-parse", "--verify", f"{commit}^{{commit}}")
    site = folder / f"site-{sha[:12]}-{sys.implementation.cache_tag}-numpy{np.__version__}"
    if (site / "adabypass").exists():
        return site
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])  # where meson and ninja are
    with tempfile.TemporaryDirectory() as temporary:
        tree = Path(temporary) / "tree"
        git("worktree", "add", "--detach", "--force", str(tree), sha)
        try:
            unfinished = site.with_name(site.name + ".unfinished")
            shutil.rmtree(unfinished, ignore_errors=True)
            done = subprocess.run(
                [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps",
                 "--no-build-isolation", "--target", unfinished, tree],
                capture_output=True, text=True, check=False, env=os.environ | {"PATH": path},
            )  # fmt: skip
            if done.returncode != 0:
                raise NotAvailable(f"commit {commit} cannot be built:\n{done.stdout}{done.stderr}")
            unfinished.rename(site)
        finally:
            git("worktree", "remove", "--force", str(tree))
    return site


def instruction_sets() -> list[str]:
    """Return the instruction sets of this machine that the library may have been compiled for."""
    if platform.machine().lower() in {"aarch64", "arm64"}:
        return ["baseline", "neon"]
    try:
        flags = set(Path("/proc/cpuinfo").read_text().split())
    except OSError:
        flags = set()
    found = {"baseline"} | {name for name, flag in (("avx2", "avx2"), ("avx512", "avx512f")) if flag in flags}
    return sorted(found, key=("baseline", "avx2", "avx512").index)


def builds(commit: str | None, folder: Path) -> list[Build]:
    """Return the builds to time; those for instruction sets run AutoBypass alone."""
    everything = worker.RUN_TASKS + worker.INTERVAL_TASKS + worker.MATRIX_TASKS
    found = [Build(CURRENT, None, None, everything)]
    if commit is not None:
        found.append(Build(BASELINE, build_commit(commit, folder), None, everything))
    return found + [Build(f"{SIMD_VARIABLE}={name}", None, name, worker.RUN_TASKS) for name in instruction_sets()]


class Worker:
    """A process that times one build, asked by name."""

    def __init__(self, build: Build) -> None:
        paths = [str(path) for path in (build.site, ROOT) if path is not None]
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(paths)}
        environment.pop(SIMD_VARIABLE, None)
        if build.simd is not None:
            environment[SIMD_VARIABLE] = build.simd
        self.build = build
        self.process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.speed.worker"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment, cwd=tempfile.gettempdir(),
        )  # fmt: skip
        loaded = self._answer()
        self.config = str(loaded["config"])
        if build.site is not None and not Path(loaded["path"]).is_relative_to(build.site):
            self.close()
            raise NotAvailable(f"{build.name} was to be loaded from {build.site}, but came from {loaded['path']}")

    def ask(self, name: str) -> dict[str, Any]:
        """Return the worker's answer to a name."""
        assert self.process.stdin is not None
        self.process.stdin.write(f"{name}\n")
        self.process.stdin.flush()
        return self._answer()

    def _answer(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"the process of {self.build.name} ended with exit code {self.process.wait()}")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def close(self) -> None:
        """Let the process end."""
        self.process.communicate()


@contextmanager
def workers(wanted: Sequence[Build]) -> Iterator[list[Worker]]:
    """Start a process for each build, and end them all."""
    with ExitStack() as stack:
        started = []
        for build in wanted:
            started.append(Worker(build))
            stack.callback(started[-1].close)
        yield started


def tasks(started: Sequence[Worker]) -> list[Task]:
    """Return the tasks of all builds, the same task of every build next to each other."""
    names = dict.fromkeys(name for each in started for name in each.build.tasks)
    return [
        Task(f"build/{each.build.name}/{name}", _remote(each, name), worker.per(name))
        for name in names
        for each in started
        if name in each.build.tasks
    ]


def _remote(each: Worker, name: str) -> Callable[[], Sample]:
    def once() -> Sample:
        return Sample(each.ask(name)["seconds"])

    return once


def agreement(started: Sequence[Worker]) -> dict[str, float]:
    """Compare AutoBypass's forecasts between builds: the largest difference from this build's, over all streams.

    Of means in units of the forecast's standard deviation, of variances relative, of log scores absolute.
    """
    with tempfile.TemporaryDirectory() as folder:
        kept: dict[str, dict[str, Any]] = {}
        for each in started:
            path = Path(folder) / f"{len(kept)}.npz"
            each.ask(f"save {path}")
            with np.load(path) as arrays:
                kept[each.build.name] = dict(arrays)
    ours = kept.pop(CURRENT)
    return {f"agreement/{name}": _largest_difference(ours, theirs) for name, theirs in kept.items()}


def _largest_difference(ours: dict[str, Any], theirs: dict[str, Any]) -> float:
    differences = []
    for d in worker.AGREEMENT_SIZES:
        a, b = ([arrays[f"{name} {d}"] for name in ("mean", "var", "log_score")] for arrays in (ours, theirs))
        seen = np.isfinite(b[1])
        if not all(np.array_equal(np.isfinite(mine), np.isfinite(other)) for mine, other in zip(a, b, strict=True)):
            return float("inf")
        differences += [
            np.abs(a[0] - b[0])[seen] / np.sqrt(b[1][seen]),
            np.abs(a[1][seen] / b[1][seen] - 1),
            np.abs(a[2] - b[2])[np.isfinite(b[2])],
        ]
    return float(np.concatenate(differences).max())
