"""The models: objects that remember, each in one row of numbers.

All of them obey one protocol. `predict(x)` says what the next observation will be, `update(x, y)` learns from it, and
`run(X, y)` does both for a whole stream in compiled code, with the same answers to the last bit.
"""

from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from adabypass import door
from adabypass.door import Floats
from adabypass.errors import NotReadyError, ShapeError
from adabypass.inference.kernel import bank, evidence, govi, kalman, passive_aggressive
from adabypass.inference.kernel.step import Cell, Kernel
from adabypass.model.bank import AutoBypassSpec
from adabypass.model.belief import Belief, single
from adabypass.model.predictive import Insensitive, Mixture, Normal, Point, Predictive
from adabypass.model.row import triangle
from adabypass.model.spec import (
    AdaBypassSpec,
    BypassSpec,
    EvidenceBypassSpec,
    PassiveAggressiveSpec,
    SequentialKalmanSpec,
    Spec,
    Variant,
)
from adabypass.model.trace import Trace

MOST_FEATURES = 30_000
"""A covariance of so many weights takes 3.6 GB."""
NO_COMPONENTS = np.empty((0, 5))


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
        self._given_features = None if n_features is None else door.whole(n_features, "n_features", 1, MOST_FEATURES)
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
            features = door.features(x, None)
            door.target(y)  # a refused y must not fix the number of features
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
        value = door.target(y)  # a refused y must not fix the number of features
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
        table, targets = door.stream(X, y, self.n_features)
        n, n_features = table.shape
        cell = self._copied_cell(n_features)
        layout = self._spec.layout
        history = np.empty((n, 2 + 1 + len(layout.scalars)))
        kept = np.empty((n if keep_weights else 0, n_features * (1 + bool(layout.matrices))))
        cov_at = len(cell.row) - len(layout.matrices) * triangle(n_features)
        cell.run(table, targets, history, kept, cov_at, np.empty((0, 1, 1)))
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
        more = door.whole(k, "k", 1, MOST_FEATURES)
        if self._cell is None:
            raise NotReadyError(
                "this model has no features to add to yet; give it n_features, or let it meet its first x."
            )
        n_features = self._cell.n_features
        row = self._grown(self._cell.row, n_features, more)
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

    def belief(self) -> Belief:
        """Give what is believed about the observations to come, in a form that can be carried many steps ahead."""
        raise NotImplementedError

    @property
    def hyperparameters(self) -> MappingProxyType[str, Any]:
        """What the model was told, by name; read-only."""
        return MappingProxyType(self._spec.told())

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
        return self._build(len(door.features(x, None))) if self._cell is None else self._cell

    def _build(self, n_features: int) -> Cell:
        self._cell = self._new_cell(self._spec.new_row(n_features), n_features)
        return self._cell

    def _copied_cell(self, n_features: int) -> Cell:
        """Make a cell to run on, so that an interrupted run leaves the model as it was."""
        row = self._spec.new_row(n_features) if self._cell is None else self._cell.row.copy()
        return self._new_cell(row, n_features)

    def _new_cell(self, row: Floats, n_features: int) -> Cell:
        return Cell(self._kernel, row, self._constants, n_features, self._spec.n_scratch(n_features))

    def _grown(self, row: Floats, n_features: int, more: int) -> Floats:
        return self._spec.layout.grown(row, n_features, more, self._spec.new_row(n_features + more))

    def _predictive(self, mean: Any, var: Any) -> Predictive:
        return Normal(mean, var)


def _short(value: object) -> str:
    """Write a hyperparameter as briefly as is exact."""
    return f"{value:g}" if isinstance(value, float) and float(f"{value:g}") == value else repr(value)


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

    def belief(self) -> Belief:
        mean = self.weights.mean
        return single(mean, np.zeros((len(mean), len(mean))), 0.0, np.nan)

    def _predictive(self, mean: Any, var: Any) -> Predictive:
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

    def belief(self) -> Belief:
        mean, cov = self.weights
        assert cov is not None
        return single(mean, cov, self.parameters["drift_var"], self.parameters["noise_var"] ** 0.5)


