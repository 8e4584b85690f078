"""Viking, a Kalman filter that tracks its variances; the port to Python by its authors' company takes whole streams."""

from collections.abc import Callable

import numpy as np

from adabypass.validation import Floats
from benchmarks.speed.contestants import Contestant, Mode
from benchmarks.speed.peers.settings import START_VAR
from benchmarks.speed.streams import Stream


def in_bulk(stream: Stream) -> Callable[[], Callable[[], Floats]]:
    """Run with one drift for all weights, its fastest mode; the other settings are its own."""
    from viking_kalman import viking  # noqa: PLC0415  (an extra)

    d = stream.n_features

    def go() -> Floats:
        np.random.seed(0)  # it draws from NumPy's global state
        found = viking(
            stream.X, stream.y, np.zeros(d), START_VAR / d * np.eye(d), 0.0, 0.1, 0.0, np.array([1e-2]),
            rho_a=np.exp(-9.0), rho_b=np.exp(-6.0), mode="scalar",
        )  # fmt: skip
        forecasts: Floats = np.einsum("ti,ti->t", stream.X, found["theta_arr"])
        return forecasts

    return lambda: go


CONTESTANTS = (Contestant("Viking", Mode.IN_BULK, in_bulk),)
