"""The embedded series are what they say."""

import numpy as np
import pytest
from pytest import approx

from adabypass import load_dataset
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
    with pytest.raises(UnknownNameError, match="the data sets are: 'nile'"):
        load_dataset("sunspots")
