"""What a stream has learned, in memory: all series, and how far it has come."""

import json
from collections.abc import Iterator, Sequence
from datetime import datetime
from heapq import nlargest
from math import isinf
from typing import Any, Self

import numpy as np

from adabypass.errors import StateError
from adabypass.forecasting import Forecaster
from adabypass.forecasting.lag_engine import LagEngine
from adabypass.forecasting.state import check_engine
from adabypass.regressors.base import MAX_FEATURES
from adabypass.regressors.state import check_layout
from adabypass.snapshots.header import Header
from adabypass.streaming.answers import Answerer, AnswerFormat, Encode, Event
from adabypass.streaming.batches import InputChecksum
from adabypass.streaming.cache import SeriesCache, checked_time
from adabypass.streaming.clock import JumpGuard
from adabypass.streaming.forgetting import Forgetting
from adabypass.streaming.rows import Row
from adabypass.streaming.store_reader import MAX_NUMBER, StoreReader
from adabypass.validation import shown

MAX_MEMORY_OF_A_READER = 1 << 28
"""Bytes of the rows of series that were learned since the last checkpoint."""
MAX_CHECKSUM = (1 << 32) - 1
OTHER_CONSTANTS = "it was saved by a version of adabypass with other constants; train it anew"
"""Why rows of the same settings cannot be gone on with."""


