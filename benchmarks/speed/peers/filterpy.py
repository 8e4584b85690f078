"""filterpy's KalmanFilter: the weights are the state, a row of features is the observation matrix."""

from collections.abc import Callable

from benchmarks.speed.contestants import Contestant, Mode
from benchmarks.speed.peers.settings import DRIFT_VAR, NOISE_VAR, START_VAR
from benchmarks.speed.streams import Stream


def row_by_row(stream: Stream) -> Callable[[], Callable[[], list[float]]]:
    """Forecast with `predict`, learn with `update`; its `batch_filter` is the same loop."""
    from filterpy.kalman import KalmanFilter  # noqa: PLC0415  (an extra)

    d = stream.n_features
    rows, targets = [x[None] for x in stream.X], stream.y.tolist()

    def repetition() -> Callable[[], list[float]]:
        model = KalmanFilter(dim_x=d, dim_z=1)
        model.P *= START_VAR / d
        model.Q *= DRIFT_VAR / d
        model.R *= NOISE_VAR
        predict, update = model.predict, model.update

        def go() -> list[float]:
            forecasts = []
            for x, y in zip(rows, targets, strict=True):
                predict()
                forecasts.append((x @ model.x)[0, 0])
                update(y, H=x)
            return forecasts

        return go

    return repetition


CONTESTANTS = (Contestant("filterpy KalmanFilter", Mode.ROW_BY_ROW, row_by_row),)
