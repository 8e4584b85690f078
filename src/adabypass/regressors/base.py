"""What every model has in common."""

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from adabypass import notebook
from adabypass.distributions.predictive import Predictive
from adabypass.errors import NotReadyError, ParameterError, StateError
from adabypass.kernels.runner import Runner
from adabypass.kernels.step import Kernel
from adabypass.numerics.read_only import ReadOnly
from adabypass.regressors import inputs
from adabypass.regressors.guarded import Guarded
from adabypass.regressors.state import check_row, check_spec, describe_spec
from adabypass.results.trace import Trace
from adabypass.snapshots.container import Snapshot
from adabypass.snapshots.header import Header
from adabypass.snapshots.versions import base_header
from adabypass.state.linear_mixture import LinearMixture
from adabypass.state.spec import Spec
from adabypass.validation import Floats, check_flag, check_int, check_target

MAX_FEATURES = inputs.MAX_FEATURES
DENSE = frozenset({np.ndarray, list, tuple, float, int})
"""Types of features that are never sparse, so that nothing else has to be checked."""

MAX_FACTS = 3
"""Number of learned parameters that a notebook shows."""


class Weights(NamedTuple):
    """Belief about the weights, given all that was seen: read-only copies."""

    mean: Floats
    """Shape (n_features,)."""
    cov: Floats | None
    """Shape (n_features, n_features); None where the model holds a point, or no full covariance."""


