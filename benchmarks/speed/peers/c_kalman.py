"""A bare Kalman filter in C, compiled for this machine when the benchmark starts and called through ctypes."""

import ctypes
import os
import shutil
import subprocess
import sysconfig
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np

from adabypass.validation import Floats
from benchmarks.speed.contestants import Contestant, Mode
from benchmarks.speed.peers.settings import DRIFT_VAR, NOISE_VAR, START_VAR
from benchmarks.speed.streams import Stream
from benchmarks.speed.timing import NotAvailable

SOURCE = Path(__file__).with_name("kalman.c")
FLAGS = ("-O3", "-march=native", "-shared", "-fPIC")
Pointer = ctypes.c_void_p
Size, Double = ctypes.c_ssize_t, ctypes.c_double


@cache
def compiled() -> ctypes.CDLL:
    """Compile kalman.c and load it."""
    compiler = shutil.which(os.environ.get("CC", "cc"))
    if compiler is None:
        raise NotAvailable("no C compiler")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"kalman{sysconfig.get_config_var('SHLIB_SUFFIX') or '.so'}"
        done = subprocess.run([compiler, *FLAGS, "-o", path, SOURCE], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise NotAvailable(f"{compiler} failed: {done.stderr.strip().splitlines()[-1]}")
        library = ctypes.CDLL(str(path))
    library.kalman_predict.argtypes = [Size, Pointer, Pointer, Pointer, Pointer, Double, Double, Pointer]
    library.kalman_predict.restype = Double
    library.kalman_update.argtypes = [Size, Pointer, Pointer, Pointer, Double, Double, Double]
    library.kalman_update.restype = None
    library.kalman_run.argtypes = [Size, Size, *[Pointer] * 5, Double, Double, Pointer]
    library.kalman_run.restype = None
    library.blas_run.argtypes = [Pointer, Pointer, Size, ctypes.c_int, ctypes.c_int, *[Pointer] * 3, Double]
    library.blas_run.restype = None
    return library


class State:
    """The memory of a filter, and its addresses, which are good as long as this object lives."""

    def __init__(self, d: int) -> None:
        self.mean, self.cov, self.scratch = np.zeros(d), START_VAR / d * np.eye(d), np.zeros(d)
        self.var = Double()
        self.addresses = [part.ctypes.data for part in (self.mean, self.cov, self.scratch)]


def row_by_row(stream: Stream) -> Callable[[], Callable[[], list[float]]]:
    """Call one C function to forecast and one to learn."""
    library = compiled()
    d, targets = stream.n_features, stream.y.tolist()
    X = np.ascontiguousarray(stream.X)

    def repetition() -> Callable[[], list[float]]:
        state, drift_var = State(d), DRIFT_VAR / d
        var, var_address = state.var, ctypes.addressof(state.var)
        predict, update = library.kalman_predict, library.kalman_update

        def go() -> list[float]:
            mean, cov, scratch = state.addresses
            rows = range(X.ctypes.data, X.ctypes.data + X.nbytes, X.strides[0])
            forecasts = []
            for x, y in zip(rows, targets, strict=True):
                forecast = predict(d, mean, cov, x, scratch, drift_var, NOISE_VAR, var_address)
                forecasts.append(forecast)
                update(d, mean, cov, scratch, y, forecast, var.value)
            return forecasts

        return go

    return repetition


def in_bulk(stream: Stream) -> Callable[[], Callable[[], Floats]]:
    """Run all rows in one call of C."""
    library = compiled()
    d, n = stream.n_features, len(stream.y)
    X, y = np.ascontiguousarray(stream.X), np.ascontiguousarray(stream.y)

    def repetition() -> Callable[[], Floats]:
        state, forecasts = State(d), np.empty(n)

        def go() -> Floats:
            library.kalman_run(
                n, d, X.ctypes.data, y.ctypes.data, *state.addresses, DRIFT_VAR / d, NOISE_VAR, forecasts.ctypes.data
            )
            return forecasts

        return go

    return repetition


CONTESTANTS = (
    Contestant("C Kalman filter", Mode.ROW_BY_ROW, row_by_row),
    Contestant("C Kalman filter", Mode.IN_BULK, in_bulk),
)
