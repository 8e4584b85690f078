"""Hyperparameters of the paper's models, and of the exact-evidence filter."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from math import inf, isfinite
from numbers import Real
from typing import Any, ClassVar, Literal, Self, get_args

import numpy as np

from adabypass.distributions.predictive import Mixture, Normal, Point, Predictive
from adabypass.errors import ParameterError
from adabypass.numerics import noise
from adabypass.numerics.limits import CONVERGENCE_CAP, MAX_HYPERPARAMETER, MAX_PREC, MAX_SLOPE, MIN_PREC
from adabypass.state.layout import Field, Layout, scalars, set_diagonal, symmetric_matrices, triangle, vectors
from adabypass.state.spec import GaussianSpec, Spec
from adabypass.validation import Floats, shown

Variant = Literal["PA", "PA-I", "PA-II"]

CORRECTIONS = {"E1": 1, "E2": 2, "E3": 4, "E4": 8, "E5": 16, "E8": 32}
"""Errata of docs/equations.md that can be corrected, each with the kernel's `Correction`."""

BYPASS_SCALARS = scalars("n_seen", "drift_prec", "noise_prec", "noise_mean", "noise_mean_var", "a", "b", "epsilon")


EXACT_LAYOUT = Layout(
    (
        *BYPASS_SCALARS,
        *vectors("mean"),
        *symmetric_matrices("cov"),
        Field("mean_gradient", lambda n_features, **_: (3, n_features)),
        Field("cov_gradient", lambda n_features, **_: (3, triangle(n_features)), is_symmetric=True),
        Field("theta_gradient", lambda **_: (3, 4)),
    )
)
"""Layout of the row of ADA-BYPASS with exact gradients: derivatives by a, b and epsilon."""


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

    def predictive(self, mean: Any, var: Any, record: Floats | None = None) -> Predictive:
        return Point(mean, model="PassiveAggressive")


@dataclass(frozen=True)
class BypassSpec(GaussianSpec):
    """Hyperparameters of BYPASS."""

    a: float = 1000.0
    b: float = 1.0
    epsilon: float = 1.25
    max_sweeps: int | None = None
    tol: float = 1e-8
    corrections: Sequence[str] = field(default=(), kw_only=True)
    layout: ClassVar[Layout] = Layout((*BYPASS_SCALARS, *vectors("mean"), *symmetric_matrices("cov")))
    correctable: ClassVar[tuple[str, ...]] = ("E1", "E2", "E3", "E4")
    """Errata of docs/equations.md that `corrections` may name."""

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "corrections", check_corrections(self.corrections, self.correctable))
        for name in ("a", "b", "epsilon"):
            check_positive(self, name)
        check_sweeps(self.max_sweeps)
        check_positive(self, "tol", zero=True)

    def start(self) -> dict[str, float]:
        return {
            "drift_prec": min(max(self.a / self.b, MIN_PREC), MAX_PREC),
            "noise_prec": 500.0,  # the paper's choice: the prior mean of β is undefined
            "noise_mean": 0.0,
            "noise_mean_var": noise.mean_var(self.epsilon),
            "a": self.a,
            "b": self.b,
            "epsilon": self.epsilon,
        }

    def constants(self) -> tuple[float, ...]:
        return (*self._sweep_constants(), *self._correction_constants())

    def _sweep_constants(self) -> tuple[float, ...]:
        return (float(self.max_sweeps or 0), self.tol, float(CONVERGENCE_CAP))

    def _correction_constants(self) -> tuple[float, ...]:
        """Return the sum of the kernel's `Correction`; an empty tuple without corrections, as in older files."""
        return (float(sum(CORRECTIONS[name] for name in self.corrections)),) if self.corrections else ()

    def hyperparameters(self) -> dict[str, Any]:
        values = super().hyperparameters()
        if not self.corrections:
            del values["corrections"]  # a default is not saved
        return values


