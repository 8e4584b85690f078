"""Rows of many series are answered together as each series would be alone, to the last digit."""

import json
from typing import Any

import numpy as np
import pytest

from adabypass import EvidenceBypass, Forecaster
from adabypass.cli import stream_batch
from adabypass.cli.stream_batch import Batch, can_answer
from adabypass.cli.stream_output import DEFAULT_FIELDS, Answerer, Wanted
from adabypass.model import quantiles
from adabypass.storage.stream import Series
from tests.cli.test_forecasting import run

WANTED = Wanted(DEFAULT_FIELDS, 0.8, (0.5,), 0.001, "shop", None)
Row = tuple[str, float, list[float] | None]


class Kept:
    """A sink that keeps what is added."""

    def __init__(self) -> None:
        self.answers: list[tuple[str, int]] = []

    def add(self, answer: Any, row: int, key: str) -> None:
        self.answers.append((answer, row))


def rows(n: int, n_exog: int, seed: int = 0) -> list[Row]:
    rng = np.random.default_rng(seed)
    keys = [json.dumps(each) for each in ("a", "b\n", 3, "3", "é")]
    made = []
    for i in range(n):
        exog = rng.normal(size=n_exog).tolist() if n_exog else None
        y = float("nan") if rng.random() < 0.1 else float(rng.normal(10.0, 2.0))
        made.append((keys[rng.integers(0, 5 if i > n // 2 else 3)], y, exog))
    return made


def one_by_one(given: list[Row], template: Forecaster, n_exog: int) -> list[str]:
    answerer, series = Answerer(WANTED, template, n_exog, None), dict[str, Series]()
    answers = []
    for key, y, exog in given:
        if key not in series:
            series[key] = answerer.series(key, template.copy(), None, None)
        answers.append(series[key].answer(y, exog, None))
    return answers


@pytest.mark.parametrize(("n_exog", "n_threads", "most"), [(0, 1, 4096), (0, 3, 200), (2, 2, 150)])
def test_answers_are_those_of_single_series(
    n_exog: int, n_threads: int, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stream_batch, "MOST_ROWS", most)
    template, given, sink = Forecaster(lags=2), rows(500, n_exog), Kept()
    batch = Batch(WANTED, template, sink, n_threads)  # type: ignore[arg-type]
    for number, (key, y, exog) in enumerate(given):
        batch.add(key, y, exog, number)
        if number in (0, 1, 7, 300):
            batch.answer()
    batch.answer()
    batch.answer()
    assert [answer for answer, _ in sink.answers] == one_by_one(given, template, n_exog)
    assert [number for _, number in sink.answers] == list(range(500))


def test_rows_before_a_bad_one_are_answered() -> None:
    done = run("stream", "--id", "k", given="k,y\na,1\nb,2\na,3\nb,x\na,4\n")
    assert done.returncode == 2
    assert [json.loads(line)["y"] for line in done.stdout.splitlines()] == [1.0, 2.0, 3.0]
    assert '"x"' in done.stderr


def test_what_is_not_the_usual_answer_is_answered_one_by_one() -> None:
    template = Forecaster(lags=1)
    assert can_answer(WANTED, template, True)
    assert not can_answer(WANTED, template, False)
    assert not can_answer(WANTED._replace(key=None), template, True)
    assert not can_answer(WANTED, Forecaster(EvidenceBypass(), lags=1), True)


def test_a_search_without_a_beginning_is_refused() -> None:
    packing = Forecaster(lags=1)._spec.model.packing
    assert packing is not None
    records, deviates = np.full((2, packing.size), np.nan), np.zeros((2, 2))
    assert np.isnan(quantiles.intervals(records, packing, 0.1, 0.9, np.array([0, 1]), deviates)).all()
    for which in ([0], [0, 2], [-1, 0]):
        with pytest.raises((ValueError, IndexError), match="deviates"):
            quantiles.intervals(records, packing, 0.1, 0.9, np.array(which), deviates)
    with pytest.raises(ValueError, match="numbers"):
        quantiles.intervals(records[:, 1:].copy(), packing, 0.1, 0.9, np.array([0, 1]), deviates)
