"""Validation of arguments, done once, where data enters the library, before anything changes.

Each function returns validated values, arrays as float64 that the kernels can use directly, or raises an error that
states what was passed, what was expected and how to fix it.
"""

from collections.abc import Mapping
from math import isinf, prod
from numbers import Real
from typing import Any, TypeAlias

import numpy as np

from adabypass.errors import NotANumberError, NotFiniteError, ParameterError, ShapeError

Floats: TypeAlias = np.ndarray[Any, np.dtype[np.float64]]
Integers: TypeAlias = np.ndarray[Any, np.dtype[np.int64]]

MAX_DRAWS = 100_000_000
"""Maximum number of draws in one call: 800 MB."""


def check_array(value: object, name: str, *, copy: bool = False) -> Floats:
    """Return `value` as a contiguous, aligned float64 array; with `copy`, one that shares no memory with it."""
    try:
        # Masked elements are missing, whatever their value.
        masked = isinstance(value, np.ma.MaskedArray)
        array = np.asarray(np.ma.filled(np.ma.asarray(value, dtype=np.float64), np.nan) if masked else value)
        if array.dtype.kind not in "biufO" or (array.dtype.kind == "O" and not _holds_numbers(array)):
            raise NotANumberError(_not_numbers(name, value))
        with np.errstate(over="ignore"):  # a long double beyond float64 becomes infinite, which is rejected later
            floats = np.array(array, dtype=np.float64, order="C", copy=True if copy else None)
        return floats if floats.flags.aligned else floats.copy()  # a view into a structured array may not be
    except (TypeError, ValueError, OverflowError) as error:
        if isinstance(error, NotANumberError):
            raise
        raise NotANumberError(_not_numbers(name, value)) from error


def check_features(x: object, n_features: int | None) -> Floats:
    """Check one feature vector; a scalar is a vector of length 1."""
    vector = check_array(x, "x")
    if vector.ndim == 0:
        vector = vector.reshape(1)
    if vector.ndim != 1 or len(vector) == 0:
        raise ShapeError(
            f"x has shape {vector.shape}, but the features of one observation are a vector; pass shape (n,)."
        )
    if n_features is not None and len(vector) != n_features:
        raise ShapeError(
            f"x has shape {vector.shape}, but this model has {n_features} feature{'s' * (n_features != 1)}; "
            f"pass shape ({n_features},), or {_remedy(len(vector), n_features)}."
        )
    if not np.isfinite(vector).all():
        at = int(np.flatnonzero(~np.isfinite(vector))[0])
        raise NotFiniteError(f"x[{at}] is {vector[at]}, but a feature must be finite; fill it, or leave the row out.")
    return vector


def check_target(y: object) -> float:
    """Check one observation: a finite number, or nan for a missing one."""
    array = check_array(y, "y")
    if array.size != 1:
        raise ShapeError(f"y has shape {array.shape}, but one observation is a single number.")
    value = float(array.reshape(-1)[0])
    if isinf(value):
        raise NotFiniteError(f"y is {value}, but must be finite; pass nan if the observation is missing.")
    return value


def check_stream(X: object, y: object) -> tuple[Floats, Floats]:
    """Check the features (n, n_features) and targets (n,) of a whole stream, and return copies of them.

    They are copied before they are checked, so that another thread cannot change them afterwards.
    """
    table, targets = check_array(X, "X", copy=True), check_array(y, "y", copy=True)
    if table.ndim != 2:
        raise ShapeError(
            f"X has shape {table.shape}, but must be (n, n_features); for a single feature pass X.reshape(-1, 1)."
        )
    if targets.ndim != 1:
        raise ShapeError(f"y has shape {targets.shape}, but must be (n,), one number for each row of X.")
    if len(table) != len(targets):
        raise ShapeError(f"X has {len(table)} rows and y has {len(targets)}; each row of X needs its y.")
    if table.shape[1] == 0:
        raise ShapeError(f"X has shape {table.shape}, but a model needs at least one feature.")
    finite = np.isfinite(table)
    if not finite.all():
        row, column = (int(i) for i in np.argwhere(~finite)[0])
        raise NotFiniteError(
            f"X[{row}, {column}] is {table[row, column]}, but a feature must be finite; fill it, or leave the row out."
        )
    infinite = np.isinf(targets)
    if infinite.any():
        row = int(np.flatnonzero(infinite)[0])
        raise NotFiniteError(f"y[{row}] is {targets[row]}, but must be finite, or nan if the observation is missing.")
    return table, targets


