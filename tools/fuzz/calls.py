"""One random call: an object or a function of the public interface, and arguments for its signature.

Signatures are read with `inspect`, so that a new public name, method or argument is called without being entered here.
About half the arguments are what their name usually means, the others are hostile.
"""

import inspect
import math
import pickle
from collections.abc import Callable
from enum import Enum
from random import Random
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse
from tools.fuzz import hostile
from tools.fuzz.interrupts import StopAt
from tools.fuzz.races import draw_race

import adabypass
import adabypass.evaluation
from adabypass import Forecaster, Regressor

POOL = 25
"""Number of models, and of other objects, that are kept to call; the oldest are dropped."""
MAX_LABEL_LENGTH = 300
TRUSTING = ("unchecked", "made", "save")
"""Methods that say that their caller must have checked the arguments, and those that write files."""

FUNCTIONS = [
    value
    for module in (adabypass, adabypass.evaluation)
    for name in module.__all__
    if callable(value := getattr(module, name)) and not (inspect.isclass(value) and issubclass(value, tuple | Enum))
]
CONSTRUCTORS = [value for value in FUNCTIONS if inspect.isclass(value) and value is not Regressor]
MODELS: list[Any] = [value for value in CONSTRUCTORS if issubclass(value, Regressor)]
PLAIN = [value for value in FUNCTIONS if not inspect.isclass(value)]


class Call(NamedTuple):
    """A call that can be made, and its description for the report."""

    label: str
    make: Callable[[], object]
    target: object
    """The object whose method it is, None for a function."""
    reentrant: bool
    """Whether an argument may itself change the target."""


class Pool:
    """Objects to call, shared by every thread, and arrays that other threads write to meanwhile."""

    def __init__(self) -> None:
        self._models: list[object] = [model() for model in MODELS]
        self._others: list[object] = []
        self.arrays = [np.ones(3), np.ones((20, 3)), np.ones(20), np.ones((20, 1)), np.ones(1)]

    @property
    def models(self) -> list[object]:
        """The regressors and forecasters, as a list that no other thread changes."""
        return list(self._models)

    @property
    def objects(self) -> list[object]:
        """Everything that can be called, as a list that no other thread changes."""
        return self._models + self._others

    def add(self, value: object) -> None:
        """Keep an object of the library; drop the oldest."""
        if type(value).__module__.partition(".")[0] == "adabypass":
            kept = self._models if isinstance(value, Regressor | Forecaster) else self._others
            kept.append(value)
            del kept[:-POOL]


