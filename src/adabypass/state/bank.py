"""The bank of filters behind AutoBypass: its numbers, and what its row needs."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, ClassVar, Literal, Self, get_args

import numpy as np

from adabypass.distributions.predictive import Mixture, Normal, Predictive
from adabypass.distributions.record import RecordLayout, get_record_layout
from adabypass.errors import ParameterError
from adabypass.numerics.noise import FLEXIBLE_NORMALS, Family
from adabypass.state.bank_design import (
    DRIFT_LOGS,
    NOISE_MODELS,
    TRANSFORMED_NOISE_MODELS,
    NoiseModel,
    families,
    filters,
    n_flexible,
)
from adabypass.state.bank_layout import (
    BANK_LAYOUT,
    LEARNED,
    N_TARGETS,
    SCRATCH_LAYOUT,
    SPARSE_LAYOUT,
    TRANSFORMED,
    TRANSFORMED_LAYOUT,
)
from adabypass.state.bank_shares import check_shares, shared
from adabypass.state.bank_table import Constants, Dimensions, Links, Phase, SeasonSum, Sequences, Setting, entries
from adabypass.state.covariance import Covariance, check_covariance
from adabypass.state.layout import LINE, Layout, pack, triangle
from adabypass.state.spec import Spec
from adabypass.validation import Floats, check_int, shown

LONGEST_PERIOD = 100_000

Transform = Literal["auto", "none"]
MOST_TRANSFORMED = 50
"""Features up to which the log and the root of y are learned too, if it is not said whether to."""

LONGEST_KEPT_ROW = 20_000
"""Numbers up to which the row of a model that has seen nothing is kept, to be copied."""

MOST_FULL = 200
"""Features up to which the filters' covariances are full, if it is not said what they are to be."""

SMALLEST_NEW_LOG = -12.0
"""Least log of the deviation of the slopes of new sparse features, over that of (183)."""

LANES = 8
"""Weights follow so many random walks, which compiled code moves at once: numerics/c/kernels.h."""