class Learner:
    """Learns rows, and answers them.

    Parameters
    ----------
    template : Forecaster
        With the settings of every series, untrained.
    n_exog : int
        Number of exogenous columns.
    wanted : AnswerFormat
        What an answer consists of.
    encode : function
        Makes of rows, and of the columns of their answers, what is returned.
    forgetting : Forgetting
    max_bytes : int
        Memory of the rows of series.
    n_threads : int, optional
    guard : JumpGuard, optional
        Knows which times are believed.
    freq : str, optional
        Time between two rows of a series, for those who ask for times to come.

    Attributes
    ----------
    n_learned : int
        Rows so far.
    row : int
        Number of the newest of them.
    positions : JSON value
        Where reading goes on in the source, as its last commit had it.
    checksum : InputChecksum
        Of all rows, where they are recognised by their number.
    """

    def __init__(
        self, template: Forecaster, n_exog: int, wanted: AnswerFormat, encode: Encode, forgetting: Forgetting, *,
        max_bytes: int, n_threads: int | None = None, guard: JumpGuard | None = None,
        freq: str | None = None,
    ) -> None:  # fmt: skip
        false_alarms = wanted.false_alarms if wanted.has_alarms else None
        self.series = SeriesCache(template, n_exog, false_alarms=false_alarms, max_bytes=max_bytes, n_threads=n_threads)
        self._answerer = Answerer(wanted, self.series, encode)
        self.wanted = wanted
        self._has_ids, self._has_time = bool(wanted.keys), wanted.time is not None
        self._learns_once_each = wanted.horizon > 0
        self.forgetting = forgetting
        self.guard, self.freq = guard, freq
        self.n_learned = self.row = 0
        self.positions: Any = None
        self.checksum: InputChecksum | None = None if self._has_time else InputChecksum()

    @classmethod
    def of_settings(cls, settings: Header) -> Self:
        """Return what has learned nothing yet, with the settings that a store has; it makes no answers."""
        template, n_exog = _template_of(settings)
        has_ids, has_time = (settings.value(name) is not None for name in ("id", "time"))
        wanted = AnswerFormat(("mean",), key="id" if has_ids else None, time="time" if has_time else None)
        forgetting = Forgetting(None, None, has_time=has_time)
        return cls(
            template, n_exog, wanted, lambda rows, *_: [None] * len(rows), forgetting, max_bytes=MAX_MEMORY_OF_A_READER
        )

    @property
    def events(self) -> list[Event]:
        """Rows that were flagged, the newest ones."""
        return list(self._answerer.events)

    def last_time(self, key: str) -> str:
        """Return the time of the newest row that a series has learned, as JSON; "" if there is none."""
        found = self.series.find(key)
        return "" if found is None else found.cell

    def learn(self, rows: Sequence[Row]) -> list[Any]:
        """Learn rows; return the answer to each."""
        answers: list[Any] = []
        for part in self._parts(rows):
            slots = np.array([self.series[row[1]].slot for row in part], np.intp)
            answers += self._answerer.answer(part, slots, self.n_learned + 1)
            self.n_learned += len(part)
            self.row = part[-1][0]
            if self._has_time:
                self._note_times(part)
            if self.checksum is not None:
                self.checksum.add(part)
        return answers

    def checked(self, rows: Sequence[Row]) -> Sequence[Row]:
        """Return rows of the store; refuse those that do not fit the settings."""
        for number, key, time, y, exog in rows:
            if isinf(y) or (exog is not None and any(map(isinf, exog))):
                raise StateError(f"the store has a row, number {number}, with an infinite value.")
            if time and not self._has_time:  # a step of a gap has no time
                raise StateError(f"the store has a row, number {number}, whose time does not fit the settings.")
            if time:
                checked_time(time)
            if key not in self.series and not self._is_key(key):
                raise StateError(f"the store has the id {shown(key)}, which is none.")
        return rows

    def _is_key(self, key: str) -> bool:
        """Return whether the key of a series is an id as JSON, or "" where there are no ids."""
        try:
            return bool(key) == self._has_ids and (not key or json.loads(key) is not None)
        except (ValueError, RecursionError):
            return False

    def _note_times(self, rows: Sequence[Row]) -> None:
        series = self.series
        for row in rows:
            if row[2]:
                series[row[1]].cell = row[2]

    def _parts(self, rows: Sequence[Row]) -> Iterator[Sequence[Row]]:
        """Yield rows that can be learned at once; each part is learned before the next is asked for."""
        if not self._learns_once_each and not self.forgetting:
            for start in range(0, len(rows), self.series.max_rows):
                yield rows[start : start + self.series.max_rows]
            return
        part: list[Row] = []
        seen: dict[str, str] = {}
        n_begun = 0
        for row in rows:
            key = row[1]
            is_new = self.forgetting.max_series is not None and key not in seen and self.series.find(key) is None
            is_due = bool(self.forgetting) and self.n_learned + len(part) >= self.forgetting.next_round
            is_due |= is_new and self.forgetting.is_overfull(self.series.n_series + n_begun + 1)
            if part and (is_due or len(part) >= self.series.max_rows or (self._learns_once_each and key in seen)):
                yield part
                part, seen, n_begun = [], {}, 0
            if is_due:
                self.forgetting.search(self.series, self.n_learned, int(is_new))
            self.forgetting.note(row)
            if self._is_forgotten(row, self.n_learned + len(part), seen):
                if part:
                    yield part
                    part, seen, n_begun = [], {}, 0
                self.series.drop(key)
            part.append(row)
            n_begun += is_new
            seen[key] = row[2] or seen.get(key, "")  # a step of a gap has no time
        if part:
            yield part

    def _is_forgotten(self, row: Row, n_before: int, seen: dict[str, str]) -> bool:
        """Return whether the series of the next row is to begin anew.

        Parameters
        ----------
        n_before : int
            Rows of the stream before it.
        seen : dict
            The newest time of each series that has had one of the rows which are not learned yet.
        """
        forgetting, key = self.forgetting, row[1]
        if forgetting.span is None and (forgetting.n_rows is None or key in seen):
            return False
        if seen.get(key):
            return forgetting.is_old(seen[key], row[2])
        series = self.series.find(key)
        if series is None:
            return False
        if forgetting.span is not None:
            return forgetting.is_old(series.cell, row[2])
        return forgetting.is_idle(int(self.series.newest[series.slot]), n_before)

    def check_known(self, rows: Sequence[Row], known: InputChecksum, what: str) -> None:
        """Check that rows of an input, which were learned before, are the same as then.

        Parameters
        ----------
        known : InputChecksum
            Of the rows before them, to which these are added.
        what : str
            What errors call the store.
        """
        assert self.checksum is not None
        known.add(rows)
        same = all(self.checksum.milestones.get(n, each) == each for n, each in known.milestones.items())
        if not same or (known.count == self.checksum.count and known.current != self.checksum.current):
            raise StateError(
                f"the input up to row {rows[-1][0]} is not that from which {what} has learned; give the same input "
                "from its first row on, or start with a new folder and a column of times, by which rows are recognised."
            )

    def describe(self) -> dict[str, Any]:
        """Return what the store says of the settings of the series."""
        engine, n_exog = self.series.engine, self.series.n_exog
        described = engine.describe()
        return {
            "engine": described.pop("kind"), **described, "n_exog": n_exog, "design": engine.design(n_exog),
            "layout": engine.shapes(n_exog),
        }  # fmt: skip

    def progress(self) -> dict[str, Any]:
        """Return what the store says of how far the stream has come."""
        checksum = self.checksum
        return {
            "n_learned": self.n_learned,
            "row": self.row,
            "n_series": self.series.n_series,
            "next_number": self.series.next_number,
            "positions": self.positions,
            **self.forgetting.describe(),
            "believed_time": self._believed_time(),
            "freq": self.freq,
            "checksum": None if checksum is None else list(checksum.current),
            "milestones": [] if checksum is None else [[n, *each] for n, each in checksum.milestones.items()],
            "events": [list(each) for each in self._answerer.events],
        }

    def restore(self, store: StoreReader) -> None:
        """Take over what the store has of the progress; series are loaded when they are needed."""
        header = store.progress
        self.n_learned, self.row = (header.whole(name, maximum=1 << 53) for name in ("n_learned", "row"))
        series = self.series
        series.store, series.n_series = store, store.n_series
        series.next_number = header.whole("next_number", maximum=MAX_NUMBER)
        self.positions = header.value("positions")
        self.forgetting.restore(header)
        self._restore_guard(header)
        if self.checksum is not None:
            pair = header.wholes("checksum", maximum=MAX_CHECKSUM)
            if len(pair) != 2:
                header.refuse('its "checksum" is not a pair of numbers')
            self.checksum = InputChecksum(self.n_learned, (pair[0], pair[1]))
            self.checksum.milestones = _milestones(header)
        events = header.value("events")
        if not isinstance(events, list) or not all(isinstance(each, list) and len(each) == 5 for each in events):
            header.refuse('its "events" are not rows that were flagged')
        self._answerer.events.extend(Event(*each) for each in events)

    def _believed_time(self) -> list[Any] | None:
        """Return the newest time that was believed, as JSON has it, and whether it is confirmed; None if none is."""
        if self.guard is None or self.guard.newest is None:
            return None
        newest = self.guard.newest
        return [newest.isoformat() if isinstance(newest, datetime) else newest, self.guard.is_confirmed]

    def _restore_guard(self, header: Header) -> None:
        """Take over which times are believed: if nobody has watched that yet, what two series have reached."""
        found = header.value("believed_time")
        if found is not None and not (isinstance(found, list) and len(found) == 2 and type(found[1]) is bool):
            header.refuse('its "believed_time" is not a time')
        if self.guard is None:
            return
        if found is not None:
            self.guard.restore(checked_time(json.dumps(found[0])), is_confirmed=found[1])
            return
        times = nlargest(2, (checked_time(cell) for _, cell, _ in self.series.known() if cell))
        if times:
            self.guard.restore(times[-1], is_confirmed=True)

    def check_settings(self, header: Header, wanted: dict[str, Any]) -> None:
        """Refuse a store of other settings, or of rows with another layout."""
        saved = header.named("settings")
        for name, value in wanted.items():
            if name == "layout" or saved.get(name) == value:
                continue
            if name == "design":  # what it follows from stands before it, and is the same
                header.refuse(OTHER_CONSTANTS)
            header.refuse(
                f"it was made with {_shown(name, saved.get(name))}, but now there is {_shown(name, value)}; give the "
                "same options as before, or another folder"
            )
        check_layout(header.part("settings"), self.series.engine.shapes(self.series.n_exog))


