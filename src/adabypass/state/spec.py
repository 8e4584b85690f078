"""The base of all specs. A spec holds the validated hyperparameters of a model.

Specs of the paper's models are in `state/paper.py`, the spec of AutoBypass in `state/bank.py`. A spec is immutable.
What a model learns is in its row (`state/layout.py`), which the spec initialises.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from functools import lru_cache
from typing import Any, ClassVar, Literal, Self, get_args

from adabypass.distributions.predictive import Normal, Predictive
from adabypass.distributions.record import RecordLayout, get_record_layout
from adabypass.errors import ParameterError
from adabypass.numerics.limits import MAX_COUNT
from adabypass.numerics.noise import Family
from adabypass.state.layout import Field, Layout, check_count, vectors
from adabypass.validation import Floats, shown

Covariance = Literal["auto", "full", "diagonal"]

MAX_FULL_FEATURES = 2000
"""Maximum number of features with which covariance="auto" means a full one: such a row takes 16 MB."""


@dataclass(frozen=True)
class Spec(ABC):
    """Hyperparameters of one kind of model, and the row that they start."""

    layout: ClassVar[Layout]
    """Fields of the row; their dimensions are those of `dims`."""
    bounded_by: ClassVar[Mapping[str, str]] = {}
    """Scalars of the row that compiled code uses as counts or indices, each with the dimension that is its maximum."""
    gathered: ClassVar[tuple[str, ...]] = ()
    """Vectors of the row, in the order of the kernel, whose elements are gathered for the given features of a sparse
    step, where the covariance is diagonal."""
    forecast_type: ClassVar[type] = Normal
    """Class of the forecast of one observation. Compiled code creates `Normal` and `Mixture` without `predictive`."""

    @abstractmethod
    def start(self) -> dict[str, float]:
        """Return the scalars of the row whose initial value is not 0."""

    @abstractmethod
    def constants(self) -> tuple[float, ...]:
        """Return the constants that the kernel needs at each step."""

    @property
    def learned(self) -> tuple[str, ...]:
        """Names of the scalars that are learned parameters."""
        return self.layout.scalars

    @property
    def n_linears(self) -> int:
        """Number of linear models of which a forecast is a mixture."""
        return 1

    @property
    def n_walks(self) -> int:
        """Number of random walks that the weights follow. Linear models that differ only in their noise share one."""
        return 1

    @property
    def drift_groups(self) -> tuple[int, ...]:
        """Index of the group of each linear model; the models of a group differ only in their noise."""
        return (0,)

    @property
    def n_components(self) -> int:
        """Number of components of a forecast; a linear model has several where its noise is a mixture."""
        return self.n_linears

    @property
    def n_head(self) -> int:
        """Number of scalars at the start of the row that a trace keeps, `n_seen` included."""
        return 1 + len(self.layout.scalars)

    @property
    def log_score_at(self) -> int:
        """Index in the row of the log score of the newest observation; -1 if there is none."""
        return self.layout.position("log_score") if "log_score" in self.layout.scalars else -1

    @property
    def is_sparse(self) -> bool:
        """Whether features may be sparse: the size of the row is then linear in their number."""
        return False

    @property
    def is_full(self) -> bool:
        """Whether the covariance of the weights is kept in full."""
        return not self.is_sparse

    @property
    def has_intercept(self) -> bool:
        """Whether the first weight is that of an intercept, which the model adds itself."""
        return False

    def for_features(self, n_features: int) -> Self:
        """Return the spec of a model with `n_features` features."""
        return self

    def for_lags(self) -> "Spec":
        """Return the spec of a model whose features are past values of y."""
        return self

    @property
    def record_layout(self) -> RecordLayout | None:
        """Layout of the record of a forecast; None if mean and variance determine the forecast."""
        return get_record_layout(self.families, self.n_walks, None) if self.families else None

    @property
    def families(self) -> tuple[Family, ...]:
        """Noise family of each linear model; empty if mean and variance determine the forecast."""
        return ()

    @property
    def n_record(self) -> int:
        """Size of the record of a forecast, without its mean and variance."""
        return self.record_layout.size if self.record_layout is not None else 0

    def record_size(self, row: Floats, n_features: int, y: Floats) -> int:
        """Return the size of the records of forecasts that a run over `y` keeps, once the row is this one."""
        return self.n_record

    def predictive(self, mean: Any, var: Any, record: Floats | None = None) -> Predictive:
        """Return the forecast, or the forecasts, from the numbers that the kernel computed.

        Parameters
        ----------
        mean, var
            Numbers, or arrays (n,).
        record : array (n_record,), or (n, n_record)
            Record that the kernel wrote; None if only mean and variance were kept.
        """
        return Normal.unchecked(mean, var)

    def dims(self, n_features: int) -> dict[str, int]:
        """Return the dimensions of a row's fields, by name."""
        return {"n_features": n_features}

    def row_size(self, n_features: int) -> int:
        """Return the size of a row."""
        return self.layout.size(**self.dims(n_features))

    def n_scratch(self, n_features: int) -> int:
        """Return the size of the scratch memory of a step, in float64."""
        return 3 * n_features

    def aligned_at(self, n_features: int) -> int | None:
        """Return the index in the row to align to a cache line; None if alignment makes no difference."""
        return None

    def new_row(self, n_features: int) -> Floats:
        """Return the row of an untrained model: zeros, except for the scalars in `start`."""
        return self.layout.new_row(self.start(), **self.dims(n_features))

    def check_row(self, row: Floats, n_features: int) -> None:
        """Check the counts of a saved row, so that compiled code stays within its memory whatever the row holds."""
        dims = self.dims(n_features)
        check_count(self.layout.scalar(row, "n_seen"), "n_seen", MAX_COUNT)
        for name, dimension in self.bounded_by.items():
            check_count(self.layout.scalar(row, name), name, dims[dimension])

    def widened(self, row: Floats, n_features: int, more: int, were_zero: bool = False) -> Floats:
        """Return a row with `more` features added: learned values are kept, new weights get their prior.

        `were_zero` means that the new features were 0 until now; otherwise their past values are unknown.
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
    """Hyperparameters of a model with a Gaussian belief about its weights.

    With a diagonal covariance the variances are `var + common_var`: drift is added to `common_var` alone.
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
            del values["covariance"]  # a default is not saved
        return values

    def for_features(self, n_features: int) -> Self:
        """Return the spec of a model with `n_features` features.

        covariance="auto" becomes "diagonal" above 2,000 features, and otherwise stays "auto", which means full.
        """
        is_chosen = self.covariance == "auto" and n_features > MAX_FULL_FEATURES
        return replace(self, covariance="diagonal") if is_chosen else self

    def widened(self, row: Floats, n_features: int, more: int, were_zero: bool = False) -> Floats:
        wide = super().widened(row, n_features, more, were_zero)
        if self.is_sparse:
            dims = self.dims(n_features + more)
            self.layout.view(wide, "var", **dims)[n_features:] -= self.layout.view(wide, "common_var", **dims)
        return wide


def check_covariance(value: object) -> None:
    """Validate the argument `covariance`."""
    if not isinstance(value, str) or value not in get_args(Covariance):
        raise ParameterError(f"covariance is {shown(value)}, but must be 'auto', 'full' or 'diagonal'.")


@lru_cache(maxsize=8)
def diagonal_layout(fields: tuple[Field, ...]) -> Layout:
    """Return the layout of a row with these fields and a diagonal covariance."""
    return Layout((*fields, *vectors("var"), Field("common_var", lambda **_: (1,))))
