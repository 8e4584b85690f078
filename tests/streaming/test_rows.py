"""Records as values: ids of one column or several, several targets, and what is refused."""

import json
from math import isnan
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adabypass.errors import BadCellError
from adabypass.streaming.rows import Columns, RowParser, key_parts


class Here:
    """The place of the newest record."""

    row, line, source = 7, 8, "input"

    def is_header_again(self) -> bool:
        return False


def parser(columns: Columns, missing: str = "raise", *, bad_is_missing: bool = False) -> RowParser:
    return RowParser(Here(), columns, missing, bad_is_missing)


def test_a_record_has_one_value_for_each_target() -> None:
    columns = Columns(("cpu", "mem"), ("dc", "host"), "ts", ("load",))
    assert columns.read == ["cpu", "mem", "load", "dc", "host", "ts"]
    assert columns.keys == ("dc", "host", "target")
    values, exog, time, cell = parser(columns).parse(["5", "900", "0.5", "eu", "web-1", "2"])
    assert values == [('["eu", "web-1", "cpu"]', 5.0), ('["eu", "web-1", "mem"]', 900.0)]
    assert (exog, time, cell) == ([0.5], 2, "2")


@pytest.mark.parametrize(
    ("columns", "record", "key"),
    [
        (Columns(("y",)), ["1"], ""),
        (Columns(("y",), ("k",)), ["1", "a"], '"a"'),
        (Columns(("y",), ("k",)), ["1", 5], "5"),
        (Columns(("y",), ("k", "n")), ["1", "a", 5], '["a", 5]'),
        (Columns(("y",), ("k", "n")), ["1", "ä", ["b", None]], '["\\u00e4", ["b", null]]'),
    ],
)
def test_the_id_of_a_series_is_json(columns: Columns, record: list[Any], key: str) -> None:
    ((found, y),), _, _, _ = parser(columns).parse(record)
    assert (found, y) == (key, 1.0)


def test_without_ids_the_target_is_the_id() -> None:
    values, *_ = parser(Columns(("a", "b"))).parse(["1", "2"])
    assert values == [('"a"', 1.0), ('"b"', 2.0)]


IDS = st.lists(st.text(min_size=1).filter(str.strip) | st.integers() | st.booleans(), min_size=2, max_size=4)


@given(IDS)
def test_the_parts_of_a_compound_id_come_back(ids: list[Any]) -> None:
    columns = Columns(("y",), tuple(f"c{i}" for i in range(len(ids))))
    ((key, _),), *_ = parser(columns).parse([1.0, *ids])
    assert json.loads(key) == ids
    assert [json.loads(part) for part in key_parts(key, len(ids))] == ids


@pytest.mark.parametrize(
    ("record", "says"),
    [
        ([1, "", "b"], 'input: row 7, column "dc": is blank'),
        ([1, "a", " "], 'column "host": is blank'),
        ([1, "a", None], 'column "host": is blank'),
        ([1, "a", float("inf")], 'column "host": .* too large; write the id as text'),
        ([1, "a", "b" * 20_000], 'column "dc,host": has 20009 characters, too many for an id'),
        (["high", "a", "b"], 'column "y": "high" is not a number'),
    ],
)
def test_what_is_no_id_is_refused(record: list[Any], says: str) -> None:
    with pytest.raises(BadCellError, match=says):
        parser(Columns(("y",), ("dc", "host"))).parse(record)


def test_a_value_that_is_no_number_may_count_as_missing() -> None:
    lenient = parser(Columns(("a", "b")), bad_is_missing=True)
    (_, first), (_, second) = lenient.parse(["oops", "2"])[0]
    assert isnan(first)
    assert (second, lenient.n_taken_as_missing) == (2.0, 1)
