"""Changes of regime and anomalies as they happen: one row of a stream after another."""

from math import nan
from typing import Any, Literal, NamedTuple

import numpy as np

from adabypass.distributions.base import Predictive
from adabypass.errors import ParameterError, ShapeError, StateError
from adabypass.numerics.limits import MAX_VALUE
from adabypass.results import alarms
from adabypass.state.alarms import LAYOUT, SIZE
from adabypass.validation import Floats, Integers, check_array, shown

FALSE_ALARMS = 0.001
"""Rate of false alarms, per row, if no other is asked for."""
MIN_RATE = 1e-12
KINDS: tuple[Literal["level", "noise", "slope"], ...] = ("level", "noise", "slope")


class Change(NamedTuple):
    """A change of regime that `Trace.changes` or a `ChangeMonitor` has found: when, and of what.

    Examples
    --------
    >>> from adabypass import AutoBypass
    >>> y = np.random.default_rng(0).normal(size=400) + np.where(np.arange(400) < 200, 0.0, 8.0)
    >>> (change,) = AutoBypass().run(np.ones((400, 1)), y).changes()
    >>> change.at, change.kind
    (200, 'level')
    """

    at: int
    """Index of the first row after the change, as estimated."""
    kind: Literal["level", "noise", "slope"]
    """What changed: the level, if values lie on one side of their forecasts; otherwise the scale of the noise, or a
    slope. What it was is told better 30 rows later, by how wrong the forecasts still are."""
    size: float
    """For a level, the mean of the deviates since the change; otherwise the log of their scale, below 0 for a smaller
    noise: both in units of the forecasts' usual standard deviation, and less than that of the change where the model
    adapts. Of a noise that is larger 30 rows later, the log of the errors' scale in that unit."""
    found_at: int
    """Index of the row that raised the alarm."""


