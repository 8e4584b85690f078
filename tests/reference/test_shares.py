"""Evidence and shares, one step ahead and at horizons, against what is known of mixtures."""

import numpy as np
import pytest

from adabypass.reference import shares
from adabypass.state import structures as design

ROUNDING = 1e-10  # some hundred double-precision operations


def test_scores_add_up_to_the_log_of_the_mean_likelihood(monkeypatch: pytest.MonkeyPatch) -> None:
    """With all of the evidence, a mixture is the Bayesian one: its likelihood is the mean of its members'."""
    monkeypatch.setattr(design, "POOL_DISCOUNT", 1.0)
    monkeypatch.setattr(design, "EVIDENCE_POWER", 1.0)
    scores = np.random.default_rng(0).normal(size=(40, 3))
    evidence, total = np.zeros(3), 0.0
    for each in scores:
        total += shares.log_mixture(shares.shares(evidence, np.ones(3, dtype=bool)), each)
        evidence = shares.add_pool_scores(evidence, each)
    expected = np.logaddexp.reduce(scores.sum(axis=0)) - np.log(3)
    assert abs(total - expected) < ROUNDING


def test_what_does_not_count_changes_nothing() -> None:
    evidence = np.array([0.0, -1.0, -2.0])
    assert shares.add_pool_scores(evidence, np.array([np.nan, 1.0, 2.0])) is evidence


def test_one_without_a_share_keeps_its_place_beside_the_mixture() -> None:
    evidence, awake = np.zeros(3), np.array([True, True, False])
    share = shares.shares(evidence, awake)
    np.testing.assert_allclose(share, [0.5, 0.5, 0.0])
    scores = np.array([-1.0, -3.0, np.nan])
    mixed = shares.log_mixture(share, scores)
    after = shares.add_pool_scores(evidence, scores)
    np.testing.assert_allclose(after[0] - after[2], design.EVIDENCE_POWER * (scores[0] - mixed))


def test_a_score_of_the_mixture_leaves_shares_of_those_asleep_where_they_were() -> None:
    evidence = np.array([0.0, -1.0, -2.0])
    found = shares.add_log_scores(evidence, np.array([np.nan, -1.0, -1.0]), 0.9, 0.5)
    np.testing.assert_allclose(np.diff(found), 0.9 * np.diff(evidence), rtol=1e-12)


def test_shares_follow_the_evidence() -> None:
    assert shares.shares(np.array([0.0, np.log(0.5)])) == pytest.approx([2 / 3, 1 / 3])


def test_a_horizon_that_was_never_judged_is_as_the_one_before() -> None:
    one_step = np.array([0.0, -3.0])
    table = shares.evidence_table([shares.new_horizon(2)] * 5, one_step)
    assert (table == one_step).all()


def test_steps_between_horizons_lie_between_them() -> None:
    table, horizons = np.arange(6.0)[:, None], (2, 4, 8, 16, 32)
    assert shares.at_step(table, horizons, 1)[0] == 0.0
    assert shares.at_step(table, horizons, 32)[0] == shares.at_step(table, horizons, 1000)[0] == 5.0
    assert shares.at_step(table, horizons, 3)[0] == pytest.approx(np.log2(3))
