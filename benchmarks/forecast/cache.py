"""Forecasts of other libraries, kept in a file: they are slow, and change only when the library does."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.forecast.measures import Outlook
from benchmarks.forecast.problems import Problem


class Cache:
    """One line of JSON for each problem, rival and version of the library.

    Parameters
    ----------
    path
        Appended to as forecasts come, so that a run that was stopped goes on where it was.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._found: dict[tuple[str, str, str, str], dict[str, Any]] = {}
        for line in path.read_text().splitlines() if path.exists() else ():
            if line.endswith("}"):  # the last one may be cut
                kept = json.loads(line)
                self._found[kept["problem"], kept["digest"], kept["rival"], kept["version"]] = kept

    def get(self, problem: Problem, rival: str, version: str) -> Outlook | None:
        """Return a forecast that was kept; None if there is none."""
        kept = self._found.get((problem.name, problem.digest, rival, version))
        if kept is None or kept["point"] is None:
            return None
        return Outlook(np.array(kept["point"]), np.array(kept["quantiles"]), kept["seconds"])

    def has(self, problem: Problem, rival: str, version: str) -> bool:
        """Return whether the rival was asked, and answered or failed."""
        return (problem.name, problem.digest, rival, version) in self._found

    def add(self, problem: Problem, rival: str, version: str, outlook: Outlook | None) -> None:
        """Keep a forecast, or None where the rival failed."""
        kept = {"problem": problem.name, "digest": problem.digest, "rival": rival, "version": version} | (
            {"point": None}
            if outlook is None
            else {
                "seconds": outlook.seconds,
                "point": outlook.point.tolist(),
                "quantiles": [[float(f"{value:.8g}") for value in row] for row in outlook.quantiles],
            }
        )
        self._found[problem.name, problem.digest, rival, version] = kept
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._path.open("a") as file:
            file.write(json.dumps(kept) + "\n")

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self._found.values())
