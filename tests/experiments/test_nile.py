"""The Nile study gives the paper's figures."""

import numpy as np
import pytest
from pytest import approx

from adabypass.experiments import nile

study = nile.run()


def result(model: str, how: str) -> nile.Result:
    return next(r for r in study.results if (r.model, r.how) == (model, how))


@pytest.mark.parametrize(
    ("model", "how", "rmse", "mad", "mae"),
    [
        ("ADA-BYPASS", "2 sweeps a step", 0.720, 0.423, 0.540),
        ("BYPASS", "2 sweeps a step", 0.720, 0.423, 0.540),
        ("ADA-BYPASS", "to convergence", 0.726, 0.429, 0.544),
        ("BYPASS", "to convergence", 0.726, 0.429, 0.544),
        ("SKF", "noise variance 1", 0.883, 0.461, 0.627),
    ],
)
def test_errors_are_those_known_of_a_correct_implementation(
    model: str, how: str, rmse: float, mad: float, mae: float
) -> None:
    got = result(model, how)
    assert (got.rmse, got.mad, got.mae) == approx((rmse, mad, mae), abs=1e-3)


def test_two_sweeps_round_to_the_paper_s_figures() -> None:
    ours, paper = result("ADA-BYPASS", "2 sweeps a step"), result("ADA-BYPASS", "paper")
    assert tuple(round(v, 2) for v in ours[2:5]) == paper[2:5]


def test_every_model_forecasts_the_same_662_years() -> None:
    traces = [r.trace for r in study.results if r.trace is not None]
    assert {len(trace) for trace in traces} == {662}
    assert all(np.array_equal(trace.y, traces[0].y) for trace in traces)


def test_the_remark_states_the_log_likelihood_without_the_first_forecast() -> None:
    assert "ADA-BYPASS comes to -817.0" in study.remark
