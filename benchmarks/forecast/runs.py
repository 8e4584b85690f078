"""Run rivals over problems, with what they said before kept, and score them."""

from collections.abc import Callable, Iterator, Sequence

from rich.progress import Progress

from benchmarks.forecast.cache import Cache
from benchmarks.forecast.contestants import COMBINED, MEDIAN
from benchmarks.forecast.measures import Outlook, score
from benchmarks.forecast.problems import Problem
from benchmarks.forecast.rivals import Rival, median_of
from benchmarks.forecast.summary import Scores

Score = Callable[[Problem, Outlook], dict[str, float]]


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


def measure(given: Sequence[Problem], rivals: Sequence[Rival], cache: Cache, score: Score = score) -> Scores:
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
