"""Point forecasts: a mean without a distribution."""

from math import isnan
from typing import Any

import numpy as np

from adabypass.distributions.base import Number, Predictive, json_safe
from adabypass.errors import ParameterError, PointForecastError, ShapeError
from adabypass.validation import check_array, shown


class Point:
    """A point forecast, from a model that has no distribution.

    It has a mean; every other attribute of a forecast raises `PointForecastError`.

    Parameters
    ----------
    mean
        A number, or an array (n,) of them; nan where nothing is known.
    model
        Name of the model, for error messages.

    Examples
    --------
    >>> Point(2.0, model="PassiveAggressive").mean
    2.0
    """

    __slots__ = ("_model", "mean")

    mean: Any
    is_point = True

    def __init__(self, mean: Number, model: str) -> None:
        self.mean = mean if isinstance(mean, float) else _check_mean(mean)
        self._model = model if type(model) is str else _check_name(model)

    def __reduce__(self) -> Any:
        return Point, (self.mean, self._model)

    @property
    def is_known(self) -> Any:
        """Whether anything is known about the observation."""
        return not isnan(self.mean) if isinstance(self.mean, float) else ~np.isnan(self.mean)

    def __repr__(self) -> str:
        if np.ndim(self.mean):
            return f"Point({len(self.mean)} forecasts)"
        return f"Point(mean={self.mean:.6g})"

    def __getitem__(self, chosen: Any) -> "Point":
        """Select among many forecasts, with the index of an array."""
        return Point(self.mean[chosen], self._model)

    def to_dict(self, level: float = 0.9) -> dict[str, Any]:
        """Return the mean, for JSON; there is no interval, whatever its level: see `Predictive`."""
        return {"mean": json_safe(self.mean)}

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or not hasattr(Predictive, name):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        raise PointForecastError(
            f"{self._model} forecasts a point, so it has no {name}; use Bypass or AdaBypass for a distribution."
        )


def _check_mean(mean: Any) -> Any:
    """Check a mean that is not a Python float."""
    means = check_array(mean, "mean")
    if means.ndim > 1:
        raise ShapeError(f"mean has shape {means.shape}, but must be a number, or an array of shape (n,).")
    return means if np.ndim(mean) else float(means.reshape(-1)[0])


def _check_name(model: object) -> str:
    if not isinstance(model, str):
        raise ParameterError(f"model is {shown(model)}, but must be the name of a model, as text.")
    return str(model)