class Bypass(Regressor):
    """BYPASS, the paper's Algorithm 1: drifting weights, insensitive noise, online variational inference.

    Parameters
    ----------
    a, b : numbers above 0
        Shape and rate of the prior of the drift's precision. Let a be well above half the number of features: the
        paper's fixed point runs away otherwise (erratum E2 in docs/equations.md).
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

    def belief(self) -> Belief:
        return _variational(self)


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

    def belief(self) -> Belief:
        return _variational(self)


def _variational(model: Bypass | AdaBypass) -> Belief:
    """Give what BYPASS believes: Gaussian noise of the mean and precision that were last inferred."""
    mean, cov = model.weights
    assert cov is not None
    learned = model.parameters
    noise_scale = learned["noise_prec"] ** -0.5
    return single(mean, cov, 1.0 / learned["drift_prec"], noise_scale, noise_mean=learned["noise_mean"])


class EvidenceBypass(Regressor):
    """The model of BYPASS with a noise scale, its evidence exact: no variational approximation, no inner iteration.

    Parameters
    ----------
    drift : number from 0
        Variance of a step of the weights' random walk, in units of `noise_scale` squared.
    noise_scale : number above 0
        Scale of the noise's tails, in the units of y.
    epsilon : number above 0
        Half-width of the noise's flat top, in units of `noise_scale`.
    prior_var : number above 0
        Variance of the weights before anything is seen.
    n_features : int, optional
        Taken from the first x if not given.

    Examples
    --------
    >>> model = EvidenceBypass(noise_scale=0.1, epsilon=0.5)
    >>> trace = model.run([[1.0], [1.0], [1.0]], [3.0, 3.1, 2.9])
    >>> trace.mean.round(2)
    array([0.  , 2.93, 3.04])
    """

    _kernel = evidence.KERNEL
    _spec: EvidenceBypassSpec

    def __init__(
        self,
        drift: float = 1e-3,
        noise_scale: float = 1.0,
        epsilon: float = 1.25,
        *,
        prior_var: float = 1.0,
        n_features: int | None = None,
    ) -> None:
        super().__init__(EvidenceBypassSpec(drift, noise_scale, epsilon, prior_var), n_features)

    def belief(self) -> Belief:
        mean, cov = self.weights
        assert cov is not None
        spec = self._spec
        return single(mean, cov, spec.drift * spec.noise_scale**2, spec.noise_scale, epsilon=spec.epsilon)

    def _predictive(self, mean: Any, var: Any) -> Predictive:
        return Insensitive(mean, var, self._spec.noise_scale, self._spec.epsilon)


class AutoBypass(Regressor):
    """Nothing to tune, any units: a bank of exact-evidence filters, each weighted by how well it foresaw the data.

    The filters differ in how fast the weights drift, in how fast the noise's scale moves, and in the family of the
    noise. Features and y are centred and scaled by the first observations, so that units do not matter; the model
    carries its own intercept. Its forecast is the mixture of the filters' forecasts.

    Parameters
    ----------
    intercept : bool
        Whether the model has an intercept of its own. Without one, nothing is centred.
    n_features : int, optional
        Taken from the first x if not given.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(500, 2))
    >>> model = AutoBypass()
    >>> trace = model.run(X, 1000 + X @ [3.0, -2.0] + rng.normal(size=500))
    >>> model.weights.mean.round(1), round(model.intercept)
    (array([ 3., -2.]), 1000)
    """

    _kernel = bank.KERNEL
    _spec: AutoBypassSpec

    def __init__(self, *, intercept: bool = True, n_features: int | None = None) -> None:
        super().__init__(AutoBypassSpec(intercept), n_features)

    def predict(self, x: object) -> Mixture:
        """Forecast the observation at `x`, before it is seen.

        Parameters
        ----------
        x : array (n_features,) of finite numbers; a plain number if there is one feature
        """
        components = np.empty((self._spec.n_filters, 5))
        mean, var = self._cell_for(x).components(x, components)
        return Mixture(components, mean, var)

    def step(self, x: object, y: object) -> Mixture:
        value = y if isinstance(y, float) else door.target(y)
        components = np.empty((self._spec.n_filters, 5))
        mean, var = self._cell_for(x).step(x, value, components)
        return Mixture(components, mean, var)

    def run(self, X: object, y: object, *, keep_weights: bool = False, keep_predictive: bool = True) -> Trace:
        """Predict, then update, for every row of `X` in turn.

        Parameters
        ----------
        X : array (n, n_features) of finite numbers
        y : array (n,)
            nan where the observation is missing.
        keep_weights
            Whether the trace also holds the weights after each observation.
        keep_predictive
            Whether the trace keeps the whole distribution of each forecast, about 2 kB each. Without it the trace has
            means, variances and log scores; CRPS and intervals are then those of a normal with that mean and variance.

        Returns
        -------
        Trace
            The forecasts made before each observation, and what was learned after it.
        """
        table, targets = door.stream(X, y, self.n_features)
        n, n_features = table.shape
        cell = self._copied_cell(n_features)
        layout = self._spec.layout
        history = np.empty((n, 2 + 1 + len(layout.scalars)))
        components = np.empty((n if keep_predictive else 0, self._spec.n_filters, 5))
        kept = np.empty((n if keep_weights else 0, 2 * n_features))
        cell.run(table, targets, history, kept, 0, components)
        self._cell = cell
        after = {name: history[:, 3 + i].copy() for i, name in enumerate(layout.scalars)}
        mean, var = history[:, 0].copy(), history[:, 1].copy()
        return Trace(
            y=targets.copy(),
            predictive=Mixture(components, mean, var) if keep_predictive else Normal(mean, var),
            history={name: after[name] for name in self._spec.learned},
            weights_mean=kept[:, :n_features] if keep_weights else None,
            weights_var=kept[:, n_features:] if keep_weights else None,
            log_score=np.where(np.isnan(targets), np.nan, after["log_score"]),
        )

    @property
    def weights(self) -> Weights:
        """Belief about the weights under the mixture, in the user's units: `mean` and `cov`, as read-only copies."""
        if self._cell is None:
            return super().weights
        _, mean, cov = self._spec.weights(self._cell.row, self._cell.n_features)
        mean.flags.writeable = cov.flags.writeable = False
        return Weights(mean, cov)

    def belief(self) -> Belief:
        if self._cell is None:
            raise NotReadyError("this model believes nothing yet; let it meet its first x.")
        n = self._cell.n_features
        if self._spec.is_scaled(self._cell.row):
            return self._spec.belief(self._cell.row, n)
        p = self.predict(np.zeros(n))  # before the scale of y is known, any x gives the same wide forecast
        return single(np.zeros(n), np.zeros((n, n)), 0.0, p.sd, noise_mean=p.mean)

    @property
    def intercept(self) -> float:
        """The intercept, in the units of y: what is expected where every feature is 0."""
        if self._cell is None:
            raise NotReadyError("this model has no intercept yet; let it meet its first x.")
        return self._spec.weights(self._cell.row, self._cell.n_features)[0]

    @property
    def parameters(self) -> MappingProxyType[str, float]:
        """What was learned besides the weights, by name; read-only.

        `noise_scale` is the noise's standard deviation in the units of y, `epsilon` the half-width of the flat top in
        units of the scale of its tails, `drift` the variance of a step of the weights in units of the noise's, and
        `drift_share_0` to `drift_share_5` are the mixture's weights of the six drift rates, from the slowest up.
        """
        row, layout = (None if self._cell is None else self._cell.row), self._spec.layout
        return MappingProxyType({name: 0.0 if row is None else layout.scalar(row, name) for name in self._spec.learned})

    def _grown(self, row: Floats, n_features: int, more: int) -> Floats:
        return self._spec.grown(row, n_features, more)
