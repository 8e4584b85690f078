"""The loop of `adabypass stream`: rows in, answers out, and all that was learned kept in a folder if that is wanted."""

import json
import signal
import sys
import zlib
from typing import TYPE_CHECKING, Any, BinaryIO, cast

from adabypass.cli import outputs, terminal
from adabypass.cli.stream_answers import Answerer
from adabypass.cli.stream_input import (
    ArrivingInput,
    Blocked,
    RowParser,
    SourceLocation,
    Stopped,
    StopSignals,
    parse_time,
)
from adabypass.cli.stream_output import AnswerFormat
from adabypass.cli.stream_sinks import GrowingFile, ParquetFile, Sink, StandardOutput, WholeFile, encoding
from adabypass.data import cells
from adabypass.data.reading import STANDARD_INPUT, standard_input
from adabypass.data.rows import Rows, open_rows
from adabypass.errors import AdabypassError, BrokerError, StateError, TableError
from adabypass.forecasting import Forecaster
from adabypass.storage.journal import pack
from adabypass.storage.series import Row, Series, StreamPanel
from adabypass.storage.stream import Answers, DurableStream

if TYPE_CHECKING:
    from adabypass.cli.stream import StreamOptions
    from adabypass.cli.stream_kafka import KafkaStream, MessageRows

