"""Which forecaster `Forecaster(...)` makes."""

from typing import Any

_UNUSED = ("model", "lags", "seasonal_lags")
"""Arguments that are None where the forecaster is automatic."""


class ByArguments(type):
    """Makes of `Forecaster()`, without a model and lags, the forecaster that chooses by itself.

    As `pathlib.Path()` makes a path of the system at hand, so that `isinstance(..., Forecaster)` holds for both.
    """

    def __call__(cls, *args: Any, **options: Any) -> Any:
        from adabypass.forecasting.automatic import AutoForecaster  # noqa: PLC0415  (it is made of the class)

        chosen = [*args, options.get("model"), options.get("lags"), options.get("seasonal_lags")]
        is_chosen = any(each is not None for each in chosen) or "difference" in options or "bias" in options
        if issubclass(cls, AutoForecaster) or is_chosen:
            return super().__call__(*args, **options)
        return AutoForecaster(**{name: each for name, each in options.items() if name not in _UNUSED})
