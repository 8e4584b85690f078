"""Run every rival over every stream: `make bench-accuracy`. Writes a Markdown table and a picture."""

import time
import warnings
from itertools import chain
from pathlib import Path

import click
import numpy as np
from matplotlib.figure import Figure
from rich.progress import Progress

from adabypass.validation import Floats
from benchmarks.accuracy import summary
from benchmarks.accuracy.records import LEVELS, WARM_UP, Record
from benchmarks.accuracy.rivals import RIVALS
from benchmarks.accuracy.streams import Stream, real, simulated, simulated_noise
from benchmarks.accuracy.summary import Counts

Row = dict[str, float]


def score(stream: Stream, record: Record) -> Row:
    """Score what a rival said from the 21st observation on."""
    seen = np.flatnonzero(~np.isnan(stream.y[WARM_UP:])) + WARM_UP
    y, error, median_error = stream.y[seen], (stream.y - record.mean)[seen], (stream.y - record.median)[seen]
    row = {
        "RMSE": float(np.sqrt(np.mean(error**2))),
        "RMSE of median": float(np.sqrt(np.mean(median_error**2))),
        "MAE": float(np.mean(np.abs(error))),
    }
    if record.log_score is not None and record.crps is not None:
        row |= {"log score": float(record.log_score[seen].sum()), "CRPS": float(record.crps[seen].mean())}
    for level in LEVELS:
        if level in record.intervals:
            low, high = (bound[seen] for bound in record.intervals[level])
            row[f"coverage {level:.0%}"] = float(np.mean((low <= y) & (y <= high)))
            row[f"width {level:.0%}"] = float(np.mean(high - low))
    return row


N_COLOURS = 10
"""Of Matplotlib's cycle, after which markers change."""
LINEAR = ("AdaBypass", "SequentialKalman", "River Bayesian", "River Bayesian 0.99", "River Bayesian 0.9", "Viking")
"""Linear rivals that look at nothing but the past."""


def markdown(
    results: dict[str, dict[str, Row]], counts: dict[str, dict[str, Counts]], streams: dict[str, Stream]
) -> str:
    """Write a summary, then one table a stream, the best log score first."""
    columns = ["log score", "CRPS", *(f"{kind} {level:.0%}" for level in LEVELS for kind in ("coverage", "width"))]
    columns += ["RMSE", "RMSE of median", "MAE", "seconds"]
    parts = [
        "# Accuracy\n\nForecasts one step ahead, scored from the 21st on. Rivals marked *cheats* were fitted to the "
        "whole stream before they forecast it; where that fit did not converge (GARCH-t on some price levels), its "
        "scores stand as they came out. River's Bayesian regression, at three smoothings, has on each stream the noise "
        "precision (of 1, 10, 100 and 1000, in units of the first observations) that scores best in hindsight; nan is "
        "where its own arithmetic failed at all four. PyBATS and PyDLM have the best of five discount factors in "
        "hindsight; awen-dlmax averages models of each pair of them, for weights and noise, and forgets at the best of "
        "three rates in hindsight, with a least share of 1e-8, for it scored worse with its own 0.001. Viking is left "
        "out of streams that have gaps or more than 2,500 observations, PyBATS and PyDLM of those with more than "
        "15,000.\n",
        f"\n## All streams\n\n{summary.TEXT}\n\n"
        + summary.table(results, counts, [*LINEAR, "SGD pa1, conformal"])
        + f"\n\n{summary.absurd_line(counts, streams)}\n",
    ]
    for name, rows in results.items():
        parts.append(f"\n## {name}, {len(streams[name].y):,} observations\n")
        parts.append("| | " + " | ".join(columns) + " |\n|---|" + "---:|" * len(columns))
        for rival, row in sorted(rows.items(), key=lambda item: -item[1].get("log score", -np.inf)):
            cells = (_cell(column, row.get(column)) for column in columns)
            parts.append(f"| {rival} | " + " | ".join(cells) + " |")
        parts[-1] += "\n"
    return "\n".join(parts)


def _cell(column: str, value: float | None) -> str:
    if value is None:
        return ""
    if column.startswith("coverage"):
        return f"{value:.1%}"
    return f"{value:,.1f}" if column in ("log score", "seconds") else f"{value:.4g}"


