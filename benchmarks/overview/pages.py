"""The tables of the pages that other benchmarks wrote."""

import re
from pathlib import Path

Table = dict[str, dict[str, str]]
"""Cells by row, then by column."""


def tables(path: Path) -> dict[str, Table]:
    """Return the first table below each heading of a page; nothing where the page is not there."""
    found: dict[str, Table] = {}
    section = heading = ""
    for block in path.read_text(encoding="utf-8").split("\n\n") if path.exists() else ():
        for line in block.splitlines():
            if line.startswith("#"):
                heading = line.lstrip("# ")
                section = heading if line.startswith("## ") else section
        lines = [line for line in block.splitlines() if line.startswith("|")]
        if len(lines) > 2:
            table = _parse(lines)
            found.setdefault(section, table)
            found.setdefault(heading, table)
    return found


def _parse(lines: list[str]) -> Table:
    head, _, *rows = ([cell.strip() for cell in line.strip("|").split("|")] for line in lines)
    return {row[0]: dict(zip(head[1:], row[1:], strict=True)) for row in rows}


def number(cell: str) -> float | None:
    """Return the first number of a cell, without its unit; None if there is none."""
    match = re.search(r"-?[\d,]*\.?\d+", cell)
    return None if match is None else float(match[0].replace(",", ""))


def anchor(heading: str) -> str:
    """Return the address of a heading within its page, as GitHub makes it."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
