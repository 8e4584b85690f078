"""Evidence many steps ahead against sums written out in full."""

import numpy as np
import pytest
from scipy.stats import t

from adabypass.reference import structure_horizons as reference
from adabypass.reference.shares import Horizon, new_horizon
from adabypass.state import structures as design


def judged(errors: np.ndarray) -> Horizon:
    """Judge forecasts 0 of unit variance, of two structures whose errors are the columns."""
    horizon = new_horizon(2)
    pending = reference.Pending(np.zeros(2), np.ones(2))
    for error in errors:
        horizon = reference.judge(horizon, pending, np.ones(2), np.full(2, 30.0), error, np.zeros(2))
    return horizon


def test_the_scale_is_the_discounted_mean_of_squares_and_of_that_of_one_step() -> None:
    errors = np.random.default_rng(1).uniform(-1.5, 1.5, size=(25, 2))  # none is so large that it is cut
    horizon = judged(errors)
    weights = design.SCALE_DISCOUNT ** np.arange(24, -1, -1)
    prior = design.HORIZON_PRIOR_DOF
    expected = (weights @ errors**2 + prior * 4.0) / (weights.sum() + prior)
    scale_var, dof = reference.scale(horizon, np.full(2, 4.0), np.full(2, 30.0))
    np.testing.assert_allclose(scale_var, expected, rtol=1e-12)
    np.testing.assert_allclose(dof, weights.sum() + prior, rtol=1e-12)


def test_evidence_is_the_discounted_sum_of_log_densities() -> None:
    errors = np.random.default_rng(2).normal(size=(2, 2))
    horizon, total = new_horizon(2), np.zeros(2)
    pending = reference.Pending(np.zeros(2), np.full(2, 2.0))
    for error in errors:
        scale_var, dof = reference.scale(horizon, np.ones(2), np.full(2, 30.0))
        score = t.logpdf(error, dof, scale=np.sqrt(2.0 * scale_var))
        total = design.EVIDENCE_DISCOUNT * total + design.EVIDENCE_POWER * score
        horizon = reference.judge(horizon, pending, np.ones(2), np.full(2, 30.0), error, np.zeros(2))
    assert horizon.evidence[0] - horizon.evidence[1] == pytest.approx(total[0] - total[1], rel=1e-10)
