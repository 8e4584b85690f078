"""The spec of an AutoBypass whose season has a share by evidence: three models in one row."""

from dataclasses import fields, replace
from enum import IntEnum
from functools import cached_property, lru_cache
from typing import Any, ClassVar, NamedTuple

import numpy as np

from adabypass.distributions.component import COMPONENT, UNBOUNDED, MixtureExtras
from adabypass.distributions.mixture import Mixture
from adabypass.distributions.predictive import Normal, Predictive
from adabypass.distributions.record import RecordLayout
from adabypass.errors import ParameterError, StateError
from adabypass.state.bank import AutoBypassSpec
from adabypass.state.layout import LINE, Field, Layout, vectors
from adabypass.validation import Floats, shown

MAX_WAVES = 3
"""Maximum number of waves over the season that are features."""
STEP_SIZE = 384
"""Size of the memory that a step of each part needs, in float64."""
SHARED = "shared"
"""The season of saved hyperparameters where it has a share by evidence."""


_NO_SHARE = np.zeros(1, COMPONENT)
_NO_SHARE["weight"] = _NO_SHARE["noise_scale"] = 1.0


class Part(IntEnum):
    """The models of a row, each a whole AutoBypass."""

    STEPS = 0
    """Each step of the season has an effect on the forecast and on the noise scale."""
    NONE = 1
    """There is no season."""
    WAVES = 2
    """Waves over the season are features, before those that are given."""


class Place(NamedTuple):
    """Where a part stands in the row, and the number of its features."""

    start: int
    stop: int
    n_features: int


class SharedSeasonSpec(AutoBypassSpec):
    """The hyperparameters of an AutoBypass with a season, in whose row there are three models."""

    forecast_type: ClassVar[type] = object  # a pool of forecasts, which compiled code leaves to `predictive`

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "layout", _layout(self.steps.layout))

    @cached_property
    def steps(self) -> AutoBypassSpec:
        """Spec of the part that learns each step of the season. Its row comes first."""
        return AutoBypassSpec(**{each.name: getattr(self, each.name) for each in fields(self)})

    @cached_property
    def parts(self) -> tuple[AutoBypassSpec, ...]:
        """Spec of every `Part`."""
        plain = replace(self.steps, period=1)
        return self.steps, plain, plain

    @property
    def n_waves(self) -> int:
        """Number of features that waves over the season are; a sine of half the period is 0."""
        return min(2 * MAX_WAVES, self.period - 1)

    def places(self, n_features: int) -> tuple[Place, ...]:
        """Return where every part stands. All of them have `walk_mean` at the start of a cache line."""
        return _places(self, n_features)

    def part_rows(self, row: Floats, n_features: int) -> tuple[Floats, ...]:
        """Return a view of the row of every part."""
        return tuple(row[place.start : place.stop] for place in self.places(n_features))

    def dims(self, n_features: int) -> dict[str, int]:
        steps, none, waves = self.places(n_features)
        beside = {
            "n_before_none": none.start - steps.stop,
            "n_none": none.stop - none.start,
            "n_before_waves": waves.start - none.stop,
            "n_waves": waves.stop - waves.start,
        }
        return self.steps.dims(n_features) | beside

    def aligned_at(self, n_features: int) -> int:
        return self.steps.aligned_at(n_features)

    def n_scratch(self, n_features: int) -> int:
        places = self.places(n_features)
        of_parts = sum(spec.n_scratch(n) + LINE for spec, (_, _, n) in zip(self.parts, places, strict=True))
        return self.n_waves + n_features + LINE + len(Part) * STEP_SIZE + of_parts

    def constants(self) -> tuple[float, ...]:
        steps, plain, _ = self.parts
        return (*steps.constants(), *plain.constants())

    def _new_row(self, n_features: int) -> Floats:
        row = np.zeros(self.row_size(n_features))
        for spec, place, part in zip(self.parts, self.places(n_features), self.part_rows(row, n_features), strict=True):
            part[:] = spec.new_row(place.n_features)
        return row

    def check_row(self, row: Floats, n_features: int) -> None:
        for spec, place, part in zip(self.parts, self.places(n_features), self.part_rows(row, n_features), strict=True):
            spec.check_row(part, place.n_features)
        if not (self.view(row, "season_evidence", n_features) <= 0.0).all():
            raise StateError("the row has evidence that is above 0, or none.")

    def widened(self, row: Floats, n_features: int, more: int, were_zero: bool = False) -> Floats:
        wide = self.new_row(n_features + more)
        if np.array_equal(row, self.new_row(n_features)):
            return wide  # nothing was seen: waves and features share the prior variance as if made together
        self.view(wide, "season_evidence", n_features + more)[:] = self.view(row, "season_evidence", n_features)
        for spec, place, old, new in zip(
            self.parts,
            self.places(n_features),
            self.part_rows(row, n_features),
            self.part_rows(wide, n_features + more),
            strict=True,
        ):
            new[:] = spec.widened(old.copy(), place.n_features, more, were_zero)
        return wide

    @property
    def record_layout(self) -> RecordLayout | None:  # type: ignore[override]
        return None  # a record holds one of each part

    @cached_property
    def _record_layouts(self) -> tuple[RecordLayout, ...]:
        return tuple(each.record_layout for each in self.parts)

    @property
    def n_record(self) -> int:
        return 3 * len(Part) + sum(each.size for each in self._record_layouts)

    def record_size(self, row: Floats, n_features: int, y: Floats) -> int:
        return self.n_record

    def predictive(self, mean: Any, var: Any, record: Floats | None = None) -> Predictive:
        if record is None:
            return Normal.unchecked(mean, var)
        m, records, parts = len(Part), record[None] if record.ndim == 1 else record, []
        start, means, variances = 3 * m, records[:, m : 2 * m].T.copy(), records[:, 2 * m : 3 * m].T.copy()
        for k, of_part in enumerate(self._record_layouts):
            part, layout = _narrowed(records[:, start : start + of_part.size], of_part)
            start += of_part.size
            parts.append(Mixture.from_record(part, layout, means[k], variances[k]))
        share = np.zeros((len(records), 1 + m))  # a pool without components of its own
        share[:, 1:] = records[:, :m]
        own = np.repeat(_NO_SHARE, len(records))[:, None]
        is_blank = np.isnan(records[:, m])
        own["mean"][is_blank] = np.nan  # nothing is known: then there is no pool
        at = np.where(is_blank, -1, np.arange(len(records)))
        extras = MixtureExtras(np.zeros(len(records)), UNBOUNDED, share, at, tuple(parts))
        forecast = Mixture.with_extras(own[0] if record.ndim == 1 else own, extras)
        forecast._fill(mean, var)
        return forecast

    def hyperparameters(self) -> dict[str, Any]:
        return super().hyperparameters() | {"season": SHARED}

    def for_lags(self) -> AutoBypassSpec:
        return self.steps.for_lags()

    def as_sparse(self) -> AutoBypassSpec:
        return self.steps.as_sparse()


