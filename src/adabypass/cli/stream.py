"""`adabypass stream`: a forecast before every observation, as they arrive."""

import gc
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import click

from adabypass.cli import options, outputs
from adabypass.cli.kafka_options import kafka_options
from adabypass.cli.stream_input import StopSignals
from adabypass.cli.stream_loop import StreamRunner
from adabypass.cli.stream_output import DEFAULT_FIELDS, AnswerFormat, FieldNames
from adabypass.data.reading import ending
from adabypass.forecasting import Forecaster
from adabypass.results.changes import FALSE_ALARMS, MIN_RATE

DEFAULT_QUANTILES = "5,25,50,75,95"


class StreamOptions(NamedTuple):
    """The options of the command."""

    target: str
    key: str | None
    time: str | None
    exog: tuple[str, ...]
    lags: Any
    seasonal_lags: Any
    difference: int
    missing: str
    model: str
    period: int | None
    support: Any
    fields: tuple[str, ...] | None
    level: float
    quantiles: tuple[float, ...]
    false_alarms: float
    kind: str | None
    out: str | None
    on_bad_row: str
    state: Path | None
    every: int | None
    fsync: str | None
    source: str | None
    sink: str | None
    group: str | None
    partitions: tuple[int, ...] | None
    kafka_config: Path | None
    stop_at_end: bool


@click.command(short_help="Forecast rows as they arrive, on standard input or in a topic of Kafka.")
@click.option("--target", default="y", show_default=True, metavar="COL", help="Column to forecast.")
@click.option(
    "--id", "key", metavar="COL",
    help="Column that says to which series a row belongs; each series is forecast by itself.",
)  # fmt: skip
@click.option(
    "--time", metavar="COL",
    help="Column of times (ISO 8601, or numbers), later in every row of a series than in the one before. It is passed "
    "through to the answers; with --state it decides which rows of standard input were learned before.",
)  # fmt: skip
@click.option(
    "--exog", type=options.Names(), default="", metavar="COL,...",
    help="Columns of other quantities, known with the row, from which the target is forecast as well.",
)  # fmt: skip
@options.lag_options
@options.model_option
@options.period_option
@options.support_option
@click.option(
    "--fields", type=FieldNames(), metavar="NAME,...",
    help="What an answer holds: mean, sd, interval (its bounds), quantiles, log_score (log density of the value), "
    "surprise (how unlikely the value was, as a standard normal deviate), anomaly (whether it was), change (level, "
    "noise or slope, where the regime has changed).  [default: mean,sd,interval]",
)  # fmt: skip
@click.option(
    "--level", type=options.Level(), default=90, show_default=True, metavar="PERCENT",
    help="Probability of the interval around each forecast, in percent.",
)  # fmt: skip
@click.option(
    "--quantiles", type=options.Percents(), default=DEFAULT_QUANTILES, show_default=True, metavar="PERCENT,...",
    help="Which quantiles the field quantiles holds.",
)  # fmt: skip
@click.option(
    "--false-alarms", type=click.FloatRange(MIN_RATE, 0.5, max_open=True), default=FALSE_ALARMS,
    show_default=True, metavar="RATE",
    help="Maximum rate of false alarms, per row: of anomalies, and of changes.",
)  # fmt: skip
@click.option(
    "--format", "kind", type=click.Choice(["jsonl", "csv"]),
    help="Print the answers as JSON lines or as CSV.  [default: jsonl]",
)  # fmt: skip
@click.option(
    "--out", metavar="FILE", callback=outputs.check_table,
    help="Write the answers to this file instead: .csv, .jsonl or .parquet. It appears when the stream has ended, and "
    "a failed run leaves an older file as it was; with --state it grows as rows are answered, and a resumed stream "
    "goes on in it (.csv and .jsonl).",
)  # fmt: skip
@click.option(
    "--on-bad-row", type=click.Choice(["fail", "skip", "missing"]), default="fail", show_default=True,
    help="What to do about a row that cannot be read: stop (fail), report it on standard error and go on (skip), or "
    "take a value that is no number as a missing one (missing; a row that is no row at all is skipped).",
)  # fmt: skip
@click.option(
    "--state", type=click.Path(path_type=Path, file_okay=False), metavar="DIR",
    help="Keep what is learned in this folder, and go on from it when the command is started again: rows that were "
    "learned before are skipped. Without --time they are recognised by their number, so the input must be the same "
    "from its first row on.",
)  # fmt: skip
@click.option(
    "--every", type=click.IntRange(1), metavar="N",
    help="Rows between two snapshots of the state; a journal keeps those in between. More rows make fewer writes and a "
    "longer start after a crash.  [default: 10000, or 10 for each series if that is more]",
)  # fmt: skip
@click.option(
    "--fsync", type=click.Choice(["interval", "always"]),
    help="When the journal is flushed to the disk: every second (interval: a killed process loses nothing, a power cut "
    "a second), or before every answer (always: a power cut loses nothing either; a flush takes milliseconds).  "
    "[default: interval; always with --sink]",
)  # fmt: skip
@kafka_options
def stream(**given: Any) -> int:
    """Forecast each row of standard input before its value is used, and print the forecast as soon as the row arrives.

    Rows are CSV with a header, or JSON lines. For each row one JSON line is printed: the observed value (y), the
    forecast that was made before it (mean), its standard deviation (sd) and the bounds of its interval. They are null
    as long as there is too little data for a forecast. A blank value is a missing observation. Rows that are there
    together are answered together, in all processors; a row that comes alone is answered at once.

    To follow a file that grows: tail -n +1 -f log.csv | adabypass stream

    To survive restarts and crashes: ... | adabypass stream --time t --state model

    From one topic of Kafka to another, each message answered exactly once, whatever crashes:
    adabypass stream --source kafka://host:9092/rows --sink kafka://host:9092/answers --id series --state model

    SIGTERM ends the stream after the row that it works on, with all that was learned saved, and exit code 0; Ctrl-C
    likewise, with exit code 130.
    """
    choices = _checked(StreamOptions(**given))
    if choices.out in (None, outputs.STANDARD) and choices.sink is None:
        outputs.check_stdout()
    if choices.source is None:
        outputs.check_not_input(choices.out)
    options.check_automatic_only(
        choices.model, choices.lags, choices.seasonal_lags, choices.difference, period=choices.period,
        support=choices.support,
    )  # fmt: skip
    template = options.forecaster(
        choices.model,
        choices.lags,
        choices.seasonal_lags,
        choices.difference,
        choices.missing,
        choices.exog,
        choices.period,
        choices.support,
    )
    wanted = AnswerFormat(
        _fields(choices.fields, template), choices.level, choices.quantiles, choices.false_alarms, choices.key,
        choices.time,
    )  # fmt: skip
    _check_columns(choices, wanted)
    gc.freeze()  # what was imported stays: no collection need look through it again
    stop = StopSignals()
    kind = _kind(choices)
    with stop.caught():
        if choices.source is None:
            return StreamRunner(choices, template, wanted, kind, stop).run()
        from adabypass.cli.stream_kafka import KafkaStream  # noqa: PLC0415  (an extra)

        with closing(KafkaStream(choices)) as kafka:
            return StreamRunner(choices, template, wanted, kind, stop, kafka).run()


