"""The oldest versions are those of pyproject.toml, and tests that cannot run are left out by what they import."""

import ast
import re
from pathlib import Path

from tools import test_versions

ROOT = Path(__file__).parents[2]


def test_the_oldest_versions_are_the_bounds_of_pyproject() -> None:
    pinned = dict(re.findall(r"^([\w.-]+)==([\w.]+)$", test_versions.OLDEST.read_text(), flags=re.M))
    lines = {*test_versions.requirements("run", *test_versions.EXTRAS, "dev")}
    bounds = dict(re.findall(r"^([\w.-]+)>=([\w.]+)", "\n".join(sorted(lines)), flags=re.M))
    needed = [*test_versions.requirements("run", *test_versions.EXTRAS), *test_versions.TOOLS]
    for name in (re.match(r"[\w.-]+", each)[0] for each in needed):  # type: ignore[index]
        assert same(pinned[name], bounds[name]), f"{name}: {pinned[name]} in oldest.txt, {bounds[name]} in pyproject"


def same(first: str, second: str) -> bool:
    """Whether two versions are equal but for zeros at the end."""
    return re.sub(r"(\.0)+$", "", first) == re.sub(r"(\.0)+$", "", second)


def test_only_what_a_file_imports_first_leaves_it_out() -> None:
    tree = ast.parse("import pandas as pd\nfrom numpy.linalg import norm\ndef f():\n    import polars\n")
    assert test_versions.top_imports(tree) == ["pandas", "numpy"]
    assert "tests/panel/test_frames.py" in test_versions.files_without({"pandas"})
    assert test_versions.files_without(set()) == []
