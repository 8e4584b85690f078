"""`Stream`: many series that are forecast and learned as their rows arrive, kept in a folder through any crash."""

import json
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, NamedTuple, Protocol, Self

import numpy as np

from adabypass.distributions.base import check_level
from adabypass.errors import ConcurrentUseError, ParameterError, StateError, UnknownNameError
from adabypass.files import FilePath
from adabypass.forecasting import Forecaster
from adabypass.panel.ahead import check_levels, check_quantiles
from adabypass.panel.panel import MAX_HORIZON, Panel
from adabypass.panel.results import Id, PanelForecast
from adabypass.results.changes import FALSE_ALARMS, check_rate
from adabypass.streaming.answers import (
    DEFAULT_FIELDS,
    FIELDS,
    Answer,
    AnswerFormat,
    Encode,
    Event,
    encode_answers,
)
from adabypass.streaming.batches import pack, unpack
from adabypass.streaming.forgetting import Forgetting
from adabypass.streaming.ids import id_of, key_of, panel_id
from adabypass.streaming.intake import Counts, Intake, TimeRules
from adabypass.streaming.learner import Learner
from adabypass.streaming.records import RecordSource, names_of
from adabypass.streaming.rows import Columns, Row
from adabypass.streaming.store import Store, StoreReader
from adabypass.streaming.view import replayed
from adabypass.validation import as_tuple, check_int, shown

MAX_MEMORY = 1 << 29
"""Bytes of the rows of series in memory: 512 MB."""
EVERY, EVERY_OF_A_SERIES, MAX_EVERY = 10_000, 10, 1_000_000
"""Rows between two checkpoints: the first number, or the second for each series in memory, up to the third."""
MAX_BATCH = 65_536
"""Rows of one commit."""
Fsync = Literal["interval", "always"]


class Sink(Protocol):
    """Where answers go that must be there exactly once: a file or a topic."""

    def resume(self, position: dict[str, Any] | None) -> None:
        """Go back to the position of the last checkpoint; None if there was none."""

    def add(self, answer: Any, number: int, key: str) -> object:
        """Add the answer to a row that is learned again, of this number and series."""

    def sync(self) -> dict[str, Any]:
        """Make all answers durable; return the position after them."""


class Resumed(NamedTuple):
    """What a stream was resumed with."""

    n_learned: int
    """Rows that were learned before."""
    row: int
    """Number of the last of them in the input."""
    n_replayed: int
    """How many of them came after the last checkpoint, and were learned again."""


