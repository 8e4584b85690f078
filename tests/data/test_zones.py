"""Times move between UTC and local time as Python's own zones say, and columns keep their zone."""

from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adabypass.data import from_frame, read_table, write_table
from adabypass.data.zones import ObservedOffsets, Zone, ZonedTimes
from adabypass.errors import UnknownNameError

NAMES = ["Europe/Berlin", "America/St_Johns", "Asia/Kolkata", "Australia/Lord_Howe", "Africa/Casablanca"]
MOMENTS = st.datetimes(datetime(1850, 1, 1), datetime(2200, 1, 1)).map(lambda moment: moment.replace(microsecond=0))


def stamps(*moments: datetime) -> Any:
    return np.array([moment.replace(tzinfo=None) for moment in moments], dtype="M8[s]")


@pytest.mark.parametrize("name", NAMES)
@given(moments=st.lists(MOMENTS, min_size=1, max_size=5))
def test_local_times_are_those_of_python(name: str, moments: list[datetime]) -> None:
    local = [moment.replace(tzinfo=UTC).astimezone(ZoneInfo(name)) for moment in moments]
    assert (Zone.named(name).to_local(stamps(*moments)) == stamps(*local)).all()


@pytest.mark.parametrize("name", NAMES)
@given(
    around=st.sampled_from([datetime(2024, 3, 31), datetime(2024, 10, 27), datetime(2024, 4, 7)]),
    hour=st.integers(-48, 48),
)
def test_local_times_that_come_twice_or_never_are_taken_as_python_takes_them(
    name: str, around: datetime, hour: int
) -> None:
    local = around + timedelta(minutes=30 * hour)
    expected = local.replace(tzinfo=ZoneInfo(name)).astimezone(UTC)
    assert (Zone.named(name).to_utc(stamps(local)) == stamps(expected)).all()


def test_many_times_on_a_day_of_a_clock_change_are_converted_one_by_one() -> None:
    utc = np.arange("2024-03-30T22:00", "2024-03-31T04:00", dtype="M8[h]")
    hours = [str(time)[-2:] for time in Zone.named("Europe/Berlin").to_local(utc)]
    assert hours == ["23", "00", "01", "03", "04", "05"]


@pytest.mark.parametrize(("name", "hours"), [("UTC", 0), ("+02:00", 2), ("UTC-05:00", -5), ("+0530", 5.5)])
def test_offsets_are_zones(name: str, hours: float) -> None:
    assert Zone.named(name).offset(stamps(datetime(2024, 1, 1)))[0] == np.timedelta64(int(3600 * hours), "s")


def test_an_unknown_zone_is_named_with_the_remedy() -> None:
    with pytest.raises(UnknownNameError, match=r'no time zone "Mars/Phobos".*pip install tzdata'):
        Zone.named("Mars/Phobos")


def test_observed_offsets_hold_until_the_next_row_and_for_each_series_by_itself() -> None:
    utc, hour = np.array(["2024-03-30T23", "2024-03-31T22"], "M8[h]"), np.timedelta64(1, "h")
    zone = ObservedOffsets(utc, np.array([1, 2], "m8[h]"))
    asked = np.array(["2024-03-30", "2024-03-31", "2024-04-09"], "M8[D]").astype("M8[h]")
    assert (zone.offset(asked) == [hour, hour, 2 * hour]).all()
    assert (zone.take([0]).offset(asked) == hour).all()


def test_text_has_the_offset_of_each_time() -> None:
    utc = np.array(["2024-03-30T23:00", "NaT", "2024-03-31T22:00"], "M8[m]")
    assert ZonedTimes(utc, None, "Europe/Berlin").text() == ["2024-03-31T00:00+01:00", "NaT", "2024-04-01T00:00+02:00"]
    assert ZonedTimes(utc[:1], None, "UTC").text() == ["2024-03-30T23:00Z"]
    old = ZonedTimes(np.array(["1880-01-01"], "M8[D]"), None, "Europe/Berlin")
    assert from_frame({"t": old.text()}).times("t") == old.utc  # an offset with seconds is read again


ZONED = pd.date_range("2024-03-30", periods=3, freq="D", tz="Europe/Berlin")
FRAMES = {
    "pandas": pd.DataFrame({"t": ZONED}),
    "polars": pl.DataFrame({"t": ZONED}).with_columns(pl.col("t").dt.convert_time_zone("Europe/Berlin")),
    "pyarrow": pa.table(
        {"t": pa.array(ZONED.tz_convert("UTC").tz_localize(None)).cast(pa.timestamp("us", "Europe/Berlin"))}
    ),
}


@pytest.mark.parametrize("kind", FRAMES)
def test_a_column_with_a_zone_comes_back_with_it(kind: str, tmp_path: Any) -> None:
    table = from_frame(FRAMES[kind])
    times = table.zoned_times("t")
    assert times.zone is not None
    back = table.like({"t": ZonedTimes.of(times.values, times.zone)})
    dtypes = {"pandas": "datetime64[.s, Europe/Berlin]", "polars": "Europe/Berlin", "pyarrow": "tz=Europe/Berlin"}
    found = str(back["t"].type if kind == "pyarrow" else back["t"].dtype)
    assert dtypes[kind].split("s, ")[-1] in found
    assert (from_frame(back).times("t") == times.values).all()
    path = tmp_path / "zoned.parquet"
    write_table({"t": ZonedTimes.of(times.values, times.zone)}, path)
    assert read_table(path).zoned_times("t").zone.name == "Europe/Berlin"  # type: ignore[union-attr]


def test_files_of_text_keep_the_offset(tmp_path: Any) -> None:
    for kind in ("csv", "jsonl"):
        path = tmp_path / f"zoned.{kind}"
        write_table({"t": ZonedTimes(np.array(["2024-07-01T10:00"], "M8[m]"), None, "+02:00")}, path)
        assert "2024-07-01T12:00+02:00" in path.read_text()
        times = read_table(path).zoned_times("t")
        assert (times.values[0], times.zone.name) == (np.datetime64("2024-07-01T10:00"), "+02:00")  # type: ignore[union-attr]
