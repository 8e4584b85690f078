"""Every cell of docs/paper.md is filled, and what it names exists: equations, functions, kernels, tests and pages.

Equations have numbers by section that run without gaps, and whatever cites one cites one that exists.
"""

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
DEFINED = re.compile(r"^    .*\s\(([A-Z]\.\d+)\)(?:  \[([^]]+)\])?$")
"""A line that ends with the number of an equation, and with its number in the paper where it has one."""
CITED = re.compile(r"\(([A-Z]\.\d+)\)")
UNLETTERED = re.compile(
    r"[Ee]quations? \(B?\d+b?\)|(?:#|/\*) *\(B?\d+b?\)|[Ee]quations? \d+-\d+|equations\.md[^)\s]*\) \(?\d"
)
"""Citations without the letter of a section."""


def rows() -> list[list[str]]:
    """Return the cells of every line of the tables that name functions."""
    found, is_wanted = [], False
    for line in PAGE.read_text().splitlines():
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        if not cells:
            is_wanted = False
        elif cells[1:] in (COLUMNS, [*COLUMNS, "kernel"]):
            is_wanted = True
        elif is_wanted and not set(cells[0]) <= {"-"}:
            found.append(cells)
    return found


ROWS = rows()
every_row = pytest.mark.parametrize("row", ROWS, ids=[row[0] for row in ROWS])


def equations() -> list[tuple[str, str, str]]:
    """Return the letter of the section, the number and the numbers in the paper of every equation, in order."""
    found, section = [], ""
    for line in EQUATIONS.splitlines():
        if heading := re.match(r"## (?:([A-Z])\. )?", line):
            section = heading[1] or ""
        elif defined := DEFINED.match(line):
            found.append((section, defined[1], defined[2] or ""))
    return found


def numbers(cell: str) -> list[str]:
    """Return the numbers of the equations that a cell names, those of a range one by one."""
    for letter, first, last in re.findall(r"\(([A-Z])\.(\d+)\)-\(\1\.(\d+)\)", cell):
        cell += "".join(f" ({letter}.{number})" for number in range(int(first), int(last) + 1))
    return CITED.findall(cell)


def texts() -> list[Path]:
    """Return the files that may cite equations."""
    endings = {".py", ".pyi", ".pyx", ".pxd", ".h", ".c", ".md"}
    rooms = ("src", "tests", "docs", "benchmarks", "tools")
    return [each for room in rooms for each in sorted((ROOT / room).rglob("*")) if each.suffix in endings]


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
    """31 equations, 34 of the supplement, 8 footnotes and one, two algorithms of 9 lines, tables and a figure."""
    names = [row[0] for row in ROWS]
    expected = [f"({n})" for n in range(1, 32)] + [f"S({n})" for n in range(1, 35)]
    expected += [f"Footnote {n}" for n in range(1, 9)] + ["Footnote S1"]
    expected += [f"Algorithm {k}, line {n}" for k in (1, 2) for n in range(1, 10)]
    assert [name for name in expected if names.count(name) != 1] == []
    for words in ("Figure 1, left", "Figure 1, right", "Table 1", "Table 2"):
        assert any(name.startswith(words) for name in names)


def test_both_pages_agree_on_the_numbers_of_the_paper() -> None:
    """The page of the equations gives the paper's number of each, which is the row that leads to it."""
    in_paper = {number: theirs.split(", ") for _, number, theirs in equations()}
    assert {each for theirs in in_paper.values() for each in theirs if re.fullmatch(r"S?\d+", each)} == {
        *map(str, range(1, 32)),
        *(f"S{n}" for n in range(1, 35)),
    }
    for row in ROWS:
        if re.fullmatch(r"S?\(\d+\)", row[0]):
            theirs = re.sub(r"[()]", "", row[0])
            assert any(theirs in in_paper[number] for number in numbers(row[3])), row[0]


@every_row
def test_no_cell_is_empty(row: list[str]) -> None:
    assert len(row) in (7, 8)
    assert all(cell.strip("`- ") for cell in row[:7])


@every_row
def test_its_equations_exist(row: list[str]) -> None:
    assert numbers(row[3])
    assert set(numbers(row[3])) <= {number for _, number, _ in equations()}


@every_row
def test_its_function_exists(row: list[str]) -> None:
    assert callable(found(row[4].strip("`")))


@pytest.mark.parametrize("row", [row for row in ROWS if len(row) == 8], ids=lambda row: row[0])
def test_its_kernel_exists(row: list[str]) -> None:
    named = re.findall(r"`(kernels/\w+\.pyx): (?:(\w+)\.)?(\w+)`", row[7])
    assert len(named) == row[7].count("`") // 2
    assert named or row[7] == "-"
    for path, kind, name in named:
        source = (ROOT / "src/adabypass" / path).read_text()
        assert not kind or re.search(rf"^cdef class {kind}\b", source, flags=re.M), row[7]
        indent = "    " if kind else ""
        assert re.search(rf"^{indent}c?p?def [^=\n]*\b{name}\(", source, flags=re.M), row[7]


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


def test_equations_are_numbered_by_section_without_gaps() -> None:
    found = equations()
    assert len(found) > 200
    sections = list(dict.fromkeys(section for section, _, _ in found))
    assert sections == sorted(sections)
    for section in sections:
        own = [number for letter, number, _ in found if letter == section]
        assert own == [f"{section}.{n}" for n in range(1, len(own) + 1)]


def test_equations_that_are_cited_exist() -> None:
    """In code, tests and docs; the paper's own numbers stand on the two pages that compare them with ours."""
    defined = {number for _, number, _ in equations()}
    missing, unlettered = [], []
    for file in texts():
        text, name = file.read_text(), file.relative_to(ROOT)
        missing += [f"{name}: ({number})" for number in set(CITED.findall(text)) - defined]
        if file not in (PAGE, PAGE.parent / "equations.md"):
            unlettered += [f"{name}: {citation}" for citation in UNLETTERED.findall(text)]
    assert missing == []
    assert unlettered == []


def test_links_to_the_equations_lead_to_their_headings() -> None:
    known = anchors(PAGE.parent / "equations.md")
    for page in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]:
        assert set(re.findall(r"equations\.md#([^)\s]+)\)", page.read_text())) <= known, page.name
    assert set(re.findall(r"\]\(#([^)]+)\)", EQUATIONS)) <= known
