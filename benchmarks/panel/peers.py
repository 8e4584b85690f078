"""`python -m benchmarks.panel.peers FILE`: a thousand monthly series at once, beside statsforecast and awen-dlmax.

Each library is given all series in one call, in a process of its own, and may use all processors. What takes longer
than `--minutes` is stopped, and given a tenth of the series.
"""

import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import numpy as np
from rich.console import Console
from rich.table import Table

from adabypass import Forecaster, forecast
from adabypass.validation import Floats
from benchmarks import dlmax
from benchmarks.forecast.problems import m_competitions

N_LEARNED, HORIZON, PERIOD, LEVEL = 108, 12, 12, 90
Answer = tuple[Floats, Floats, Floats]
"""Point forecasts and the bounds of intervals, each (n_series, HORIZON)."""


def windows(file: Path, n_series: int) -> Floats:
    """Return pieces of monthly series, each of 108 values and the 12 after them, as far apart as there are enough."""
    long = [np.append(each.train, each.test) for each in m_competitions(file) if each.frequency == "monthly"]
    size, found = N_LEARNED + HORIZON, []
    for stride in (HORIZON, 1):
        found = [y[i : i + size] for y in long for i in range(0, len(y) - size + 1, stride)]
        if len(found) >= n_series:
            break
    chosen = np.random.default_rng(0).permutation(len(found))[:n_series]
    return np.array([found[i] for i in sorted(chosen)])


def long_frame(y: Floats) -> Any:
    """Return series below each other."""
    import pandas as pd  # noqa: PLC0415  (an extra of the benchmark)

    ids = np.repeat([f"{i:06d}" for i in range(len(y))], y.shape[1])
    months = np.tile((np.datetime64("2000-01") + np.arange(y.shape[1])).astype("M8[ns]"), len(y))
    return pd.DataFrame({"unique_id": ids, "ds": months, "y": y.reshape(-1)})


def ours(forecaster: Forecaster | None) -> Callable[[Floats], Answer]:
    """Return forecasts by this library."""

    def run(y: Floats) -> Answer:
        found = forecast(long_frame(y), HORIZON, forecaster)
        names = ("mean", f"lower_{LEVEL}", f"upper_{LEVEL}")
        mean, low, high = (found[name].to_numpy().reshape(len(y), HORIZON) for name in names)
        return mean, low, high

    return run


def auto_ets(y: Floats) -> Answer:
    """Return forecasts by statsforecast."""
    from statsforecast import StatsForecast  # noqa: PLC0415  (extras of the benchmark)
    from statsforecast.models import AutoETS  # noqa: PLC0415

    model = StatsForecast(models=[AutoETS(season_length=PERIOD)], freq="MS", n_jobs=-1)
    unsorted: Any = model.forecast(df=long_frame(y), h=HORIZON, level=[LEVEL])
    found = unsorted.sort_values(["unique_id", "ds"])
    names = ("AutoETS", f"AutoETS-lo-{LEVEL}", f"AutoETS-hi-{LEVEL}")
    mean, low, high = (found[name].to_numpy(np.float64).reshape(len(y), HORIZON) for name in names)
    return mean, low, high


def awen(y: Floats) -> Answer:
    """Return forecasts by awen-dlmax."""
    import pandas as pd  # noqa: PLC0415

    model = dlmax.load().AutoFFS(season_length=PERIOD)
    model.fit(pd.DataFrame(y.T, columns=[f"{i:06d}" for i in range(len(y))]), freq=1)
    found = model.forecast(h=HORIZON, level=[LEVEL]).sort_values(["unique_id", "ds"])
    names = ("AutoFFS", f"AutoFFS-lo-{LEVEL}", f"AutoFFS-hi-{LEVEL}")
    mean, low, high = (found[name].to_numpy(np.float64).reshape(len(y), HORIZON) for name in names)
    return mean, low, high


CONTESTANTS: dict[str, Callable[[Floats], Answer]] = {
    "adabypass, lags 1 and 12": ours(Forecaster(lags=1, seasonal_lags=(12,))),
    "adabypass, Forecaster()": ours(None),
    "statsforecast, AutoETS": auto_ets,
    "awen-dlmax, AutoFFS": awen,
}


def measure(name: str, file: str, n_series: int) -> dict[str, float]:
    """Run a contestant in this process: seconds, memory and accuracy."""
    y = windows(Path(file), n_series)
    past, future = y[:, :N_LEARNED], y[:, N_LEARNED:]
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    started, cpu = time.perf_counter(), time.process_time()
    point, low, high = CONTESTANTS[name](past)
    seconds, cpu = time.perf_counter() - started, time.process_time() - cpu
    usage = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    unit = np.mean(np.abs(past[:, PERIOD:] - past[:, :-PERIOD]), axis=1, keepdims=True)
    alpha = 1.0 - LEVEL / 100
    missed = np.maximum(low - future, 0.0) + np.maximum(future - high, 0.0)
    return {
        "seconds": seconds,
        "processor seconds": cpu + usage[1].ru_utime + usage[1].ru_stime,
        "MB": (usage[0].ru_maxrss - before + usage[1].ru_maxrss) / 1024,
        "MASE": float(np.mean(np.abs(future - point) / unit)),
        "interval score": float(np.mean((high - low + 2.0 / alpha * missed) / unit)),
        "coverage": float(np.mean((low <= future) & (future <= high))),
    }


@click.command()
@click.argument("file", type=click.Path(exists=True, path_type=Path))
@click.option("--series", default=1000, show_default=True)
@click.option("--minutes", default=20.0, show_default=True, help="Time that a contestant may take.")
@click.option("--only", metavar="NAME", help="Measure one contestant, here, and print JSON.")
def main(file: Path, series: int, minutes: float, only: str | None) -> None:
    """Forecast pieces of the monthly series of FILE, 12 steps ahead."""
    if only is not None:
        click.echo(json.dumps(measure(only, str(file), series)))
        return
    table = Table("contestant", "series", "seconds", "processor seconds", "MB", "MASE", "interval score", "coverage")
    for name in CONTESTANTS:
        found = measure_apart(name, file, series, minutes)
        if isinstance(found, str):
            table.add_row(name, str(series), found)
            found, few = measure_apart(name, file, series // 10, minutes), series // 10
        else:
            few = series
        cells = [found] if isinstance(found, str) else [_short(value) for value in found.values()]
        table.add_row(name, str(few), *cells)
    Console(width=140).print(table)


def measure_apart(name: str, file: Path, n_series: int, minutes: float) -> dict[str, float] | str:
    """Run a contestant in a process of its own; return what was measured, or why it was not."""
    command = [sys.executable, "-W", "ignore", "-m", "benchmarks.panel.peers", str(file), "--series", str(n_series)]
    try:
        done = subprocess.run(
            [*command, "--only", name], capture_output=True, text=True, check=False, timeout=60 * minutes
        )
    except subprocess.TimeoutExpired:
        return f"stopped after {minutes:g} min"
    if done.returncode:
        return (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1][:60]
    found: dict[str, float] = json.loads(done.stdout.strip().splitlines()[-1])
    return found


def _short(value: float) -> str:
    return f"{value:.3f}" if value < 10 else f"{value:.1f}"


if __name__ == "__main__":
    main()
