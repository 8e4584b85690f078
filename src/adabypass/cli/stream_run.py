"""One run of `adabypass stream`: records in, answers out, and all that was learned kept in a folder if that is wanted."""

import signal
import sys
import zlib
from collections.abc import Sequence
from math import inf
from typing import TYPE_CHECKING, Any

from adabypass.cli import outputs, terminal
from adabypass.cli.stream_answers import Answerer
from adabypass.cli.stream_output import AnswerFormat, encoding, only_wanted
from adabypass.data.reading import standard_input
from adabypass.data.times import parse_time
from adabypass.errors import AdabypassError, BrokerError, StateError, TableError, TimeOrderError
from adabypass.forecasting import Forecaster
from adabypass.storage.journal import pack
from adabypass.storage.series import StreamPanel
from adabypass.storage.stream import DurableStream
from adabypass.streaming.intake import Counts, Intake, Source
from adabypass.streaming.operations import BadRows, BadRowsFile, LimitedNotes, Statistics, bad_row
from adabypass.streaming.sinks import GrowingFile, ParquetFile, Sink, StandardOutput, WholeFile
from adabypass.streaming.sources import Blocked, Stopped, StopSignals, TextSource

if TYPE_CHECKING:
    from adabypass.cli.stream import StreamOptions
    from adabypass.cli.stream_kafka import KafkaStream

MAX_NAMED = 10
"""Series that are named one by one in a report."""
EVERY = 10_000
EVERY_OF_A_SERIES = 10
"""Rows between two snapshots: the first number, or the second for each series if that is more."""
METRICS_SECONDS = 15.0
"""Between two writings of the metrics, unless --stats says otherwise."""
HANGUP_SECONDS = 1.0
"""How soon SIGHUP is answered while nothing comes."""


