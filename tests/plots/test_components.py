"""The picture of what carries a forecast."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure

from adabypass import Explanation, Forecaster, plots
from adabypass.errors import ParameterError, ShapeError
from tests.plots.drawn import DAYS, in_words

SWITCH = (np.arange(130) % 11 == 3).astype(float)[:, None]


def explained(period: int, *, horizon: int | None = None, has_past: bool = False, is_rare: bool = False) -> Explanation:
    rng = np.random.default_rng(0)
    n = len(DAYS)
    forecaster = Forecaster(period=period, exog=["promotion"])
    y = 20.0 + rng.normal(size=n) + 3.0 * np.sin(2 * np.pi * np.arange(n) / 7) + 5.0 * SWITCH[:n, 0]
    if is_rare:
        y[rng.uniform(size=n) < 0.6] = 0.0
    forecaster.learn(y, SWITCH[:n])
    past: dict[str, Any] = {"y": y, "past_exog": SWITCH[:n], "time": DAYS} if has_past else {}
    return forecaster.explain(horizon, None if horizon is None else SWITCH[n : n + horizon], **past)


def titles(axes: Any) -> list[str]:
    return [ax.get_title(loc="left").partition(":")[0] for ax in axes]


def test_every_part_has_a_panel_past_and_ahead(tmp_path: Path) -> None:
    found = explained(7, horizon=10, has_past=True)
    axes = plots.components(found)
    assert titles(axes)[:4] == ["the series", "level", "exogenous columns", "by day of the week"]
    assert titles(axes)[-1] == "structures with the largest shares"
    it = found.contributions
    assert it is not None
    np.testing.assert_array_equal(axes[2].lines[0].get_ydata(), it.parts["promotion"])
    np.testing.assert_array_equal(axes[0].lines[2].get_ydata(), it.mean[-10:])
    assert in_words(axes[2])[0].startswith("promotion (+")
    np.testing.assert_array_equal(axes[3].lines[0].get_ydata(), found.seasons["season_week"].effect.median)
    assert [label.get_text() for label in axes[3].get_xticklabels()][:2] == ["Mon", "Tue"]
    assert len(axes[-1].patches) == 8
    assert [ax.get_ylabel() for ax in axes[:4]] == ["y", "y", "added to y", "added to y"]
    assert titles(axes)[1] == "level"
    assert axes[1].get_title(loc="left").endswith(" a day")
    first, last = axes[1].get_xlim()
    assert first <= DAYS[0].astype(float)
    assert last >= DAYS[-1].astype(float) + 10
    plots.save(axes, tmp_path / "components.png")


def test_what_is_now_alone_has_no_panel_over_time(tmp_path: Path) -> None:
    axes = plots.components(explained(7))
    assert titles(axes) == ["season of 7 steps", "exogenous columns", "structures with the largest shares"]
    plots.save(axes, tmp_path / "components.png")


@pytest.mark.parametrize("horizon", [1, 5])
def test_the_forecast_alone_and_zeros_can_be_drawn(horizon: int, tmp_path: Path) -> None:
    axes = plots.components(explained(1, horizon=horizon, is_rare=True))
    assert "zeros, and the rest of the forecast" in titles(axes)
    assert not any(title.startswith(("season", "by ")) for title in titles(axes))
    plots.save(axes, tmp_path / "components.png")


def test_axes_that_are_given_are_used() -> None:
    own = Figure().subplots(2, 1)
    assert (plots.components(explained(1), ax=own) == own).all()


def test_what_is_no_explanation_is_refused() -> None:
    with pytest.raises(ParameterError, match="explain"):
        plots.components(3)  # type: ignore[arg-type]
    with pytest.raises(ShapeError, match="1 axes for 3 panels, season of 7 steps, exogenous columns"):
        plots.components(explained(7), ax=Figure().subplots())
