"""Time zones: between UTC and local time, and columns of times that have a zone."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from functools import cached_property
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

import numpy as np

from adabypass.errors import UnknownNameError

Array = np.ndarray[Any, np.dtype[Any]]

_OFFSET = re.compile(r"(?:UTC|GMT)?([+-])(\d\d):?(\d\d)(?::?(\d\d))?")
_FIRST_DAY, _LAST_DAY = np.datetime64("0001-01-03", "D"), np.datetime64("9999-12-29", "D")
_DAY = np.timedelta64(1, "D")


class Zone:
    """A time zone whose offset from UTC may change with time.

    Parameters
    ----------
    tz : tzinfo
    name : str
        What data frames call it.
    """

    def __init__(self, tz: tzinfo, name: str) -> None:
        self.tz, self.name = tz, name

    @classmethod
    def named(cls, name: str) -> "Zone":
        """Return the zone of this name, such as "Europe/Paris", "UTC" or "+02:00"."""
        found = _OFFSET.fullmatch(name)
        if found is not None:
            seconds = 3600 * int(found[2]) + 60 * int(found[3]) + int(found[4] or 0)
            return cls(timezone(timedelta(seconds=-seconds if found[1] == "-" else seconds)), name)
        if name.upper() == "UTC":
            return cls(UTC, name)
        try:
            return cls(ZoneInfo(name), name)
        except (KeyError, ValueError, OSError) as error:
            raise UnknownNameError(
                f'there is no time zone "{name}"; use a name such as "Europe/Paris" or "UTC" (where the system has '
                "no list of zones, pip install tzdata)."
            ) from error

    def offset(self, utc: Array) -> Array:
        """Return how far local time is ahead of UTC at each time, in seconds (m8[s])."""
        if isinstance(self.tz, timezone):
            return np.full(len(utc), self._offset_at(np.datetime64(0, "s")), dtype="m8[s]")
        days, which = np.unique(utc.astype("M8[D]"), return_inverse=True)
        days = np.clip(np.where(np.isnat(days), np.datetime64(0, "D"), days), _FIRST_DAY, _LAST_DAY)
        start = np.array([self._offset_at(day) for day in days], dtype="m8[s]")
        end = np.array([self._offset_at(day + _DAY) for day in days], dtype="m8[s]")
        offset: Array = start[which]
        for at in np.flatnonzero((start != end)[which]):  # on the days of a clock change, each time by itself
            offset[at] = self._offset_at(utc[at])
        return offset

    def to_local(self, utc: Array) -> Array:
        """Return local times of times in UTC."""
        local: Array = utc + coarsest(self.offset(utc))
        return local

    def to_utc(self, local: Array) -> Array:
        """Return times in UTC of local times.

        A local time that comes twice, as clocks are set back, is the first of the two; one that is left out, as clocks
        are set forward, is as much later as clocks are moved.
        """
        before = local - coarsest(self.offset(local - _DAY))
        after = local - coarsest(self.offset(local + _DAY))
        use_after = (self.to_local(before) != local) & (self.to_local(after) == local)
        return np.where(use_after, after, before)

    def take(self, rows: Any) -> "Zone":
        """Return the zone of a part of the rows."""
        return self

    def _offset_at(self, utc: Any) -> timedelta:
        moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=int(utc.astype("M8[s]").astype(np.int64)))
        return moment.astimezone(self.tz).utcoffset() or timedelta(0)


class ObservedOffsets(Zone):
    """A zone without a name, known by the offsets that were written beside times.

    Between two rows the offset is that of the earlier one, and after the last row it stays as it is there.

    Parameters
    ----------
    utc : array (n,) of datetime64
    offsets : array (n,) of timedelta64
    """

    def __init__(self, utc: Array, offsets: Array) -> None:
        order = np.argsort(utc, kind="stable")
        self._utc, self._offsets = utc[order], offsets[order].astype("m8[s]")
        self._rows = utc, offsets
        super().__init__(UTC, "")

    def offset(self, utc: Array) -> Array:
        """Return how far local time is ahead of UTC at each time, in seconds (m8[s])."""
        at = np.searchsorted(self._utc, utc, side="right") - 1
        found: Array = self._offsets[np.maximum(at, 0)]
        return found

    def take(self, rows: Any) -> Zone:
        """Return the zone of a part of the rows."""
        utc, offsets = self._rows
        return ObservedOffsets(utc[rows], offsets[rows])


class ZonedTimes:
    """A column of times with their offsets from UTC. As a sequence it holds text: ISO 8601 with the offset.

    Parameters
    ----------
    utc : array (n,) of datetime64
    offsets : array (n,) of timedelta64, or None
        None where the zone's name gives them.
    zone : str or None
        The zone's name, for libraries of data frames; None where only offsets are known.
    as_text : bool
        Whether a data frame gets text, since the times came as text.
    """

    def __init__(self, utc: Array, offsets: Array | None, zone: str | None, as_text: bool = False) -> None:
        self.utc, self.zone, self.as_text = utc, zone, as_text
        if offsets is not None:
            self.offsets = offsets

    @cached_property
    def offsets(self) -> Array:
        """How far local time is ahead of UTC at each time."""
        return Zone.named(self.zone or "UTC").offset(self.utc)

    @classmethod
    def of(cls, utc: Array, zone: Zone, as_text: bool = False) -> "ZonedTimes":
        """Return times in UTC as a column of a zone."""
        return cls(utc, zone.offset(utc), zone.name or None, as_text)

    @classmethod
    def concatenate(cls, parts: "list[ZonedTimes]") -> "ZonedTimes":
        """Concatenate columns, in order."""
        zones = {part.zone for part in parts}
        return cls(
            np.concatenate([part.utc for part in parts]),
            np.concatenate([part.offsets for part in parts]),
            zones.pop() if len(zones) == 1 else None,
            parts[0].as_text,
        )

    def text(self) -> list[str]:
        """Return ISO 8601 with the offset; "NaT" where there is no time."""
        local = np.datetime_as_string(self.utc + coarsest(self.offsets)).tolist()
        seconds = self.offsets.astype("m8[s]").astype(np.int64).tolist()
        names = {offset: "Z" if self.zone == "UTC" else offset_text(offset) for offset in set(seconds)}
        return [
            stamp if stamp == "NaT" else stamp + names[offset] for stamp, offset in zip(local, seconds, strict=True)
        ]

    def datetimes(self) -> list[datetime | None]:
        """Return Python's own times, aware of their zone."""
        tz = None if self.zone is None else Zone.named(self.zone).tz
        moments = self.utc.astype("M8[us]").astype(object)
        seconds = self.offsets.astype("m8[s]").astype(np.int64).tolist()
        return [
            None
            if moment is None
            else moment.replace(tzinfo=UTC).astimezone(timezone(timedelta(seconds=offset)) if tz is None else tz)
            for moment, offset in zip(moments, seconds, strict=True)
        ]

    def __len__(self) -> int:
        return len(self.utc)

    def __getitem__(self, index: int) -> str:
        return ZonedTimes(self.utc[index : index + 1], self.offsets[index : index + 1], self.zone).text()[0]

    def __iter__(self) -> Iterator[str]:
        return iter(self.text())

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return np.array(self.text(), dtype=dtype)


class Times(NamedTuple):
    """A column of times."""

    values: Array
    """datetime64, in UTC where there is a zone; or plain numbers."""
    zone: Zone | None = None
    as_text: bool = False
    """Whether times with a zone came as text."""

    def take(self, rows: Any) -> "Times":
        """Return the times of a part of the rows."""
        return Times(self.values[rows], None if self.zone is None else self.zone.take(rows), self.as_text)


def coarsest(offset: Any) -> Array:
    """Return timedeltas in whole hours or minutes where that is exact, so that adding them needs no finer unit."""
    seconds = np.asarray(offset, dtype="m8[s]")
    for unit in ("h", "m"):
        if (seconds == seconds.astype(f"m8[{unit}]")).all():
            return seconds.astype(f"m8[{unit}]")
    return seconds


def offset_text(seconds: int) -> str:
    """Return an offset as ISO 8601 writes it: +02:00."""
    hours, rest = divmod(abs(seconds), 3600)
    minutes, seconds_left = divmod(rest, 60)
    text = f"{'-' if seconds < 0 else '+'}{hours:02}:{minutes:02}"
    return text + f":{seconds_left:02}" * bool(seconds_left)
