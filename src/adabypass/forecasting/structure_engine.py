"""The engine of `Forecaster()`: structures and regressions, weighed by their evidence."""

from collections.abc import Mapping
from functools import partial
from math import inf
from typing import Any, Self

import numpy as np

from adabypass.distributions.component import UNBOUNDED
from adabypass.distributions.mixture import Mixture
from adabypass.distributions.normal import Normal
from adabypass.distributions.predictive import Predictive
from adabypass.errors import NotReadyError, ShapeError
from adabypass.forecasting.engine import SeriesEngine
from adabypass.forecasting.exog_filling import fill_ahead
from adabypass.forecasting.explaining import explain
from adabypass.forecasting.observations import check_exog_row, too_short
from adabypass.forecasting.question import Question
from adabypass.forecasting.settings import Method, check_missing
from adabypass.forecasting.structure_paths import draw_paths, mixture_ahead
from adabypass.forecasting.structure_settings import (
    KIND,
    MAX_EXOG,
    StructureSettings,
    check_period,
    check_settings,
    check_support,
    describe_settings,
    design_of,
)
from adabypass.kernels.pool import PoolRunner
from adabypass.kernels.season import SeasonRunner
from adabypass.kernels.structure import StructureRunner
from adabypass.results.explanation import Explanation
from adabypass.results.forecast import Forecast
from adabypass.results.trace import Trace
from adabypass.snapshots.header import Header
from adabypass.state.pool import PoolSpec
from adabypass.state.season import LAYOUT, SeasonSpec, automatic_spec
from adabypass.validation import Floats

MIN_VAR = 1e-300
"""Variance of a normal in the place of a forecast that has none: of a series of zeros."""
SAME_PERIOD = 0.01
"""A cycle of the calendar that differs by a smaller part from a period is that period: 52.18 weeks a year are 52."""
BLOCK = 1000
"""Forecasts whose whole distributions are in memory at once, where a trace does not keep them: some 10 MB."""


AutomaticRunner = PoolRunner | SeasonRunner
"""Of a period that is given, or that is found in the data."""