class Caller:
    """Draws random calls; one for each thread, with a generator of its own."""

    def __init__(self, pool: Pool, seed: object) -> None:
        self.pool, self.random = pool, Random(str(seed))

    def draw(self) -> Call:
        """Draw a call of a constructor, a function, a method, an attribute, or a round trip through pickle."""
        kind = self.random.random()
        if kind < 0.003:
            name, run = draw_race(self.random)
            return Call(f"race to {name}", run, None, False)
        if kind < 0.1:
            return self._call(self.random.choice(MODELS if kind < 0.04 else CONSTRUCTORS), None)
        if kind < 0.18:
            return self._call(self.random.choice(PLAIN), None)
        # The models change with every call; a forecast or a trace only answers.
        target = self.random.choice(self.pool.models if kind < 0.75 else self.pool.objects)
        if self.random.random() < 0.03:
            return Call(f"pickle {type(target).__name__}", lambda: pickle.loads(pickle.dumps(target)), None, False)
        name = self.random.choice(_public_names(type(target)))
        if not callable(getattr(type(target), name)):
            return Call(f"{type(target).__name__}.{name}", lambda: getattr(target, name), target, False)
        call = self._call(getattr(target, name), target)
        return self._interrupted(call) if self.random.random() < 0.02 else call

    def _interrupted(self, call: Call) -> Call:
        """Let Ctrl-C come, or memory run out, while a call is made."""
        at, error = int(10 ** self.random.uniform(0.0, 4.0)), self.random.choice([KeyboardInterrupt, MemoryError])

        def make() -> object:
            try:
                return StopAt(at, error).run(call.make)
            except error as stopped:
                raise hostile.HostileError("stopped") from stopped

        return call._replace(label=f"{error.__name__} at {at} of {call.label}"[:MAX_LABEL_LENGTH], make=make)

    def _call(self, function: Callable[..., object], target: object) -> Call:
        owner = "" if target is None else f"{type(target).__name__}."
        name = getattr(function, "__name__", type(function).__name__)
        try:
            parameters = inspect.signature(function).parameters.values()
        except ValueError:  # a few built-in methods have no signature
            return Call(f"{owner}{name}()", function, target, False)
        width = _n_features(target) or self.random.choice([1, 2, 3])
        n = self.random.choice([0, 1, 2, 3, 20, 40])
        args: list[object] = []
        kwargs: dict[str, object] = {}
        labels, reentrant = [], False
        for parameter in parameters:
            if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
                continue
            if parameter.default is not parameter.empty and self.random.random() < 0.5:
                continue
            label, value, calls_back = self._argument(parameter.name, name, target, width, n)
            reentrant |= calls_back
            labels.append(f"{parameter.name}={label}")
            if parameter.kind == parameter.POSITIONAL_ONLY:
                args.append(value)
            else:
                kwargs[parameter.name] = value
        label = f"{owner}{name}({', '.join(labels)})"[:MAX_LABEL_LENGTH]
        return Call(label, lambda: function(*args, **kwargs), target, reentrant)

    def _argument(self, parameter: str, function: str, target: object, width: int, n: int) -> tuple[str, object, bool]:
        """Draw an argument: what its name usually means, a hostile value, or something between the two."""
        kind = self.random.random()
        if kind < 0.55:
            value = self._plausible(parameter, function, width, n)
            return _short(value), value, False
        if kind < 0.62:
            array = self.random.choice(self.pool.arrays)
            return f"shared array {array.shape}", array, False
        if kind < 0.72:
            back = self._calls_back(target, self._plausible(parameter, function, width, n))
            return "calls back", back, True
        if kind < 0.75:
            other = self.random.choice(self.pool.objects)
            return type(other).__name__, other, False
        values = hostile.VALUES
        if parameter in ("x", "X", "y", "exog") and kind > 0.95:
            values = hostile.TAMPERED
        name = self.random.choice(list(values))
        return name, values[name](), False

    def _plausible(self, parameter: str, function: str, width: int, n: int) -> Any:
        """Draw what an argument of this name usually is."""
        values = np.random.default_rng(self.random.getrandbits(32))
        many = function in ("run", "evaluate", "compare", "Trace", "forecast")
        features: Callable[[], Any] = lambda: values.normal(size=(n, width) if many else width)  # noqa: E731
        data: dict[str, Callable[[], Any]] = {
            "x": lambda: self._features(values.normal(size=width)),
            "X": lambda: self._features(features()),
            "exog": features,
            "y": lambda: self._targets(values, n) if many else float(values.normal()),
            "extra_var": lambda: values.random(self.random.choice([1, 6, 55, 54, 56, 0])),
            "q": lambda: self.random.choice([0.5, 0.9, 1e-300, np.array([0.1, 0.9])]),
            "components": lambda: values.random((n, 5) if self.random.random() < 0.5 else (3, n, 5)),
            "paths": lambda: values.random((3, n)),
            "rng": lambda: np.random.default_rng(0),
        }
        data |= dict.fromkeys(("data", "loss_a", "loss_b", "shift"), lambda: self._targets(values, n))
        moments = ("mean", "var", "signal_var", "weights_mean", "weights_var", "log_score")
        sizes = [0.0, 1.0, 1e-300, 1e300, math.inf, values.random(n), values.random((n, 2))]
        data |= dict.fromkeys(moments, lambda: self.random.choice(sizes))
        return data[parameter]() if parameter in data else self._setting(parameter, n)

    def _features(self, dense: Any) -> Any:
        """Return features as they are, or now and then in a form for those that are mostly 0."""
        form = self.random.random()
        if form < 0.1:
            return scipy.sparse.csr_array(np.atleast_2d(dense))
        return dict(enumerate(dense.tolist())) if form < 0.2 and dense.ndim == 1 else dense

    def _targets(self, values: np.random.Generator, n: int) -> Any:
        return values.normal(size=n) * 10.0 ** self.random.choice([-300, -3, 0, 0, 0, 3, 300])

    def _setting(self, parameter: str, n: int) -> Any:
        """Draw an argument that is not data."""
        choices: dict[str, list[Any]] = {
            "variant": ["PA", "PA-I", "PA-II"],
            "covariance": ["auto", "full", "diagonal"],
            "sparse": [False, True],
            "transform": ["auto", "none"],
            "period": [None, 1, 4],
            "method": ["moments", "paths"],
            "missing": ["raise", "mean", "last"],
            "backend": ["pandas", "polars", "pyarrow"],
            "loss": ["log", "crps", "squared", "absolute"],
            "level": [0.5, 0.9],
            "levels": [(0.5, 0.9)],
            "threshold": [0.5],
            "size": [None, 0, 3, (2, 3)],
            "lags": [0, 1, 2, [1, 3], 5],
            "seasonal_lags": [None, 3, [2, 4]],
            "difference": [0, 1, 2],
            "horizon": [1, 2, 5],
            "every": [None, 1, 7],
            "skip": [0, 1, 20],
            "max_sweeps": [None, 1, 2],
            "n_features": [None, 1, 2, 3, 300],
            "k": [1, 2],
            "n_paths": [1, 5],
            "bins": [1, 5],
            "window": [1, 5],
            "name": ["nile"],
            "target": ["y"],
            "time": [None, "ds"],
            "id": [None],
            "calendar": [(), ("week",)],
            "history": [{}, {"a": np.ones(n)}],
            "progress": [None, lambda *_: None],
        }
        if parameter in choices:
            return self.random.choice(choices[parameter])
        if parameter in ("model", "forecaster", "forecasters", "trace", "predictive", "values"):
            wanted = [each for each in self.pool.objects if parameter[:5].lower() in _kinds(each)]
            found = self.random.choice(wanted) if wanted else None
            return [found] if parameter == "forecasters" else found
        return self.random.choice([True, 1.0, 0.5, 1e-3, 1e-8, 1e3])

    def _calls_back(self, target: object, answer: object) -> hostile.CallsBack:
        """Make an argument that changes the target, or another model of the pool, while it is being read."""
        model: Any = target if isinstance(target, Regressor | Forecaster) else self.random.choice(self.pool.models)
        width = self.random.choice([1, 2, 3, 9])
        X, y = np.ones((4, width)), np.ones(4)
        actions: list[Callable[[], object]] = [
            model.reset,
            lambda: model.add_features(3),
            lambda: model.run(y if isinstance(model, Forecaster) else X, y),
            lambda: (model.reset(), model.run(X, y)),
            lambda: model.update(X[0], 1.0),
            lambda: (model.reset(), model.update(X[0], 1.0)),
            lambda: model.predict(X[0]),
            lambda: model.__setstate__(model.copy().__getstate__()),
        ]
        action = self.random.choice(actions)

        def act() -> None:
            try:
                action()
            except Exception as error:
                raise hostile.HostileError(str(error)) from error

        return hostile.CallsBack(act, answer)


def _public_names(kind: type) -> list[str]:
    """Return the names of the methods and attributes of a class, but for those that every tuple has."""
    names = [name for name in dir(kind) if not name.startswith("_") and name not in TRUSTING] + ["__repr__", "__len__"]
    return [name for name in names if hasattr(kind, name) and not (issubclass(kind, tuple) and hasattr(tuple, name))]


def _kinds(value: object) -> str:
    """Return the names of the classes of an object, and of the arguments that it may be passed as."""
    names = " ".join(base.__name__.lower() for base in type(value).__mro__)
    return f"{names} model forec" if isinstance(value, Regressor) else names


def _n_features(target: object) -> int | None:
    try:
        found = target.n_features  # type: ignore[attr-defined]
    except Exception:
        return None
    return found if isinstance(found, int) else None


def _short(value: object) -> str:
    if isinstance(value, np.ndarray):
        return f"array{value.shape}"
    plain = value is None or isinstance(value, int | float | str | tuple)
    return repr(value) if plain else type(value).__name__  # the library's own repr is under test
