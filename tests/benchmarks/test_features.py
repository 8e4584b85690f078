"""The benchmark of covariances, on streams that take no time."""

import numpy as np
from benchmarks.features import __main__ as features
from benchmarks.features.streams import designs, sparse_stream


def test_every_form_is_scored_and_timed() -> None:
    assert features.accuracy(12, 60).row_count == 4 * len(designs(12, 60))
    assert features.speed(200, 5, 30, 1).row_count == 4


def test_sparse_rows_have_as_many_features_as_they_say() -> None:
    X, y = sparse_stream(100, 7, 20)
    assert (np.diff(X.indptr) == 7).all()
    assert len(y) == 20
