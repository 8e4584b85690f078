"""The pool of structures and regressions against what is known of mixtures."""

import numpy as np
import pytest

from adabypass.reference import pool
from adabypass.state import structures as design

ROUNDING = 1e-10  # some hundred double-precision operations


def test_scores_add_up_to_the_log_of_the_mean_likelihood(monkeypatch: pytest.MonkeyPatch) -> None:
    """With all of the evidence, a mixture is the Bayesian one: its likelihood is the mean of its members'."""
    monkeypatch.setattr(design, "POOL_DISCOUNT", 1.0)
    monkeypatch.setattr(design, "EVIDENCE_POWER", 1.0)
    scores = np.random.default_rng(0).normal(size=(40, 3))
    evidence, total = np.zeros(3), 0.0
    for each in scores:
        total += pool.log_mixture(pool.shares(evidence, np.ones(3)), each)
        evidence = pool.weigh(evidence, each)
    expected = np.logaddexp.reduce(scores.sum(axis=0)) - np.log(3)
    assert abs(total - expected) < ROUNDING


def test_what_does_not_count_changes_nothing() -> None:
    evidence = np.array([0.0, -1.0, -2.0])
    assert pool.weigh(evidence, np.array([np.nan, 1.0, 2.0])) is evidence


def test_one_without_a_share_keeps_its_place_beside_the_mixture() -> None:
    evidence, awake = np.zeros(3), np.array([True, True, False])
    share = pool.shares(evidence, awake)
    np.testing.assert_allclose(share, [0.5, 0.5, 0.0])
    scores = np.array([-1.0, -3.0, np.nan])
    mixed = pool.log_mixture(share, scores)
    after = pool.weigh(evidence, scores)
    np.testing.assert_allclose(after[0] - after[2], design.EVIDENCE_POWER * (scores[0] - mixed))
