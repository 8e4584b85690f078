"""Fan charts from the data frame that `forecast` returned."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from matplotlib.figure import Figure

from adabypass import Naive, forecast, plots
from adabypass.errors import ParameterError, ShapeError, TableError, UnknownNameError
from tests.plots.drawn import edges, in_words, line

DAYS = np.datetime64("2024-01-01") + np.arange(40)
PAST = pd.DataFrame(
    {
        "unique_id": np.repeat([f"shop {i}" for i in range(14)], 40),
        "ds": np.tile(DAYS, 14),
        "y": np.random.default_rng(0).normal(size=(14, 40)).cumsum(axis=1).reshape(-1),
    }
)
ANSWER = forecast(PAST, 5, levels=[0.5, 0.9])


def some(*names: str) -> Any:
    return ANSWER[ANSWER["unique_id"].isin(names)]


@pytest.mark.parametrize("convert", [lambda frame: frame, pl.from_pandas, pa.Table.from_pandas])
def test_every_kind_of_frame_is_drawn(convert: Any, tmp_path: Path) -> None:
    ax = plots.fan(convert(some("shop 3").reset_index(drop=True)), convert(PAST))
    own = some("shop 3")
    np.testing.assert_allclose(line(ax, "forecast").get_ydata(), own["mean"])
    at = own["ds"].to_numpy().astype("M8[D]").astype(float)
    for level in (50, 90):
        low, high = edges(ax, f"{level} % interval", at)
        np.testing.assert_allclose(low, own[f"lower_{level}"])
        np.testing.assert_allclose(high, own[f"upper_{level}"])
    np.testing.assert_array_equal(line(ax, "observed").get_ydata(), PAST[PAST["unique_id"] == "shop 3"]["y"])
    assert ax.get_title(loc="left") == "shop 3"
    plots.save(ax, tmp_path / "fan.png")


def test_a_few_series_have_a_panel_each_and_one_legend(tmp_path: Path) -> None:
    axes = plots.fan(some("shop 1", "shop 2", "shop 13"), PAST)
    assert [ax.get_title(loc="left") for ax in axes] == ["shop 1", "shop 2", "shop 13"]
    assert all(ax.get_legend() is None for ax in axes)
    assert len(axes[0].figure.legends) == 1
    plots.save(axes, tmp_path / "fan.png")
    own = Figure().subplots(1, 2)
    assert (plots.fan(some("shop 1", "shop 2"), ax=own) == own).all()
    alone = Figure().subplots()
    assert plots.fan(some("shop 1"), ax=alone) is alone
    with pytest.raises(ShapeError, match="1 axes for 2 series"):
        plots.fan(some("shop 1", "shop 2"), ax=alone)


def test_rows_whose_observation_is_to_come_are_not_the_past() -> None:
    ahead = pd.DataFrame({"unique_id": "shop 1", "ds": DAYS[-1] + 1 + np.arange(5), "y": np.nan})
    ax = plots.fan(some("shop 1"), pd.concat([PAST, ahead]))
    assert line(ax, "observed").get_xdata()[-1] == DAYS[-1]


def test_a_series_without_ids_times_or_intervals_is_drawn(tmp_path: Path) -> None:
    y = np.arange(20.0) % 3
    ax = plots.fan(forecast({"y": y}, 4, Naive(), levels=()), {"y": y})
    assert line(ax, "observed").get_xdata()[-1] == 20
    assert line(ax, "forecast").get_xdata()[0] == 21
    assert in_words(ax) == ["forecast", "observed"]
    plots.save(ax, tmp_path / "fan.png")


def test_what_cannot_be_drawn_is_refused() -> None:
    with pytest.raises(ParameterError, match=r"14 series .* at most 12 .* \"unique_id\" is 'shop 0'"):
        plots.fan(ANSWER)
    with pytest.raises(ParameterError, match=r"no interval of level 0.8 .* has 0.5, 0.9"):
        plots.fan(some("shop 1"), levels=[0.8])
    with pytest.raises(TableError, match="pass what forecast"):
        plots.fan(PAST)
    with pytest.raises(UnknownNameError, match='no series "shop 1"'):
        plots.fan(some("shop 1"), PAST[PAST["unique_id"] == "shop 2"])
    with pytest.raises(ParameterError, match="has its times"):
        plots.fan(some("shop 1"), time=DAYS)


def test_a_target_of_another_name_has_to_be_named() -> None:
    frame = pd.DataFrame({"day": DAYS, "sold": np.arange(float(len(DAYS))), "price": 1.0})
    answer = forecast(frame, 3, target="sold", time="day")
    with pytest.raises(UnknownNameError, match=r'observations, one of sold, price: pass target="sold", say'):
        plots.fan(answer, frame)
    assert plots.fan(answer, frame, target="sold").get_ylabel() == "sold"
