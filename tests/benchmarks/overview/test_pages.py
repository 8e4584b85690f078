"""The overview shows the numbers of the pages that it names, and no others."""

from pathlib import Path

from benchmarks.overview.__main__ import markdown, shown
from benchmarks.overview.pages import anchor, number, tables
from benchmarks.overview.uses import USES, Column, Use, rows

PAGE = """# A page

## Some series

Of 3.

|  | CRPS | held by 90 % |
| --- | ---: | ---: |
| theirs (without 2 series on which it failed) | 1.5 | 90.0 % of 7 |
| ours | 0.9 | 88.0 % |
| silent |  |  |

### CRPS by kind

|  | CRPS |
| --- | ---: |
| ours | 7 |
"""
USE = Use("A use", "", "page.md", "Some series", "ours", (Column("CRPS", "CRPS"), Column("held", "held by 90 %", 90.0)))


def test_the_first_table_below_a_heading_is_read(tmp_path: Path) -> None:
    (tmp_path / "page.md").write_text(PAGE)
    found = tables(tmp_path / "page.md")
    assert found["Some series"]["ours"] == {"CRPS": "0.9", "held by 90 %": "88.0 %"}
    assert found["CRPS by kind"] == {"ours": {"CRPS": "7"}}
    assert tables(tmp_path / "absent.md") == {}


def test_rows_come_best_first_without_those_that_have_no_score(tmp_path: Path) -> None:
    (tmp_path / "page.md").write_text(PAGE)
    found = rows(USE, tmp_path)
    assert list(found) == ["ours", "theirs (without 2 series on which it failed)"]
    assert found["theirs (without 2 series on which it failed)"]["held"] == "90.0 %"


def test_a_number_is_read_without_its_unit() -> None:
    assert [number(cell) for cell in ("1,489", "90.8 %", "2.1%", "")] == [1489.0, 90.8, 2.1, None]


def test_anchors_are_those_of_github() -> None:
    assert anchor("Two seasons at once: half-hourly") == "two-seasons-at-once-half-hourly"


def test_the_page_says_what_the_pages_beside_it_say() -> None:
    docs = Path(__file__).parents[3] / "docs"
    assert (docs / "benchmarks.md").read_text(encoding="utf-8") == markdown(docs), "run make bench-overview"


def test_every_address_of_the_page_is_there() -> None:
    docs = Path(__file__).parents[3] / "docs"
    for use, _ in shown(docs):
        text = (docs / use.page).read_text(encoding="utf-8")
        assert f"## {use.heading}\n" in text
    assert len({use.title for use in USES}) == len(USES)
