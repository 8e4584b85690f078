"""The picture of the wind study shows two days, and the horizon if there is one."""

from datetime import datetime, timedelta

import numpy as np
import pytest
from matplotlib.axes import Axes

from adabypass.experiments import wind, wind_picture


@pytest.fixture(scope="module")
def far() -> wind.Study:
    return wind.run(horizon=6, length=500)


def _days(ax: Axes) -> list[datetime]:
    """Return the first and the last moment that is shown, 9 minutes within the axis."""
    epoch = datetime(1970, 1, 1)
    first, last = (epoch + timedelta(minutes=round(1440 * days)) for days in ax.get_xlim())
    return [first + timedelta(minutes=9), last - timedelta(minutes=9)]


def test_one_step_gives_one_panel_with_times_and_units() -> None:
    (ax,) = wind_picture.wind(wind.run(length=400))
    assert ax.get_ylabel() == "wind speed (m/s)"
    first, last = _days(ax)
    assert (last - first).total_seconds() == 287 * 600  # two days, of a series that ends before the chosen ones
    assert last.isoformat() == "2014-01-03T19:30:00"


def test_the_days_that_were_chosen_are_shown_where_they_are_there(
    far: wind.Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wind_picture, "FIRST_DAY", np.datetime64("2014-01-02"))
    panels = wind_picture.wind(far)
    assert _days(panels[0])[0].isoformat() == "2014-01-02T00:00:00"


def test_many_steps_are_drawn_against_hours(far: wind.Study) -> None:
    _, crps, log_loss = wind_picture.wind(far)
    assert crps.get_xlabel() == log_loss.get_xlabel() == "hours ahead"
    for ax in (crps, log_loss):
        assert [line.get_label() for line in ax.get_lines()] == ["AutoBypass", "BYPASS", "SKF"]
        assert ax.get_lines()[0].get_xdata()[-1] == 1.0
    assert crps.get_lines()[1].get_ydata()[5] == far.ahead[1].scores[5].crps
    assert crps.get_yscale() == "linear"


def test_scores_that_run_away_are_drawn_on_a_logarithmic_axis(far: wind.Study) -> None:
    last = far.ahead[2]
    scores = [score._replace(crps=1000.0 * score.crps) for score in last.scores]
    _, crps, _ = wind_picture.wind(far._replace(ahead=[*far.ahead[:2], last._replace(scores=scores)]))
    assert crps.get_yscale() == "log"
    assert np.isfinite(crps.get_ylim()).all()
