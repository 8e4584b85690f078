"""Bypass and AdaBypass at many features beside BLAS: what their covariances cost alone.

A Bayesian update of d weights needs at least a product of the covariance with x, and a rank-one update of it: BLAS's
`dspmv` and `dspr` on one packed triangle of d (d + 1) / 2 numbers. Bypass holds one such matrix, AdaBypass two.
"""

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.linalg import blas, cython_blas

from adabypass import AdaBypass, Bypass
from benchmarks.speed.peers import c_kalman
from benchmarks.speed.streams import Stream, drifting
from benchmarks.speed.timing import Task, timed

SIZES = (200, 1000)
ROWS = {200: 2000, 1000: 150}
MATRICES: dict[str, int] = {"Bypass": 1, "AdaBypass": 2}
ALPHA = 1e-9
"""Small, so that the matrix stays what it is for as many rows as one likes."""


def tasks(is_quick: bool) -> list[Task]:
    """Return the models' `run` and what it is compared with, at each size."""
    found = []
    for d in SIZES:
        stream = drifting(ROWS[d] // 2 if is_quick else ROWS[d], d)
        n = len(stream.y)
        for name, new in (("Bypass", Bypass), ("AdaBypass", AdaBypass)):
            found.append(timed(f"matrix/{name}.run/{d}", n, _run(new, stream)))
            k = MATRICES[name]
            found.append(timed(f"matrix/BLAS from C, {k} x (dspmv + dspr)/{d}", n, _blas_from_c(stream, k)))
            found.append(timed(f"matrix/BLAS from Python, {k} x (dspmv + dspr)/{d}", n, _blas_from_python(stream, k)))
    return found


def packed(d: int) -> Any:
    """Return the upper triangle of the identity, column by column as BLAS packs it."""
    triangle = np.zeros(d * (d + 1) // 2)
    triangle[np.arange(1, d + 1).cumsum() - 1] = 1.0
    return triangle


def _run(new: Callable[[], Any], stream: Stream) -> Callable[[], Callable[[], object]]:
    def prepare() -> Callable[[], object]:
        model = new()
        return lambda: model.run(stream.X, stream.y).mean

    return prepare


def _blas_from_python(stream: Stream, k: int) -> Callable[[], Callable[[], object]]:
    d, rows = stream.n_features, list(stream.X)

    def prepare() -> Callable[[], object]:
        triangles, out = [packed(d) for _ in range(k)], np.zeros(d)
        dspmv, dspr = blas.dspmv, blas.dspr

        def go() -> None:
            for x in rows:
                for triangle in triangles:
                    dspmv(d, 1.0, triangle, x, beta=0.0, y=out, overwrite_y=1)
                    dspr(d, ALPHA, x, triangle, overwrite_ap=1)

        return go

    return prepare


def _blas_from_c(stream: Stream, k: int) -> Callable[[], Callable[[], object]]:
    """Call the very functions that `scipy.linalg.blas` wraps, without Python between the calls."""
    X = np.ascontiguousarray(stream.X)

    def prepare() -> Callable[[], object]:
        library = c_kalman.compiled()
        triangles, out = np.concatenate([packed(stream.n_features)] * k), np.zeros(stream.n_features)
        dspmv, dspr = _address("dspmv"), _address("dspr")

        def go() -> None:
            library.blas_run(
                dspmv, dspr, len(X), stream.n_features, k, X.ctypes.data, triangles.ctypes.data, out.ctypes.data, ALPHA
            )

        return go

    return prepare


def _address(name: str) -> int:
    """Return the address of a function of SciPy's BLAS."""
    exported: Any = cython_blas.__pyx_capi__
    interface = ctypes.pythonapi
    interface.PyCapsule_GetName.restype, interface.PyCapsule_GetName.argtypes = ctypes.c_char_p, [ctypes.py_object]
    interface.PyCapsule_GetPointer.restype = ctypes.c_void_p
    interface.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
    address: int = interface.PyCapsule_GetPointer(exported[name], interface.PyCapsule_GetName(exported[name]))
    return address
