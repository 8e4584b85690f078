"""What every model has in common."""

from typing import Any, ClassVar, NamedTuple, Self, cast

import numpy as np

from adabypass.errors import ConcurrentUseError, NotReadyError, StateError
from adabypass.inference.kernel.cell import Cell
from adabypass.inference.kernel.step import Kernel
from adabypass.model.linear_mixture import LinearMixture
from adabypass.model.predictive import Predictive
from adabypass.model.read_only import ReadOnly
from adabypass.model.spec import Spec
from adabypass.model.trace import Trace
from adabypass.regressors import sparse_use
from adabypass.regressors.state import check_row, check_spec, describe_spec
from adabypass.snapshots.container import Snapshot
from adabypass.snapshots.header import Header
from adabypass.snapshots.savable import Savable
from adabypass.snapshots.versions import heading
from adabypass.validation import Floats, check_features, check_flag, check_int, check_stream, check_target, check_width

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
    a `ConcurrentUseError`.
    """

    _kernel: ClassVar[Kernel]
    _spec_type: ClassVar[type[Spec]]
    _spec: Spec
    _cell: Cell | None
    """Or a `SparseCell`, if the covariance is not full; None until the number of features is known."""

    def __init__(self, spec: Spec, n_features: int | None) -> None:
        self._spec = spec
        if n_features is not None:
            most = sparse_use.most_features(self._spec.for_features(sparse_use.MOST_SPARSE_NUMBERS))
            n_features = check_int(n_features, "n_features", minimum=1, maximum=most)
            self._spec = self._spec.for_features(n_features)
        self._given_features = n_features
        self._cell = None
        self.reset()

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
        if type(cell) is Cell and (type(x) in DENSE or not sparse_use.opens(self, x)):  # first, as most calls end here
            return cell.predict(x)
        if self._spec.is_sparse or sparse_use.choose(self, x):
            return cast(Predictive, sparse_use.predict(self, x))
        x = check_features(x, None)
        return self._cell_for(len(x)).predict(x)

    def update(self, x: object, y: object) -> None:
        """Learn from having seen `y` at `x`.

        Parameters
        ----------
        x : array (n_features,) of finite numbers
        y : number
            nan if the observation is missing: then only time passes.
        """
        cell = self._cell
        if type(cell) is Cell and (type(x) in DENSE or not sparse_use.opens(self, x)):
            cell.update(x, y)
            return
        if self._spec.is_sparse or sparse_use.choose(self, x):
            sparse_use.step(self, x, y, want_forecast=False)
            return
        x, y = check_features(x, None), check_target(y)  # a refused y must not fix the number of features
        self._cell_for(len(x)).update(x, y)

    def step(self, x: object, y: object) -> Predictive:
        """Forecast the observation at `x`, then learn that it was `y`: `predict` and `update` in one call.

        Parameters
        ----------
        x : array (n_features,) of finite numbers
        y : number
            nan if the observation is missing.
        """
        cell = self._cell
        if type(cell) is Cell and (type(x) in DENSE or not sparse_use.opens(self, x)):
            return cell.step(x, y)
        if self._spec.is_sparse or sparse_use.choose(self, x):
            return cast(Predictive, sparse_use.step(self, x, y))
        x, y = check_features(x, None), check_target(y)
        return self._cell_for(len(x)).step(x, y)

    def run(self, X: object, y: object, *, keep_weights: bool = False, keep_predictive: bool = True) -> Trace:
        """Predict, then update, for every row of `X` in turn.

        An error, or Ctrl-C, leaves the model as it was. With a full covariance of 700 features or more, rows are
        taken in blocks, so that what is forecast and learned differs from `predict` and `update` by rounding.

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
        if self._spec.is_sparse or sparse_use.opens(self, X) or (self._cell is None and sparse_use.choose(self, X)):
            return sparse_use.run(self, X, y, keep_weights, keep_predictive)
        table, targets = check_stream(X, y)  # which may run any code: from here on the model is looked at
        before, n_features = self._cell, table.shape[1]
        check_width(table, self.n_features)
        row = self._spec.new_row(n_features) if before is None else before.start_run()
        try:
            cell = self._new_cell(row, n_features)
            history, weights, records = cell.run(table, targets, keep_weights, keep_predictive)
        finally:
            if before is not None:
                before.end_run()
        if self._cell is not before:
            raise ConcurrentUseError("this model was changed while it ran a stream; what the run learned is dropped.")
        self._cell = cell
        return self._trace(targets, history, weights, records if keep_predictive else None)

    def _trace(self, y: Floats, history: Floats, weights: Floats, records: Floats | None, first: int = 0) -> Trace:
        """Return what a cell has recorded of a stream as a trace."""
        n_features = weights.shape[1] // 2
        after = {name: history[:, 3 + i].copy() for i, name in enumerate(self._spec.layout.scalars)}
        mean, var = history[:, 0].copy(), history[:, 1].copy()
        kept = len(weights) > 0
        return Trace(
            y=y,
            predictive=self._spec.predictive(mean, var, records),
            history={name: after[name] for name in self._spec.learned},
            weights_mean=weights[:, :n_features] if kept else None,
            weights_var=weights[:, n_features:] if kept and not self.is_point else None,
            log_score=np.where(np.isnan(y), np.nan, after["log_score"]) if "log_score" in after else None,
            first=first,
        )

    def reset(self) -> None:
        """Forget everything that was seen."""
        self._check_idle()
        self._cell = None
        if self._given_features is not None:
            self._build(self._given_features)

    def copy(self) -> Self:
        """Return a model that has learned the same, and is independent from here on."""
        twin = type(self).__new__(type(self))
        twin._spec, twin._given_features, twin._cell = self._spec, self._given_features, None
        cell = self._cell
        if cell is not None:
            twin._cell = twin._new_cell(cell.row.copy(), cell.n_features)
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
        cell = self._cell
        if cell is None:
            raise NotReadyError(
                "this model has no features to add to yet; give it n_features, or let it meet its first x."
            )
        self._check_idle()
        n_features = check_int(
            cell.n_features + more, "the number of features", minimum=1, maximum=sparse_use.most_features(self._spec)
        )
        self._cell = self._new_cell(self._spec.widened(cell.row, cell.n_features, more, were_zero), n_features)

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
        layout, row, n = self._spec.layout, cell.row, cell.n_features
        mean = sparse_use.moments(self)[0] if self._spec.is_sparse else layout.view(row, "mean", n_features=n).copy()
        mean.flags.writeable = False
        if not layout.matrices:
            return Weights(mean, None)
        cov = layout.matrix(row, "cov", n_features=n)
        cov.flags.writeable = False
        return Weights(mean, cov)

    @property
    def weights_var(self) -> Floats | None:
        """Variance of each weight, as a read-only copy; None where the model holds a point."""
        cov = self.weights.cov
        if self._spec.is_sparse:
            var = sparse_use.moments(self)[1]
        elif cov is None:
            return None
        else:
            var = cov.diagonal().copy()
        var.flags.writeable = False
        return var

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
        cell, layout = self._cell, self._spec.layout
        if cell is None:
            return ReadOnly(self._spec.start())
        return ReadOnly({name: layout.scalar(cell.row, name) for name in self._spec.learned})

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
        cell, spec, kind = self._cell, self._spec, self._kind()
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
        cell = None
        if n_features is not None:
            row = check_row(snapshot, header, spec.row_size(n_features), spec.layout.shapes(**spec.dims(n_features)))
            try:
                spec.check_row(row, n_features)
            except StateError as error:
                header.refuse(str(error).rstrip("."))
            cell = sparse_use.cell_type(spec)(self._kernel_of(spec), spec, row, n_features)
        self._spec, self._given_features, self._cell = spec, given, cell

    @classmethod
    def _of_spec(cls, spec: Spec) -> Self:
        """Return a model with these hyperparameters that has seen nothing, not even its features."""
        model = cls.__new__(cls)
        model._spec, model._given_features, model._cell = spec, None, None
        return model

    def _untrained(self) -> Self:
        """Return a model with these hyperparameters that has seen nothing, not even its features."""
        return type(self)._of_spec(self._spec)

    def _from_row(self, row: Floats, n_features: int) -> Self:
        """Return a model with these hyperparameters that has learned what a copy of `row` says."""
        twin = self._untrained()
        twin._cell = twin._new_cell(row.copy(), n_features)
        return twin

    def _check_idle(self) -> None:
        if self._cell is not None and self._cell.is_running:
            raise ConcurrentUseError("this model is running a stream; wait until run returns, or use a copy() of it.")

    def _cell_for(self, n_features: int) -> Cell:
        """Return the cell; if there is none yet, one for so many features."""
        cell = self._cell
        return self._build(n_features) if cell is None else cell

    def _build(self, n_features: int) -> Cell:
        self._cell = cell = self._new_cell(self._spec.new_row(n_features), n_features)
        return cell

    def _new_cell(self, row: Floats, n_features: int) -> Cell:
        cell: Cell = sparse_use.cell_type(self._spec)(self._kernel_of(self._spec), self._spec, row, n_features)
        return cell


def _short(value: object) -> str:
    """Return a hyperparameter as briefly as is exact."""
    return f"{value:g}" if isinstance(value, float) and float(f"{value:g}") == value else repr(value)
