"""Public holidays as a feature of the calendar."""

import builtins
from typing import Any

import numpy as np
import pytest

import adabypass
from adabypass import Forecaster
from adabypass.data import calendar_features
from adabypass.errors import MissingExtraError, UnknownNameError

pd = pytest.importorskip("pandas")
pytest.importorskip("holidays")


def test_a_column_is_1_on_holidays_at_every_hour() -> None:
    time = np.array(["2024-12-24T23", "2024-12-25T00", "2024-12-25T23", "2024-12-27T12"], "M8[h]")
    columns, names = calendar_features(time, ["day", "holidays:DE"])
    assert names == ["day_sin", "day_cos", "holidays:DE"]
    assert columns[:, 2].tolist() == [0.0, 1.0, 1.0, 0.0]


def test_parts_of_a_country_have_holidays_of_their_own() -> None:
    time = np.array(["2024-01-06"], "M8[D]")  # Epiphany
    assert calendar_features(time, ["holidays:DE-BY"])[0].item() == 1.0
    assert calendar_features(time, ["holidays:DE-BE"])[0].item() == 0.0


@pytest.mark.parametrize("region", ["XX", "DE-XX", ""])
def test_unknown_regions_are_refused(region: str) -> None:
    with pytest.raises(UnknownNameError, match="no holidays of"):
        calendar_features(np.array(["2024-01-01"], "M8[D]"), [f"holidays:{region}"])


def test_without_the_package_it_is_said_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def fail(name: str, *args: Any, **options: Any) -> Any:
        if name == "holidays":
            raise ImportError(name)
        return real(name, *args, **options)

    monkeypatch.setattr(builtins, "__import__", fail)
    with pytest.raises(MissingExtraError, match=r"adabypass\[holidays\]"):
        calendar_features(np.array(["2024-01-01"], "M8[D]"), ["holidays:DE"])


def test_a_forecast_knows_the_holidays_to_come() -> None:
    time = pd.date_range("2021-01-01", "2024-12-23", freq="D")
    rng = np.random.default_rng(1)
    y = 100.0 - 40.0 * calendar_features(time.to_numpy(), ["holidays:DE"])[0][:, 0] + rng.normal(size=len(time))
    frame = pd.DataFrame({"ds": time, "y": y})
    found = adabypass.forecast(frame, 5, Forecaster(), calendar=["holidays:DE"])
    means = found.iloc[:, found.columns.get_loc("mean")].to_numpy() if "mean" in found else found["forecast"].to_numpy()
    assert means[0] == pytest.approx(100.0, abs=4.0)
    assert means[[1, 2]] == pytest.approx([60.0, 60.0], abs=6.0)
    assert means[[3, 4]] == pytest.approx([100.0, 100.0], abs=4.0)
