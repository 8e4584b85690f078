"""scikit-learn's SGDRegressor: `partial_fit` of one row, and of a hundred at a time."""

from collections.abc import Callable
from typing import Any

import numpy as np

from adabypass.validation import Floats
from benchmarks.speed.contestants import Contestant, Mode
from benchmarks.speed.streams import Stream

BATCH = 100


def by_batches(size: int) -> Callable[[Stream], Callable[[], Callable[[], Floats]]]:
    """Forecast `size` rows, then learn from them; checks that scikit-learn lets its users switch off are off."""

    def prepare(stream: Stream) -> Callable[[], Callable[[], Floats]]:
        import sklearn  # noqa: PLC0415  (an extra)
        from sklearn.linear_model import SGDRegressor  # noqa: PLC0415

        d, n = stream.n_features, len(stream.y)
        parts = [(stream.X[t : t + size], stream.y[t : t + size]) for t in range(0, n, size)]

        def repetition() -> Callable[[], Floats]:
            model: Any = SGDRegressor(penalty=None, learning_rate="constant", eta0=min(0.02, 0.5 / d))

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
