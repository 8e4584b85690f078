"""A stream's folder as it is now, for whoever only reads it: also while another process writes."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from adabypass.files import FilePath
from adabypass.panel.panel import Panel
from adabypass.panel.results import PanelForecast
from adabypass.streaming.batches import unpack
from adabypass.streaming.cache import checked_time
from adabypass.streaming.ids import find_key, key_of, panel_id
from adabypass.streaming.learner import Learner
from adabypass.streaming.store import StoreReader


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
    path: FilePath, horizon: int, id: str | None, levels: Sequence[float], quantiles: Sequence[float]
) -> tuple[str, PanelForecast]:
    """Return the name of the ids, and the forecasts of all series of a folder, or of one, that may be in use.

    Parameters
    ----------
    id : str, optional
        As text; parts have commas between them.
    """
    with StoreReader(path) as store:
        learner = learned(store)
        series = learner.series
        keys = [key for key, _, _ in series.known()]
        if id is not None:
            keys = [find_key(id, lambda each: series.find(each) is not None, keys)]
        panel = series.panel(keys, [panel_id(key) for key in keys])
        name = store.settings.part("settings").value("id")
        X = np.full((len(keys), horizon, series.n_exog), np.nan) if series.n_exog else None
    named = ",".join(name) if isinstance(name, list) else name or "unique_id"
    return named, panel.forecast(horizon, X, levels=levels, quantiles=quantiles)


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
