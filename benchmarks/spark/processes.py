"""Processor time of this process and of all that it has started, Java and its workers among them."""

import os
from pathlib import Path

TICKS = os.sysconf("SC_CLK_TCK")


def cpu_seconds() -> float:
    """Return the processor time so far; that of processes which have ended is their parents'."""
    parents: dict[int, int] = {}
    spent: dict[int, float] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
        except OSError:  # it has just ended
            continue
        number = int(folder.name)
        parents[number] = int(fields[1])
        spent[number] = sum(map(int, fields[11:15])) / TICKS
    own = os.getpid()
    return sum(seconds for number, seconds in spent.items() if _descends(number, own, parents))


def _descends(number: int, ancestor: int, parents: dict[int, int]) -> bool:
    """Check whether a process is another one, or was started by it or by one that it started."""
    while number not in (ancestor, 0):
        number = parents.get(number, 0)
    return number == ancestor