@dataclass(frozen=True)
class AutoBypassSpec(Constants, Sequences, Spec):
    """The bank of AutoBypass: one design for every stream. docs/decisions/0004 explains each number."""

    intercept: bool = True
    period: int = 1
    """Of the season, in observations; 1 if there is none."""
    prior_shares: tuple[float, ...] | None = None
    """Shares of the filters before anything is learned; those of the design if None."""
    covariance: Covariance = field(default="auto", kw_only=True)
    sparse: bool = field(default=False, kw_only=True)
    """Whether features are mostly 0, which is then what they are measured from; covariances are diagonal."""
    seasonal_mean: bool = field(default=True, kw_only=True)
    """Whether the season, if there is one, adds to the forecast, not to the noise alone."""
    transform: Transform = field(default="auto", kw_only=True)
    """Whether the log and the root of y are learned too, while y is positive."""

    noise_models: ClassVar[tuple[NoiseModel, ...]] = NOISE_MODELS
    forecast_type: ClassVar[type] = Mixture
    bounded_by: ClassVar[Mapping[str, str]] = {"n_warm": "n_warm_up", "season_step": "last_step"}
    drift_logs: ClassVar[tuple[float, ...]] = DRIFT_LOGS
    n_warm_up: ClassVar[int] = Sequences.milestones[-1]
    layout: ClassVar[Layout] = BANK_LAYOUT

    def __post_init__(self) -> None:
        if not isinstance(self.intercept, bool):
            raise ParameterError(f"intercept is {shown(self.intercept)}, but must be True or False.")
        check_int(self.period, "period", minimum=1, maximum=LONGEST_PERIOD)
        check_covariance(self.covariance)
        if not isinstance(self.sparse, bool):
            raise ParameterError(f"sparse is {shown(self.sparse)}, but must be True or False.")
        if self.sparse:
            if self.covariance == "full":
                raise ParameterError("covariance is 'full', but with sparse features it is not; leave one of them.")
            object.__setattr__(self, "covariance", "diagonal")
            object.__setattr__(self, "layout", SPARSE_LAYOUT)
        if self.prior_shares is not None:
            object.__setattr__(self, "prior_shares", check_shares(self.prior_shares, len(filters(self.intercept))))
        if not isinstance(self.seasonal_mean, bool):
            raise ParameterError(f"seasonal_mean is {shown(self.seasonal_mean)}, but must be True or False.")
        if not isinstance(self.transform, str) or self.transform not in get_args(Transform):
            raise ParameterError(f"transform is {shown(self.transform)}, but must be 'auto' or 'none'.")
        if self.is_transformed:
            object.__setattr__(self, "layout", TRANSFORMED_LAYOUT)

    @property
    def is_transformed(self) -> bool:
        """Whether there are banks of the log and the root beside that of y itself."""
        return self.transform == "auto" and self.is_full and self.intercept

    @property
    def transformed(self) -> "TransformedSpec":
        """The bank of the log, or of the root."""
        return _transformed(self.period, self.seasonal_mean)

    def filters(self) -> tuple[Setting, ...]:
        """Return the settings of every filter, in the kernel's order."""
        every = filters(self.intercept, self.is_full, self.noise_models)
        return every if self.prior_shares is None else shared(every, self.prior_shares)

    def hyperparameters(self) -> dict[str, Any]:
        values = super().hyperparameters()
        if self.prior_shares is None:
            del values["prior_shares"]  # so that files say what they said before there was a choice
        if self.covariance == "auto":
            del values["covariance"]  # likewise
        if not self.sparse:
            del values["sparse"]
        if self.transform == "auto":
            del values["transform"]
        if self.seasonal_mean:
            del values["seasonal_mean"]
        return values

    def changed(self) -> dict[str, Any]:
        hidden = ("prior_shares", "seasonal_mean")  # too many to show, and nothing that a user says
        return {name: value for name, value in super().changed().items() if name not in hidden}

    @property
    def is_full(self) -> bool:
        return self.covariance in ("auto", "full")

    @property
    def is_sparse(self) -> bool:
        return self.sparse

    def for_lags(self) -> Self:
        """Return the spec of a model whose features are lags: what is many steps ahead is linear in these."""
        return replace(self, transform="none", seasonal_mean=False)

    def for_features(self, n_features: int) -> Self:
        """Return the spec of a model with so many features: if its covariances are to be chosen, beyond 200 diagonal.

        One that stays open, "auto", is full. Beyond 50 features nothing is transformed.
        """
        chosen = replace(self, transform="none") if n_features > MOST_TRANSFORMED else self
        is_chosen = self.covariance == "auto" and n_features > MOST_FULL
        return replace(chosen, covariance="diagonal") if is_chosen else chosen

    @property
    def n_shifts(self) -> int:
        """Number of steps of the season that add to the forecast."""
        return self.period if self.period > 1 and self.seasonal_mean and not self.sparse else 0

    @property
    def n_filters(self) -> int:
        """Size of the bank."""
        return len(self.filters())

    @property
    def n_walks(self) -> int:
        return LANES

    @property
    def n_flexible(self) -> int:
        """Number of filters of flexible noise, which come first."""
        return n_flexible(self.intercept, self.noise_models)

    @property
    def n_normals(self) -> int:
        """Number of normals of which flexible noise is a mixture."""
        return len(FLEXIBLE_NORMALS.start)

    @property
    def n_linears(self) -> int:
        return self.n_filters

    @property
    def drift_groups(self) -> tuple[int, ...]:
        return tuple(k % self.n_walks for k in range(self.n_filters))

    @property
    def families(self) -> tuple[Family, ...]:
        return families(self.intercept, self.noise_models)

    @property
    def n_components(self) -> int:
        return self.n_filters + self.n_flexible * (self.n_normals - 1)

    @property
    def has_intercept(self) -> bool:
        return self.intercept

    @property
    def learned(self) -> tuple[str, ...]:
        return LEARNED

    @property
    def n_drifts(self) -> int:
        """Number of drift rates."""
        return len(self.drift_logs)

    @property
    def n_rates(self) -> int:
        """Number of switching rates."""
        return len(self.switching_rates) + 1

    def rates(self, n_seen: int) -> tuple[float, ...]:
        """Return the switching rates after so many observations."""
        return (*self.switching_rates, 1 / (n_seen + 2))

    @property
    def record_layout(self) -> RecordLayout:
        transformed = self.transformed.record_layout if self.is_transformed else None
        return get_record_layout(self.families, self.n_walks, transformed)

    def start(self) -> dict[str, float]:
        return {}

    def constants(self) -> tuple[float, ...]:
        return _constants(self)

    def predictive(self, mean: Any, var: Any, record: Floats | None = None) -> Predictive:
        if record is None:
            return Normal(mean, var)
        return Mixture.from_record(record, self.record_layout.of(record), mean, var)

    @property
    def dimensions(self) -> Dimensions:
        """What compiled code reads before the constants."""
        return Dimensions(
            n_filters=self.n_filters,
            n_flexible=self.n_flexible,
            n_drifts=self.n_drifts,
            n_fixed_rates=len(self.switching_rates),
            n_milestones=len(self.milestones),
            n_warm_up=self.n_warm_up,
            intercept=int(self.intercept),
            period=self.period,
            n_shifts=self.n_shifts,
        )

    def dims(self, n_features: int) -> dict[str, int]:
        n_slopes, n_features = (n_features, 0) if self.sparse else (0, n_features)
        beside = _beside(self.period, self.seasonal_mean, n_features) if self.is_transformed else {}
        own = {"n_slopes": n_slopes, "last_step": self.period - 1}
        return beside | own | self.dimensions._asdict() | self._opened(n_features)

    def _opened(self, n_features: int) -> dict[str, int]:
        """Return the dimensions that follow from the others and the number of features."""
        n_weights = n_features + self.intercept
        return {
            "n_features": n_features,
            "n_weights": n_weights,
            "n_packed": triangle(n_weights) if self.is_full else n_weights,
            "n_rates": self.n_rates,
            "n_season_sums": len(SeasonSum) if self.n_shifts > 0 else 0,
            "n_walks": self.n_walks,
            "n_noises": LANES,
            "n_normals": self.n_normals,
        }

    def n_scratch(self, n_features: int) -> int:
        own = SCRATCH_LAYOUT.size(**self.dimensions._asdict(), **self._opened(n_features))
        if not self.is_transformed:
            return own
        return own + LINE + 2 * self.n_walks + 2 * (self.transformed.n_scratch(n_features) + n_features)

    def aligned_at(self, n_features: int) -> int:
        place, _ = self.layout.places(**self.dims(n_features))["walk_mean"]
        return int(place.start)  # the covariances, which are nearly all of a long row, are whole blocks further on

    def new_row(self, n_features: int) -> Floats:
        is_short = self.row_size(n_features) <= LONGEST_KEPT_ROW
        return _blank(self, n_features).copy() if is_short else self._new_row(n_features)

    def _new_row(self, n_features: int) -> Floats:
        row, dims = super().new_row(n_features), self.dims(n_features)
        for name in TRANSFORMED if self.is_transformed else ():
            self.view(row, name, n_features)[:] = self.transformed.new_row(n_features)
        self.layout.view(row, "anchor_var", **dims)[:] = self.layout.view(row, "move_var", **dims)[:] = 1.0
        self.layout.view(row, "season_wave_prec", **dims)[:] = self.prior_prec
        if self.sparse:
            return row  # the warm-up sets what else does not begin at 0
        cov, var = self.layout.view(row, "walk_cov", **dims), self.prior_vars(n_features)
        cov[:] = (pack(np.diag(var)) if self.is_full else var)[:, None]
        return row

    def prior_vars(self, n_features: int) -> Floats:
        """Return the variance of each weight before anything is learned, in standard units."""
        slope = self.prior_var * min(1.0, self.most_wide_slopes / n_features)
        return np.array([self.prior_var] * self.intercept + [slope] * n_features)

    def walks_of(self, row: Floats, name: str, n_features: int) -> Floats:
        """Return a copy of what belongs to each walk: along the first axis the walks."""
        return self.view(row, name, n_features).T.copy()

    def check_row(self, row: Floats, n_features: int) -> None:
        super().check_row(row, n_features)
        for name in TRANSFORMED if self.is_transformed else ():
            self.transformed.check_row(self.view(row, name, n_features), n_features)

    def widened(self, row: Floats, n_features: int, more: int, were_zero: bool = False) -> Floats:
        if self.is_transformed:
            return self._widened_transformed(row, n_features, more, were_zero)
        wide = super().widened(row, n_features, more, were_zero)
        if self.sparse:
            return wide
        cov = self.view(wide, "walk_cov", n_features + more)
        for i in range(n_features, n_features + more):  # each begins as the last of those up to it
            at = i + self.intercept
            cov[triangle(at + 1) - 1 if self.is_full else at] = self.prior_vars(i + 1)[-1]
        if self.is_scaled(row) and not were_zero:  # else the new features get their scale with the others
            self.view(wide, "x_scale", n_features + more)[n_features:] = -1.0  # never seen
        return wide

    def _widened_transformed(self, row: Floats, n_features: int, more: int, were_zero: bool) -> Floats:
        wide, own = self.new_row(n_features + more), replace(self, transform="none")
        own_size, size = own.row_size(n_features), own.row_size(n_features + more)
        wide[:size] = own.widened(row[:own_size], n_features, more, were_zero)
        for name in ("target_evidence", "target_unit"):  # new features are not transformed
            self.layout.copy_field(wide, row, name, self.dims(n_features), self.dims(n_features + more))
        for name in TRANSFORMED:
            bank = self.transformed.widened(self.view(row, name, n_features).copy(), n_features, more, were_zero)
            self.view(wide, name, n_features + more)[:] = bank
        return wide

    def is_scaled(self, row: Floats) -> bool:
        """Return whether enough was seen to know the scale of y."""
        return self.layout.scalar(row, "phase") != Phase.UNSCALED

    def view(self, row: Floats, name: str, n_features: int) -> Floats:
        """Return one field of a row."""
        return self.layout.view(row, name, **self.dims(n_features))


