"""The embedded series are what they say."""

import gzip
from importlib.resources import files

import numpy as np
import pytest
from pytest import approx

from adabypass import load_dataset
from adabypass.datasets import NAMES
from adabypass.errors import UnknownNameError


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
    with pytest.raises(UnknownNameError, match="the data sets are: 'nile', 'wind', 'gold_silver'"):
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
    licences = ("BSD-3-Clause", "Etalab Open Licence 2.0", "GPL-2 | GPL-3")
    (licence,) = [each for each in licences if each in " ".join(header)]
    assert licence in load_dataset(name).origin
