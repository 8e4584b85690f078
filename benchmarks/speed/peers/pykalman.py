"""pykalman: `filter_update` row by row, `filter` in bulk."""

from collections.abc import Callable
from typing import Any

import numpy as np

from adabypass.validation import Floats
from benchmarks.speed.contestants import Contestant, Mode
from benchmarks.speed.peers.settings import DRIFT_VAR, NOISE_VAR, START_VAR
from benchmarks.speed.streams import Stream


def new_filter(n_features: int, observation_matrices: Floats) -> Any:
    """Return a filter with every matrix given, so that it has nothing to fill in by itself."""
    from pykalman import KalmanFilter  # noqa: PLC0415  (an extra)

    identity = np.eye(n_features)
    return KalmanFilter(
        transition_matrices=identity, observation_matrices=observation_matrices,
        transition_covariance=DRIFT_VAR / n_features * identity, observation_covariance=np.array([[NOISE_VAR]]),
        transition_offsets=np.zeros(n_features), observation_offsets=np.zeros(1),
        initial_state_mean=np.zeros(n_features), initial_state_covariance=START_VAR / n_features * identity,
    )  # fmt: skip


def row_by_row(stream: Stream) -> Callable[[], Callable[[], list[float]]]:
    """Forecast with the weights that `filter_update` returned."""
    d = stream.n_features
    rows, targets = [x[None] for x in stream.X], list(stream.y[:, None])

    def repetition() -> Callable[[], list[float]]:
        model = new_filter(d, np.zeros((1, d)))
        update = model.filter_update

        def go() -> list[float]:
            mean, cov = model.initial_state_mean, model.initial_state_covariance
            forecasts = []
            for x, y in zip(rows, targets, strict=True):
                forecasts.append((x @ mean)[0])
                mean, cov = update(mean, cov, y, observation_matrix=x)
            return forecasts

        return go

    return repetition


def in_bulk(stream: Stream) -> Callable[[], Callable[[], Floats]]:
    """Forecast each observation with the filtered weights before it."""
    model = new_filter(stream.n_features, np.ascontiguousarray(stream.X[:, None, :]))

    def go() -> Floats:
        means, _ = model.filter(stream.y)
        before = np.vstack([np.zeros(stream.n_features), means[:-1]])
        forecasts: Floats = np.einsum("ti,ti->t", stream.X, before)
        return forecasts

    return lambda: go


def max_rows(n_features: int) -> int:
    """Return how many rows `filter` may be given: it keeps four covariances of each."""
    return max(50, 20_000_000 // n_features**2)


CONTESTANTS = (
    Contestant("pykalman", Mode.ROW_BY_ROW, row_by_row),
    Contestant("pykalman", Mode.IN_BULK, in_bulk, max_rows),
)
