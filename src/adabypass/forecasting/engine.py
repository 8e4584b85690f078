"""How series are forecast: what a row of numbers means, and what moves it.

An engine holds settings and no memory. `Forecaster` has one engine and one row, a panel one engine and many rows, a
stream a panel that is kept in a folder. They know of engines only what stands here.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, NoReturn

import numpy as np

from adabypass.distributions.component import UNBOUNDED
from adabypass.distributions.predictive import Predictive
from adabypass.distributions.record import RecordLayout
from adabypass.errors import NotReadyError, ParameterError
from adabypass.forecasting.observations import check_exog, check_exog_row
from adabypass.forecasting.question import Question
from adabypass.forecasting.settings import Method
from adabypass.kernels.runner import Runner
from adabypass.results.forecast import Forecast
from adabypass.results.trace import Trace
from adabypass.state.series import Missing
from adabypass.validation import Floats, shown

Names = tuple[str, ...] | None


class Engine(ABC):
    """A row with a runner. `n_inputs` is the number of values that come with an observation."""

    inputs: ClassVar[str]
    """What these values are called in messages."""
    forecasts_ahead: ClassVar[bool] = False
    """Whether series are forecast many steps ahead."""
    is_point: bool = False
    """Whether forecasts are points, without a distribution."""

    @property
    @abstractmethod
    def name(self) -> str:
        """Name of the model, for tables and messages."""

    @property
    def label(self) -> str:
        """What tables call it."""
        return self.name

    @property
    @abstractmethod
    def n_inputs(self) -> int | None:
        """Number of values that come with an observation; None until the first ones are seen."""

    @property
    @abstractmethod
    def n_inputs_at_start(self) -> int:
        """The same before any observation was seen; an error if it is not known."""

    @property
    def n_needed(self) -> int:
        """Number of observations that are needed before the first forecast."""
        return 0

    @abstractmethod
    def new_row(self, n_inputs: int) -> Floats:
        """Return the row of a series of which nothing was seen."""

    @abstractmethod
    def row_size(self, n_inputs: int) -> int:
        """Count the numbers of a row."""

    @abstractmethod
    def aligned_at(self, n_inputs: int) -> int | None:
        """Return which number of a row is best kept at the start of a cache line; None if it does not matter."""

    @abstractmethod
    def new_runner(self, row: Floats, n_inputs: int) -> Runner:
        """Return a runner, which takes over the row."""

    @abstractmethod
    def check_row(self, row: Floats, n_inputs: int) -> None:
        """Check the numbers of a saved row that compiled code relies on."""

    @abstractmethod
    def shapes(self, n_inputs: int) -> list[tuple[str, list[int]]]:
        """Return the name and the shape of every field of a row."""

    @abstractmethod
    def n_seen(self, row: Floats, n_inputs: int) -> int:
        """Return the number of observations that a row has learned from."""

    @abstractmethod
    def check_inputs(self, values: object, n: int, n_inputs: int | None) -> Floats:
        """Return a checked copy of what comes with `n` observations, shape (n, n_inputs)."""

    @abstractmethod
    def predictive(self, seen: Floats, records: Floats | None) -> Predictive:
        """Return forecasts one step ahead from their means and variances (n, 2 or more) and, if kept, their records."""

    @property
    def has_moments(self) -> bool:
        """Whether a runner computes mean, variance and log score; if not, they have to be taken from records."""
        return True

    @property
    def record_layout(self) -> RecordLayout | None:
        """Layout of the records of forecasts, where compiled code finds their intervals; None if it does not."""
        return None

    def learned_positions(self, names: tuple[str, ...], n_inputs: int) -> tuple[int, ...]:
        """Return where in a row the learned parameters of these names are; () if it has not all of them."""
        return ()

    @abstractmethod
    def describe(self) -> dict[str, Any]:
        """Return what a header says of the settings."""


class SeriesEngine(Engine):
    """An engine that forecasts a series from its own past: what a `Forecaster` consists of besides its row."""

    kind: ClassVar[str]
    """Name of the engine in a header."""
    inputs = "exogenous columns"
    forecasts_ahead = True
    iterates: ClassVar[bool] = False
    """Whether method="iterated" is known."""
    missing: Missing
    """What becomes of a missing exogenous value."""
    exog: Names
    """Names of the exogenous columns, if they were given."""
    support: tuple[float, float] = UNBOUNDED
    """Bounds of every forecast."""
    lags: tuple[int, ...] = ()
    """Which values before the next one are features of a model."""
    difference: int = 0
    """How often the series is differenced before a model."""

    @property
    def n_inputs(self) -> int | None:
        return None if self.exog is None else len(self.exog)

    @property
    def n_inputs_at_start(self) -> int:
        return self.n_inputs or 0

    @abstractmethod
    def check_n_exog(self, n_exog: int) -> None:
        """Refuse a number of exogenous columns that does not fit the settings."""

    def check_inputs(self, values: object, n: int, n_inputs: int | None) -> Floats:
        return check_exog(values, n, self.n_inputs if n_inputs is None else n_inputs, self.exog, self.missing)

    def check_exog_row(self, exog: object, n_exog: int | None) -> Floats:
        """Return a checked copy of the exogenous values of one observation."""
        return check_exog_row(exog, n_exog, self.exog, self.missing)

    @abstractmethod
    def is_ready(self, runner: Any) -> bool:
        """Return whether a forecast can be made."""

    @abstractmethod
    def not_ready(self, runner: Any) -> NotReadyError:
        """Return the error that says what is needed for a forecast; the runner is None if nothing was seen."""

    @abstractmethod
    def run(self, runner: Any, exog: Floats, y: Floats, keep_weights: bool, keep_predictive: bool) -> Trace:
        """Predict, then update, for every observation in turn, with a runner that no one else uses."""

    @abstractmethod
    def forecast(self, runner: Any, exog: Floats, method: Method, n_paths: int, rng: np.random.Generator) -> Forecast:
        """Forecast a step for each row of exogenous values; the runner does not change."""

    def model(self, runner: Any) -> Any:
        """Return the model inside as it is now, None if there is not one alone."""
        return None

    def explain(self, runner: Any, question: Question) -> Any:
        """Return what carries the forecast."""
        self.refuse_to_explain()

    def refuse_to_explain(self) -> NoReturn:
        """Raise the error that only `Forecaster()` without a model and lags can be explained."""
        raise ParameterError(
            "explain() says what carries the forecast of Forecaster() without a model and lags; the weights of this "
            "forecaster are in forecaster.model.weights."
        )

    def design(self, n_exog: int) -> str | None:
        """Return a checksum of the constants that a saved row depends on, beyond those in `describe`; None if none."""
        return None

    def feature_names(self, n_exog: int) -> list[str] | None:
        """Return what each feature of the model is; None where there is not one model alone."""
        return None

    @abstractmethod
    def options(self) -> dict[str, Any]:
        """Return the arguments of `Forecaster` that make this engine, but for its model: those that are no defaults."""

    def written_model(self) -> str | None:
        """Return the call that makes the model; None where `Forecaster` makes the same one by itself."""
        return None

    def written(self, n_seen: int = 0) -> str:
        """Return the call that makes such a forecaster, and how much it has seen."""
        model, options = self.written_model(), self.options()
        if self.missing != "raise":
            options["missing"] = self.missing
        if n_seen:
            options["n_seen"] = n_seen
        parts = [] if model is None else [model]
        return f"Forecaster({', '.join([*parts, *(f'{name}={value!r}' for name, value in options.items())])})"

    @property
    def label(self) -> str:
        """The call that makes such a forecaster."""
        return self.written()

    def periods(self, runner: Any) -> tuple[float, ...] | None:
        """Return the periods of the season, given or found so far; None where there can be none."""
        return None

    @abstractmethod
    def fill_ahead(self, row: Floats, exog: Floats) -> Floats:
        """Return the exogenous values of steps ahead, missing ones filled from what a row remembers."""

    @property
    def learns_cycles(self) -> bool:
        """Whether cycles of the calendar are periods of its season, and not exogenous columns."""
        return False

    @abstractmethod
    def with_settings(self, given: Mapping[str, Any]) -> "SeriesEngine":
        """Return an engine with further settings, where it has none of its own; refuse others than its own.

        Parameters
        ----------
        given : mapping of "missing", "period" or "support" to what `Forecaster` takes
        """

    def filled(self, name: str, own: Any, default: Any, value: Any) -> Any:
        """Return the setting that a value and the engine's own one come to."""
        if own not in (default, value):
            raise ParameterError(
                f"{name} is {shown(value)}, but the forecaster is {self.label}; leave {name} out, here or there."
            )
        return value

    def with_period(self, period: tuple[float, ...] | None, cycles: tuple[float, ...] = ()) -> "SeriesEngine":
        """Return an engine with these periods, where none were chosen, and with these cycles, where it learns them."""
        return self
