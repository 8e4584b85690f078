"""What the service keeps: a stream, the newest answers of each series, and which series are unusual now."""

import hashlib
import json
import sqlite3
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from statistics import median
from threading import Lock
from time import perf_counter
from typing import Any, NamedTuple

from adabypass.data.times import parse_time
from adabypass.errors import NotReadyError, ParameterError, StateError, TableError, UnknownNameError
from adabypass.forecasting import Forecaster
from adabypass.service.errors import RefusedError, unknown_series
from adabypass.service.history import History, Kept, SeriesEntry, dumps, flag_of
from adabypass.service.limits import Limits
from adabypass.service.ranking import N_SPARK, SeriesNow
from adabypass.service.requests import Observation, invalid, seconds
from adabypass.streaming.answers import Answer
from adabypass.streaming.stream import Stream
from adabypass.streaming.view import following

FIELDS = ("mean", "sd", "interval", "quantiles", "log_score", "surprise", "anomaly", "change")
LEVEL, QUANTILES = 0.9, (0.25, 0.5, 0.75)
KEEP = 2_000
"""Answers of each series that are kept for pages."""
N_STEPS = 50
"""Rows from which the usual time between two rows is taken."""
MICROSECOND = timedelta(microseconds=1)


class Counts:
    """What became of observations since the start."""

    def __init__(self) -> None:
        self.learned = self.repeated = self.late = self.anomalies = self.changes = 0
        self.seconds = 0.0
        """Time spent with learning, in all."""


class Settings(NamedTuple):
    """What a service needs besides its folder."""

    forecaster: Forecaster | None = None
    freq: Any = None
    max_jump: Any = None
    false_alarms: float = 0.001
    fsync: Any = "interval"
    keep: int = KEEP
    n_threads: int | None = None


