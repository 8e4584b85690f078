"""The spec of AutoBypass: its bank of filters, and the row that it starts."""

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
    check_shares,
    families,
    filters,
    n_flexible,
    shared,
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
from adabypass.state.bank_table import Constants, Dimensions, Links, Phase, SeasonSum, Sequences, Setting, entries
from adabypass.state.layout import LINE, Layout, pack, triangle
from adabypass.state.spec import Covariance, Spec, check_covariance
from adabypass.validation import Floats, check_int, shown

MAX_PERIOD = 100_000

Transform = Literal["auto", "none"]
MAX_TRANSFORMED_FEATURES = 50
"""Maximum number of features with which transform="auto" also learns the log and the square root of y."""

MAX_KEPT_ROW_SIZE = 20_000
"""Maximum size of a new row, in numbers, at which it is cached and copied."""

MAX_FULL_FEATURES = 200
"""Maximum number of features with which covariance="auto" means full covariances."""

MIN_LOG_NEW_SLOPE_SD = -12.0
"""Minimum log of the prior standard deviation of a new sparse slope, relative to (M.7)."""

LANES = 8
"""Number of random walks that the weights follow. Compiled code updates them together: numerics/c/simd_table.h."""


@dataclass(frozen=True)
class AutoBypassSpec(Constants, Sequences, Spec):
    """The bank of AutoBypass: one design for every stream. docs/decisions/0004 explains each number."""

    intercept: bool = True
    period: int = 1
    """Length of the season, in observations; 1 if there is none."""
    prior_shares: tuple[float, ...] | None = None
    """Prior shares of the filters; None for the defaults in `bank_design`."""
    covariance: Covariance = field(default="auto", kw_only=True)
    sparse: bool = field(default=False, kw_only=True)
    """Whether features are mostly 0. They are then measured from 0, and covariances are diagonal."""
    seasonal_mean: bool = field(default=True, kw_only=True)
    """Whether the season, if there is one, shifts the mean of the forecast as well as the noise scale."""
    transform: Transform = field(default="auto", kw_only=True)
    """Whether the log and the square root of y are learned too, while y is positive."""

    noise_models: ClassVar[tuple[NoiseModel, ...]] = NOISE_MODELS
    forecast_type: ClassVar[type] = Mixture
    bounded_by: ClassVar[Mapping[str, str]] = {"n_warm": "n_warm_up", "season_step": "last_step"}
    drift_logs: ClassVar[tuple[float, ...]] = DRIFT_LOGS
    n_warm_up: ClassVar[int] = Sequences.milestones[-1]
    layout: ClassVar[Layout] = BANK_LAYOUT

    def __post_init__(self) -> None:
        if not isinstance(self.intercept, bool):
            raise ParameterError(f"intercept is {shown(self.intercept)}, but must be True or False.")
        check_int(self.period, "period", minimum=1, maximum=MAX_PERIOD)
        check_covariance(self.covariance)
        if not isinstance(self.sparse, bool):
            raise ParameterError(f"sparse is {shown(self.sparse)}, but must be True or False.")
        if self.sparse:
            if self.covariance == "full":
                raise ParameterError("covariance is 'full', but sparse=True needs a diagonal one; drop one of the two.")
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
        """Whether there are banks of the log and the square root of y besides that of y itself."""
        return self.transform == "auto" and self.is_full and self.intercept

    @property
    def transformed(self) -> "TransformedSpec":
        """Spec of the bank of the log of y, which is also that of the square root."""
        return _transformed(self.period, self.seasonal_mean)

    def filters(self) -> tuple[Setting, ...]:
        """Return the settings of every filter, in the kernel's order."""
        every = filters(self.intercept, self.is_full, self.noise_models)
        return every if self.prior_shares is None else shared(every, self.prior_shares)

    def hyperparameters(self) -> dict[str, Any]:
        values = super().hyperparameters()
        if self.prior_shares is None:
            del values["prior_shares"]  # a default is not saved
        if self.covariance == "auto":
            del values["covariance"]
        if not self.sparse:
            del values["sparse"]
        if self.transform == "auto":
            del values["transform"]
        if self.seasonal_mean:
            del values["seasonal_mean"]
        return values

    def changed(self) -> dict[str, Any]:
        hidden = ("prior_shares", "seasonal_mean")  # too long to show, and not set by users
        return {name: value for name, value in super().changed().items() if name not in hidden}

    @property
    def is_full(self) -> bool:
        return self.covariance in ("auto", "full")

    @property
    def is_sparse(self) -> bool:
        return self.sparse

    def for_lags(self) -> "AutoBypassSpec":
        """Return the spec of a model whose features are lags.

        Forecasts several steps ahead are linear in the lags, so nothing is transformed.
        """
        return replace(self, transform="none", seasonal_mean=False)

    def as_sparse(self) -> "AutoBypassSpec":
        """Return the spec of a model whose features are sparse."""
        return replace(self, sparse=True)

    def for_features(self, n_features: int) -> Self:
        """Return the spec of a model with `n_features` features.

        covariance="auto" becomes "diagonal" above 200 features, and otherwise stays "auto", which means full. Above 50
        features nothing is transformed.
        """
        chosen = replace(self, transform="none") if n_features > MAX_TRANSFORMED_FEATURES else self
        is_chosen = self.covariance == "auto" and n_features > MAX_FULL_FEATURES
        return replace(chosen, covariance="diagonal") if is_chosen else chosen

    @property
    def n_shifts(self) -> int:
        """Number of seasonal shifts of the forecast: `period`, or 0 if there are none."""
        return self.period if self.period > 1 and self.seasonal_mean and not self.sparse else 0

    @property
    def n_filters(self) -> int:
        """Number of filters in the bank."""
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
        """Return the switching rates after `n_seen` observations."""
        return (*self.switching_rates, 1 / (n_seen + 2))

    @property
    def record_layout(self) -> RecordLayout:
        transformed = self.transformed.record_layout if self.is_transformed else None
        return get_record_layout(self.families, self.n_walks, transformed)

    def record_size(self, row: Floats, n_features: int, y: Floats) -> int:
        """Return the size of the records of a run over `y`: half, if no forecast can include the log and the root.

        These are in a forecast after a warm-up in which all values are positive.
        """
        layout, n_left = self.record_layout, 0
        if not self.is_transformed or self.view(row, "target_unit", n_features)[0] < 0:
            return layout.n_own
        if self.layout.scalar(row, "phase") != Phase.SETTLED:
            n_left = self.n_warm_up - int(self.layout.scalar(row, "n_warm"))
        first = y[~np.isnan(y)][:n_left]
        return layout.size if len(first) == n_left and (first > 0).all() else layout.n_own

    def start(self) -> dict[str, float]:
        return {}

    def constants(self) -> tuple[float, ...]:
        return _constants(self)

    def predictive(self, mean: Any, var: Any, record: Floats | None = None) -> Predictive:
        if record is None:
            return Normal.unchecked(mean, var)
        return Mixture.from_record(record, self.record_layout.of(record), mean, var)

    @property
    def dimensions(self) -> Dimensions:
        """Dimensions of the bank, which compiled code reads before the constants."""
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
        return int(place.start)  # the covariances, most of a long row, begin a whole number of cache lines later

    def new_row(self, n_features: int) -> Floats:
        is_short = self.row_size(n_features) <= MAX_KEPT_ROW_SIZE
        return _blank(self, n_features).copy() if is_short else self._new_row(n_features)

    def _new_row(self, n_features: int) -> Floats:
        row, dims = super().new_row(n_features), self.dims(n_features)
        for name in TRANSFORMED if self.is_transformed else ():
            self.view(row, name, n_features)[:] = self.transformed.new_row(n_features)
        self.layout.view(row, "anchor_var", **dims)[:] = self.layout.view(row, "move_var", **dims)[:] = 1.0
        self.layout.view(row, "season_wave_prec", **dims)[:] = self.prior_prec
        if self.sparse:
            return row  # the warm-up sets the other fields that do not start at 0
        cov, var = self.layout.view(row, "walk_cov", **dims), self.prior_vars(n_features)
        cov[:] = (pack(np.diag(var)) if self.is_full else var)[:, None]
        return row

    def prior_vars(self, n_features: int) -> Floats:
        """Return the prior variance of each weight, in standard units."""
        slope = self.prior_var * min(1.0, self.max_wide_slopes / n_features)
        return np.array([self.prior_var] * self.intercept + [slope] * n_features)

    def walks_of(self, row: Floats, name: str, n_features: int) -> Floats:
        """Return a copy of a field of the walks, with the walks along the first axis."""
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
        for i in range(n_features, n_features + more):  # each gets the prior variance of the last of i + 1 features
            at = i + self.intercept
            cov[triangle(at + 1) - 1 if self.is_full else at] = self.prior_vars(i + 1)[-1]
        if self.is_scaled(row) and not were_zero:  # otherwise the new features get their scale with the others
            self.view(wide, "x_scale", n_features + more)[n_features:] = -1.0  # never seen
        return wide

    def _widened_transformed(self, row: Floats, n_features: int, more: int, were_zero: bool) -> Floats:
        wide, own = self.new_row(n_features + more), replace(self, transform="none")
        own_size, size = own.row_size(n_features), own.row_size(n_features + more)
        wide[:size] = own.widened(row[:own_size], n_features, more, were_zero)
        for name in ("target_evidence", "target_unit"):  # the units of new features stay 0: they are not transformed
            self.layout.copy_field(wide, row, name, self.dims(n_features), self.dims(n_features + more))
        for name in TRANSFORMED:
            bank = self.transformed.widened(self.view(row, name, n_features).copy(), n_features, more, were_zero)
            self.view(wide, name, n_features + more)[:] = bank
        return wide

    def is_scaled(self, row: Floats) -> bool:
        """Return whether the scale of y is known."""
        return self.layout.scalar(row, "phase") != Phase.UNSCALED

    def view(self, row: Floats, name: str, n_features: int) -> Floats:
        """Return a view of one field of a row."""
        return self.layout.view(row, name, **self.dims(n_features))


