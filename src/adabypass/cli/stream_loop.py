"""The loop of `adabypass stream`: rows in, answers out, and all that was learned kept in a folder if that is wanted."""

import json
import signal
import zlib
from typing import TYPE_CHECKING, Any, BinaryIO, cast

from adabypass.cli import outputs, terminal
from adabypass.cli.stream_input import ArrivingInput, Cells, Stopped, StopSignals, parse_time
from adabypass.cli.stream_output import Answerer, Wanted
from adabypass.cli.stream_sinks import GrowingFile, ParquetFile, Sink, StandardOutput, WholeFile, encoding
from adabypass.errors import AdabypassError, StateError, TableError
from adabypass.forecasting import Forecaster
from adabypass.storage.journal import pack
from adabypass.storage.stream import SavedStream, Series
from adabypass.tables import cells
from adabypass.tables.reading import STANDARD_INPUT, standard_input
from adabypass.tables.rows import Rows, open_rows

if TYPE_CHECKING:
    from adabypass.cli.stream import Choices

MOST_LINES = 10
"""Over how many lines a row may go on, in a quoted cell: an unclosed quote must not keep all later rows waiting."""
EVERY = 10_000
EVERY_OF_A_SERIES = 10
"""Rows between two snapshots: so many, or so many for each series if that is more."""


