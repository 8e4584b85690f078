"""Plots show the weights, parameters and changes of the trace."""

from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure
from pytest import approx

from adabypass import AutoBypass, Bypass, EvidenceBypass, PassiveAggressive, Trace, plots
from adabypass.errors import NotReadyError, ShapeError, UnknownNameError
from adabypass.state.bank import AutoBypassSpec
from tests.plots.drawn import auto_trace, in_words, line, normal_trace


@pytest.mark.parametrize("trace", [auto_trace(), normal_trace()], ids=["auto", "ada"])
def test_weights_are_drawn_with_bands_of_one_and_two_standard_deviations(trace: Trace) -> None:
    assert trace.weights_mean is not None
    assert trace.weights_var is not None
    ax = plots.weights(trace, names=["first", "second"])
    known = trace.weights_var[:, 0] < 1e200
    assert known[2:].all()
    for i, name in enumerate(["first", "second"]):
        assert line(ax, name).get_ydata()[known] == approx(trace.weights_mean[known, i])
    two, one = ax.collections[:2]
    for band, reach in ((two, 2), (one, 1)):
        corners = np.concatenate([path.vertices for path in band.get_paths()])
        at = np.flatnonzero(known)[-1]
        expected = trace.weights_mean[at, 0] + reach * np.sqrt(trace.weights_var[at, 0]) * np.array([-1, 1])
        drawn = corners[corners[:, 0] == at, 1]
        assert [drawn.min(), drawn.max()] == approx(expected)


def test_weights_that_were_not_kept_or_named_are_asked_for() -> None:
    with pytest.raises(NotReadyError, match="keep_weights=True"):
        plots.weights(Bypass().run([[1.0]], [1.0]))
    with pytest.raises(ShapeError, match="there are 1 names for 2 weights"):
        plots.weights(normal_trace(), names=["only"])


def test_weights_without_a_distribution_are_lines() -> None:
    trace = PassiveAggressive().run(np.ones((5, 1)), np.arange(5.0), keep_weights=True)
    ax = plots.weights(trace)
    assert trace.weights_mean is not None
    assert line(ax, "weight 0").get_ydata() == approx(trace.weights_mean[:, 0])
    assert len(ax.collections) == 0


def test_each_parameter_has_a_panel_and_the_shares_are_stacked_up_to_one() -> None:
    trace = auto_trace()
    axes = plots.parameters(trace)
    assert [ax.get_title(loc="left") for ax in axes] == ["noise scale", "epsilon", "drift", "drift shares"]
    scale = axes[0].get_lines()[0].get_ydata()
    assert np.isnan(scale[0])  # nothing is known of it before the second observation
    assert scale[1:] == approx(trace.history["noise_scale"][1:])
    assert len(axes[3].collections) == len(AutoBypassSpec.drift_logs)
    bottom = trace.history["drift_share_0"]
    corners = np.concatenate([path.vertices for path in axes[3].collections[1].get_paths()])
    moment = corners[corners[:, 0] == 100, 1]
    assert [moment.min(), moment.max()] == approx([bottom[100], bottom[100] + trace.history["drift_share_1"][100]])
    top = np.concatenate([path.vertices for path in axes[3].collections[-1].get_paths()])
    assert top[top[:, 0] == 100, 1].max() == approx(1.0)
    assert in_words(axes[3])[0] == "33"  # the fastest rate, exp(3.5), stands on top


def test_what_belongs_to_one_observation_is_not_drawn_as_learned_unless_asked_for() -> None:
    trace = normal_trace()
    titles = [ax.get_title(loc="left") for ax in plots.parameters(trace)]
    assert titles == ["drift precision", "noise precision", "a", "b", "epsilon"]
    (only,) = plots.parameters(trace, names=["noise_mean"])
    assert only.get_lines()[0].get_ydata() == approx(trace.history["noise_mean"])


def test_parameters_use_the_axes_they_are_given() -> None:
    own = Figure().subplots(2)
    assert list(plots.parameters(auto_trace(), names=["drift", "drift_share_5"], ax=own)) == list(own)
    assert own[0].get_yscale() == "log"
    single = Figure().subplots()
    assert list(plots.parameters(auto_trace(), names=["epsilon"], ax=single)) == [single]
    with pytest.raises(ShapeError, match="there are 2 axes for the panels epsilon; pass one for each"):
        plots.parameters(auto_trace(), names=["epsilon"], ax=own)


def test_parameters_that_are_not_there_are_named() -> None:
    with pytest.raises(UnknownNameError, match="no parameter 'sigma' in this trace; it has noise_scale, epsilon"):
        plots.parameters(auto_trace(), names=["sigma"])
    with pytest.raises(NotReadyError, match="learns nothing but weights"):
        plots.parameters(EvidenceBypass().run([[1.0]], [1.0]))


def test_changes_are_marked_where_they_are_and_kinds_differ_in_shape() -> None:
    rng = np.random.default_rng(0)
    x, at = rng.normal(size=(1200, 1)), np.arange(1200)
    level, slope, scale = np.where(at < 300, 0.0, 6.0), np.where(at < 600, 1.0, 6.0), np.where(at < 900, 1.0, 5.0)
    y = level + slope * x[:, 0] + scale * rng.normal(size=1200)
    trace = AutoBypass().run(x, y)
    found = trace.changes()
    assert {change.kind for change in found} == {"level", "noise", "slope"}
    ax = plots.changes(trace, np.arange(1200) + 1000.0)
    drawn: list[Any] = list(ax.get_lines())
    uprights = [(u.get_xdata()[0], u.get_linestyle()) for u in drawn if list(u.get_ydata()) == [0, 1]]
    lines = {(u.get_linestyle(), u.get_color()) for u in drawn if list(u.get_ydata()) == [0, 1]}
    assert len(lines) == 3
    assert sorted(at for at, _ in uprights) == [change.at + 1000.0 for change in found]
    assert in_words(ax)[0] == "observed"
    words = {
        "level": ("lower level", "higher level"),
        "noise": ("smaller noise", "larger noise"),
        "slope": ("other slopes", "other slopes"),
    }
    assert {words[change.kind][change.size > 0] for change in found} == set(in_words(ax)[1:])


def test_changes_of_any_distribution_are_drawn() -> None:
    assert in_words(plots.changes(normal_trace()))[0] == "observed"


def test_many_weights_differ_in_colour_or_line() -> None:
    trace = Bypass().run(np.ones((4, 20)), np.arange(4.0), keep_weights=True)
    looks = {(drawn.get_color(), str(drawn._dash_pattern)) for drawn in plots.weights(trace).get_lines()}  # type: ignore[attr-defined]
    assert len(looks) == 20
