"""Draw the picture of README.md: an automatic forecast of two years, made from ten, beside what came.

.venv/bin/python tools/draw_readme.py
"""

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from adabypass import Forecaster, load_dataset, plots

PICTURE = Path(__file__).parents[1] / "docs/images/forecast.png"
AHEAD = 24


def main() -> None:
    """Draw the picture."""
    air = load_dataset("air_passengers")
    forecaster = Forecaster(period=12)
    forecaster.learn(air.y[:-AHEAD])
    forecast = forecaster.forecast(AHEAD)
    figure = Figure(figsize=(9, 3.8), layout="constrained")
    ax = forecast.plot(
        air.y[:-AHEAD], air.time[:-AHEAD], air.time[-AHEAD:], levels=(0.5, 0.9), history=72, ax=figure.subplots(),
        title="Airline passengers a month, in thousands: forecast for 1959 and 1960, made at the end of 1958",
    )  # fmt: skip
    ax.plot(air.time[-AHEAD:], air.y[-AHEAD:], "o", color="black", markersize=3.5, markerfacecolor="white", zorder=4,
            label="what came")  # fmt: skip
    plots.canvas.legend(ax)
    ax.get_legend().set_bbox_to_anchor((0.0, 0.98, 0, 0))
    ax.get_legend().set_loc("upper left")
    plots.save(ax, PICTURE)
    low, high = forecast.interval(0.9)
    within = int(np.sum((low <= air.y[-AHEAD:]) & (air.y[-AHEAD:] <= high)))
    print(f"{within} of {AHEAD} months are within their 90 % interval; the picture is {PICTURE}")


if __name__ == "__main__":
    main()
