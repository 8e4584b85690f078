"""Stateful operators that do nothing: what is left of the time is the engine's."""

from collections.abc import Iterator
from typing import Any

import pandas as pd
from pyspark.sql import DataFrame
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

SCHEMA = "key long, t long, y double"


class Nothing(StatefulProcessor):  # type: ignore[misc]
    """Gives the rows of a key back, and keeps no state."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._state = handle.getValueState("bytes", "snapshot binary")

    def handleInputRows(self, key: Any, rows: Iterator[pd.DataFrame], timerValues: Any) -> Iterator[pd.DataFrame]:  # noqa: N802
        yield from rows

    def close(self) -> None:
        pass


class Bytes(Nothing):
    """Gives the rows of a key back, and reads and writes as many bytes of state as a forecaster has.

    Parameters
    ----------
    snapshot : bytes
    """

    def __init__(self, snapshot: bytes) -> None:
        self._snapshot = snapshot

    def handleInputRows(self, key: Any, rows: Iterator[pd.DataFrame], timerValues: Any) -> Iterator[pd.DataFrame]:  # noqa: N802
        self._state.get()
        yield from rows
        self._state.update((self._snapshot,))


def plain(df: DataFrame) -> DataFrame:
    """Apply a plain pandas UDF that gives every batch of rows back."""

    def same(frames: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        yield from frames

    return df.mapInPandas(same, SCHEMA)


def stateful(df: DataFrame, processor: StatefulProcessor) -> DataFrame:
    """Apply a stateful operator to every key."""
    grouped: Any = df.groupBy("key")
    found: DataFrame = grouped.transformWithStateInPandas(processor, SCHEMA, "Append", "None")
    return found