class ChangeMonitor:
    """Raises an alarm when forecasts are wrong in a way that chance does not explain: a change or an anomaly.

    Every forecaster and regressor that has a distribution can be watched, row by row. The evidence for a change is an
    e-process: against each of ten changes of level and noise it has a bet, whose gain is the ratio of two densities of
    the newest deviate. An alarm is raised when the evidence reaches 1 / `false_alarms`, after which the monitor starts
    afresh. So with calibrated forecasts of a steady standard deviation the mean number of rows between two false alarms
    is at least 1 / `false_alarms`, at any age of the series. Deviates are also recalibrated by their own past, and the
    weaker of both gains counts: where little is known, forecasts that are not yet calibrated raise no alarm.

    A value is an anomaly if its forecast gives values as far out a probability of at most `false_alarms`, and the
    errors seen before, continued by a tail of power 3, do too. None is flagged in the first 0.05 / `false_alarms` rows.

    Parameters
    ----------
    memory : array (SIZE,), optional
        What another monitor remembered.
    false_alarms : number between 0 and 0.5
        Maximum rate of false alarms, per row: of changes, and of anomalies.

    Attributes
    ----------
    is_anomaly : bool
        Whether the newest value is an anomaly.

    Examples
    --------
    >>> import numpy as np
    >>> from adabypass import Forecaster
    >>> rng = np.random.default_rng(0)
    >>> forecaster, monitor = Forecaster(), ChangeMonitor()
    >>> for i, mean in enumerate([10.0] * 200 + [20.0] * 100):
    ...     y = rng.normal(mean, 1.0)
    ...     forecast = forecaster.step(y)
    ...     change = None if forecast is None else monitor.update(forecast, y)
    ...     if change:
    ...         print(i, change.kind, change.found_at - change.at)
    201 level 1
    """

    __slots__ = ("_memory", "false_alarms", "is_anomaly")

    def __init__(self, memory: Floats | None = None, *, false_alarms: float = FALSE_ALARMS) -> None:
        self.false_alarms = check_rate(false_alarms)
        self.is_anomaly = False
        self._memory = np.zeros(SIZE) if memory is None else _check_memory(memory)

    @property
    def memory(self) -> Floats:
        """All that the monitor remembers, as a copy."""
        return self._memory.copy()

    @property
    def n_rows(self) -> int:
        """Number of rows so far, the missing ones too."""
        return int(LAYOUT.scalar(self._memory, "n_rows"))

    @property
    def newest(self) -> Change | None:
        """The newest change; 30 rows after its alarm, what changed is named anew by how wrong forecasts still are."""
        row, kind, onset, size = alarms.newest_change(self._memory)
        return _change(row, kind, onset, size) if kind else None

    def update(self, forecast: Predictive, y: float, *, drift: float = nan) -> Change | None:
        """Learn how a value compares with its forecast; return what changed, if anything did.

        Parameters
        ----------
        forecast : Predictive
            One forecast, made before `y` was seen.
        y : float
            The value; nan if it is missing.
        drift : float, optional
            Drift rate of the weights that the model has learned, after `y`: it helps to name what changed.
        """
        deviates, errors, sds = standardised(forecast, y)
        return self.update_standardised(float(deviates), float(errors), float(sds), drift)

    def update_standardised(self, surprise: float, error: float, sd: float, drift: float = nan) -> Change | None:
        """Do the same, given numbers that were computed for many rows at once.

        Parameters
        ----------
        surprise : float
            `forecast.surprise(y)`; nan if the value is missing or nothing was known.
        error : float
            The value less the mean of its forecast, in standard deviations of the forecast.
        sd : float
            That standard deviation.
        drift : float, optional
        """
        is_changed, self.is_anomaly = alarms.update(self._memory, surprise, error, sd, drift, self.false_alarms)
        return self.newest if is_changed else None

    def run(self, forecasts: Predictive, y: Floats, drift: Floats | None = None) -> "Alarms":
        """Learn rows one after another, in compiled code; return the alarms.

        Parameters
        ----------
        forecasts : Predictive
            One for each row.
        y : array (n,)
            The values; nan where one is missing.
        drift : array (n,), optional
        """
        values = check_array(y, "y")
        deviates, errors, sds = (np.ascontiguousarray(each, np.float64) for each in standardised(forecasts, values))
        drifts = np.full(len(values), nan) if drift is None else np.ascontiguousarray(check_array(drift, "drift"))
        if any(each.shape != values.shape for each in (deviates, errors, sds, drifts)):
            raise ShapeError(f"y has shape {values.shape}, but forecasts, and drifts if given, must be as many.")
        start = self.n_rows
        changes, anomalies = alarms.run(self._memory, deviates, errors, sds, drifts, self.false_alarms)
        self.is_anomaly = bool(anomalies) and anomalies[-1] == len(values) - 1
        return Alarms([_change(*each) for each in changes], np.array(anomalies, dtype=np.intp) + start)


def _change(row: int, kind: int, onset: int, size: float) -> Change:
    return Change(onset, KINDS[kind - 1], size, row)


class Alarms(NamedTuple):
    """The alarms of many rows."""

    changes: list[Change]
    anomalies: Integers
    """Indices of rows."""


def standardised(forecasts: Predictive, y: Any) -> tuple[Any, Any, Any]:
    """Return the surprise of each value, its error in standard deviations of the forecast, and these."""
    distances, sds = y - np.asarray(forecasts.mean), forecasts.sd
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        errors = np.clip(np.where(distances == 0.0, 0.0, distances / sds), -MAX_VALUE, MAX_VALUE)
    return forecasts.surprise(y), errors, sds


def check_rate(false_alarms: float) -> float:
    """Check a rate of false alarms."""
    is_number = isinstance(false_alarms, float | int | np.floating) and not isinstance(false_alarms, bool)
    if not (is_number and MIN_RATE <= false_alarms < 0.5):
        raise ParameterError(
            f"false_alarms is {shown(false_alarms)}, but must lie between 0 and 0.5; pass 0.001 for one in 1,000 rows."
        )
    return float(false_alarms)


def _check_memory(memory: Floats) -> Floats:
    """Check what another monitor remembered, and copy it."""
    copied = np.array(memory, dtype=np.float64)
    if copied.shape != (SIZE,):
        raise StateError(f"the memory of a monitor has shape {copied.shape}, but must have shape ({SIZE},).")
    if not (np.isfinite(copied).all() and LAYOUT.scalar(copied, "newest_kind") in (0.0, 1.0, 2.0, 3.0)):
        raise StateError("the memory of a monitor is damaged: its numbers must be finite; start a new monitor.")
    return copied