def check_width(table: Floats, n_features: int | None) -> None:
    """Check that the number of features of a stream is that of the model."""
    if n_features is not None and table.shape[1] != n_features:
        raise ShapeError(
            f"X has shape {table.shape}, but this model has {n_features} feature{'s' * (n_features != 1)}; "
            f"pass shape (n, {n_features}), or {_remedy(table.shape[1], n_features)}."
        )


def check_int(value: object, name: str, *, minimum: int, maximum: int) -> int:
    """Check that a value is a whole number from `minimum` to `maximum`."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or not minimum <= value <= maximum:
        raise ParameterError(f"{name} is {shown(value)}, but must be a whole number from {minimum} to {maximum}.")
    return int(value)


def check_flag(value: object, name: str) -> None:
    """Check that a value is True or False."""
    if not isinstance(value, bool | np.bool_):
        raise ParameterError(f"{name} is {shown(value)}, but must be True or False.")


def check_function(value: object, name: str) -> None:
    """Check that a value is callable, or None."""
    if value is not None and not callable(value):
        raise ParameterError(f"{name} is {shown(value)}, but must be a function, or None for none.")


def check_rng(rng: object) -> np.random.Generator:
    """Check that a value is a NumPy random number generator."""
    if not isinstance(rng, np.random.Generator):
        raise ParameterError(
            f"rng is {shown(rng)}, but must be a random number generator; pass np.random.default_rng(0), with a seed "
            "such as 0."
        )
    return rng


def as_rng(rng: object) -> np.random.Generator:
    """Return a random number generator: `rng` itself, or a new one from a seed, or from system entropy for None."""
    try:
        return np.random.default_rng(rng)  # type: ignore[arg-type]
    except (TypeError, ValueError) as error:
        raise ParameterError(
            f"rng is {shown(rng)}, but must be a seed, which is a whole number from 0, or np.random.default_rng(0)."
        ) from error


def check_size(size: object, n_forecasts: int = 1) -> tuple[int, ...]:
    """Return the shape of the draws from each of `n_forecasts` forecasts; reject more than fit into memory."""
    lengths = () if size is None else tuple(size) if isinstance(size, tuple | list) else (size,)
    shape = tuple(check_int(length, "size", minimum=0, maximum=MAX_DRAWS) for length in lengths)
    if prod(shape) * n_forecasts > MAX_DRAWS:
        raise ParameterError(
            f"size is {shown(size)} for {n_forecasts} forecasts, but at most {MAX_DRAWS} numbers are drawn at once; "
            "draw in parts."
        )
    return shape


def as_tuple(value: Any) -> tuple[Any, ...] | None:
    """Return the items of an iterable as a tuple; None for text, and for what is not iterable."""
    if isinstance(value, str) or hasattr(value, "tocsr"):  # SciPy does not check the indices of a sparse matrix
        return None
    try:
        return tuple(value)
    except TypeError:  # an array with 0 dimensions has `__iter__`, but is not iterable
        return None


def shown(value: object) -> str:
    """Format a value for error messages, with at most 60 characters."""
    try:
        text = repr(value)
    except Exception:  # a __repr__ may raise anything, as NumPy does while another thread writes to the array
        text = f"an object of type {type(value).__name__}"
    return text if len(text) <= 60 else text[:57] + "..."


def _remedy(got: int, expected: int) -> str:
    if got > expected:
        return f"let the model grow first with add_features({got - expected})"
    return f"build a model with n_features={got}"


def _holds_numbers(array: "np.ndarray[Any, np.dtype[Any]]") -> bool:
    return all(isinstance(item, Real) for item in array.reshape(-1))


def _not_numbers(name: str, value: object) -> str:
    hint = "; a missing observation is nan" if name == "y" else ""
    if isinstance(value, Mapping) or hasattr(value, "tocsr"):
        hint = "; dicts and sparse matrices are for models with covariance='diagonal', and for AutoBypass(sparse=True)"
    return f"{name} is {shown(value)}, but must be made of numbers{hint}."
