"""What carries a forecast: level, slope, seasons and exogenous columns, now and at each time."""

from typing import Any, NamedTuple

import numpy as np

from adabypass import notebook
from adabypass.data import Column, frames
from adabypass.data.cells import Array
from adabypass.data.text import printable
from adabypass.distributions.base import interval_names
from adabypass.validation import Floats

MAX_SHARES = 4
"""Number of structures that are printed."""
MAX_DATES = 4
"""Number of dates that are printed of a column of 0 and 1."""
MAX_POSITIONS = 31
"""Number of positions of a season that are printed; longer ones are in `to_frame()`."""
HARDLY_KNOWN = 100.0
"""Width, in levels, from which on an interval says that next to nothing is known."""


class Estimate(NamedTuple):
    """A number, or an array of them, with its central interval."""

    median: Any
    lower: Any
    upper: Any


class Season(NamedTuple):
    """What a season adds to the level."""

    positions: list[str]
    """Times of day, weekdays or months where times say what the period is; otherwise steps ahead."""
    effect: Estimate
    """At each position, arrays (n_positions,)."""


class Effect(NamedTuple):
    """What an exogenous column adds to the level."""

    per_unit: Estimate
    """Of one more; of a column of 0 and 1, when it is 1."""
    baseline: float
    """Value from which its contributions are counted: 0 if it is of 0 and 1, otherwise the mean of the past that was
    given, or of the first observations if none was."""
    is_switch: bool
    """Whether the values given are all 0 or 1: a promotion, a holiday."""
    on: Array
    """Times, or steps, at which a column of 0 and 1 is 1, those ahead included; empty for other columns."""


class Contributions(NamedTuple):
    """What each part adds to the mean at each time, past and ahead: the parts add up to it."""

    time: Array
    """Dates in local time; without dates, steps, of which 0 is the last observation."""
    column: Column
    """The times as tables show them, with their zone."""
    time_name: str
    target_name: str
    """What the observations are called."""
    y: Floats
    """The observations; nan where one is missing, and at future times."""
    mean: Floats
    """Mean of the forecast at future times; at past times, the mean of structures without lags, given all data."""
    parts: dict[str, Floats]
    """`level`, `slope` (since the last observation), `season_...`, exogenous columns; `zeros`, where 0 has a
    probability of its own; `other`, what lags, bounds and AutoBypass models add to the forecast."""
    n_ahead: int
    """Number of future times, which come last."""

    def columns(self) -> dict[str, Column]:
        """Return the columns of a table, by name."""
        is_taken = self.target_name in (self.time_name, "mean", *self.parts)
        target = "y" if is_taken else self.target_name
        found: dict[str, Column] = {self.time_name: self.column, target: self.y, "mean": self.mean}
        for name, values in self.parts.items():
            found[f"{name}_exog" if name == self.time_name else name] = values  # times may be an exogenous column too
        return found

    def to_frame(self, backend: frames.Backend = "pandas") -> Any:
        """Return a data frame with one record for each time: its time, the observation, `mean` and every part.

        Parameters
        ----------
        backend : "pandas", "polars" or "pyarrow"
        """
        return frames.make(self.columns(), backend)


