"""What a model is told before it sees data: hyperparameters, checked once, here.

A spec never changes. What does change while the model learns lives in the row (`model/row.py`), which a spec can start.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, Literal, get_args

from adabypass.errors import ParameterError
from adabypass.model import noise
from adabypass.model.component import Components
from adabypass.model.covariance import LARGEST_RANK, check_columns, diagonal_layout, low_rank_layout, start_low_rank
from adabypass.model.hyperparameters import check_positive, check_sweeps
from adabypass.model.limits import CONVERGENCE_CAP, LARGEST_COUNT, LARGEST_PREC, SMALLEST_PREC
from adabypass.model.predictive import Insensitive, Normal, Point, Predictive
from adabypass.model.row import Layout, check_count, scalars, set_diagonal, symmetric_matrices, vectors
from adabypass.validation import Floats, check_int, shown

Variant = Literal["PA", "PA-I", "PA-II"]
Covariance = Literal["full", "diagonal", "low-rank"]

BYPASS_SCALARS = scalars("n_seen", "drift_prec", "noise_prec", "noise_mean", "noise_mean_var", "a", "b", "epsilon")


@dataclass(frozen=True)
class Spec(ABC):
    """Hyperparameters of one kind of model, and the row that they start."""

    layout: ClassVar[Layout]
    """The row's fields; their dimensions are those of `dims`."""
    bounded_by: ClassVar[Mapping[str, str]] = {}
    """Scalars of the row that compiled code counts or indexes with, and the dimension that is the largest of each."""
    forecast_type: ClassVar[type] = Normal
    """Class of the forecast of one observation. Compiled code makes `Normal` and `Mixture` without `predictive`."""

    @abstractmethod
    def start(self) -> dict[str, float]:
        """Return the row's scalars that are not 0 before anything is seen."""

    @abstractmethod
    def constants(self) -> tuple[float, ...]:
        """Return the numbers that the kernel needs at each step and that never change."""

    @property
    def learned(self) -> tuple[str, ...]:
        """Names of the scalars that say what was learned."""
        return self.layout.scalars

    @property
    def n_linears(self) -> int:
        """Number of linear models that a forecast is a mixture of."""
        return 1

    @property
    def n_components(self) -> int:
        """Number of components of a forecast: more, where the noise of a linear model is several components."""
        return self.n_linears

    @property
    def n_head(self) -> int:
        """Count the numbers at the row's start that a trace keeps: `n_seen` and the other scalars."""
        return 1 + len(self.layout.scalars)

    @property
    def log_score_at(self) -> int:
        """Return which number of the row is the log score of the newest observation; -1 if the row does not hold it."""
        return self.layout.position("log_score") if "log_score" in self.layout.scalars else -1

    @property
    def is_sparse(self) -> bool:
        """Whether the row is linear in the number of features, which may be many, and mostly 0."""
        return False

    @property
    def is_low_rank(self) -> bool:
        """Whether the covariance of the weights is kept as a diagonal less a matrix of low rank."""
        return False

    @property
    def has_intercept(self) -> bool:
        """Whether the weights begin with that of an intercept of the model's own."""
        return False

    def predictive(self, mean: Any, var: Any, components: Components | None = None) -> Predictive:
        """Return the forecast, or the forecasts, that the kernel's numbers amount to.

        Parameters
        ----------
        mean, var
            Numbers, or arrays (n,).
        components
            Of a mixture, unless only its mean and variance were kept.
        """
        return Normal(mean, var)

    def dims(self, n_features: int) -> dict[str, int]:
        """Return the dimensions of a row's fields, by name."""
        return {"n_features": n_features}

    def row_size(self, n_features: int) -> int:
        """Count the numbers of a row."""
        return self.layout.size(**self.dims(n_features))

    def n_scratch(self, n_features: int) -> int:
        """Count the numbers of scratch memory that the kernel needs during a step."""
        return 3 * n_features

    def aligned_at(self, n_features: int) -> int | None:
        """Return which number of a row is best kept at the start of a cache line; None if it makes no difference."""
        return None

    def new_row(self, n_features: int) -> Floats:
        """Return the memory of a model that has seen nothing yet: weights known to be 0, scalars as `start` says."""
        return self.layout.new_row(self.start(), **self.dims(n_features))

    def check_row(self, row: Floats, n_features: int) -> None:
        """Check the counts of a row that was saved: whatever it holds, compiled code must stay within its memory."""
        dims = self.dims(n_features)
        check_count(self.layout.scalar(row, "n_seen"), "n_seen", LARGEST_COUNT)
        for name, dimension in self.bounded_by.items():
            check_count(self.layout.scalar(row, name), name, dims[dimension])

    def widened(self, row: Floats, n_features: int, more: int, were_zero: bool = False) -> Floats:
        """Return a row with `more` features: what was learned stays, new weights start afresh.

        `were_zero` says that the new features were 0 so far; otherwise nothing is known of them.
        """
        wide = self.new_row(n_features + more)
        self.layout.copy_into(wide, row, self.dims(n_features), self.dims(n_features + more))
        return wide

    def hyperparameters(self) -> dict[str, Any]:
        """Return the hyperparameters by name."""
        return {each.name: getattr(self, each.name) for each in fields(self)}

    def changed(self) -> dict[str, Any]:
        """Return the hyperparameters that differ from their defaults."""
        return {each.name: value for each in fields(self) if (value := getattr(self, each.name)) != each.default}


