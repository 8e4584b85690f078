"""What every model has in common."""

from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from adabypass.distributions.predictive import Predictive
from adabypass.errors import NotReadyError, ParameterError, StateError
from adabypass.kernels.cell import Cell
from adabypass.kernels.running import RunGuard
from adabypass.kernels.step import Kernel
from adabypass.numerics.read_only import ReadOnly
from adabypass.regressors import sparse_use
from adabypass.regressors.state import check_row, check_spec, describe_spec
from adabypass.results.trace import Trace
from adabypass.snapshots.container import Snapshot
from adabypass.snapshots.header import Header
from adabypass.snapshots.savable import Savable
from adabypass.snapshots.versions import heading
from adabypass.state.linear_mixture import LinearMixture
from adabypass.state.spec import Spec
from adabypass.validation import Floats, check_flag, check_int, check_target

MOST_FEATURES = sparse_use.MOST_FEATURES
DENSE = frozenset({np.ndarray, list, tuple, float, int})
"""Types of features that are certainly not sparse: nothing else has to be asked of these."""


class Weights(NamedTuple):
    """Belief about the weights, given all that was seen: read-only copies."""

    mean: Floats
    """Shape (n_features,)."""
    cov: Floats | None
    """Shape (n_features, n_features); None where the model holds a point, or no full covariance."""