class Explanation(NamedTuple):
    """Explanation of a forecast: level, slope, seasons, effects of columns, and the structures that carry it.

    `str()` is a table in words; `to_frame()` has its numbers, `contributions.to_frame()` those of each time.

    Examples
    --------
    >>> from adabypass import Forecaster, load_dataset
    >>> forecaster = Forecaster(period=12)
    >>> forecaster.learn(load_dataset("air_passengers").y)
    >>> found = forecaster.explain(horizon=12)
    >>> found.level.lower < found.level.median < found.level.upper
    True
    >>> list(found.seasons)
    ['season_12']
    """

    shares: dict[str, float]
    """Share of each structure, and one step ahead of each AutoBypass model, in the forecast, the largest first."""
    kinds: dict[str, float]
    """Share of what has a slope, a season, lags, and is of the log; they overlap."""
    level: Estimate
    """Of the series without its season, exogenous columns at their baseline, in its units; of structures without lags,
    as all that follows."""
    slope: Estimate
    """Change of the level in the next step."""
    seasons: dict[str, Season]
    """By name: `season_day`, `season_week`, `season_year` where times say so, otherwise `season_12`."""
    effects: dict[str, Effect]
    """Of each exogenous column, by name."""
    contributions: Contributions | Any
    """At each time, if a horizon or the past series was given."""
    period: str
    """Which periods the season has, and why."""
    probability: float
    """Of the intervals."""
    now: str
    """When the last observation was; "" without dates."""
    step: str = "step"
    """The time from one observation to the next, where it has a name: "day"."""

    @property
    def target_name(self) -> str:
        """What the observations are called."""
        return "y" if self.contributions is None else self.contributions.target_name

    def __repr__(self) -> str:
        return "\n".join(
            [
                *self._trend_lines(),
                *self._season_lines(),
                *self._effect_lines(),
                self._period(),
                *self._shares(),
            ]
        )

    def plot(self, ax: Any = None) -> Any:
        """Draw the level, each season, each exogenous column, and what carries the forecast; needs matplotlib.

        Parameters
        ----------
        ax : array of Axes, optional
            Where to draw, one for each panel; new axes if not given.

        Returns
        -------
        array of Axes
            A notebook shows them where they are the value of a cell; `plots.save` writes them to a file.

        Examples
        --------
        >>> from adabypass import Forecaster, load_dataset
        >>> forecaster = Forecaster()
        >>> forecaster.learn(load_dataset("nile").y)
        >>> axes = forecaster.explain(horizon=5).plot()
        """
        return notebook.plots().components(self, ax)

    def columns(self) -> dict[str, Column]:
        """Return the columns of a table of every estimate: part, position, median, and bounds."""
        rows = [("level", "", self.level), ("slope", "", self.slope)]
        for name, season in self.seasons.items():
            each = zip(*season.effect, strict=True)
            rows += [
                (name, position, Estimate(*effect)) for position, effect in zip(season.positions, each, strict=True)
            ]
        rows += [(name, "1" if it.is_switch else "per unit", it.per_unit) for name, it in self.effects.items()]
        names = ("part", "position", "median", *interval_names(self.probability))
        cells = zip(*((part, position, *estimate) for part, position, estimate in rows), strict=True)
        return {name: np.array(column) for name, column in zip(names, cells, strict=True)}

    def to_frame(self, backend: frames.Backend = "pandas") -> Any:
        """Return a data frame with one record for each estimate: `part`, `position`, `median` and the interval.

        Parameters
        ----------
        backend : "pandas", "polars" or "pyarrow"
        """
        return frames.make(self.columns(), backend)

    def _trend_lines(self) -> list[str]:
        when = f"  ({self.now})" if self.now else ""
        return [
            f"level  {_in_words(self.level)}{when}",
            f"slope  {_in_words(self.slope, sign='+')} {a_step(self.step)}",
        ]

    def _period(self) -> str:
        periods, _, reason = self.period.partition(": ")
        if periods == "none":
            return f"no season: {reason}"
        return f"the season comes again after {' and '.join(periods.split(', '))} {self.step}s: {reason}"

    def _season_lines(self) -> list[str]:
        lines = []
        for name, season in self.seasons.items():
            heading = season_in_words(name, self.step)
            if not np.any(season.effect):
                lines.append(f"{heading}  none")
                continue
            if len(season.positions) > MAX_POSITIONS:
                least, most = (pick(season.effect.median) for pick in (np.argmin, np.argmax))
                shown = [(season.positions[i], Estimate(*(each[i] for each in season.effect))) for i in (least, most)]
                lines.append(f"{heading}: {len(season.positions)} positions, the lowest and the highest of which are")
            else:
                every = (Estimate(*each) for each in zip(*season.effect, strict=True))
                shown = list(zip(season.positions, every, strict=True))
                lines.append(heading)
            width = max(len(position) for position, _ in shown)
            lines += [f"  {position:<{width}}  {self._effect(effect)}" for position, effect in shown]
        return lines

    def _effect_lines(self) -> list[str]:
        lines = []
        for name, effect in self.effects.items():
            per, more = "when 1", f"; {_dates(effect.on)}" if len(effect.on) else ""
            if not effect.is_switch:
                per, more = "a unit", f", counted from {effect.baseline:.4g}"
            elif effect.per_unit.upper - effect.per_unit.lower > HARDLY_KNOWN * abs(self.level.median):
                per += ", hardly known"
            lines.append(f"{printable(name)}  {self._effect(effect.per_unit)} {per}{more}")
        return lines

    def _effect(self, effect: Estimate) -> str:
        """Return an effect in words; in percent of the level as well, where logs carry the forecast."""
        is_relative = self.kinds["log"] > 0.5 and self.level.median > 0.0
        percent = f" ({100.0 * effect.median / self.level.median:+.3g} %)" if is_relative else ""
        return f"{_in_words(effect, percent, '+')}"

    def _shares(self) -> list[str]:
        rows = [f"{share:>6.1%}  {name}" for name, share in list(self.shares.items())[:MAX_SHARES]]
        others = list(self.shares.values())[MAX_SHARES:]
        if others:
            rows.append(f"{sum(others):>6.1%}  {len(others)} others")
        return ["the forecast is carried by", *rows]


def season_in_words(name: str, step: str) -> str:
    """Return the heading of a season, "by day of the week", from its name and the step of the series."""
    words = {"season_day": "by time of day", "season_week": "by day of the week", "season_year": "by time of the year"}
    return words.get(name) or f"season of {name.removeprefix('season_')} {step}s"


def a_step(step: str) -> str:
    """Return "a day" for "day"."""
    return f"{'an' if step == 'hour' else 'a'} {step}"


def in_words(time: Any) -> str:
    """Return a date without a "T" and without needless seconds; a number as it is."""
    if not isinstance(time, np.datetime64) or np.datetime_data(time.dtype)[0] in "YMWD":
        return str(time)
    units = [unit for unit in ("m", "s") if time.astype(f"M8[{unit}]") == time]
    return str(time.astype(f"M8[{units[0]}]") if units else time).replace("T", " ")


def _in_words(estimate: Estimate, percent: str = "", sign: str = "") -> str:
    median, lower, upper = (f"{value:{sign}.4g}" for value in estimate)
    return f"{median}{percent}, from {lower} to {upper}"


def in_days(time: Array) -> Array:
    """Return dates without a time of day where all of them are midnight."""
    if time.dtype.kind != "M" or np.datetime_data(time.dtype)[0] in "YMWD":
        return time
    days = time.astype("M8[D]")
    return days if (days == time).all() else time


def _dates(on: Array) -> str:
    shown = [in_words(each) for each in on]
    if len(shown) > MAX_DATES:
        shown = [*shown[: MAX_DATES // 2], "...", *shown[-MAX_DATES // 2 :]]
    return f"{len(on)} times: {', '.join(shown)}"
