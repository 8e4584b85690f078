"""What a notebook shows: every object has a small table that is valid, escaped, and readable on light and dark."""

from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from adabypass import (
    AutoBypass,
    Forecaster,
    Naive,
    Panel,
    PassiveAggressive,
    Stream,
    Trace,
    compare,
    evaluate,
    load_dataset,
    notebook,
)  # fmt: skip

MINIMA = load_dataset("nile").y[:120]
NAME = "<b>&Nile</b>"


def stream() -> Stream:
    made = Stream(None, Forecaster(lags=1), target="y", key="id")
    made.learn([{"id": NAME, "y": float(y)} for y in MINIMA])
    return made


def panel() -> Panel:
    made = Panel(Forecaster(lags=1))
    made.run(MINIMA.reshape(12, 10), ids=[NAME, *range(11)])
    return made


def learned(model: Any) -> Any:
    model.learn(MINIMA) if hasattr(model, "learn") else model.run(MINIMA)
    return model


def regression(model: Any) -> Any:
    rng = np.random.default_rng(0)
    model.run(rng.normal(size=(40, 3)), rng.normal(size=40))
    return model


SHOWN: dict[str, Callable[[], Any]] = {
    "new regressor": AutoBypass,
    "regressor": lambda: regression(AutoBypass()),
    "sparse regressor": lambda: regression(AutoBypass(covariance="diagonal")),
    "point regressor": lambda: regression(PassiveAggressive()),
    "new forecaster": Forecaster,
    "forecaster": lambda: learned(Forecaster(period=12)),
    "point forecaster": lambda: learned(Forecaster(PassiveAggressive(), lags=1)),
    "new baseline": Naive,
    "baseline": lambda: learned(Naive()),
    "forecast": lambda: learned(Forecaster()).forecast(30),
    "point forecast": lambda: learned(Forecaster(PassiveAggressive(), lags=1)).forecast(3),
    "trace": lambda: Forecaster().run(np.where(np.arange(120) % 9 == 0, np.nan, MINIMA)),
    "blank trace": lambda: AutoBypass().run(np.ones((3, 1)), np.full(3, np.nan)),
    "evaluation": lambda: evaluate(MINIMA, Forecaster(lags=1), horizon=3, every=10),
    "comparison": lambda: compare(MINIMA, [Forecaster(lags=1), Naive()], horizon=2, every=10),
    "panel": panel,
    "empty panel": lambda: Panel(Forecaster()),
    "panel of regressors": lambda: Panel(AutoBypass(n_features=2)),
    "stream": stream,
}


DRAWN = ("regressor", "forecaster", "baseline", "forecast", "trace", "evaluation", "comparison", "panel", "stream")


@pytest.mark.parametrize("name", SHOWN)
def test_what_a_notebook_shows_is_valid_and_loads_nothing(name: str) -> None:
    shown = SHOWN[name]()._repr_html_()
    ElementTree.fromstring(shown)  # every element is closed, every special character escaped
    assert "http" not in shown
    assert "<script" not in shown


@pytest.mark.parametrize("name", DRAWN)
def test_it_has_a_sparkline_in_the_colours_of_the_notebook(name: str) -> None:
    shown = SHOWN[name]()._repr_html_()
    assert "<svg" in shown
    for fixed in ("black", "white", "#000", "#fff"):
        assert f'"{fixed}"' not in shown.lower()


def test_names_from_the_data_are_escaped() -> None:
    for shown in (panel()._repr_html_(), stream()._repr_html_()):
        assert "&lt;b&gt;&amp;Nile&lt;/b&gt;" in shown
        assert NAME not in shown


def test_a_closed_stream_is_shown_without_its_series(tmp_path: Path) -> None:
    with Stream(tmp_path / "kept", Forecaster(lags=1), target="y") as made:
        made.learn([{"y": 1.0}, {"y": 2.0}])
    assert "closed" in made._repr_html_()


def test_a_sparkline_breaks_at_gaps_and_thins_out_long_series() -> None:
    gap = notebook.sparkline(np.array([1.0, 2.0, np.nan, 3.0, 4.0]), np.array([4.0, 5.0]))
    assert gap.count("<path") == 3
    long = notebook.sparkline(np.arange(100_000.0), np.arange(100_000.0))
    assert len(long) < 6_000
    assert notebook.sparkline(np.array([np.nan]), np.array([np.nan])) == ""


def test_a_constant_and_huge_values_have_a_place() -> None:
    for values in (np.zeros(3), np.array([-1e308, 1e308, 0.0])):
        ElementTree.fromstring(notebook.sparkline(values, values, values, values))
    assert notebook.bars(np.array([np.inf])) == ""


def test_a_long_table_shows_its_ends() -> None:
    shown = notebook.table("t", ("step",), [(n,) for n in range(100)])
    assert shown.count("<tr>") == 1 + notebook.MAX_ROWS
    assert ">99<" in shown
    assert ">50<" not in shown


def test_a_notebook_is_quick_to_show_a_long_trace() -> None:
    """Nothing of a mixture is asked for but means and variances."""
    y = np.zeros(5)
    trace = Trace(y, AutoBypass().run(np.ones((5, 1)), np.arange(5.0)).predictive, {})
    trace._repr_html_()
    assert "crps" not in trace.__dict__
    assert "log_score" not in trace.__dict__
