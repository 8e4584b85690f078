"""The bank of filters behind AutoBypass: its numbers, and what its row needs."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, ClassVar, Literal, Self, get_args

import numpy as np

from adabypass.errors import ParameterError
from adabypass.model.bank_design import (
    DRIFT_LOGS,
    NOISE_MODELS,
    TRANSFORMED_NOISE_MODELS,
    NoiseModel,
    Setting,
    families,
    filters,
    n_flexible,
)
from adabypass.model.bank_layout import (
    BANK_LAYOUT,
    LEARNED,
    N_TARGETS,
    SPARSE_LAYOUT,
    TRANSFORMED,
    TRANSFORMED_LAYOUT,
)
from adabypass.model.bank_shares import check_shares, shared
from adabypass.model.covariance import Covariance, check_covariance
from adabypass.model.linear_mixture import LARGEST_LEVEL, LEVEL_FLOOR
from adabypass.model.noise import FLEXIBLE_NORMALS, Family
from adabypass.model.packing import Packing, packing_of
from adabypass.model.predictive import Mixture, Normal, Predictive
from adabypass.model.row import LINE, Layout, pack, triangle
from adabypass.model.spec import Spec
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
"""Weights follow so many random walks, which compiled code moves at once: simd/kernels.h."""


@dataclass(frozen=True)
class AutoBypassSpec(Spec):
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
    prior_var: ClassVar[float] = 10.0
    """Variance of the weights before anything is learned, in standard units:"""
    most_wide_slopes: ClassVar[int] = 5
    """of each slope with up to so many features; more share what so many would have."""

    n_warm_up: ClassVar[int] = 20
    milestones: ClassVar[tuple[int, ...]] = (1, 2, 3, 4, 6, 8, 11, 15, 20)
    """Numbers of observations after which the units are set anew; the last is the end of the warm-up."""
    warm_up_widening: ClassVar[float] = 8.0
    """After n observations the noise starts 1 + this/n times as wide as after the whole warm-up."""
    change_scale: ClassVar[float] = 2.0
    """Scale of a change after values that are all equal, in units of their size."""
    change_tail: ClassVar[float] = 3.0
    """The probability of a change beyond t falls as t to the power of minus this."""

    switching_rates: ClassVar[tuple[float, ...]] = (0.05, 0.005, 0.0001)
    """Rates at which the best filter may give way to another, beside one over the number of observations,"""
    hyper_switching_rate: ClassVar[float] = 0.0001
    """and the rate at which the best of these rates may."""
    failure_margin: ClassVar[float] = 1.1
    """A walk has failed if its share is at most this many times what switching alone gives it;"""
    max_failures: ClassVar[int] = 8
    """after so many failures more than successes it goes on from the weights of the best."""

    jump_distance: ClassVar[float] = 3.0
    """Weights jump when a walk was off by more than so many standard deviations"""
    max_strikes: ClassVar[int] = 2
    """so many times in a row."""

    anchor_rate: ClassVar[float] = 0.003
    smallest_anchor_var: ClassVar[float] = 1e-4
    """Lower end of a feature's running variance, in units of that of the warm-up."""
    least_size: ClassVar[float] = 0.25
    """Without an intercept, weights explain the newest observation only as far as its features allow: those whose mean
    square, over the usual one, is less than this move them less."""

    epsilon_start: ClassVar[float] = 0.5
    epsilon_rate: ClassVar[float] = 0.02
    smallest_epsilon: ClassVar[float] = 0.02
    largest_epsilon: ClassVar[float] = 20.0
    """From all but Laplace to all but uniform noise."""
    slope_rate: ClassVar[float] = 0.01
    """Rate of the running mean squares of the evidence's slopes,"""
    scale_slope_sq_start: ClassVar[float] = 0.5
    epsilon_slope_sq_start: ClassVar[float] = 0.05
    """which start here."""
    largest_epsilon_slope: ClassVar[float] = 3.0
    """Bound of a normalised slope by epsilon."""

    prior_prec: ClassVar[float] = 4.0
    """Precision of what is learned of a filter's volatility and of the level, before anything is seen:"""
    prec_decay: ClassVar[float] = 0.001
    """the rate at which what was seen is forgotten;"""
    largest_error: ClassVar[float] = 3.0
    """bound of an error in standard deviations, where it moves the volatility;"""
    largest_leverage: ClassVar[float] = 3.0
    smallest_fast_log: ClassVar[float] = -2.0
    largest_fast_log: ClassVar[float] = 1.5
    """range of the log of the fast rate over what it starts from;"""
    smallest_fading_log: ClassVar[float] = -2.5
    largest_fading_log: ClassVar[float] = 2.0
    """of that of what fades in a step;"""
    largest_fast_decay: ClassVar[float] = 0.999
    level_rate: ClassVar[float] = 0.003
    """rate of the running mean and variance of y, beside which the level is measured:"""
    largest_level: ClassVar[float] = LARGEST_LEVEL
    """it counts up to so many standard deviations,"""
    largest_level_slope: ClassVar[float] = 3.0
    """and moves the log of the noise's scale, or the scale over that at the mean of y, by up to this for each."""
    level_floor: ClassVar[float] = LEVEL_FLOOR
    """What is left of a scale that is linear in the level where it would be 0, beside that at the mean of y."""

    normal_share_rate: ClassVar[float] = 0.002
    """Rate at which the shares of the normals of flexible noise follow what is seen,"""
    normal_share_prior: ClassVar[float] = 20.0
    """as if what they start from had been seen so many times;"""
    normal_share_speed: ClassVar[float] = 6.0
    """faster at first: by so many times what counting would do, because neighbouring normals give way slowly;"""
    normal_share_pull: ClassVar[float] = 0.001
    """they are drawn back to what they start from by this share of the rate at least, so that none is lost."""

    season_rate: ClassVar[float] = 0.005
    """Rate of what a step of the season adds to the log of the noise's scale, besides a wave,"""
    season_prior: ClassVar[float] = 20.0
    """faster at first, as if so many periods had been seen;"""
    largest_season_log: ClassVar[float] = 6.0
    """it lies within plus and minus this, and so do the sizes of the wave's cosine and sine."""
    shift_rate: ClassVar[float] = 0.05
    """Rate of what a step of the season adds to the forecast,"""
    shift_prior: ClassVar[float] = 2.0
    """faster at first, as if so many periods had been seen."""

    shock_distance: ClassVar[float] = 6.0
    """An observation so many standard deviations off is a shock;"""
    shock_decay: ClassVar[float] = 0.25
    """any other makes up for this share of one;"""
    max_shocks: ClassVar[float] = 5.0
    """after so many the noise is widened until the newest is"""
    distance_after_shocks: ClassVar[float] = 2.0
    """standard deviations off."""
    max_repeats: ClassVar[int] = 100
    """After so many equal values in a row the noise's scale may grow, but not fall any further."""

    target_discount: ClassVar[float] = 0.99
    """Share of the evidence for y itself, its log and its root that is left a step later."""
    least_evidence: ClassVar[float] = -500.0
    """What that evidence does not fall below, so that it can be made up for."""

    layout: ClassVar[Layout] = BANK_LAYOUT
    constant_names: ClassVar[tuple[str, ...]] = (
        "n_filters", "n_flexible", "n_drifts", "n_fixed_rates", "n_milestones", "n_warm_up",
        "intercept", "period", "n_shifts",
        "prior_var", "most_wide_slopes", "warm_up_widening", "change_scale", "change_tail",
        "hyper_switching_rate", "failure_margin", "max_failures", "jump_distance", "max_strikes",
        "anchor_rate", "smallest_anchor_var", "least_size",
        "epsilon_start", "epsilon_rate", "smallest_epsilon", "largest_epsilon",
        "slope_rate", "scale_slope_sq_start", "epsilon_slope_sq_start", "largest_epsilon_slope",
        "prior_prec", "prec_decay", "largest_error", "largest_leverage", "smallest_fast_log", "largest_fast_log",
        "smallest_fading_log", "largest_fading_log", "largest_fast_decay",
        "level_rate", "largest_level", "largest_level_slope", "level_floor",
        "normal_share_rate", "normal_share_prior", "normal_share_speed", "normal_share_pull",
        "season_rate", "season_prior", "largest_season_log",
        "shock_distance", "shock_decay", "max_shocks", "distance_after_shocks", "max_repeats",
        "shift_rate", "shift_prior", "target_discount", "least_evidence", "transformed_at",
    )  # fmt: skip
    """What compiled code reads, in this order, before the switching rates, the milestones and the filters' settings;
    then those of the banks of the log and the root, if there are any."""

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
    def n_fixed_rates(self) -> int:
        """Number of switching rates that stay what they are."""
        return len(self.switching_rates)

    @property
    def n_rates(self) -> int:
        """Number of switching rates."""
        return self.n_fixed_rates + 1

    def rates(self, n_seen: int) -> tuple[float, ...]:
        """Return the switching rates after so many observations."""
        return (*self.switching_rates, 1 / (n_seen + 2))

    @property
    def n_milestones(self) -> int:
        """Number of times that the units are set."""
        return len(self.milestones)

    @property
    def packing(self) -> Packing:
        transformed = self.transformed.packing if self.is_transformed else None
        return packing_of(self.families, self.n_walks, transformed)

    @property
    def transformed_at(self) -> int:
        """Where the constants of the transformed banks begin; 0 if there are none."""
        own = len(self.constant_names) + self.n_fixed_rates + self.n_milestones + len(Setting._fields) * self.n_filters
        return own if self.is_transformed else 0

    def start(self) -> dict[str, float]:
        return {}

    def constants(self) -> tuple[float, ...]:
        return _constants(self)

    def predictive(self, mean: Any, var: Any, record: Floats | None = None) -> Predictive:
        if record is None:
            return Normal(mean, var)
        return Mixture.packed(record, self.packing.of(record), mean, var)

    def dims(self, n_features: int) -> dict[str, int]:
        n_slopes, n_features = (n_features, 0) if self.sparse else (0, n_features)
        n_weights = n_features + self.intercept
        beside = _beside(self.period, self.seasonal_mean, n_features) if self.is_transformed else {}
        return beside | {
            "n_slopes": n_slopes,
            "n_features": n_features,
            "n_weights": n_weights,
            "n_packed": triangle(n_weights) if self.is_full else n_weights,
            "n_filters": self.n_filters,
            "n_walks": self.n_walks,
            "n_noises": LANES,
            "n_normals": self.n_normals,
            "period": self.period,
            "last_step": self.period - 1,
            "n_shifts": self.n_shifts,
            "n_rates": self.n_rates,
            "n_warm_up": self.n_warm_up,
        }

    def n_scratch(self, n_features: int) -> int:
        n_weights = n_features + self.intercept
        of_walks, of_filters = self.n_walks * (8 + n_weights), 12 * self.n_filters
        own = 8 * n_weights + of_walks + of_filters + self.n_normals * self.n_flexible + self.n_walks
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
        return self.layout.scalar(row, "phase") > 0

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
    settings = (number for every in zip(*spec.filters(), strict=True) for number in every)
    named = (getattr(spec, name) for name in spec.constant_names)
    beside = spec.transformed.constants() if spec.is_transformed else ()
    return tuple(float(number) for number in (*named, *spec.switching_rates, *spec.milestones, *settings, *beside))
