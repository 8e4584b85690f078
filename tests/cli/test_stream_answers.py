"""Rows of many series are answered together as each series would be alone, to the last digit."""

import json
from typing import Any

import numpy as np
import pytest

from adabypass import AdaBypass, Bypass, EvidenceBypass, Forecaster, PassiveAggressive, SequentialKalman
from adabypass.distributions import evaluate
from adabypass.streaming import cache
from adabypass.streaming.answers import DEFAULT_FIELDS, FIELDS, AnswerFormat, encode_json
from adabypass.streaming.cache import SeriesCache
from adabypass.streaming.forgetting import Forgetting
from adabypass.streaming.learner import Learner
from adabypass.streaming.rows import Row
from tests.cli.in_process import run, stream
from tests.cli.one_by_one import OneByOne
from tests.engines import lag_engine

USUAL = AnswerFormat(DEFAULT_FIELDS, 0.8, (0.5,), 0.001, "shop", None)
EVERY = AnswerFormat(FIELDS, 0.9, (0.05, 0.5, 0.9), 0.2, '100 %s of "shops"', "day")
TABLED = AnswerFormat(FIELDS[:-1], 0.9, (0.25, 0.75), 0.1, None, "day")
Given = tuple[str, str, float, list[float] | None]


def rows(n: int, n_exog: int, seed: int = 0) -> list[Given]:
    """Return rows of five series, the last two of which come later, with a change of regime on the way."""
    rng = np.random.default_rng(seed)
    keys = [json.dumps(each) for each in ("a", "b\n", 3, "3", "é")]
    made: list[Given] = []
    for i in range(n):
        exog = rng.normal(size=n_exog).tolist() if n_exog else None
        y = float("nan") if rng.random() < 0.1 else float(rng.normal(10.0, 2.0 if i < 0.8 * n else 50.0))
        time = json.dumps(i if i % 2 else f"2024-01-01T00:{i % 60:02d}é")
        made.append((keys[rng.integers(0, 5 if i > n // 2 else 3)], time, y, exog))
    return made


def together(
    given: list[Given], wanted: AnswerFormat, template: Forecaster, n_exog: int, n_threads: int, most: int
) -> Any:
    """Answer rows in batches of several sizes; return the answers, and all that was learned."""
    forgetting = Forgetting(None, None, has_time=wanted.time is not None)
    learner = Learner(
        template, n_exog, wanted, encode_json(wanted), forgetting, max_bytes=1 << 28, n_threads=n_threads
    )  # fmt: skip
    answers, begin = list[str](), 0
    for stop in sorted({*(each for each in (1, 2, 8, 301) if each < len(given)), *range(0, len(given), most)}):
        answers += learner.learn([Row(number, *row) for number, row in enumerate(given[begin:stop], begin)])
        begin = stop
    answers += learner.learn([Row(number, *row) for number, row in enumerate(given[begin:], begin)])
    series = learner.series
    return answers, {
        key: series.row(each.slot).tobytes() + series.starts[each.slot].tobytes() for key, each in series.items()
    }


def alone(given: list[Given], wanted: AnswerFormat, template: Forecaster, n_exog: int) -> Any:
    judge = OneByOne(wanted, template, n_exog)
    answers = [judge.line(key, y, exog, json.loads(time)) for key, time, y, exog in given]
    return answers, judge.bits()


@pytest.mark.parametrize("wanted", [USUAL, EVERY], ids=["usual", "every field"])
@pytest.mark.parametrize(("n_exog", "n_threads", "most"), [(0, 1, 4096), (0, 3, 450), (2, 2, 400)])
def test_answers_are_those_of_single_series(wanted: AnswerFormat, n_exog: int, n_threads: int, most: int) -> None:
    template, given = Forecaster(lags=2, exog=[f"x{i}" for i in range(n_exog)] or None), rows(1200, n_exog)
    found = together(given, wanted, template, n_exog, n_threads, most)
    assert found == alone(given, wanted, template, n_exog)
    if wanted is EVERY:
        changes = {json.loads(line)["change"] for line in found[0]}
        assert "noise" in changes, "the example has a change of regime, which must be seen"


MODELS = [Bypass(), AdaBypass(), EvidenceBypass(), SequentialKalman()]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_every_model_answers_as_a_single_series(model: Any) -> None:
    template, given = Forecaster(model, lags=1), [("", *row[1:]) for row in rows(400, 0)]
    assert together(given, TABLED, template, 0, 2, 300) == alone(given, TABLED, template, 0)


def test_points_are_answered_as_those_of_a_single_series() -> None:
    template, given = Forecaster(PassiveAggressive(), lags=1), rows(400, 0)
    wanted = USUAL._replace(fields=("mean",))
    assert together(given, wanted, template, 0, 2, 300) == alone(given, wanted, template, 0)


@pytest.mark.parametrize("most", [3, 4096])
@pytest.mark.parametrize(
    "options",
    [
        ["--format", "csv", "--fields", "mean,quantiles,anomaly,change", "--time", "t", "--model", "lag"],
        ["--fields", "mean,sd,interval,log_score,surprise", "--model", "lag"],
        ["--exog", "t", "--model", "ada"],
        ["--fields", "mean,sd,interval,quantiles,log_score", "--exog", "t"],
    ],
    ids=["csv", "json", "exog", "automatic"],
)
def test_how_many_rows_come_together_changes_nothing(
    options: list[str], most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = ["t,k,y", *(f"{i},s{i * i % 7},{(i * 37) % 11 + 0.25 if i % 9 else ''}" for i in range(200))]
    whole = stream("--id", "k", *options, given="\n".join(lines) + "\n")
    monkeypatch.setattr(cache, "MAX_ROWS", most)
    again = stream("--id", "k", *options, given="\n".join(lines) + "\n")
    assert (whole.code, whole.error) == (0, None)
    assert again == whole
    assert whole.out.count("\n") == 200 + ("csv" in options)


def test_rows_before_a_bad_one_are_answered() -> None:
    done = run("stream", "--id", "k", given="k,y\na,1\nb,2\na,3\nb,x\na,4\n")
    assert '"x" is not a number' in str(done.error)
    assert [json.loads(line)["y"] for line in done.out.splitlines()] == [1.0, 2.0, 3.0]


def test_a_late_row_is_found_among_rows_that_came_together() -> None:
    given = "t,k,y\n1,a,1\n1,b,2\n2,a,3\n2,a,4\n3,b,5\n"
    failed = stream("--id", "k", "--time", "t", given=given)
    assert 'row 4, column "t": "2" is not later than "2", the time of the row before it' in str(failed.error)
    assert [json.loads(line)["y"] for line in failed.out.splitlines()] == [1.0, 2.0, 3.0]
    skipped = stream("--id", "k", "--time", "t", "--on-bad-row", "skip", given=given)
    assert [json.loads(line)["y"] for line in skipped.out.splitlines()] == [1.0, 2.0, 3.0, 5.0]


def test_a_search_without_a_beginning_is_refused() -> None:
    layout = lag_engine(Forecaster(lags=1)).spec.model.record_layout
    assert layout is not None
    records, interval_starts, bounds = np.full((2, layout.size), np.nan), np.zeros((2, 2)), np.zeros((2, 2))
    both = np.array([0, 1])
    evaluate.intervals(records, layout, 0.1, 0.9, both, both, interval_starts, bounds)
    assert np.isnan(bounds).all()
    for which in ([0], [0, 2], [-1, 0]):
        with pytest.raises((ValueError, IndexError), match="which"):
            evaluate.intervals(records, layout, 0.1, 0.9, both, np.array(which), interval_starts, bounds)
    with pytest.raises(ValueError, match="bounds"):
        evaluate.intervals(records, layout, 0.1, 0.9, both, both, interval_starts, bounds[:1])
    for chosen in ([2], [-1]):
        with pytest.raises(IndexError, match="chosen contains"):
            evaluate.intervals(records, layout, 0.1, 0.9, np.array(chosen), both, interval_starts, bounds)
    with pytest.raises(ValueError, match="numbers"):
        evaluate.intervals(records[:, 1:].copy(), layout, 0.1, 0.9, both, both, interval_starts, bounds)


def test_rows_of_many_numbers_are_learned_few_at_a_time() -> None:
    names = [f"x{i}" for i in range(10_000)]
    for template, n_exog, most in ((Forecaster(lags=1), 0, 4096), (Forecaster(exog=names, lags=1), 10_000, 104)):
        assert SeriesCache(template, n_exog, false_alarms=None, max_bytes=1 << 28).max_rows == most