class Stream:
    """Many series, forecast and learned row by row, and kept in a folder.

    Every row is answered with the forecast that was made before its value was used, and learned exactly once: what was
    answered is on the disk. A stream that was killed goes on where it was when it is opened again. Rows that are
    not later than the newest of their series were learned before and are skipped, if rows have times; `n_learned` tells
    where to go on if they have none.

    Several threads may use a stream: calls take effect one after another. Other processes may read it meanwhile, with
    `adabypass.load(path)`, `adabypass forecast --state` or `adabypass inspect`; a second writer is refused.

    Parameters
    ----------
    path
        Of the folder, which is made if there is none; None: in memory only.
    forecaster : Forecaster, optional
        Its settings are used for every series. `Forecaster()` if not given.
    target : str or list of str
        Name of the values to forecast, in the rows. Each of several is a series of its own, whose id ends with its
        name. In dicts a name such as `metrics.cpu` leads into nested ones, here and below.
    key : str or list of str, optional
        Name of what says to which series a row belongs; several names make an id together.
    time : str, optional
        Name of the times: dates, or numbers. Rows of a series come in the order of time.
    exog : list of str
        Names of other quantities, known with the row, from which the target is forecast as well.
    freq : number, timedelta or text, optional
        Time between two rows of a series: the steps of a gap pass as missing values, so that a season keeps its place.
        By default the next row is the next step.
    max_jump : number, timedelta or text, optional
        Refuse rows that are dated more than this after all others: one wrong clock must not make all later rows of its
        series late. Ten such rows in succession that agree are believed. The first row of a new stream is believed
        until another agrees with it, and no more if two rows agree on another time before that.
    reorder_window : number, timedelta or text, optional
        Hold rows back until their series, or the stream since they came, is this far ahead, and learn them in order of
        time. Their answers are returned by the call of `learn` that releases them, or by `release`.
    fields : list of str
        What an answer holds: `mean`, `sd`, `interval`, `quantiles`, `log_score`, `surprise`, `anomaly`, `change`.
    level : number between 0 and 1
        Probability of the interval.
    quantiles : list of numbers between 0 and 1
        Probabilities of the field `quantiles`.
    false_alarms : number between 0 and 1
        Maximum rate of false alarms, per row: of anomalies, and of changes.
    horizon : int
        Number of steps after a row that its answer forecasts; 0 for none.
    every_forecast : int
        Rows of a series between two such forecasts.
    levels : list of numbers between 0 and 1, optional
        Probabilities of their intervals; `level` if not given.
    checkpoint_every : int, optional
        Rows between two checkpoints. By default 10,000, or 10 for each series in memory if that is more.
    fsync : "interval" or "always"
        Flush what was learned to the disk once a second, or before every answer. A killed process loses nothing either
        way, a power cut up to a second with `interval`.
    forget_after : number, timedelta or text, optional
        Forget series that have had no row for this span of time (`"30 days"`), or for so many rows of the stream if
        rows have no time. The time of the stream is the newest that two series have reached, or one with a thousand
        rows in succession; of its own next row, the time of a series counts as well.
    max_series : int, optional
        Forget the longest idle of more series; there may be a fourth more in between.
    max_memory : int
        Bytes of the rows of series that are kept in memory; the others are in the folder only, and read when
        their next row comes.
    n_threads : int, optional
        By default as many as this process has processors.
    on_replay : function, optional
        Called with the answer to each row that was learned since the last checkpoint, when these are learned again
        after a crash, or after an error within the `with` block: some of these answers may not have arrived.

    Examples
    --------
    >>> from adabypass import Forecaster, Stream
    >>> with Stream(None, Forecaster(lags=1), key="host") as stream:
    ...     rows = [{"host": name, "y": load} for load in (1.0, 1.2, 0.9, 1.1) for name in ("a", "b")]
    ...     answers = stream.learn(rows)
    ...     stream.forecast(horizon=2, ids=["b"])
    PanelForecast(1 series, 2 steps)
    >>> answers[-1].id, answers[-1].lower_90 < 1.0 < answers[-1].upper_90
    ('b', True)
    """

    _intake: Intake | None
    """Makes rows of what `learn` is given; None where another one does."""
    _learner: Learner
    counts: Counts

    def __init__(
        self,
        path: FilePath | None = None,
        forecaster: Forecaster | None = None,
        *,
        target: str | Sequence[str] = "y",
        key: str | Sequence[str] | None = None,
        time: str | None = None,
        exog: str | Sequence[str] = (),
        freq: Any = None,
        max_jump: Any = None,
        reorder_window: Any = None,
        fields: Sequence[str] | None = None,
        level: float = 0.9,
        quantiles: float | Sequence[float] = (0.05, 0.25, 0.5, 0.75, 0.95),
        false_alarms: float = FALSE_ALARMS,
        horizon: int = 0,
        every_forecast: int = 1,
        levels: float | Sequence[float] | None = None,
        checkpoint_every: int | None = None,
        fsync: Fsync = "interval",
        forget_after: Any = None,
        max_series: int | None = None,
        max_memory: int = MAX_MEMORY,
        n_threads: int | None = None,
        on_replay: Callable[[Answer], object] | None = None,
    ) -> None:
        template = Forecaster() if forecaster is None else forecaster
        if not isinstance(template, Forecaster):
            raise ParameterError(
                f"forecaster is {shown(template)}, but must be a Forecaster; a model needs one around it."
            )
        columns = Columns(
            names_of(target, "target"), names_of(key, "key"), None if time is None else _name(time, "time"),
            names_of(exog, "exog"),
        )  # fmt: skip
        if not columns.targets:
            raise ParameterError("target names no column; name the values to forecast.")
        columns.check()
        wanted = AnswerFormat(
            fields=_check_fields(fields, template),
            level=check_level(level),
            quantiles=check_quantiles(quantiles),
            false_alarms=check_rate(false_alarms),
            key=columns.keys or None,
            time=columns.time,
            horizon=check_int(horizon, "horizon", minimum=0, maximum=MAX_HORIZON),
            levels=() if levels is None else check_levels(levels),
            every=check_int(every_forecast, "every_forecast", minimum=1, maximum=1 << 53),
            is_point=template.is_point,
        )
        for name, value in (("freq", freq), ("max_jump", max_jump), ("reorder_window", reorder_window)):
            if value is not None and time is None:
                raise ParameterError(f"{name} is {shown(value)}, but rows have no times; name their column with time=.")
        forgetting = Forgetting(forget_after, max_series, has_time=time is not None)
        period = next((int(each) for each in template.period or () if float(each).is_integer()), None)
        rules = TimeRules.of(freq, max_jump, reorder_window, period=period, forget_after=forgetting.span)
        self._open(
            path, template, wanted, columns, encode_answers(wanted), checkpoint_every=checkpoint_every, fsync=fsync,
            forgetting=forgetting, rules=rules, max_memory=max_memory, n_threads=n_threads,
            sink=None if on_replay is None else _Replay(on_replay),
        )  # fmt: skip
        columns, counts, learner = self._columns, self.counts, self._learner
        if freq is not None and columns.exog and template.missing == "raise":
            self.close()
            raise ParameterError(
                "freq lets the steps of a gap pass, whose exogenous values nobody knows; let the forecaster fill them "
                "with missing='last' or missing='mean'."
            )
        self._source = RecordSource(columns)
        self._intake = Intake(
            self._source, columns, "mean", "fail", rules, learner.last_time, counts.note_bad, counts,
            lambda number: path is not None, is_whole=True,
        )  # fmt: skip

    @classmethod
    def _of(
        cls, path: FilePath | None, template: Forecaster, wanted: AnswerFormat, columns: Columns, encode: Encode,
        **options: Any,
    ) -> Self:  # fmt: skip
        """Return a stream whose answers are made by `encode`; the options are those of `_open`."""
        made = cls.__new__(cls)
        made._open(path, template, wanted, columns, encode, **options)
        return made

    def _open(
        self,
        path: FilePath | None,
        template: Forecaster,
        wanted: AnswerFormat,
        columns: Columns,
        encode: Encode,
        *,
        forgetting: Forgetting | None = None,
        rules: TimeRules | None = None,
        checkpoint_every: int | None = None,
        fsync: Fsync = "interval",
        max_memory: int = MAX_MEMORY,
        n_threads: int | None = None,
        sink: Sink | None = None,
        settings: Mapping[str, Any] | None = None,
    ) -> None:
        """Open the store, and learn again what was learned since its last checkpoint.

        Parameters
        ----------
        sink : Sink, optional
            Gets the answers to these rows, and tells at every checkpoint how far it has come.
        settings : dict, optional
            What else must be the same whenever the stream is resumed.
        """
        if fsync not in ("interval", "always"):
            raise ParameterError(f'fsync is {shown(fsync)}, but must be "interval" or "always".')
        if checkpoint_every is not None:
            check_int(checkpoint_every, "checkpoint_every", minimum=1, maximum=1 << 53)
        check_int(max_memory, "max_memory", minimum=1, maximum=1 << 62)
        self._columns, self._sink, self._every = columns, sink, checkpoint_every
        self._lock, self._process = threading.Lock(), os.getpid()
        self._store: StoreReader | None = None
        self._is_closed = self._is_failed = False
        self._intake = None
        self.counts = Counts()
        """How many rows were met since the stream was opened, and what became of them."""
        n_exog = len(columns.exog) or template._engine.n_inputs_at_start
        if template.exog is not None and columns.exog not in ((), template.exog):
            raise ParameterError(f"exog is {columns.exog}, but the forecaster's exogenous columns are {template.exog}.")
        self._columns = columns = columns._replace(exog=columns.exog or template.exog or ())
        self._learner = Learner(
            template, n_exog, wanted, encode, forgetting or Forgetting(None, None, has_time=wanted.time is not None),
            max_bytes=max_memory, n_threads=n_threads, guard=None if rules is None else rules.guard,
        )  # fmt: skip
        _check_ahead(template, wanted, n_exog)
        self._n_checkpointed = 0
        self.resumed = Resumed(0, 0, 0)
        """What the stream was resumed with."""
        if path is None:
            return
        learner = self._learner
        described = learner.describe() | columns.describe() | dict(settings or {})
        store = Store(path, described, learner.progress() | {"answers": None}, always=fsync == "always")
        try:
            self._resume(store, described)
        except BaseException:
            store.close(is_refused=True)
            raise

    def _resume(self, store: Store, settings: dict[str, Any]) -> None:
        learner = self._learner
        learner.check_settings(store.settings, settings)
        learner.restore(store)
        self._store, self._n_checkpointed = store, learner.n_learned
        if self._sink is not None:
            self._sink.resume(None if store.is_new else store.progress.value("answers"))
        n_before = learner.n_learned
        for row, answer in replayed(learner, store):
            if self._sink is not None:
                self._sink.add(answer, row[0], row[1])
        self.resumed = Resumed(learner.n_learned, learner.row, learner.n_learned - n_before)
        learner.series.n_resumed = learner.n_learned
        if learner.n_learned > n_before or self._sink is not None:  # answers go on from where they are now
            self._checkpoint()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is None:
            self.close()
        else:  # answers may not have arrived: without a checkpoint, they are made again
            self._abandon()

    def __len__(self) -> int:
        return self._learner.series.n_series

    def __contains__(self, id: object) -> bool:
        with self._exclusive():
            return self._learner.series.find(key_of(id)) is not None

    def __repr__(self) -> str:
        series = self._learner.series
        where = "in memory" if self._store is None else f"in {os.fspath(self._store.folder)}"
        done = ", closed" if self._is_closed else ""
        return f"Stream({len(self)} series of {series.engine.name}, {self.n_learned} rows learned, {where}{done})"

    @property
    def n_learned(self) -> int:
        """How many rows were learned."""
        return self._learner.n_learned

    @property
    def ids(self) -> list[Any]:
        """The ids of all series."""
        with self._exclusive():
            return [id_of(key) for key, _, _ in self._learner.series.known()]

    @property
    def n_skipped(self) -> int:
        """Rows that were learned before the stream was opened, and came again."""
        return self.counts.skipped

    @property
    def n_late(self) -> int:
        """Rows that were not later than the newest of their series, or in the same step of `freq`: not learned."""
        return self.counts.late

    @property
    def n_far(self) -> int:
        """Rows that were dated more than `max_jump` after all others: not learned."""
        return self.counts.bad

    def learn(self, rows: Any) -> list[Answer]:
        """Answer rows with the forecasts that were made before them, and learn them.

        Either all rows are read or, if one cannot be, none is learned. When the call returns, they are kept, but for
        those that `reorder_window` holds back. Rows that are not learned are counted: see `n_skipped`, `n_late` and
        `n_far`.

        Parameters
        ----------
        rows : dict, list or generator of dicts, or pandas, polars or pyarrow frame
            In the order of time. A value that is None or nan is a missing observation.

        Returns
        -------
        list of Answer
            One for each row that was learned.
        """
        with self._exclusive():
            self._check_writable()
            intake, series = self._own_intake(), self._learner.series
            found = [(self._source.number, intake.parse(record)) for record in self._source.read(rows)]
            if series.n_exog and found:
                exog = np.array([observations[1] for _, observations in found])
                series.engine.check_inputs(exog, len(found), series.n_exog)
            for number, observations in found:
                intake.add(number, observations)
            return self._learn_taken(intake)

    def release(self) -> list[Answer]:
        """Learn the rows that `reorder_window` holds back; return their answers."""
        with self._exclusive():
            self._check_writable()
            intake = self._own_intake()
            intake.release_all()
            return self._learn_taken(intake)

    def _own_intake(self) -> Intake:
        assert self._intake is not None
        return self._intake

    def _learn_taken(self, intake: Intake) -> list[Answer]:
        """Learn the rows that the intake has, and answer those that are no steps of gaps."""
        taken, first = intake.rows.copy(), self.n_learned + 1
        intake.rows.clear()
        intake.forget()
        answers: list[Answer] = []
        for start in range(0, len(taken), MAX_BATCH):
            self._checkpoint_if_due()
            part = [row._replace(number=first + at) for at, row in enumerate(taken[start : start + MAX_BATCH], start)]
            found = self._learn_now(part, None)
            answers += [each for row, each in zip(part, found, strict=True) if row[2] or self._columns.time is None]
        return answers

    def _learn_rows(self, rows: Sequence[Row], positions: Any = None) -> list[Any]:
        """Learn rows, and commit them with the positions of their source; return the answer to each."""
        with self._exclusive():
            self._check_writable()
            return self._learn_now(rows, positions)

    def _learn_now(self, rows: Sequence[Row], positions: Any) -> list[Any]:
        if not rows:
            return []
        learner, store = self._learner, self._store
        if store is None:
            return learner.learn(rows)
        assert isinstance(store, Store)
        if learner.series.is_crowded:
            self._checkpoint()
        try:
            answers = learner.learn(rows)
            store.append(pack(rows, learner.series.n_exog), positions)
        except BaseException:
            self._is_failed = True  # what is in memory is ahead of what is on the disk
            raise
        if positions is not None:
            learner.positions = positions
        learner.series.make_room()
        return answers

    def _take_back(self, n: int) -> None:
        """Forget the last `n` rows, which were committed and could not be answered; nothing can be learned after it."""
        assert isinstance(self._store, Store)
        self._is_failed = True
        n_exog = self._learner.series.n_exog
        self._store.take_back(n, lambda data: unpack(data, n_exog), lambda rows: pack(rows, n_exog))

    def checkpoint(self) -> None:
        """Write all series that have changed since the last checkpoint to the folder: it then opens at once."""
        with self._exclusive():
            self._check_writable()
            self._checkpoint()

    def _checkpoint_if_due(self) -> None:
        """Make a checkpoint if many rows were learned since the last one, or many series have changed."""
        if self._store is None:
            return
        series, n = self._learner.series, self.n_learned - self._n_checkpointed
        every = self._every or min(max(EVERY, EVERY_OF_A_SERIES * len(series)), MAX_EVERY)
        if n >= every or (2 * n >= series.capacity and 2 * series.n_dirty >= series.capacity):
            self._checkpoint()

    def _checkpoint(self) -> None:
        if self._store is None:
            return
        assert isinstance(self._store, Store)
        learner = self._learner
        try:
            position = None if self._sink is None else self._sink.sync()
            progress = learner.progress() | {"answers": position}
            self._store.checkpoint(progress, learner.series.dirty(), sorted(learner.series.gone))
        except BaseException:
            self._is_failed = True
            raise
        learner.series.note_saved()
        learner.series.make_room()
        self._n_checkpointed = self.n_learned

    def _abandon(self) -> None:
        """Let another process have the folder, without a checkpoint: answers may still be missing."""
        self._is_failed = True
        self.close()

    def _flush(self) -> None:
        """Flush what was learned to the disk."""
        if isinstance(self._store, Store):
            self._store.flush()

    def _flush_due(self) -> float:
        """Return in how many seconds that is to be done; infinity if it was."""
        return self._store.flush_due() if isinstance(self._store, Store) else float("inf")

    def forecast(
        self,
        horizon: int,
        ids: Any = None,
        *,
        exog: object = None,
        levels: float | Sequence[float] = (0.9,),
        quantiles: float | Sequence[float] = (),
    ) -> PanelForecast:
        """Forecast series many steps ahead.

        Parameters
        ----------
        horizon : whole number of steps ahead, from 1
        ids : list of ids, optional
            All series if not given.
        exog : array (n_series, horizon, n_exog), optional
            The exogenous values to come.
        levels : number between 0 and 1, or several
            Probabilities of the intervals.
        quantiles : number between 0 and 1, or several
            Probabilities of quantiles, besides the median.
        """
        return self.panel(ids).forecast(horizon, exog, levels=levels, quantiles=quantiles)

    def series(self, id: Id | None = None) -> Forecaster:
        """Return a copy of the forecaster of one series; the id may be left out where there is but one."""
        panel = self.panel([None] if id is None else [id])
        found: Any = panel[panel.ids[0]]
        assert isinstance(found, Forecaster)
        return found

    def panel(self, ids: Any = None) -> Panel:
        """Return a panel of all series, or of some, as they are now; ids of several parts are joined by a slash."""
        with self._exclusive():
            series = self._learner.series
            keys = [key for key, _, _ in series.known()] if ids is None else [key_of(each) for each in _as_ids(ids)]
            return series.panel(keys, [panel_id(key) for key in keys])

    def drop(self, ids: Any) -> None:
        """Forget series altogether: their next rows begin new ones."""
        for key in self._change(ids, lambda series, key: series.drop(key)):
            if self._intake is not None:
                self._intake.drop(key)

    def reset(self, ids: Any) -> None:
        """Let series begin anew; the times of their newest rows stay known, so that no row is learned twice."""
        self._change(ids, lambda series, key: series.restart(series[key]))

    def _change(self, ids: Any, change: Callable[[Any, str], None]) -> list[str]:
        with self._exclusive():
            self._check_writable()
            keys = list(dict.fromkeys(key_of(each) for each in _as_ids(ids)))
            for key in keys:
                if self._learner.series.find(key) is None:
                    raise UnknownNameError(f"the stream has no series {shown(id_of(key))}.")
            self._checkpoint()  # rows before the change are not to be learned again after it
            for key in keys:
                change(self._learner.series, key)
            self._checkpoint()
            return keys

    def changes(self) -> list[Event]:
        """Return the rows with which a series has changed, of the newest thousand flagged rows."""
        return [each for each in self._events("change") if each.what != "anomaly"]

    def anomalies(self) -> list[Event]:
        """Return the rows that were anomalies, of the newest thousand flagged rows."""
        return [each for each in self._events("anomaly") if each.what == "anomaly"]

    def _events(self, field: str) -> list[Event]:
        if field not in self._learner.wanted.fields:
            raise ParameterError(f'rows are not watched for this; open the stream with fields=[..., "{field}"].')
        with _Held(self, needs_folder=False):
            return [
                each._replace(id=id_of(each.id), time=json.loads(each.time) if each.time else None)
                for each in self._learner.events
            ]

    def close(self) -> None:
        """Learn the rows that are held back, make a checkpoint, and let another process have the folder."""
        if self._is_closed or os.getpid() != self._process:
            return
        if self._intake is not None and not self._is_failed:
            self.release()
        with self._lock:
            try:
                if isinstance(self._store, Store) and not self._is_failed:
                    if self.n_learned > self._n_checkpointed:
                        self._checkpoint()
                    self._store.flush()
            finally:
                self._is_closed = True
                if self._store is not None:
                    self._store.close()

    def _exclusive(self) -> "_Held":
        return _Held(self)

    def _check_writable(self) -> None:
        if self._is_closed:
            raise StateError("this stream is closed; open another one.")
        if self._is_failed:
            raise StateError(
                "a write of this stream has failed, after which nothing is learned; close it and open it again."
            )
        if self._store is not None and not self._store.is_writer:
            raise StateError("this stream is only read; another process writes it.")