class Loop:
    """One run of the command.

    Parameters
    ----------
    choices : Choices
        Its options.
    template : Forecaster
        With the settings of every series.
    wanted : Wanted
        What an answer consists of.
    kind : "jsonl", "csv" or "parquet"
        The format of the answers.
    stop : StopSignals
        Caught from before anything is opened.
    """

    def __init__(self, choices: "Choices", template: Forecaster, wanted: Wanted, kind: str, stop: StopSignals) -> None:
        self._choices, self._template, self._stop = choices, template, stop
        encode, header = encoding(kind, wanted)
        self._answerer = Answerer(wanted, template, len(choices.exog), encode)
        self._sink = self._open_sink(kind, header, wanted)
        self._n_bad = self._n_skipped = self._saved_at = self._skipped_checksum = 0
        self._state = None if choices.state is None else self._open_state(choices)
        self._series: dict[str, Series] = {} if self._state is None else self._state.series

    def run(self) -> int:
        """Answer all rows; return the exit code."""
        state = self._state
        idle = (None, None) if state is None else (state.sync, state.sync_due)
        try:
            arriving = cast(BinaryIO, ArrivingInput(standard_input(), self._flush, self._stop, *idle))
            rows = open_rows(arriving, STANDARD_INPUT, most_lines=MOST_LINES, on_bad_row=self._on_bad_row)
            self._answer_rows(rows)
            self._finish()
        except Stopped as stopped:
            return self._stopped(int(stopped.args[0]))
        except AdabypassError:
            self._give_up()
            raise
        finally:
            self._close()
        return 0

    def _answer_rows(self, rows: Rows) -> None:
        """Learn and answer one row after another; every series has its own copy of the template."""
        choices, state, series, add = self._choices, self._state, self._series, self._sink.add
        reader = Cells(
            rows, choices.target, choices.key, choices.time, choices.exog, choices.missing,
            choices.on_bad_row == "missing",
        )  # fmt: skip
        observation, first, has_time = reader.observation, self._first_row(), choices.time is not None
        for row in rows.select(reader.names):
            try:
                y, exog, key, time, cell = observation(row)
                each = series.get(key)
                if each is not None and has_time and self._is_learned(each, time, cell, rows):
                    continue
            except TableError as error:
                self._on_bad_row(error, rows.row)
                continue
            if rows.row < first:
                self._check_learned(rows.row, first, pack(rows.row, key, "", y, exog))
                continue
            if each is None:
                each = self._answerer.series(key, self._template.copy(), None, None)
                add(each.answer(y, exog, cell))
                series[key] = each  # not before its first row is learned: a refused one leaves no series behind
            else:
                add(each.answer(y, exog, cell))
            if has_time:
                each.last_time, each.last_cell = time, json.dumps(cell)
            if state is not None:
                state.record(rows.row, key, each.last_cell, y, exog)

    def _is_learned(self, series: Series, time: Any, cell: Any, rows: Rows) -> bool:
        """Return whether a row was learned before the stream was resumed; refuse one that is late."""
        try:
            if series.resumed_time is not None and time <= series.resumed_time:
                self._n_skipped += 1
                return True
            if series.last_time is None or time > series.last_time:
                return False
            what = "is not later than"
        except TypeError:
            what = "cannot be compared with"
        message = f"{cells.show(cell)} {what} {series.last_cell}, the time of the row before it"
        return cells.raise_bad_cell(str(self._choices.time), rows.row, message, rows.source, rows.line)

    def _first_row(self) -> int:
        """Return the number of the first row that is new; rows with a time are recognised by that."""
        return 0 if self._state is None or self._choices.time is not None else self._state.row + 1

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

    def _flush(self) -> None:
        """Write rows to the journal, then their answers, then a snapshot if it is time for one."""
        state = self._state
        if state is None:
            self._sink.flush()
            return
        state.commit()
        self._sink.flush()
        every = self._choices.every or max(EVERY, EVERY_OF_A_SERIES * len(state.series))
        if state.n_learned - self._saved_at >= every:
            self._save(state)

    def _save(self, state: SavedStream) -> None:
        state.save()
        self._saved_at = state.n_learned

    def _finish(self) -> None:
        """Save all that was learned, and complete the answers."""
        self._flush()
        if self._state is not None and self._state.n_learned > self._saved_at:
            self._save(self._state)
        self._sink.finish()
        if self._n_bad:
            terminal.note(f"Rows that could not be read, and were skipped: {self._n_bad}.")
        if self._n_skipped:
            terminal.note(f"Rows that were learned before, and were skipped: {self._n_skipped}.")

    def _stopped(self, number: int) -> int:
        """End after a signal; return the exit code."""
        self._finish()
        if number == signal.SIGINT:
            where = "" if self._state is None else f" All that was learned is in {self._choices.state}."
            terminal.complain(f"interrupted; every row that was read is answered.{where}")
            return terminal.INTERRUPTED
        return 0

    def _give_up(self) -> None:
        """Keep what was learned before an error in the input; a failed write has been kept as far as it came."""
        state = self._state
        if state is None:
            self._sink.flush()
        elif not state.is_failed:
            self._flush()
            self._save(state)
            self._sink.finish()

    def _close(self) -> None:
        self._sink.abandon()
        if self._state is not None:
            self._state.close()

    def _open_sink(self, kind: str, header: str, wanted: Wanted) -> Sink:
        out, state = self._choices.out, self._choices.state
        if out is None or out == outputs.STANDARD:
            return StandardOutput(header, waits=state is not None)
        if kind == "parquet":
            return ParquetFile(out, wanted)
        return WholeFile(out, header) if state is None else GrowingFile(out, header, terminal.note)

    def _open_state(self, choices: "Choices") -> SavedStream:
        columns = {"target": choices.target, "id": choices.key, "time": choices.time}
        growing = self._sink if isinstance(self._sink, GrowingFile) else None
        state = SavedStream(
            choices.state or "", self._template, columns, len(choices.exog), self._answerer.series, parse_time, growing,
            always=choices.fsync == "always",
        )  # fmt: skip
        n_learned, row, n_replayed, n_torn = state.resumed
        self._saved_at = n_learned
        by = f'their time, column "{choices.time}"' if choices.time is not None else "their number in the input"
        if n_torn:
            terminal.note(f"{choices.state}: the journal ended in a torn record; its last {n_torn} bytes were cut.")
        if n_learned:
            terminal.note(
                f"{choices.state}: resumed after {n_learned} rows of {len(state.series)} series, {n_replayed} of them "
                f"from the journal. Rows that were learned before are skipped, by {by}"
                + (f": up to row {row}." if choices.time is None else ".")
            )
        else:
            terminal.note(f"{choices.state}: a new state. Rows will be recognised by {by}.")
        return state