class TransformedSpec(AutoBypassSpec):
    """Spec of the bank that learns the log or the square root of y, besides the bank that learns y itself."""

    noise_models = TRANSFORMED_NOISE_MODELS


@lru_cache(maxsize=64)
def _blank(spec: AutoBypassSpec, n_features: int) -> Floats:
    """Return the row of an untrained model. It is cached: making it takes as long as a hundred updates."""
    return spec._new_row(n_features)


@lru_cache(maxsize=64)
def _transformed(period: int, seasonal_mean: bool) -> TransformedSpec:
    return TransformedSpec(period=period, seasonal_mean=seasonal_mean, transform="none")


@lru_cache(maxsize=256)
def _beside(period: int, seasonal_mean: bool, n_features: int) -> dict[str, int]:
    """Return the size of the rows of the transformed banks, and the padding before each.

    The padding aligns `walk_mean` of every bank to cache lines in the same way.
    """
    bank = _transformed(period, seasonal_mean)
    own = AutoBypassSpec(period=period, seasonal_mean=seasonal_mean, transform="none")
    size, end = bank.row_size(n_features), own.row_size(n_features) + N_TARGETS + 1 + n_features
    offset = own.aligned_at(n_features) - bank.aligned_at(n_features)
    before_log = (offset - end) % LINE
    return {"n_before_log": before_log, "n_before_root": (offset - end - before_log - size) % LINE, "n_bank": size}


@lru_cache(maxsize=256)
def _constants(spec: AutoBypassSpec) -> tuple[float, ...]:
    """Compute the constants of a bank. They are cached, since every restored model needs them."""
    before = (*spec.dimensions, *entries(Constants).values())
    settings = (number for every in zip(*spec.filters(), strict=True) for number in every)
    after = (*spec.switching_rates, *spec.milestones, *settings)
    n_own = len(before) + len(Links._fields) + len(after)
    links = Links(transformed_at=n_own if spec.is_transformed else 0)
    beside = spec.transformed.constants() if spec.is_transformed else ()
    return tuple(float(number) for number in (*before, *links, *after, *beside))
