"""One step ahead on the series of the accuracy benchmark, beside AutoBypass with lags chosen by hand."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from adabypass import AutoBypass, Forecaster, Trace
from adabypass.validation import Floats
from benchmarks.accuracy.streams import real

PERIODS = {"CO2": 52, "El Nino": 12, "airline passengers": 12, "wind": 144}
"""What a column of times says of a season."""
LAGS: tuple[Sequence[int], ...] = ([1], [1, 2], [1, 2, 3], [1, 2, 3, 4, 5, 6])
SKIP = 100
"""First values that are not scored: after them every choice of lags forecasts."""


class Accuracy(NamedTuple):
    """Of forecasts one step ahead."""

    rmse: float
    log_score: float


def choices(period: int) -> list[list[int]]:
    """Return the lags that one would try."""
    seasonal = [[1, period], [1, period, period + 1], [1, 2, period, period + 1]] if period > 1 else []
    return [*(list(each) for each in LAGS), *seasonal]


def _accuracy(trace: Trace, first: int) -> Accuracy:
    """Return the accuracy of a trace that begins with observation `first`."""
    keep = slice(max(SKIP - first, 0), None)
    error = (trace.y - trace.mean)[keep]
    return Accuracy(float(np.sqrt(np.nanmean(error**2))), float(np.nanmean(trace.log_score[keep])))


def _forecast(forecaster: Forecaster, y: Floats) -> Accuracy:
    trace = forecaster.run(y)
    return _accuracy(trace, trace.first)


def _regress(lags: Sequence[int], y: Floats) -> Accuracy:
    """Return the accuracy of AutoBypass with these lags as features."""
    first = max(lags)
    X = np.column_stack([y[first - lag : len(y) - lag] for lag in lags])
    if np.isnan(X).any():
        return _forecast(Forecaster(lags=lags), y)
    return _accuracy(AutoBypass().run(X, y[first:]), first)


def measure(prices: Path | None = None) -> dict[str, tuple[Accuracy, dict[str, Accuracy]]]:
    """Return by series our accuracy, and that of each choice of lags."""
    found = {}
    for stream in real(prices):
        if stream.is_autoregression:
            y, period = np.concatenate([stream.X[:1, 0], stream.y]), PERIODS.get(stream.name, 1)
            by_hand = {str(lags): _regress(lags, y) for lags in choices(period)}
            found[stream.name] = (_forecast(Forecaster(period=period), y), by_hand)
    return found


def markdown(found: dict[str, tuple[Accuracy, dict[str, Accuracy]]]) -> str:
    """Return the table: RMSE and log score beside the best choice by each."""
    rows = [["", "RMSE", "best lags", "RMSE", "log score", "best lags", "log score"], ["---", *["---:"] * 6]]
    wins = [0, 0]
    for name, (ours, by_hand) in found.items():
        near = min(by_hand, key=lambda lags: by_hand[lags].rmse)
        sharp = max(by_hand, key=lambda lags: by_hand[lags].log_score)
        wins[0] += ours.rmse <= by_hand[near].rmse
        wins[1] += ours.log_score >= by_hand[sharp].log_score
        rows.append([
            name, f"{ours.rmse:.4g}", near, f"{by_hand[near].rmse:.4g}", f"{ours.log_score:.3f}", sharp,
            f"{by_hand[sharp].log_score:.3f}",
        ])  # fmt: skip
    table = "\n".join(f"| {' | '.join(row)} |" for row in rows)
    return (
        "## One step ahead\n\nOn the series of the accuracy benchmark: `Forecaster()`, then AutoBypass on "
        f"the lags that were best in hindsight, of {len(LAGS)} choices, and 3 more with a season. No worse by "
        f"RMSE on {wins[0]}, by log score on {wins[1]} of {len(found)}.\n\n{table}"
    )


if __name__ == "__main__":
    print(markdown(measure(Path("../shared/data/gld_gdx.csv"))))
