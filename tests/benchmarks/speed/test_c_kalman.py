"""The bare C filter and the loop over BLAS compute what they should, in place."""

import shutil

import numpy as np
import pytest
from benchmarks.speed.peers import c_kalman
from benchmarks.speed.peers.settings import DRIFT_VAR, NOISE_VAR, START_VAR
from benchmarks.speed.streams import Stream, drifting

from adabypass.validation import Floats
from benchmarks.speed import matrices

pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")
ROUNDING = 1e-9
"""A few hundred steps in double precision."""


def textbook(stream: Stream) -> Floats:
    d = stream.n_features
    m, P = np.zeros(d), START_VAR / d * np.eye(d)
    forecasts = []
    for x, y in zip(*stream, strict=True):
        P = P + DRIFT_VAR / d * np.eye(d)
        forecasts.append(x @ m)
        gain = P @ x / (x @ P @ x + NOISE_VAR)
        m = m + gain * (y - forecasts[-1])
        P = P - np.outer(gain, x @ P)
    return np.array(forecasts)


@pytest.mark.parametrize("n_features", [1, 3, 20])
def test_both_ways_to_call_it_equal_the_textbook(n_features: int) -> None:
    stream = drifting(200, n_features)
    for prepare in (c_kalman.row_by_row, c_kalman.in_bulk):
        np.testing.assert_allclose(prepare(stream)()(), textbook(stream), rtol=ROUNDING, atol=ROUNDING)


def test_blas_updates_the_packed_triangles_in_place(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both loops add alpha x x' for every row: a copy made on the way would leave the triangle as it was."""
    made: list[Floats] = []
    packed = matrices.packed

    def spy(d: int) -> Floats:
        made.append(packed(d))
        return made[-1]

    monkeypatch.setattr(matrices, "packed", spy)
    monkeypatch.setattr(matrices, "ALPHA", 0.5)
    stream = drifting(30, 4)
    matrices._blas_from_python(stream, 2)()()
    full = np.eye(4) + 0.5 * stream.X.T @ stream.X
    columns = np.concatenate([full[: j + 1, j] for j in range(4)])
    for triangle in made:
        np.testing.assert_allclose(triangle, columns, rtol=ROUNDING, atol=ROUNDING)
    assert len(made) == 2


def test_blas_from_c_calls_scipy_s_functions() -> None:
    d, X = 3, np.ascontiguousarray(drifting(10, 3).X)
    triangles, out = np.concatenate([matrices.packed(d)] * 2), np.zeros(d)
    c_kalman.compiled().blas_run(
        matrices._address("dspmv"), matrices._address("dspr"), len(X), d, 2, X.ctypes.data, triangles.ctypes.data,
        out.ctypes.data, 0.5,
    )  # fmt: skip
    before, full = np.eye(d) + 0.5 * X[:-1].T @ X[:-1], np.eye(d) + 0.5 * X.T @ X
    columns = np.concatenate([full[: j + 1, j] for j in range(d)])
    np.testing.assert_allclose(triangles, np.concatenate([columns, columns]), rtol=ROUNDING, atol=ROUNDING)
    np.testing.assert_allclose(out, before @ X[-1], rtol=ROUNDING, atol=ROUNDING)
