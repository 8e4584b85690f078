"""What the library is used for, what one would take instead, and where the numbers stand."""

from pathlib import Path
from typing import NamedTuple

from benchmarks.overview.pages import Table, anchor, number, tables


class Column(NamedTuple):
    """A column of a table of the overview."""

    title: str
    source: str
    """Its name on the page that it comes from."""
    target: float | None = 0.0
    """The best is nearest to it; None where none is best."""
    page: str = ""
    """A page and heading other than those of the use, with # between them."""
    names: dict[str, str] = {}  # noqa: RUF012  (a constant)
    """What rivals are called there, where they are called otherwise."""


class Use(NamedTuple):
    """One table of the overview."""

    title: str
    text: str
    page: str
    heading: str
    """Of the table on that page."""
    ours: str
    columns: tuple[Column, ...]
    rivals: tuple[str, ...] = ()
    """Which rows are shown; all if none is named."""
    loss: str = "CRPS"
    """Column that the picture shows, and rows are ordered by."""


SPEED_NAMES = {"River Bayesian 0.99": "River BayesianLinearRegression"}
HELD = Column("held by 90 %", "held by 90 %", 90.0)
SECONDS = Column("seconds", "seconds", None)
USES = (
    Use(
        "Forecasting many steps ahead",
        "Series of the M3 and M4 competitions, yearly to hourly, on which constants of `Forecaster()` were chosen. "
        "All are given the season's period.",
        "forecasting.md",
        "Series of the M3 and M4 competitions",
        "Forecaster()",
        (Column("CRPS", "CRPS"), Column("MASE", "MASE"), HELD, SECONDS),
        ("Forecaster()", "median of these four", "AutoETS", "AutoARIMA", "AutoTheta", "AutoCES", "FLAIR",
         "SeasonalNaive"),
    ),
    Use(
        "Beside foundation models",
        "Four tasks of the Chronos zero-shot benchmark; WQL and MASE over the seasonal naive forecast's. "
        "Theirs are published scores. What `Forecaster()` does at gross errors was chosen with a look at these series.",
        "forecasting.md",
        "Four tasks of the Chronos zero-shot benchmark",
        "Forecaster()",
        (Column("WQL", "WQL"), Column("MASE", "MASE")),
        ("Forecaster()", "tirex", "timesfm-2.0", "chronos_bolt_base", "moirai_large", "auto_theta", "seasonal_naive"),
        "WQL",
    ),
    Use(
        "Learning online",
        "One step ahead on all streams, before each observation is learned. CRPS over AutoBypass', RMSE over the best "
        "linear rival's; *held after a shock* is of the 20 observations after one far outside. Time is of a forecast "
        "and an update with 5 features, row by row.",
        "accuracy.md",
        "All streams",
        "AutoBypass",
        (
            Column("CRPS", "CRPS"),
            Column("90 % interval misses 90 % by", "90 % interval misses 90 % by"),
            Column("RMSE", "RMSE"),
            Column("worst RMSE", "worst"),
            Column("held after a shock", "held after a shock", 90.0),
            Column("µs a row", "5 features", None, "speed.md#Row by row", SPEED_NAMES),
        ),
    ),
    Use(
        "Two seasons at once: sub-daily series",
        "A day ahead on half-hourly, hourly and 5-minute series with a day and a week.",
        "forecasting.md",
        "Two seasons at once: half-hourly, hourly and 5-minute series",
        "Forecaster()",
        (Column("CRPS", "CRPS"), Column("MASE", "MASE"), HELD, SECONDS),
    ),
    Use(
        "Counts and intermittent demand",
        "Flights by day and simulated demand. *Loss* is that of the quantile to be kept in stock, *suffices* how often "
        "it does. Losses are in units of the mean, so rare demand weighs most; the page has each kind of series apart.",
        "forecasting.md",
        "Counts and intermittent demand",
        "Forecaster()",
        (
            Column("CRPS", "CRPS"),
            Column("RMSE of the mean", "RMSE"),
            Column("loss at 99 %", "loss at 99 %"),
            Column("suffices, of 99 %", "suffices, of 99 %", 99.0),
            SECONDS,
        ),
    ),
)  # fmt: skip


def rows(use: Use, docs: Path) -> Table:
    """Return the cells of a use's table, the best first; nothing where its page has no such table."""
    chosen: Table = {}
    for full, cells in tables(docs / use.page).get(use.heading, {}).items():
        name = full.split(" (without")[0]
        if (not use.rivals or name in use.rivals) and number(cells.get(use.loss, "")) is not None:
            chosen[full] = {column.title: _cell(column, name, cells, docs) for column in use.columns}
    return {name: chosen[name] for name in sorted(chosen, key=lambda name: number(chosen[name][use.loss]) or 0.0)}


def _cell(column: Column, name: str, cells: dict[str, str], docs: Path) -> str:
    if not column.page:
        return cells.get(column.source, "").split(" of ")[0]
    page, heading = column.page.split("#")
    found = tables(docs / page).get(heading, {}).get(column.names.get(name, name), {})
    return found.get(column.source, "").split(", ")[0]


def link(use: Use) -> str:
    """Return where the numbers of a use come from."""
    parts = [f"[{use.page}, {use.heading}]({use.page}#{anchor(use.heading)})"]
    for column in use.columns:
        if column.page:
            page, heading = column.page.split("#")
            parts.append(f"{column.title}: [{page}, {heading}]({page}#{anchor(heading)})")
    return "; ".join(parts)