class _Held:
    """Holds the lock of a stream; refuses a process that was forked, which shares the file with another one."""

    def __init__(self, stream: Stream, *, needs_folder: bool = True) -> None:
        self._stream, self._needs_folder = stream, needs_folder and stream._store is not None

    def __enter__(self) -> None:
        if self._needs_folder and self._stream._is_closed:
            raise StateError(
                "this stream is closed; open it again with Stream(path, ...), or read its folder with load(path)."
            )
        if os.getpid() != self._stream._process:
            raise ConcurrentUseError(
                "this process was forked from the one that opened the stream; open it in one of them only."
            )
        self._stream._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._stream._lock.release()


class _Replay:
    """Passes on the answers to rows that are learned again."""

    def __init__(self, function: Callable[[Answer], object]) -> None:
        self._function = function

    def resume(self, position: dict[str, Any] | None) -> None:
        """Do nothing: answers have no position."""

    def add(self, answer: Answer, number: int, key: str) -> None:
        """Pass on an answer."""
        self._function(answer)

    def sync(self) -> dict[str, Any]:
        """Return no position."""
        return {}


def _name(value: Any, what: str) -> str:
    if not isinstance(value, str) or not value:
        raise ParameterError(f"{what} is {shown(value)}, but must be the name of a column.")
    return value


