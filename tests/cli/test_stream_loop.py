"""Nothing is silent: a bad clock, a header met again, a field that is renamed, a time that is none."""

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adabypass.errors import TableError, UnknownNameError
from tests.cli.in_process import program as run
from tests.cli.in_process import stream
from tests.cli.test_stream_state import DATED, MANY, done, text

TIME = ("--time", "ts", "--id", "host", "--target", "cpu")


def rows(*every: tuple[object, str, float]) -> str:
    return "ts,host,cpu\n" + "".join(f"{ts},{host},{cpu}\n" for ts, host, cpu in every)


@pytest.mark.parametrize("far", ["4102444800", "1e300"])
def test_a_series_that_a_far_time_has_silenced_is_named(far: str, tmp_path: Path) -> None:
    done(stream(*TIME, "--state", tmp_path / "s", given=rows((1, "a", 5), (2, "b", 5), (far, "a", 5))))
    again = stream(*TIME, "--state", tmp_path / "s", given=rows((8, "a", 5), (9, "a", 5), (9, "b", 5)))
    assert again.error is None
    assert [json.loads(line)["host"] for line in again.out.splitlines()] == ["b"]
    assert f': up to "{far}" at most' in again.err
    assert 'left out: series "a": none of its 2 rows was new' in again.err
    assert 'series "b"' not in again.err


