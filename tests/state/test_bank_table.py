"""The tables of the bank, from which the declarations in C and Cython are written."""

from pathlib import Path

import pytest
from tools.write_bank_table import Entry, read_tables

from adabypass.state import bank_table
from adabypass.state.bank_table import Constants, Row, Scratch, Sequences, entries

DECISION = Path(__file__).parents[2] / "docs/decisions/0004-the-bank.md"
TABLES = read_tables(Path(bank_table.__file__).read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", TABLES)
def test_every_entry_is_explained_by_a_whole_sentence(name: str) -> None:
    wrong = [each.name for each in TABLES[name] if not each.meaning[:1].isupper() or not each.meaning.endswith(".")]
    assert wrong == []


def test_the_build_reads_what_python_reads() -> None:
    """The build reads the file as text, before anything of the library can be imported."""
    for table in (Row, Scratch):
        assert entries(table) == {each.name: each.value for each in TABLES[table.__name__]}
    assert entries(Constants) == {each.name: float(each.value) for each in TABLES["Constants"]}


def test_the_decision_on_the_bank_explains_every_constant() -> None:
    text = DECISION.read_text(encoding="utf-8")
    assert [name for name in [*entries(Constants), *entries(Sequences)] if f"`{name}`" not in text] == []


def test_an_entry_without_an_explanation_is_refused() -> None:
    with pytest.raises(SystemExit, match="line 4: an entry of Constants must be a name with a text below it"):
        read_tables('class Constants:\n    """Numbers."""\n\n    prior_var = 10.0\n')
    explained = 'class Constants:\n    """Numbers."""\n\n    prior_var = 10.0\n    """Variance\n    before."""\n'
    assert read_tables(explained) == {"Constants": [Entry("prior_var", "10.0", "Variance before.")]}
