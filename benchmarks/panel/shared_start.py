"""`python -m benchmarks.panel.shared_start FILE`: what short series gain that start from what others have learned."""

from pathlib import Path

import click
import numpy as np
from rich.console import Console
from rich.table import Table

from adabypass import Forecaster, Panel
from adabypass.validation import Floats
from benchmarks.forecast.problems import m_competitions

RANGES = ((3, 6), (6, 11), (11, 20), (20, 40), (40, 60))
"""Observations that are scored together, counted from 0."""
MAX_LENGTH = 60


def padded(series: list[Floats], n: int) -> Floats:
    """Return the first `n` observations of each, nan after the last."""
    table = np.full((len(series), n), np.nan)
    for row, y in zip(table, series, strict=True):
        row[: min(n, len(y))] = y[:n]
    return table


def gains(series: list[Floats]) -> list[tuple[float, float, float]]:
    """Return, for each range, the gain in log score of held-back series, its standard error, and the ratio of MAE."""
    half = len(series) // 2
    panel = Panel(Forecaster(lags=1))
    for i, y in enumerate(series[:half]):
        panel.run(y[None], ids=[i], keep_trace=False)
    short = padded(series[half:], MAX_LENGTH)
    alone, together = (Panel(each).run(short) for each in (Forecaster(lags=1), panel.pooled()))
    assert alone is not None
    assert together is not None
    unit = np.nanmean(np.abs(np.diff(short, axis=1)), axis=1, keepdims=True)
    found = []
    for lo, hi in RANGES:
        scores = (together.log_score - alone.log_score)[:, lo:hi]
        difference = np.nanmean(scores[~np.isnan(scores).all(axis=1)], axis=1)
        errors = [np.nanmean((np.abs(each.y - each.mean) / unit)[:, lo:hi]) for each in (together, alone)]
        found.append((
            float(difference.mean()), float(difference.std() / len(difference) ** 0.5), float(errors[0] / errors[1])
        ))  # fmt: skip
    return found


@click.command()
@click.argument("file", type=click.Path(exists=True, path_type=Path))
def main(file: Path) -> None:
    """Learn from half of the series of FILE, and score the others, with and without what was learned."""
    problems = list(m_competitions(file))
    table = Table("frequency", "series", *(f"{lo + 1} to {hi}" for lo, hi in RANGES), title="gain in log score, MAE")
    for frequency in ("monthly", "quarterly", "yearly"):
        series = [np.append(each.train, each.test) for each in problems if each.frequency == frequency]
        np.random.default_rng(0).shuffle(series)
        cells = [f"{gain:+.4f} ± {error:.4f}, {100 * (mae - 1):+.1f} %" for gain, error, mae in gains(series)]
        table.add_row(frequency, str(len(series) - len(series) // 2), *cells)
    Console(width=150).print(table)


if __name__ == "__main__":
    main()