class Keeper:
    """Learns observations, each once, and says what is known.

    `learn` is to be called by one thread at a time; everything else may be asked meanwhile.

    Parameters
    ----------
    folder : Path, optional
        Where all is kept; None: in memory only.
    settings : Settings
    limits : Limits
    on_learned : function, optional
        Called with the answers to observations that were learned.
    """

    def __init__(
        self, folder: Path | None = None, settings: Settings | None = None, limits: Limits | None = None,
        on_learned: Callable[[list[Kept]], None] | None = None,
    ) -> None:  # fmt: skip
        settings = settings or Settings()
        self.limits, self.on_learned, self.counts = limits or Limits(), on_learned, Counts()
        self.settings = settings
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
        self.history = History(folder, settings.keep)
        try:
            fields = ("mean",) if settings.forecaster is not None and settings.forecaster.is_point else FIELDS
            self.stream = Stream(
                folder, settings.forecaster, key="id", time="time", fields=fields, level=LEVEL, quantiles=QUANTILES,
                freq=settings.freq, max_jump=settings.max_jump, false_alarms=settings.false_alarms,
                fsync=settings.fsync, n_threads=settings.n_threads, on_replay=self._keep_again,
            )  # fmt: skip
        except BaseException:
            self.history.close()
            raise
        self._lock = Lock()
        self.now: dict[str, SeriesNow] = {}
        self._load()

    def _keep_again(self, answer: Answer) -> None:
        """Keep an answer that may have been lost when the process was killed."""
        if answer.time is not None:  # a step of a gap
            self.history.add([_kept(answer)])

    def _load(self) -> None:
        """Take over which series there are, and answer requests that a crash has interrupted."""
        known = {str(each) for each in self.stream.ids}
        for entry in self.history.entries():
            bodies = self.history.newest(entry.id, N_SPARK)
            if bodies and entry.id not in known:  # it was dropped when the process was killed
                self.history.forget(entry.id)
                continue
            self.now[entry.id] = self._of_answers(bodies)
        for id in known - set(self.now):  # the folder has learned without this service
            self.history.register(id)
            self.now[id] = SeriesNow()
        for key, first in self.history.pending_requests():
            found = [each.body for each in self.history.after(first, None, self.limits.max_rows)]
            self.history.end_request(key, _response([json.loads(body) for body in found]) if found else None)

    @staticmethod
    def _of_answers(bodies: Sequence[str]) -> SeriesNow:
        now = SeriesNow()
        for body in bodies:
            now.note(json.loads(body))
        return now

    def close(self) -> None:
        """Make a checkpoint, and let another process have the folder."""
        self.stream.close()
        self.history.close()

    @property
    def is_ready(self) -> bool:
        """Whether observations can be learned."""
        return not (self.stream._is_closed or self.stream._is_failed)

    def learn(self, observations: Sequence[Observation], key: str | None = None, horizon: int = 0) -> str:
        """Learn observations in their order; return as JSON what was forecast of each, and whether it was learned.

        Parameters
        ----------
        observations : list of Observation
        key : str, optional
            Idempotency key: a request that comes again is answered as the first time, and not learned again.
        horizon : int
            Steps ahead to forecast after them, of each series.
        """
        begun = perf_counter()
        asked = hashlib.sha256(repr((observations, horizon)).encode("utf-8", "backslashreplace")).hexdigest()
        if key is not None:
            before = self.history.request(key)
            if before is not None and before.asked != asked:
                raise RefusedError(
                    422, "key_was_used", "another request had this Idempotency-Key; choose a new one for each request."
                )
            if before is not None and before.body is not None:
                return before.body
        rows = self._rows(observations)
        if key is not None:
            self.history.begin_request(key, asked, self.stream.n_learned)
        try:
            found = self._learn_rows(rows)
            body = _response(found, self._forecasts(observations, horizon) if horizon else None)
        except BaseException:
            if key is not None and self.is_ready:
                self.history.end_request(key, None)
            raise
        if key is not None:
            self.history.end_request(key, body)
        self.counts.seconds += perf_counter() - begun
        return body

    def _rows(self, observations: Sequence[Observation]) -> list[dict[str, Any]]:
        """Return the rows of observations, each with a time; refuse more series than there may be."""
        new = {each.id for each in observations} - self.now.keys()
        if len(self.now) + len(new) > self.limits.max_series:
            raise RefusedError(
                409, "too_many_series",
                f"there are {len(self.now)} series, and at most {self.limits.max_series} may be; delete some, or start "
                "the service with a larger --max-series.",
            )  # fmt: skip
        given: dict[str, Any] = {}
        rows = []
        for id, time, y in observations:
            if time is None:
                given[id] = self._stamp(id, given.get(id))
            rows.append({"id": id, "time": given[id] if time is None else time, "y": y})
        return rows

    def _stamp(self, id: str, given: str | None) -> str:
        """Return the time of an observation that was sent without one: now, or just after that of the one before."""
        now = datetime.now(UTC).replace(tzinfo=None)
        before = parse_time(given) if given is not None else self.last_time(id)
        if before is not None and not isinstance(before, datetime):
            raise invalid(
                f"the times of the series {id!r} are numbers, so that each of its observations needs one; send time."
            )
        if before is not None and before >= now:
            now = before + MICROSECOND
        return f"{now.isoformat(timespec='microseconds')}Z"

    def last_time(self, id: str) -> Any:
        """Return the time of the newest observation of a series, as a number or a datetime; None if there is none."""
        cell = self.stream._learner.last_time(json.dumps(id))
        return parse_time(json.loads(cell)) if cell else None

    def _learn_rows(self, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Learn rows; return what became of each."""
        try:
            answers = self.stream.learn(rows)
        except TableError as error:
            raise invalid(str(error)) from None
        kept = [_kept(answer) for answer in answers]
        self._keep(kept)
        waiting = [json.loads(each.body) for each in kept]
        found, at = [], 0
        for row in rows:
            if at < len(waiting) and waiting[at]["id"] == row["id"] and waiting[at]["time"] == row["time"]:
                found.append(waiting[at] | {"status": "learned"})
                self._note(waiting[at])
                at += 1
            else:
                found.append(self._not_learned(row))
        if kept and self.on_learned is not None:
            self.on_learned(kept)
        return found

    def _keep(self, answers: list[Kept]) -> None:
        """Write answers down; if that fails nothing is learned any more, so that they come again after a restart."""
        try:
            self.history.add(answers)
        except sqlite3.Error as error:
            self.stream._is_failed = True
            raise StateError(
                f"answers could not be written down ({error}); make room, and start the service again."
            ) from error

    def _note(self, answer: dict[str, Any]) -> None:
        self.counts.learned += 1
        self.counts.anomalies += bool(answer.get("anomaly"))
        self.counts.changes += bool(answer.get("change"))
        with self._lock:
            self.now.setdefault(answer["id"], SeriesNow()).note(answer)

    def _not_learned(self, row: dict[str, Any]) -> dict[str, Any]:
        """Return what became of a row that is not later than the newest of its series."""
        before = self.history.at(row["id"], json.dumps(row["time"]))
        if before is not None:
            self.counts.repeated += 1
            return {**json.loads(before), "status": "repeated"}
        self.counts.late += 1
        return row | {"status": "late"}

    def _forecasts(self, observations: Sequence[Observation], horizon: int) -> dict[str, Any]:
        """Return what comes next in each series of a request."""
        ids = list(dict.fromkeys(each.id for each in observations))
        return {id: self.forecast(id, horizon) for id in ids if id in self.stream}

    def forecast(
        self, id: str, horizon: int, levels: Sequence[float] = (0.5, 0.9), quantiles: Sequence[float] = ()
    ) -> dict[str, Any]:
        """Return the forecast of the next steps of a series: columns by name, and the times of the steps."""
        self._check(id)
        if id not in self.stream:  # it has no observations yet
            return {"id": id, "step": list(range(1, horizon + 1)), "time": None, "at": None}
        cell = self.stream._learner.last_time(json.dumps(id))
        try:
            found = self.stream.forecast(horizon, [id], levels=levels, quantiles=quantiles)
        except UnknownNameError:
            raise unknown_series(id) from None
        columns = {name: values.tolist() for name, values in found.columns().items()}
        times, at = self._ahead(id, cell, horizon)
        return {"id": id, "after": json.loads(cell) if cell else None, "step": list(range(1, horizon + 1)),
                "time": times, "at": at, **columns}  # fmt: skip

    def _ahead(self, id: str, cell: str, horizon: int) -> tuple[list[Any] | None, list[float] | None]:
        """Return the times of the next steps, and the same as numbers: by `freq`, or the usual time between rows."""
        rules = self.stream._rules
        if rules.steps is not None and cell:
            times = following(cell, rules.steps, horizon)
            return times, [seconds(each) or 0.0 for each in times]
        past = [json.loads(body)["at"] for body in self.history.newest(id, N_STEPS)]
        if len(past) < 2:
            return None, None
        step = median(b - a for a, b in pairwise(past))
        at = [past[-1] + step * i for i in range(1, horizon + 1)]
        return (at if not isinstance(json.loads(cell), str) else [_iso(each) for each in at]), at

    def explain(self, id: str) -> dict[str, Any]:
        """Return what was learned of a series."""
        self._check(id)
        if id not in self.stream:
            raise _not_ready(id)
        forecaster = self.stream.series(id)
        known: dict[str, Any] = {"id": id, "n_learned": forecaster.n_seen, "forecaster": forecaster.label}
        try:
            ahead = forecaster.predict()
            known |= {"next_mean": float(ahead.mean), "next_sd": float(ahead.sd)}
            found = forecaster.explain()
        except NotReadyError:
            raise _not_ready(id) from None
        except ParameterError:  # a model with lags has no parts
            model = forecaster.model
            return known | {"weights": model.weights.mean.tolist(), "learned": dict(model.parameters)}
        return known | {
            "level": found.level._asdict(), "slope": found.slope._asdict(), "period": found.period,
            "seasons": {
                name: {"positions": season.positions, **{k: v.tolist() for k, v in season.effect._asdict().items()}}
                for name, season in found.seasons.items()
            },
            "shares": found.shares, "kinds": found.kinds,
        }  # fmt: skip

    def list(self, sort: str = "id", n: int = 100, search: str = "", spark: bool = False) -> dict[str, Any]:
        """Return series: those that are unusual now first, or by their ids."""
        needle = search.casefold()
        with self._lock:
            found = [(entry, self.now.get(entry.id, SeriesNow())) for entry in self.history.entries()]
            found = [each for each in found if needle in f"{each[0].id} {each[0].title or ''}".casefold()]
            if sort == "anomaly":
                found.sort(key=lambda each: (-each[1].unusual, each[0].id))
            else:
                found.sort(key=lambda each: each[0].id)
            shown = [self._summary(entry, now, spark) for entry, now in found[:n]]
        return {"n_series": len(self.now), "n_found": len(found), "series": shown}

    def describe(self, id: str) -> dict[str, Any]:
        """Return what is known of a series."""
        self._check(id)
        entry = next((each for each in self.history.entries() if each.id == id), SeriesEntry(id, None, None))
        with self._lock:
            return self._summary(entry, self.now.get(id, SeriesNow()), False)

    @staticmethod
    def _summary(entry: SeriesEntry, now: SeriesNow, spark: bool) -> dict[str, Any]:
        more = {"spark": [*now.spark]} if spark else {}
        return {"id": entry.id, "title": entry.title, "unit": entry.unit, "unusual": round(now.unusual, 4),
                "changed": now.changed, "rows_since_change": now.n_since_change if now.changed else None,
                "last": now.last, **more}  # fmt: skip

    def register(self, id: str, title: str | None, unit: str | None) -> bool:
        """Describe a series, known or not; return whether it is new."""
        is_new = id not in self.now
        if is_new and len(self.now) >= self.limits.max_series:
            self._rows([Observation(id, None, None)])
        self.history.register(id, title, unit)
        with self._lock:
            self.now.setdefault(id, SeriesNow())
        return is_new

    def forget(self, id: str) -> None:
        """Forget a series altogether."""
        self._check(id)
        if id in self.stream:
            self.stream.drop([id])
        self.history.forget(id)
        with self._lock:
            self.now.pop(id, None)

    def _check(self, id: str) -> None:
        if id not in self.now:
            raise unknown_series(id)


def _not_ready(id: str) -> RefusedError:
    return RefusedError(409, "not_ready", f"the series {id!r} has too few observations; send more of them first.")


def _kept(answer: Answer) -> Kept:
    found = answer.to_dict()
    found = {"number": answer.number, "id": str(found.pop("id")), **found, "at": seconds(answer.time)}
    return Kept(answer.number, found["id"], json.dumps(answer.time), flag_of(found), dumps(found))


def _response(found: list[dict[str, Any]], forecasts: dict[str, Any] | None = None) -> str:
    counts = {name: sum(each.get("status", "learned") == name for each in found)
              for name in ("learned", "repeated", "late")}  # fmt: skip
    return dumps({"answers": found, **counts, **({} if forecasts is None else {"forecasts": forecasts})})


def _iso(at: float) -> str:
    try:
        return (datetime(1970, 1, 1) + timedelta(seconds=at)).isoformat() + "Z"
    except OverflowError:
        return ""
