"""Our models: row by row with `predict` and `update` or with `step`, and in bulk with `run`."""

from collections.abc import Callable
from typing import Any

from adabypass import AdaBypass, AutoBypass, Bypass
from adabypass.validation import Floats
from benchmarks.speed.contestants import Contestant, Mode, Prepare
from benchmarks.speed.streams import Stream

MODELS: dict[str, Callable[[], Any]] = {"AutoBypass": AutoBypass, "AdaBypass": AdaBypass, "Bypass": Bypass}


def pairs(new: Callable[[], Any]) -> Prepare:
    """Forecast with `predict`, learn with `update`."""

    def prepare(stream: Stream) -> Callable[[], Callable[[], list[float]]]:
        rows, targets = list(stream.X), stream.y.tolist()

        def repetition() -> Callable[[], list[float]]:
            model = new()
            predict, update = model.predict, model.update

            def go() -> list[float]:
                forecasts = []
                for x, y in zip(rows, targets, strict=True):
                    forecasts.append(predict(x).mean)
                    update(x, y)
                return forecasts

            return go

        return repetition

    return prepare


def steps(new: Callable[[], Any]) -> Prepare:
    """Forecast and learn with `step`."""

    def prepare(stream: Stream) -> Callable[[], Callable[[], list[float]]]:
        rows, targets = list(stream.X), stream.y.tolist()

        def repetition() -> Callable[[], list[float]]:
            step = new().step

            def go() -> list[float]:
                return [step(x, y).mean for x, y in zip(rows, targets, strict=True)]

            return go

        return repetition

    return prepare


def runs(new: Callable[[], Any], **options: bool) -> Prepare:
    """Forecast and learn with `run`."""

    def prepare(stream: Stream) -> Callable[[], Callable[[], Floats]]:
        X, y = stream

        def repetition() -> Callable[[], Floats]:
            run = new().run

            def go() -> Floats:
                trace = run(X, y, **options)
                mean: Floats = trace.mean
                return mean

            return go

        return repetition

    return prepare


CONTESTANTS = (
    *(Contestant(name, Mode.ROW_BY_ROW, pairs(new)) for name, new in MODELS.items()),
    *(Contestant(f"{name} step", Mode.ROW_BY_ROW, steps(new)) for name, new in MODELS.items()),
    *(Contestant(name, Mode.IN_BULK, runs(new)) for name, new in MODELS.items()),
    Contestant("AutoBypass, mean and variance", Mode.IN_BULK, runs(AutoBypass, keep_predictive=False)),
)
"""In bulk AutoBypass keeps the whole distribution of every forecast, unless only mean and variance are asked for."""
