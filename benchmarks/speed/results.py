"""What was measured, kept as JSON so that two commits can be compared."""

import json
import os
import platform
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path

from benchmarks.speed import peers
from benchmarks.speed.builds import git
from benchmarks.speed.timing import NotAvailable

FORMAT = 1
BUSY = 0.75
"""Load average from which on other processes are likely to disturb the times."""
MICROSECONDS, ROWS_A_SECOND, MEGABYTES, DIFFERENCE = "µs", "rows/s", "MB", "difference"


@dataclass(frozen=True)
class Measurement:
    """One result."""

    value: float | None
    """None if it was not measured."""
    unit: str = MICROSECONDS
    note: str = ""
    """Why it was not measured."""
    rows: int | None = None
    mae: float | None = None
    """Mean absolute error of the forecasts made while the clock ran, over the second half of the stream."""
    mae_of_mean: float | None = None
    learned: bool | None = None


@dataclass
class Results:
    """All results of one run."""

    commit: str
    date: str = ""
    machine: str = ""
    load: float | None = None
    """How many processes wanted a core when the run began, by the machine's load average; None if it has none."""
    is_quick: bool = False
    """Whether it was a run of about a minute, whose times are less sure."""
    versions: dict[str, str] = field(default_factory=dict)
    baseline: str | None = None
    """The commit that this one was timed beside."""
    configurations: dict[str, str] = field(default_factory=dict)
    """What each build says about its instruction sets."""
    measurements: dict[str, Measurement] = field(default_factory=dict)

    def value(self, key: str) -> float | None:
        """Return a measured value; None if there is none."""
        found = self.measurements.get(key)
        return None if found is None else found.value

    def save(self, path: Path) -> None:
        """Write the results as JSON."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({"format": FORMAT} | asdict(self), indent=1, ensure_ascii=False) + "\n")

    @property
    def doubts(self) -> str:
        """Why the times are less sure than they could be, in a sentence; empty if there is no reason."""
        reasons = ["a quick run"] if self.is_quick else []
        if self.load is not None and self.load > BUSY:
            reasons.append(f"a machine that {self.load:.0f} other processes used meanwhile")
        return f"These times are of {' on '.join(reasons)}, and less sure for it." if reasons else ""


def load(path: Path) -> Results:
    """Return the results of a file."""
    kept = json.loads(path.read_text())
    if kept.pop("format", None) != FORMAT:
        raise ValueError(f"{path} is not of format {FORMAT}; run make bench at that commit again.")
    measurements = {key: Measurement(**value) for key, value in kept.pop("measurements").items()}
    return Results(**kept, measurements=measurements)


def new_results(*, is_quick: bool) -> Results:
    """Return empty results of this commit, on this machine."""
    return Results(
        load=os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
        is_quick=is_quick,
        commit=current_commit(),
        date=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        machine=f"{_processor()}, {os.cpu_count()} cores",
        versions={"python": platform.python_version()} | _versions(),
    )


def current_commit() -> str:
    """Return the short name of the commit, marked if files differ from it."""
    try:
        return git("rev-parse", "--short=10", "HEAD") + ("-changed" if git("status", "--porcelain") else "")
    except NotAvailable:
        return "unknown"


def ratios(before: Mapping[str, Measurement], after: Mapping[str, Measurement]) -> dict[str, tuple[float, float]]:
    """Return the times, before and after, of what both measured in microseconds."""
    found = {}
    for key, old in before.items():
        new = after.get(key)
        if new is not None and old.unit == new.unit == MICROSECONDS and old.value and new.value:
            found[key] = (old.value, new.value)
    return found


def _processor() -> str:
    if sys.platform == "linux":
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


def _versions() -> dict[str, str]:
    found = {}
    for name in ("numpy", "scipy", *peers.DISTRIBUTIONS):
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            found[name] = "not installed"
    return found