class StructureEngine(SeriesEngine):
    """Forecasts by many structures at once.

    Parameters
    ----------
    settings : StructureSettings
    """

    kind = KIND
    name = "Forecaster"
    n_needed = 1
    has_moments = False

    def __init__(self, settings: StructureSettings) -> None:
        self.settings, self.exog, self.missing = settings, settings.exog, settings.missing
        self.support = settings.support

    def spec(self, n_exog: int) -> PoolSpec | SeasonSpec:
        """Return what compiled code needs to know of the settings."""
        return automatic_spec(self.settings.period, n_exog, self.missing, self.support)

    def check_n_exog(self, n_exog: int) -> None:
        if n_exog > MAX_EXOG:
            raise ShapeError(f"{n_exog} exogenous columns are too many; at most {MAX_EXOG} will do.")

    def new_row(self, n_inputs: int) -> Floats:
        self.check_n_exog(n_inputs)
        return self.spec(n_inputs).new_row()

    def row_size(self, n_inputs: int) -> int:
        self.check_n_exog(n_inputs)
        return self.spec(n_inputs).row_size

    def aligned_at(self, n_inputs: int) -> int | None:
        return 0

    def new_runner(self, row: Floats, n_inputs: int) -> AutomaticRunner:
        check = partial(check_exog_row, names=self.exog, missing=self.missing)
        spec = self.spec(n_inputs)
        return PoolRunner(spec, row, check) if isinstance(spec, PoolSpec) else SeasonRunner(spec, row, check)

    def check_row(self, row: Floats, n_inputs: int) -> None:
        self.spec(n_inputs).check_row(row)

    def shapes(self, n_inputs: int) -> list[tuple[str, list[int]]]:
        return self.spec(n_inputs).shapes()

    def n_seen(self, row: Floats, n_inputs: int) -> int:
        return int(row[0])

    def predictive(self, seen: Floats, records: Floats | None) -> Predictive:
        if records is not None and len(records):
            return self.spec(self.n_inputs_at_start).predictive(records)
        return Normal(seen[:, 0].copy(), np.maximum(seen[:, 1], MIN_VAR))

    def describe(self) -> dict[str, Any]:
        return describe_settings(self.settings)

    @classmethod
    def from_header(cls, header: Header) -> Self:
        """Return the engine that a header describes."""
        return cls(check_settings(header))

    def design(self, n_exog: int) -> str:
        return design_of(self.spec(n_exog))

    def is_ready(self, runner: AutomaticRunner | None) -> bool:
        return runner is not None and bool(runner.row[0] > 0.0)

    def not_ready(self, runner: AutomaticRunner | None) -> NotReadyError:
        return NotReadyError("forecasts begin when an observation was seen; update with one first.")

    def run(self, runner: AutomaticRunner, exog: Floats, y: Floats, keep_weights: bool, keep_predictive: bool) -> Trace:
        if (runner.row[0] == 0.0 and np.count_nonzero(~np.isnan(y)) < 2) or len(y) == 0:
            raise too_short(y, 1)
        first, forecasts, noise_scale = _forecasts(runner, exog, y, keep_predictive)
        return Trace.unchecked(y[first:], forecasts, {"noise_scale": noise_scale}, first=first)

    def forecast(
        self, runner: AutomaticRunner, exog: Floats, method: Method, n_paths: int, rng: np.random.Generator
    ) -> Forecast:
        state = runner.freeze(exog[0])  # so that no other thread moves it meanwhile
        spec, known = state.spec, self._fill(state.spec, state.row, exog)
        structures = StructureRunner(spec.structures, state.row)
        if method == "paths" and len(known) > 1:
            return Forecast.from_paths(draw_paths(structures, known, n_paths, rng, self.support))
        assert state.record is not None
        found = spec.with_regressions(mixture_ahead(structures, known, self.support), state.record[None])
        if method == "paths":
            return Forecast.from_paths(found.sample(rng, n_paths))
        return Forecast(found)

    def fill_ahead(self, row: Floats, exog: Floats) -> Floats:
        spec = self.spec(exog.shape[1])
        return self._fill(*((spec, row) if isinstance(spec, PoolSpec) else spec.current(row)), exog)

    def _fill(self, spec: PoolSpec, row: Floats, exog: Floats) -> Floats:
        mean, last = (spec.structures.view(row, name) for name in ("exog_mean", "exog_last"))
        return fill_ahead(exog, mean, last, self.missing)

    def explain(self, runner: AutomaticRunner, question: Question) -> Explanation:
        row, spec = runner.copy_row(), self.spec(runner.n_inputs)
        pool, own = (spec, row) if isinstance(spec, PoolSpec) else spec.current(row)
        inner = PoolRunner(pool, own)
        share = inner.shares if question.horizon <= 1 and self.support == UNBOUNDED else np.ones(1)
        named = dict(zip(pool.names, share, strict=False))
        mean, known = np.empty(0), self._fill(pool, own, question.exog_ahead)
        if question.horizon:
            rng = np.random.default_rng(0)  # of which nothing is drawn
            mean = self.forecast(self.new_runner(row, runner.n_inputs), known, "moments", 0, rng).mean
        exog = fill_ahead(question.exog, *self._exog_before(pool, own, question.exog), self.missing)
        asked = question._replace(exog_ahead=known, exog=exog)
        return explain(inner.structures, asked, named, _period_in_words(spec, row), mean)

    def _exog_before(self, spec: PoolSpec, row: Floats, exog: Floats) -> tuple[Floats, Floats]:
        """Return what fills missing exogenous values of the past: their mean, and the value before the first."""
        mean: Floats = spec.structures.view(row, "exog_mean")
        known = ~np.isnan(exog)
        first = exog[known.argmax(axis=0), np.arange(exog.shape[1])] if len(exog) else mean
        return mean, np.where(np.isnan(first), mean, first)

    def options(self) -> dict[str, Any]:
        given: dict[str, Any] = {}
        if self.settings.period is not None:
            period = self.settings.period
            given["period"] = period[0] if len(period) == 1 else list(period)
        if self.exog:
            given["exog"] = list(self.exog)
        if self.support != (-inf, inf):
            given["support"] = "positive" if self.support == (0.0, inf) else tuple(map(_brief, self.support))
        return given

    def periods(self, runner: AutomaticRunner | None) -> tuple[float, ...] | None:
        if self.settings.period is not None:
            return self.settings.period
        period = runner.period if isinstance(runner, SeasonRunner) else 0
        return (period,) if period else ()

    def with_settings(self, given: Mapping[str, Any]) -> "StructureEngine":
        own, checks = self.settings, {"period": check_period, "support": check_support, "missing": check_missing}
        defaults = {"period": None, "support": UNBOUNDED, "missing": "raise"}
        found = {}
        for name, value in given.items():
            checked: Any = checks[name](value)
            found[name] = self.filled(name, getattr(own, name), defaults[name], checked)
        return StructureEngine(own._replace(**found))

    @property
    def learns_cycles(self) -> bool:
        return True

    def with_period(self, period: tuple[float, ...] | None, cycles: tuple[float, ...] = ()) -> "StructureEngine":
        chosen = period if self.settings.period is None else self.settings.period
        more = [each for each in cycles if all(abs(each / one - 1.0) > SAME_PERIOD for one in chosen or ())]
        found = check_period((*(chosen or ()), *more)) if more else chosen
        return self if found == self.settings.period else StructureEngine(self.settings._replace(period=found))


