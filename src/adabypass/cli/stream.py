"""`adabypass stream`: a forecast before every observation, as they arrive."""

import gc
import re
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import click

from adabypass.cli import options, outputs
from adabypass.cli.grouped import GroupedCommand, grouped
from adabypass.cli.kafka_options import KAFKA_OPTIONS
from adabypass.cli.stream_answers import FIELD_NAMES, FLAG_NAMES
from adabypass.cli.stream_run import StreamRunner
from adabypass.data.reading import ending
from adabypass.forecasting import Forecaster
from adabypass.results.changes import FALSE_ALARMS, MIN_RATE
from adabypass.streaming.answers import DEFAULT_FIELDS, AnswerFormat
from adabypass.streaming.forgetting import Forgetting
from adabypass.streaming.intake import TimeRules
from adabypass.streaming.rows import Columns
from adabypass.streaming.sources import StopSignals

DEFAULT_QUANTILES = "5,25,50,75,95"
KAFKA = "kafka://"
UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9}


class Size(options.ParamType):
    """A number of bytes, such as 100MB."""

    name = "size"

    def convert(self, value: Any, param: Any, ctx: Any) -> int:
        found = re.fullmatch(r"\s*(\d{1,12})\s*([kmg]?)b?\s*", str(value).lower())
        if found is None or int(found[1]) == 0:
            self.fail(f"{value!r} is not a size above 0; write one as in 100MB.", param, ctx)
        return int(found[1]) * UNITS[found[2]]


class StreamOptions(NamedTuple):
    """The options of the command."""

    target: tuple[str, ...]
    key: tuple[str, ...]
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
    only: tuple[str, ...] | None
    horizon: int
    levels: tuple[float, ...] | None
    every_forecast: int | None
    kind: str | None
    out: str | None
    rotate: int | None
    on_bad_row: str
    bad_rows: str | None
    freq: str | None
    max_jump: str | None
    reorder_window: str | None
    stats: float | None
    metrics_file: str | None
    state: Path | None
    every: int | None
    fsync: str | None
    forget_after: str | None
    max_series: int | None
    source: str | None
    sink: str | None
    group: str | None
    partitions: tuple[int, ...] | None
    kafka_config: Path | None
    stop_at_end: bool
    columns: Columns = Columns(())
    rules: TimeRules = TimeRules()
    forgetting: Forgetting | None = None


