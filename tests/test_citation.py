"""The citation names the paper and the version that is installed, in both of its forms."""

import re
from pathlib import Path

import adabypass

ROOT = Path(__file__).parents[1]
CITATION, README = (ROOT / "CITATION.cff").read_text(), (ROOT / "README.md").read_text()


def test_the_version_is_that_of_the_library() -> None:
    assert re.search(r"^version: (.*)$", CITATION, flags=re.M)[1] == adabypass.__version__  # type: ignore[index]
    assert f"version = {{{adabypass.__version__}}}" in README


def test_both_forms_have_the_same_paper() -> None:
    title = re.search(r"^  title: (.*)$", CITATION, flags=re.M)
    assert title is not None
    assert title[1] in README.replace("{B}", "B")
    for words in ("1509.02438", "Salas", "Roberts", "Osborne", "2015"):
        assert words in CITATION
        assert words in README.split("```bibtex")[1]
