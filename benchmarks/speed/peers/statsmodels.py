"""statsmodels: a state-space model whose state is the weights; `extend` row by row, `filter` in bulk."""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from adabypass.validation import Floats
from benchmarks.speed.contestants import Contestant, Mode
from benchmarks.speed.peers.settings import DRIFT_VAR, NOISE_VAR, START_VAR
from benchmarks.speed.streams import Stream


@cache
def model_class() -> Any:
    """Return the model, written the way statsmodels' documentation writes a regression with drifting weights."""
    from statsmodels.tsa.statespace.mlemodel import MLEModel  # noqa: PLC0415  (an extra)

    class DriftingRegression(MLEModel):  # type: ignore[misc]  # statsmodels has no types
        """Regression whose weights are a random walk; nothing is left to fit."""

        start_params: Any = ()
        param_names: Any = ()

        def __init__(self, endog: Floats, exog: Floats, **options: Any) -> None:
            d = exog.shape[1]
            super().__init__(endog, exog=exog, k_states=d, **options)
            identity = np.eye(d)
            self["design"] = exog.T[None]
            self["transition"] = self["selection"] = identity
            self["state_cov"] = DRIFT_VAR / d * identity
            self["obs_cov", 0, 0] = NOISE_VAR
            self.ssm.initialize_known(np.zeros(d), START_VAR / d * identity)

        def update(self, params: Any, **options: Any) -> None:
            pass

        def clone(self, endog: Floats, exog: Floats | None = None, **options: Any) -> Any:
            return DriftingRegression(endog, exog, **options)  # type: ignore[arg-type]

    return DriftingRegression


def row_by_row(stream: Stream) -> Callable[[], Callable[[], list[float]]]:
    """Forecast with the last predicted state, learn with `extend`, which filters the new row alone."""
    model = model_class()
    rows, targets = list(stream.X[:, None]), list(stream.y[:, None])

    def repetition() -> Callable[[], list[float]]:
        def go() -> list[float]:
            results = model(targets[0], rows[0]).filter([])
            forecasts = [0.0]
            for x, y in zip(rows[1:], targets[1:], strict=True):
                forecasts.append((x @ results.filter_results.predicted_state[:, -1])[0])
                results = results.extend(y, exog=x)
            return forecasts

        return go

    return repetition


def in_bulk(stream: Stream) -> Callable[[], Callable[[], Floats]]:
    """Filter all rows in one call, keeping in memory what forecasts need and nothing else."""
    new = model_class()

    def repetition() -> Callable[[], Floats]:
        model = new(stream.y, stream.X)
        model.ssm.set_conserve_memory(
            memory_no_filtered=True, memory_no_predicted_cov=True, memory_no_gain=True, memory_no_smoothing=True,
            memory_no_std_forecast=True,
        )  # fmt: skip

        def go() -> Floats:
            forecasts: Floats = model.ssm.filter().forecasts[0]
            return forecasts

        return go

    return repetition


CONTESTANTS = (
    Contestant("statsmodels extend", Mode.ROW_BY_ROW, row_by_row),
    Contestant("statsmodels filter", Mode.IN_BULK, in_bulk),
)
