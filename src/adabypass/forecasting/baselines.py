"""Baselines: forecasts that any other must beat, with the same interface as `Forecaster`."""

from collections.abc import Mapping
from threading import Lock
from typing import Any, ClassVar, Self

import numpy as np

from adabypass.distributions.normal import StudentT
from adabypass.errors import NotEnoughDataError, NotReadyError, ParameterError, StateError
from adabypass.forecasting.forecaster import MAX_HORIZON, MAX_PATHS
from adabypass.forecasting.observations import check_exog, check_series
from adabypass.forecasting.random_walks import LAYOUT, MIN_DOF, N_SEEN, Walks
from adabypass.forecasting.settings import Method, check_method
from adabypass.forecasting.structure_settings import check_period
from adabypass.kernels.runner import hold
from adabypass.regressors.state import check_row
from adabypass.results.forecast import Forecast, card_ahead
from adabypass.results.trace import Trace
from adabypass.snapshots.container import Array, Snapshot
from adabypass.snapshots.header import Header
from adabypass.snapshots.savable import Savable
from adabypass.snapshots.versions import base_header
from adabypass.state.series import Missing
from adabypass.validation import Floats, as_rng, check_flag, check_int, check_target, shown

MAX_PERIOD = 100_000


class Baseline(Savable):
    """Base class of the baselines: exact forecasts of a random walk whose variance is learned online.

    Forecasts are Student's t distributions, one step ahead and many, and begin when the variance has three degrees of
    freedom. A missing observation (nan) lets the walk go on unseen. Exogenous values are accepted and not used, so that
    a baseline can be compared with a forecaster that uses them.

    Examples
    --------
    >>> from adabypass import Naive
    >>> isinstance(Naive(), Baseline)
    True
    """

    _has_drift: ClassVar[bool] = False
    is_point: ClassVar[bool] = False
    missing: ClassVar[Missing] = "mean"
    """Missing exogenous values do no harm."""

    def __init__(self, period: int = 1) -> None:
        self._set_up(check_int(period, "period", minimum=1, maximum=MAX_PERIOD))

    def _set_up(self, period: int) -> None:
        self._walks = Walks(period, self._has_drift)
        self._row = self._walks.new_row()
        self._lock = Lock()

    @property
    def period(self) -> int:
        """How many steps before it the value is that a forecast repeats."""
        return self._walks.period

    @property
    def is_ready(self) -> bool:
        """Whether enough was seen to make a forecast."""
        return self._walks.is_ready(self._row)

    @property
    def n_seen(self) -> int:
        """How many changes of the value were seen, from which the variance is learned."""
        return int(self._row[N_SEEN])

    def reset(self) -> None:
        """Forget everything that was seen."""
        row = self._walks.new_row()
        hold(self._lock, lambda: self._put(row))

    def _put(self, row: Floats) -> None:
        """Let another row be the model's: rows are replaced and never change, so that readers need no lock."""
        self._row = row

    def copy(self) -> Self:
        """Return a baseline that has learned the same, and is independent from here on."""
        twin = type(self).__new__(type(self))
        twin._set_up(self.period)
        twin._row = self._row
        return twin

    @property
    def _learns_cycles(self) -> bool:
        """Whether cycles of the calendar are periods of its season."""
        return False

    def _with_settings(self, given: Mapping[str, Any]) -> Self:
        """Return this baseline: it takes no settings, and has no use for exogenous values."""
        kind = type(self).__name__
        for name, value in given.items():
            if not self._takes(name):
                raise ParameterError(f"{name} is {shown(value)}, but {kind} has no use for it; leave it out.")
            if name == "period" and check_period(value) != (self.period,):
                raise ParameterError(
                    f"period is {shown(value)}, but that of {kind} is {self.period}; leave it out, or give the same."
                )
        return self

    def _takes(self, setting: str) -> bool:
        """Return whether it has a use for "missing", "period" or "support"."""
        return setting == "missing" or (setting == "period" and self.period > 1)

    def _with_period(self, period: Any, cycles: Any = ()) -> Self:
        """Return a copy: the period of a baseline is never another one's to choose."""
        return self.copy()

    def __repr__(self) -> str:
        period = f"period={self.period}, " if self.period > 1 else ""
        return f"{type(self).__name__}({period}n_seen={self.n_seen})"

    def _repr_html_(self) -> str:
        facts: dict[str, object] = {"changes seen": self.n_seen}
        return card_ahead(f"{type(self).__name__}()", facts, self.forecast if self.is_ready else None)

    def predict(self, exog: object = None) -> StudentT:
        """Forecast the next observation; exogenous values are not used."""
        return StudentT(*self._walks.predict(self._ready_row()))

    def update(self, y: object, exog: object = None) -> None:
        """Learn the next observation; nan if it is missing. Exogenous values are not used."""
        value = check_target(y)
        hold(self._lock, lambda: self._learn(value))

    def _learn(self, value: float) -> None:
        row = self._row.copy()
        self._walks.update(row, value)
        self._put(row)  # last, so that an error leaves all as it was

    def step(self, y: object, exog: object = None) -> StudentT | None:
        """Forecast the next observation, then learn that it was `y`.

        Returns
        -------
        StudentT
            The forecast that was made before; None while too little is known.
        """
        value = check_target(y)
        return hold(self._lock, lambda: self._step(value))

    def _step(self, value: float) -> StudentT | None:
        ahead = StudentT(*self._walks.predict(self._row)) if self.is_ready else None
        self._learn(value)
        return ahead

    def run(self, y: object, exog: object = None, *, keep_weights: bool = False, keep_predictive: bool = True) -> Trace:
        """Predict, then update, for every observation in turn.

        Parameters
        ----------
        y : array (n,)
            nan where the observation is missing.
        exog : array (n, n_exog), optional
            Not used.
        keep_weights, keep_predictive
            As in `Forecaster.run`; there are no weights, and the distributions are small and always kept.

        Returns
        -------
        Trace
            From the first observation that could be forecast on: `trace.first` is its number.
        """
        check_flag(keep_weights, "keep_weights")
        check_flag(keep_predictive, "keep_predictive")
        series = check_series(y)
        if exog is not None:
            check_exog(exog, len(series), None, None, "mean")
        return hold(self._lock, lambda: self._run(series))

    def _run(self, series: Floats) -> Trace:
        row, first = self._row.copy(), len(series)
        parts = np.empty((len(series), 3))
        for t, value in enumerate(series.tolist()):
            if self._walks.is_ready(row):
                first = min(first, t)
                parts[t] = self._walks.predict(row)
            self._walks.update(row, value)
        if first == len(series):
            raise NotEnoughDataError(
                f"y has {len(series)} observations, but the forecasts of {type(self).__name__} begin after "
                f"{self.period + MIN_DOF + self._has_drift} that are not missing; give a longer series."
            )
        mean, scale, dof = parts[first:].T
        forecasts = StudentT(mean.copy(), scale.copy(), dof.copy())
        trace = Trace.unchecked(series[first:].copy(), forecasts, {}, first=first)
        self._put(row)  # last, so that an error leaves all as it was
        return trace

    def forecast(
        self,
        horizon: int,
        exog: object = None,
        *,
        method: Method = "moments",
        n_paths: int = 1000,
        rng: np.random.Generator | int | None = None,
    ) -> Forecast:
        """Forecast `horizon` steps ahead: exactly, or by `n_paths` futures drawn with method="paths".

        Parameters
        ----------
        horizon : whole number from 1
        exog : optional
            Not used.
        method : "moments" or "paths"
            The exact distribution of each step, or draws of whole futures.
        n_paths : whole number from 2
        rng : Generator or seed, optional
            Where draws come from. The same seed gives the same paths.
        """
        steps = check_int(horizon, "horizon", minimum=1, maximum=MAX_HORIZON)
        check_method(method)
        draws = check_int(n_paths, "n_paths", minimum=2, maximum=MAX_PATHS) if method == "paths" else None
        generator = as_rng(rng)
        row = self._ready_row()
        if draws is None:
            return Forecast(self._walks.forecast(row, steps))
        return Forecast.from_paths(self._walks.paths(row, steps, draws, generator))

    def _ready_row(self) -> Floats:
        """Return the row, if enough was seen to make a forecast."""
        row = self._row
        if not self._walks.is_ready(row):
            needed = MIN_DOF + self._has_drift
            raise NotReadyError(
                f"the forecasts of {type(self).__name__} begin when {needed} changes of the value were seen, and "
                f"{self.n_seen} were; update with more first."
            )
        return row

    def _snapshot(self) -> tuple[dict[str, Any], dict[str, Array]]:
        row = self._row
        shapes = LAYOUT.shapes(period=self.period)
        header = base_header(type(self).__name__) | {
            "period": self.period,
            "n_seen": int(row[N_SEEN]),
            "layout": shapes,
        }
        return header, {"row": row}

    def _restore(self, snapshot: Snapshot) -> None:
        header = Header(snapshot.header, snapshot.name)
        kind = type(self).__name__
        if header.text("kind") != kind:
            header.refuse(f"it holds {header.text('kind')[:40]!r}, not a {kind}; use adabypass.load or from_bytes")
        period = header.whole("period", minimum=1, maximum=MAX_PERIOD)
        if period > 1 and type(self) is not SeasonalNaive:
            header.refuse(f"its period is {period}, but a {kind} has none")
        row = check_row(snapshot, header, LAYOUT.size(period=period), LAYOUT.shapes(period=period))
        try:
            Walks(period, self._has_drift).check_row(row)
        except StateError as error:
            header.refuse(str(error).rstrip("."))
        self._set_up(period)
        self._row = row


