"""The results as tables: times beside those of other libraries, aims met and missed, two commits compared."""

from collections.abc import Sequence

from rich.table import Table
from rich.text import Text

from benchmarks.speed.aims import AIMS, Kind, Verdict, judge
from benchmarks.speed.contestants import Contestant, Mode
from benchmarks.speed.models import MODELS
from benchmarks.speed.results import MICROSECONDS, Measurement, Results, ratios
from benchmarks.speed.suite import CONTESTANTS

OURS = "AutoBypass"


def number(value: float) -> str:
    """Return a number with three digits, without an exponent where it can be read without."""
    if value == 0:
        return "0"
    if 0.0001 <= abs(value) < 100_000:
        digits = next(n for n, least in enumerate((100, 10, 0.1, 0.01, 0)) if abs(value) >= least)
        return f"{value:,.{digits}f}"
    return f"{value:,.0f}" if 1 < abs(value) < 1e9 else f"{value:.1e}"


def peers_table(results: Results, features: Sequence[int]) -> Table:
    """Return time, ratio to AutoBypass and mean absolute error of every contestant."""
    table = Table(
        title="µs an observation, ratio to AutoBypass in the same mode, mean absolute error in the second half",
        title_style="", title_justify="left", box=None, pad_edge=False, header_style="bold", padding=(0, 1),
    )  # fmt: skip
    table.add_column("")
    for d in features:
        table.add_column(f"{d} feature{'s' if d > 1 else ''}", justify="right", no_wrap=True)
    for mode in Mode:
        table.add_row(Text(mode, style="bold italic"))
        for contestant in (each for each in CONTESTANTS if each.mode is mode):
            table.add_row(_name(contestant), *_cells(contestant, results, features))
    return table


def _name(contestant: Contestant) -> Text:
    is_ours = "Bypass" in contestant.name
    name = contestant.name
    if name in MODELS and contestant.mode is Mode.ROW_BY_ROW:
        name += " predict, update"
    return Text(f"  {name}", style="bold" if is_ours else "")


def _cells(contestant: Contestant, results: Results, features: Sequence[int]) -> list[Text]:
    cells = []
    for d in features:
        found = results.measurements.get(contestant.key(d))
        own = results.value(Contestant(OURS, contestant.mode, contestant.prepare).key(d))
        cells.append(Text("not measured", style="yellow") if found is None else _cell(found, own))
    return cells


def _cell(found: Measurement, own: float | None) -> Text:
    if found.value is None:
        return Text(found.note[:40], style="yellow")
    ratio = "" if own is None else f"{number(found.value / own)}x"
    cell = Text(f"{number(found.value):>6} {ratio:>7}")
    if found.mae is not None:
        cell.append(f" {found.mae:4.2f}", style={True: "dim", False: "bold red", None: "yellow"}[found.learned])
    return cell


def errors_note(results: Results) -> Text:
    """Return a line about those that did not learn, or could not be seen to."""
    unlearned = [key for key, found in results.measurements.items() if found.learned is False]
    short = [key for key, found in results.measurements.items() if found.mae is not None and found.learned is None]
    note = Text()
    if unlearned:
        note.append("Did not learn (error in red): " + "; ".join(unlearned) + ". ", style="red")
    else:
        note.append("Every one that had rows enough learned: its error fell below 75 % of that of the mean. ")
    if short:
        note.append(
            "Too slow for rows enough to learn from (error in yellow): " + "; ".join(short) + ".", style="yellow"
        )
    return note


def aims_table(results: Results) -> Table:
    """Return every aim: green where it is met, red where it is missed, yellow where it was not measured."""
    table = Table("aim: beside what", box=None, pad_edge=False, header_style="bold", padding=(0, 1))
    for heading in ("ours", "theirs", "reached", "aim"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("")
    for verdict in (judge(aim, results) for aim in AIMS):
        style = {True: "green", False: "red", None: "yellow"}[verdict.is_met]
        table.add_row(*_aim_cells(verdict), style=style)
    return table


def _aim_cells(verdict: Verdict) -> list[str]:
    aim, unit = verdict.aim, "" if verdict.unit == "difference" else f" {verdict.unit}"
    times = "x" if aim.kind in {Kind.FASTER, Kind.WITHIN} else ""
    sign = ">=" if aim.kind in {Kind.FASTER, Kind.AT_LEAST} else "<="
    word = {True: "met", False: "missed", None: "not measured"}[verdict.is_met]
    note = verdict.note if verdict.is_met is None and verdict.note == word else f"{word}  {verdict.note}".strip()
    return [
        aim.what,
        "" if verdict.ours is None else number(verdict.ours) + unit,
        "" if verdict.theirs is None else number(verdict.theirs) + unit,
        "" if verdict.reached is None else number(verdict.reached) + times,
        f"{sign} {number(aim.bound)}{times}",
        note,
    ]


def others_table(results: Results) -> Table:
    """Return what was measured besides: builds, matrices, the command and the library beside itself."""
    table = Table("also measured", box=None, pad_edge=False, header_style="bold", padding=(0, 1))
    table.add_column("", justify="right", no_wrap=True)
    modes = tuple(f"{mode}/" for mode in Mode)
    for key, found in results.measurements.items():
        if not key.startswith(modes):
            value = found.note if found.value is None else f"{number(found.value)} {found.unit}"
            table.add_row(key.replace("/", ", "), value)
    return table


def comparison_table(before: Results, after: Results) -> Table:
    """Return the times of two runs and their ratio; more than one is faster."""
    table = Table(MICROSECONDS, box=None, pad_edge=False, header_style="bold", padding=(0, 1))
    for heading in (before.commit, after.commit, "times faster"):
        table.add_column(heading, justify="right", no_wrap=True)
    for key, (old, new) in ratios(before.measurements, after.measurements).items():
        style = "green" if old / new > 1.1 else "red" if old / new < 1 / 1.1 else ""
        table.add_row(key.replace("/", ", "), number(old), number(new), number(old / new), style=style)
    return table
