"""The models: objects that remember, each in one row of numbers.

All of them obey one protocol. `predict(x)` says what the next observation will be, `update(x, y)` learns from it, and
`run(X, y)` does both for a whole stream in compiled code, with the same answers to the last bit.
"""

from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from adabypass import door
from adabypass.errors import NotReadyError
from adabypass.inference.kernel import govi, kalman, passive_aggressive
from adabypass.inference.kernel.step import Cell, Kernel
from adabypass.model.predictive import Normal, Point
from adabypass.model.row import Floats, triangle
from adabypass.model.spec import (
    AdaBypassSpec,
    BypassSpec,
    PassiveAggressiveSpec,
    SequentialKalmanSpec,
    Spec,
    Variant,
)
from adabypass.model.trace import Trace


class Weights(NamedTuple):
    """Belief about the weights, given all that was seen: read-only copies."""

    mean: Floats
    """Shape (n_features,)."""
    cov: Floats | None
    """Shape (n_features, n_features); None where the model holds a point."""


class Regressor:
    """What every model has in common. Use one of its subclasses."""

    _kernel: ClassVar[Kernel]
    _spec: Spec
    _cell: Cell | None

    def __init__(self, spec: Spec, n_features: int | None) -> None:
        self._spec = spec
        self._constants = np.array(spec.constants())
        self._given_features = None if n_features is None else door.whole(n_features, "n_features", least=1)
        self.reset()

    def predict(self, x: object) -> Normal | Point:
        """Forecast the observation at `x`, before it is seen.

        Parameters
        ----------
        x : array (n_features,) of finite numbers; a plain number if there is one feature
        """
        cell = self._cell
        if cell is None:
            cell = self._build(len(door.features(x, None)))
        return self._predictive(*cell.forecast(x))

    def update(self, x: object, y: object) -> None:
        """Learn from having seen `y` at `x`.

        Parameters
        ----------
        x : array (n_features,) of finite numbers
        y : number
            nan if the observation is missing: then only time passes.
        """
        cell = self._cell
        if cell is None:
            features = door.features(x, None)
            door.target(y)  # a refused y must not fix the number of features
            cell = self._build(len(features))
        cell.absorb(x, y)

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
        table, targets = door.stream(X, y, self.n_features)
        n, n_features = table.shape
        # On a copy, so that an interrupted run leaves the model as it was.
        cell = self._new_cell(
            self._spec.new_row(n_features) if self._cell is None else self._cell.row.copy(), n_features
        )
        layout = self._spec.layout
        history = np.empty((n, 2 + 1 + len(layout.scalars)))
        kept = np.empty((n if keep_weights else 0, n_features * (1 + bool(layout.matrices))))
        cov_at = len(cell.row) - len(layout.matrices) * triangle(n_features)
        cell.run(table, targets, history, kept, cov_at)
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
        more = door.whole(k, "k", least=1)
        if self._cell is None:
            raise NotReadyError(
                "this model has no features to add to yet; give it n_features, or let it meet its first x."
            )
        n_features = self._cell.n_features
        row = self._spec.layout.grown(self._cell.row, n_features, more, self._spec.start())
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
        mean = layout.vector(row, "mean", n)
        mean.flags.writeable = False
        if not layout.matrices:
            return Weights(mean, None)
        cov = layout.matrix(row, "cov", n)
        cov.flags.writeable = False
        return Weights(mean, cov)

    @property
    def parameters(self) -> MappingProxyType[str, float]:
        """What the model has learned besides the weights, hyperparameters that adapt among it, by name; read-only."""
        layout, start = self._spec.layout, self._spec.start()
        if self._cell is None:
            return MappingProxyType(start)
        return MappingProxyType({name: layout.scalar(self._cell.row, name) for name in layout.scalars})

    def __repr__(self) -> str:
        told = [f"{name}={value:g}" if isinstance(value, float) else f"{name}={value!r}"
                for name, value in self._spec.changed().items()]  # fmt: skip
        known = [] if self.n_features is None else [f"n_features={self.n_features}", f"n_seen={self.n_seen}"]
        return f"{type(self).__name__}({', '.join(told + known)})"

    def __getstate__(self) -> dict[str, Any]:
        row = None if self._cell is None else self._cell.row.copy()
        return {"spec": self._spec, "n_features": self.n_features, "given": self._given_features, "row": row}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._spec = state["spec"]
        self._constants = np.array(self._spec.constants())
        self._given_features = state["given"]
        self._cell = None if state["row"] is None else self._new_cell(state["row"], state["n_features"])

    def _build(self, n_features: int) -> Cell:
        self._cell = self._new_cell(self._spec.new_row(n_features), n_features)
        return self._cell

    def _new_cell(self, row: Floats, n_features: int) -> Cell:
        return Cell(self._kernel, row, self._constants, n_features)

    def _predictive(self, mean: Any, var: Any) -> Normal | Point:
        return Normal(mean, var)


