"""Every cell of docs/paper.md is filled, and what it names exists: equations, functions, tests and pages."""

import ast
import importlib
import re
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs/paper.md"
EQUATIONS = (ROOT / "docs/equations.md").read_text()
COLUMNS = ["what it is", "our letter", "equation", "function", "test", "page"]


def rows() -> list[list[str]]:
    """Return the cells of every line of the tables that name functions."""
    found, is_wanted = [], False
    for line in PAGE.read_text().splitlines():
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        if not cells:
            is_wanted = False
        elif cells[1:] == COLUMNS:
            is_wanted = True
        elif is_wanted and not set(cells[0]) <= {"-"}:
            found.append(cells)
    return found


ROWS = rows()
every_row = pytest.mark.parametrize("row", ROWS, ids=[row[0] for row in ROWS])


def numbers(cell: str) -> list[str]:
    """Return the numbers of the equations that a cell names, those of a range one by one."""
    for first, last in re.findall(r"\((\d+)\)-\((\d+)\)", cell):
        cell += "".join(f" ({number})" for number in range(int(first), int(last) + 1))
    return re.findall(r"\((\d+b?)\)", cell)


def found(name: str) -> Any:
    """Import the longest module of a dotted name below adabypass, and look up the rest in it."""
    parts = name.split(".")
    for end in range(len(parts), 0, -1):
        try:
            thing: Any = importlib.import_module(".".join(["adabypass", *parts[:end]]))
        except ModuleNotFoundError:
            continue
        for part in parts[end:]:
            thing = getattr(thing, part)
        return thing
    raise ModuleNotFoundError(name)


def anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(), flags=re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_the_whole_paper_is_there() -> None:
    """31 equations, 34 of the supplement, 8 footnotes and one, two algorithms of 8 lines, tables and a figure."""
    text = " ".join(row[0] for row in ROWS)
    equations = [row[0] for row in ROWS if row[0].startswith("(")]
    assert {int(n) for cell in equations for n in re.findall(r"\((\d+)\)", cell)} == set(range(1, 32))
    supplement = set()
    for row in ROWS:
        ends = [int(n) for n in re.findall(r"S\((\d+)\)", row[0])]
        supplement |= set(range(min(ends), max(ends) + 1)) if ends else set()
    assert supplement == set(range(1, 35))
    footnotes = " ".join(row[0] for row in ROWS if row[0].startswith("Footnote"))
    assert {int(n) for n in re.findall(r"(?<!S)\b(\d)", footnotes)} == set(range(1, 9))
    for words in ("Algorithm 1", "Algorithm 2", "Figure 1", "Table 1", "Table 2", "Footnote S1"):
        assert words in text


@every_row
def test_no_cell_is_empty(row: list[str]) -> None:
    assert len(row) == 7
    assert all(cell.strip("`- ") for cell in row)


@every_row
def test_its_equations_exist(row: list[str]) -> None:
    assert numbers(row[3])
    for number in numbers(row[3]):
        assert re.search(rf"\({number}\)\s*$", EQUATIONS, flags=re.M), f"there is no equation ({number})"


@every_row
def test_its_function_exists(row: list[str]) -> None:
    assert callable(found(row[4].strip("`")))


@every_row
def test_its_test_exists(row: list[str]) -> None:
    path, name = row[5].strip("`").split("::")
    defined = [node.name for node in ast.parse((ROOT / path).read_text()).body if isinstance(node, ast.FunctionDef)]
    assert name in defined


@every_row
def test_its_page_exists(row: list[str]) -> None:
    targets = re.findall(r"\]\(([^)]+)\)", " ".join(row))
    assert targets
    for target in targets:
        page, _, anchor = target.partition("#")
        assert (PAGE.parent / page).exists()
        assert not anchor or anchor in anchors(PAGE.parent / page), target


def test_the_glossary_has_the_paper_s_symbol_of_every_word() -> None:
    lines = [line for line in (ROOT / "docs/glossary.md").read_text().splitlines() if line.startswith("|")]
    assert lines[0] == "| word | letter | in the paper | meaning |"
    for line in lines[2:]:
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        assert len(cells) == 4
        assert cells[2], f"{cells[0]} has no entry for the paper; - where it has none"


def test_every_equation_has_a_number_of_its_own() -> None:
    defined = re.findall(r"^    .*\s\((\d+b?)\)$", EQUATIONS, flags=re.M)
    assert len(defined) > 150
    assert sorted(defined) == sorted(set(defined))
