"""`python -m benchmarks.features`: time, memory and scores of the forms of the covariance, as tables."""

import time
from collections.abc import Callable
from typing import Any

import click
import numpy as np
from rich.console import Console
from rich.table import Table

from adabypass import AdaBypass, AutoBypass, Bypass, EvidenceBypass, SequentialKalman
from benchmarks.features.streams import DRIFT_VAR, designs, sparse_stream, with_targets

MODELS: dict[str, Callable[..., Any]] = {
    "EvidenceBypass": lambda **options: EvidenceBypass(DRIFT_VAR, noise_scale=0.6, **options),
    "Bypass": lambda **options: Bypass(a=1e5, b=1.0, epsilon=0.5, **options),
    "AdaBypass": lambda **options: AdaBypass(a=1e5, b=1.0, epsilon=0.5, **options),
    "AdaBypass, 1e-5": lambda **options: AdaBypass(a=1e5, b=1.0, epsilon=0.5, aggressiveness=1e-5, **options),
    "SequentialKalman": SequentialKalman,
}
SCORED = ("EvidenceBypass", "Bypass", "AdaBypass", "AdaBypass, 1e-5")
TIMED = ("EvidenceBypass", "Bypass", "AdaBypass", "SequentialKalman")
FORMS: dict[str, dict[str, Any]] = {
    "full": {"covariance": "full"},
    "diagonal": {"covariance": "diagonal"},
}


def accuracy(n_features: int, n_rows: int) -> Table:
    """Return log scores and RMSE of all but the first tenth of each stream."""
    table = Table("stream", "model", *FORMS, title=f"{n_features} features: mean log score, RMSE")
    for stream, X in designs(n_features, n_rows).items():
        y = with_targets(X)
        for name in SCORED:
            cells = []
            for options in FORMS.values():
                model = MODELS[name](**options)
                model.run(X[: n_rows // 10], y[: n_rows // 10])
                scores = model.run(X[n_rows // 10 :], y[n_rows // 10 :]).scores()
                cells.append(f"{scores['log_likelihood'] / scores['n']:.3f}, {scores['rmse']:.3f}")
            table.add_row(stream, name, *cells)
    return table


def bank(sizes: tuple[int, ...], n_rows: int) -> Table:
    """Return time, memory and scores of AutoBypass, of all but the first tenth of each stream."""
    streams = designs(1, 2)
    table = Table("features", "covariance", "processor µs", "MB", *streams, title="AutoBypass: mean log score, RMSE")
    for n_features in sizes:
        for form in ("full", "diagonal"):
            cells, times = [], []
            for X in designs(n_features, n_rows).values():
                y, model = with_targets(X), AutoBypass(covariance="full" if form == "full" else "diagonal")
                model.run(X[: n_rows // 10], y[: n_rows // 10], keep_predictive=False)
                cpu = time.process_time()
                trace = model.run(X[n_rows // 10 :], y[n_rows // 10 :], keep_predictive=False)
                times.append((time.process_time() - cpu) / len(trace.y))
                cells.append(f"{np.mean(trace.log_score):.3f}, {np.mean((trace.mean - trace.y) ** 2) ** 0.5:.3f}")
            size = len(model.to_bytes()) / 1e6
            table.add_row(str(n_features), form, f"{1e6 * min(times):.0f}", f"{size:.1f}", *cells)
    return table


def speed(n_features: int, n_given: int, n_rows: int, repeats: int) -> Table:
    """Return the time of an observation and the size of a saved model, with a diagonal covariance."""
    X, y = sparse_stream(n_features, n_given, n_rows)
    table = Table("model", "µs", "processor µs", "MB", title=f"{n_given} of {n_features:,} features")
    for name in TIMED:
        times = []
        for _ in range(repeats):
            model = MODELS[name](covariance="diagonal", n_features=n_features)
            started, cpu = time.perf_counter(), time.process_time()
            model.run(X, y)
            times.append((time.perf_counter() - started, time.process_time() - cpu))
        wall, processor = (1e6 * min(each) / n_rows for each in zip(*times, strict=True))
        table.add_row(name, f"{wall:.1f}", f"{processor:.1f}", f"{len(model.to_bytes()) / 1e6:.1f}")
    return table


@click.command()
@click.option("--features", default=100_000, show_default=True, help="Sparse features, of which 100 are not 0.")
@click.option("--rows", default=3000, show_default=True, help="Observations of each stream.")
@click.option("--repeats", default=3, show_default=True, help="Take the best of so many runs.")
@click.option("--only", type=click.Choice(["accuracy", "speed", "bank"]), help="Print this table alone.")
def main(features: int, rows: int, repeats: int, only: str | None) -> None:
    """Compare the forms of the covariance of the paper's models, and of AutoBypass."""
    tables: dict[str, Callable[[], Table]] = {
        "accuracy": lambda: accuracy(200, rows),
        "speed": lambda: speed(features, 100, rows, repeats),
        "bank": lambda: bank((100, 200, 500), rows),
    }
    console = Console(width=140)
    for name in tables if only is None else (only,):
        console.print(tables[name]())


if __name__ == "__main__":
    main()