def _as_ids(ids: Any) -> list[Any]:
    """Return ids as a list; a single one is text, a number or a tuple."""
    if isinstance(ids, str | int | float | tuple | np.generic) or ids is None:
        return [ids]
    found = as_tuple(ids)
    if found is None:
        raise ParameterError(f"ids are {shown(ids)}, but must be a list of ids.")
    return list(found)


def _check_fields(fields: Sequence[str] | None, template: Forecaster) -> tuple[str, ...]:
    """Return what an answer holds, in the usual order; refuse what the forecaster does not have."""
    if fields is None:
        return ("mean",) if template.is_point else DEFAULT_FIELDS
    wanted = names_of(fields, "fields")
    unknown = [name for name in wanted if name not in FIELDS]
    if unknown or not wanted:
        raise ParameterError(f"fields are {shown(fields)}, but must be among {', '.join(FIELDS)}.")
    if template.is_point and wanted != ("mean",):
        raise ParameterError(f"{template._engine.name} forecasts points: fields can be ['mean'], and nothing else.")
    return tuple(name for name in FIELDS if name in wanted)


def _check_ahead(template: Forecaster, wanted: AnswerFormat, n_exog: int) -> None:
    """Refuse forecasts of next steps whose exogenous values nobody knows."""
    if wanted.horizon and n_exog and template.missing == "raise":
        raise ParameterError(
            "horizon forecasts steps whose exogenous values are not known yet; let the forecaster fill them with "
            "missing='last' or missing='mean'."
        )
