"""What every plot must do: draw on given axes, dates, one observation, constants, nothing but gaps."""

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from adabypass import AutoBypass, Bypass, Forecaster, plots
from adabypass.errors import NotEnoughDataError, ShapeError
from tests.plots.drawn import DAYS, Ahead, auto_trace, in_words

EVERY_PLOT: list[Any] = [
    plots.predictions, plots.history, plots.weights, plots.parameters, plots.pit, plots.reliability, plots.coverage,
    plots.changes,
]  # fmt: skip
OVER_TIME = [plot for plot in EVERY_PLOT if plot not in (plots.pit, plots.reliability)]


@pytest.mark.parametrize("plot", [plot for plot in EVERY_PLOT if plot is not plots.parameters])
def test_axes_that_are_given_are_used_and_returned(plot: Any) -> None:
    own = Figure().subplots()
    assert plot(auto_trace(), ax=own) is own
    assert in_words(own)


@pytest.mark.parametrize("plot", OVER_TIME)
def test_time_may_be_dates(plot: Any, tmp_path: Path) -> None:
    axes = plot(auto_trace(), time=DAYS)
    plots.save(axes, tmp_path / "plot.png")
    days = DAYS.astype(float)  # matplotlib, too, counts days from 1970
    for ax in np.ravel(axes):
        first, last = ax.get_xlim()
        assert days[0] - 10 < first <= days[2]
        assert days[-1] <= last < days[-1] + 10


@pytest.mark.parametrize("plot", OVER_TIME)
def test_time_of_another_length_is_refused(plot: Any) -> None:
    with pytest.raises(ShapeError, match=r"time has shape \(120,\), but there are 60 values to draw"):
        plot(auto_trace(60), time=DAYS)


@pytest.mark.parametrize("plot", EVERY_PLOT)
@pytest.mark.parametrize("dated", [False, True])
def test_a_single_observation_can_be_drawn(plot: Any, dated: bool, tmp_path: Path) -> None:
    time = {"time": DAYS[:1]} if dated and plot in OVER_TIME else {}
    if plot in OVER_TIME:  # of one observation AutoBypass knew nothing: there is no calibration to judge
        trace = AutoBypass().run([[1.0]], [2.0], keep_weights=True)
        plots.save(plot(trace, **time), tmp_path / "plot.png")
    if plot is not plots.changes:
        plots.save(plot(Bypass().run([[1.0]], [2.0], keep_weights=True), **time), tmp_path / "plot.png")


@pytest.mark.parametrize("plot", EVERY_PLOT)
@pytest.mark.parametrize("y", [0.0, 5.0])
def test_a_constant_series_can_be_drawn(plot: Any, y: float, tmp_path: Path) -> None:
    trace = AutoBypass().run(np.ones((90, 1)), np.full(90, y), keep_weights=True)
    if y == 0.0 and plot not in OVER_TIME:  # after zeros alone nothing is known
        with pytest.raises(NotEnoughDataError, match="before anything was known"):
            plot(trace)
        return
    plots.save(plot(trace), tmp_path / "plot.png")


@pytest.mark.parametrize("plot", [plots.predictions, plots.history, plots.weights, plots.parameters, plots.coverage])
def test_a_series_of_missing_values_can_be_drawn(plot: Any, tmp_path: Path) -> None:
    for model in (AutoBypass(), Bypass()):
        trace = model.run(np.ones((9, 1)), np.full(9, np.nan), keep_weights=True)
        plots.save(plot(trace), tmp_path / "plot.png")


PNG = b"\x89PNG\r\n"


def explained() -> Any:
    forecaster = Forecaster(period=12)
    forecaster.run(10.0 + np.sin(np.arange(120) * np.pi / 6))
    return plots.components(forecaster.explain())


NEW: dict[str, Callable[[], Any]] = {
    **{plot.__name__: partial(plot, auto_trace()) for plot in [*EVERY_PLOT, plots.calibration]},
    "fan": lambda: plots.fan(Ahead(np.zeros(3), np.ones(3)), np.arange(5.0)),
    "components": explained,
}


@pytest.mark.parametrize("name", NEW)
def test_a_notebook_shows_what_is_drawn_on_new_axes(name: str) -> None:
    """A notebook asks the value of a cell for a picture by this method; pyplot has not been told of the figure."""
    picture = NEW[name]()
    assert picture._repr_png_().startswith(PNG)
    assert all(isinstance(ax, Axes) for ax in np.ravel(picture))
    if isinstance(picture, np.ndarray):
        assert picture[:0]._repr_png_() is None  # type: ignore[attr-defined]
    assert "matplotlib.pyplot" not in sys.modules or pyplot_figures() == []


def pyplot_figures() -> list[int]:
    from matplotlib import pyplot  # noqa: PLC0415

    return pyplot.get_fignums()


def test_axes_of_the_user_stay_what_they_are() -> None:
    own = Figure().subplots()
    assert not hasattr(plots.history(auto_trace(), ax=own), "_repr_png_")
