"""The examples of README and docs run, the pages that promise examples have them, and links lead somewhere."""

import doctest
import inspect
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import adabypass
from adabypass import load_dataset
from adabypass.data import write_table

ROOT = Path(__file__).parents[1]
PAGES = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]
PROMISED = [ROOT / "README.md", *ROOT.glob("docs/guides/*.md")]
"""Pages that show how the library is used, and so must have examples."""
TYPED = [*PROMISED, ROOT / "docs/index.md", *ROOT.glob("docs/start/*.md"), *ROOT.glob("docs/concepts/*.md")]
"""Pages whose examples are checked by mypy."""
SECTIONS = ("start", "concepts", "reference", "develop", "gallery", "notebooks")
"""Folders of the site that have an index."""
HOSTS = {
    "kafka.md": "confluent_kafka",
    "put-it-on-the-wall.md": "starlette",
    "river.md": "river",
    "scikit-learn.md": "sklearn",
    "skpro.md": "skpro",
    "spark.md": "pyspark",
    "sktime.md": "sktime",
    "statsforecast.md": "statsforecast",
}
"""Guides to other libraries, and what their examples import."""


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


def python_blocks(page: Path) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```", page.read_text(), flags=re.M | re.S)


def shell_lines(page: Path) -> list[str]:
    """Find the indented lines that run the command."""
    lines = [line.strip() for line in page.read_text().splitlines() if line.startswith("    ")]
    return [line for line in lines if re.search(r"(^|\| )adabypass ", line)]


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_examples_print_what_they_say(page: Path) -> None:
    """Run the fenced Python blocks of a page, one after another, as one session."""
    if page.name in HOSTS:
        pytest.importorskip(HOSTS[page.name], reason=f"the examples of {page.name} need {HOSTS[page.name]}")
    blocks = python_blocks(page)
    for block in blocks:
        assert ">>>" in block, f"a block of {page.name} has no prompt, so that nothing of it would be run:\n{block}"
    test = doctest.DocTestParser().get_doctest("\n".join(blocks), {}, page.name, str(page), 0)
    said: list[str] = []
    results = doctest.DocTestRunner().run(test, out=said.append)
    assert results.failed == 0, "".join(said)
    assert results.attempted == sum(block.count(">>>") for block in blocks)


@pytest.mark.parametrize("page", PROMISED, ids=name_of)
def test_pages_about_use_have_examples(page: Path) -> None:
    assert sum(block.count(">>>") for block in python_blocks(page)) >= 4, f"{page.name} has hardly any Python"


def test_the_shell_lines_of_the_metric_stream_run(tmp_path: Path) -> None:
    """The lines of the guide, one after another, on the stream of its first block."""
    page = ROOT / "docs" / "guides" / "metric-stream.md"
    (first, *_) = python_blocks(page)
    names: dict[str, str] = {}
    exec("".join(each.source for each in doctest.DocTestParser().get_examples(first)), names)
    (tmp_path / "rows.jsonl").write_text(names["lines"])
    environment = os.environ | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    outputs = []
    for line in shell_lines(page):
        done = subprocess.run(
            line, shell=True, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, f"{line}\n{done.stderr}"
        outputs.append(done.stdout)
    header, *steps = outputs[-1].splitlines()
    assert header.startswith("labels.dc/labels.host,ts,step,mean,median,sd,lower_50,upper_50,lower_90,upper_90")
    assert [step.split(",")[:3] for step in steps] == [
        ["eu/web-2", f"2026-03-10T00:{10 * i:02d}:00", str(i + 1)] for i in range(3)
    ]


def test_the_examples_have_types(tmp_path: Path) -> None:
    """As their readers would check them: strictly, but for functions of their own that have no types."""
    written = []
    for page in TYPED:
        examples = doctest.DocTestParser().get_examples("\n".join(python_blocks(page)))
        if examples and page.name != "statsforecast.md":  # whose types depend on what is installed
            written.append(tmp_path / f"{page.parent.name}_{page.stem}.py".replace("-", "_"))
            written[-1].write_text("".join(each.source for each in examples))
    command = [sys.executable, "-m", "mypy", "--strict", "--ignore-missing-imports", "--config-file", os.devnull]
    command += ["--allow-untyped-defs", "--allow-untyped-calls", "--implicit-reexport"]
    command += ["--cache-dir", str(ROOT / "build" / "mypy-docs"), "--disable-error-code", "import-untyped"]
    done = subprocess.run([*command, *map(str, written)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_the_readme_s_shell_examples_run(tmp_path: Path) -> None:
    """A `tail` that goes on for ever is let go at the end of the file; `log.csv` is longer than it shows by itself."""
    minima = load_dataset("nile").y
    days = np.datetime64("2024-01-01") + np.arange(60)
    write_table({"day": days, "sold": minima[:60]}, tmp_path / "sales.csv")
    (tmp_path / "log.csv").write_text("load\n" + "".join(f"{y}\n" for y in minima[:30]))
    environment = os.environ | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    lines = [re.sub(r"(tail.*) -f ", r"\1 ", line) for line in shell_lines(ROOT / "README.md")]
    assert len(lines) >= 3
    for line in lines:
        done = subprocess.run(
            line, shell=True, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, f"{line}\n{done.stderr}"
        if "stream" in line:
            assert done.stdout.count("\n") == 30
    assert {"sales.png", "next.csv"} <= {each.name for each in tmp_path.iterdir()}


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text()):
        if not target.startswith("http"):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


@pytest.mark.parametrize("page", sorted(ROOT.glob("docs/guides/*.md")), ids=name_of)
def test_every_guide_has_a_picture(page: Path) -> None:
    assert re.search(r"!\[[^\]]+\]\(\.\./images/", page.read_text())


def test_the_readme_is_read_at_once() -> None:
    lines = (ROOT / "README.md").read_text().splitlines()
    assert len(lines) <= 120
    assert any("![" in line for line in lines[:10])


def test_every_page_is_in_the_navigation() -> None:
    """Each is named by a toctree; the reference's own pages are written when the site is built."""
    named: set[Path] = set()
    for page in (ROOT / "docs").rglob("*.md"):
        for tree in re.findall(r"^```\{toctree\}\n(.*?)^```", page.read_text(), flags=re.M | re.S):
            for line in tree.splitlines():
                if line and not line.startswith(":"):
                    named |= set(page.parent.glob(f"{line}.md")) | set(page.parent.glob(f"{line}.ipynb"))
    pages = {*(ROOT / "docs").rglob("*.md"), *(ROOT / "docs").rglob("*.ipynb")} - {ROOT / "docs/index.md"}
    assert {each.resolve() for each in pages} == {each.resolve() for each in named}
    assert all((ROOT / "docs" / section / "index.md").is_file() for section in SECTIONS)


def test_the_list_for_language_models_leads_somewhere() -> None:
    for target in re.findall(r"\]\(([^)]+)\.html\)", (ROOT / "docs/llms.txt").read_text()):
        assert (ROOT / "docs" / f"{target}.md").is_file(), target


def test_the_reference_has_every_public_name() -> None:
    pages = "\n".join(page.read_text() for page in (ROOT / "docs/reference").glob("*.md"))
    for name in [*adabypass.__all__, *adabypass.plots.__all__]:
        assert re.search(rf"^   {name}$", pages, flags=re.M), f"{name} is not in the reference"


def test_every_public_name_has_an_example() -> None:
    printed = {"show_config"}  # what it prints depends on the machine
    for name in sorted(set(adabypass.__all__) - printed):
        assert ">>> " in (inspect.getdoc(getattr(adabypass, name)) or ""), name
    for name in adabypass.plots.__all__:
        assert ">>> " in (inspect.getdoc(getattr(adabypass.plots, name)) or ""), name


def test_the_gallery_shows_every_plot_and_runs() -> None:
    cells = re.findall(
        r"^```\{code-cell\} python\n(.*?)^```", (ROOT / "docs/gallery/index.md").read_text(), flags=re.M | re.S
    )
    code = "\n".join(cells)
    pytest.importorskip("plotly")
    exec(compile(code, "gallery", "exec"), {})
    drawn = {"pit", "reliability"}  # parts of the calibration
    for name in set(adabypass.plots.__all__) - drawn - {"label", "mark_span", "save", "fan", "history", "components"}:
        assert f"plots.{name}(" in code or name == "scores_by_step"


@pytest.mark.parametrize("path", sorted(ROOT.glob("docs/notebooks/*.ipynb")), ids=name_of)
def test_the_notebooks_run_and_are_kept_without_output(path: Path) -> None:
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    book = nbformat.read(path, 4)
    for cell in book.cells:
        assert not cell.get("outputs")
        assert cell.get("execution_count") is None
    nbclient.NotebookClient(book, timeout=120, kernel_name="python3").execute()
    assert any("image/png" in out.get("data", {}) for cell in book.cells for out in cell.get("outputs", []))