class StreamRunner:
    """One run of the command.

    Parameters
    ----------
    choices : StreamOptions
        Its options.
    template : Forecaster
        With the settings of every series.
    wanted : AnswerFormat
        What an answer consists of.
    kind : "jsonl", "csv" or "parquet"
        The format of the answers.
    stop : StopSignals
        Caught from before anything is opened.
    kafka : KafkaStream, optional
        The topics, if records come from one.
    """

    def __init__(
        self, choices: "StreamOptions", template: Forecaster, wanted: AnswerFormat, kind: str, stop: StopSignals,
        kafka: "KafkaStream | None" = None,
    ) -> None:  # fmt: skip
        self._choices, self._stop, self._kafka, self._counts = choices, stop, kafka, Counts()
        is_shown = choices.out in (None, outputs.STANDARD) and sys.stdout.isatty()
        encode, header = encoding(kind, wanted, is_shown=is_shown)
        encode = only_wanted(wanted, encode, choices.only, self._counts)
        self._series = StreamPanel(template, len(choices.exog), watch_changes="change" in wanted.fields)
        self._answerer = Answerer(wanted, self._series, encode)
        self._sink = self._open_sink(kind, header, wanted)
        self._n_absent = self._saved_at = self._skipped_checksum = 0
        self._notes = LimitedNotes(terminal.complain)
        self._intake: Intake | None = None
        self._newest: list[int] = []
        """Numbers of the rows of the newest commit."""
        self._state: DurableStream | None = None
        self._bad_rows: BadRows | None = None
        try:
            if choices.bad_rows is not None:
                self._bad_rows = BadRowsFile(choices.bad_rows)
            self._state = None if choices.state is None else self._open_state(choices)
            self._statistics = self._open_statistics()
        except BaseException:
            self._close()
            raise
        if self._sink.can_grow:
            stop.catch_hangup()

    def run(self) -> int:
        """Answer all rows; return the exit code."""
        try:
            source: Source
            if self._kafka is None:
                source = TextSource(
                    standard_input(), self._flush, self._stop, self._on_bad, self._on_idle, self._idle_due
                )
            else:
                self._kafka.start()
                source = self._kafka.source(self._flush, self._stop, self._on_bad)
            self._learn_all(source)
            return self._finish()
        except Blocked as blocked:
            return self._blocked(int(blocked.args[0]))
        except Stopped as stopped:
            return self._stopped(int(stopped.args[0]))
        except BrokerError:
            raise  # what was learned is in the state; a checkpoint waits until its answers are written
        except AdabypassError:
            self._give_up()
            raise
        finally:
            self._close()

    def _learn_all(self, source: Source) -> None:
        """Read one record after another; those that are there together are learned together."""
        choices, max_rows, first = self._choices, self._series.max_rows, self._first_row()
        self._source = source
        self._intake = intake = Intake(
            source, choices.columns, choices.missing, choices.on_bad_row, choices.rules, self._last_time, self._on_bad,
            self._counts, lambda _: self._state is not None and self._kafka is None,
        )  # fmt: skip
        on_absent = self._on_absent if choices.on_bad_row == "missing" else None
        for record in source.select(choices.columns.read, on_absent):
            if source.number < first:
                self._check_learned(intake, record, first)
                continue
            intake.take(record)
            if len(intake.rows) >= max_rows:
                self._answer_waiting()

    def _last_time(self, key: str) -> str:
        series = self._series.known.get(key)
        return "" if series is None else series.last_cell

    def _answer_waiting(self) -> None:
        """Learn all rows that wait, and add their answers to the sink, in the order in which they came."""
        if self._intake is None or not self._intake.rows:
            return
        every, known, state, add = self._intake.rows.copy(), self._series.known, self._state, self._sink.add
        self._intake.rows.clear()
        for start in range(0, len(every), self._series.max_rows):
            rows = every[start : start + self._series.max_rows]
            for row in rows:
                series = known.get(row.key) or self._series.add(row.key)
                series.last_cell = row.time or series.last_cell
            self._counts.new += len(rows)
            answers = (self._answerer.answer if state is None else state.learn)(rows)
            self._newest += [row.number for row in rows]
            try:
                for row, answer in zip(rows, answers, strict=True):
                    add(answer, row.number, row.key)
            except BaseException:
                if state is not None:
                    state.is_failed = True  # what has no answer is not to be kept
                raise

    def _first_row(self) -> int:
        """Return the number of the first row that is new; rows with a time are recognised by that."""
        by_number = self._choices.columns.time is None and self._kafka is None
        return self._state.row + 1 if by_number and self._state is not None else 0

    def _check_learned(self, intake: Intake, record: Sequence[Any], first: int) -> None:
        """Check that a row that was learned before is the same as then."""
        assert self._state is not None
        try:
            values, exog, _, _ = intake.parser.parse(record)
        except TableError:
            return  # it was reported when it came
        number = self._source.number
        for key, y in values:
            self._counts.skipped += 1
            self._skipped_checksum = zlib.crc32(pack(number, key, "", y, exog), self._skipped_checksum)
            expected = self._state.checkpoints.get(self._counts.skipped, self._skipped_checksum)
            if expected != self._skipped_checksum:
                raise self._other_input(number)
        if number == first - 1 and self._state.checksum != self._skipped_checksum:
            raise self._other_input(number)

    def _other_input(self, number: int) -> StateError:
        return StateError(
            f"the input up to row {number} is not that from which {self._choices.state} has learned; give "
            "the same input from its first row on, or start with a new folder and --time COL, which recognises "
            "rows by their time."
        )

    def _on_bad(self, error: TableError, number: int) -> None:
        """Stop at a record that cannot be read, or report it and go on."""
        if self._choices.on_bad_row == "fail":
            raise error
        if number < self._first_row():
            return  # it was reported when it came
        if isinstance(error, TimeOrderError):
            self._counts.late += 1
        else:
            self._counts.bad += 1
        self._notes(f"skipped: {error}")
        if self._bad_rows is not None:
            self._bad_rows.add(bad_row(error, self._source.labels(number)))

    def _on_absent(self, what: str) -> None:
        """Note a row that leaves out a column, whose value counts as missing: the first one in words."""
        self._counts.absent += 1
        if self._counts.absent == 1:
            terminal.note(f"{what} It counts as missing, here and in later rows.")

    def _flush(self) -> None:
        """Commit the rows, then write their answers, then a checkpoint if it is time for one."""
        state = self._state
        self._newest.clear()
        self._answer_waiting()
        if self._bad_rows is not None:
            self._bad_rows.flush()
        if state is None:
            self._sink.flush()
        else:
            state.commit()
            try:
                self._sink.flush()
            except BaseException:
                if self._sink.n_unanswered:
                    state.take_back(self._n_without_answer(self._sink.n_unanswered))
                raise
            every = self._choices.every or max(EVERY, EVERY_OF_A_SERIES * len(state.series))
            if state.n_learned - self._saved_at >= every:
                self._save(state)
        self._on_idle()

    def _n_without_answer(self, n: int) -> int:
        """Return how many rows have no answer, those of whole records: its steps of a gap, and its other targets."""
        while n < len(self._newest) and self._newest[-n - 1] == self._newest[-n]:
            n += 1
        return n

    def _idle_due(self) -> float:
        """Return in how many seconds `_on_idle` is to be called."""
        return min(
            inf if self._state is None else self._state.sync_due(),
            inf if self._statistics is None else self._statistics.due(),
            HANGUP_SECONDS if self._stop.catches_hangup else inf,
        )

    def _on_idle(self) -> None:
        """Do what is due besides learning."""
        if self._state is not None and self._state.sync_due() <= 0.0:
            self._state.sync()
        if isinstance(self._sink, GrowingFile) and (self._stop.hung_up or self._sink.is_full):
            self._stop.hung_up = False
            self._sink.rotate()
            if self._state is not None:
                self._save(self._state)
        if self._statistics is not None and self._statistics.due() <= 0.0:
            self._statistics.report()

    def _save(self, state: DurableStream) -> None:
        state.save()
        self._saved_at = state.n_learned
        if self._intake is not None:
            self._intake.forget()

    def _finish(self) -> int:
        """Save all that was learned, complete the answers, and report what was left out; return the exit code."""
        if self._intake is not None:
            self._intake.release_all()
        self._flush()
        if self._state is not None and self._state.n_learned > self._saved_at:
            self._save(self._state)
        self._sink.finish()
        if self._statistics is not None:
            self._statistics.report()
        return self._report()

    def _report(self) -> int:
        """Report rows and values that were left out; return the exit code."""
        counts, intake = self._counts, self._intake
        self._notes.report()
        for what, count in (
            ("Rows that could not be read, and were skipped", counts.bad),
            ("Rows that came late, and were left out", counts.late),
            ("Rows without a column that is read, whose value was taken as missing", counts.absent),
            (
                "Values that were no numbers, and were taken as missing",
                intake.parser.n_taken_as_missing if intake else 0,
            ),
            ("Rows that were learned before, and were skipped", counts.skipped),
        ):
            if count:
                terminal.note(f"{what}: {count}.")
        silent = [(key, each) for key, each in (intake.series.items() if intake else ()) if each.is_silent]
        for key, each in silent[:MAX_NAMED]:
            terminal.complain(
                f"left out: {f'series {key}' if key else 'the series'}: none of its {each.n_skipped} rows was new, nor "
                f"the one learned last, since all are earlier than {each.cell}, its newest time. If that time is "
                "wrong, begin with another --state folder."
            )
        if len(silent) > MAX_NAMED:
            terminal.complain(f"left out: {len(silent) - MAX_NAMED} more series, likewise.")
        is_all_bad = counts.bad > 0 and counts.new == 0 and counts.skipped == 0
        if is_all_bad:
            terminal.complain("no row could be read: nothing was learned.")
        return terminal.INCOMPLETE if silent or is_all_bad else 0

    def _stopped(self, number: int) -> int:
        """End after a signal; return the exit code."""
        try:
            self._finish()
        except Blocked:
            return self._blocked(number)
        if number == signal.SIGINT:
            where = "" if self._state is None else f" All that was learned is in {self._choices.state}."
            terminal.complain(f"interrupted; every row that was read is answered.{where}")
            return terminal.INTERRUPTED
        return 0

    def _blocked(self, number: int) -> int:
        """End after a signal that came while nobody read the answers; return the exit code."""
        kept = "." if self._state is None else f", and are not learned: {self._choices.state} ends before them."
        terminal.complain(
            f"stopped while standard output took no more; {self._sink.n_unanswered} rows are not answered{kept}"
        )
        return terminal.INTERRUPTED if number == signal.SIGINT else terminal.MISTAKE

    def _give_up(self) -> None:
        """Keep what was learned before an error in the input; a failed write has been kept as far as it came."""
        state = self._state
        if state is None:
            self._flush()
        elif not state.is_failed:
            self._flush()
            self._save(state)
            self._sink.finish()

    def _close(self) -> None:
        self._sink.abandon()
        if self._bad_rows is not None:
            self._bad_rows.close()
        if self._state is not None:
            self._state.close()

    def _open_sink(self, kind: str, header: str, wanted: AnswerFormat) -> Sink:
        """Return where answers go."""
        out, state = self._choices.out, self._choices.state
        if self._kafka is not None and self._kafka.sink is not None:
            return self._kafka.sink
        if out is None or out == outputs.STANDARD:
            return StandardOutput(header, self._stop)
        if kind == "parquet":
            return ParquetFile(out, wanted.header(), (*wanted.keys, wanted.time))
        if state is None:
            return WholeFile(out, header)
        return GrowingFile(out, header, wanted.header(), terminal.note, self._choices.rotate)

    def _open_statistics(self) -> Statistics | None:
        seconds, path = self._choices.stats, self._choices.metrics_file
        if seconds is None and path is None:
            return None
        note = None if seconds is None else terminal.note
        return Statistics(self._counts, lambda: len(self._series), seconds or METRICS_SECONDS, note, path)

    def _open_state(self, choices: "StreamOptions") -> DurableStream:
        columns: dict[str, Any] = {
            "target": ",".join(choices.columns.targets),
            "id": ",".join(choices.columns.keys) or None,
            "time": choices.columns.time,
        }
        columns |= {"topic": None} if self._kafka is None else self._kafka.settings
        state = DurableStream(
            choices.state or "", self._series, columns, self._answerer.answer, parse_time,
            self._sink if self._sink.can_grow else None,  # type: ignore[arg-type]
            None if self._kafka is None else self._kafka.positions, always=choices.fsync == "always",
        )  # fmt: skip
        self._saved_at = state.resumed.n_learned
        self._note_resumed(state)
        return state

    def _newest_time(self, state: DurableStream) -> str:
        """Return up to which time rows are skipped, in words: one that is far off is seen here."""
        every = [each for each in state.series.known.values() if each.last_time is not None]
        try:
            newest = max(every, key=lambda each: each.last_time, default=None)
        except TypeError:  # series with times of different kinds
            return ""
        return "" if newest is None else f": up to {newest.last_cell}{' at most' if len(every) > 1 else ''}"

    def _note_resumed(self, state: DurableStream) -> None:
        """Report what the state holds, and how rows that it has learned are recognised."""
        folder, time = self._choices.state, self._choices.columns.time
        n_learned, row, n_replayed, n_torn = state.resumed
        by = "their number in the input" if time is None else f'their time, column "{time}"'
        by = by if self._kafka is None else "their offsets"
        if n_torn:
            terminal.note(f"{folder}: the journal ended in a torn record; its last {n_torn} bytes were cut.")
        if n_learned:
            terminal.note(
                f"{folder}: resumed after {n_learned} rows of {len(state.series)} series, {n_replayed} of them "
                f"from the journal. Rows that were learned before are skipped, by {by}"
                + (f": up to row {row}." if time is None and self._kafka is None else f"{self._newest_time(state)}.")
            )
        else:
            terminal.note(f"{folder}: a new state. Rows will be recognised by {by}.")
