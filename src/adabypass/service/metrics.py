"""The service in numbers, in Prometheus' text format."""

from collections.abc import Iterable
from typing import Any

from adabypass.service.events import Events
from adabypass.service.keeper import Keeper

PREFIX = "adabypass_serve"
TYPE = "text/plain; version=0.0.4; charset=utf-8"
GAUGES = (
    ("y", "y", "Newest observation of a series."),
    ("yhat", "mean", "Its forecast, made before it."),
    ("yhat_lower", "lower_90", "Lower bound of its 90 % interval."),
    ("yhat_upper", "upper_90", "Upper bound of its 90 % interval."),
    ("surprise", "surprise", "How surprising it was, as a standard normal deviate."),
)
"""Name, field of an answer, and what it means; the first ones as Grafana names them."""


def metrics(keeper: Keeper, events: Events, answered: dict[int, int]) -> str:
    """Return all metrics as text."""
    counts = keeper.counts
    lines = [
        *_metric("learned_total", "counter", "Observations learned since the start.", counts.learned),
        *_metric("repeated_total", "counter", "Observations that came again, and were not learned twice.",
                 counts.repeated),
        *_metric("late_total", "counter", "Observations earlier than the newest of their series, not learned.",
                 counts.late),
        *_metric("anomalies_total", "counter", "Observations flagged as anomalies.", counts.anomalies),
        *_metric("changes_total", "counter", "Changes of regime reported.", counts.changes),
        *_metric("learn_seconds_total", "counter", "Time spent with learning and answering.", counts.seconds),
        *_metric("series", "gauge", "Series that are known.", len(keeper.now)),
        *_metric("event_streams", "gauge", "Pages and programs that follow events.", events.n_streams),
        *_metric("ready", "gauge", "Whether observations can be learned.", int(keeper.is_ready)),
        f"# HELP {PREFIX}_responses_total Responses by status.",
        f"# TYPE {PREFIX}_responses_total counter",
        *(f'{PREFIX}_responses_total{{status="{status}"}} {n}' for status, n in sorted(answered.items())),
        *_gauges(keeper),
    ]  # fmt: skip
    return "\n".join(lines) + "\n"


def _metric(name: str, kind: str, what: str, value: Any) -> list[str]:
    full = f"{PREFIX}_{name}"
    return [f"# HELP {full} {what}", f"# TYPE {full} {kind}", f"{full} {value}"]


def _gauges(keeper: Keeper) -> Iterable[str]:
    """Yield the gauges of the oldest series, as many as may have some."""
    every = list(keeper.now.items())[: keeper.limits.max_gauges]
    yield from _metric("series_without_gauges", "gauge", "Series beyond --max-gauges.", len(keeper.now) - len(every))
    for name, field, what in GAUGES:
        yield from (f"# HELP {name} {what}", f"# TYPE {name} gauge")
        for id, now in every:
            value = None if now.last is None else now.last.get(field)
            if value is not None:
                yield f'{name}{{series="{_escaped(id)}"}} {value!r}'
    yield from ("# HELP unusual How surprising the newest observations were: 1 is usual.", "# TYPE unusual gauge")
    for id, now in every:
        yield f'unusual{{series="{_escaped(id)}"}} {now.unusual:.4f}'


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
