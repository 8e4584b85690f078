"""`Stream`: many series that are forecast and learned as their rows arrive, kept in a folder through any crash."""

import json
import os
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from adabypass import notebook
from adabypass.distributions.base import check_level
from adabypass.errors import ParameterError, UnknownNameError
from adabypass.files import FilePath
from adabypass.forecasting import Forecaster
from adabypass.panel.ahead import check_levels, check_quantiles
from adabypass.panel.cards import MAX_SERIES, series_card
from adabypass.panel.panel import MAX_HORIZON, Panel
from adabypass.panel.results import Id, PanelForecast
from adabypass.results.changes import FALSE_ALARMS, check_rate
from adabypass.streaming.answers import (
    DEFAULT_FIELDS,
    FIELDS,
    Answer,
    AnswerFormat,
    Event,
    encode_answers,
)
from adabypass.streaming.durable import MAX_MEMORY, DurableStream, Fsync, Held
from adabypass.streaming.forgetting import Forgetting
from adabypass.streaming.ids import id_of, key_of, panel_id
from adabypass.streaming.intake import Intake, TimeRules
from adabypass.streaming.records import RecordSource, names_of
from adabypass.streaming.rows import Columns
from adabypass.validation import as_tuple, check_int, shown

MAX_BATCH = 65_536
"""Rows of one commit."""


class Stream(DurableStream):
    """Forecasts and learns rows as they arrive, of one series or many, and keeps what it learned in a folder.

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
        Forget series that have had no row for this span of time (`"30 days"`), or, if rows have no time, for this
        number of rows of the stream. The stream's clock is the newest time that two series have reached, so that
        one wrong clock forgets nothing; a single series moves it with a thousand rows in succession.
    max_series : int, optional
        Keep at most this many series: those without a row for the longest time are forgotten. The number may
        exceed it by a quarter for a while.
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
        if freq is not None and self._columns.exog and template.missing == "raise":
            self.close()
            raise ParameterError(
                "freq lets the steps of a gap pass, whose exogenous values nobody knows; let the forecaster fill them "
                "with missing='last' or missing='mean'."
            )

    def __contains__(self, id: object) -> bool:
        with self._exclusive():
            return self._learner.series.find(key_of(id)) is not None

    def __repr__(self) -> str:
        series = self._learner.series
        where = "in memory" if self._store is None else f"in {os.fspath(self._store.folder)}"
        done = ", closed" if self._is_closed else ""
        return f"Stream({len(self)} series of {series.engine.name}, {self.n_learned} rows learned, {where}{done})"

    def _repr_html_(self) -> str:
        ids = [] if self._is_closed else self.ids[:MAX_SERIES]
        if ids:
            return series_card(repr(self), self.panel(ids), len(self))
        return notebook.card(repr(self), {"rows learned": self.n_learned, "rows too late": self.n_late})

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

    def _learn_held_back(self) -> None:
        if self._intake is not None and not self._is_failed:
            self.release()

    def _own_intake(self) -> Intake:
        """Return what makes rows of the records that a caller passes."""
        if self._intake is None:
            self._source = RecordSource(self._columns)
            is_kept = self._store is not None
            self._intake = Intake(
                self._source, self._columns, "mean", "fail", self._rules, self._learner.last_time,
                self.counts.note_bad, self.counts, lambda number: is_kept, is_whole=True,
            )  # fmt: skip
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
        """Return a panel of all series, or of some, as they are now; parts of an id are joined by slashes."""
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
        with Held(self, needs_folder=False):
            return [
                each._replace(id=id_of(each.id), time=json.loads(each.time) if each.time else None)
                for each in self._learner.events
            ]


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