def bank_spec(*, season: str | None = None, **hyperparameters: Any) -> AutoBypassSpec:
    """Return the spec with saved hyperparameters."""
    if season is None:
        return AutoBypassSpec(**hyperparameters)
    if season != SHARED:
        raise ParameterError(f"season is {shown(season)}, but must be {SHARED!r}.")
    return share_season(AutoBypassSpec(**hyperparameters))


def share_season(spec: AutoBypassSpec) -> AutoBypassSpec:
    """Return the spec in which the season, if there is one, has a share by evidence.

    Without an intercept nothing is centred, and of sparse features there are too many: then the season stays as it is.
    """
    if spec.period == 1 or not spec.intercept or spec.sparse:
        return spec
    return SharedSeasonSpec(**{each.name: getattr(spec, each.name) for each in fields(spec)})


def _narrowed(records: Floats, layout: RecordLayout) -> tuple[Floats, RecordLayout]:
    """Return records without the log and the root of y where these have no share in any, and their layout."""
    if layout is layout.own or layout.is_transformed(records):
        return np.ascontiguousarray(records), layout
    return np.ascontiguousarray(records[:, : layout.n_own]), layout.own


@lru_cache(maxsize=16)
def _layout(steps: Layout) -> Layout:
    return Layout(
        (
            *steps.fields,
            *vectors("before_none", size="n_before_none"),
            *vectors("none", size="n_none"),
            *vectors("before_waves", size="n_before_waves"),
            *vectors("waves", size="n_waves"),
            Field("season_evidence", lambda **_: (len(Part),)),
        )
    )


@lru_cache(maxsize=256)
def _places(spec: SharedSeasonSpec, n_features: int) -> tuple[Place, ...]:
    found, end = [], 0
    for part, each in enumerate(spec.parts):
        n = n_features + (spec.n_waves if part == Part.WAVES else 0)
        start = end + (spec.steps.aligned_at(n_features) - each.aligned_at(n) - end) % LINE
        end = start + each.row_size(n)
        found.append(Place(start, end, n))
    return tuple(found)