def _forecasts(
    runner: AutomaticRunner, exog: Floats, y: Floats, keep_predictive: bool
) -> tuple[int, Mixture | Normal, Floats]:
    """Run a series; return the number of the first forecast, the forecasts, and the scale of their noise.

    Where whole distributions are not kept, their moments are taken block by block, so that few are in memory at once.
    """
    if keep_predictive:
        first, _, _, records = runner.run(exog, y, False, True)
        forecasts = runner.spec.predictive(records)
        return first, forecasts, _noise_scale(forecasts)
    firsts, blocks = 0, []
    for start in range(0, len(y), BLOCK):
        block = slice(start, start + BLOCK)
        first, _, _, records = runner.run(np.ascontiguousarray(exog[block]), y[block], False, True)
        firsts += first
        if len(records):
            found = runner.spec.predictive(records)
            blocks.append((found.mean, np.maximum(found.var, MIN_VAR), _noise_scale(found)))
    mean, var, noise_scale = (np.concatenate(each) for each in zip(*blocks, strict=True))
    return firsts, Normal(mean, var), noise_scale


def _brief(number: float) -> float:
    """Return a whole number as an int."""
    return int(number) if np.isfinite(number) and number == int(number) else number


def _noise_scale(forecasts: Mixture) -> Floats:
    """Return the root mean square scale of the structures' noise in each forecast."""
    parts = forecasts.components
    scale: Floats = np.sqrt(np.sum(parts["weight"] * parts["noise_scale"] ** 2, axis=1))
    return scale


def _period_in_words(spec: PoolSpec | SeasonSpec, row: Floats) -> str:
    """Say which periods the season has, and why."""
    if isinstance(spec, PoolSpec):
        return f"{', '.join(map(str, spec.periods)) or 'none'}: as given, or as the times tell"
    period, evidence, found_at = (LAYOUT.scalar(row, name) for name in ("period", "evidence", "found_at"))
    if not period:
        return "none: no season was found so far"
    return f"{period:g}: found after {found_at:g} observations, log evidence {evidence:.3g}"
