"""Rows from a topic of Kafka, and answers to another: `adabypass stream --source kafka://... --sink kafka://...`."""

import json
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from adabypass.cli import terminal
from adabypass.data.rows import OnAbsent, choose_present, chooser, parse_object
from adabypass.data.table import no_such_column
from adabypass.errors import ParameterError, TableError
from adabypass.storage.positions import Positions, pack, unpack
from adabypass.streaming.kafka import Answer, Topic, TopicReader, TopicWriter
from adabypass.streaming.kafka.client import OWN
from adabypass.streaming.sources import StopSignals

if TYPE_CHECKING:
    from adabypass.cli.stream import StreamOptions

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
        on_bad: Callable[[TableError, int], None], *, ends: bool,
    ) -> None:  # fmt: skip
        self._reader, self._answer, self._stop, self._on_bad = reader, answer, stop, on_bad
        self._ends = ends
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


class TopicSink:
    """Answers to a topic: rows that were learned again get none if they have one.

    Parameters
    ----------
    writer : TopicWriter
    reader : TopicReader
        Of the rows; the offsets of its group follow the answers.
    """

    n_unanswered, can_grow = 0, True

    def __init__(self, writer: TopicWriter, reader: TopicReader) -> None:
        self._writer, self._reader = writer, reader
        self._waiting: list[Answer] = []

    def add(self, answer: str, row: int, key: str) -> None:
        """Add the answer to a row; "" if it is not to be answered."""
        partition, offset = unpack(row)
        if answer and not self._writer.is_answered(partition, offset):
            self._waiting.append(Answer(answer.rstrip("\n").encode(), message_key(key), partition, offset))

    def resume(self, position: Any) -> None:
        """Find out which rows are answered."""
        self._writer.resume(dict(position or []), self._reader.committed())

    def flush(self) -> None:
        """Write out all answers."""
        if self._waiting:
            self._writer.write(self._waiting)
            self._reader.commit({answer.partition: answer.offset + 1 for answer in self._waiting})
            self._waiting.clear()

    def sync(self) -> list[list[int]]:
        """Write out all answers; return where the topic ends then."""
        self.flush()
        return [[*each] for each in self._writer.ends().items()]

    def finish(self) -> None:
        """Write out all answers, the last ones."""
        self.flush()

    def abandon(self) -> None:
        """Drop the answers that wait: if their rows are in the journal, they are made again at the next start."""
        self._waiting.clear()


@lru_cache(maxsize=100_000)
def message_key(key: str) -> bytes | None:
    """Return the key of an answer: the id of its series, text as it is, other values as JSON; None without ids."""
    if not key:
        return None
    value = json.loads(key)
    return (value if isinstance(value, str) else key).encode("utf-8", "surrogatepass")


class KafkaStream:
    """The topics of one run of the command.

    Parameters
    ----------
    choices : StreamOptions
        The options of the command.
    """

    def __init__(self, choices: "StreamOptions") -> None:
        self._choices = choices
        source = Topic.parse(str(choices.source))
        sink = None if choices.sink is None else Topic.parse(choices.sink)
        if sink == source:
            raise click.UsageError("--sink is the topic of --source: every answer would be a row again.")
        group = choices.group or f"adabypass-{source.name}" + ("" if sink is None else f"-{sink.name}")
        config = {} if choices.kafka_config is None else read_config(choices.kafka_config)
        self._reader = TopicReader(source, group, config, choices.partitions, terminal.note)
        self.positions = Positions()
        self.settings = {
            "topic": source.name,
            "group": group,
            "partitions": choices.partitions and [*choices.partitions],
        }
        """What must be the same whenever the stream is resumed."""
        self._writer: TopicWriter | None = None
        try:
            self._check_partitions()
            if sink is not None:
                part = "" if choices.partitions is None else "-" + "-".join(map(str, choices.partitions))
                self._writer = TopicWriter(
                    sink, source, group, config, self._reader.partitions, group + part, terminal.note
                )
        except BaseException:
            self.close()
            raise
        self.sink = None if self._writer is None else TopicSink(self._writer, self._reader)

    def start(self) -> None:
        """Go to the next row of each partition, once the positions are known."""
        answered = {} if self._writer is None else self._writer.answered_up_to()
        ahead = {each: end for each, end in answered.items() if end > self.positions.following.get(each, 0)}
        if ahead:
            partition, end = next(iter(ahead.items()))
            terminal.note(
                f"{self._choices.sink} has answers to rows that {self._choices.state} has not learned, in partition "
                f"{partition} up to offset {end - 1}: they are learned now, and not answered again. (To have them "
                "answered again, choose another --group.)"
            )
        self._reader.start(self.positions.following, skip_lost=self._choices.on_bad_row != "fail")

    def source(
        self, answer: Callable[[], None], stop: StopSignals, on_bad: Callable[[TableError, int], None]
    ) -> MessageSource:
        """Return the messages of the topic."""
        return MessageSource(self._reader, answer, stop, on_bad, ends=self._choices.stop_at_end)

    def close(self) -> None:
        """Leave the brokers."""
        self._reader.close()
        if self._writer is not None:
            self._writer.close()

    def _check_partitions(self) -> None:
        """Refuse one series whose rows come from several partitions, between which there is no order."""
        reader = self._reader
        if not self._choices.key and len(reader.partitions) > 1:
            raise click.UsageError(
                f"{reader.topic} has {reader.n_partitions} partitions, between which rows have no order; name the "
                "field of series with --id, or one partition with --partitions."
            )


def read_config(path: Path) -> dict[str, str]:
    """Return the settings in a file of lines NAME=VALUE; lines that begin with # are comments."""
    found = {}
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        name, equals, value = (part.strip() for part in line.partition("="))
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        if not equals or not name:
            raise ParameterError(
                f"{path}: line {number} is not a setting; write NAME=VALUE, as in security.protocol=SSL."
            )
        if name in OWN:
            raise ParameterError(f"{path}: line {number} sets {name}, which adabypass sets itself; delete the line.")
        found[name] = value
    return found