@settings(max_examples=30, deadline=None)
@given(first=st.integers(0, 119), n=st.integers(1, 120))
def test_rows_that_come_again_with_the_newest_are_no_complaint(
    first: int, n: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("state") / "s"
    options = ("--time", "t", "--state", folder)
    done(stream(*options, given=text(DATED, 0, 60)))
    again = stream(*options, given=text(DATED, first, first + n))
    assert again.error is None
    assert ("left out: the series" in again.err) == (first + n < 60)


SWAPPED = "ts,cpu,mem\n1,5,900\n2,5.1,901\n3,5.2,902\n4,5.1,901\n{}\n5,901,5.2\n6,902,5.1\n"
STRAIGHT = "ts,cpu,mem\n1,5,900\n2,5.1,901\n3,5.2,902\n4,5.1,901\n5,5.2,901\n6,5.1,902\n"


@pytest.mark.parametrize("options", [["--target", "cpu", "--time", "ts"], ["--target", "cpu"], ["--target", "mem"]])
@pytest.mark.parametrize("on_bad_row", ["skip", "missing"])
def test_a_header_met_again_is_followed(options: list[str], on_bad_row: str) -> None:
    found = stream(*options, "--on-bad-row", on_bad_row, given=SWAPPED.format("ts,mem,cpu"))
    assert done(found) == done(stream(*options, given=STRAIGHT))
    assert "row 5 is a header again, with other columns or another order (line 6)" in found.err


def test_a_header_with_more_columns_is_followed_too() -> None:
    given = "ts,cpu\n1,5\n2,5.1\n host , cpu,ts\na,5.2,3\nb,5.1,4\n"
    straight = "ts,cpu\n1,5\n2,5.1\n3,5.2\n4,5.1\n"
    found = stream("--target", "cpu", "--time", "ts", "--on-bad-row", "skip", given=given)
    assert done(found) == done(stream("--target", "cpu", "--time", "ts", given=straight))


def test_a_header_met_again_ends_a_stream_that_is_to_fail() -> None:
    ended = stream("--target", "cpu", given=SWAPPED.format("ts,mem,cpu"))
    assert isinstance(ended.error, TableError)
    assert "row 5 is a header again" in str(ended.error)
    assert ended.out.count("\n") == 4


@pytest.mark.parametrize("on_bad_row", ["fail", "skip", "missing"])
def test_a_header_that_lacks_the_target_ends_every_stream(on_bad_row: str) -> None:
    ended = stream("--target", "cpu", "--on-bad-row", on_bad_row, given=SWAPPED.format("ts,mem,cpu_pct"))
    assert isinstance(ended.error, UnknownNameError)
    assert 'there is no column "cpu"; did you mean "cpu_pct"?' in str(ended.error)
    assert ended.out.count("\n") == 4


def test_the_same_header_again_is_a_row_that_cannot_be_read() -> None:
    given = text(MANY, 0, 60) + text(MANY, 60)
    found = stream("--time", "t", "--id", "k", "--on-bad-row", "skip", given=given)
    assert done(found) == done(stream("--time", "t", "--id", "k", given=text(MANY)))
    assert "Rows that could not be read, and were skipped: 1." in found.err


RENAMED = '{"cpu": 5}\n{"cpu": 5.1}\n{"cpu_pct": 5.2}\n{"cpu_pct": 5.3}\n'


def test_a_field_that_is_renamed_follows_on_bad_row() -> None:
    failed = stream("--target", "cpu", given=RENAMED)
    assert isinstance(failed.error, TableError)
    assert 'row 3: there is no column "cpu"; did you mean "cpu_pct"?' in str(failed.error)
    assert "Write null where a value is missing." in str(failed.error)
    assert failed.out.count("\n") == 2
    skipped = stream("--target", "cpu", "--on-bad-row", "skip", given=RENAMED)
    assert done(skipped).count("\n") == 2
    assert "Rows that could not be read, and were skipped: 2." in skipped.err
    missing = stream("--target", "cpu", "--on-bad-row", "missing", given=RENAMED)
    assert done(missing).count("\n") == 4
    assert 'there is no column "cpu"' in missing.err
    assert "whose value was taken as missing: 2." in missing.err


def test_values_that_are_taken_as_missing_are_counted() -> None:
    found = stream("--on-bad-row", "missing", given="y\n1\n2\noops\n3\nn/k\n")
    assert done(found).count("\n") == 5
    assert "Values that were no numbers, and were taken as missing: 2." in found.err


def test_a_stream_that_skips_everything_is_no_success() -> None:
    ended = run("stream", "--on-bad-row", "skip", given="y\noops\nmore\n")
    assert (ended.returncode, ended.stdout) == (3, "")
    assert "no row could be read: nothing was learned." in ended.stderr


DIGITS = st.integers(1, 6000).map(lambda n: "1" + "0" * n)
ZONED = st.sampled_from(["0001-01-01", "9999-12-31", "0000-01-01", "0001-01", "9999-12"]).flatmap(
    lambda day: st.sampled_from(["+14:00", "-14:00", "+23:59", "-23:59:59", "Z", ""]).map(
        lambda zone: f"{day}T00:00:00{zone}" if len(day) > 7 else day + zone
    )
)


@settings(max_examples=150, deadline=None)
@given(
    cell=DIGITS | DIGITS.map(lambda text: f"-{text}") | ZONED | st.text(st.characters(codec="ascii"), max_size=30),
    is_json=st.booleans(),
)
def test_no_time_ends_a_stream_that_skips_bad_rows(cell: str, is_json: bool) -> None:
    cells = ["2020-01-01", cell, "9999-12-31T23:59:59"]
    if is_json:
        given = "".join(json.dumps({"t": each, "y": 1}) + "\n" for each in cells)
    else:
        given = "t,y\n" + "".join('"' + each.replace('"', '""') + '",1\n' for each in cells if "\0" not in each)
    ended = stream("--time", "t", "--on-bad-row", "skip", given=given)
    assert ended.error is None, cell
    assert ended.code == 0
    assert ended.out.count("\n") >= 2


@pytest.mark.parametrize("cell", ["1e400", "-1e400", "[1, 1e400]", '{"a": NaN}', "Infinity"])
def test_an_id_that_json_cannot_write_is_a_bad_row(cell: str) -> None:
    given = f'{{"k": "a", "y": 1}}\n{{"k": {cell}, "y": 1}}\n{{"k": "a", "y": 2}}\n'
    found = stream("--id", "k", "--on-bad-row", "skip", given=given)
    assert [json.loads(line)["k"] for line in done(found).splitlines()] == ["a", "a"]
    assert 'column "k":' in found.err


def test_a_silent_series_shows_in_the_exit_code(tmp_path: Path) -> None:
    options = (*TIME, "--state", str(tmp_path / "s"))
    assert run("stream", *options, given=rows((1, "a", 5), (99, "a", 5))).returncode == 0
    assert run("stream", *options, given=rows((8, "a", 5), (9, "a", 5))).returncode == 3
    assert run("stream", *options, given=rows((8, "a", 5), (99, "a", 5))).returncode == 0