@dataclass(frozen=True)
class AdaBypassSpec(BypassSpec):
    """Hyperparameters of ADA-BYPASS; a, b and epsilon are starting values."""

    aggressiveness: float = 1e-3
    omega_min: float = 1e-8
    correctable: ClassVar[tuple[str, ...]] = ("E1", "E2", "E3", "E4", "E5", "E8")
    gathered: ClassVar[tuple[str, ...]] = ("mean", "mean_gradient", "var", "var_gradient")
    layout: ClassVar[Layout] = Layout(
        (*BYPASS_SCALARS, *vectors("mean", "mean_gradient"), *symmetric_matrices("cov", "cov_gradient"))
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.is_exact:
            self._check_exact()
            object.__setattr__(self, "layout", EXACT_LAYOUT)
        elif self.is_sparse:
            object.__setattr__(self, "layout", _with_gradient(self.layout))
        check_positive(self, "aggressiveness", zero=True)
        check_positive(self, "omega_min")

    def _check_exact(self) -> None:
        if self.is_sparse:
            raise ParameterError(
                f"corrections are {self.corrections}, but E5 needs a full covariance, and covariance is "
                f"{self.covariance!r}; use covariance='full'."
            )
        if self.max_sweeps is not None:
            raise ParameterError(
                f"max_sweeps is {self.max_sweeps}, but E5 differentiates the fixed point itself; use max_sweeps=None."
            )
        if "E5" not in self.corrections:
            raise ParameterError("corrections contain E8 without E5, but E8 needs the exact gradients of E5; add 'E5'.")

    @property
    def is_exact(self) -> bool:
        """Whether the gradients are exact: erratum E5 is corrected."""
        return "E5" in self.corrections or "E8" in self.corrections

    def for_features(self, n_features: int) -> Self:
        """Return the spec of a model with `n_features` features; exact gradients keep the covariance full."""
        return self if self.is_exact else super().for_features(n_features)

    def n_scratch(self, n_features: int) -> int:
        return (6 if self.is_exact else 3) * n_features

    def new_row(self, n_features: int) -> Floats:
        row = super().new_row(n_features)
        if self.is_exact:
            self.layout.view(row, "theta_gradient", n_features=n_features)[:] = self._start_slopes()
        elif self.is_sparse:
            self.layout.view(row, "var_gradient", n_features=n_features)[:] = 1.0
        else:
            set_diagonal(self.layout.view(row, "cov_gradient", n_features=n_features), 1.0)  # as in the paper
        return row

    def _start_slopes(self) -> list[list[float]]:
        """Return the derivatives of the initial α = a/b, β, μ and V by a, b and ε."""
        return [
            [min(1.0 / self.b, MAX_SLOPE), 0.0, 0.0, 0.0],
            [-min(self.a / self.b / self.b, MAX_SLOPE), 0.0, 0.0, 0.0],
            [0.0, 0.0, 0.0, noise.mean_var_slope(self.epsilon)],
        ]

    def constants(self) -> tuple[float, ...]:
        return (*self._sweep_constants(), self.aggressiveness, self.omega_min, *self._correction_constants())


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
    forecast_type: ClassVar[type] = Mixture

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

    @property
    def families(self) -> tuple[noise.Family, ...]:
        return (noise.Family.INSENSITIVE,)

    def predictive(self, mean: Any, var: Any, record: Floats | None = None) -> Predictive:
        if record is None or self.record_layout is None:
            return Normal.unchecked(mean, var)
        return Mixture.from_record(record, self.record_layout, mean, var)


def check_positive(spec: Any, name: str, *, zero: bool = False) -> None:
    """Check that a hyperparameter is a positive number, and store it as a float."""
    value = getattr(spec, name)
    domain = f"a number {'from 0' if zero else 'above 0'} up to {MAX_HYPERPARAMETER:g}"
    if not isinstance(value, Real) or isinstance(value, bool):
        raise ParameterError(f"{name} is {shown(value)}, but must be {domain}.")
    try:
        number = float(value)
    except OverflowError:
        number = inf
    if not isfinite(number) or number > MAX_HYPERPARAMETER or number < 0.0 or (number == 0.0 and not zero):
        raise ParameterError(f"{name} is {shown(value)}, but must be {domain}.")
    object.__setattr__(spec, name, number)


def check_sweeps(max_sweeps: Any) -> None:
    """Check that `max_sweeps` is a whole number from 1, or None."""
    is_whole = isinstance(max_sweeps, int | np.integer) and not isinstance(max_sweeps, bool)
    if max_sweeps is not None and not (is_whole and 1 <= max_sweeps <= CONVERGENCE_CAP):
        raise ParameterError(
            f"max_sweeps is {shown(max_sweeps)}, but must be a whole number from 1 to {CONVERGENCE_CAP}, or None to "
            "run to convergence."
        )


def check_corrections(corrections: Any, known: tuple[str, ...]) -> tuple[str, ...]:
    """Check the names of errata to correct; return them without duplicates, in order."""
    choices = f"a list of some of {', '.join(repr(name) for name in known)}, which docs/equations.md explains"
    if isinstance(corrections, str) or not isinstance(corrections, Iterable):
        raise ParameterError(f"corrections is {shown(corrections)}, but must be {choices}.")
    given = list(corrections)
    for name in given:
        if not isinstance(name, str) or name not in known:
            raise ParameterError(f"corrections contains {shown(name)}, but must be {choices}.")
    return tuple(name for name in known if name in given)


@lru_cache(maxsize=8)
def _with_gradient(layout: Layout) -> Layout:
    """Return the layout of a row that also has the gradients of ADA-BYPASS: equations (M.14)-(M.16)."""
    return Layout((*layout.fields, *vectors("var_gradient")))
