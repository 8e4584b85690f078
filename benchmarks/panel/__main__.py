"""`python -m benchmarks.panel`: time and memory of panels, as tables."""

import os

import click
from rich.console import Console
from rich.table import Table

from benchmarks.panel import measures

N_STEPS, HORIZON = 100, 12


@click.command()
@click.option("--series", default="1000,10000,100000", show_default=True, metavar="N,...", help="Sizes of the panels.")
@click.option("--threads", default="1,2", show_default=True, metavar="N,...", help="Numbers of threads.")
@click.option("--repeats", default=3, show_default=True, help="Take the best of so many runs.")
@click.option("--frame", default=2000, show_default=True, help="Series of the data frame; 0 leaves it out.")
@click.option("--rows-in", metavar="DIR", help="Keep the rows in a mapped file in this folder.")
def main(series: str, threads: str, repeats: int, frame: int, rows_in: str | None) -> None:
    """Measure panels of AutoBypass AR(1): 100 steps of each series, then forecasts of 12 steps."""
    console = Console()
    table = Table("series", "threads", "seconds", "µs a step", "processor µs", "rows, MB", "besides, MB", title="run")
    for n_series in map(int, series.split(",")):
        for n_threads in map(int, threads.split(",")):
            runs = [measures.run_apart(n_series, N_STEPS, n_threads, rows_in) for _ in range(repeats)]
            best = min(runs, key=lambda run: run.seconds)
            processor = 1e6 * min(run.cpu_seconds for run in runs) / (n_series * N_STEPS)
            table.add_row(
                f"{n_series:,}", str(n_threads), f"{best.seconds:.2f}", f"{best.microseconds(N_STEPS):.2f}",
                f"{processor:.2f}", f"{best.n_row_bytes / 1e6:.1f}", f"{best.n_extra_bytes / 1e6:.1f}",
            )  # fmt: skip
    console.print(table)
    console.print(f"load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors")
    if frame:
        few = max(1, frame // 20)
        together = min(measures.frame_seconds(frame, N_STEPS, HORIZON) / frame for _ in range(repeats))
        alone = min(measures.loop_seconds(few, N_STEPS, HORIZON) / few for _ in range(repeats))
        console.print(
            f"forecast(frame): {1e3 * together:.3f} ms a series; a loop over forecasters: {1e3 * alone:.3f} ms, "
            f"{alone / together:.1f} times as long"
        )


if __name__ == "__main__":
    main()
