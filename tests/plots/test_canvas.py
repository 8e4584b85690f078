"""Pictures are saved whole, text is drawn as it is, and long traces are drawn at moments spread evenly."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure

from adabypass import Normal, Trace, plots
from adabypass.errors import ParameterError
from adabypass.plots import canvas
from tests.plots.drawn import Ahead, line, normal_trace


def test_chosen_moments_are_all_of_a_short_trace_and_spread_over_a_long_one() -> None:
    assert list(canvas.chosen_moments(4)) == [0, 1, 2, 3]
    long = canvas.chosen_moments(100_000)
    assert (len(long), long[0], long[-1]) == (1500, 0, 99_999)
    assert set(np.diff(long)) <= {66, 67}


@pytest.mark.parametrize("ending", [".png", ".PDF", ".svg"])
def test_a_path_may_be_text_or_a_path_and_a_picture_axes_or_a_figure(tmp_path: Path, ending: str) -> None:
    figure = Figure()
    axes = figure.subplots(2)
    for number, (picture, path) in enumerate(
        [(axes[0], str(tmp_path / "new" / "a")), (axes, tmp_path / "b"), (figure, tmp_path / "c")]
    ):
        plots.save(picture, f"{path}{ending}" if number == 0 else Path(f"{path}{ending}"))
    assert len(list(tmp_path.rglob(f"*{ending}"))) == 3
    assert not list(tmp_path.rglob("*.part"))


def test_what_is_no_picture_and_what_tells_no_format_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match=r"'x\.jpeg', but must end in one of \.png, \.pdf, \.svg"):
        plots.save(Figure().subplots(), "x.jpeg")
    wrong: object
    for wrong in (None, "a picture", [], np.empty(0)):
        with pytest.raises(ParameterError, match="but must be Axes"):
            plots.save(wrong, tmp_path / "x.png")  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []


def test_a_picture_that_cannot_be_drawn_leaves_the_old_one(tmp_path: Path) -> None:
    path, ax = tmp_path / "x.png", Figure().subplots()
    path.write_bytes(b"old")
    ax.set_title(r"$\foo$")
    with pytest.raises(ValueError, match="foo"):
        plots.save(ax, path)
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("text", [r"$\foo$", "a $ b $ c", r"\$5", "\x1b[31mred", "東京"])
def test_text_is_drawn_as_it_is(text: str, tmp_path: Path) -> None:
    ax = plots.weights(normal_trace(), names=[text, "second"])
    plots.label(ax, x=text, y=text, title=text)
    plots.save(ax, tmp_path / "x.svg")
    drawn: Any
    for drawn in (ax._left_title, ax.xaxis.label, ax.yaxis.label, ax.get_legend().get_texts()[0]):  # type: ignore[attr-defined, union-attr]
        assert drawn._preprocess_math(drawn.get_text()) == (text.replace("\x1b", r"\x1b"), False)


def test_forecasts_about_which_nothing_is_known_are_left_blank() -> None:
    mean = np.array([np.nan, np.nan, 1.0, 2.0])
    trace = Trace(np.arange(4.0), Normal(mean, np.array([np.inf, np.inf, 1.0, 1.0])), {})
    for plot in (plots.predictions, plots.history):
        ax = plot(trace)
        forecast = next(each for each in ax.get_lines() if str(each.get_label()).startswith("forecast"))
        assert np.isnan(forecast.get_ydata()).tolist() == [True, True, False, False]
        assert np.isfinite(ax.get_ylim()).all()


def test_steps_ahead_about_which_nothing_is_known_are_left_blank(tmp_path: Path) -> None:
    ax = plots.fan(Ahead(np.array([1.0, np.nan]), np.array([1.0, np.inf])), np.arange(5.0))
    assert np.isnan(line(ax, "forecast").get_ydata()).tolist() == [False, True]
    assert np.isfinite(ax.get_ylim()).all()
    plots.save(ax, tmp_path / "x.png")
    plots.save(plots.fan(Ahead(np.full(2, np.nan), np.full(2, np.inf))), tmp_path / "y.png")
