"""Checks of a forecaster's settings: its model, and which past values a forecast is made from."""

from collections.abc import Sequence
from typing import Any, Literal, get_args

import numpy as np

from adabypass.errors import ParameterError
from adabypass.regressors import Regressor
from adabypass.regressors.base import MAX_FEATURES
from adabypass.state.past import Design
from adabypass.state.series import Missing, SeriesSpec
from adabypass.validation import as_tuple, check_int, shown

Method = Literal["moments", "paths", "iterated"]
"""How a forecast many steps ahead is made; "iterated" by a forecaster from lags alone."""

MAX_LAGS = 100_000
MAX_DIFFERENCE = 10


def check_difference(difference: object) -> int:
    """Validate how often a series is differenced."""
    return check_int(difference, "difference", minimum=0, maximum=MAX_DIFFERENCE)


def check_settings(
    model: Regressor, lags: object, seasonal_lags: object, difference: object, bias: object, missing: Missing
) -> SeriesSpec:
    """Return the spec of a forecaster with these settings."""
    check_missing(missing)
    if not isinstance(bias, bool | np.bool_):
        raise ParameterError(f"bias is {bias!r}, but must be True or False.")
    if model.has_intercept and not bias:
        raise ParameterError(
            f"bias is False, but this {type(model).__name__} has an intercept of its own; use intercept=False."
        )
    if not model._spec.is_full:
        raise ParameterError(
            f"this {type(model).__name__} has a {model._spec.hyperparameters()['covariance']} covariance, which is for "
            "many features; lags are few and correlated: use covariance='full'."
        )
    order = check_difference(difference)
    design = Design(check_lags(lags, seasonal_lags), order, bool(bias) and not model.has_intercept)
    if len(design.lags) > MAX_FEATURES:
        raise ParameterError(f"{len(design.lags)} lags are too many: a model has at most {MAX_FEATURES} features.")
    return SeriesSpec(model._spec.for_lags(), design, missing)


def check_missing(missing: Any) -> Missing:
    """Check what becomes of a missing exogenous value."""
    if not isinstance(missing, str) or missing not in get_args(Missing):
        raise ParameterError(f"missing is {shown(missing)}, but must be 'raise', 'mean' or 'last'.")
    found: Any = missing
    return found  # type: ignore[no-any-return]


def check_method(method: object, *, has_lags: bool = False) -> None:
    """Check how a forecast many steps ahead is to be made."""
    known = [each for each in get_args(Method) if has_lags or each != "iterated"]
    if not isinstance(method, str) or method not in known:
        *others, last = (repr(each) for each in known)
        only = "; Forecaster(lags=...) alone iterates" if isinstance(method, str) and method == "iterated" else ""
        raise ParameterError(f"method is {shown(method)}, but must be {', '.join(others)} or {last}{only}.")


def check_lags(lags: object, seasonal_lags: object) -> tuple[int, ...]:
    """Return which values before the next one are features, the newest first."""
    chosen: list[int] = []
    if isinstance(lags, int | np.integer) and not isinstance(lags, bool):
        chosen += range(1, check_int(lags, "lags", minimum=0, maximum=MAX_LAGS) + 1)
    else:
        chosen += _integers(lags, "lags")
    chosen += [] if seasonal_lags is None else _integers(seasonal_lags, "seasonal_lags")
    return tuple(sorted(set(chosen)))


def check_names(exog: object) -> tuple[str, ...]:
    """Return names of columns; a single one may come by itself."""
    if isinstance(exog, str):
        return (exog,)
    if not isinstance(exog, Sequence) or not all(isinstance(name, str) for name in exog):
        raise ParameterError(f"exog is {shown(exog)}, but must be a list of names of columns; values go to run.")
    return tuple(exog)


def _integers(value: object, name: str) -> list[int]:
    values = as_tuple(value) if isinstance(value, Sequence | np.ndarray) else None
    return [check_int(each, name, minimum=1, maximum=MAX_LAGS) for each in ((value,) if values is None else values)]
