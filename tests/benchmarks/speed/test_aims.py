"""An aim is met, missed or not measured, by what was measured and nothing else."""

import pytest
from benchmarks.speed.aims import AIMS, Aim, Kind, judge
from benchmarks.speed.results import Measurement, Results

from benchmarks.speed import tables


def results(**values: float | None) -> Results:
    return Results("test", measurements={key: Measurement(value, note="why") for key, value in values.items()})


@pytest.mark.parametrize(
    ("kind", "bound", "ours", "theirs", "is_met", "reached"),
    [
        (Kind.FASTER, 5.0, 2.0, 10.0, True, 5.0),
        (Kind.FASTER, 5.0, 2.0, 9.9, False, 4.95),
        (Kind.WITHIN, 1.2, 6.0, 5.0, True, 1.2),
        (Kind.WITHIN, 1.2, 6.1, 5.0, False, 1.22),
        (Kind.AT_LEAST, 50.0, 50.0, None, True, 50.0),
        (Kind.AT_LEAST, 50.0, 49.0, None, False, 49.0),
        (Kind.AT_MOST, 1e-9, 0.0, None, True, 0.0),
        (Kind.AT_MOST, 1e-9, float("inf"), None, False, float("inf")),
    ],
)
def test_aims_are_judged_by_their_bound(
    kind: Kind, bound: float, ours: float, theirs: float | None, is_met: bool, reached: float
) -> None:
    aim = Aim("", kind, bound, (("ours", "" if theirs is None else "theirs"),))
    verdict = judge(aim, results(ours=ours, theirs=theirs))
    assert verdict.is_met is is_met
    assert verdict.reached == pytest.approx(reached)


def test_the_worst_of_several_pairs_decides() -> None:
    aim = Aim("", Kind.FASTER, 1.0, (("x/a", "x/b"), ("x/c", "x/d"), ("x/e", "x/f")))
    found = results(**{"x/a": 1.0, "x/b": 3.0, "x/c": 4.0, "x/d": 3.0, "x/e": 1.0, "x/f": 2.0})
    verdict = judge(aim, found)
    assert verdict.is_met is False
    assert verdict.reached == 0.75
    assert verdict.note == "worst: c"


def test_what_was_not_measured_is_neither_met_nor_missed() -> None:
    aim = Aim("", Kind.FASTER, 1.0, (("ours", "theirs"),))
    assert judge(aim, results(ours=1.0, theirs=None)).is_met is None
    assert judge(aim, results(ours=1.0, theirs=None)).note == "why"
    assert judge(aim, results()).note == "not measured"


def test_without_results_no_aim_is_met() -> None:
    assert [judge(aim, Results("test")).is_met for aim in AIMS] == [None] * len(AIMS)


def test_met_aims_are_green_missed_ones_red_and_what_was_not_measured_yellow(monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = [Aim(name, Kind.FASTER, 5.0, ((f"ours {name}", f"theirs {name}"),)) for name in ("a", "b", "c")]
    monkeypatch.setattr(tables, "AIMS", wanted)
    found = results(**{"ours a": 1.0, "theirs a": 5.1, "ours b": 1.0, "theirs b": 4.9, "ours c": None})
    table = tables.aims_table(found)
    assert [str(row.style) for row in table.rows] == ["green", "red", "yellow"]
    what, *_, reached, bound, note = (list(column.cells) for column in table.columns)
    assert what == ["a", "b", "c"]
    assert reached == ["5.10x", "4.90x", ""]
    assert bound == [">= 5.00x"] * 3
    assert note == ["met", "missed", "not measured  why"]
