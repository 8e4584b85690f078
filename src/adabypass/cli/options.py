"""Options that several commands share, and the objects they describe."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import inf
from typing import TYPE_CHECKING, Any

import click

from adabypass.cli import terminal
from adabypass.errors import ParameterError
from adabypass.forecasting import Baseline, Drift, Forecaster, Naive, SeasonalNaive
from adabypass.panel.batch import Failure
from adabypass.panel.columns import Columns
from adabypass.regressors import MODELS

BASELINES: dict[str, type[Baseline]] = {"naive": Naive, "drift": Drift, "snaive": SeasonalNaive}
AUTO = "auto"
LAG = "lag"
"""The light model: AutoBypass on lag 1."""
MODEL_NAMES = (*MODELS, LAG)
BASELINE_HELP = (
    "Baselines: naive repeats the last value, snaive that of a period before, drift adds the mean change so far."
)
FILL_MISSING = "choose --missing mean or --missing last"
"""What the commands advise about a missing exogenous value."""
KEEP_LAST = "pass --missing last"
"""How they advise to agree with what is done about absent rows."""
MODEL_HELP = (
    "auto: level, trend, season and lags, weighed by evidence, or AutoBypass on the lags that are given: needs no "
    "tuning; lag: AutoBypass on the last value, which takes a tenth of the time and of the memory; "
    + "; ".join(f"{name}: {model.description}" for name, model in MODELS.items() if name != AUTO)
    + "."
)

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


class Percents(ParamType):
    """Probabilities in percent with commas between them, kept as numbers between 0 and 1."""

    name = "percents"

    def convert(self, value: Any, param: Any, ctx: Any) -> tuple[float, ...]:
        if isinstance(value, tuple):
            return value
        try:
            percents = sorted({float(each) for each in value.split(",")})
        except ValueError:
            percents = [0.0]
        if 0.0 < percents[-1] < 1.0:
            below = "is below" if len(percents) == 1 else "are all below"
            shares = ",".join(f"{100 * each:g}" for each in percents)
            self.fail(f"{value!r} {below} one percent; quantiles are in percent: pass {shares}.", param, ctx)
        if not all(0.0 < each < 100.0 for each in percents):
            self.fail(f"{value!r} is not a list of percentages above 0 and below 100: pass 5,50,95, say.", param, ctx)
        return tuple(each / 100.0 for each in percents)


class Support(ParamType):
    """Bounds of every forecast: "positive", or two numbers with a comma between them, one of which may be left out."""

    name = "support"

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        if not isinstance(value, str) or value == "positive":
            return value
        try:
            low, high = (float(each) if each.strip() else None for each in value.split(","))
        except ValueError:
            self.fail(
                f"{value!r} is neither positive nor two bounds such as 0,100 (or 0, for no upper one).", param, ctx
            )
        return (-inf if low is None else low, inf if high is None else high)


class Level(ParamType):
    """The probability of an interval: given in percent, kept as a number between 0 and 1."""

    name = "percent"

    def convert(self, value: Any, param: Any, ctx: Any) -> float:
        try:
            percent = float(value)
        except ValueError:
            percent = 0.0
        if 0 < percent < 1:
            self.fail(f"{value!r} is less than one percent; levels are in percent: pass {100 * percent:g}.", param, ctx)
        if not 0 < percent < 100:
            self.fail(f"{value!r} is not a percentage from 1 to below 100: pass 90, say.", param, ctx)
        return percent / 100


class Separator(ParamType):
    """The character between two cells of CSV."""

    name = "character"

    def convert(self, value: Any, param: Any, ctx: Any) -> str:
        sep = "\t" if value in ("tab", r"\t") else str(value)
        if len(sep) != 1 or sep in '"\r\n':
            self.fail(f"{value!r} is not one character: pass ';' or tab, say.", param, ctx)
        return sep


file_argument = click.argument("file", type=click.Path(allow_dash=True, dir_okay=False))

horizon_option = click.option(
    "--horizon", type=click.IntRange(1, 100_000), default=1, show_default=True, metavar="N",
    help="How many steps ahead to forecast.",
)  # fmt: skip

missing_option = click.option(
    "--missing", type=click.Choice(["raise", "mean", "last"]), default="raise", show_default=True,
    help="What to do about a blank cell in a column of --exog: stop with an error (raise), or fill it with the mean of "
    "the cells before (mean) or the last one (last).",
)  # fmt: skip
file_missing_option = click.option(
    "--missing", type=click.Choice(["raise", "mean", "last"]),
    help="What to do about a missing value in a column of --exog: stop with an error (raise), or fill it with the mean "
    "of the cells before (mean) or the last one (last).  [default: raise where a cell is blank; where a row is absent, "
    "last, with a message that counts such rows]",
)  # fmt: skip
support_option = click.option(
    "--support", type=Support(), metavar="LOW,HIGH",
    help="Bounds that no forecast of the model auto without lags leaves: positive, 0,100, or 0, for no upper bound.",
)  # fmt: skip
model_option = click.option("--model", type=click.Choice(MODEL_NAMES), default=AUTO, show_default=True, help=MODEL_HELP)
model_or_baseline_option = click.option(
    "--model", type=click.Choice([*MODEL_NAMES, *BASELINES]), default=AUTO, show_default=True,
    help=f"{MODEL_HELP} {BASELINE_HELP}",
)  # fmt: skip
period_option = click.option(
    "--period", type=click.IntRange(1, 100_000), metavar="N",
    help="Steps after which the season comes again, for auto without lags and for snaive: 12 in monthly data.  "
    "[default: read off the times, or found in the series]",
)  # fmt: skip


def csv_options(command: Command) -> Command:
    """Add the options that say how numbers and cells are written in a CSV file: `read_table` takes them."""
    for option in reversed(
        [
            click.option(
                "--sep", type=Separator(), metavar="CHARACTER",
                help="Character between two cells of CSV, such as ';' or tab.  [default: a comma; a tab in .tsv]",
            ),
            click.option(
                "--decimal", type=click.Choice([".", ","]), default=".", show_default=True,
                help="Decimal sign of numbers that are written as text.",
            ),
        ]
    ):  # fmt: skip
        command = option(command)
    return command


def column_options(command: Command) -> Command:
    """Add the options that name the columns of the file."""
    for option in reversed(
        [
            click.option("--target", default="y", show_default=True, metavar="COL", help="Column to forecast."),
            click.option(
                "--time", metavar="COL",
                help="Column of times: dates, times or whole numbers, increasing.  [default: ds if there is such a "
                "column, otherwise the rows are in the order of time]",
            ),
            click.option(
                "--id", "key", metavar="COL",
                help="Column that says to which series a row belongs; each series is forecast by itself.  [default: "
                "unique_id if there is such a column, otherwise all rows are one series]",
            ),
            click.option(
                "--exog", type=Names(), default="", metavar="COL,...",
                help="Columns of other quantities from which the target is forecast as well, such as a price or the "
                "weather. Their values at the steps ahead must be in the file, in rows with a blank target.",
            ),
            click.option(
                "--calendar", type=Names(), default="", metavar="PERIOD,...",
                help="Cycles of the calendar that the target may follow: hour, day, week, month, year; and the public "
                "holidays of a country or a part of it: holidays:DE, holidays:US-CA.",
            ),
            click.option(
                "--freq", metavar="SPAN",
                help='Time between two rows, such as "10 minutes", "day" or "month".  [default: the most common one]',
            ),
        ]
    ):  # fmt: skip
        command = option(command)
    return command


def lag_options(
    command: Command,
    default: str = "level, trend, season and lags, weighed by evidence",
    missing: Any = missing_option,
) -> Command:
    """Add the options that say from which of its own past values a series is forecast."""
    for option in reversed(
        [
            click.option(
                "--lags", type=Numbers(), metavar="N[,N...]",
                help="Forecast from the last N values of the target; with commas, from the values exactly that many "
                f"steps back.  [default: {default}]",
            ),
            click.option(
                "--seasonal-lags", type=Numbers(), metavar="N[,N...]",
                help="Forecast also from the values this many steps back: 24 is the same hour of the day before in "
                "hourly data.",
            ),
            click.option(
                "--difference", type=click.IntRange(0, 10), default=0, show_default=True, metavar="N",
                help="Forecast changes from step to step instead of values; 2 for changes of changes.",
            ),
            missing,
        ]
    ):  # fmt: skip
        command = option(command)
    return command


def file_lag_options(command: Command) -> Command:
    """Add these options to a command that reads a file, whose rows may be absent."""
    return lag_options(command, missing=file_missing_option)


@contextmanager
def usage_errors() -> Iterator[None]:
    """Raise errors about arguments, which are options here, as those of the command line."""
    try:
        yield
    except ParameterError as error:
        raise click.UsageError(str(error)) from error


def columns(
    target: str, time: str | None, key: str | None, exog: Any, calendar: Any, freq: str | None, missing: Any
) -> Columns:
    """Return which columns mean what."""
    return Columns(target, time, key, tuple(exog), tuple(calendar), as_freq(freq), missing)


def as_freq(freq: str | None) -> Any:
    """Convert a frequency to a number, if it is one; keep text such as "month"."""
    try:
        return None if freq is None else float(freq) if "." in freq else int(freq)
    except ValueError:
        return freq


def forecaster(
    model: str, lags: Any, seasonal_lags: Any, difference: int, missing: Any, exog: tuple[str, ...],
    period: int | None = None, support: Any = None,
) -> Forecaster:  # fmt: skip
    """Return the forecaster that the options describe: without a choice of model and lags, the automatic one.

    Only that one has a use for `period` and `support`.
    """
    missing = missing or "raise"
    if is_automatic(model, lags, seasonal_lags, difference):
        return Forecaster(missing=missing, exog=exog or None, period=period, support=support)
    return Forecaster(
        MODELS[AUTO if model == LAG else model].make(),
        lags=1 if lags is None else lags,
        seasonal_lags=seasonal_lags,
        difference=difference,
        missing=missing,
        exog=exog or None,
    )


def is_automatic(model: str, lags: Any, seasonal_lags: Any, difference: int) -> bool:
    """Return whether these options choose neither a model nor lags."""
    return model == AUTO and lags is None and seasonal_lags is None and difference == 0


def check_automatic_only(model: str, lags: Any, seasonal_lags: Any, difference: int, **given: Any) -> None:
    """Refuse options that only the automatic forecaster has a use for, beside a model or lags."""
    for name, value in given.items():
        if value is not None and not is_automatic(model, lags, seasonal_lags, difference):
            raise click.UsageError(f"--{name} is for the model auto without lags; leave it out.")


def make_forecaster(name: str, period: int | None, make: Callable[[str], Forecaster]) -> Forecaster | Baseline:
    """Return the baseline of that name, or the forecaster that `make` makes around the model of that name."""
    if name not in BASELINES:
        return make(name)
    if name != "snaive":
        return BASELINES[name]()
    if period is None:
        raise ParameterError("snaive repeats the value of a period before; say how long it is with --period.")
    return SeasonalNaive(period)


def report(failures: list[Failure]) -> int:
    """Print the series that could not be processed to standard error; return the exit code."""
    for failure in failures:
        terminal.complain(f"left out: {failure}")
    return terminal.INCOMPLETE if failures else 0
