"""Choose the instruction set when the library is imported."""

import os

import numpy as np

cdef extern from "simd_table.h" nogil:
    enum:
        EXPONENTIAL
        LOGARITHM
        TAIL_MASS
        TAIL_MEAN
        TAIL_VAR

    int adabypass_count()
    const SimdTable* adabypass_table(int index)


VARIABLE = "ADABYPASS_SIMD"
"""Environment variable that names the instruction set to use."""

FUNCTIONS = {
    "exp": EXPONENTIAL, "log": LOGARITHM, "tail_mass": TAIL_MASS, "tail_mean": TAIL_MEAN, "tail_var": TAIL_VAR,
}


def available():
    """Return the names of the instruction sets that this machine supports, from the slowest to the fastest."""
    return [adabypass_table(i).name.decode() for i in range(adabypass_count()) if adabypass_table(i) != NULL]


def in_use():
    """Return the name of the instruction set in use."""
    return SIMD.name.decode()


def apply(str name, const double[::1] a):
    """Evaluate a function of c/functions.h at each number, for tests."""
    out = np.empty(a.shape[0])
    cdef double[::1] view = out
    cdef int function = FUNCTIONS[name]
    if a.shape[0] > 0:
        SIMD.apply(function, &a[0], &view[0], a.shape[0])
    return out


cdef int _choose() except -1:
    global SIMD
    cdef int i
    cdef const SimdTable* table
    wanted = os.environ.get(VARIABLE, "")
    for i in range(adabypass_count()):
        table = adabypass_table(i)
        if table != NULL and wanted in ("", table.name.decode()):
            SIMD = table
    if SIMD == NULL:
        raise ImportError(
            f"{VARIABLE} is {wanted!r}, but this machine supports {', '.join(available())}; choose one of these, or "
            "unset the variable to use the fastest."
        )
    return 0


_choose()