def _fields(fields: tuple[str, ...] | None, template: Forecaster) -> tuple[str, ...]:
    """Return the fields of an answer; refuse those that the model does not have."""
    if fields is None:
        return ("mean",) if template.is_point else DEFAULT_FIELDS
    if template.is_point and fields != ("mean",):
        raise click.UsageError("this model forecasts points: --fields can be mean, and nothing else.")
    return fields


def _checked(choices: StreamOptions) -> StreamOptions:
    """Return the options with their defaults; refuse those that do not go together."""
    if choices.source is None:
        alone = {
            "--sink": choices.sink, "--group": choices.group, "--partitions": choices.partitions,
            "--kafka-config": choices.kafka_config, "--stop-at-end": choices.stop_at_end or None,
        }  # fmt: skip
        given = next((name for name, value in alone.items() if value is not None), None)
        if given is not None:
            raise click.UsageError(f"{given} needs --source, the topic of Kafka from which rows are read.")
    if choices.sink is not None:
        if choices.state is None:
            raise click.UsageError("--sink needs --state, the folder that remembers which rows were answered.")
        if choices.out is not None or choices.kind == "csv":
            raise click.UsageError("--sink takes all answers, as JSON; leave out --out and --format.")
    return choices._replace(fsync=choices.fsync or ("interval" if choices.sink is None else "always"))


def _kind(choices: StreamOptions) -> str:
    """Return the format of the answers."""
    if choices.out in (None, outputs.STANDARD):
        return choices.kind or "jsonl"
    kind = ending(str(choices.out)).removeprefix(".")
    if kind not in ("csv", "jsonl", "parquet") or str(choices.out).endswith(".gz"):
        raise click.UsageError(f"--out {choices.out}: answers go to a file that ends in .csv, .jsonl or .parquet.")
    if choices.kind not in (None, kind):
        raise click.UsageError(f"--format {choices.kind} does not fit --out {choices.out}; leave one of them out.")
    if kind == "parquet" and choices.state is not None:
        raise click.UsageError("a Parquet file cannot grow: with --state, let --out be a .csv or .jsonl file.")
    return kind


def _check_columns(choices: StreamOptions, wanted: AnswerFormat) -> None:
    """Refuse names that would occur twice in an answer."""
    header = wanted.header()
    twice = next((name for name in header if header.count(name) > 1), None)
    if twice is not None:
        raise click.UsageError(f'an answer would have two columns "{twice}"; rename the column of the input.')
    if choices.every is not None and choices.state is None:
        raise click.UsageError("--every needs --state, the folder in which snapshots are kept.")
