"""Options that several commands share, and what they amount to."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from adabypass.forecasting import Forecaster
from adabypass.panel.columns import Columns
from adabypass.panel.pipeline import Failure
from adabypass.regressors import (
    AdaBypass,
    AutoBypass,
    Bypass,
    PassiveAggressive,
    Regressor,
    SequentialKalman,
)
from adabypass.tables.reading import ending

MODELS: dict[str, Callable[[], Regressor]] = {
    "auto": AutoBypass,
    "ada": AdaBypass,
    "bypass": Bypass,
    "skf": lambda: SequentialKalman(adapt_noise=True),
    "pa": PassiveAggressive,
}
FILL_MISSING = "choose --missing mean or --missing last"
"""What the commands advise about a missing exogenous value."""
MODEL_HELP = "auto (AutoBypass), ada (ADA-BYPASS), bypass, skf (Kalman filter, noise adapted) or pa (points only)."

Command = Callable[..., Any]
if TYPE_CHECKING:  # only newer versions know it as generic
    ParamType = click.ParamType[Any]
else:
    ParamType = click.ParamType


class Names(ParamType):
    """Names with commas between them."""

    name = "names"

    def convert(self, value: Any, param: Any, ctx: Any) -> tuple[str, ...]:
        if isinstance(value, tuple):
            return value
        return tuple(name.strip() for name in value.split(",") if name.strip())


class Numbers(ParamType):
    """Whole numbers with commas between them; a single one is itself."""

    name = "numbers"

    def convert(self, value: Any, param: Any, ctx: Any) -> int | list[int]:
        if not isinstance(value, str):
            numbers: int | list[int] = value
            return numbers
        try:
            found = [int(each) for each in value.split(",")]
        except ValueError:
            self.fail(f"{value!r} is not a whole number, nor several with commas between them.", param, ctx)
        return found[0] if len(found) == 1 else found


class Level(ParamType):
    """A percentage; kept as a share."""

    name = "percent"

    def convert(self, value: Any, param: Any, ctx: Any) -> float:
        try:
            percent = float(value)
        except ValueError:
            percent = 0.0
        if not 0 < percent < 100:
            self.fail(f"{value!r} is not a percentage above 0 and below 100, such as 90.", param, ctx)
        return percent / 100


def column_options(command: Command) -> Command:
    """Add the options that say which column means what."""
    for option in reversed(
        [
            click.option("--target", default="y", show_default=True, metavar="COL", help="The column to forecast."),
            click.option("--time", metavar="COL", help='The column of times.  [default: "ds", or the rows in order]'),
            click.option("--id", "key", metavar="COL", help='Which series a row belongs to.  [default: "unique_id"]'),
            click.option("--exog", type=Names(), default="", metavar="COL,...", help="Columns that help to forecast."),
            click.option(
                "--calendar", type=Names(), default="", metavar="PERIOD,...",
                help="Cycles of the calendar to learn: hour, day, week, month, year.",
            ),
            click.option("--step", metavar="SPAN", help='Between two times, such as "10 minutes" or "month".'),
        ]
    ):  # fmt: skip
        command = option(command)
    return command


def lag_options(command: Command) -> Command:
    """Add the options that say how the series hangs on its own past."""
    for option in reversed(
        [
            click.option(
                "--lags", type=Numbers(), default=1, show_default=True, metavar="N[,N...]",
                help="So many values before, or just these.",
            ),
            click.option(
                "--seasonal-lags", type=Numbers(), metavar="N[,N...]",
                help="Further lags, such as 24 for the same hour of the day before.",
            ),
            click.option("--difference", type=click.IntRange(0, 10), default=0, help="How often to difference first."),
            click.option(
                "--missing", type=click.Choice(["raise", "mean", "last"]), default="raise", show_default=True,
                help="What to do about a blank in an exogenous column.",
            ),
        ]
    ):  # fmt: skip
        command = option(command)
    return command


def columns(target: str, time: str | None, key: str | None, exog: Any, calendar: Any, step: str | None) -> Columns:
    """Put together which columns mean what."""
    return Columns(target, time, key, tuple(exog), tuple(calendar), _step(step))


def _step(step: str | None) -> Any:
    """Take a step that looks like a number for one."""
    try:
        return None if step is None else float(step) if "." in step else int(step)
    except ValueError:
        return step


def forecaster(
    model: str, lags: Any, seasonal_lags: Any, difference: int, missing: Any, exog: tuple[str, ...]
) -> Forecaster:
    """Make the forecaster that the options describe."""
    return Forecaster(
        MODELS[model](),
        lags=lags,
        seasonal_lags=seasonal_lags,
        difference=difference,
        missing=missing,
        exog=exog or None,
    )


def check_out(out: str | None) -> None:
    """Refuse a file whose ending tells no format, before anything is computed or written."""
    if out is not None and out != "-":
        ending(out)


def report(failures: list[Failure]) -> None:
    """Print the series that were left out to standard error; if there are any, exit with code 1."""
    for failure in failures:
        click.echo(f"adabypass: left out: {failure}", err=True)
    if failures:
        click.get_current_context().exit(1)


def console() -> Console:
    """Write to standard output: in full width where it is no terminal."""
    out = Console()
    return out if out.is_terminal else Console(width=200, no_color=True, highlight=False)


@contextmanager
def progress(what: str, total: int) -> Iterator[Callable[[int], None]]:
    """Show how far the work has come, on a terminal, on standard error."""
    err = Console(stderr=True)
    bar = Progress(
        TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(),
        console=err, transient=True, disable=not err.is_terminal,
    )  # fmt: skip
    with bar:
        task = bar.add_task(what, total=total)
        yield lambda n: bar.advance(task, n)
