"""A forecaster, and a panel of it, are called what the user wrote."""

from math import inf

import numpy as np
import pytest

from adabypass import AdaBypass, AutoBypass, Bypass, Forecaster, Panel

WRITTEN = [
    "Forecaster()",
    "Forecaster(period=12)",
    "Forecaster(period=[24, 168])",
    "Forecaster(support='positive')",
    "Forecaster(support=(0, 100))",
    "Forecaster(support=(0.5, inf))",
    "Forecaster(exog=['price'], missing='last')",
    "Forecaster(lags=2)",
    "Forecaster(lags=[1, 12], difference=1)",
    "Forecaster(AdaBypass(), lags=1, bias=False)",
    "Forecaster(AdaBypass(), lags=1)",
    "Forecaster(AutoBypass(intercept=False), lags=1)",
    "Forecaster(Bypass(epsilon=0.5), lags=3)",
]
NAMES = {"AdaBypass": AdaBypass, "AutoBypass": AutoBypass, "Bypass": Bypass, "Forecaster": Forecaster, "inf": inf}


@pytest.mark.parametrize("written", WRITTEN)
def test_a_forecaster_is_called_what_was_written(written: str) -> None:
    forecaster = eval(written, NAMES)
    assert forecaster.label == repr(forecaster) == written
    assert repr(Panel(forecaster)) == f"Panel(0 series of {written}, 0.0 MB)"


def test_how_much_was_seen_is_told_when_something_was() -> None:
    for forecaster in (Forecaster(), Forecaster(lags=1)):
        name = forecaster.label
        forecaster.learn(np.arange(10.0))
        assert repr(forecaster) == f"{name[:-1]}{', ' if '=' in name else ''}n_seen={forecaster.n_seen})"
        assert forecaster.label == name


def test_a_season_that_is_given_as_one_number_of_a_list_is_one_number() -> None:
    assert repr(Forecaster(period=[12.0])) == "Forecaster(period=12)"
