"""Rows from a topic of Kafka, and answers to another: `adabypass stream --source kafka://... --sink kafka://...`."""

from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from adabypass.cli import terminal
from adabypass.data.times import parse_time
from adabypass.errors import TableError
from adabypass.streaming.clock import ReorderWindow
from adabypass.streaming.intake import Intake
from adabypass.streaming.kafka import Topic, TopicReader, TopicWriter
from adabypass.streaming.kafka.client import read_config
from adabypass.streaming.kafka.positions import Positions
from adabypass.streaming.kafka.sink import TopicBadRows, TopicSink
from adabypass.streaming.kafka.source import MessageSource
from adabypass.streaming.sources import StopSignals
from adabypass.streaming.stream import Stream

if TYPE_CHECKING:
    from adabypass.cli.stream import StreamOptions


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
        self._positions = Positions()
        self._window: ReorderWindow[Any] | None = None
        self.settings = {
            "topic": source.name,
            "group": group,
            "partitions": choices.partitions and [*choices.partitions],
        }
        """What must be the same whenever the stream is resumed."""
        self._followed: dict[int, int] = {}
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
        ahead = {each: end for each, end in answered.items() if end > self._positions.following.get(each, 0)}
        if ahead:
            partition, end = next(iter(ahead.items()))
            terminal.note(
                f"{self._choices.sink} has answers to rows that {self._choices.state} has not learned, in partition "
                f"{partition} up to offset {end - 1}: they are learned now, and not answered again. (To have them "
                "answered again, choose another --group.)"
            )
        self._reader.start(self._positions.following, skip_lost=self._choices.on_bad_row != "fail")

    def source(
        self, answer: Callable[[], None], stop: StopSignals, on_bad: Callable[[TableError, int], None]
    ) -> MessageSource:
        """Return the messages of the topic."""
        return MessageSource(
            self._reader, answer, stop, on_bad, self._positions, ends=self._choices.stop_at_end
        )  # fmt: skip

    def restore(self, positions: Any, window: ReorderWindow[Any] | None) -> None:
        """Take over what the state has of the positions; None if it is new."""
        self._window = window
        if positions is not None:
            self._positions.restore(positions["partitions"])
            if window is not None and positions["newest"] is not None:
                window.newest = parse_time(positions["newest"])

    def position(self, intake: Intake) -> dict[str, Any]:
        """Return what the state is to keep of the positions: rows that are held back must be read again."""
        newest = None if self._window is None else self._window.newest
        return {
            "partitions": self._positions.describe(intake.held()),
            "newest": newest.isoformat() if isinstance(newest, datetime) else newest,
        }

    def refuse(self, number: int) -> None:
        """Note that reading ends with a message, which the next start is to find again."""
        self._positions.refuse(number)

    def was_read(self, number: int) -> bool:
        """Return whether a message was read before the stream was resumed."""
        return self._positions.was_read(number)

    def follow(self, stream: Stream) -> None:
        """Commit the offsets of what was answered, so that tools which watch the consumer group see the progress."""
        positions = stream._learner.positions
        if self.sink is not None and positions is not None:
            offsets = {partition: first for partition, first, _ in positions["partitions"]}
            if offsets != self._followed:
                self._reader.commit(offsets)
                self._followed = offsets

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


def bad_rows_topic(address: str, config: Path | None) -> TopicBadRows:
    """Return a topic for records that could not be read."""
    return TopicBadRows(Topic.parse(address), {} if config is None else read_config(config))
