"""Structures and regressions, pooled one step ahead: equations (214)-(217)."""

import numpy as np

from adabypass.reference import structure
from adabypass.state import structures as design
from adabypass.validation import Floats


def log_mixture(share: Floats, scores: Floats) -> float:
    """Return the log density of a mixture, from those of its members: nan where a member has no density."""
    present = (share > 0.0) & ~np.isnan(scores)
    return float(np.logaddexp.reduce(np.log(share[present]) + scores[present]))  # (214), (217)


def weigh(evidence: Floats, scores: Floats) -> Floats:
    """Add log scores to the evidence of the structures together, and of each regression.

    Parameters
    ----------
    scores
        nan of a regression that has no share yet; nan of the structures, which come first, where nothing counts.
    """
    return evidence if np.isnan(scores[0]) else structure.weigh(evidence, scores, design.POOL_DISCOUNT)  # (215)


def shares(evidence: Floats, has_share: Floats) -> Floats:
    """Return mixture weights of those that have a share; the structures always have one."""
    weight = np.where(has_share, np.exp(evidence - evidence.max()), 0.0)
    return np.asarray(weight / weight.sum())  # (216)
