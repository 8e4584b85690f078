"""Every series of two public collections: forecasts stay near the data. Skipped where the files are not there."""

import csv
import gzip
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest

from adabypass.forecasting import Forecaster
from adabypass.state import structures as design
from tests.forecasting.test_never_absurd import ROUNDING, check_distribution

DATA = Path(__file__).parents[2].parent / "shared/data"
FILES = ["m_competitions_dev.csv.gz", "chronos2_dev.csv.gz"]
HORIZON = 200


def series_of(path: Path) -> dict[str, tuple[float, np.ndarray]]:
    """Return the period and the training part of every series."""
    values, periods = defaultdict(list), {}
    with gzip.open(path, "rt") as file:
        for line in csv.DictReader(file):
            name = f"{line.get('task', '')} {line['unique_id']}"
            periods[name] = float(line["period"])
            if line["part"] == "train":
                values[name].append(float(line["y"]))
    return {name: (periods[name], np.array(found)) for name, found in values.items()}


@pytest.mark.slow
@pytest.mark.parametrize("name", FILES)
def test_every_forecast_of_a_collection_stays_near_its_data(name: str) -> None:
    path = DATA / name
    if not path.exists():
        pytest.skip(f"{name} is not there: it may not be embedded")
    for key, (period, y) in series_of(path).items():
        forecaster = Forecaster(period=period)
        forecaster.run(y, keep_predictive=False)
        ahead = forecaster.forecast(horizon=HORIZON)
        check_distribution(ahead.predictive, y)
        beyond = (design.RANGES_BEYOND + ROUNDING) * np.ptp(y) + ROUNDING * np.abs(y).max()
        if np.ptp(y) > 0.0:
            assert ahead.mean[1:].max() <= y.max() + beyond, key
            assert ahead.mean[1:].min() >= y.min() - beyond, key
