"""What a model is told before it sees data: hyperparameters, checked once, here.

Here is what all specs have in common; those of the paper's models are in `state/paper.py`, the bank's in
`state/bank.py`. A spec never changes. What does change while the model learns lives in the row (`state/layout.py`),
which a spec can start.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, ClassVar, Self

from adabypass.distributions.predictive import Normal, Predictive
from adabypass.distributions.record import RecordLayout, get_record_layout
from adabypass.numerics.limits import LARGEST_COUNT
from adabypass.numerics.noise import Family
from adabypass.state.covariance import MOST_FULL, Covariance, check_covariance, diagonal_layout
from adabypass.state.layout import Layout, check_count
from adabypass.validation import Floats


@dataclass(frozen=True)
class Spec(ABC):
    """Hyperparameters of one kind of model, and the row that they start."""

    layout: ClassVar[Layout]
    """The row's fields; their dimensions are those of `dims`."""
    bounded_by: ClassVar[Mapping[str, str]] = {}
    """Scalars of the row that compiled code counts or indexes with, and the dimension that is the largest of each."""
    gathered: ClassVar[tuple[str, ...]] = ()
    """Vectors of the row, in the order in which the kernel has them, whose numbers a step gathers of the features that
    are given, where a covariance is diagonal."""
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
    def n_walks(self) -> int:
        """Number of random walks that weights follow: linear models that differ in their noise alone share one."""
        return 1

    @property
    def drift_groups(self) -> tuple[int, ...]:
        """Of each linear model the number of its group: those of one group differ in nothing but their noise."""
        return (0,)

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
    def is_full(self) -> bool:
        """Whether the covariance of the weights is kept in full."""
        return not self.is_sparse

    @property
    def has_intercept(self) -> bool:
        """Whether the weights begin with that of an intercept of the model's own."""
        return False

    def for_features(self, n_features: int) -> Self:
        """Return the spec of a model with so many features."""
        return self

    def for_lags(self) -> Self:
        """Return the spec of a model whose features are past values of y."""
        return self

    @property
    def record_layout(self) -> RecordLayout | None:
        """How a forecast is kept; None if mean and variance say all of it."""
        return get_record_layout(self.families, self.n_walks, None) if self.families else None

    @property
    def families(self) -> tuple[Family, ...]:
        """Family of the noise of each linear model; none if mean and variance of a forecast say all of it."""
        return ()

    @property
    def n_record(self) -> int:
        """Count the numbers that keep a forecast, besides its mean and variance."""
        return self.record_layout.size if self.record_layout is not None else 0

    def predictive(self, mean: Any, var: Any, record: Floats | None = None) -> Predictive:
        """Return the forecast, or the forecasts, that the kernel's numbers amount to.

        Parameters
        ----------
        mean, var
            Numbers, or arrays (n,).
        record : array (n_record,), or (n, n_record)
            What the kernel wrote, unless only mean and variance were kept.
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

    If its covariance is diagonal, the row has `var` less `common_var`, to which drift is added for all at once.
    """

    gathered: ClassVar[tuple[str, ...]] = ("mean", "var")
    covariance: Covariance = field(default="auto", kw_only=True)

    def __post_init__(self) -> None:
        check_covariance(self.covariance)
        if self.is_sparse:
            kept = tuple(each for each in self.layout.fields if not each.is_symmetric)
            object.__setattr__(self, "layout", diagonal_layout(kept))

    @property
    def is_sparse(self) -> bool:
        return self.covariance == "diagonal"

    def hyperparameters(self) -> dict[str, Any]:
        values = super().hyperparameters()
        if self.covariance == "auto":
            del values["covariance"]  # so that files say what they said before there was a choice
        return values

    def for_features(self, n_features: int) -> Self:
        """Return the spec of a model with so many features: if its covariance is to be chosen, beyond 2,000 diagonal.

        One that stays open, "auto", is full.
        """
        is_chosen = self.covariance == "auto" and n_features > MOST_FULL
        return replace(self, covariance="diagonal") if is_chosen else self

    def widened(self, row: Floats, n_features: int, more: int, were_zero: bool = False) -> Floats:
        wide = super().widened(row, n_features, more, were_zero)
        if self.is_sparse:
            dims = self.dims(n_features + more)
            self.layout.view(wide, "var", **dims)[n_features:] -= self.layout.view(wide, "common_var", **dims)
        return wide