def picture(results: dict[str, dict[str, Row]], streams: dict[str, Stream], path: Path) -> None:
    """Draw how far each rival stays behind AutoBypass, and how many observations its 90 % interval holds."""
    names = list(results)[::-1]
    figure = Figure(figsize=(12, 0.34 * len(names) + 1.8), layout="constrained")
    behind, coverage = figure.subplots(1, 2, sharey=True, width_ratios=[3, 2])
    for index, rival in enumerate(RIVALS):
        marker = "x" if rival.is_cheater else "o" if index < N_COLOURS else "s"
        style = {"marker": marker, "color": f"C{index % N_COLOURS}", "linestyle": "", "markersize": 6}
        gaps, held, at = [], [], []
        for height, name in enumerate(names):
            row = results[name].get(rival.name, {})
            gap = (row.get("log score", np.nan) - results[name]["AutoBypass"]["log score"]) / len(streams[name].y)
            gaps.append(gap)
            held.append(100 * row.get("coverage 90%", np.nan))
            at.append(height)
        if rival.name == "AutoBypass":
            style |= {"color": "black", "markersize": 8, "zorder": 5}
        behind.plot(np.maximum(gaps, -1.0), at, **style)
        coverage.plot(np.maximum(held, 60.0), at, label=rival.name, **style)
    behind.set_yticks(range(len(names)), names)
    behind.axvline(0, color="0.6", linewidth=0.8)
    behind.set(
        xlim=(-1.05, 0.25),
        xlabel="log score less that of AutoBypass, nats (-1 or less at the edge)",
    )
    coverage.axvspan(88.5, 91.5, color="0.9", zorder=0)
    coverage.set(xlim=(59, 101), xlabel="held by the 90 % interval, % (60 or fewer at the edge)")
    for ax in (behind, coverage):
        ax.grid(axis="y", color="0.93")
        ax.spines[["top", "right"]].set_visible(False)
    figure.legend(loc="outside upper center", ncols=6, frameon=False, fontsize=9)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=130)


def truth(stream: Stream, log_score: Floats) -> Row:
    """Score the truth that a simulation knows."""
    return {"log score": float(log_score[WARM_UP:].sum())}


@click.command()
@click.option("--prices", type=click.Path(exists=True, path_type=Path), help="CSV with the prices of GLD and GDX.")
@click.option("--out", type=click.Path(path_type=Path), default=Path("build/accuracy"), show_default=True)
@click.option("--only", help="Run only the streams whose name contains this.")
@click.option("--docs", is_flag=True, help="Write docs/accuracy.md and its picture as well.")
def main(prices: Path | None, out: Path, only: str | None, docs: bool) -> None:
    """Compare AutoBypass with its rivals on every stream."""
    warnings.simplefilter("ignore")  # of the rivals: they warn of data that this benchmark is about
    given = chain(real(prices), simulated(), simulated_noise())
    streams = {s.name: s for s in given if only is None or only in s.name}
    results: dict[str, dict[str, Row]] = {}
    counts: dict[str, dict[str, Counts]] = {}
    with Progress() as progress:
        task = progress.add_task("streams", total=len(streams) * len(RIVALS))
        for stream in streams.values():
            rows: dict[str, Row] = {}
            counted: dict[str, Counts] = {}
            shocked = np.zeros(len(stream.y), dtype=np.bool_)
            for rival in RIVALS:
                progress.update(task, description=f"{stream.name}: {rival.name}")
                start = time.perf_counter()
                record = rival.run(stream)
                if record is not None:
                    rows[rival.name] = score(stream, record) | {"seconds": time.perf_counter() - start}
                    shocked = summary.after_shocks(stream, record) if rival is RIVALS[0] else shocked
                    counted[rival.name] = summary.count(stream, record, shocked)
                progress.advance(task)
            if stream.truth_log_score is not None:
                rows["the truth (cheats)"] = truth(stream, stream.truth_log_score)
            results[stream.name], counts[stream.name] = rows, counted
    text = markdown(results, counts, streams)
    out.parent.mkdir(parents=True, exist_ok=True)
    out.with_suffix(".md").write_text(text, encoding="utf-8")
    picture(results, streams, out.with_suffix(".png"))
    if docs:
        Path("docs/accuracy.md").write_text(text, encoding="utf-8")
        picture(results, streams, Path("docs/images/accuracy.png"))
    click.echo(f"The tables are in {out.with_suffix('.md')}, the picture in {out.with_suffix('.png')}")


if __name__ == "__main__":
    main()
