"""One run of `adabypass stream`: records in, answers out, and what was learned kept in a folder if that is wanted."""

import json
import signal
import sys
from collections.abc import Sequence
from math import inf
from typing import TYPE_CHECKING, Any

from adabypass.cli import outputs, terminal
from adabypass.cli.stream_answers import encoding, only_wanted
from adabypass.data.reading import standard_input
from adabypass.data.times import parse_time
from adabypass.errors import AdabypassError, BrokerError, TableError
from adabypass.forecasting import Forecaster
from adabypass.streaming.answers import AnswerFormat
from adabypass.streaming.batches import InputChecksum
from adabypass.streaming.intake import Counts, Intake, Source
from adabypass.streaming.operations import BadRows, BadRowsFile, LimitedNotes, Statistics, bad_row
from adabypass.streaming.rows import Row
from adabypass.streaming.sinks import GrowingFile, ParquetFile, Sink, StandardOutput, WholeFile
from adabypass.streaming.sources import Blocked, Stopped, StopSignals, TextSource
from adabypass.streaming.stream import Stream

if TYPE_CHECKING:
    from adabypass.cli.stream import StreamOptions
    from adabypass.cli.stream_kafka import KafkaStream

MAX_NAMED = 10
"""Series that are named one by one in a report."""
MAX_DATED = 10_000
"""Of more series, the newest time is not looked for at the start."""
BATCH = 10_000
"""Rows that are learned and committed together, if they are there."""
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
        encode = only_wanted(wanted, encode, choices.only or (), self._counts)
        self._notes = LimitedNotes(terminal.complain)
        self._intake: Intake | None = None
        self._known, self._unchecked = InputChecksum(), list[Row]()
        """Checksum of rows of the input that were learned before, and those that are to be added to it."""
        self._newest: list[int] = []
        """Numbers of the rows that were learned since answers were last written out."""
        self._stream: Stream | None = None
        self._bad_rows: BadRows | None = None
        self._sink = self._open_sink(kind, header, wanted)
        try:
            self._stream = self._open_stream(template, wanted, encode)
            self._bad_rows = self._open_bad_rows()
            self._statistics = self._open_statistics()
        except BaseException:
            self._close(is_whole=False)
            raise
        if isinstance(self._sink, GrowingFile):
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
            raise  # what was learned is in the folder; a checkpoint waits until its answers are written
        except AdabypassError:
            self._give_up()
            raise
        finally:
            self._close(is_whole=False)

    @property
    def stream(self) -> Stream:
        """What learns the rows."""
        assert self._stream is not None
        return self._stream

    def _learn_all(self, source: Source) -> None:
        """Read one record after another; those that are there together are learned together."""
        choices, first = self._choices, self._first_row()
        self._source = source
        self._intake = intake = Intake(
            source, choices.columns, choices.missing, choices.on_bad_row, choices.rules,
            self.stream._learner.last_time,
            self._on_bad, self._counts, self._was_read,
        )  # fmt: skip
        on_absent = self._on_absent if choices.on_bad_row == "missing" else None
        for record in source.select(choices.columns.read, on_absent):
            if source.number < first:
                self._check_learned(intake, record, first)
                continue
            intake.take(record)
            if len(intake.rows) >= BATCH:
                self._answer_waiting()
        if self._kafka is not None:
            intake.release_all()

    def _was_read(self, number: int) -> bool:
        """Return whether the record of a number may have been read before the stream was resumed."""
        return self._choices.state is not None if self._kafka is None else self._kafka.was_read(number)

    def _answer_waiting(self) -> None:
        """Learn all rows that wait, and add their answers to the sink, in the order in which they came."""
        if self._intake is None or not self._intake.rows:
            return
        rows, add = self._intake.rows.copy(), self._sink.add
        self._intake.rows.clear()
        positions = None if self._kafka is None else self._kafka.position(self._intake)
        answers = self.stream._learn_rows(rows, positions)
        self._newest += [row.number for row in rows]
        n_added = 0
        try:
            for row, answer in zip(rows, answers, strict=True):
                add(answer, row.number, row.key)
                n_added += 1
        except BaseException:  # what has no answer is not to be kept
            self._take_back(len(rows) - n_added)
            raise

    def _take_back(self, n: int) -> None:
        """Let the folder forget the newest rows, which are not answered, and all others of their records."""
        while n < len(self._newest) and self._newest[-n - 1] == self._newest[-n]:
            n += 1
        if self._choices.state is None:
            self.stream._is_failed = True
        else:
            self.stream._take_back(n)

    def _first_row(self) -> int:
        """Return the number of the first row that is new; rows with a time are recognised by that."""
        by_number = self._choices.columns.time is None and self._kafka is None
        return self.stream.resumed.row + 1 if by_number else 0

    def _check_learned(self, intake: Intake, record: Sequence[Any], first: int) -> None:
        """Check that a row that was learned before is the same as then."""
        try:
            values, exog, _, _ = intake.parser.parse(record)
        except TableError:
            return  # it was reported when it came
        self._unchecked += [Row(self._source.number, key, "", y, exog) for key, y in values]
        self._counts.skipped += len(values)
        if self._source.number == first - 1 or len(self._unchecked) >= BATCH:
            self._check_unchecked()

    def _check_unchecked(self) -> None:
        rows = self._unchecked.copy()
        self._unchecked.clear()
        if rows:
            self.stream._learner.check_known(rows, self._known, str(self._choices.state))

    def _on_bad(self, error: TableError, number: int) -> None:
        """Stop at a record that cannot be read, or report it and go on."""
        if self._choices.on_bad_row == "fail":
            if self._kafka is not None:
                self._kafka.refuse(number)
            raise error
        if number < self._first_row() or (self._kafka is not None and self._kafka.was_read(number)):
            return  # it was reported when it came
        self._counts.note_bad(error, number)
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
        self._newest.clear()
        self._answer_waiting()
        if self._bad_rows is not None:
            self._bad_rows.flush()
        try:
            self._sink.flush()
        except BaseException:
            if self._sink.n_unanswered:
                self._take_back(self._sink.n_unanswered)
            raise
        if self._kafka is not None:
            self._kafka.follow(self.stream)
        self.stream._checkpoint_if_due()
        if self._intake is not None:
            self._intake.forget()
        self._on_idle()

    def _idle_due(self) -> float:
        """Return in how many seconds `_on_idle` is to be called."""
        return min(
            self.stream._flush_due(),
            inf if self._statistics is None else self._statistics.due(),
            HANGUP_SECONDS if self._stop.catches_hangup else inf,
        )

    def _on_idle(self) -> None:
        """Do what is due besides learning."""
        if self.stream._flush_due() <= 0.0:
            self.stream._flush()
        if isinstance(self._sink, GrowingFile) and (self._stop.hung_up or self._sink.is_full):
            self._stop.hung_up = False
            self._sink.rotate()
            self.stream.checkpoint()
        if self._statistics is not None and self._statistics.due() <= 0.0:
            self._statistics.report()

    def _finish(self) -> int:
        """Save all that was learned, complete the answers, and report what was left out; return the exit code."""
        if self._intake is not None and self._kafka is None:  # messages that are held back are read again
            self._intake.release_all()
        self._check_unchecked()
        self._flush()
        self._close(is_whole=True)
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
            where = "" if self._choices.state is None else f" All that was learned is in {self._choices.state}."
            terminal.complain(f"interrupted; every row that was read is answered.{where}")
            return terminal.INTERRUPTED
        return 0

    def _blocked(self, number: int) -> int:
        """End after a signal that came while nobody read the answers; return the exit code."""
        kept = "." if self._choices.state is None else f", and are not learned: {self._choices.state} ends before them."
        terminal.complain(
            f"stopped while standard output took no more; {self._sink.n_unanswered} rows are not answered{kept}"
        )
        return terminal.INTERRUPTED if number == signal.SIGINT else terminal.MISTAKE

    def _give_up(self) -> None:
        """Keep what was learned before an error in the input; a failed write has been kept as far as it came."""
        if not self.stream._is_failed:
            self._flush()
            if self._choices.state is not None:
                self._close(is_whole=True)

    def _close(self, *, is_whole: bool) -> None:
        """End the stream; if it is whole, with a checkpoint and a complete file of answers."""
        if self._stream is not None:
            if is_whole:
                self._stream.close()
            else:
                self._stream._abandon()
        if is_whole:
            self._sink.finish()
        self._sink.abandon()
        if self._bad_rows is not None:
            self._bad_rows.close()
            self._bad_rows = None

    def _open_sink(self, kind: str, header: str, wanted: AnswerFormat) -> Sink:
        """Return where answers go."""
        out, state = self._choices.out, self._choices.state
        if self._kafka is not None and self._kafka.sink is not None:
            return self._kafka.sink
        if out is None or out == outputs.STANDARD:
            return StandardOutput(header, self._stop)
        if kind == "parquet":
            return ParquetFile(out, wanted.header(is_flat=True), (*wanted.keys, wanted.time))
        if state is None:
            return WholeFile(out, header)
        return GrowingFile(out, header, wanted.header(), terminal.note, self._choices.rotate)

    def _open_bad_rows(self) -> BadRows | None:
        """Return where rows go that could not be read."""
        path = self._choices.bad_rows
        if path is None:
            return None
        if path.startswith("kafka://"):
            from adabypass.cli.stream_kafka import bad_rows_topic  # noqa: PLC0415  (an extra)

            return bad_rows_topic(path, self._choices.kafka_config)
        return BadRowsFile(path)

    def _open_statistics(self) -> Statistics | None:
        seconds, path = self._choices.stats, self._choices.metrics_file
        if seconds is None and path is None:
            return None
        note = None if seconds is None else terminal.note
        return Statistics(self._counts, lambda: len(self.stream), seconds or METRICS_SECONDS, note, path)

    def _open_stream(self, template: Forecaster, wanted: AnswerFormat, encode: Any) -> Stream:
        choices, columns = self._choices, self._choices.columns
        stream = Stream._of(
            choices.state, template, wanted, columns, encode, forgetting=choices.forgetting, rules=choices.rules,
            checkpoint_every=choices.every, fsync=choices.fsync or "interval",
            sink=self._sink if self._sink.can_grow else None,
            settings={"topic": None} if self._kafka is None else self._kafka.settings,
        )  # fmt: skip
        if self._kafka is not None:
            self._kafka.restore(stream._learner.positions, choices.rules.window)
        if choices.state is not None:
            self._note_resumed(stream)
        return stream

    def _note_resumed(self, stream: Stream) -> None:
        """Report what the state holds, and how rows that it has learned are recognised."""
        folder, time = self._choices.state, self._choices.columns.time
        n_learned, row, n_replayed = stream.resumed
        by = "their number in the input" if time is None else f'their time, column "{time}"'
        by = by if self._kafka is None else "their offsets"
        if n_learned:
            terminal.note(
                f"{folder}: resumed after {n_learned} rows of {len(stream)} series, {n_replayed} of them since the "
                f"last checkpoint. Rows that were learned before are skipped, by {by}"
                + (f": up to row {row}." if time is None and self._kafka is None else f"{_newest_time(stream)}.")
            )
        else:
            terminal.note(f"{folder}: a new state. Rows will be recognised by {by}.")


def _newest_time(stream: Stream) -> str:
    """Return up to which time rows are skipped, in words: one that is far off is seen here."""
    if len(stream) > MAX_DATED:
        return ""
    every = [cell for _, cell, _ in stream._learner.series.known() if cell]
    try:
        newest = max(every, key=lambda cell: parse_time(json.loads(cell)), default=None)
    except TypeError:  # series with times of different kinds
        return ""
    return "" if newest is None else f": up to {newest}{' at most' if len(every) > 1 else ''}"
