"""One step ahead on the series of the accuracy benchmark, beside AutoBypass with lags chosen by hand."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from adabypass import AutoBypass, Forecaster, Trace
from adabypass.evaluation import difference
from adabypass.validation import Floats
from benchmarks.accuracy.streams import real

PERIODS = {"CO2": 52, "El Nino": 12, "airline passengers": 12, "wind": 144}
"""What a column of times says of a season."""
LAGS: tuple[Sequence[int], ...] = ([1], [1, 2], [1, 2, 3], [1, 2, 3, 4, 5, 6])
SKIP = 100
"""First values that are not scored; nor are others that some choice of lags does not forecast."""


class Accuracy(NamedTuple):
    """Of forecasts one step ahead, of each observation after the first `SKIP`."""

    error: Floats
    score: Floats

    @property
    def rmse(self) -> float:
        """Root of the mean squared error."""
        return float(np.sqrt(np.mean(self.error**2)))

    @property
    def log_score(self) -> float:
        """Mean of the log scores."""
        return float(np.mean(self.score))

    def at(self, rows: Any) -> "Accuracy":
        """Return the accuracy on some of the observations."""
        return Accuracy(self.error[rows], self.score[rows])

    def ahead_of(self, other: "Accuracy") -> tuple[float, float]:
        """Return by how much the sum of the log scores is larger, and the standard error of that."""
        found = difference(-self.score, -other.score)
        return -found.n * found.mean, found.n * found.standard_error


def choices(period: int) -> list[list[int]]:
    """Return the lags that one would try."""
    seasonal = [[1, period], [1, period, period + 1], [1, 2, period, period + 1]] if period > 1 else []
    return [*(list(each) for each in LAGS), *seasonal]


def _accuracy(trace: Trace, first: int) -> Accuracy:
    """Return the accuracy of a trace that begins with observation `first`."""
    keep = slice(max(SKIP - first, 0), None)
    missing = np.full(max(first - SKIP, 0), np.nan)  # of lags that reach further back
    error, score = (trace.y - trace.mean)[keep], trace.log_score[keep]
    return Accuracy(np.append(missing, error), np.append(missing, score))


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
            every = [_forecast(Forecaster(period=period), y)]
            every += [_regress(lags, y) for lags in choices(period)]
            scored = ~np.isnan([each.score for each in every]).any(axis=0)
            ours, *by_hand = (each.at(scored) for each in every)
            found[stream.name] = (ours, dict(zip(map(str, choices(period)), by_hand, strict=True)))
    return found


def markdown(found: dict[str, tuple[Accuracy, dict[str, Accuracy]]]) -> str:
    """Return the table: RMSE and log score beside the best choice by each."""
    rows = [["", "RMSE", "best lags", "RMSE", "log score", "best lags", "log score", "ahead by, nats"]]
    rows.append(["---", *["---:"] * 7])
    wins, far_behind = [0, 0], 0
    for name, (ours, by_hand) in found.items():
        near = min(by_hand, key=lambda lags: by_hand[lags].rmse)
        sharp = max(by_hand, key=lambda lags: by_hand[lags].log_score)
        wins[0] += ours.rmse <= by_hand[near].rmse
        wins[1] += ours.log_score >= by_hand[sharp].log_score
        ahead, deviation = ours.ahead_of(by_hand[sharp])
        far_behind += ahead < -2 * deviation
        rows.append([
            name, f"{ours.rmse:.4g}", near, f"{by_hand[near].rmse:.4g}", f"{ours.log_score:.3f}", sharp,
            f"{by_hand[sharp].log_score:.3f}", f"{ahead:.1f} ± {deviation:.1f}",
        ])  # fmt: skip
    table = "\n".join(f"| {' | '.join(row)} |" for row in rows)
    return (
        "## One step ahead\n\nOn the series of the accuracy benchmark: `Forecaster()`, then AutoBypass on "
        f"the lags that were best in hindsight, of {len(LAGS)} choices, and 3 more with a season. No worse by "
        f"RMSE on {wins[0]}, by log score on {wins[1]} of {len(found)}; by log score worse by more than two standard "
        f"errors on {far_behind}. On the wind 0 has a probability of its own, whose log is less than that of a density "
        f"that is narrow there.\n\n{table}"
    )


if __name__ == "__main__":
    print(markdown(measure(Path("../shared/data/gld_gdx.csv"))))
