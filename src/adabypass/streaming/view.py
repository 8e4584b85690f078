"""A stream's folder as it is now, for whoever only reads it: also while another process writes."""

import json
import re
from collections.abc import Iterator, Sequence
from datetime import datetime, time
from typing import Any

import numpy as np

from adabypass.files import FilePath
from adabypass.panel.panel import Panel
from adabypass.streaming.batches import unpack
from adabypass.streaming.cache import checked_time
from adabypass.streaming.clock import Span, Steps
from adabypass.streaming.ids import SEPARATOR, find_key, key_of, panel_id
from adabypass.streaming.learner import Learner
from adabypass.streaming.store_reader import StoreReader
from adabypass.validation import Floats

BLOCK = 1000
"""Series that are forecast at once."""
ZONE = re.compile(r"(Z|[+-]\d\d:?(\d\d)?)$", re.IGNORECASE)
"""The end of a time with a zone; such times are given in UTC."""


def read_panel(path: FilePath, ids: Any = None) -> Panel:
    """Return a panel of all series of a folder, or of some.

    Parameters
    ----------
    ids : list of ids, optional
    """
    with StoreReader(path) as store:
        learner = learned(store)
        series = learner.series
        keys = [key for key, _, _ in series.known()] if ids is None else [key_of(each) for each in ids]
        return series.panel(keys, [panel_id(key) for key in keys])


def forecast_folder(
    path: FilePath, horizon: int, id: str | None, levels: Sequence[float], quantiles: Sequence[float],
    freq: Span | None = None,
) -> dict[str, Any]:  # fmt: skip
    """Return the forecasts of all series of a folder, or of one, that may be in use: columns of a table.

    The times of the steps are among them where rows have times and the span between two rows is known. Series are read
    and forecast a thousand at a time.

    Parameters
    ----------
    id : str, optional
        As text; parts have slashes between them: see `panel_id`.
    freq : Span, optional
        Time between two rows of a series; by default as the stream has it.
    """
    with StoreReader(path) as store:
        learner = learned(store)
        series, settings = learner.series, store.settings.part("settings")
        known = {key: cell for key, cell, _ in series.known()}
        keys = list(known)
        if id is not None:
            keys = [find_key(id, lambda each: series.find(each) is not None, keys)]
        saved_freq = store.progress.value("freq")
        if freq is None and saved_freq is not None:
            freq = Span(saved_freq, "freq")
        parts = [
            _columns_of(series.panel(part, [panel_id(key) for key in part]), horizon, series.n_exog, levels, quantiles)
            for part in batched(keys, BLOCK)
        ]
        name, time = settings.value("id"), settings.value("time")
    named = SEPARATOR.join(name) if isinstance(name, list) else name or "unique_id"
    columns: dict[str, Any] = {named: np.repeat(np.array([panel_id(key) for key in keys], object), horizon)}
    if time is not None and freq is not None:
        columns[time] = [each for key in keys for each in following(known[key], Steps(freq), horizon)]
    columns["step"] = np.tile(np.arange(1, horizon + 1), len(keys))
    names = parts[0] if parts else ()
    return columns | {name: np.concatenate([part[name] for part in parts]) for name in names}


def _columns_of(
    panel: Panel, horizon: int, n_exog: int, levels: Sequence[float], quantiles: Sequence[float]
) -> dict[str, Floats]:
    X = np.full((len(panel), horizon, n_exog), np.nan) if n_exog else None
    return panel.forecast(horizon, X, levels=levels, quantiles=quantiles).columns()


def batched(values: Sequence[Any], n: int) -> Iterator[list[Any]]:
    """Yield values in lists of `n`; the last one may be shorter."""
    for start in range(0, len(values), n):
        yield list(values[start : start + n])


def following(cell: str, steps: Steps, n: int) -> list[Any]:
    """Return the next times of a series as they would come, by its newest time as JSON."""
    last = checked_time(cell)
    times: list[Any] = [steps.after(last, step) for step in range(1, n + 1)]
    if not isinstance(last, datetime):
        return times
    text = str(json.loads(cell))
    has_only_days = len(text) == len("2014-02-01") and all(each.time() == time() for each in times)
    zone = "Z" if ZONE.search(text) else ""
    return [each.date().isoformat() if has_only_days else f"{each.isoformat()}{zone}" for each in times]


def learned(store: StoreReader) -> Learner:
    """Return what a stream has learned: what the store has, and the rows since its last checkpoint."""
    learner = Learner.of_settings(store.settings.part("settings"))
    learner.check_settings(store.settings, {})
    learner.restore(store)
    for _ in replayed(learner, store):
        pass
    return learner


def replayed(learner: Learner, store: StoreReader) -> Iterator[tuple[Any, Any]]:
    """Learn again what was learned since the last checkpoint; yield each row, and its answer."""
    for data, positions in store.inputs():
        rows = learner.checked(unpack(data, learner.series.n_exog))
        if learner.guard is not None:
            for row in rows:
                if row.time:
                    learner.guard.note(checked_time(row.time))
        if rows:
            yield from zip(rows, learner.learn(rows), strict=True)
        if positions is not None:
            learner.positions = positions
