"""Results are kept and compared, shown even where there are none, and drawn."""

import io
from pathlib import Path

import numpy as np
import pytest
from benchmarks.speed.results import ROWS_A_SECOND, Measurement, Results, load, ratios
from benchmarks.speed.suite import CONTESTANTS
from rich.console import Console

from benchmarks.speed import page, picture, tables

FEATURES = (1, 5)


def full_results() -> Results:
    """Return invented results of every contestant."""
    found = Results("abc", machine="a machine, 2 cores")
    for i, contestant in enumerate(CONTESTANTS):
        for d in FEATURES:
            found.measurements[contestant.key(d)] = Measurement(1.0 + i * d, rows=10, mae=0.4, learned=True)
    return found


def printed(table: object) -> str:
    written = io.StringIO()
    Console(width=160, file=written).print(table)
    return written.getvalue()


def test_results_are_read_back_as_they_were(tmp_path: Path) -> None:
    found = full_results()
    found.measurements["x"] = Measurement(None, note="not installed")
    found.save(tmp_path / "new" / "abc.json")
    assert load(tmp_path / "new" / "abc.json") == found


def test_results_of_another_format_are_refused(tmp_path: Path) -> None:
    (tmp_path / "old.json").write_text("{}")
    with pytest.raises(ValueError, match="is not of format 1"):
        load(tmp_path / "old.json")


@pytest.mark.parametrize(
    ("load", "is_quick", "doubts"),
    [
        (0.2, False, ""),
        (None, False, ""),
        (None, True, "These times are of a quick run, and less sure for it."),
        (4.2, False, "These times are of a machine that 4 other processes used meanwhile, and less sure for it."),
    ],
)
def test_a_busy_machine_and_a_quick_run_are_said(load: float | None, is_quick: bool, doubts: str) -> None:
    assert Results("abc", load=load, is_quick=is_quick).doubts == doubts


def test_times_that_both_runs_have_are_compared() -> None:
    before = {"a": Measurement(4.0), "b": Measurement(1.0), "c": Measurement(3.0, ROWS_A_SECOND)}
    after = {"a": Measurement(2.0), "b": Measurement(None), "c": Measurement(3.0, ROWS_A_SECOND)}
    assert ratios(before, after) == {"a": (4.0, 2.0)}
    text = printed(tables.comparison_table(Results("old", measurements=before), Results("new", measurements=after)))
    assert "2.00" in text.splitlines()[-1]


def test_a_peer_that_is_not_installed_keeps_its_line() -> None:
    found = full_results()
    for key in [key for key in found.measurements if "Vowpal" in key]:
        found.measurements[key] = Measurement(None, note="not installed")
    lines = [line for line in printed(tables.peers_table(found, FEATURES)).splitlines() if "Vowpal" in line]
    assert len(lines) == 2
    assert all(line.count("not installed") == len(FEATURES) for line in lines)


def test_one_that_did_not_learn_is_named() -> None:
    found = full_results()
    assert "Did not learn" not in tables.errors_note(found).plain
    found.measurements["row by row/pykalman/5"] = Measurement(1.0, mae=1.6, learned=False)
    assert "Did not learn (error in red): row by row/pykalman/5" in tables.errors_note(found).plain


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0"), (0.0012, "0.0012"), (0.052, "0.052"), (0.5, "0.50"), (9.876, "9.88"), (12.34, "12.3"),
     (1234.5, "1,234"), (1_234_567.0, "1,234,567"), (1e-9, "1.0e-09"), (float("inf"), "inf")],
)  # fmt: skip
def test_numbers_are_short(value: float, text: str) -> None:
    assert tables.number(value) == text


def test_labels_keep_their_order_and_their_distance() -> None:
    wanted = np.array([0.5, 0.51, 0.1, 0.505, 0.9])
    places = picture.spread(wanted, 0.05)
    assert list(np.argsort(places)) == list(np.argsort(wanted))
    assert np.diff(np.sort(places)).min() >= 0.05 - 1e-12
    assert places[[2, 4]] == pytest.approx([0.1, 0.9])


def test_the_page_has_every_contestant_and_its_picture(tmp_path: Path) -> None:
    page.write(full_results(), FEATURES, tmp_path)
    text = (tmp_path / "speed.md").read_text()
    assert all(f"| {contestant.name} |" in text for contestant in CONTESTANTS)
    assert (tmp_path / "images" / "speed.png").stat().st_size > 10_000