@dataclass(frozen=True)
class GaussianSpec(Spec):
    """Hyperparameters of a model that believes in one Gaussian over its weights.

    If its covariance is not full, the row has `var` less `common_var`, to which drift is added for all at once.
    """

    covariance: Covariance = field(default="full", kw_only=True)
    rank: int = field(default=10, kw_only=True)

    def __post_init__(self) -> None:
        if not isinstance(self.covariance, str) or self.covariance not in get_args(Covariance):
            raise ParameterError(
                f"covariance is {shown(self.covariance)}, but must be 'full', 'diagonal' or 'low-rank'."
            )
        object.__setattr__(self, "rank", check_int(self.rank, "rank", minimum=1, maximum=LARGEST_RANK))
        kept = tuple(each for each in self.layout.fields if not each.is_symmetric)
        if self.is_low_rank:
            object.__setattr__(self, "layout", low_rank_layout(kept, self.rank))
        elif self.is_sparse:
            object.__setattr__(self, "layout", diagonal_layout(kept))

    @property
    def is_sparse(self) -> bool:
        return self.covariance != "full"

    @property
    def is_low_rank(self) -> bool:
        return self.covariance == "low-rank"

    def hyperparameters(self) -> dict[str, Any]:
        values = super().hyperparameters()
        if not self.is_low_rank:
            del values["rank"]
        if not self.is_sparse:
            del values["covariance"]  # so that files say what they said before there was a choice
        return values

    def new_row(self, n_features: int) -> Floats:
        row = super().new_row(n_features)
        if self.is_low_rank:
            start_low_rank(self.layout, row, n_features)
        return row

    def check_row(self, row: Floats, n_features: int) -> None:
        super().check_row(row, n_features)
        if self.is_low_rank:
            check_columns(self.layout, row, n_features)

    def widened(self, row: Floats, n_features: int, more: int, were_zero: bool = False) -> Floats:
        wide = super().widened(row, n_features, more, were_zero)
        if self.is_sparse:
            dims = self.dims(n_features + more)
            self.layout.view(wide, "var", **dims)[n_features:] -= self.layout.view(wide, "common_var", **dims)
        return wide


@dataclass(frozen=True)
class PassiveAggressiveSpec(Spec):
    """Hyperparameters of passive-aggressive regression."""

    variant: Variant = "PA-I"
    C: float = 1.0
    epsilon: float = 0.1
    layout: ClassVar[Layout] = Layout((*scalars("n_seen"), *vectors("mean")))
    forecast_type: ClassVar[type] = Point

    def __post_init__(self) -> None:
        if not isinstance(self.variant, str) or self.variant not in get_args(Variant):
            choices = ", ".join(repr(v) for v in get_args(Variant))
            raise ParameterError(f"variant is {shown(self.variant)}, but must be one of {choices}.")
        check_positive(self, "C")
        check_positive(self, "epsilon", zero=True)

    def start(self) -> dict[str, float]:
        return {}

    def constants(self) -> tuple[float, ...]:
        return (float(get_args(Variant).index(self.variant)), self.C, self.epsilon)

    def predictive(self, mean: Any, var: Any, components: Components | None = None) -> Predictive:
        return Point(mean, model="PassiveAggressive")


