"""A stream's folder as it is now, for whoever only reads it: also while another process writes."""

from collections.abc import Iterator
from typing import Any

from adabypass.errors import StateError
from adabypass.files import FilePath
from adabypass.forecasting import Forecaster
from adabypass.forecasting.state import check_engine
from adabypass.panel.panel import Panel
from adabypass.regressors.base import MAX_FEATURES
from adabypass.snapshots.header import Header
from adabypass.streaming.answers import AnswerFormat
from adabypass.streaming.batches import unpack
from adabypass.streaming.columns import key_of, panel_id
from adabypass.streaming.forgetting import Forgetting
from adabypass.streaming.learner import Learner
from adabypass.streaming.store import StoreReader

MAX_MEMORY = 1 << 28
"""Bytes of the rows of series that were learned since the last checkpoint, in memory."""


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


def learned(store: StoreReader) -> Learner:
    """Return what a stream has learned: what the store has, and the rows since its last checkpoint."""
    settings = store.settings.part("settings")
    template, n_exog = template_of(settings)
    wanted = AnswerFormat(
        ("mean",), key=None if settings.value("id") is None else "id",
        time=None if settings.value("time") is None else "time",
    )  # fmt: skip
    forgetting = Forgetting(None, None, has_time=wanted.time is not None)
    learner = Learner(
        template, n_exog, wanted, lambda rows, *_: [None] * len(rows), forgetting, max_bytes=MAX_MEMORY
    )  # fmt: skip
    learner.check_settings(store.settings, {})
    learner.restore(store)
    for _ in replayed(learner, store):
        pass
    return learner


def replayed(learner: Learner, store: StoreReader) -> Iterator[tuple[Any, Any]]:
    """Learn again what was learned since the last checkpoint; yield each row, and its answer."""
    for data, positions in store.inputs():
        rows = learner.checked(unpack(data, learner.series.n_exog))
        if rows:
            yield from zip(rows, learner.learn(rows), strict=True)
        if positions is not None:
            learner.positions = positions


def template_of(settings: Header) -> tuple[Forecaster, int]:
    """Return the forecaster that a store describes, untrained, and the number of its exogenous columns."""
    engine = check_engine(Header(settings.named_values() | {"kind": settings.text("engine")}, settings.name))
    n_exog = settings.whole("n_exog", maximum=MAX_FEATURES)
    if engine.n_inputs not in (None, n_exog):
        settings.refuse(f"it has {n_exog} exogenous columns, but {engine.n_inputs} names for them")
    try:
        if settings.value("design") != engine.design(n_exog):
            settings.refuse("it was saved by a version of adabypass with other constants; train it anew")
    except StateError:
        raise
    except ValueError as error:
        settings.refuse(str(error).rstrip("."))
    return Forecaster._of(engine), n_exog
