"""The streams that are timed: slowly drifting weights, unit-scale features, Gaussian noise, no intercept."""

from typing import NamedTuple

import numpy as np

from adabypass.validation import Floats

SIGNAL_SD, NOISE_SD = 2.0, 0.5
STEP_SD = 0.0025
"""Standard deviation of one step of the drift, in units of the weights' own standard deviation."""
LEARNED = 0.75
"""A learner's mean absolute error must fall below this share of that of always forecasting the mean."""
ROWS_PER_FEATURE = 1.5
"""With fewer rows than this for each feature, no learner can be expected to have learned."""


class Stream(NamedTuple):
    """Rows of features and the observation of each row."""

    X: Floats
    """Shape (n, n_features)."""
    y: Floats
    """Shape (n,)."""

    @property
    def n_features(self) -> int:
        """Number of features."""
        return int(self.X.shape[1])

    def head(self, n: int) -> "Stream":
        """Return the first `n` rows."""
        return Stream(self.X[:n], self.y[:n])


def drifting(n: int, n_features: int) -> Stream:
    """Return a stream of `n` rows whose signal has the same variance whatever the number of features."""
    rng = np.random.default_rng(n_features)
    X = rng.normal(size=(n, n_features))
    start, steps = rng.normal(size=n_features), rng.normal(size=(n, n_features))
    weights = SIGNAL_SD / n_features**0.5 * (start / _rms(start) + STEP_SD * steps.cumsum(axis=0))
    return Stream(X, (X * weights).sum(axis=1) + NOISE_SD * rng.normal(size=n))


def _rms(values: Floats) -> float:
    return float(np.sqrt(np.mean(values**2)))


class Accuracy(NamedTuple):
    """How well the second half of a stream was forecast."""

    mae: float
    """Mean absolute error."""
    mae_of_mean: float
    """The same of forecasting the mean of the whole stream each time, which no learning is needed for."""
    learned: bool | None
    """Whether the error fell as far as learning makes it fall; None where the stream is too short to say."""


def accuracy(forecasts: Floats, stream: Stream) -> Accuracy:
    """Compute how well `forecasts`, one made before each observation, forecast the second half of the stream."""
    if len(forecasts) != len(stream.y):
        raise ValueError(f"{len(forecasts)} forecasts came for {len(stream.y)} observations; one each is expected.")
    half = len(stream.y) // 2
    mae = float(np.abs(forecasts[half:] - stream.y[half:]).mean())
    mae_of_mean = float(np.abs(stream.y[half:] - stream.y.mean()).mean())
    is_long_enough = len(stream.y) >= ROWS_PER_FEATURE * stream.n_features
    return Accuracy(mae, mae_of_mean, mae < LEARNED * mae_of_mean if is_long_enough else None)