class PassiveAggressive(Regressor):
    """Passive-aggressive regression: the point estimate that BYPASS is the Bayesian form of.

    The weights stay where they are while the error is below `epsilon`, and otherwise move no further than needed.

    Parameters
    ----------
    variant : "PA", "PA-I" or "PA-II"
        How far an update goes: all the way, at most `C`, or all the way less a part that `C` sets.
    C : number above 0
        Aggressiveness. PA makes no use of it.
    epsilon : number from 0
        Half-width of the band of errors that are ignored, in the units of y.
    n_features : int, optional
        Taken from the first x if not given.

    Examples
    --------
    >>> model = PassiveAggressive("PA", epsilon=0.0)
    >>> model.update([1.0, 2.0], 5.0)
    >>> model.predict([1.0, 2.0])
    Point(mean=5)
    """

    _kernel = passive_aggressive.KERNEL

    def __init__(
        self, variant: Variant = "PA-I", C: float = 1.0, epsilon: float = 0.1, *, n_features: int | None = None
    ) -> None:
        super().__init__(PassiveAggressiveSpec(variant, C, epsilon), n_features)

    def _predictive(self, mean: Any, var: Any) -> Normal | Point:
        return Point(mean, model=type(self).__name__)


class SequentialKalman(Regressor):
    """SKF, the paper's benchmark: a Kalman filter over drifting weights, its drift re-estimated at every step.

    Parameters
    ----------
    noise_var : number above 0
        Variance of the noise, in the squared units of y.
    adapt_noise : bool
        Whether that variance is only where a running estimate starts.
    n_features : int, optional
        Taken from the first x if not given.

    Examples
    --------
    >>> model = SequentialKalman()
    >>> trace = model.run([[1.0], [1.0], [1.0]], [3.0, 3.1, 2.9])
    >>> trace.mean.round(2)
    array([0.  , 2.67, 2.87])
    """

    _kernel = kalman.KERNEL

    def __init__(self, noise_var: float = 1.0, adapt_noise: bool = False, *, n_features: int | None = None) -> None:
        super().__init__(SequentialKalmanSpec(noise_var, adapt_noise), n_features)


class Bypass(Regressor):
    """BYPASS, the paper's Algorithm 1: drifting weights, insensitive noise, online variational inference.

    Parameters
    ----------
    a, b : numbers above 0
        Shape and rate of the prior of the drift's precision.
    epsilon : number above 0
        Half-width of the noise's flat top, in the units of y.
    max_sweeps : int, optional
        How many sweeps of the fixed point a step may take. None runs it to convergence; 2 gives the paper's table.
    tol : number from 0
        The fixed point has converged when a sweep moves nothing by more than this, relative to its size.
    n_features : int, optional
        Taken from the first x if not given.

    Examples
    --------
    >>> model = Bypass()
    >>> trace = model.run([[1.0], [1.0], [1.0]], [3.0, 3.1, 2.9])
    >>> trace.mean.round(2)
    array([0.  , 0.44, 0.44])
    """

    _kernel = govi.BYPASS

    def __init__(
        self,
        a: float = 1000.0,
        b: float = 1.0,
        epsilon: float = 1.25,
        *,
        max_sweeps: int | None = None,
        tol: float = 1e-8,
        n_features: int | None = None,
    ) -> None:
        super().__init__(BypassSpec(a, b, epsilon, max_sweeps, tol), n_features)


class AdaBypass(Regressor):
    """ADA-BYPASS, the paper's Algorithm 2: BYPASS whose hyperparameters follow the data.

    Parameters
    ----------
    a, b, epsilon
        Where the hyperparameters of `Bypass` start.
    aggressiveness : number from 0
        How far an observation moves them; 0 leaves them where they are.
    omega_min : number above 0
        The least value each of them may take.
    max_sweeps, tol, n_features
        As in `Bypass`.

    Examples
    --------
    >>> model = AdaBypass()
    >>> model.update([1.0, 0.5], 2.0)
    >>> model.predict([1.0, 0.5])
    Normal(mean=0.409132, sd=1.46996)
    >>> model
    AdaBypass(n_features=2, n_seen=1)
    """

    _kernel = govi.ADA_BYPASS

    def __init__(
        self,
        a: float = 1000.0,
        b: float = 1.0,
        epsilon: float = 1.25,
        *,
        aggressiveness: float = 1e-3,
        omega_min: float = 1e-8,
        max_sweeps: int | None = None,
        tol: float = 1e-8,
        n_features: int | None = None,
    ) -> None:
        super().__init__(AdaBypassSpec(a, b, epsilon, max_sweeps, tol, aggressiveness, omega_min), n_features)
