"""What a panel is made of: rows of models, or rows of forecasters.

A panel asks nothing of its series but this: how long a row is and how it starts, the compiled runner that moves it, and
what the numbers that the runner returns amount to.
"""

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from adabypass.distributions.component import Components
from adabypass.distributions.predictive import Predictive, from_components
from adabypass.errors import NotFiniteError, ParameterError, ShapeError
from adabypass.forecasting import AutoForecaster, Forecaster
from adabypass.forecasting.exog_filling import fill_series_ahead
from adabypass.forecasting.observations import check_exog
from adabypass.forecasting.rows import with_row
from adabypass.forecasting.state import KIND as FORECASTER
from adabypass.forecasting.state import check_header, describe_settings
from adabypass.kernels.runner import Runner
from adabypass.regressors import KINDS, Regressor
from adabypass.regressors.base import MAX_FEATURES
from adabypass.regressors.state import check_spec, describe_spec
from adabypass.snapshots.header import Header
from adabypass.validation import Floats, check_array


class RowKind(ABC):
    """How the series of a panel are forecast: all with the same settings, each with a row of its own."""

    inputs: str
    """What the numbers that come with an observation are called in messages."""

    @property
    @abstractmethod
    def n_inputs(self) -> int | None:
        """How many numbers come with an observation; None until the first ones are seen."""

    @property
    @abstractmethod
    def n_inputs_at_start(self) -> int:
        """How many numbers come with an observation, before any was seen; an error if that is not known."""

    @abstractmethod
    def new_row(self, n_inputs: int) -> Floats:
        """Return the row of a series of which nothing was seen."""

    @abstractmethod
    def row_size(self, n_inputs: int) -> int:
        """Count the numbers of a row."""

    @abstractmethod
    def aligned_at(self, n_inputs: int) -> int | None:
        """Return which number of a row is best kept at the start of a cache line."""

    @abstractmethod
    def new_runner(self, n_inputs: int) -> Runner:
        """Return a runner that moves such rows, with scratch memory of its own."""

    @abstractmethod
    def check_row(self, row: Floats, n_inputs: int) -> None:
        """Check the counts of a row that was saved."""

    @abstractmethod
    def shapes(self, n_inputs: int) -> list[tuple[str, list[int]]]:
        """Return the name and the shape of every field of a row."""

    @abstractmethod
    def check_inputs(self, X: object, n: int, n_inputs: int | None) -> Floats:
        """Return a checked copy of what comes with `n` observations, shape (n, n_inputs)."""

    @abstractmethod
    def single(self, row: Floats, n_inputs: int) -> Forecaster | Regressor:
        """Return the forecaster, or the model, whose memory is a copy of `row`."""

    @abstractmethod
    def predictive(self, seen: Floats, records: Floats | None) -> Predictive:
        """Return many forecasts one step ahead: from means and variances (n, 2), and records if they were kept."""

    @abstractmethod
    def describe(self) -> dict[str, Any]:
        """Return what a header says of the kind."""

    @property
    def forecasts_ahead(self) -> bool:
        """Whether series are forecast many steps ahead."""
        return False

    @property
    def n_needed(self) -> int:
        """How many observations are needed before the first forecast."""
        return 0

    @abstractmethod
    def n_seen_at(self, n_inputs: int) -> int:
        """Return which number of a row counts the observations that were learned from."""

    @property
    @abstractmethod
    def name(self) -> str:
        """Return the name of the model, for messages."""

    def fill_ahead(self, row: Floats, X: Floats) -> Floats:
        """Return the numbers that come with steps ahead (n_steps, n_inputs), missing ones filled from a series' row."""
        return X

    def predictive_ahead(self, parts: Components) -> Predictive:
        """Return many forecasts, whichever steps ahead, from their components (n, n_components)."""
        return from_components(parts, self.name)


class ModelRows(RowKind):
    """Rows of a model: each observation comes with its features."""

    inputs = "features"

    def __init__(self, model: Regressor) -> None:
        self.template = model._untrained()
        self._n_given = model.n_features

    @property
    def n_inputs(self) -> int | None:
        return self._n_given

    @property
    def n_inputs_at_start(self) -> int:
        if self._n_given is None:
            raise ParameterError(
                f"ids came before the number of features is known; use {self.name}(n_features=...), or leave ids out."
            )
        return self._n_given

    @property
    def name(self) -> str:
        return type(self.template).__name__

    def _sized(self, n_inputs: int) -> Regressor:
        """Return the template for this number of features, which chooses its covariance."""
        spec = self.template._spec.for_features(n_inputs)
        if spec.is_sparse:
            raise ParameterError(
                f"a {self.name} with {n_inputs} features has a covariance for sparse features, which a panel does not "
                "hold; use covariance='full'."
            )
        return type(self.template)._of_spec(spec)

    def new_row(self, n_inputs: int) -> Floats:
        return self._sized(n_inputs)._spec.new_row(n_inputs)

    def row_size(self, n_inputs: int) -> int:
        return self._sized(n_inputs)._spec.row_size(n_inputs)

    def aligned_at(self, n_inputs: int) -> int | None:
        return self._sized(n_inputs)._spec.aligned_at(n_inputs)

    def new_runner(self, n_inputs: int) -> Runner:
        return self._sized(n_inputs)._new_runner(self.new_row(n_inputs), n_inputs)

    def check_row(self, row: Floats, n_inputs: int) -> None:
        self._sized(n_inputs)._spec.check_row(row, n_inputs)

    def shapes(self, n_inputs: int) -> list[tuple[str, list[int]]]:
        spec = self._sized(n_inputs)._spec
        return spec.layout.shapes(**spec.dims(n_inputs))

    def check_inputs(self, X: object, n: int, n_inputs: int | None) -> Floats:
        if X is None:
            raise ShapeError(f"X is missing, but {self.name} forecasts from features; pass an array ({n}, n_features).")
        table = check_array(X, "X", copy=True)
        table = table.reshape(n, -1) if table.ndim == 1 and len(table) == n and n_inputs in (None, 1) else table
        if table.ndim != 2 or len(table) != n or n_inputs not in (None, table.shape[1]):
            expected = "n_features" if n_inputs is None else str(n_inputs)
            raise ShapeError(f"X has shape {table.shape}, but must be ({n}, {expected}): a row for each observation.")
        if not 1 <= table.shape[1] <= MAX_FEATURES:
            raise ShapeError(f"X has {table.shape[1]} features, but a model has 1 to {MAX_FEATURES}.")
        if not np.isfinite(table).all():
            row, column = (int(i) for i in np.argwhere(~np.isfinite(table))[0])
            raise NotFiniteError(
                f"X[{row}, {column}] is {table[row, column]}, but a feature must be finite; fill it, or leave the row "
                "out."
            )
        return table

    def single(self, row: Floats, n_inputs: int) -> Regressor:
        return self._sized(n_inputs)._from_row(row, n_inputs)

    def predictive(self, seen: Floats, records: Floats | None) -> Predictive:
        return self.template._spec.predictive(seen[:, 0].copy(), seen[:, 1].copy(), records)

    def n_seen_at(self, n_inputs: int) -> int:
        return 0

    def describe(self) -> dict[str, Any]:
        kind = self.template._kind()
        return describe_spec(self.template._spec, kind)


