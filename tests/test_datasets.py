"""The embedded series are what they say."""

import gzip
from importlib.resources import files

import numpy as np
import pytest
from pytest import approx

from adabypass import load_dataset
from adabypass.datasets import NAMES
from adabypass.errors import UnknownNameError
from tools import make_datasets


def test_nile_has_its_663_minima() -> None:
    nile = load_dataset("nile")
    assert len(nile.y) == len(nile.time) == 663
    assert (nile.time[0], nile.time[-1]) == (622, 1284)
    assert (np.diff(nile.time) == 1).all()
    assert nile.y[0] == approx(11.57)
    assert nile.y.mean() == approx(11.48125, abs=1e-5)
    assert "Toussoun" in nile.origin


def test_an_unknown_name_is_answered_with_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'nile'"):
        load_dataset("nil")
    with pytest.raises(UnknownNameError, match="the data sets are: 'nile', 'air_passengers', 'electricity', 'wind'"):
        load_dataset("sunspots")


def test_wind_has_its_40174_speeds_and_45_gaps() -> None:
    wind = load_dataset("wind")
    assert len(wind.y) == len(wind.time) == 40_174
    assert np.isnan(wind.y).sum() == 45
    assert str(wind.time[-1]) == "2014-10-07T00:30"
    assert wind.y[:3] == approx([6.87, 7.68, 7.35])
    assert "ENGIE" in wind.origin


def test_gold_comes_with_silver() -> None:
    gold = load_dataset("gold_silver")
    assert gold.x is not None
    assert gold.x.shape == (9132, 1)
    assert (gold.y[0], gold.x[0, 0]) == approx((100.0, 223.42))
    assert str(gold.time[-1]) == "2012-12-31"
    assert (np.diff(gold.time) > np.timedelta64(0, "D")).all()


@pytest.mark.parametrize("name", NAMES)
def test_every_series_names_its_licence_in_its_file_and_its_origin(name: str) -> None:
    place = next(each for each in files("adabypass.datasets").iterdir() if each.name.startswith(name))
    content = place.read_bytes()
    header = (gzip.decompress(content) if place.name.endswith(".gz") else content).decode().splitlines()[:2]
    licences = ("BSD-3-Clause", "Etalab Open Licence 2.0", "GPL-2 | GPL-3", "MIT")
    (licence,) = [each for each in licences if each in " ".join(header)]
    assert licence in load_dataset(name).origin


def test_airline_passengers_are_144_months() -> None:
    air = load_dataset("air_passengers")
    assert len(air.y) == 144
    assert (air.y[0], air.y[-1], air.y.max()) == (112, 432, 622)
    assert (str(air.time[0]), str(air.time[-1])) == ("1949-01", "1960-12")


def test_electricity_is_twelve_weeks_of_hours() -> None:
    demand = load_dataset("electricity")
    assert len(demand.y) == 12 * 7 * 24
    assert str(demand.time[-1]) == "2000-08-27T23"
    assert demand.y[0] == approx((22262 + 21756) / 2)
    assert demand.y.reshape(-1, 24).mean(axis=0).argmax() in range(9, 18)


def test_the_shop_has_twelve_products_whose_last_days_are_to_come() -> None:
    frame = load_dataset("retail").to_frame()
    assert frame["unique_id"].nunique() == 12
    assert (frame.groupby("unique_id")["y"].apply(lambda sold: sold.isna().sum()) == 28).all()
    assert frame[["promotion", "holiday"]].isin([0, 1]).all().all()
    assert sum(frame.groupby("unique_id")["y"].median() == 0) == 4


def test_the_metric_has_its_gap_and_its_incident() -> None:
    metric = load_dataset("metric")
    assert np.isnan(metric.y).sum() == 7
    assert str(metric.time[np.nanargmax(metric.y)])[:10] == "2026-03-19"


def test_the_simulated_ones_are_what_the_tool_writes() -> None:
    for name, made in (("retail", make_datasets.retail), ("metric", make_datasets.metric)):
        packed = files("adabypass.datasets").joinpath(f"{name}.csv.gz").read_bytes()
        assert gzip.decompress(packed).decode().splitlines() == made()


def test_a_data_set_is_a_frame_of_any_kind() -> None:
    assert load_dataset("gold_silver").to_frame("polars").columns == ["ds", "y", "x"]
    assert load_dataset("nile").to_frame("pyarrow").column_names == ["ds", "y"]
