"""What a panel is made of: the engine of its forecaster, or one that forecasts by a model from features."""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from adabypass.distributions.predictive import Predictive
from adabypass.errors import NotFiniteError, ParameterError, ShapeError
from adabypass.forecasting import Forecaster
from adabypass.forecasting.engine import Engine, SeriesEngine
from adabypass.forecasting.state import ENGINES, check_engine
from adabypass.kernels.runner import Runner
from adabypass.regressors import KINDS, Regressor
from adabypass.regressors.base import MAX_FEATURES
from adabypass.regressors.state import check_spec, describe_spec
from adabypass.snapshots.header import Header
from adabypass.validation import Floats, check_array


class ModelEngine(Engine):
    """Forecasts by a model: each observation comes with its features."""

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

    def new_runner(self, row: Floats, n_inputs: int) -> Runner:
        return self._sized(n_inputs)._new_runner(row, n_inputs)

    def check_row(self, row: Floats, n_inputs: int) -> None:
        self._sized(n_inputs)._spec.check_row(row, n_inputs)

    def shapes(self, n_inputs: int) -> list[tuple[str, list[int]]]:
        spec = self._sized(n_inputs)._spec
        return spec.layout.shapes(**spec.dims(n_inputs))

    def check_inputs(self, values: object, n: int, n_inputs: int | None) -> Floats:
        X = values
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
        """Return the model whose memory is a copy of the row."""
        return self._sized(n_inputs)._from_row(row, n_inputs)

    def predictive(self, seen: Floats, records: Floats | None) -> Predictive:
        return self.template._spec.predictive(seen[:, 0].copy(), seen[:, 1].copy(), records)

    def n_seen(self, row: Floats, n_inputs: int) -> int:
        return int(row[0])

    def describe(self) -> dict[str, Any]:
        kind = self.template._kind()
        return describe_spec(self.template._spec, kind)


class Given(NamedTuple):
    """What a panel is made of."""

    engine: Engine
    single: Callable[[Floats, int], Any]
    """Makes the forecaster, or the model, of one series: of a row, which it takes over, and the number of inputs."""


def engine_of(given: Forecaster | Regressor | None) -> Given:
    """Return how the series of a panel are forecast."""
    if given is None or isinstance(given, Forecaster):
        return _of_series(Forecaster()._engine if given is None else given._engine)
    if isinstance(given, Regressor) and given._spec.is_sparse:
        raise ParameterError(
            f"{given!r} has a covariance for sparse features; a panel holds models whose covariance is full."
        )
    if isinstance(given, Regressor):
        return _of_models(ModelEngine(given))
    raise ParameterError(
        f"forecaster is {given!r}, but must be a forecaster such as Forecaster(), or a model such as AutoBypass()."
    )


def described_engine(header: Header) -> Given:
    """Return the engine that a header describes."""
    kind = header.text("kind")
    if kind in ENGINES:
        return _of_series(check_engine(header))
    if kind not in KINDS:
        header.refuse(f"its series are of the kind {kind[:40]!r}, which this version does not have")
    return _of_models(ModelEngine(KINDS[kind]._of_spec(check_spec(header, KINDS[kind]._spec_type, kind))))


def _of_series(engine: SeriesEngine) -> Given:
    return Given(engine, partial(Forecaster._of, engine))


def _of_models(engine: ModelEngine) -> Given:
    return Given(engine, engine.single)
