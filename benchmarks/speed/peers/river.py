"""River: rows are dicts, made before the clock starts."""

from collections.abc import Callable
from typing import Any

from benchmarks.speed.contestants import Contestant, Mode, Prepare
from benchmarks.speed.streams import NOISE_SD, Stream


def row_by_row(new: Callable[[Any, int], Any]) -> Prepare:
    """Forecast with `predict_one`, learn with `learn_one`."""

    def prepare(stream: Stream) -> Callable[[], Callable[[], list[float]]]:
        import river.linear_model  # noqa: PLC0415  (an extra)
        import river.optim  # noqa: PLC0415

        rows, targets = [dict(enumerate(x)) for x in stream.X.tolist()], stream.y.tolist()

        def repetition() -> Callable[[], list[float]]:
            model = new(river, stream.n_features)
            predict, learn = model.predict_one, model.learn_one

            def go() -> list[float]:
                forecasts = []
                for x, y in zip(rows, targets, strict=True):
                    forecasts.append(predict(x))
                    learn(x, y)
                return forecasts

            return go

        return repetition

    return prepare


def linear_regression(river: Any, n_features: int) -> Any:
    """Return plain SGD with the largest rate that is stable for so many features."""
    return river.linear_model.LinearRegression(river.optim.SGD(min(0.01, 0.25 / n_features)))


def passive_aggressive(river: Any, n_features: int) -> Any:
    """Return PA-II, made cautious enough for the noise; an intercept would add noise and nothing else."""
    return river.linear_model.PARegressor(C=0.05 / n_features, mode=2, eps=0.1, learn_intercept=False)


def bayesian(river: Any, n_features: int) -> Any:
    """Return Bayesian regression that knows the variance of the noise and of the weights."""
    return river.linear_model.BayesianLinearRegression(alpha=n_features / 4.0, beta=1 / NOISE_SD**2)


CONTESTANTS = (
    Contestant("River LinearRegression", Mode.ROW_BY_ROW, row_by_row(linear_regression)),
    Contestant("River PARegressor", Mode.ROW_BY_ROW, row_by_row(passive_aggressive)),
    Contestant("River BayesianLinearRegression", Mode.ROW_BY_ROW, row_by_row(bayesian)),
)
