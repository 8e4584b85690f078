"""What learns rows and keeps them: in memory, or in a folder through any crash."""

import os
import threading
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple, Protocol, Self

from adabypass.errors import ConcurrentUseError, ParameterError, StateError
from adabypass.files import FilePath
from adabypass.forecasting import Forecaster
from adabypass.streaming.answers import (
    AnswerFormat,
    Encode,
)
from adabypass.streaming.batches import pack, unpack
from adabypass.streaming.forgetting import Forgetting
from adabypass.streaming.intake import Counts, Intake, TimeRules
from adabypass.streaming.learner import Learner
from adabypass.streaming.rows import Columns, Row
from adabypass.streaming.store import Store
from adabypass.streaming.store_reader import StoreReader
from adabypass.streaming.view import replayed
from adabypass.validation import check_int, shown

MAX_MEMORY = 1 << 29
"""Bytes of the rows of series in memory: 512 MB."""
EVERY, EVERY_OF_A_SERIES, MAX_EVERY = 10_000, 10, 1_000_000
"""Rows between two checkpoints: the first number, or the second for each series in memory, up to the third."""
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


class DurableStream:
    """Learns rows that were read, commits them, and answers; `Stream` is what a user meets."""

    _intake: Intake | None
    """Makes rows of what `Stream.learn` is given; None before that, or where another one does."""
    _learner: Learner
    counts: Counts

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
        self._intake, self._rules = None, rules or TimeRules()
        self.counts = Counts()
        """How many rows were met since the stream was opened, and what became of them."""
        n_exog = len(columns.exog) or template._engine.n_inputs_at_start
        if template.exog is not None and columns.exog not in ((), template.exog):
            raise ParameterError(f"exog is {columns.exog}, but the forecaster's exogenous columns are {template.exog}.")
        self._columns = columns = columns._replace(exog=columns.exog or template.exog or ())
        self._learner = Learner(
            template, n_exog, wanted, encode, forgetting or Forgetting(None, None, has_time=wanted.time is not None),
            max_bytes=max_memory, n_threads=n_threads, guard=None if rules is None else rules.guard,
            freq=None if rules is None or rules.steps is None else rules.steps.text,
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

    def close(self) -> None:
        """Learn the rows that are held back, make a checkpoint, and let another process have the folder."""
        if self._is_closed or os.getpid() != self._process:
            return
        self._learn_held_back()
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

    def _learn_held_back(self) -> None:
        """Learn the rows that were taken and wait, if there are any."""

    def _exclusive(self) -> "Held":
        return Held(self)

    def _check_writable(self) -> None:
        if self._is_closed:
            raise StateError("this stream is closed; open another one.")
        if self._is_failed:
            raise StateError(
                "a write of this stream has failed, after which nothing is learned; close it and open it again."
            )
        if self._store is not None and not self._store.is_writer:
            raise StateError("this stream is only read; another process writes it.")

    @property
    def n_learned(self) -> int:
        """How many rows were learned."""
        return self._learner.n_learned

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is None:
            self.close()
        else:  # answers may not have arrived: without a checkpoint, they are made again
            self._abandon()

    def __len__(self) -> int:
        return self._learner.series.n_series


class Held:
    """Holds the lock of a stream; refuses a process that was forked, which shares the file with another one."""

    def __init__(self, stream: DurableStream, *, needs_folder: bool = True) -> None:
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


def _check_ahead(template: Forecaster, wanted: AnswerFormat, n_exog: int) -> None:
    """Refuse forecasts of next steps whose exogenous values nobody knows."""
    if wanted.horizon and n_exog and template.missing == "raise":
        raise ParameterError(
            "horizon forecasts steps whose exogenous values are not known yet; let the forecaster fill them with "
            "missing='last' or missing='mean'."
        )
