"""The bank of filters behind AutoBypass: its design, and its row."""

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, NamedTuple

import numpy as np

from adabypass.errors import ParameterError
from adabypass.model.limits import LARGEST, LARGEST_UNIT
from adabypass.model.linear_mixture import LinearMixture
from adabypass.model.noise import Family
from adabypass.model.row import Field, Layout, pack, scalars, triangle, unpack, vectors
from adabypass.model.spec import Spec
from adabypass.validation import Floats

FILTER_SCALARS = 6


LEARNED = ("noise_scale", "epsilon", "drift", *(f"drift_share_{index}" for index in range(6)))
"""The scalars that say what was learned; the last are the mixture's weights of the drift rates."""


class NoiseModel(NamedTuple):
    """How a filter of the bank sees the noise, and how fast it lets its scale move."""

    family: Family
    slow_rate: float
    fast_rate: float
    fast_decay: float


@dataclass(frozen=True)
class AutoBypassSpec(Spec):
    """The bank of AutoBypass: one design for every stream. docs/decisions/0004 explains each number."""

    intercept: bool = True

    noise_models: ClassVar[tuple[NoiseModel, ...]] = (
        NoiseModel(Family.INSENSITIVE, 0.02, 0.0, 0.0),
        NoiseModel(Family.INSENSITIVE, 0.08, 0.0, 0.0),
        NoiseModel(Family.HEAVY, 0.005, 0.15, 0.95),
        NoiseModel(Family.HEAVY, 0.002, 0.0, 0.0),
        NoiseModel(Family.GAUSSIAN, 0.002, 0.0, 0.0),
    )
    drift_logs: ClassVar[tuple[float, ...]] = (-14.0, -10.5, -7.0, -3.5, 0.0, 3.5)
    warm_up: ClassVar[int] = 20
    drift_odds: ClassVar[float] = 0.75
    shares: ClassVar[tuple[float, ...]] = (0.05, 0.005, 0.0005)
    share_share: ClassVar[float] = 0.001
    respawn: ClassVar[float] = 1.1
    patience: ClassVar[int] = 8
    caution: ClassVar[float] = 8.0
    prior_var: ClassVar[float] = 10.0
    anchor_rate: ClassVar[float] = 0.003
    epsilon_start: ClassVar[float] = 0.5
    epsilon_rate: ClassVar[float] = 0.02
    slope_rate: ClassVar[float] = 0.02

    layout: ClassVar[Layout] = Layout(
        (
            *scalars("n_seen", "n_warm", "phase", "y_center", "y_scale", "shocks", "log_score", *LEARNED),
            *vectors("x_center", "x_scale", "anchor_center", "anchor_var"),
            *vectors("shares", size="n_filters"),
            *vectors("rate_shares", size="n_rates"),
            Field("shares_by_rate", lambda n_rates, n_filters, **_: (n_rates, n_filters)),
            Field(
                "filters",
                lambda n_filters, n_weights, **_: (n_filters, FILTER_SCALARS + n_weights + triangle(n_weights)),
            ),
            Field("warm_up", lambda n_warm_up, n_features, **_: (n_warm_up, n_features + 1)),
        )
    )
    """`filters` holds scalars, mean and packed covariance of one filter after the other; `warm_up` x and y."""

    def __post_init__(self) -> None:
        if not isinstance(self.intercept, bool):
            raise ParameterError(f"intercept is {self.intercept!r}, but must be True or False.")

    def filters(self) -> list[tuple[float, ...]]:
        """Return the settings of every filter, in the kernel's order."""
        return self._settings

    @cached_property
    def _settings(self) -> list[tuple[float, ...]]:
        places = [(level, anchored) for level in range(len(self.drift_logs)) for anchored in (False, True)]
        designs = [
            (noise, level, anchored)
            for noise in self.noise_models
            for level, anchored in places[:1] + places[2:]  # weights that hardly drift need no second anchor
        ]
        total = sum(self.drift_odds**level for _, level, _ in designs)
        return [
            (noise.family, level, self.drift_logs[level], *noise[1:], anchored, self.drift_odds**level / total)
            for noise, level, anchored in designs
        ]

    @property
    def n_filters(self) -> int:
        """Size of the bank."""
        return len(self.filters())

    @property
    def n_components(self) -> int:
        return self.n_filters

    @property
    def learned(self) -> tuple[str, ...]:
        return LEARNED

    def start(self) -> dict[str, float]:
        return {}

    def constants(self) -> tuple[float, ...]:
        filters = self.filters()
        head = (
            len(filters), len(self.drift_logs), self.warm_up, self.intercept, len(self.shares), self.share_share,
            self.prior_var, self.anchor_rate, self.epsilon_start, self.epsilon_rate, self.slope_rate, self.respawn,
            self.patience, self.caution, *self.shares,
        )  # fmt: skip
        return tuple(float(number) for number in (*head, *(number for settings in filters for number in settings)))

    def dims(self, n_features: int) -> dict[str, int]:
        return {
            "n_features": n_features,
            "n_weights": n_features + self.intercept,
            "n_filters": self.n_filters,
            "n_rates": len(self.shares),
            "n_warm_up": self.warm_up,
        }

    def n_scratch(self, n_features: int) -> int:
        n_weights = n_features + self.intercept
        return n_weights + self.n_filters * (5 + n_weights)

    def new_row(self, n_features: int) -> Floats:
        row, dims = super().new_row(n_features), self.dims(n_features)
        self.layout.view(row, "anchor_var", **dims)[:] = 1.0
        filters, n_weights = self.layout.view(row, "filters", **dims), dims["n_weights"]
        filters[:, FILTER_SCALARS + n_weights :] = pack(self.prior_var * np.eye(n_weights))
        return row

    def widened(self, row: Floats, n_features: int, more: int) -> Floats:
        """Return a row with `more` features, whose weights start at the prior when the feature first moves."""
        wide, dims, wide_dims = self.new_row(n_features + more), self.dims(n_features), self.dims(n_features + more)
        kept = [field for field in self.layout.fields if field.name not in ("filters", "warm_up")]
        self.layout.copy_into(wide, row, dims, wide_dims, kept)
        if self.is_scaled(row):
            self.layout.view(wide, "x_scale", **wide_dims)[n_features:] = -1.0  # they have never been seen
        filters, wide_filters = self.layout.view(row, "filters", **dims), self.layout.view(wide, "filters", **wide_dims)
        mean_end, cov_at = FILTER_SCALARS + dims["n_weights"], FILTER_SCALARS + wide_dims["n_weights"]
        wide_filters[:, :mean_end] = filters[:, :mean_end]
        wide_filters[:, cov_at : cov_at + triangle(dims["n_weights"])] = filters[:, mean_end:]
        warm, wide_warm = self.layout.view(row, "warm_up", **dims), self.layout.view(wide, "warm_up", **wide_dims)
        wide_warm[:, :n_features], wide_warm[:, -1] = warm[:, :n_features], warm[:, -1]
        return wide

    def weights(self, row: Floats, n_features: int) -> tuple[float, Floats, Floats]:
        """Return intercept, mean and covariance of the weights under the mixture, in the user's units."""
        offset = int(self.intercept)
        n_weights = n_features + offset
        x_center, x_scale, shares, filters = (
            self.layout.view(row, name, **self.dims(n_features))
            for name in ("x_center", "x_scale", "shares", "filters")
        )
        y_center, y_scale = self.layout.scalar(row, "y_center"), self.layout.scalar(row, "y_scale")
        means = filters[:, FILTER_SCALARS : FILTER_SCALARS + n_weights]
        mean = shares @ means
        cov = sum(
            share * (unpack(block[FILTER_SCALARS + n_weights :]) + np.outer(each - mean, each - mean))
            for share, block, each in zip(shares, filters, means, strict=True)
        )
        with np.errstate(over="ignore", invalid="ignore"):
            unit = np.divide(y_scale, x_scale, out=np.zeros(n_features), where=x_scale > 0)
            unit = np.minimum(unit, LARGEST_UNIT)
            slopes = mean[offset:] * unit
            intercept = y_center + (y_scale * mean[0] if self.intercept else 0.0) - x_center @ slopes
        cov_user = np.asarray(cov)[offset:, offset:] * np.outer(unit, unit)
        unknown = np.flatnonzero(unit == 0.0)
        cov_user[unknown, unknown] = LARGEST  # nothing is known of a weight before its feature and y have moved
        return float(np.nan_to_num(intercept)), slopes, cov_user

    def is_scaled(self, row: Floats) -> bool:
        """Whether the warm-up has seen enough to know the scale of y."""
        return self.layout.scalar(row, "phase") > 0

    def linear_mixture(self, row: Floats, n_features: int) -> LinearMixture:
        """Return what every filter believes, in the user's units: for a row that is scaled."""
        offset = int(self.intercept)
        n_weights = n_features + offset
        names = ("x_center", "x_scale", "anchor_center", "anchor_var", "shares", "filters")
        x_center, x_scale, anchor, anchor_var, shares, filters = (
            self.layout.view(row, name, **self.dims(n_features)) for name in names
        )
        y_scale = self.layout.scalar(row, "y_scale")
        settings = np.array(self.filters())
        family, drift_log, fade, anchored = settings[:, 0], settings[:, 2], settings[:, 5], settings[:, 6:7] > 0
        slow, fading, epsilon = filters[:, 0], filters[:, 1], filters[:, 2]
        unit = np.minimum(np.divide(y_scale, x_scale, out=np.zeros(n_features), where=x_scale > 0), LARGEST_UNIT)
        unit = np.concatenate([np.full(offset, y_scale), unit])
        center = np.where(anchored, anchor, 0.0)
        spread = np.where(anchored, anchor_var, 1.0)
        drift = np.zeros((self.n_filters, n_weights, n_weights))
        slopes = np.arange(offset, n_weights)
        drift[:, slopes, slopes] = 1 / spread
        if self.intercept:
            drift[:, 0, 0] = 1 + np.sum(center**2 / spread, axis=1)
            drift[:, 0, 1:] = drift[:, 1:, 0] = -center / spread  # (53)
        cov = unpack(filters[:, FILTER_SCALARS + n_weights :])
        with np.errstate(over="ignore"):
            units = np.minimum(np.outer(unit, unit), LARGEST)
            cov = np.clip(cov * units, -LARGEST, LARGEST)
            drift = drift * np.exp(drift_log + 2 * slow)[:, None, None]  # (52)
            drift = np.clip(drift * units, -LARGEST, LARGEST)
        return LinearMixture(
            share=shares.copy(),
            mean=filters[:, FILTER_SCALARS : FILTER_SCALARS + n_weights] * unit,
            cov=cov,
            drift=drift,
            noise_scale=y_scale * np.exp(slow + fading),
            epsilon=np.where(family == Family.INSENSITIVE, epsilon, 0.0),
            family=family.astype(np.int64),
            fading=fading.copy(),
            fade=fade,
            x_center=x_center.copy(),
            y_center=self.layout.scalar(row, "y_center"),
            intercept=self.intercept,
        )
