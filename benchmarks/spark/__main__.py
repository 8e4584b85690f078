"""`make bench-spark`: what a row costs on Spark, the engine's part and the model's, as tables."""

import os
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import click
from pyspark.sql import DataFrame
from rich.console import Console
from rich.table import Table

from adabypass import AdaBypass, Forecaster
from adabypass.adapters.keyed_series import KeyedForecaster
from adabypass.adapters.spark import forecast_stream, local_session
from benchmarks.spark.measures import time_model, time_stream, write_rows
from benchmarks.spark.operators import Bytes, Nothing, plain, stateful

MODELS: dict[str, dict[str, Any]] = {
    "AdaBypass, lags=1": {"model": AdaBypass(), "lags": 1},
    "AutoBypass, lags=1": {"lags": 1},
    "automatic": {},
}


class Contestant(NamedTuple):
    """What is done to the rows."""

    name: str
    transform: Callable[[DataFrame], DataFrame]
    keeps_state: bool = True


def contestants(names: list[str]) -> list[Contestant]:
    """Return what is done to the rows: first what does nothing."""
    largest = max(len(time_model(KeyedForecaster(Forecaster(**MODELS[name]), (0.9,)), 1, 1)[2][0]) for name in names)
    forecasts = partial(forecast_stream, by="key", time="t", target="y")
    return [
        Contestant("pandas UDF that does nothing", plain, keeps_state=False),
        Contestant("stateful operator that does nothing", partial(stateful, processor=Nothing()), keeps_state=False),
        Contestant(
            f"stateful operator that keeps {largest:,} bytes", partial(stateful, processor=Bytes(bytes(largest)))
        ),
        *(Contestant(f"forecast_stream, {name}", partial(forecasts, **MODELS[name])) for name in names),
    ]


@click.command()
@click.option("--keys", default="100,10000,100000", show_default=True, metavar="N,...", help="Numbers of keys.")
@click.option("--models", default=",".join(MODELS), show_default=True, help="Which models, with semicolons between.")
@click.option("--rows", "n_rows", default=20_000, show_default=True, help="Rows of a batch that is timed.")
@click.option("--cores", default=os.cpu_count(), show_default=True, help="How many tasks run at a time.")
def main(keys: str, models: str, n_rows: int, cores: int) -> None:
    """Measure streams in one run: an operator that does nothing, one that keeps bytes, and forecasts."""
    console = Console(width=120)
    names = list(MODELS) if models == ",".join(MODELS) else models.split(";")
    _print_models(console, names)
    spark = local_session(cores=cores, config={"spark.driver.memory": "4g", "spark.python.authSocketTimeout": "120s"})
    spark.sparkContext.setLogLevel("OFF")
    table = Table(
        "keys", "rows of a key", "what is done", "seconds", f"µs a row on {cores} cores", "processor µs a row"
    )
    with tempfile.TemporaryDirectory() as folder:
        for n_keys in map(int, keys.split(",")):
            place = Path(folder) / str(n_keys)
            n_active = write_rows(spark, place, n_keys, n_rows)
            for name, transform, keeps_state in contestants(names):
                timing = time_stream(spark, place, n_rows, transform, keeps_state=keeps_state)
                table.add_row(
                    f"{n_keys:,}", f"{n_rows / n_active:g}", name, f"{timing.seconds:.2f}",
                    f"{timing.microseconds:.0f}", f"{timing.cpu_microseconds:.0f}",
                )  # fmt: skip
                console.print(f"{n_keys:,} keys, {name}: {timing.cpu_microseconds:.0f} µs of processors a row")
    console.print(table)
    console.print(f"load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors")


def _print_models(console: Console, names: list[str]) -> None:
    """Print what the models take without Spark."""
    table = Table("model", "state, bytes", "µs a step with its interval", "µs to read and write a state")
    for name in names:
        keyed = KeyedForecaster(Forecaster(**MODELS[name]), (0.9,))
        whole, steps, state = time_model(keyed, 1)
        table.add_row(name, f"{len(state.snapshot):,}", f"{steps:.1f}", f"{whole - steps:.0f}")
    console.print(table)


if __name__ == "__main__":
    main()