@dataclass(frozen=True)
class BypassSpec(GaussianSpec):
    """Hyperparameters of BYPASS."""

    a: float = 1000.0
    b: float = 1.0
    epsilon: float = 1.25
    max_sweeps: int | None = None
    tol: float = 1e-8
    layout: ClassVar[Layout] = Layout((*BYPASS_SCALARS, *vectors("mean"), *symmetric_matrices("cov")))

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("a", "b", "epsilon"):
            check_positive(self, name)
        check_sweeps(self.max_sweeps)
        check_positive(self, "tol", zero=True)

    def start(self) -> dict[str, float]:
        return {
            "drift_prec": min(max(self.a / self.b, SMALLEST_PREC), LARGEST_PREC),
            "noise_prec": 500.0,  # the paper's choice: the prior mean of β is undefined
            "noise_mean": 0.0,
            "noise_mean_var": noise.mean_var(self.epsilon),
            "a": self.a,
            "b": self.b,
            "epsilon": self.epsilon,
        }

    def constants(self) -> tuple[float, ...]:
        return (float(self.max_sweeps or 0), self.tol, float(CONVERGENCE_CAP))


@dataclass(frozen=True)
class AdaBypassSpec(BypassSpec):
    """Hyperparameters of ADA-BYPASS: those of BYPASS are where a, b and epsilon start."""

    aggressiveness: float = 1e-3
    omega_min: float = 1e-8
    layout: ClassVar[Layout] = Layout(
        (*BYPASS_SCALARS, *vectors("mean", "mean_gradient"), *symmetric_matrices("cov", "cov_gradient"))
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.is_sparse:
            raise ParameterError(f"covariance is {self.covariance!r}, but AdaBypass keeps a full one; use Bypass.")
        check_positive(self, "aggressiveness", zero=True)
        check_positive(self, "omega_min")

    def new_row(self, n_features: int) -> Floats:
        row = super().new_row(n_features)
        set_diagonal(self.layout.view(row, "cov_gradient", n_features=n_features), 1.0)  # as in the paper
        return row

    def constants(self) -> tuple[float, ...]:
        return (*super().constants(), self.aggressiveness, self.omega_min)


@dataclass(frozen=True)
class SequentialKalmanSpec(GaussianSpec):
    """Hyperparameters of the sequential Kalman filter."""

    noise_var: float = 1.0
    adapt_noise: bool = False
    layout: ClassVar[Layout] = Layout(
        (*scalars("n_seen", "drift_var", "noise_var"), *vectors("mean"), *symmetric_matrices("cov"))
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive(self, "noise_var")
        if not isinstance(self.adapt_noise, bool):
            raise ParameterError(f"adapt_noise is {shown(self.adapt_noise)}, but must be True or False.")

    def start(self) -> dict[str, float]:
        return {"drift_var": 0.0, "noise_var": self.noise_var}

    def constants(self) -> tuple[float, ...]:
        return (float(self.adapt_noise),)


@dataclass(frozen=True)
class EvidenceBypassSpec(GaussianSpec):
    """Hyperparameters of the exact-evidence filter."""

    drift: float = 1e-3
    noise_scale: float = 1.0
    epsilon: float = 1.25
    prior_var: float = 1.0
    layout: ClassVar[Layout] = Layout((*scalars("n_seen"), *vectors("mean"), *symmetric_matrices("cov")))
    forecast_type: ClassVar[type] = Insensitive

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive(self, "drift", zero=True)
        for name in ("noise_scale", "epsilon", "prior_var"):
            check_positive(self, name)

    def start(self) -> dict[str, float]:
        return {}

    def new_row(self, n_features: int) -> Floats:
        row = super().new_row(n_features)
        if self.is_sparse:
            self.layout.view(row, "var", n_features=n_features)[:] = self.prior_var
        else:
            set_diagonal(self.layout.view(row, "cov", n_features=n_features), self.prior_var)
        return row

    def constants(self) -> tuple[float, ...]:
        return (self.drift * self.noise_scale**2, self.noise_scale, self.epsilon)

    def predictive(self, mean: Any, var: Any, components: Components | None = None) -> Predictive:
        if components is None:
            return Normal(mean, var)
        signal_var = components["signal_var"]
        many = signal_var.ndim == 2
        return Insensitive(mean, signal_var[:, 0] if many else float(signal_var[0]), self.noise_scale, self.epsilon)
