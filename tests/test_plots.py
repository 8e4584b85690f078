"""Plots show what they were given; how they look is for eyes."""

import numpy as np
from matplotlib.figure import Figure
from pytest import approx

from adabypass import Bypass, plots


def test_predictions_draw_data_forecast_and_band() -> None:
    rng = np.random.default_rng(0)
    trace = Bypass().run(np.ones((30, 1)), rng.normal(size=30))
    own = Figure().subplots()
    assert plots.predictions(trace, np.arange(1900, 1930), offset=2.0, ax=own) is own
    mean_line, data_line = own.get_lines()
    assert mean_line.get_ydata() == approx(trace.mean + 2.0)
    assert data_line.get_ydata() == approx(trace.y + 2.0)
    assert data_line.get_xdata() == approx(np.arange(1900, 1930))
    low, high = own.get_ylim()
    assert low < (trace.y + 2.0).min() < (trace.y + 2.0).max() < high


def test_predictions_make_axes_where_none_are_given() -> None:
    ax = plots.predictions(Bypass().run(np.ones((5, 1)), np.arange(5.0)))
    plots.mark_span(ax, 1, 2, "here")
    assert ax.get_legend() is not None
    assert "here" in [text.get_text() for text in ax.texts]
