"""The engine of a forecaster with lags: a model whose features are past values and exogenous columns."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Self

import numpy as np

from adabypass.distributions.mixture import Mixture
from adabypass.distributions.predictive import Predictive, concatenate, from_components
from adabypass.distributions.record import RecordLayout
from adabypass.errors import NotReadyError, ParameterError, ShapeError
from adabypass.forecasting.engine import Names, SeriesEngine
from adabypass.forecasting.exog_filling import fill_series_ahead
from adabypass.forecasting.horizon import draw_paths
from adabypass.forecasting.observations import check_exog_row, too_short
from adabypass.forecasting.settings import MAX_LAGS, Method, check_missing, check_names, check_settings
from adabypass.kernels.series import SeriesRunner
from adabypass.regressors import KINDS, Regressor
from adabypass.regressors.base import MAX_FEATURES
from adabypass.regressors.state import check_spec, describe_spec
from adabypass.results.forecast import Forecast
from adabypass.results.trace import Trace
from adabypass.snapshots.header import Header
from adabypass.state.series import LAYOUT, SeriesSpec
from adabypass.validation import Floats, shown


class LagEngine(SeriesEngine):
    """Forecasts by one model.

    Parameters
    ----------
    untrained : Regressor
        The model, which has learned nothing.
    spec : SeriesSpec
        Its hyperparameters, and the features that it is given.
    exog : tuple of str, optional
    """

    kind = "lags"
    iterates = True

    def __init__(self, untrained: Regressor, spec: SeriesSpec, exog: Names) -> None:
        self.untrained, self.spec, self.exog, self.missing = untrained, spec, exog, spec.missing
        self.is_point, self.lags, self.difference = untrained.is_point, spec.design.lags, spec.design.difference
        if exog is not None:
            self.check_n_exog(len(exog))

    @property
    def name(self) -> str:
        return type(self.untrained).__name__

    @property
    def n_needed(self) -> int:
        return self.spec.design.n_values

    def check_n_exog(self, n_exog: int) -> None:
        n_features = self.spec.n_features(n_exog)
        if n_features == 0:
            raise ShapeError("there are neither lags nor exogenous columns to forecast from; give lags or exog.")
        if n_features > MAX_FEATURES:
            raise ShapeError(f"{n_features} features are too many; at most {MAX_FEATURES} will do.")

    def new_row(self, n_inputs: int) -> Floats:
        self.check_n_exog(n_inputs)
        return self.spec.new_row(n_inputs)

    def row_size(self, n_inputs: int) -> int:
        self.check_n_exog(n_inputs)
        return self.spec.row_size(n_inputs)

    def aligned_at(self, n_inputs: int) -> int | None:
        return self.spec.aligned_at(n_inputs)

    def new_runner(self, row: Floats, n_inputs: int) -> SeriesRunner:
        check = partial(check_exog_row, names=self.exog, missing=self.missing)
        return SeriesRunner(self.untrained._kernel_of(self.spec.model), self.spec, row, n_inputs, check)

    def check_row(self, row: Floats, n_inputs: int) -> None:
        self.spec.check_row(row, n_inputs)

    def shapes(self, n_inputs: int) -> list[tuple[str, list[int]]]:
        return self.spec.shapes(n_inputs)

    def n_seen(self, row: Floats, n_inputs: int) -> int:
        return int(self.spec.model_row(row, n_inputs)[0])

    def predictive(self, seen: Floats, records: Floats | None) -> Predictive:
        return self.spec.model.predictive(seen[:, 0].copy(), seen[:, 1].copy(), records)

    def describe(self) -> dict[str, Any]:
        design = self.spec.design
        return {
            "kind": self.kind,
            "model": describe_spec(self.spec.model, self.untrained._kind()),
            "lags": list(design.lags),
            "difference": design.difference,
            "bias": design.bias,
            "missing": self.missing,
            "exog": None if self.exog is None else list(self.exog),
        }

    @classmethod
    def from_header(cls, header: Header) -> Self:
        """Return the engine that a header describes."""
        model = header.part("model")
        kind = model.text("kind")
        if kind not in KINDS:
            model.refuse(f"its model is of the kind {kind[:40]!r}, which this version does not have")
        untrained = KINDS[kind]._of_spec(check_spec(model, KINDS[kind]._spec_type, kind))
        bias = header.flag("bias") or untrained.has_intercept
        lags, difference = header.wholes("lags", minimum=1, maximum=MAX_LAGS), header.value("difference")
        missing: Any = header.text("missing")
        names = header.texts_or_none("exog")
        spec = check_settings(untrained, lags, None, difference, bias, missing)
        return cls(untrained, spec, None if names is None else check_names(names))

    @property
    def record_layout(self) -> RecordLayout | None:
        model = self.spec.model
        return model.record_layout if model.forecast_type is Mixture else None

    def learned_positions(self, names: tuple[str, ...], n_inputs: int) -> tuple[int, ...]:
        model = self.spec.model
        if not set(names) <= set(model.learned):
            return ()
        start = self.spec.row_size(n_inputs) - model.row_size(self.spec.n_features(n_inputs))
        return tuple(start + model.layout.position(name) for name in names)

    def is_ready(self, runner: SeriesRunner | None) -> bool:
        return self.n_needed == 0 if runner is None else bool(runner.is_ready)

    def not_ready(self, runner: SeriesRunner | None) -> NotReadyError:
        if self.n_needed == 0:
            return NotReadyError("this forecaster has learned nothing yet; let it see an observation first.")
        return NotReadyError(
            f"forecasts begin when {self.n_needed} observations are there, and {self._n_filled(runner)} are; "
            "update with more first."
        )

    @staticmethod
    def _n_filled(runner: SeriesRunner | None) -> int:
        return 0 if runner is None else int(LAYOUT.scalar(runner.row, "n_filled"))

    def run(self, runner: SeriesRunner, exog: Floats, y: Floats, keep_weights: bool, keep_predictive: bool) -> Trace:
        n_lacking = self.n_needed - self._n_filled(runner)
        first, history, weights, records = runner.run(exog, y, keep_weights, keep_predictive)
        if first == len(y):
            raise too_short(y, n_lacking)
        kept = records if keep_predictive else None
        return self.untrained._trace(self.spec.model, y[first:].copy(), history, weights, kept, first)

    def forecast(
        self, runner: SeriesRunner, exog: Floats, method: Method, n_paths: int, rng: np.random.Generator
    ) -> Forecast:
        row = runner.copy_row()
        known = self.fill_ahead(row, exog)
        twin = self.new_runner(row, runner.n_inputs)  # so that no other thread moves it meanwhile
        if method == "iterated":
            one_step = (twin.step(values, np.nan) for values in known)
            return Forecast(concatenate([each for each in one_step if each is not None]))
        if method == "moments":
            return Forecast(from_components(twin.forecast_steps(known), self.name))
        return draw_paths(self.model(twin), twin, self.spec, known, n_paths, rng)

    def fill_ahead(self, row: Floats, exog: Floats) -> Floats:
        return fill_series_ahead(exog, self.spec, row)

    def model(self, runner: SeriesRunner | None) -> Regressor:
        if runner is None:
            return self.untrained.copy()
        return self.untrained._from_row(self.spec.model_row(runner.row, runner.n_inputs), runner.n_features)

    def feature_names(self, n_exog: int) -> list[str]:
        bias = ["bias"] if self.spec.design.bias else []
        lags = [f"lag {lag}" for lag in self.spec.design.lags]
        return bias + lags + list(self.exog or (f"exog {i}" for i in range(n_exog)))

    def written_model(self) -> str | None:
        usual = type(self.spec.model)().for_lags().changed()
        given = {name: value for name, value in self.spec.model.changed().items() if usual.get(name) != value}
        return None if self.name == "AutoBypass" and not given else self.untrained._written(given)

    def with_settings(self, given: Mapping[str, Any]) -> "LagEngine":
        for name in given.keys() - {"missing"}:
            raise ParameterError(
                f"{name} is {shown(given[name])}, but the forecaster is {self.label}, and {name} is for Forecaster() "
                f"without a model and lags; leave it out."
            )
        if "missing" not in given:
            return self
        missing = self.filled("missing", self.missing, "raise", check_missing(given["missing"]))
        return LagEngine(self.untrained, replace(self.spec, missing=missing), self.exog)

    def options(self) -> dict[str, Any]:
        n = len(self.lags)
        given: dict[str, Any] = {"lags": n if self.lags == tuple(range(1, n + 1)) else list(self.lags)}
        if self.exog:
            given["exog"] = list(self.exog)
        if self.difference:
            given["difference"] = self.difference
        if not (self.spec.design.bias or self.untrained.has_intercept):
            given["bias"] = False
        return given
