"""The pictures of the Nile study show what they are named after."""

import numpy as np
import pytest

from adabypass.experiments import nile, nile_picture


def test_the_picture_of_the_units_crosses_the_paper_s_figure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nile, "UNITS", (0.7, 0.8, 0.9))
    monkeypatch.setattr(nile.log_likelihoods, "__defaults__", ((0.7, 0.8, 0.9),))
    ax = nile_picture.log_likelihood_over_unit()
    converged = np.asarray(ax.lines[0].get_ydata(), dtype=float)
    assert converged[0] > nile.PAPER_LOG_LIKELIHOOD > converged[-1]
    assert ax.get_xlabel().endswith("(m)")
    labels = [line.get_label() for line in ax.lines]
    assert "the paper: -754.2" in labels


def test_the_forecasts_are_drawn_in_metres_above_the_gauge() -> None:
    ax = nile_picture.forecasts(nile.run())
    low, high = ax.get_ylim()
    assert 7 < low < 10
    assert 14 < high < 17
    assert ax.get_ylabel() == "yearly minimum (m)"
