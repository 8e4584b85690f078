"""Streams with many features, whose weights drift slowly."""

import numpy as np
from scipy import sparse

from adabypass.validation import Floats

DRIFT_VAR = 1e-5


def designs(n_features: int, n_rows: int, seed: int = 0) -> dict[str, Floats]:
    """Return features of several kinds, each (n_rows, n_features), of which x'x is about `n_features`."""
    rng = np.random.default_rng(seed)
    independent = rng.normal(size=(n_rows, n_features))
    factors = rng.normal(size=(n_rows, 5)) @ rng.normal(size=(5, n_features)) / 5**0.5
    chain = rng.normal(size=(n_rows, n_features))
    for i in range(1, n_features):
        chain[:, i] = 0.9 * chain[:, i - 1] + np.sqrt(1 - 0.9**2) * chain[:, i]
    words = (rng.random((n_rows, n_features)) < np.minimum(1, 10 / np.arange(1, n_features + 1))).astype(float)
    words[:, 0] = 1.0
    return {
        "independent": independent,
        "five factors and noise": 0.9 * factors + 0.4 * rng.normal(size=(n_rows, n_features)),
        "neighbours correlated 0.9": chain,
        "words, few of them frequent": words * np.sqrt(n_features / words.sum(axis=1).mean()),
    }


def with_targets(X: Floats, seed: int = 1) -> Floats:
    """Return observations of variance about 10, of which noise is 1; the weights drift."""
    rng = np.random.default_rng(seed)
    n_rows, n_features = X.shape
    walk = np.sqrt(DRIFT_VAR) * rng.normal(size=(n_rows, n_features)).cumsum(axis=0)
    weights = 3.0 * rng.normal(size=n_features) / np.sqrt(n_features) + walk
    y: Floats = (X * weights).sum(axis=1) + rng.normal(size=n_rows)
    return y


def sparse_stream(n_features: int, n_given: int, n_rows: int, seed: int = 0) -> tuple[sparse.csr_array, Floats]:
    """Return rows of which `n_given` features are not 0, and their observations."""
    rng = np.random.default_rng(seed)
    indices = np.sort(np.stack([rng.choice(n_features, n_given, replace=False) for _ in range(n_rows)]), axis=1)
    begin = np.arange(0, n_rows * n_given + 1, n_given)
    X = sparse.csr_array((rng.normal(size=n_rows * n_given), indices.ravel(), begin), shape=(n_rows, n_features))
    return X, X @ rng.normal(size=n_features) / n_given**0.5 + rng.normal(size=n_rows)
