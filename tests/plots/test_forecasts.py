"""Plots show the forecasts they were given; how they look is for eyes."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure
from pytest import approx

from adabypass import Baseline, Bypass, Drift, Naive, Normal, PassiveAggressive, SeasonalNaive, Trace, plots
from adabypass.errors import NotReadyError, ParameterError, ShapeError
from tests.plots.drawn import Ahead, auto_trace, edges, in_words, line, normal_trace


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


@pytest.mark.parametrize("trace", [auto_trace(), normal_trace()], ids=["mixture", "normal"])
def test_a_fan_shows_the_intervals_of_the_trace(trace: Trace) -> None:
    ax = plots.history(trace, levels=(0.5, 0.9))
    known = trace.sd < 1e100  # AutoBypass's first forecasts know nothing
    assert known[2:].all()
    assert line(ax, "forecast").get_ydata()[known] == approx(trace.mean[known])
    assert line(ax, "observed").get_ydata() == approx(trace.y, nan_ok=True)
    for level in (0.5, 0.9):
        low, high = edges(ax, f"{100 * level:g} % interval", np.arange(len(trace)))
        expected_low, expected_high = trace.predictive.interval(level)
        assert low[known] == approx(expected_low[known])
        assert high[known] == approx(expected_high[known])
        assert np.isnan(low[~known]).all()


def test_a_fan_is_lighter_outside_and_names_its_levels() -> None:
    ax = plots.history(normal_trace(), levels=(0.2, 0.95, 0.6))
    assert in_words(ax) == ["95 % interval", "60 % interval", "20 % interval", "forecast", "observed"]
    outside_to_inside = [np.asarray(band.get_facecolor())[0, :3].sum() for band in ax.collections]
    assert outside_to_inside == sorted(outside_to_inside, reverse=True)


def test_a_fan_frames_the_data_whatever_the_first_forecasts_were() -> None:
    trace = Trace(np.array([1.0, 2.0, 1.0, 3.0]), Normal(np.full(4, 2.0), np.array([1e300, 1e12, 1.0, 1.0])), {})
    low, high = plots.history(trace).get_ylim()
    assert -3 < low < 1
    assert 3 < high < 7


def test_a_long_trace_is_drawn_at_1500_moments_and_all_of_its_data() -> None:
    n = 4000
    trace = Trace(np.zeros(n), Normal(np.arange(n, dtype=float), np.ones(n)), {})
    ax = plots.history(trace, np.arange(n) + 7.0)
    forecast = line(ax, "forecast")
    assert len(forecast.get_xdata()) == 1500
    assert forecast.get_xdata() == approx(forecast.get_ydata() + 7.0)
    assert (forecast.get_xdata()[0], forecast.get_xdata()[-1]) == (7.0, n + 6.0)
    assert len(line(ax, "observed").get_ydata()) == n


def test_points_have_no_fan_and_levels_are_checked() -> None:
    assert len(plots.history(PassiveAggressive().run([[1.0], [1.0]], [1.0, 2.0])).collections) == 0
    with pytest.raises(ParameterError, match="levels is empty"):
        plots.history(normal_trace(), levels=())
    with pytest.raises(ParameterError, match="90 %"):
        plots.history(normal_trace(), levels=(90,))


def test_a_horizon_goes_on_where_the_series_ends() -> None:
    forecast = Ahead(np.array([1.0, 2.0, 3.0]), np.array([1.0, 4.0, 9.0]), np.arange(12.0).reshape(4, 3))
    own = Figure().subplots()
    assert plots.fan(forecast, np.arange(10.0), paths=2, ax=own) is own
    assert line(own, "observed").get_xdata() == approx(np.arange(10))
    assert line(own, "forecast").get_xdata() == approx([10, 11, 12])
    assert line(own, "forecast").get_ydata() == approx([1.0, 2.0, 3.0])
    low, high = edges(own, "90 % interval", np.array([10.0, 11.0, 12.0]))
    assert low == approx(np.array([1.0, 2.0, 3.0]) - 1.644854 * np.array([1.0, 2.0, 3.0]))
    assert high == approx(np.array([1.0, 2.0, 3.0]) + 1.644854 * np.array([1.0, 2.0, 3.0]))
    paths: list[Any] = list(own.get_lines())
    drawn = [tuple(path.get_ydata()) for path in paths]
    assert (0.0, 1.0, 2.0) in drawn
    assert (3.0, 4.0, 5.0) in drawn
    assert (6.0, 7.0, 8.0) not in drawn
    assert in_words(own).count("simulated") == 1


def test_a_horizon_repeats_the_steps_of_time_unless_the_future_times_are_given() -> None:
    forecast, y = Ahead(np.zeros(2), np.ones(2)), np.zeros(3)
    days = np.array(["2020-01-01", "2020-01-03", "2020-01-05"], dtype="datetime64[D]")
    ahead = line(plots.fan(forecast, y, days), "forecast").get_xdata(orig=True)
    assert list(ahead) == [np.datetime64("2020-01-07"), np.datetime64("2020-01-09")]
    later = days[1:] + np.timedelta64(30, "D")
    given = line(plots.fan(forecast, y, days, later), "forecast").get_xdata(orig=True)
    assert list(given) == list(later)
    with pytest.raises(ShapeError, match="pass future_time"):
        plots.fan(forecast, y[:1], days[:1])
    with pytest.raises(ShapeError, match="pass the moments of y as `time` too"):
        plots.fan(forecast, y, future_time=days[:2])
    with pytest.raises(ShapeError, match=r"future_time has shape \(3,\)"):
        plots.fan(forecast, y, days, days)


@pytest.mark.parametrize("n_steps", [1, 2])
def test_a_horizon_needs_no_history_and_may_be_one_step(n_steps: int, tmp_path: Path) -> None:
    ax = plots.fan(Ahead(np.zeros(n_steps), np.ones(n_steps)))
    assert line(ax, "forecast").get_xdata() == approx(np.arange(1, n_steps + 1))
    low, high = ax.get_ylim()
    assert low < -1.644854 < 1.644854 < high
    assert ax.get_xlabel() == "steps ahead"
    plots.save(ax, tmp_path / "plot.png")


def test_a_horizon_shows_the_end_of_a_long_history() -> None:
    forecast, y = Ahead(np.zeros(20), np.ones(20)), np.arange(1000.0)
    assert line(plots.fan(forecast, y), "observed").get_ydata() == approx(y[-80:])
    assert line(plots.fan(forecast, y, history=5), "observed").get_ydata() == approx(y[-5:])
    assert line(plots.fan(forecast, y), "forecast").get_xdata()[0] == 1000


def test_paths_that_a_forecast_does_not_hold_are_refused() -> None:
    with pytest.raises(NotReadyError, match="holds no simulated paths"):
        plots.fan(Ahead(np.zeros(2), np.ones(2)), paths=3)


def test_a_horizon_shows_all_of_its_widest_interval_however_quiet_the_past_was() -> None:
    low, high = plots.fan(Ahead(np.zeros(9), np.arange(1.0, 10.0) ** 6), np.array([-0.1, 0.1, 0.0])).get_ylim()
    assert low < -1.644854 * 9**3
    assert high > 1.644854 * 9**3


@pytest.mark.parametrize("model", [Naive(), Drift(), SeasonalNaive(4)])
def test_baselines_can_be_drawn(model: Baseline, tmp_path: Path) -> None:
    y = np.random.default_rng(0).normal(size=60).cumsum()
    trace = model.run(y)
    for plot in (plots.predictions, plots.history, plots.pit, plots.reliability, plots.coverage, plots.calibration):
        plots.save(plot(trace), tmp_path / "plot.png")
    plots.save(plots.fan(model.forecast(12), y=y), tmp_path / "plot.png")
