"""`make bench`: measure, print the tables, draw the picture, keep the results."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

import adabypass
from benchmarks.speed import page, picture, suite, tables
from benchmarks.speed.aims import FEATURES
from benchmarks.speed.builds import ROOT, check_installed
from benchmarks.speed.results import load, new_results
from benchmarks.speed.timing import NotAvailable

FOLDER = ROOT / "build" / "bench"
SECONDS_BETWEEN_LINES = 15
FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.command()
@click.option("--quick", is_flag=True, help="Measure for about a minute; times are less sure.")
@click.option("--baseline", metavar="COMMIT", help="Build this commit too, and time it beside the present state.")
@click.option(
    "--parts", default=",".join(suite.PARTS), show_default=True, metavar="NAME,...", help="Measure these parts only."
)
@click.option("--features", default=",".join(map(str, FEATURES)), show_default=True, metavar="N,...",
              help="Numbers of features at which libraries are compared.")  # fmt: skip
@click.option("--docs", is_flag=True, help="Write docs/speed.md and its picture from this run.")
@click.option("--compare", nargs=2, type=FILE, metavar="BEFORE AFTER", help="Compare two files of results instead.")
def main(
    quick: bool, baseline: str | None, parts: str, features: str, docs: bool, compare: tuple[Path, Path] | None
) -> None:
    """Measure speed beside other libraries, an older commit and BLAS, as ratios in one run."""
    console = Console(width=None if sys.stdout.isatty() else 160)
    if compare is not None:
        console.print(tables.comparison_table(*map(load, compare)))
        return
    chosen = _parts(parts)
    counts = _features(features)
    results, started = new_results(is_quick=quick), time.monotonic()
    kept = FOLDER / f"{results.commit}.json"
    with reporting() as report:
        try:
            check_installed(ROOT / "src" / "adabypass", Path(adabypass.__file__).parent)
            suite.run(
                results,
                suite.QUICK if quick else suite.FULL,
                chosen,
                counts,
                baseline,
                FOLDER,
                report,
                lambda: results.save(kept),
            )
        except NotAvailable as problem:
            raise click.ClickException(str(problem)) from problem
    if "peers" in chosen:
        console.print(tables.peers_table(results, counts))
        console.print(tables.errors_note(results), "\n")
        picture.draw(results, counts, drawn := kept.with_suffix(".png"))
        console.print(f"The picture is in {drawn.relative_to(ROOT)}.")
    console.print(tables.others_table(results), "\n")
    console.print(tables.aims_table(results), "\n")
    if docs:
        page.write(results, counts, ROOT / "docs")
    took = time.monotonic() - started
    if results.doubts:
        console.print(results.doubts, style="yellow")
    console.print(f"{results.machine}, one thread; {took:.0f} s. Results are in {kept.relative_to(ROOT)}.")


@contextmanager
def reporting() -> Iterator[suite.Report]:
    """Show what is being measured: in a terminal always the present task, elsewhere a line now and then."""
    if sys.stderr.isatty():
        columns = SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn()
        with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
            shown = progress.add_task("")
            yield lambda key: progress.update(shown, description=key.replace("/", ", "))
        return
    start = last = time.monotonic()

    def print_line(key: str) -> None:
        nonlocal last
        if time.monotonic() - last > SECONDS_BETWEEN_LINES:
            last = time.monotonic()
            print(f"{last - start:5.0f} s  {key.replace('/', ', ')}", file=sys.stderr, flush=True)

    yield print_line


def _parts(text: str) -> list[str]:
    chosen = text.split(",")
    for name in chosen:
        if name not in suite.PARTS:
            raise click.UsageError(f"there is no part {name!r}; choose from {', '.join(suite.PARTS)}.")
    return chosen


def _features(text: str) -> list[int]:
    for count in text.split(","):
        if not count.isdigit() or int(count) not in FEATURES:
            raise click.UsageError(f"{count!r} features are not measured; choose from {', '.join(map(str, FEATURES))}.")
    return sorted(map(int, text.split(",")))


if __name__ == "__main__":
    main()
