"""One line for each rival, over all streams: the table at the top of the page."""

from typing import NamedTuple

import numpy as np

from adabypass.validation import Floats
from benchmarks.accuracy.records import LEVELS, WARM_UP, Record
from benchmarks.accuracy.streams import Stream

Row = dict[str, float]
Booleans = np.ndarray[tuple[int], np.dtype[np.bool_]]
N_FIFTHS = 5
SHOCK = 5.0
"""Deviations from the middle of AutoBypass' 90 % interval, each that of a normal distribution with this interval,"""
N_AFTER_SHOCK = 20
"""and so many observations after one are looked at."""
NORMAL_90 = 1.6449
"""Deviations between the middle and the end of a normal distribution's 90 % interval."""
TEXT = (
    "Rank is by log score, among those who have one. *CRPS* is over that of AutoBypass on the same stream, the "
    "geometric mean over streams. *RMSE* of the mean, and of the median, are over those of the best linear rival: the "
    "mean over streams, and the worst of all. A surprise is an observation outside a rival's own 99 % interval; what "
    "its 90 % interval holds right after one is pooled over all streams. Shocks are the same for all: observations "
    f"{SHOCK:g} deviations or more from the middle of AutoBypass' 90 % interval (those of a normal distribution with "
    f"this interval); what 90 % intervals hold of the {N_AFTER_SHOCK} observations after each is pooled over all "
    "streams. Those among them that are shocks again count against AutoBypass by construction. Fifths of a stream are "
    "by the forecast's mean, for streams of 1,000 observations or more: the lowest and the highest share held in any. "
    "A mean is absurd if it leaves the range of all values so far by more than that range."
)


class Counts(NamedTuple):
    """What can be pooled over streams."""

    n_after: int
    """Observations that came right after one outside the 99 % interval,"""
    n_after_held: int
    """and those of them that the 90 % interval held."""
    n_shocked: int
    """Observations that came soon after a shock,"""
    n_shocked_held: int
    """and those of them that the 90 % interval held."""
    n_absurd: int
    """Forecasts that left the range of all values before them by more than that range."""
    lowest_fifth: float
    """Least and largest share held by the 90 % interval, among fifths of the stream by forecast;"""
    highest_fifth: float
    """nan if it has fewer than 1,000 observations."""


def after_shocks(stream: Stream, record: Record) -> Booleans:
    """Return which observations come soon after one that is far from this record's intervals."""
    low, high = record.intervals[0.9]
    seen = np.flatnonzero(~np.isnan(stream.y))
    y, middle, deviation = stream.y[seen], (low + high)[seen] / 2, (high - low)[seen] / 2 / NORMAL_90
    far = (np.abs(y - middle) >= SHOCK * deviation) & (seen >= WARM_UP)
    since = np.arange(len(seen)) - np.maximum.accumulate(np.where(far, np.arange(len(seen)), -len(seen)))
    after = np.zeros(len(seen), dtype=np.bool_)
    after[1:] = since[:-1] < N_AFTER_SHOCK
    found = np.zeros(len(stream.y), dtype=np.bool_)
    found[seen[after]] = True
    return found


def count(stream: Stream, record: Record, shocked: Booleans) -> Counts:
    """Look at what a rival said from the 21st observation on, where it gives intervals."""
    seen = np.flatnonzero(~np.isnan(stream.y))
    y, mean = stream.y[seen], record.mean[seen]
    low, high = np.fmin.accumulate(y)[:-1], np.fmax.accumulate(y)[:-1]
    absurd = (mean[1:] > high + (high - low)) | (mean[1:] < low - (high - low))
    n_absurd = int(np.count_nonzero(absurd[seen[1:] >= WARM_UP]))
    if not set(LEVELS) <= set(record.intervals):
        return Counts(0, 0, 0, 0, n_absurd, np.nan, np.nan)
    held = {
        level: (record.intervals[level][0][seen] <= y) & (y <= record.intervals[level][1][seen]) for level in LEVELS
    }
    scored = seen >= WARM_UP
    after = np.flatnonzero(~held[0.99][:-1] & scored[:-1]) + 1
    soon = held[0.9][shocked[seen]]
    fifths = _fifths(mean[scored], held[0.9][scored])
    return Counts(len(after), int(held[0.9][after].sum()), len(soon), int(soon.sum()), n_absurd, *fifths)


def _fifths(mean: Floats, held: Booleans) -> tuple[float, float]:
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
        "| | mean rank | first | CRPS | 90 % interval misses 90 % by | RMSE | worst | RMSE of median "
        "| held after a surprise | held after a shock | held, by fifths of the forecast | absurd means |",
        "|---|" + "---:|" * 11,
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
    ratios, of_medians = (
        [
            ratio
            for rows in ran.values()
            if np.isfinite(ratio := rows[name][measure] / min(_finite(rows, linear, "RMSE")))
        ]
        for measure in ("RMSE", "RMSE of median")
    )
    crps = [
        rows[name]["CRPS"] / rows["AutoBypass"]["CRPS"]
        for rows in ran.values()
        if np.isfinite(rows[name].get("CRPS", np.nan))
    ]
    mine = [counts[stream][name] for stream in ran]
    surprised = sum(each.n_after_held for each in mine), sum(each.n_after for each in mine)
    shocked = sum(each.n_shocked_held for each in mine), sum(each.n_shocked for each in mine)
    fifths = [each for each in mine if np.isfinite(each.lowest_fifth)]
    spread = (
        f"{min(e.lowest_fifth for e in fifths):.0%} to {max(e.highest_fifth for e in fifths):.0%}" if fifths else ""
    )
    return [
        f"{np.mean(ranks):.2f}" if ranks else "",
        str(ranks.count(1)),
        f"{np.exp(np.mean(np.log(crps))):.3f}" if crps else "",
        f"{np.mean(misses):.1%}" if misses else "",
        f"{np.mean(ratios):.3f}" if ratios else "",
        f"{max(ratios):.3f}" if ratios else "",
        f"{np.mean(of_medians):.3f}" if of_medians else "",
        *(f"{held / n:.1%} of {n:,}" if n else "" for held, n in (surprised, shocked)),
        spread,
        f"{sum(each.n_absurd for each in mine):,}",
    ]


def _finite(rows: dict[str, Row], names: list[str], measure: str) -> list[float]:
    values = (rows.get(name, {}).get(measure, np.nan) for name in names)
    return [value for value in values if np.isfinite(value)]


def absurd_line(counts: dict[str, dict[str, Counts]], streams: dict[str, Stream]) -> str:
    """Return in one sentence how often AutoBypass' mean was absurd, and on which streams."""
    n = sum(int(np.count_nonzero(~np.isnan(stream.y[WARM_UP:]))) for stream in streams.values())
    found = {name: counted["AutoBypass"].n_absurd for name, counted in counts.items()}
    where = [f"{each} on {name}" for name, each in found.items() if each]
    return (
        f"Of AutoBypass' {n:,} means, {sum(found.values())} lie beyond the range of all values before them by more "
        f"than that range{': ' + ', '.join(where) if where else ''}."
    )
