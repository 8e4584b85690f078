"""Every series of a frame is scored as it is by itself, whatever the number of threads."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from adabypass import Forecaster, Naive, SequentialKalman, evaluate, evaluate_frame
from adabypass.errors import NotEnoughDataError, SeriesWarning

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
    one, three = (evaluate_frame(frame, make(), horizon=horizon, every=5, n_threads=n) for n in (1, 3))
    pd.testing.assert_frame_equal(one, three, check_exact=True)
    single = evaluate(frame["y"].to_numpy()[60:120], make(), horizon=horizon, every=5)
    pd.testing.assert_frame_equal(
        one[one["unique_id"] == "s1"].drop(columns="unique_id").reset_index(drop=True), single.to_frame(),
        check_exact=True,
    )  # fmt: skip


def test_a_short_series_is_left_out_with_a_warning() -> None:
    frame = pd.concat([long_frame(2), pd.DataFrame({"unique_id": ["short"], "y": [1.0]})])
    with pytest.warns(SeriesWarning, match='series "short"'):
        found = evaluate_frame(frame, Forecaster(SequentialKalman(), lags=1))
    assert found["unique_id"].tolist() == ["s0", "s1"]
    with pytest.raises(NotEnoughDataError, match="short"):
        evaluate_frame(frame, Forecaster(SequentialKalman(), lags=1), on_error="raise")


def test_it_answers_in_kind() -> None:
    found = evaluate_frame(pl.from_pandas(long_frame(2)), Naive())
    assert isinstance(found, pl.DataFrame)
    assert found.columns[:3] == ["unique_id", "step", "n_origins"]
