"""scikit-learn's SGDRegressor: `partial_fit` of one row, and of a hundred at a time."""

from collections.abc import Callable
from typing import Any

import numpy as np

from adabypass.validation import Floats
from benchmarks.speed.contestants import Contestant, Mode
from benchmarks.speed.streams import Stream

BATCH = 100


def sgd(n_features: int) -> Any:
    """Return SGD with the largest rate that is stable for so many features."""
    from sklearn.linear_model import SGDRegressor  # noqa: PLC0415  (an extra)

    return SGDRegressor(penalty=None, learning_rate="constant", eta0=min(0.02, 0.5 / n_features))


def by_batches(size: int, new: Callable[[int], Any] = sgd) -> Callable[[Stream], Callable[[], Callable[[], Floats]]]:
    """Forecast `size` rows, then learn from them; checks that scikit-learn lets its users switch off are off."""

    def prepare(stream: Stream) -> Callable[[], Callable[[], Floats]]:
        import sklearn  # noqa: PLC0415  (an extra)

        n = len(stream.y)
        parts = [(stream.X[t : t + size], stream.y[t : t + size]) for t in range(0, n, size)]

        def repetition() -> Callable[[], Floats]:
            model = new(stream.n_features)

            def go() -> Floats:
                with sklearn.config_context(assume_finite=True, skip_parameter_validation=True):
                    forecasts = [np.zeros(len(parts[0][1]))]
                    model.partial_fit(*parts[0])
                    for X, y in parts[1:]:
                        forecasts.append(model.predict(X))
                        model.partial_fit(X, y)
                return np.concatenate(forecasts)

            return go

        return repetition

    return prepare


CONTESTANTS = (
    Contestant("scikit-learn SGDRegressor", Mode.ROW_BY_ROW, by_batches(1)),
    Contestant(f"scikit-learn SGDRegressor, {BATCH} rows", Mode.IN_BULK, by_batches(BATCH)),
)