class TransformedSpec(AutoBypassSpec):
    """The bank that learns the log of y, or its root, beside the bank that learns y itself."""

    noise_models = TRANSFORMED_NOISE_MODELS


@lru_cache(maxsize=64)
def _blank(spec: AutoBypassSpec, n_features: int) -> Floats:
    """Return the row of a model that has seen nothing: to make it takes as long as to learn a hundred observations."""
    return spec._new_row(n_features)


@lru_cache(maxsize=64)
def _transformed(period: int, seasonal_mean: bool) -> TransformedSpec:
    return TransformedSpec(period=period, seasonal_mean=seasonal_mean, transform="none")


@lru_cache(maxsize=256)
def _beside(period: int, seasonal_mean: bool, n_features: int) -> dict[str, int]:
    """Return the size of the transformed banks' rows, and what is left free so that each is aligned as the first.

    `walk_mean` of each begins a cache line where that of the first does.
    """
    bank = _transformed(period, seasonal_mean)
    own = AutoBypassSpec(period=period, seasonal_mean=seasonal_mean, transform="none")
    size, end = bank.row_size(n_features), own.row_size(n_features) + N_TARGETS + 1 + n_features
    offset = own.aligned_at(n_features) - bank.aligned_at(n_features)
    before_log = (offset - end) % LINE
    return {"n_before_log": before_log, "n_before_root": (offset - end - before_log - size) % LINE, "n_bank": size}


@lru_cache(maxsize=256)
def _constants(spec: AutoBypassSpec) -> tuple[float, ...]:
    """Compute the constants of a bank: once for all models alike, since each restored model asks for them."""
    before = (*spec.dimensions, *entries(Constants).values())
    settings = (number for every in zip(*spec.filters(), strict=True) for number in every)
    after = (*spec.switching_rates, *spec.milestones, *settings)
    n_own = len(before) + len(Links._fields) + len(after)
    links = Links(transformed_at=n_own if spec.is_transformed else 0)
    beside = spec.transformed.constants() if spec.is_transformed else ()
    return tuple(float(number) for number in (*before, *links, *after, *beside))