class Naive(Baseline):
    """Baseline that forecasts the last value: a random walk, whose variance grows with the number of steps ahead.

    Examples
    --------
    >>> model = Naive()
    >>> for value in (3.0, 4.0, 2.0, 3.0, 5.0):
    ...     model.update(value)
    >>> model.forecast(horizon=2)
    step         mean           sd               90 % interval
       1            5        2.236       1.62925 to   8.37075
       2            5        3.162      0.233046 to   9.76695
    """

    def __init__(self) -> None:
        super().__init__()


class SeasonalNaive(Baseline):
    """Baseline that forecasts the value one period before: a random walk for each phase of the season.

    Parameters
    ----------
    period : whole number from 1
        After how many steps the season comes again: 12 for monthly data.

    Examples
    --------
    >>> model = SeasonalNaive(4)
    >>> for value in (1.0, 5.0, 7.0, 2.0, 2.0, 5.0, 8.0, 3.0):
    ...     model.update(value)
    >>> model.forecast(horizon=4).mean
    array([2., 5., 8., 3.])
    """

    def __init__(self, period: int) -> None:
        super().__init__(period)


class Drift(Baseline):
    """Baseline that forecasts the last value plus the mean change for each step: a random walk with drift.

    Its variance grows faster than that of `Naive`, since the drift is uncertain too.

    Examples
    --------
    >>> model = Drift()
    >>> for value in (1.0, 2.5, 3.0, 4.5, 5.0):
    ...     model.update(value)
    >>> model.forecast(horizon=3).mean
    array([6., 7., 8.])
    """

    _has_drift = True

    def __init__(self) -> None:
        super().__init__()


BASELINES: dict[str, type[Baseline]] = {each.__name__: each for each in (Naive, SeasonalNaive, Drift)}
"""The baselines by name, as headers of saved ones name them."""
