"""Rows of many series that came together: answered at once, by a panel, in all processors."""

import json
from math import isnan
from typing import Any

import numpy as np

from adabypass.cli.stream_output import Wanted
from adabypass.cli.stream_sinks import Sink
from adabypass.forecasting import Forecaster
from adabypass.model import quantiles
from adabypass.model.mixtures import Mixture
from adabypass.panel.panel import Panel
from adabypass.panel.threads import in_threads
from adabypass.storage.stream import NO_DEVIATES
from adabypass.validation import Floats, Integers

MOST_ROWS = 4096
"""Rows that are answered at once: their forecasts take 14 MB."""
SMALL = 64
"""So many rows, or fewer, take less time than it takes to start a thread."""


class Batch:
    """Answers rows of many series with mean, sd and interval as JSON, to the last digit as one series would be alone.

    Parameters
    ----------
    wanted : Wanted
        With the usual fields, of series with an id.
    template : Forecaster
        With the settings of every series: its forecasts are mixtures.
    sink : Sink
        Where answers go.
    n_threads : int, optional
        By default as many as there are processors.
    """

    def __init__(self, wanted: Wanted, template: Forecaster, sink: Sink, n_threads: int | None = None) -> None:
        self._panel, self._packing, self._sink = (
            Panel(template, n_threads=n_threads),
            template._spec.model.packing,
            sink,
        )
        self._tails = (1 - wanted.level) / 2, (1 + wanted.level) / 2
        self._start = f"{{{json.dumps(wanted.key)}: "
        percent = f"{100 * wanted.level:g}"
        self._lower, self._upper = f"lower_{percent}", f"upper_{percent}"
        self._rows: list[tuple[str, float, list[float] | None, int]] = []
        self._number: dict[str, int] = {}
        self._deviates = np.empty((0, 2))

    def add(self, key: str, y: float, exog: list[float] | None, row: int) -> None:
        """Add a row: the id of its series as JSON, its values, and its number."""
        self._rows.append((key, y, exog, row))
        if len(self._rows) >= MOST_ROWS:
            self.answer()

    def answer(self) -> None:
        """Learn all rows that wait, and add their answers to the sink, in the order in which they came."""
        rows, self._rows = self._rows, []
        if not rows:
            return
        keys, y = [row[0] for row in rows], [row[1] for row in rows]
        exog = None if rows[0][2] is None else np.array([row[2] for row in rows])
        trace = self._panel.step(keys, y, exog)
        found: Any = trace.predictive
        low, high = self._intervals(found.record, self._numbers(keys))
        numbers = zip(rows, trace.mean.tolist(), trace.sd.tolist(), low.tolist(), high.tolist(), strict=True)
        for (key, value, _, number), mean, sd, lower, upper in numbers:
            self._sink.add(self._line(key, value, mean, sd, lower, upper), number, key)

    def _line(self, key: str, y: float, mean: float, sd: float, lower: float, upper: float) -> str:
        seen = "null" if isnan(y) else repr(y)
        known = (
            f'"mean": null, "sd": null, "{self._lower}": null, "{self._upper}": null'
            if isnan(mean)
            else f'"mean": {mean!r}, "sd": {sd!r}, "{self._lower}": {lower!r}, "{self._upper}": {upper!r}'
        )
        return f'{self._start}{key}, "y": {seen}, {known}}}\n'

    def _numbers(self, keys: list[str]) -> Integers:
        """Return the number of each row's series, from 0; a new one gets the next."""
        number = self._number
        found = np.array([number.setdefault(key, len(number)) for key in keys])
        if len(number) > len(self._deviates):
            more = np.tile(NO_DEVIATES, (len(number), 1))
            self._deviates = np.concatenate([self._deviates, more])  # at least twice as many, so that it is seldom done
        return found

    def _intervals(self, records: Floats, which: Integers) -> Floats:
        """Return the bounds of every interval; a search begins where that of the series' row before has ended."""
        assert self._packing is not None
        packing, (low, high), deviates = self._packing, self._tails, self._deviates
        n_threads = 1 if len(which) <= SMALL else self._panel.n_threads
        parts = [np.flatnonzero(which % n_threads == each) for each in range(n_threads)]  # series of its own for each
        bounds = np.empty((2, len(which)))

        def work(part: Integers) -> None:
            bounds[:, part] = quantiles.intervals(records[part], packing, low, high, which[part], deviates)

        for _ in in_threads(work, parts, n_threads):
            pass
        return bounds


def can_answer(wanted: Wanted, template: Forecaster, is_plain: bool) -> bool:
    """Return whether a batch can answer such rows: others are answered one by one."""
    return is_plain and wanted.key is not None and template._spec.model.forecast_type is Mixture
