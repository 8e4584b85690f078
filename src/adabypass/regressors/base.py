"""What every model has in common."""

from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from adabypass.errors import NotReadyError, ShapeError
from adabypass.inference.kernel.step import Cell, Kernel
from adabypass.model.component import COMPONENT
from adabypass.model.linear_mixture import LinearMixture
from adabypass.model.predictive import Normal, Predictive
from adabypass.model.row import triangle
from adabypass.model.spec import Spec
from adabypass.model.trace import Trace
from adabypass.validation import Floats, check_features, check_int, check_stream, check_target

MOST_FEATURES = 30_000
"""A covariance of so many weights takes 3.6 GB."""
NO_COMPONENTS = np.empty(0, COMPONENT)


class Weights(NamedTuple):
    """Belief about the weights, given all that was seen: read-only copies."""

    mean: Floats
    """Shape (n_features,)."""
    cov: Floats | None
    """Shape (n_features, n_features); None where the model holds a point."""


class Regressor:
    """What every model has in common. Use one of its subclasses.

    A model belongs to one thread at a time: what another thread teaches it during a `run` is lost.
    """

    _kernel: ClassVar[Kernel]
    _spec: Spec
    _cell: Cell | None

    def __init__(self, spec: Spec, n_features: int | None) -> None:
        self._spec = spec
        self._constants = np.array(spec.constants())
        self._given_features = (
            None if n_features is None else check_int(n_features, "n_features", minimum=1, maximum=MOST_FEATURES)
        )
        self.reset()

    def predict(self, x: object) -> Predictive:
        """Forecast the observation at `x`, before it is seen.

        Parameters
        ----------
        x : array (n_features,) of finite numbers; a plain number if there is one feature
        """
        return self._predictive(*self._cell_for(x).forecast(x))

    def update(self, x: object, y: object, *, extra_var: Floats | None = None) -> None:
        """Learn from having seen `y` at `x`.

        Parameters
        ----------
        x : array (n_features,) of finite numbers
        y : number
            nan if the observation is missing: then only time passes.
        extra_var : array (n_components,), optional
            What y varies more, under each component of `belief`, because x is not known exactly. The paper's models
            have no use for it.
        """
        cell = self._cell
        if cell is None:
            features = check_features(x, None)
            check_target(y)  # a refused y must not fix the number of features
            cell = self._build(len(features))
        if extra_var is None:
            cell.absorb(x, y)
        else:
            cell.absorb(x, y, extra_var)

    def step(self, x: object, y: object) -> Predictive:
        """Forecast the observation at `x`, then learn that it was `y`: `predict` and `update` in one go.

        Parameters
        ----------
        x : array (n_features,) of finite numbers
        y : number
            nan if the observation is missing.
        """
        value = check_target(y)  # a refused y must not fix the number of features
        return self._predictive(*self._cell_for(x).step(x, value, NO_COMPONENTS))

    def run(self, X: object, y: object, *, keep_weights: bool = False) -> Trace:
        """Predict, then update, for every row of `X` in turn.

        Parameters
        ----------
        X : array (n, n_features) of finite numbers
        y : array (n,)
            nan where the observation is missing.
        keep_weights
            Whether the trace also holds the weights after each observation.

        Returns
        -------
        Trace
            The forecasts made before each observation, and the parameters after it.
        """
        table, targets = check_stream(X, y, self.n_features)
        n, n_features = table.shape
        cell = self._copied_cell(n_features)
        layout = self._spec.layout
        history = np.empty((n, 2 + 1 + len(layout.scalars)))
        kept = np.empty((n if keep_weights else 0, n_features * (1 + bool(layout.matrices))))
        cov_at = len(cell.row) - len(layout.matrices) * triangle(n_features)
        cell.run(table, targets, history, kept, cov_at, np.empty((0, 1), COMPONENT))
        self._cell = cell
        return Trace(
            y=targets.copy(),
            predictive=self._predictive(history[:, 0].copy(), history[:, 1].copy()),
            history={name: history[:, 3 + i].copy() for i, name in enumerate(layout.scalars)},
            weights_mean=kept[:, :n_features] if keep_weights else None,
            weights_var=kept[:, n_features:] if keep_weights and layout.matrices else None,
        )

    def reset(self) -> None:
        """Forget everything that was seen."""
        self._cell = None
        if self._given_features is not None:
            self._build(self._given_features)

    def copy(self) -> Self:
        """Make a model that has learned the same, and goes its own way from here."""
        twin = type(self).__new__(type(self))
        twin.__setstate__(self.__getstate__())
        return twin

    def add_features(self, k: int = 1) -> None:
        """Let the model grow by `k` features, after those it has: new weights start at the prior, the others stay.

        Parameters
        ----------
        k : whole number from 1
        """
        more = check_int(k, "k", minimum=1, maximum=MOST_FEATURES)
        if self._cell is None:
            raise NotReadyError(
                "this model has no features to add to yet; give it n_features, or let it meet its first x."
            )
        n_features = self._cell.n_features
        row = self._spec.widened(self._cell.row, n_features, more)
        self._cell = self._new_cell(row, n_features + more)

    @property
    def n_features(self) -> int | None:
        """Number of features, None until it is known."""
        return None if self._cell is None else int(self._cell.n_features)

    @property
    def n_seen(self) -> int:
        """How many observations were learned from; missing ones do not count."""
        return 0 if self._cell is None else int(self._cell.row[0])

    @property
    def weights(self) -> Weights:
        """Belief about the weights: `mean` and `cov`, as read-only copies."""
        if self._cell is None:
            raise NotReadyError("this model has no weights yet; give it n_features, or let it meet its first x.")
        layout, row, n = self._spec.layout, self._cell.row, self._cell.n_features
        mean = layout.view(row, "mean", n_features=n).copy()
        mean.flags.writeable = False
        if not layout.matrices:
            return Weights(mean, None)
        cov = layout.matrix(row, "cov", n_features=n)
        cov.flags.writeable = False
        return Weights(mean, cov)

    def linear_mixture(self) -> LinearMixture:
        """Give what is believed about the observations to come, in a form that can be carried many steps ahead."""
        raise NotImplementedError

    @property
    def hyperparameters(self) -> MappingProxyType[str, Any]:
        """What the model was told, by name; read-only."""
        return MappingProxyType(self._spec.hyperparameters())

    @property
    def parameters(self) -> MappingProxyType[str, float]:
        """What the model has learned besides the weights, hyperparameters that adapt among it, by name; read-only."""
        layout, start = self._spec.layout, self._spec.start()
        if self._cell is None:
            return MappingProxyType(start)
        return MappingProxyType({name: layout.scalar(self._cell.row, name) for name in layout.scalars})

    def __repr__(self) -> str:
        told = [f"{name}={_short(value)}" for name, value in self._spec.changed().items()]
        known = [] if self.n_features is None else [f"n_features={self.n_features}", f"n_seen={self.n_seen}"]
        return f"{type(self).__name__}({', '.join(told + known)})"

    def __getstate__(self) -> dict[str, Any]:
        row = None if self._cell is None else self._cell.row.copy()
        return {"spec": self._spec, "n_features": self.n_features, "given": self._given_features, "row": row}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._spec = state["spec"]
        self._constants = np.array(self._spec.constants())
        self._given_features = state["given"]
        self._cell = None
        if state["row"] is not None:
            # A copy: what is unpickled may lie in memory that is shared, or not to be written to.
            row = np.array(state["row"], dtype=np.float64)
            if row.shape != self._spec.new_row(state["n_features"]).shape:
                raise ShapeError(f"the row has shape {row.shape}, which does not fit {state['n_features']} features.")
            self._cell = self._new_cell(row, state["n_features"])

    def _cell_for(self, x: object) -> Cell:
        """Give the cell, made for the features of `x` if there is none yet."""
        return self._build(len(check_features(x, None))) if self._cell is None else self._cell

    def _build(self, n_features: int) -> Cell:
        self._cell = self._new_cell(self._spec.new_row(n_features), n_features)
        return self._cell

    def _copied_cell(self, n_features: int) -> Cell:
        """Make a cell to run on, so that an interrupted run leaves the model as it was."""
        row = self._spec.new_row(n_features) if self._cell is None else self._cell.row.copy()
        return self._new_cell(row, n_features)

    def _new_cell(self, row: Floats, n_features: int) -> Cell:
        return Cell(self._kernel, row, self._constants, n_features, self._spec.n_scratch(n_features))

    def _predictive(self, mean: Any, var: Any) -> Predictive:
        return Normal(mean, var)


def _short(value: object) -> str:
    """Write a hyperparameter as briefly as is exact."""
    return f"{value:g}" if isinstance(value, float) and float(f"{value:g}") == value else repr(value)
