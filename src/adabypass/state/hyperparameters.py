"""Checks of hyperparameters."""

from collections.abc import Iterable
from math import inf, isfinite
from numbers import Real
from typing import Any

import numpy as np

from adabypass.errors import ParameterError
from adabypass.numerics.limits import CONVERGENCE_CAP, MAX_HYPERPARAMETER
from adabypass.validation import shown


def check_positive(spec: Any, name: str, *, zero: bool = False) -> None:
    """Check that a hyperparameter is a positive number, and store it as a float."""
    value = getattr(spec, name)
    domain = f"a number {'from 0' if zero else 'above 0'} up to {MAX_HYPERPARAMETER:g}"
    if not isinstance(value, Real) or isinstance(value, bool):
        raise ParameterError(f"{name} is {shown(value)}, but must be {domain}.")
    try:
        number = float(value)
    except OverflowError:
        number = inf
    if not isfinite(number) or number > MAX_HYPERPARAMETER or number < 0.0 or (number == 0.0 and not zero):
        raise ParameterError(f"{name} is {shown(value)}, but must be {domain}.")
    object.__setattr__(spec, name, number)


def check_sweeps(max_sweeps: Any) -> None:
    """Check that `max_sweeps` is a whole number from 1, or None."""
    is_whole = isinstance(max_sweeps, int | np.integer) and not isinstance(max_sweeps, bool)
    if max_sweeps is not None and not (is_whole and 1 <= max_sweeps <= CONVERGENCE_CAP):
        raise ParameterError(
            f"max_sweeps is {shown(max_sweeps)}, but must be a whole number from 1 to {CONVERGENCE_CAP}, or None to "
            "run to convergence."
        )


def check_corrections(corrections: Any, known: tuple[str, ...]) -> tuple[str, ...]:
    """Check the names of errata to correct; return them without duplicates, in order."""
    choices = f"a list of some of {', '.join(repr(name) for name in known)}, which docs/equations.md explains"
    if isinstance(corrections, str) or not isinstance(corrections, Iterable):
        raise ParameterError(f"corrections is {shown(corrections)}, but must be {choices}.")
    given = list(corrections)
    for name in given:
        if not isinstance(name, str) or name not in known:
            raise ParameterError(f"corrections contains {shown(name)}, but must be {choices}.")
    return tuple(name for name in known if name in given)
