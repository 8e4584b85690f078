"""Forecasts without a distribution."""

from math import isnan
from typing import Any

import numpy as np

from adabypass.errors import PointForecastError
from adabypass.model.protocol import Number, Predictive, saturate


class Point:
    """A forecast without a distribution, from a model that has none.

    Only the mean is there; asking for anything else says why.

    Examples
    --------
    >>> Point(2.0, model="PassiveAggressive").mean
    2.0
    """

    __slots__ = ("_model", "mean")

    mean: Any
    is_point = True

    def __init__(self, mean: Number, model: str) -> None:
        self.mean = mean
        self._model = model

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
        """Choose among many forecasts, as an array would."""
        return Point(self.mean[chosen], self._model)

    def plus(self, shift: Any, var: Any = 0.0) -> "Point":
        """Return the forecast of a sum: of this and `shift`."""
        return Point(saturate(self.mean + shift), self._model)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or not hasattr(Predictive, name):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        raise PointForecastError(
            f"{self._model} forecasts a point, so it has no {name}; use Bypass or AdaBypass for a distribution."
        )
