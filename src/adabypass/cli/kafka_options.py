"""Options of `adabypass stream` about topics of Kafka."""

from pathlib import Path
from typing import Any

import click

from adabypass.cli.options import ParamType

MAX_PARTITIONS = 65_536


class Partitions(ParamType):
    """Numbers of partitions, and ranges of them, with commas between them."""

    name = "partitions"

    def convert(self, value: Any, param: Any, ctx: Any) -> tuple[int, ...]:
        if isinstance(value, tuple):
            return value
        found: set[int] = set()
        for part in value.split(","):
            first, dash, last = part.partition("-")
            numbers = (first, last if dash else first)
            if not all(each.strip().isdecimal() and int(each) < MAX_PARTITIONS for each in numbers):
                self.fail(f"{value!r} are no numbers of partitions; write them as in 0,1 or 0-3.", param, ctx)
            found.update(range(int(numbers[0]), int(numbers[1]) + 1))
        if not found:
            self.fail(f"{value!r} names no partition; write them as in 0,1 or 0-3.", param, ctx)
        return tuple(sorted(found))


KAFKA_OPTIONS = (
    click.option(
        "--source", metavar="URL",
        help="Read rows from this topic of Kafka instead: kafka://host:9092/topic. A message is one JSON "
        "object. With --state, reading goes on where it was; otherwise it begins with the oldest message. "
        "Needs adabypass[kafka].",
    ),
    click.option(
        "--sink", metavar="URL",
        help="Write answers to this topic of Kafka, in transactions: a crash neither loses nor repeats one. "
        "Its consumers must read committed messages only (isolation.level=read_committed). Needs --state.",
    ),
    click.option(
        "--group", metavar="NAME",
        help="Name of the consumer group, whose offsets follow the answers; of two processes of one group and "
        "partitions, the older one is stopped.  [default: adabypass-TOPIC-TOPIC]",
    ),
    click.option(
        "--partitions", type=Partitions(), metavar="N,N-N,...",
        help="Read these partitions of the topic. To use several processors, start a process with a folder of "
        "its own for each part.  [default: all]",
    ),
    click.option(
        "--kafka-config", type=click.Path(path_type=Path, exists=True, dir_okay=False), metavar="FILE",
        help="Settings of Kafka's client (librdkafka), one NAME=VALUE a line: TLS, user and password.",
    ),
    click.option(
        "--stop-at-end", is_flag=True,
        help="Stop when all messages that the topic holds are answered, instead of waiting for more.",
    ),
)  # fmt: skip
"""Which topics are read and written."""