@click.command(cls=GroupedCommand)
@grouped(
    "stream", "Input",
    click.option(
        "--target", type=options.Names(), default="y", show_default=True, metavar="COL,...",
        help="Column to forecast. With several, each is a series of its own, and the column target of answers says "
        "which.",
    ),
    click.option(
        "--id", "key", type=options.Names(), default="", metavar="COL,...",
        help="Column, or columns, that say to which series a row belongs; each series is forecast by itself.",
    ),
    click.option(
        "--time", metavar="COL",
        help="Column of times (ISO 8601, or numbers), later in every row of a series than in the one before. It is "
        "passed through to the answers; with --state it decides which rows of standard input were learned before.",
    ),
    click.option(
        "--exog", type=options.Names(), default="", metavar="COL,...",
        help="Columns of other quantities, known with the row, from which the target is forecast as well.",
    ),
    click.option(
        "--on-bad-row", type=click.Choice(["fail", "skip", "missing"]), default="fail", show_default=True,
        help="What to do about a row that cannot be read, or that is late: stop (fail), report it on standard error "
        "and go on (skip), or take a value that is no number as a missing one (missing; a row that is no row at all "
        "is skipped).",
    ),
    click.option(
        "--bad-rows", metavar="FILE",
        help="Add rows that are skipped to this file as JSON lines, each with the reason, or to a Kafka topic: "
        "kafka://host:9092/topic.",
    ),
)  # fmt: skip
@grouped(
    "stream", "Time",
    click.option(
        "--freq", metavar="SPAN",
        help='Time between two rows of a series, such as "10 minutes". The steps of a gap pass as missing values, so '
        "that a season keeps its place.  [default: the next row is the next step]",
    ),
    click.option(
        "--max-jump", metavar="SPAN",
        help="Refuse a row that is dated more than this after all others: one wrong clock must not make all later rows "
        "of its series late. Ten such rows in succession that agree are believed; the first row of a new stream is, "
        "until two rows agree on another time.",
    ),
    click.option(
        "--reorder-window", metavar="SPAN",
        help="Hold rows back until their series, or the stream since they came, is this far ahead, and learn them in "
        "order of time: rows that come a little late are sorted in. Answers come as much later.",
    ),
)  # fmt: skip
@grouped("stream", "Model", options.model_option, options.lag_options, options.period_option, options.support_option)
@grouped(
    "stream", "Answers",
    click.option(
        "--fields", type=FIELD_NAMES, metavar="NAME,...",
        help="What an answer holds: mean, sd, interval (its bounds), quantiles, log_score (log density of the value), "
        "surprise (how unlikely the value was, as a standard normal deviate), anomaly (whether it was), change (level, "
        "noise or slope, where the regime has changed).  [default: mean,sd,interval]",
    ),
    click.option(
        "--level", type=options.Level(), default=90, show_default=True, metavar="PERCENT",
        help="Probability of the interval around each forecast, in percent.",
    ),
    click.option(
        "--quantiles", type=options.Percents(), default=DEFAULT_QUANTILES, show_default=True, metavar="PERCENT,...",
        help="Which quantiles the field quantiles holds.",
    ),
    click.option(
        "--false-alarms", type=click.FloatRange(MIN_RATE, 0.5, max_open=True), default=FALSE_ALARMS,
        show_default=True, metavar="RATE", help="Maximum rate of false alarms, per row: of anomalies, and of changes.",
    ),
    click.option(
        "--only", type=FLAG_NAMES, metavar="FLAG,...",
        help="Answer only rows with one of these flags: anomaly, change. All rows are learned.",
    ),
    click.option(
        "--horizon", type=click.IntRange(0, 100_000), default=0, metavar="H",
        help="Add a forecast of the next H steps to answers: their means and the bounds of their intervals.",
    ),
    click.option(
        "--levels", type=options.Percents(), metavar="PERCENT,...",
        help="Probabilities of these intervals.  [default: that of --level]",
    ),
    click.option(
        "--every-forecast", type=click.IntRange(1), metavar="N",
        help="Rows of a series between two such forecasts.  [default: 1]",
    ),
    click.option(
        "--format", "kind", type=click.Choice(["jsonl", "csv"]),
        help="Print the answers as JSON lines or as CSV.  [default: jsonl]",
    ),
    click.option(
        "--out", metavar="FILE", callback=outputs.check_table,
        help="Write the answers to this file instead: .csv, .jsonl or .parquet. It appears when the stream has ended, "
        "and a failed run leaves an older file as it was; with --state it grows as rows are answered, and a resumed "
        "stream goes on in it (.csv and .jsonl).",
    ),
    click.option(
        "--rotate", type=Size(), metavar="SIZE",
        help="When the file of --out has this size, such as 100MB, move it to answers.000001.jsonl and so on, and "
        "begin a new one. SIGHUP does it at any time. Needs --state.",
    ),
)  # fmt: skip
@grouped(
    "stream", "State",
    click.option(
        "--state", type=click.Path(path_type=Path, file_okay=False), metavar="DIR",
        help="Keep what is learned in this folder, and go on from it when the command is started again: rows that were "
        "learned before are skipped. Without --time they are recognised by their number, so the input must be the same "
        "from its first row on.",
    ),
    click.option(
        "--every", type=click.IntRange(1), metavar="N",
        help="Rows between two checkpoints, which write the series that have changed. More rows make fewer writes and "
        "a longer start after a crash.  [default: 10000, or 10 for each series in memory if that is more]",
    ),
    click.option(
        "--fsync", type=click.Choice(["interval", "always"]),
        help="When rows that were learned are flushed to the disk: every second (interval: a killed process loses "
        "nothing, a power cut a second), or before every answer (always: a power cut loses nothing either; a flush "
        "takes milliseconds).  [default: interval; always with --sink]",
    ),
    click.option(
        "--forget-after", metavar="SPAN",
        help='Forget series that have had no row for this long, such as "30 days"; without --time, for this number of '
        "rows of the stream. Its time is the newest that two series have reached.",
    ),
    click.option(
        "--max-series", type=click.IntRange(1), metavar="N",
        help="Forget the longest idle of more series than this; a fourth more may be there in between.",
    ),
)  # fmt: skip
@grouped("stream", "Kafka", *KAFKA_OPTIONS)
@grouped(
    "stream", "Operation",
    click.option(
        "--stats", type=click.FloatRange(0.1), metavar="SECONDS",
        help="Print a line of counts to standard error now and then: rows, series, time of the processor a row, late "
        "and bad rows.",
    ),
    click.option(
        "--metrics-file", metavar="FILE",
        help="Write the same counts to this file, in the text format of Prometheus, as node_exporter's textfile "
        "collector reads it.",
    ),
)  # fmt: skip
def stream(**given: Any) -> int:
    """Forecast each row of standard input before its value is used, and print the forecast as soon as the row arrives.

    Rows are CSV with a header, or JSON lines, in which a name such as metrics.cpu leads into nested objects. For each
    row one JSON line is printed: the observed value (y), the forecast that was made before it (mean), its standard
    deviation (sd) and the bounds of its interval. They are null as long as there is too little data for a forecast. A
    blank value is a missing observation. Rows that are there together are answered together, in all processors; a row
    that comes alone is answered at once.

    To follow a file that grows: tail -n +1 -f log.csv | adabypass stream

    To survive restarts and crashes: ... | adabypass stream --time t --state model

    Alarms about many machines: ... | adabypass stream --time ts --id dc,host --target cpu,mem --only anomaly,change

    From one topic of Kafka to another, each message answered exactly once, whatever crashes:
    adabypass stream --source kafka://host:9092/rows --sink kafka://host:9092/answers --id series --state model

    SIGTERM ends the stream after the row that it works on, with all that was learned saved, and exit code 0; Ctrl-C
    likewise, with exit code 130.
    """
    choices = _checked(StreamOptions(**given))
    _check_files(choices)
    model = (choices.model, choices.lags, choices.seasonal_lags, choices.difference)
    options.check_automatic_only(*model, period=choices.period, support=choices.support)
    template = options.forecaster(*model, choices.missing, choices.exog, choices.period, choices.support)
    wanted = AnswerFormat(
        _fields(choices, template), choices.level, choices.quantiles, choices.false_alarms,
        choices.columns.keys or None, choices.time, choices.horizon, choices.levels or (), choices.every_forecast or 1,
        template.is_point,
    )  # fmt: skip
    _check_names(wanted)
    gc.freeze()  # what was imported stays: no collection need look through it again
    stop = StopSignals()
    kind = _kind(choices)
    with stop.caught():
        if choices.source is None:
            return StreamRunner(choices, template, wanted, kind, stop).run()
        from adabypass.cli.stream_kafka import KafkaStream  # noqa: PLC0415  (an extra)

        with closing(KafkaStream(choices)) as kafka:
            return StreamRunner(choices, template, wanted, kind, stop, kafka).run()


