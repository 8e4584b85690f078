"""What Spark's stateful operator calls: rows of a key come in, its state is read and written, answers go out."""

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle
from pyspark.sql.types import BinaryType, LongType, StructField, StructType

from adabypass.adapters.keyed_series import KeyedForecaster, KeyedState, Rows
from adabypass.errors import AdabypassError

STATE = StructType([
    StructField("snapshot", BinaryType()), StructField("time", LongType()), StructField("n_late", LongType()),
    StructField("n_duplicate", LongType()),
])  # fmt: skip
"""Of a `KeyedState`. What it holds of a forecaster has a format of its own, so that this need not change with it."""
Key = tuple[Any, ...]


class SeriesOfKey(NamedTuple):
    """How data frames of Spark are answered."""

    keyed: KeyedForecaster
    by: tuple[str, ...]
    time: str
    target: str
    exog: tuple[str, ...]

    def answer(
        self, key: Key, frames: Iterable[pd.DataFrame], state: Key | None
    ) -> tuple[pd.DataFrame, KeyedState] | None:
        """Return the answers to all rows of a key in a batch, and its new state; None if there is neither."""
        try:
            found = self.keyed.answer(None if state is None else _state(state), self._rows(list(frames)))
        except AdabypassError as error:
            name = ", ".join(f"{column} {cell}" for column, cell in zip(self.by, key, strict=True))
            raise type(error)(f"the key {name}: {error}") from error
        if found is None:
            return None
        keys = {column: [cell] * len(found.time) for column, cell in zip(self.by, key, strict=True)}
        columns = {self.target if name == "y" else name: values for name, values in found.columns.items()}
        return pd.DataFrame({**keys, self.time: found.time, **columns}), found.state

    def _rows(self, frames: list[pd.DataFrame]) -> Rows:
        frame = frames[0] if len(frames) == 1 else pd.concat(frames)
        numbers = frame[[self.target, *self.exog]].to_numpy(np.float64, copy=True)
        numbers[~np.isfinite(numbers)] = np.nan
        time = frame[self.time].to_numpy(np.int64)
        return Rows(time, numbers[:, 0].copy(), numbers[:, 1:] if self.exog else None)


class KeyProcessor(StatefulProcessor):
    """For `transformWithStateInPandas`.

    Parameters
    ----------
    series : SeriesOfKey
    timeout : int, optional
        Milliseconds after which a key without rows is forgotten.
    """

    def __init__(self, series: SeriesOfKey, timeout: int | None) -> None:
        self._series, self._timeout = series, timeout

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._state = handle.getValueState("forecaster", STATE, self._timeout)

    def handleInputRows(self, key: Key, rows: Iterator[pd.DataFrame], timerValues: Any) -> Iterator[pd.DataFrame]:  # noqa: N802
        found = self._series.answer(key, rows, self._state.get())
        if found is not None:
            self._state.update(tuple(found[1]))
            yield from _unless_empty(found[0])

    def close(self) -> None:
        pass


def _unless_empty(frame: pd.DataFrame) -> Iterator[pd.DataFrame]:
    """Yield a frame that has rows: Spark fails on columns of text without any, which pandas takes for numbers."""
    if len(frame):
        yield frame


def _state(values: Key) -> KeyedState:
    snapshot, time, n_late, n_duplicate = values
    return KeyedState(bytes(snapshot), int(time), int(n_late), int(n_duplicate))