class Regressor(Savable):
    """What every model has in common. Use one of its subclasses.

    A model may be used from several threads. `predict`, `update` and `step` take effect one after the other, each as a
    whole. While a `run` is under way `predict` answers from before it, and what would change the model is refused with
    a `ConcurrentUseError`. A call that raises leaves the model as it was.
    """

    _kernel: ClassVar[Kernel]
    _spec_type: ClassVar[type[Spec]]
    _given_spec: Spec
    """The hyperparameters that the model was given. What its features choose among them is in the spec of its cell."""
    _given_features: int | None
    _cell: Cell | None
    """Or a `SparseCell`, if the covariance is not full; None until the number of features is known."""
    _guard: RunGuard
    """What replaces the cell."""

    def __new__(cls, *_: Any, **__: Any) -> Self:
        model = super().__new__(cls)
        model._guard = RunGuard("_cell")
        return model

    def __init__(self, spec: Spec, n_features: int | None) -> None:
        if n_features is not None:
            most = sparse_use.most_features(spec.for_features(sparse_use.MOST_SPARSE_NUMBERS))
            n_features = check_int(n_features, "n_features", minimum=1, maximum=most)
        self._given_spec, self._given_features, self._cell = spec, n_features, None
        self.reset()

    @property
    def _spec(self) -> Spec:
        """The hyperparameters, with what the features have chosen."""
        cell = self._cell
        return self._given_spec if cell is None else cell.spec

    @property
    def has_intercept(self) -> bool:
        """Whether the model has an intercept of its own, so that no feature need be constant."""
        return False

    @property
    def is_point(self) -> bool:
        """Whether the model forecasts points, without a distribution."""
        return False

    def predict(self, x: object) -> Predictive:
        """Forecast the observation at `x`, before it is seen.

        Parameters
        ----------
        x : array (n_features,) of finite numbers; a plain number if there is one feature
            With a covariance that is not full also a dict of index and value, or a row of a sparse matrix of SciPy.
        """
        cell = self._cell
        if type(cell) is Cell and (type(x) in DENSE or not sparse_use.opens(cell, x)):  # first, as most calls end here
            return cell.predict(x)
        forecast: Predictive = self._meet(x, lambda cell, *features: cell.predict(*features), changes=False)
        return forecast

    def update(self, x: object, y: object) -> None:
        """Learn from having seen `y` at `x`.

        Parameters
        ----------
        x : array (n_features,) of finite numbers
        y : number
            nan if the observation is missing: then only time passes.
        """
        cell = self._cell
        if type(cell) is Cell and (type(x) in DENSE or not sparse_use.opens(cell, x)):
            cell.update(x, y)
            return
        target = check_target(y)
        self._meet(x, lambda cell, *features: cell.update(*features, target))

    def step(self, x: object, y: object) -> Predictive:
        """Forecast the observation at `x`, then learn that it was `y`: `predict` and `update` in one call.

        Parameters
        ----------
        x : array (n_features,) of finite numbers
        y : number
            nan if the observation is missing.
        """
        cell = self._cell
        if type(cell) is Cell and (type(x) in DENSE or not sparse_use.opens(cell, x)):
            return cell.step(x, y)
        target = check_target(y)
        forecast: Predictive = self._meet(x, lambda cell, *features: cell.step(*features, target))
        return forecast

    def _meet(self, x: object, act: Callable[..., Any], *, changes: bool = True) -> Any:
        """Act on the cell that takes `x`: the model's own, or the first, which is kept if that succeeds."""
        cell = self._cell
        if cell is not None and cell.spec.is_sparse:  # which it stays
            return act(cell, *sparse_use.read_sparse(cell.n_features, x))
        given = sparse_use.read_row(self._given_spec, self._cell, x)
        return self._guard.meet(
            self, lambda cell: self._fitting(cell, given), lambda cell: act(cell, *given.of(cell)), changes
        )

    def _fitting(self, cell: Any, given: sparse_use.Given) -> Any:
        """Return the cell that takes these features: that of the model, or a new one."""
        spec = sparse_use.chosen_spec(self._given_spec, cell, given)
        if cell is not None and cell.spec is spec:
            return cell
        n_features = given.n_features if cell is None else cell.n_features
        if n_features is None:
            raise NotReadyError("a dict does not say how many features there are; give the model n_features.")
        if spec.is_sparse:
            check_int(n_features, "n_features", minimum=1, maximum=sparse_use.most_features(spec))
        return self._new_cell(spec.new_row(n_features), n_features, spec)

    def run(self, X: object, y: object, *, keep_weights: bool = False, keep_predictive: bool = True) -> Trace:
        """Predict, then update, for every row of `X` in turn.

        An error, or Ctrl-C, leaves the model as it was.

        Parameters
        ----------
        X : array (n, n_features) of finite numbers
        y : array (n,)
            nan where the observation is missing.
        keep_weights
            Whether the trace also holds the weights after each observation.
        keep_predictive
            Whether the trace keeps the whole distribution of each forecast: of AutoBypass 2 kB each. Without it CRPS
            and intervals are those of a normal with the same mean and variance.

        Returns
        -------
        Trace
            The forecasts made before each observation, and the parameters after it.
        """
        check_flag(keep_weights, "keep_weights")
        check_flag(keep_predictive, "keep_predictive")
        given = sparse_use.read_stream(self._given_spec, self._cell, X, y)  # which may run any code, even of this model

        def work(before: Any) -> tuple[Any, Trace]:
            cell = self._fitting(before, given)
            features = given.of(cell)
            if cell is before:
                cell = self._new_cell(before.row.copy(), before.n_features, before.spec)
            return cell, self._run(cell, features, given.targets, keep_weights, keep_predictive)

        return self._guard.run(self, work)

    def _run(self, cell: Any, features: Any, y: Any, keep_weights: bool, keep_predictive: bool) -> Trace:
        """Run a stream with a cell that is not the model's yet."""
        if not cell.spec.is_sparse:
            history, weights, records = cell.run(*features, y, keep_weights, keep_predictive)
        elif keep_weights:
            raise ParameterError("keep_weights is True, but a trace keeps no weights where the covariance is not full.")
        else:
            history, records = cell.run(*features, y, keep_predictive)
            weights = np.empty((0, 0))
        return self._trace(cell.spec, y, history, weights, records if keep_predictive else None)

    def _trace(
        self, spec: Spec, y: Floats, history: Floats, weights: Floats, records: Floats | None, first: int = 0
    ) -> Trace:
        """Return what a cell has recorded of a stream as a trace."""
        n_features = weights.shape[1] // 2
        after = {name: history[:, 3 + i].copy() for i, name in enumerate(spec.layout.scalars)}
        mean, var = history[:, 0].copy(), history[:, 1].copy()
        kept = len(weights) > 0
        return Trace(
            y=y,
            predictive=spec.predictive(mean, var, records),
            history={name: after[name] for name in spec.learned},
            weights_mean=weights[:, :n_features] if kept else None,
            weights_var=weights[:, n_features:] if kept and not self.is_point else None,
            log_score=np.where(np.isnan(y), np.nan, after["log_score"]) if "log_score" in after else None,
            first=first,
        )

    def reset(self) -> None:
        """Forget everything that was seen, and what the features have chosen."""
        n_features, cell = self._given_features, None
        if n_features is not None:
            spec = self._given_spec.for_features(n_features)
            cell = self._new_cell(spec.new_row(n_features), n_features, spec)
        self._guard.put(self, cell)

    def copy(self) -> Self:
        """Return a model that has learned the same, and is independent from here on."""
        twin = type(self).__new__(type(self))
        twin._given_spec, twin._given_features, twin._cell = self._given_spec, self._given_features, None
        cell = self._cell
        if cell is not None:
            twin._cell = twin._new_cell(cell.row.copy(), cell.n_features, cell.spec)
        return twin

    def add_features(self, k: int = 1, *, were_zero: bool = False) -> None:
        """Add `k` features, after those that the model has: new weights start at the prior, the others stay.

        Parameters
        ----------
        k : whole number from 1
        were_zero : bool
            Whether they were 0 in every row so far, as a feature is that is absent from sparse rows. If not, nothing is
            known of them. It makes a difference where a model has units of its own: AutoBypass.
        """
        more = check_int(k, "k", minimum=1, maximum=sparse_use.most_features(self._spec))
        check_flag(were_zero, "were_zero")

        def work(before: Any) -> tuple[Any, None]:
            if before is None:
                raise NotReadyError(
                    "this model has no features to add to yet; give it n_features, or let it meet its first x."
                )
            spec, most = before.spec, sparse_use.most_features(before.spec)
            n_features = check_int(before.n_features + more, "the number of features", minimum=1, maximum=most)
            row = spec.widened(before.row, before.n_features, more, were_zero)
            return self._new_cell(row, n_features, spec), None

        self._guard.run(self, work)

    @property
    def n_features(self) -> int | None:
        """Number of features, None until it is known."""
        cell = self._cell
        return None if cell is None else int(cell.n_features)

    @property
    def n_seen(self) -> int:
        """How many observations were learned from; missing ones do not count."""
        cell = self._cell
        return 0 if cell is None else int(cell.row[0])

    @property
    def weights(self) -> Weights:
        """Belief about the weights: `mean` and `cov`, as read-only copies."""
        cell = self._cell
        if cell is None:
            raise NotReadyError("this model has no weights yet; give it n_features, or let it meet its first x.")
        layout, row, n = cell.spec.layout, cell.row, cell.n_features
        mean = sparse_use.moments(cell)[0] if cell.spec.is_sparse else layout.view(row, "mean", n_features=n).copy()
        mean.flags.writeable = False
        if not layout.matrices:
            return Weights(mean, None)
        cov = layout.matrix(row, "cov", n_features=n)
        cov.flags.writeable = False
        return Weights(mean, cov)

    @property
    def weights_var(self) -> Floats | None:
        """Variance of each weight, as a read-only copy; None where the model holds a point."""
        cov, cell = self.weights.cov, self._cell
        if cell is not None and cell.spec.is_sparse:
            var = sparse_use.moments(cell)[1]
        elif cov is None:
            return None
        else:
            var = cov.diagonal().copy()
        var.flags.writeable = False
        return var

    def _full_weights(self) -> tuple[Floats, Floats]:
        """Return mean and covariance of the weights; refuse where the covariance is not full."""
        mean, cov = self.weights
        if cov is None:
            raise ParameterError(
                f"this {type(self).__name__} keeps no full covariance, but nothing else is carried many steps ahead; "
                "use covariance='full'."
            )
        return mean, cov

    def linear_mixture(self) -> LinearMixture:
        """Return what is believed about the observations to come, in a form that can be carried many steps ahead."""
        raise NotImplementedError

    @property
    def hyperparameters(self) -> ReadOnly[Any]:
        """The hyperparameters that the model was given, by name; read-only."""
        return ReadOnly(self._spec.hyperparameters())

    @property
    def parameters(self) -> ReadOnly[float]:
        """What the model has learned besides the weights, hyperparameters that adapt among it, by name; read-only."""
        cell = self._cell
        if cell is None:
            return ReadOnly(self._given_spec.start())
        return ReadOnly({name: cell.spec.layout.scalar(cell.row, name) for name in cell.spec.learned})

    def __repr__(self) -> str:
        given = [f"{name}={_short(value)}" for name, value in self._spec.changed().items()]
        known = [] if self.n_features is None else [f"n_features={self.n_features}", f"n_seen={self.n_seen}"]
        return f"{type(self).__name__}({', '.join(given + known)})"

    def _kernel_of(self, spec: Spec) -> Kernel:
        """Return the kernel of a model with these hyperparameters."""
        return self._kernel

    @classmethod
    def _kind(cls) -> str:
        """Return the name under which models of this class, and of classes made of it, are saved."""
        kind = next((base.__name__ for base in cls.__mro__ if "_kernel" in vars(base)), None)
        if kind is None:
            raise StateError("Regressor stands for every model, and none in particular; use adabypass.from_bytes.")
        return kind

    def _snapshot(self) -> tuple[dict[str, Any], dict[str, Any]]:
        cell, kind = self._cell, self._kind()
        spec = self._given_spec if cell is None else cell.spec
        header = heading(kind) | describe_spec(spec, kind) | {"given_features": self._given_features}
        if cell is None:
            return header | {"n_features": None, "n_seen": 0, "feature_names": None, "layout": None}, {}
        n, row = int(cell.n_features), cell.row.copy()
        shapes = spec.layout.shapes(**spec.dims(n))
        return header | {"n_features": n, "n_seen": int(row[0]), "feature_names": None, "layout": shapes}, {"row": row}

    def _restore(self, snapshot: Snapshot) -> None:
        header, kind = Header(snapshot.header, snapshot.name), self._kind()
        if header.text("kind") != kind:
            header.refuse(f"it holds {header.text('kind')[:40]!r}, not {kind}; use adabypass.load or from_bytes")
        spec = check_spec(header, self._spec_type, kind)
        most = sparse_use.most_features(spec)
        given, n_features = (
            header.whole_or_none(key, minimum=1, maximum=most) for key in ("given_features", "n_features")
        )
        if given is not None and (n_features is None or n_features < given):
            header.refuse(f"it was given {given} features, but has {n_features}")
        cell = None
        if n_features is not None:
            row = check_row(snapshot, header, spec.row_size(n_features), spec.layout.shapes(**spec.dims(n_features)))
            try:
                spec.check_row(row, n_features)
            except StateError as error:
                header.refuse(str(error).rstrip("."))
            cell = self._new_cell(row, n_features, spec)
        self._guard.put(self, cell)
        self._given_spec, self._given_features = spec, given

    @classmethod
    def _of_spec(cls, spec: Spec) -> Self:
        """Return a model with these hyperparameters that has seen nothing, not even its features."""
        model = cls.__new__(cls)
        model._given_spec, model._given_features, model._cell = spec, None, None
        return model

    def _untrained(self) -> Self:
        """Return a model with these hyperparameters that has seen nothing, not even its features."""
        return type(self)._of_spec(self._given_spec)

    def _from_row(self, row: Floats, n_features: int) -> Self:
        """Return a model with these hyperparameters that has learned what a copy of `row` says."""
        twin = self._untrained()
        twin._cell = twin._new_cell(row.copy(), n_features, self._spec)
        return twin

    def _new_cell(self, row: Floats, n_features: int, spec: Spec | None = None) -> Cell:
        spec = self._spec if spec is None else spec
        cell: Cell = sparse_use.cell_type(spec)(self._kernel_of(spec), spec, row, n_features)
        return cell


def _short(value: object) -> str:
    """Return a hyperparameter as briefly as is exact."""
    return f"{value:g}" if isinstance(value, float) and float(f"{value:g}") == value else repr(value)
