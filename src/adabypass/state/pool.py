"""The row of the automatic forecaster: the structures of a series, and AutoBypass models on its lags beside them."""

import zlib
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np

from adabypass.distributions.component import UNBOUNDED
from adabypass.distributions.mixture import Mixture
from adabypass.errors import StateError
from adabypass.numerics.noise import Family
from adabypass.state import structures as design
from adabypass.state.bank import AutoBypassSpec
from adabypass.state.bank_design import NOISE_MODELS
from adabypass.state.layout import LINE
from adabypass.state.past import Design
from adabypass.state.series import Missing, SeriesSpec
from adabypass.state.structure_forecasts import pooled, read_records, structure_mixture
from adabypass.state.structure_row import StructureSpec
from adabypass.validation import Floats


class RegressionSpec(AutoBypassSpec):
    """AutoBypass beside the structures, which know normal noise and logs already: three noise models, of y itself."""

    noise_models = tuple(
        each for each in NOISE_MODELS if each.family in (Family.FLEXIBLE, Family.MODERATE, Family.HEAVY)
    )


REGRESSION = RegressionSpec(transform="none")


class PoolState(NamedTuple):
    """What a forecast is made from: all of the same moment."""

    spec: "PoolSpec"
    row: Floats
    """A copy of the row of its structures."""
    record: Floats | None
    """Of the next forecast; None before anything was seen."""


class Part(NamedTuple):
    """Where a regression stands in the row."""

    start: int
    stop: int
    model: int
    """Where its model's own row begins, with the count of what it has learned from."""


@dataclass(frozen=True)
class PoolSpec:
    """What an automatic forecaster is told before it sees data.

    The row is that of the structures, then the evidence of the structures together and of each regression, then the row
    of each regression, which begins so that its vectors are at the start of a cache line where the whole row is.
    """

    periods: tuple[float, ...] = ()
    n_exog: int = 0
    missing: Missing = "raise"
    """What becomes of a missing exogenous value."""
    support: tuple[float, float] = UNBOUNDED
    """Bounds of every forecast."""

    @cached_property
    def structures(self) -> StructureSpec:
        """The structures, which come first in the row."""
        return StructureSpec(self.periods, self.n_exog)

    @cached_property
    def regressions(self) -> tuple[SeriesSpec, ...]:
        """AutoBypass on each set of lags; missing exogenous values come filled."""
        every = design.regression_lags(self.periods)
        return tuple(
            SeriesSpec(REGRESSION, Design(lags), is_judged=False, max_unknown=design.MAX_UNKNOWN) for lags in every
        )

    @property
    def names(self) -> tuple[str, ...]:
        """What the structures together and each regression are called."""
        lags = (", ".join(map(str, each.design.lags)) for each in self.regressions)
        return ("structures", *(f"AutoBypass on lags {each}" for each in lags))

    @cached_property
    def min_seen(self) -> tuple[int, ...]:
        """After how many observations learned each regression has a share in the forecast."""
        return tuple(design.REGRESSION_FROM * (1 + each.n_features(self.n_exog)) for each in self.regressions)

    @property
    def evidence(self) -> slice:
        """Where the evidence stands: of the structures together, then of each regression."""
        start = self.structures.row_size
        return slice(start, start + 1 + len(self.regressions))

    @cached_property
    def parts(self) -> tuple[Part, ...]:
        """Where each regression stands."""
        found, end = [], self.evidence.stop
        for each in self.regressions:
            start = end + -(end + (each.aligned_at(self.n_exog) or 0)) % LINE
            end = start + each.row_size(self.n_exog)
            found.append(Part(start, end, end - each.model.row_size(each.n_features(self.n_exog))))
        return tuple(found)

    @property
    def row_size(self) -> int:
        """Count the numbers of a row."""
        return self.parts[-1].stop

    @property
    def n_record(self) -> int:
        """Count the numbers that keep a forecast of one step."""
        m = len(self.regressions)
        return self.structures.n_record + 1 + m + m * (2 + self.regressions[0].model.n_record)

    def predictive(self, record: Floats) -> Mixture:
        """Return the forecast that a record describes, or the forecasts that many do: (n, n_record)."""
        records = np.atleast_2d(record)
        found = structure_mixture(self.structures, read_records(self.structures, records), self.support)
        found = self.with_regressions(found, records)
        return found[0] if record.ndim == 1 else found

    def with_regressions(self, structures: Mixture, records: Floats) -> Mixture:
        """Return forecasts of the structures mixed, from the first on, with those of the regressions in records."""
        models = [each.model for each in self.regressions]
        return pooled(structures, models, models[0].n_record, records[:, self.structures.n_record :])

    def new_row(self) -> Floats:
        """Return the memory of a forecaster that has seen nothing."""
        return self._blank.copy()

    @cached_property
    def _blank(self) -> Floats:
        row = np.zeros(self.row_size)
        row[: self.structures.row_size] = self.structures.new_row()
        for part, each in zip(self.parts, self.regressions, strict=True):
            row[part.start : part.stop] = each.new_row(self.n_exog)
        return row

    def shapes(self) -> list[tuple[str, list[int]]]:
        """Return the name and the shape of every field of a row; a regression is one, with a checksum of its fields."""
        return list(self._shapes)

    @cached_property
    def _shapes(self) -> tuple[tuple[str, list[int]], ...]:
        found = [*self.structures.shapes(), ("pool_evidence", [1 + len(self.regressions)])]
        end = self.evidence.stop
        for part, each, name in zip(self.parts, self.regressions, self.names[1:], strict=True):
            fields = zlib.crc32(str(each.shapes(self.n_exog)).encode())
            found += [(f"unused before {name}", [part.start - end]), (f"{name} {fields:08x}", [part.stop - part.start])]
            end = part.stop
        return tuple(found)

    def check_row(self, row: Floats) -> None:
        """Check the counts of a row that was saved, which compiled code indexes with."""
        self.structures.check_row(row[: self.structures.row_size])
        if not (row[self.evidence] <= 0.0).all():
            raise StateError("the row has evidence that is above 0, or none.")
        for part, each in zip(self.parts, self.regressions, strict=True):
            each.check_row(row[part.start : part.stop], self.n_exog)


@lru_cache(maxsize=256)
def pool_spec(
    periods: tuple[float, ...], n_exog: int, missing: Missing = "raise", support: tuple[float, float] = UNBOUNDED
) -> PoolSpec:
    """Return the spec; making it anew for each of many series would take longer than to learn some."""
    return PoolSpec(periods, n_exog, missing, support)