def _check_files(choices: StreamOptions) -> None:
    """Check that what is to be written can be, before the work begins."""
    if choices.out in (None, outputs.STANDARD) and choices.sink is None:
        outputs.check_stdout()
    if choices.source is None:
        outputs.check_not_input(choices.out)
    for path in (choices.bad_rows, choices.metrics_file):
        if path is not None and not path.startswith(KAFKA):
            outputs.check_writable(Path(path))


def _fields(choices: StreamOptions, template: Forecaster) -> tuple[str, ...]:
    """Return the fields of an answer; refuse those that the model does not have."""
    fields, only = choices.fields, choices.only or ()
    if fields is None:
        fields = ("mean",) if template.is_point else DEFAULT_FIELDS
    fields += tuple(flag for flag in only if flag not in fields)
    if template.is_point and fields != ("mean",):
        what = "--only has no flags" if only else "--fields can be mean, and nothing else"
        raise click.UsageError(f"this model forecasts points: {what}.")
    return fields


def _checked(choices: StreamOptions) -> StreamOptions:
    """Return the options with their defaults; refuse those that do not go together."""
    if choices.source is None:
        alone = {
            "--sink": choices.sink, "--group": choices.group, "--partitions": choices.partitions,
            "--kafka-config": choices.kafka_config, "--stop-at-end": choices.stop_at_end or None,
        }  # fmt: skip
        _check_alone(alone, "--source, the topic of Kafka from which rows are read")
    if choices.state is None:
        kept = {"--every": choices.every, "--fsync": choices.fsync}
        _check_alone(kept, "--state, the folder in which what is learned is kept")
        _check_alone({"--rotate": choices.rotate}, "--state, with which the file of --out grows")
    if choices.out in (None, outputs.STANDARD):
        _check_alone({"--rotate": choices.rotate}, "--out, the file that is rotated")
    if choices.time is None:
        alone = {"--freq": choices.freq, "--max-jump": choices.max_jump, "--reorder-window": choices.reorder_window}
        _check_alone(alone, "--time, the column of times")
    if choices.horizon == 0:
        _check_alone({"--levels": choices.levels, "--every-forecast": choices.every_forecast}, "--horizon")
    if choices.on_bad_row == "fail":
        _check_alone({"--bad-rows": choices.bad_rows}, "--on-bad-row skip or missing")
    if choices.sink is not None:
        if choices.state is None:
            raise click.UsageError("--sink needs --state, the folder that remembers which rows were answered.")
        if choices.out is not None or choices.kind == "csv":
            raise click.UsageError("--sink takes all answers, as JSON; leave out --out and --format.")
    if choices.horizon and choices.exog and choices.missing == "raise":
        raise click.UsageError(
            "--horizon forecasts steps in which the columns of --exog are not known yet; choose --missing mean or "
            "--missing last."
        )
    if not choices.target:
        raise click.UsageError("--target names no column.")
    if choices.freq is not None and choices.exog and choices.missing == "raise":
        raise click.UsageError(
            "--freq lets the steps of a gap pass, in which the columns of --exog have no values; choose --missing mean "
            "or --missing last."
        )
    columns = Columns(choices.target, choices.key, choices.time, choices.exog)
    with options.usage_errors():
        columns.check(_option)
        forgetting = Forgetting(
            options.as_freq(choices.forget_after), choices.max_series, has_time=choices.time is not None,
            name="--forget-after",
        )  # fmt: skip
        rules = TimeRules.of(
            choices.freq, choices.max_jump, choices.reorder_window, period=choices.period,
            forget_after=forgetting.span, name=_option,
        )  # fmt: skip
    return choices._replace(
        fsync=choices.fsync or ("interval" if choices.sink is None else "always"), columns=columns, rules=rules,
        forgetting=forgetting,
    )  # fmt: skip


def _check_alone(given: dict[str, Any], needed: str) -> None:
    """Refuse options that have no use without another."""
    name = next((name for name, value in given.items() if value is not None), None)
    if name is not None:
        raise click.UsageError(f"{name} needs {needed}.")


def _option(argument: str) -> str:
    """Return the option of an argument of `Stream`."""
    return "--id" if argument == "key" else f"--{argument.replace('_', '-')}"


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


def _check_names(wanted: AnswerFormat) -> None:
    """Refuse names that would occur twice in an answer."""
    header = wanted.header(is_flat=True)
    twice = next((name for name in header if header.count(name) > 1), None)
    if twice is not None:
        raise click.UsageError(f'an answer would have two columns "{twice}"; rename the column of the input.')
