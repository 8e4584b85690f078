"""Records out of the messages of a topic."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from adabypass.data.rows import OnAbsent, choose_present, chooser, parse_object
from adabypass.data.table import no_such_column
from adabypass.errors import TableError
from adabypass.streaming.kafka.positions import Positions, pack, unpack
from adabypass.streaming.kafka.reader import TopicReader
from adabypass.streaming.sources import StopSignals

ROWS_AT_ONCE = 10_000
SECONDS = 0.1
"""Number of rows, and seconds, after which the rows that came are answered in one transaction."""


class MessageSource:
    """Records of a topic: every message is one JSON object.

    Parameters
    ----------
    reader : TopicReader
    answer : function
        Writes out all answers, before more messages are waited for.
    stop : StopSignals
    on_bad : function
        Takes the error about a message that is no record, and its position.
    positions : Positions
        Gets the position of each message.
    ends : bool
        Whether the records end where the topic ends now.

    Attributes
    ----------
    number : int
        The position of the message that was read last.
    """

    row = line = 0  # the source says which message it is

    def __init__(
        self, reader: TopicReader, answer: Callable[[], None], stop: StopSignals,
        on_bad: Callable[[TableError, int], None], positions: Positions, *, ends: bool,
    ) -> None:  # fmt: skip
        self._reader, self._answer, self._stop, self._on_bad = reader, answer, stop, on_bad
        self._positions, self._ends = positions, ends
        self.number = 0
        self._value: bytes | None = None

    @property
    def source(self) -> str:
        """What errors call the message that was read last."""
        return self._name(self.number)

    def _name(self, number: int) -> str:
        partition, offset = unpack(number)
        return f"{self._reader.topic}, partition {partition}, offset {offset}"

    @property
    def place(self) -> "MessageSource":
        """Where the newest message is."""
        return self

    def prefix(self, number: int) -> str:
        """Return how an error about the message of this position begins."""
        return f"{self._name(number)}: "

    def labels(self, number: int) -> dict[str, int]:
        """Return where the message of this position was, by names."""
        return dict(zip(("partition", "offset"), unpack(number), strict=True))

    def header_again(self) -> TableError | None:
        """Return None: messages have no header."""
        return None

    def is_header_again(self) -> bool:
        """Return False: messages have no header."""
        return False

    def text(self) -> str:
        """Return the newest message."""
        return (self._value or b"").decode("utf-8", "backslashreplace")

    def select(self, names: Sequence[str], on_absent: OnAbsent | None = None) -> Iterator[list[Any]]:
        """Yield the cells of these fields, for each message; `on_absent` as of `JsonRows.select`."""
        choose = chooser(names)
        while True:
            for message in self._reader.read(ROWS_AT_ONCE, SECONDS):
                self.number, self._value = pack(message.partition, message.offset), message.value
                self._positions.note(self.number)
                try:
                    cells = self._cells(choose, names, on_absent)
                except TableError as error:
                    error.record = self.text()
                    self._on_bad(error, self.number)
                else:
                    yield cells
            self._answer()
            self._stop.check()
            if self._ends and self._reader.has_reached_end:
                return

    def _cells(
        self, choose: Callable[[dict[str, Any]], list[Any]], names: Sequence[str], on_absent: OnAbsent | None
    ) -> list[Any]:
        try:
            text = (self._value or b"").decode()
        except UnicodeDecodeError:
            raise TableError(f"{self.source} is not UTF-8 text.") from None
        row = parse_object(text, self.source)
        try:
            return choose(row)
        except KeyError as missing:
            what = f"{self.source}: {no_such_column(missing.args[0], list(row))}"
            if on_absent is None:
                raise TableError(what) from None
            on_absent(what)
            return choose_present(row, names)
