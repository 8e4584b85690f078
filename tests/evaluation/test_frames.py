"""Every series of a frame is scored as it is by itself, whatever the number of threads."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from pytest import approx

from adabypass import Baseline, Drift, Forecaster, Naive, SequentialKalman, compare, evaluate
from adabypass.errors import NotEnoughDataError, NotReadyError, ParameterError, SeriesWarning

FORECASTERS: dict[str, Callable[[], Any]] = {
    "lags": lambda: Forecaster(SequentialKalman(), lags=1),
    "automatic": Forecaster,
    "baseline": Naive,
}


def long_frame(n_series: int = 6, n: int = 60) -> pd.DataFrame:
    y = np.random.default_rng(0).normal(size=(n_series, n)).cumsum(axis=1)
    return pd.DataFrame({"unique_id": np.repeat([f"s{i}" for i in range(n_series)], n), "y": y.reshape(-1)})


@pytest.mark.parametrize("make", FORECASTERS.values(), ids=FORECASTERS)
@pytest.mark.parametrize("horizon", [1, 3])
def test_each_series_is_scored_as_by_itself(make: Callable[[], Any], horizon: int) -> None:
    frame = long_frame()
    one, three = (evaluate(frame, make(), horizon=horizon, every=5, n_threads=n).to_frame() for n in (1, 3))
    pd.testing.assert_frame_equal(one, three, check_exact=True)
    single = evaluate(frame["y"].to_numpy()[60:120], make(), horizon=horizon, every=5)
    pd.testing.assert_frame_equal(
        one[one["unique_id"] == "s1"].drop(columns="unique_id").reset_index(drop=True), single.to_frame(),
        check_exact=True,
    )  # fmt: skip


def test_scores_over_all_series_are_those_of_all_forecasts() -> None:
    frame = long_frame()
    frame.loc[frame["unique_id"] == "s2", "y"] *= 100  # its errors weigh more in every mean
    frame = frame.drop(index=range(20))  # and s0 is shorter
    found = evaluate(frame, Naive(), horizon=2, skip=25)
    alone = [evaluate(part["y"].to_numpy(), Naive(), horizon=2, skip=25) for _, part in frame.groupby("unique_id")]
    losses = {name: np.concatenate([each.losses(2, name) for each in alone]) for name in ("squared", "crps", "log")}
    scores = found.scores(2)
    assert scores["n"] == found.n_scored(2) == len(losses["crps"]) == 5 * 34 + 14
    assert scores["rmse"] == approx(np.sqrt(losses["squared"].mean()))
    assert scores["crps"] == approx(losses["crps"].mean())
    assert scores["log_likelihood"] == approx(-losses["log"].sum())
    bounds = [each.trace(2).predictive.interval(0.9) for each in alone]
    inside = [
        ((low <= each.trace(2).y) & (each.trace(2).y <= high))[each.n_skipped :]
        for each, (low, high) in zip(alone, bounds, strict=True)
    ]
    assert scores["coverage_90"] == approx(np.concatenate(inside).mean())
    assert found.counts(2).startswith("184 of 310 forecasts of 6 series scored; 126 skipped (made from fewer than 25")


def test_many_series_are_compared_each_by_itself_and_over_all() -> None:
    frame = long_frame(9)
    models: dict[str, Forecaster | Baseline] = {"lag": Forecaster(SequentialKalman(), lags=1), "drift": Drift()}
    found = compare(frame, models, loss="crps", n_threads=2)
    alone = [compare(part["y"].to_numpy(), models, loss="crps") for _, part in frame.groupby("unique_id")]
    assert [each.lines for each in alone] == list(found.series.values())
    table = found.to_frame("polars")
    assert table["unique_id"].to_list() == [f"s{i}" for i in range(9) for _ in models]
    assert table["crps"].to_list() == [line.scores["crps"] for each in alone for line in each.lines]
    first, second = found.lines
    assert first.scores["crps"] == approx(np.mean([each.lines[0].scores["crps"] for each in alone]))
    assert second.difference is not None
    differences = [line.difference for each in alone for line in each.lines[1:]]
    assert second.difference.mean == approx(np.mean([each.mean for each in differences if each is not None]))
    assert second.difference.n == 9, "one mean for each series"
    assert found.counts() in repr(found)


def test_models_that_some_series_lack_are_not_scored_over_all() -> None:
    days = pd.date_range("2024-01-01", periods=60, freq="D")
    y = np.random.default_rng(0).normal(size=60)
    frame = pd.concat([
        pd.DataFrame({"unique_id": "long", "ds": days, "y": y}),
        pd.DataFrame({"unique_id": "short", "ds": days[:25], "y": y[:25]}),
    ])  # fmt: skip
    found = compare(frame, [SequentialKalman()], skip=10)
    assert [line.name for line in found.series["long"]] == ["SequentialKalman", "Naive", "Drift", "SeasonalNaive"]
    assert [line.name for line in found.lines] == ["SequentialKalman", "Naive", "Drift"]


def test_progress_reaches_all_observations() -> None:
    frame = long_frame()
    done: list[int] = []
    evaluate(frame, Naive(), horizon=2, n_threads=2, progress=done.append)
    assert sum(done) == len(frame)
    done.clear()
    compare(frame, [Naive(), Drift()], n_threads=2, progress=done.append)
    assert sum(done) == 2 * 2 * len(frame), "of each forecaster twice: forecast, and scored"


def test_missing_exogenous_values_are_filled_where_that_is_said() -> None:
    frame = long_frame(2).assign(x=np.arange(120.0))
    frame.loc[70, "x"] = np.nan
    with pytest.warns(
        SeriesWarning, match=r'series "s1": row 71, column "x": is blank; fill it, or choose missing="me'
    ):
        evaluate(frame, SequentialKalman(), exog="x")
    assert evaluate(frame, SequentialKalman(), exog="x", missing="last").names == ["s0", "s1"]
    assert evaluate(frame, Forecaster(lags=1), exog="x", missing="last").names == ["s0", "s1"]


def test_a_short_series_is_left_out_with_a_warning() -> None:
    frame = pd.concat([long_frame(2), pd.DataFrame({"unique_id": ["short"], "y": [1.0]})])
    with pytest.warns(SeriesWarning, match='series "short"'):
        assert evaluate(frame, Naive()).names == ["s0", "s1"]
    with pytest.warns(SeriesWarning, match='series "short"'):
        assert list(compare(frame, [Naive()]).series) == ["s0", "s1"]
    with pytest.raises(NotEnoughDataError, match="short"):
        evaluate(frame, Naive(), on_error="raise")
    with pytest.raises(NotEnoughDataError, match="short"):
        compare(frame, [Naive()], on_error="raise")


def test_too_few_scored_forecasts_are_a_warning() -> None:
    y = np.random.default_rng(0).normal(size=27)
    with pytest.warns(SeriesWarning, match=r"^only 7 forecasts are scored, fewer than 8: .* or a smaller skip"):
        evaluate(y, Naive())
    with pytest.warns(SeriesWarning, match=r"^only 7 forecasts are scored"):
        compare(y, [Naive()])
    assert evaluate(y, Naive(), skip=19).n_scored() == 8, "without a warning"
    with pytest.raises(NotEnoughDataError, match=r"the first 27 observations are skipped, but .* is made from 26"):
        evaluate(y, Naive(), skip=27)


def test_skip_counts_observations_whatever_the_distance_of_forecasts() -> None:
    y = np.random.default_rng(0).normal(size=200)
    for every in (1, 7):
        for lags in (1, 12):
            found = evaluate(y, Forecaster(SequentialKalman(), lags=lags), every=every, horizon=2, skip=50)
            assert found.origins[found.n_skipped] == min(n for n in range(0, 200, every) if n >= 50)


def test_forecasts_of_many_series_are_not_kept() -> None:
    found = evaluate(long_frame(2), Naive())
    with pytest.raises(NotReadyError, match=r"there are 2 series, of which only scores are kept; evaluate the rows of"):
        found.trace()


def test_an_id_named_as_a_score_is_refused() -> None:
    with pytest.raises(ParameterError, match='the column of ids is named "model", as a column of the scores is'):
        compare({"model": ["a"] * 30, "y": np.arange(30.0)}, [Naive()], id="model")