class Regressor(Guarded):
    """Base class of the regression models, with the methods that all of them have. Use one of its subclasses.

    A model may be used from several threads. `predict`, `update` and `step` take effect one after the other, each as a
    whole. While a `run` is under way `predict` answers from before it, and what would change the model is refused with
    a `ConcurrentUseError`. A call that raises leaves the model as it was.

    Examples
    --------
    >>> from adabypass import AutoBypass
    >>> isinstance(AutoBypass(), Regressor)
    True
    """

    _kernel: ClassVar[Kernel]
    _spec_type: ClassVar[Callable[..., Spec]]
    """Makes the spec from saved hyperparameters."""
    _given_spec: Spec
    """The hyperparameters that the model was given. Those that its features choose are in the spec of its runner."""
    _given_features: int | None
    _runner: Runner | None

    def __init__(self, spec: Spec, n_features: int | None) -> None:
        if n_features is not None:
            most = inputs.max_features(spec.for_features(inputs.MAX_SPARSE_NUMBERS))
            n_features = check_int(n_features, "n_features", minimum=1, maximum=most)
        self._given_spec, self._given_features = spec, n_features
        self.reset()

    @property
    def _spec(self) -> Spec:
        """The hyperparameters, with what the features have chosen."""
        runner = self._runner
        return self._given_spec if runner is None else runner.spec

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
            Unless the covariance is full, also a dict of index and value, or one row of a SciPy sparse matrix.
        """
        runner = self._runner
        if runner is not None and (type(x) in DENSE or not inputs.may_become_sparse(runner, x)):  # as in most calls
            forecast: Predictive = runner.predict(x)
        else:
            forecast = self._meet(x, lambda runner, features: runner.predict(features), changes=False)
        return forecast

    def update(self, x: object, y: object) -> None:
        """Learn from having seen `y` at `x`.

        Parameters
        ----------
        x : array (n_features,) of finite numbers
        y : number
            nan if the observation is missing: then only time passes.
        """
        runner = self._runner
        if runner is not None and (type(x) in DENSE or not inputs.may_become_sparse(runner, x)):
            runner.update(x, y)
            return
        target = check_target(y)
        self._meet(x, lambda runner, features: runner.update(features, target))

    def step(self, x: object, y: object) -> Predictive:
        """Forecast the observation at `x`, then learn that it was `y`: `predict` and `update` in one call.

        Parameters
        ----------
        x : array (n_features,) of finite numbers
        y : number
            nan if the observation is missing.
        """
        runner = self._runner
        if runner is not None and (type(x) in DENSE or not inputs.may_become_sparse(runner, x)):
            forecast: Predictive = runner.step(x, y)
        else:
            target = check_target(y)
            forecast = self._meet(x, lambda runner, features: runner.step(features, target))
        return forecast

    def _meet(self, x: object, act: Callable[..., Any], *, changes: bool = True) -> Any:
        """Act on the runner that takes `x`: the model's own, or the first, which is kept if that succeeds."""
        given = inputs.read_row(self._given_spec, self._runner, x)
        return self._guard.meet(
            self, lambda runner: self._fitting(runner, given), lambda runner: act(runner, given.row), changes
        )

    def _fitting(self, runner: Any, given: inputs.Given) -> Any:
        """Return the runner that takes these features: that of the model, or a new one."""
        spec = inputs.chosen_spec(self._given_spec, runner, given)
        if runner is not None and runner.spec is spec:
            return runner
        n_features = given.n_features if runner is None else runner.n_features
        if n_features is None:
            raise NotReadyError("cannot infer the number of features from a dict; give the model n_features.")
        if spec.is_sparse:
            check_int(n_features, "n_features", minimum=1, maximum=inputs.max_features(spec))
        return self._new_runner(spec.new_row(n_features), n_features, spec)

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
            Whether the trace keeps the whole distribution of each forecast: of AutoBypass 2 kB each, with a
            season 6. Without it CRPS and intervals are those of a normal with the same mean and variance.

        Returns
        -------
        Trace
            The forecasts made before each observation, and the parameters after it.
        """
        check_flag(keep_weights, "keep_weights")
        check_flag(keep_predictive, "keep_predictive")
        given = inputs.read_stream(self._given_spec, self._runner, X, y)  # which may run any code, even of this model

        def work(before: Any) -> tuple[Any, Trace]:
            runner = self._fitting(before, given)
            features = given.of(runner)
            if runner is before:
                runner = self._new_runner(before.copy_row(), before.n_features, before.spec)
            if keep_weights and runner.spec.is_sparse:
                raise ParameterError(
                    "keep_weights is True, but a trace keeps no weights where the covariance is not full."
                )
            _, history, weights, records = runner.run(features, given.targets, keep_weights, keep_predictive)
            kept = records if keep_predictive else None
            return runner, self._trace(runner.spec, given.targets, history, weights, kept)

        return self._guard.run(self, work)

    def _trace(
        self, spec: Spec, y: Any, history: Floats, weights: Floats, records: Floats | None, first: int = 0
    ) -> Trace:
        """Return what a runner has recorded of a stream as a trace."""
        n_features = weights.shape[1] // 2
        after = {name: history[:, 3 + i].copy() for i, name in enumerate(spec.layout.scalars)}
        mean, var = history[:, 0].copy(), history[:, 1].copy()
        kept = len(weights) > 0
        return Trace.unchecked(
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
        n_features, runner = self._given_features, None
        if n_features is not None:
            spec = self._given_spec.for_features(n_features)
            runner = self._new_runner(spec.new_row(n_features), n_features, spec)
        self._guard.put(self, runner)

    def copy(self) -> Self:
        """Return a model that has learned the same, and is independent from here on."""
        twin = type(self).__new__(type(self))
        twin._given_spec, twin._given_features = self._given_spec, self._given_features
        runner = self._runner
        if runner is not None:
            twin._runner = twin._new_runner(runner.copy_row(), runner.n_features, runner.spec)
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
        more = check_int(k, "k", minimum=1, maximum=inputs.max_features(self._spec))
        check_flag(were_zero, "were_zero")

        def work(before: Any) -> tuple[Any, None]:
            if before is None:
                raise NotReadyError(
                    "this model has no features yet to add to; give it n_features, or call predict, update or run."
                )
            spec, most = before.spec, inputs.max_features(before.spec)
            n_features = check_int(before.n_features + more, "the number of features", minimum=1, maximum=most)
            row = spec.widened(before.row, before.n_features, more, were_zero)
            return self._new_runner(row, n_features, spec), None

        self._guard.run(self, work)

    @property
    def n_features(self) -> int | None:
        """Number of features, None until it is known."""
        runner = self._runner
        return None if runner is None else int(runner.n_features)

    @property
    def n_seen(self) -> int:
        """How many observations were learned from; missing ones do not count."""
        runner = self._runner
        return 0 if runner is None else int(runner.row[0])

    @property
    def weights(self) -> Weights:
        """Belief about the weights: `mean` and `cov`, as read-only copies."""
        runner = self._runner
        if runner is None:
            raise NotReadyError(
                "this model has no weights yet; give it n_features, or call predict, update or run first."
            )
        layout, row, n = runner.spec.layout, runner.row, runner.n_features
        mean = inputs.moments(runner)[0] if runner.spec.is_sparse else layout.view(row, "mean", n_features=n).copy()
        mean.flags.writeable = False
        if not layout.matrices:
            return Weights(mean, None)
        cov = layout.matrix(row, "cov", n_features=n)
        cov.flags.writeable = False
        return Weights(mean, cov)

    @property
    def weights_var(self) -> Floats | Any:
        """Variance of each weight, as a read-only copy; None where the model holds a point."""
        cov, runner = self.weights.cov, self._runner
        if runner is not None and runner.spec.is_sparse:
            var = inputs.moments(runner)[1]
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
        """Return the belief about future observations, in a form that can be forecast many steps ahead."""
        raise NotImplementedError

    @property
    def hyperparameters(self) -> ReadOnly[Any]:
        """The hyperparameters that the model was given, by name; read-only."""
        return ReadOnly(self._spec.hyperparameters())

    @property
    def parameters(self) -> ReadOnly[float]:
        """What the model has learned besides the weights, hyperparameters that adapt among it, by name; read-only."""
        runner = self._runner
        if runner is None:
            return ReadOnly(self._given_spec.start())
        return ReadOnly({name: runner.spec.layout.scalar(runner.row, name) for name in runner.spec.learned})

    def __repr__(self) -> str:
        known = {} if self.n_features is None else {"n_features": self.n_features, "n_seen": self.n_seen}
        return self._written(self._spec.changed() | known)

    def _repr_html_(self) -> str:
        facts: dict[str, object] = {"observations seen": self.n_seen, "features": self.n_features or "not known yet"}
        if self.n_seen:
            facts |= {name: notebook.number(value) for name, value in list(self.parameters.items())[:MAX_FACTS]}
        picture = ""
        if self._runner is not None:
            var = self.weights_var
            picture = notebook.bars(self.weights.mean, None if var is None else np.sqrt(var))
        return notebook.card(self._written(self._spec.changed()), facts, picture)

    def _written(self, given: Mapping[str, Any]) -> str:
        """Return the call that makes such a model, given these arguments."""
        return f"{type(self).__name__}({', '.join(f'{name}={_short(value)}' for name, value in given.items())})"

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
        runner, kind = self._runner, self._kind()
        spec = self._given_spec if runner is None else runner.spec
        header = base_header(kind) | describe_spec(spec, kind) | {"given_features": self._given_features}
        if runner is None:
            return header | {"n_features": None, "n_seen": 0, "feature_names": None, "layout": None}, {}
        n, row = int(runner.n_features), runner.copy_row()
        shapes = spec.layout.shapes(**spec.dims(n))
        return header | {"n_features": n, "n_seen": int(row[0]), "feature_names": None, "layout": shapes}, {"row": row}

    def _restore(self, snapshot: Snapshot) -> None:
        header, kind = Header(snapshot.header, snapshot.name), self._kind()
        if header.text("kind") != kind:
            header.refuse(f"it holds {header.text('kind')[:40]!r}, not {kind}; use adabypass.load or from_bytes")
        spec = check_spec(header, self._spec_type, kind)
        most = inputs.max_features(spec)
        given, n_features = (
            header.whole_or_none(key, minimum=1, maximum=most) for key in ("given_features", "n_features")
        )
        if given is not None and (n_features is None or n_features < given):
            header.refuse(f"it was given {given} features, but has {n_features}")
        runner = None
        if n_features is not None:
            row = check_row(snapshot, header, spec.row_size(n_features), spec.layout.shapes(**spec.dims(n_features)))
            try:
                spec.check_row(row, n_features)
            except StateError as error:
                header.refuse(str(error).rstrip("."))
            runner = self._new_runner(row, n_features, spec)
        self._guard.put(self, runner)
        self._given_spec, self._given_features = spec, given

    @classmethod
    def _of_spec(cls, spec: Spec) -> Self:
        """Return a model with these hyperparameters that has seen nothing, not even its features."""
        model = cls.__new__(cls)
        model._given_spec, model._given_features = spec, None
        return model

    def _untrained(self) -> Self:
        """Return a model with these hyperparameters that has seen nothing, not even its features."""
        return type(self)._of_spec(self._given_spec)

    def _from_row(self, row: Floats, n_features: int) -> Self:
        """Return a model with these hyperparameters that has learned what a copy of `row` says."""
        twin = self._untrained()
        twin._runner = twin._new_runner(row.copy(), n_features, self._spec)
        return twin

    def _new_runner(self, row: Floats, n_features: int, spec: Spec | None = None) -> Runner:
        spec = self._spec if spec is None else spec
        return inputs.new_runner(self._kernel_of(spec), spec, row, n_features)


def _short(value: object) -> str:
    """Return a hyperparameter as briefly as is exact."""
    return f"{value:g}" if isinstance(value, float) and float(f"{value:g}") == value else repr(value)