def _template_of(settings: Header) -> tuple[Forecaster, int]:
    """Return the forecaster that a store describes, untrained, and the number of its exogenous columns."""
    engine = check_engine(Header(settings.named_values() | {"kind": settings.text("engine")}, settings.name))
    n_exog = settings.whole("n_exog", maximum=MAX_FEATURES)
    if engine.n_inputs not in (None, n_exog):
        settings.refuse(f"it has {n_exog} exogenous columns, but {engine.n_inputs} names for them")
    try:
        if settings.value("design") != engine.design(n_exog):
            settings.refuse(OTHER_CONSTANTS)
    except StateError:
        raise
    except ValueError as error:
        settings.refuse(str(error).rstrip("."))
    return Forecaster._of(engine), n_exog


def _milestones(header: Header) -> dict[int, tuple[int, int]]:
    found = header.value("milestones")
    is_sound = isinstance(found, list) and all(
        isinstance(each, list) and len(each) == 3 and all(type(number) is int and number >= 0 for number in each)
        for each in found
    )
    if not is_sound:
        header.refuse('its "milestones" are not checksums after a number of rows')
    return {n: (values, keys) for n, values, keys in found}


def _shown(name: str, value: Any) -> str:
    if name == "engine":
        return "a model with lags" if value == LagEngine.kind else "the automatic forecaster"
    if isinstance(value, dict):
        return f"{name} {value.get('kind')} {shown(value.get('hyperparameters'))}"
    return f"no {name}" if value in (None, "", []) else f"{name} {shown(value)}"
