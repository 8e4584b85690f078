"""One line for each rival, over all streams: the table at the top of the page."""

from typing import NamedTuple

import numpy as np

from adabypass.validation import Floats
from benchmarks.accuracy.records import LEVELS, WARM_UP, Record
from benchmarks.accuracy.streams import Stream

Row = dict[str, float]
N_FIFTHS = 5


class Counts(NamedTuple):
    """What can be pooled over streams."""

    n_after: int
    """Observations that came right after one outside the 99 % interval,"""
    n_after_held: int
    """and those of them that the 90 % interval held."""
    n_absurd: int
    """Forecasts that left the range of all values before them by more than that range."""
    lowest_fifth: float
    """Least and largest share held by the 90 % interval, among fifths of the stream by forecast;"""
    highest_fifth: float
    """nan if it has fewer than 1,000 observations."""


def count(stream: Stream, record: Record) -> Counts:
    """Look at what a rival said from the 21st observation on, where it gives intervals."""
    seen = np.flatnonzero(~np.isnan(stream.y))
    y, mean = stream.y[seen], record.mean[seen]
    low, high = np.fmin.accumulate(y)[:-1], np.fmax.accumulate(y)[:-1]
    absurd = (mean[1:] > high + (high - low)) | (mean[1:] < low - (high - low))
    n_absurd = int(np.count_nonzero(absurd[seen[1:] >= WARM_UP]))
    if not set(LEVELS) <= set(record.intervals):
        return Counts(0, 0, n_absurd, np.nan, np.nan)
    held = {
        level: (record.intervals[level][0][seen] <= y) & (y <= record.intervals[level][1][seen]) for level in LEVELS
    }
    scored = seen >= WARM_UP
    after = np.flatnonzero(~held[0.99][:-1] & scored[:-1]) + 1
    fifths = _fifths(mean[scored], held[0.9][scored])
    return Counts(len(after), int(held[0.9][after].sum()), n_absurd, *fifths)


def _fifths(mean: Floats, held: "np.ndarray[tuple[int], np.dtype[np.bool_]]") -> tuple[float, float]:
    if len(mean) < 1000:
        return np.nan, np.nan
    order = np.argsort(mean, kind="stable")
    shares = [float(part.mean()) for part in np.array_split(held[order], N_FIFTHS)]
    return min(shares), max(shares)


def table(results: dict[str, dict[str, Row]], counts: dict[str, dict[str, Counts]], linear: list[str]) -> str:
    """Write the summary: rivals by their mean rank in log score; RMSE beside the best of the `linear` ones."""
    rivals = [
        name
        for name in next(iter(counts.values()))
        if any("log score" in rows.get(name, {}) for rows in results.values())
    ]
    ranks: dict[str, list[int]] = {name: [] for name in rivals}
    for rows in results.values():
        scored = [name for name in rivals if np.isfinite(rows.get(name, {}).get("log score", np.nan))]
        for rank, name in enumerate(sorted(scored, key=lambda name: -rows[name]["log score"]), 1):
            ranks[name].append(rank)
    lines = [
        "| | mean rank | first | 90 % interval misses 90 % by | RMSE, of the best linear rival's | worst "
        "| held after a shock | held, by fifths of the forecast | absurd means |",
        "|---|" + "---:|" * 8,
    ]
    for name in sorted(rivals, key=lambda name: np.mean(ranks[name] or [99])):
        lines.append(f"| {name} | " + " | ".join(_cells(name, results, counts, ranks[name], linear)) + " |")
    return "\n".join(lines)


def _cells(
    name: str, results: dict[str, dict[str, Row]], counts: dict[str, dict[str, Counts]], ranks: list[int],
    linear: list[str],
) -> list[str]:  # fmt: skip
    ran = {stream: rows for stream, rows in results.items() if name in rows}
    misses = [abs(rows[name]["coverage 90%"] - 0.9) for rows in ran.values() if "coverage 90%" in rows[name]]
    ratios = [
        rows[name]["RMSE"]
        / min(rows[each]["RMSE"] for each in linear if np.isfinite(rows.get(each, {}).get("RMSE", np.nan)))
        for rows in ran.values()
    ]
    ratios = [ratio for ratio in ratios if np.isfinite(ratio)]
    mine = [counts[stream][name] for stream in ran]
    n_after, held = sum(each.n_after for each in mine), sum(each.n_after_held for each in mine)
    fifths = [each for each in mine if np.isfinite(each.lowest_fifth)]
    spread = (
        f"{min(e.lowest_fifth for e in fifths):.0%} to {max(e.highest_fifth for e in fifths):.0%}" if fifths else ""
    )
    return [
        f"{np.mean(ranks):.2f}" if ranks else "", str(ranks.count(1)), f"{np.mean(misses):.1%}" if misses else "",
        f"{np.mean(ratios):.3f}" if ratios else "", f"{max(ratios):.3f}" if ratios else "",
        f"{held / n_after:.1%} of {n_after:,}" if n_after else "", spread, f"{sum(each.n_absurd for each in mine):,}",
    ]  # fmt: skip
