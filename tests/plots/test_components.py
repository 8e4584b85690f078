"""The picture of what an automatic forecaster has learned."""

from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure

from adabypass import Forecaster, plots
from adabypass.errors import ParameterError, ShapeError
from adabypass.forecasting.components import Explanation


def explained(period: int) -> Explanation:
    rng = np.random.default_rng(0)
    forecaster = Forecaster(period=period)
    forecaster.learn(rng.normal(size=60) + 3.0 * np.sin(2 * np.pi * np.arange(60) / 6))
    return forecaster.explain()


def test_shares_and_season_are_drawn(tmp_path: Path) -> None:
    found = explained(6)
    axes = plots.components(found)
    assert len(axes) == 2
    assert len(axes[0].patches) == 8
    np.testing.assert_allclose(axes[1].lines[0].get_ydata(), found.season.median)
    plots.save(axes, tmp_path / "components.png")


def test_without_a_season_there_are_shares_alone() -> None:
    own = Figure().subplots()
    assert plots.components(explained(1), ax=own)[0] is own


def test_what_is_no_explanation_is_refused() -> None:
    with pytest.raises(ParameterError, match="explain"):
        plots.components(3)  # type: ignore[arg-type]
    with pytest.raises(ShapeError, match="1 axes for 2 panels"):
        plots.components(explained(6), ax=Figure().subplots())