class ForecasterRows(RowKind):
    """Rows of a forecaster: an observation may come with exogenous values."""

    inputs = "exogenous columns"

    def __init__(self, forecaster: Forecaster) -> None:
        self.template = forecaster.copy()
        self._n_given = self.template._n_exog(self.template._runner)
        self.template.reset()

    @property
    def n_inputs(self) -> int | None:
        return self._n_given

    @property
    def n_inputs_at_start(self) -> int:
        return self._n_given or 0

    @property
    def name(self) -> str:
        return type(self.template._untrained).__name__

    @property
    def forecasts_ahead(self) -> bool:
        return True

    @property
    def n_needed(self) -> int:
        return self.template._spec.design.n_values

    def new_row(self, n_inputs: int) -> Floats:
        self.template._check_features(n_inputs)
        return self.template._spec.new_row(n_inputs)

    def row_size(self, n_inputs: int) -> int:
        self.template._check_features(n_inputs)
        return self.template._spec.row_size(n_inputs)

    def aligned_at(self, n_inputs: int) -> int | None:
        return self.template._spec.aligned_at(n_inputs)

    def new_runner(self, n_inputs: int) -> Runner:
        return self.template._new_runner(self.new_row(n_inputs), n_inputs)

    def check_row(self, row: Floats, n_inputs: int) -> None:
        self.template._spec.check_row(row, n_inputs)

    def shapes(self, n_inputs: int) -> list[tuple[str, list[int]]]:
        return self.template._spec.shapes(n_inputs)

    def check_inputs(self, X: object, n: int, n_inputs: int | None) -> Floats:
        return check_exog(X, n, n_inputs, self.template.exog, self.template.missing)

    def fill_ahead(self, row: Floats, X: Floats) -> Floats:
        return fill_series_ahead(X, self.template._spec, row)

    def single(self, row: Floats, n_inputs: int) -> Forecaster:
        return with_row(self.template, row.copy(), n_inputs)

    def predictive(self, seen: Floats, records: Floats | None) -> Predictive:
        return self.template._spec.model.predictive(seen[:, 0].copy(), seen[:, 1].copy(), records)

    def n_seen_at(self, n_inputs: int) -> int:
        spec = self.template._spec
        return spec.row_size(n_inputs) - spec.model.row_size(spec.n_features(n_inputs))

    def describe(self) -> dict[str, Any]:
        template = self.template
        return {"kind": FORECASTER} | describe_settings(template._untrained, template._spec, template.exog)


def kind_of(given: Forecaster | Regressor | None) -> RowKind:
    """Return how the series of a panel are forecast."""
    if isinstance(given, AutoForecaster):
        raise ParameterError("a panel has no automatic forecasters yet; choose lags: Forecaster(lags=1), say.")
    if given is None or isinstance(given, Forecaster):
        return ForecasterRows(Forecaster(lags=1) if given is None else given)
    if isinstance(given, Regressor) and given._spec.is_sparse:
        raise ParameterError(
            f"{given!r} has a covariance for sparse features; a panel holds models whose covariance is full."
        )
    if isinstance(given, Regressor):
        return ModelRows(given)
    raise ParameterError(
        f"forecaster is {given!r}, but must be a forecaster such as Forecaster(lags=2), or a model such as "
        "AutoBypass()."
    )


def described_kind(header: Header) -> RowKind:
    """Return the kind that a header describes."""
    kind = header.text("kind")
    if kind == FORECASTER:
        untrained, spec, names = check_header(header)
        template = Forecaster.__new__(Forecaster)
        template._untrained, template._spec, template._names, template._runner = untrained, spec, names, None
        return ForecasterRows(template)
    if kind not in KINDS:
        header.refuse(f"its series are of the kind {kind[:40]!r}, which this version does not have")
    return ModelRows(KINDS[kind]._of_spec(check_spec(header, KINDS[kind]._spec_type, kind)))