MAX_LINES = 10
"""Over how many lines a row may go on, in a quoted cell: an unclosed quote must not keep all later rows waiting."""
MAX_NAMED = 10
"""Series that are named one by one in a report."""
EVERY = 10_000
EVERY_OF_A_SERIES = 10
"""Rows between two snapshots: the first number, or the second for each series if that is more."""


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
        The topics, if rows come from one.
    """

    def __init__(
        self, choices: "StreamOptions", template: Forecaster, wanted: AnswerFormat, kind: str, stop: StopSignals,
        kafka: "KafkaStream | None" = None,
    ) -> None:  # fmt: skip
        self._choices, self._stop, self._kafka = choices, stop, kafka
        is_shown = choices.out in (None, outputs.STANDARD) and sys.stdout.isatty()
        encode, header = encoding(kind, wanted, is_shown=is_shown)
        false_alarms = wanted.false_alarms if wanted.has_alarms else None
        self._series = StreamPanel(template, len(choices.exog), false_alarms=false_alarms)
        self._answerer = Answerer(wanted, self._series, encode)
        self._waiting: list[Row] = []
        self._sink, self._answers = self._open_sink(kind, header, wanted)
        self._n_bad = self._n_absent = self._n_skipped = self._n_new = self._saved_at = self._skipped_checksum = 0
        self._reader: RowParser | None = None
        try:
            self._state = None if choices.state is None else self._open_state(choices)
        except BaseException:
            self._sink.abandon()
            raise

    def run(self) -> int:
        """Answer all rows; return the exit code."""
        state = self._state
        idle = (None, None) if state is None else (state.sync, state.sync_due)
        try:
            if self._kafka is None:
                arriving = cast(BinaryIO, ArrivingInput(standard_input(), self._flush, self._stop, *idle))
                rows = open_rows(arriving, STANDARD_INPUT, max_lines=MAX_LINES, on_bad_row=self._on_bad_row)
                self._answer_rows(rows, rows)
            else:
                self._kafka.start()
                messages = self._kafka.rows(self._flush, self._stop, self._on_bad_row)
                self._answer_rows(messages, messages.place)
            return self._finish()
        except Blocked as blocked:
            return self._blocked(int(blocked.args[0]))
        except Stopped as stopped:
            return self._stopped(int(stopped.args[0]))
        except BrokerError:
            raise  # what was learned is in the journal; a snapshot waits until its answers are written
        except AdabypassError:
            self._give_up()
            raise
        finally:
            self._close()

    def _answer_rows(self, rows: "Rows | MessageRows", place: SourceLocation) -> None:
        """Read one row after another; those that are there together are learned together.

        Parameters
        ----------
        rows
            Where they come from.
        place
            What errors about a cell of the newest row call it.
        """
        choices, known, waiting, max_rows = self._choices, self._series.known, self._waiting, self._series.max_rows
        self._reader = reader = RowParser(
            place, choices.target, choices.key, choices.time, choices.exog, choices.missing,
            choices.on_bad_row == "missing",
        )  # fmt: skip
        observation, first, has_time = reader.observation, self._first_row(), choices.time is not None
        on_absent = self._on_absent if choices.on_bad_row == "missing" else None
        for row in rows.select(reader.names, on_absent):
            try:
                y, exog, key, time, cell = observation(row)
                series = known.get(key)
                if series is not None and has_time and self._is_learned(series, time, cell, place):
                    continue
            except TableError as error:
                self._on_bad_row(rows.header_again() or error, rows.row)
                continue
            if rows.row < first:
                self._check_learned(rows.row, first, pack(rows.row, key, "", y, exog))
                continue
            if series is None:
                series = self._series.add(key)
            if has_time:
                series.last_time, series.last_cell = time, json.dumps(cell)
            waiting.append((rows.row, key, series.last_cell, y, exog))
            if len(waiting) >= max_rows:
                self._answer_waiting()

    def _answer_waiting(self) -> None:
        """Learn all rows that wait, and add their answers to the sink, in the order in which they came."""
        rows = self._waiting.copy()
        self._waiting.clear()
        if not rows:
            return
        self._n_new += len(rows)
        learn, add = self._answerer.answer if self._state is None else self._state.learn, self._sink.add
        answers = learn(rows)
        try:
            for row, answer in zip(rows, answers, strict=True):
                add(answer, row[0], row[1])
        except BaseException:
            if self._state is not None:
                self._state.is_failed = True  # what has no answer is not to be kept
            raise

    def _is_learned(self, series: Series, time: Any, cell: Any, place: SourceLocation) -> bool:
        """Return whether a row was learned before the stream was resumed; refuse one that is late."""
        try:
            if series.resumed_time is not None and time <= series.resumed_time:
                self._n_skipped += 1
                series.n_skipped += 1
                series.has_met_newest |= time == series.resumed_time
                return True
            if series.last_time is None or time > series.last_time:
                return False
            what = "is not later than"
        except TypeError:
            what = "cannot be compared with"
        message = f"{cells.show(cell)} {what} {series.last_cell}, the time of the row before it"
        return cells.raise_bad_cell(str(self._choices.time), place.row, message, place.source, place.line)

    def _first_row(self) -> int:
        """Return the number of the first row that is new; rows with a time are recognised by that."""
        by_number = self._state is not None and self._choices.time is None and self._kafka is None
        return self._state.row + 1 if by_number and self._state is not None else 0

    def _check_learned(self, number: int, first: int, packed: bytes) -> None:
        """Check that a row that was learned before is the same as then."""
        assert self._state is not None
        self._n_skipped += 1
        self._skipped_checksum = zlib.crc32(packed, self._skipped_checksum)
        expected = self._state.checkpoints.get(self._n_skipped, self._skipped_checksum)
        if number == first - 1:
            expected = self._state.checksum
        if expected != self._skipped_checksum:
            raise StateError(
                f"the input up to row {number} is not that from which {self._choices.state} has learned; give "
                "the same input from its first row on, or start with a new folder and --time COL, which recognises "
                "rows by their time."
            )

    def _on_bad_row(self, error: TableError, number: int | None = None) -> None:
        """Stop at a row that cannot be read, or report it and go on."""
        if self._choices.on_bad_row == "fail":
            raise error
        if self._state is not None and number is not None and number < self._first_row():
            return  # it was reported when it came
        self._n_bad += 1
        terminal.complain(f"skipped: {error}")

    def _on_absent(self, what: str) -> None:
        """Note a row that leaves out a column, whose value counts as missing: the first one in words."""
        self._n_absent += 1
        if self._n_absent == 1:
            terminal.note(f"{what} It counts as missing, here and in later rows.")

    def _flush(self) -> None:
        """Write rows to the journal, then their answers, then a snapshot if it is time for one."""
        state = self._state
        self._answer_waiting()
        if state is None:
            self._sink.flush()
            return
        state.commit()
        try:
            self._sink.flush()
        except BaseException:
            if self._sink.n_unanswered:
                state.take_back(self._sink.n_unanswered)
            raise
        every = self._choices.every or max(EVERY, EVERY_OF_A_SERIES * len(state.series))
        if state.n_learned - self._saved_at >= every:
            self._save(state)
        elif state.sync_due() <= 0.0:
            state.sync()

    def _save(self, state: DurableStream) -> None:
        state.save()
        self._saved_at = state.n_learned

    def _finish(self) -> int:
        """Save all that was learned, complete the answers, and report what was left out; return the exit code."""
        self._flush()
        if self._state is not None and self._state.n_learned > self._saved_at:
            self._save(self._state)
        self._sink.finish()
        return self._report()

    def _report(self) -> int:
        """Report rows and values that were left out; return the exit code."""
        n_no_number = 0 if self._reader is None else self._reader.n_taken_as_missing
        for what, count in (
            ("Rows that could not be read, and were skipped", self._n_bad),
            ("Rows without a column that is read, whose value was taken as missing", self._n_absent),
            ("Values that were no numbers, and were taken as missing", n_no_number),
            ("Rows that were learned before, and were skipped", self._n_skipped),
        ):
            if count:
                terminal.note(f"{what}: {count}.")
        silent = [(key, each) for key, each in self._series.known.items() if each.is_silent]
        for key, each in silent[:MAX_NAMED]:
            terminal.complain(
                f"left out: {f'series {key}' if key else 'the series'}: none of its {each.n_skipped} rows was new, nor "
                f"the one learned last, since all are earlier than {each.last_cell}, its newest time. If that time is "
                "wrong, begin with another --state folder."
            )
        if len(silent) > MAX_NAMED:
            terminal.complain(f"left out: {len(silent) - MAX_NAMED} more series, likewise.")
        is_all_bad = self._n_bad > 0 and self._n_new == 0 and self._n_skipped == 0
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
        if self._state is not None:
            self._state.close()

    def _open_sink(self, kind: str, header: str, wanted: AnswerFormat) -> tuple[Sink, Answers | None]:
        """Return where answers go, and the same if a resumed stream gives it the answers that it lacks."""
        out, state = self._choices.out, self._choices.state
        if self._kafka is not None and self._kafka.sink is not None:
            return self._kafka.sink, self._kafka.sink
        if out is None or out == outputs.STANDARD:
            return StandardOutput(header, self._stop), None
        if kind == "parquet":
            return ParquetFile(out, wanted), None
        if state is None:
            return WholeFile(out, header), None
        growing = GrowingFile(out, header, wanted.header(), terminal.note)
        return growing, growing

    def _open_state(self, choices: "StreamOptions") -> DurableStream:
        columns: dict[str, Any] = {"target": choices.target, "id": choices.key, "time": choices.time}
        columns |= {"topic": None} if self._kafka is None else self._kafka.settings
        state = DurableStream(
            choices.state or "", self._series, columns, self._answerer.answer, parse_time, self._answers,
            None if self._kafka is None else self._kafka.positions, always=choices.fsync == "always",
        )  # fmt: skip
        self._saved_at = state.resumed.n_learned
        if self._kafka is not None:
            for each in state.series.known.values():
                each.resumed_time = None  # rows are recognised by their offsets: one that is late is late
        self._note_resumed(state)
        return state

    def _newest(self, state: DurableStream) -> str:
        """Return up to which time rows are skipped, in words: one that is far off is seen here."""
        every = [each for each in state.series.known.values() if each.resumed_time is not None]
        try:
            newest = max(every, key=lambda each: each.resumed_time, default=None)
        except TypeError:  # series with times of different kinds
            return ""
        return "" if newest is None else f": up to {newest.last_cell}{' at most' if len(every) > 1 else ''}"

    def _note_resumed(self, state: DurableStream) -> None:
        """Report what the state holds, and how rows that it has learned are recognised."""
        folder, time = self._choices.state, self._choices.time
        n_learned, row, n_replayed, n_torn = state.resumed
        by = "their number in the input" if time is None else f'their time, column "{time}"'
        by = by if self._kafka is None else "their offsets"
        if n_torn:
            terminal.note(f"{folder}: the journal ended in a torn record; its last {n_torn} bytes were cut.")
        if n_learned:
            terminal.note(
                f"{folder}: resumed after {n_learned} rows of {len(state.series)} series, {n_replayed} of them "
                f"from the journal. Rows that were learned before are skipped, by {by}"
                + (f": up to row {row}." if time is None and self._kafka is None else f"{self._newest(state)}.")
            )
        else:
            terminal.note(f"{folder}: a new state. Rows will be recognised by {by}.")
