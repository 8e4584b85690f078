"""Vowpal Wabbit: examples parsed before the clock starts, and in bulk its own binary cache."""

import math
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

from adabypass.validation import Floats
from benchmarks.speed.contestants import Contestant, Mode
from benchmarks.speed.streams import Stream


def as_text(stream: Stream) -> list[str]:
    """Return the rows in Vowpal Wabbit's text format."""
    return [
        f"{y!r} | " + " ".join(f"{i}:{value!r}" for i, value in enumerate(x))
        for x, y in zip(stream.X.tolist(), stream.y.tolist(), strict=True)
    ]


def row_by_row(stream: Stream) -> Callable[[], Callable[[], list[float]]]:
    """Forecast with `predict`, learn with `learn`."""
    from vowpalwabbit import Workspace  # noqa: PLC0415  (an extra)

    lines = as_text(stream)

    def repetition() -> Callable[[], list[float]]:
        model = Workspace("--quiet")
        examples = [model.example(line) for line in lines]
        predict, learn = model.predict, model.learn

        def go() -> list[float]:
            forecasts = []
            for example in examples:
                forecasts.append(predict(example))
                learn(example)
            return forecasts

        return go

    return repetition


def in_bulk(stream: Stream) -> Callable[[], Callable[[], Floats]]:
    """Read the cache and learn; no forecast is written meanwhile, as writing them takes longer than all the rest.

    The forecasts are those of the same command with `-p`, and each timed run must come to the same loss.
    """
    from vowpalwabbit import Workspace  # noqa: PLC0415  (an extra)

    folder = tempfile.TemporaryDirectory()
    text, cache, written = (Path(folder.name) / name for name in ("rows", "cache", "forecasts"))
    text.write_text("\n".join(as_text(stream)) + "\n")
    model = Workspace(f"--quiet -d {text} --cache_file {cache} -k -p {written}")
    loss = model.get_sum_loss()
    model.finish()
    forecasts = np.loadtxt(written)

    def repetition() -> Callable[[], Floats]:
        model = Workspace(f"--quiet --cache_file {Path(folder.name) / 'cache'}")

        def go() -> Floats:
            model.run_parser()
            if not math.isclose(model.get_sum_loss(), loss, rel_tol=1e-6):
                raise RuntimeError(f"the loss was {model.get_sum_loss()}, but {loss} with forecasts written")
            return forecasts

        return go

    return repetition


CONTESTANTS = (
    Contestant("Vowpal Wabbit", Mode.ROW_BY_ROW, row_by_row),
    Contestant("Vowpal Wabbit, its cache", Mode.IN_BULK, in_bulk),
)
