"""Plots show what the evaluation says of calibration."""

import numpy as np
import pytest
from pytest import approx

from adabypass import Normal, Trace, plots
from adabypass.evaluation import coverage_over_time, pit_histogram, reliability
from tests.plots.drawn import auto_trace, line, normal_trace


def test_pit_bars_are_the_histogram_s() -> None:
    trace = auto_trace()
    expected = pit_histogram(trace, 8, skip=20)
    ax = plots.pit(trace, bins=8, skip=20)
    bars = list(ax.containers[0])
    assert [bar.get_height() for bar in bars] == approx(list(expected.density))
    assert [bar.get_x() for bar in bars] == approx(list(expected.edges[:-1]))
    span = next(patch for patch in ax.patches if patch.get_label() == "95 % by chance").get_extents()
    low, high = (ax.transData.transform((0, end))[1] for end in expected.band)
    assert (span.y0, span.y1) == approx((low, high))


def test_reliability_points_are_those_of_the_evaluation() -> None:
    trace = normal_trace()
    expected = reliability(trace)
    ax = plots.reliability(trace)
    points, _, (bars,) = ax.containers[0]
    assert points.get_xdata() == approx(expected.nominal)
    assert points.get_ydata() == approx(expected.observed)
    lengths = [segment[1, 1] - segment[0, 1] for segment in bars.get_segments()]
    assert lengths == approx(list(2 * 1.96 * expected.standard_error))


def test_coverage_is_that_of_the_evaluation_beside_the_level_asked_for() -> None:
    trace = auto_trace()
    ax = plots.coverage(trace, level=0.8, window=30)
    assert line(ax, "within, of the last 30").get_ydata() == approx(coverage_over_time(trace, 0.8, 30), nan_ok=True)
    assert line(ax, "80 %").get_ydata() == approx(np.full(120, 0.8))


@pytest.mark.parametrize("n", [12, 33, 400])
def test_coverage_is_drawn_of_few_forecasts_too(n: int) -> None:
    rng = np.random.default_rng(0)
    trace = Trace(rng.normal(size=n), Normal(np.zeros(n), np.ones(n)), {})
    below = plots.calibration(trace)[2]
    drawn = next(line for line in below.lines if str(line.get_label()).startswith("within"))
    assert np.isfinite(drawn.get_ydata()).sum() > n / 2
