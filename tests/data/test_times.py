"""One time by itself is read as a column of times is."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adabypass.data import from_frame
from adabypass.data.times import parse_time
from adabypass.errors import BadCellError

STAMPS = st.datetimes(datetime(1, 1, 2), datetime(9999, 12, 30))
LENGTHS = st.sampled_from([7, 10, 13, 16, 19, 21, 23, 26])
ZONES = st.sampled_from(["", "Z", "z", "+02:00", "-0130", "+05", " +00:00", "-05:30:15"])


@given(STAMPS, LENGTHS, ZONES, st.sampled_from("T "))
def test_a_time_is_that_of_a_column_of_it_alone(stamp: datetime, length: int, zone: str, between: str) -> None:
    text = stamp.isoformat(sep=between, timespec="microseconds")[:length] + zone
    expected = from_frame({"t": [text]}).times("t")[0].astype("M8[us]").item()
    assert parse_time(text) == expected


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        ("622", 622), (" 7 ", 7), ("1949.25", 1949.25), ("20140131", 20140131), (5, 5), (2.5, 2.5), (2**70, 2**70),
        ("2014-02-01T13:30:00,123456789", datetime(2014, 2, 1, 13, 30, 0, 123456)),
        ("2014-02-01T01:00+05:00", datetime(2014, 1, 31, 20)),
        ("0001-01-01T00:00Z", datetime(1, 1, 1)),
    ],
)  # fmt: skip
def test_a_time_is_read(cell: Any, expected: Any) -> None:
    found = parse_time(cell)
    assert found == expected
    assert type(found) is type(expected)


@pytest.mark.parametrize(
    "cell",
    [
        "", "now", "01/02/2014", "2014-02-30", "2014-13", "2014-W05", "2014-02-01T25:00", "nan", "inf", "1_000",
        "0000-01-01", "0001-01-01T00:00+01:00", "9999-12-31T23:59-01:00", None, True, [1], 10**400, float("nan"),
    ],
)  # fmt: skip
def test_what_is_no_time_is_refused(cell: Any) -> None:
    with pytest.raises(BadCellError, match="is not a time"):
        parse_time(cell)


def test_times_with_zones_are_compared_in_utc() -> None:
    assert parse_time("2014-07-01T02:00+02:00") == parse_time("2014-07-01T00:00Z")
    later, earlier = parse_time("2014-07-01T02:00Z"), parse_time("2014-07-01T02:00+02:00")
    assert later - earlier == timedelta(hours=2)  # type: ignore[operator]
