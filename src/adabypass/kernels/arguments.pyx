"""What comes in from Python with one observation: numbers, without a call to Python where they are plain ones.

Plain are Python's floats and NumPy's float64, and whole numbers of Python; in a contiguous vector, a list or a tuple.
Reading them runs no code of the caller's. Everything else goes to `adabypass.validation`, which may run any.
"""

from cpython.list cimport PyList_CheckExact, PyList_GET_ITEM, PyList_GET_SIZE
from cpython.tuple cimport PyTuple_CheckExact, PyTuple_GET_ITEM, PyTuple_GET_SIZE
from libc.math cimport isfinite, isinf
from libc.string cimport memcpy

cimport numpy as cnp

from adabypass.validation import check_target

cnp.import_array()

cdef enum:
    EXACT = 1 << 53     # whole numbers up to this one are float64 numbers


cdef bint is_vector(object array):
    return (
        cnp.PyArray_CheckExact(array)
        and cnp.PyArray_NDIM(array) == 1
        and cnp.PyArray_TYPE(array) == cnp.NPY_FLOAT64
        and cnp.PyArray_ISCARRAY_RO(array)
    )


cdef bint is_target(object y) noexcept:
    """Whether y is a plain number that can be an observation; nan is a missing one."""
    return isinstance(y, float) and not isinf(<double>y)


cdef double as_target(object y) except? -1.0:
    """Check one observation; the common case without a call to Python."""
    return <double>y if is_target(y) else check_target(y)


cdef bint copy_plain(object values, Py_ssize_t n, double* out):
    """Copy n plain numbers to `out`, and return whether they are that; if not, `out` may be written in part."""
    cdef Py_ssize_t i
    if is_vector(values):
        if cnp.PyArray_DIM(values, 0) != n:
            return False
        memcpy(out, cnp.PyArray_DATA(values), n * sizeof(double))
        return True
    if PyList_CheckExact(values):
        if PyList_GET_SIZE(values) != n:
            return False
        for i in range(n):
            if not _copy_number(<object>PyList_GET_ITEM(values, i), out + i):
                return False
        return True
    if PyTuple_CheckExact(values):
        if PyTuple_GET_SIZE(values) != n:
            return False
        for i in range(n):
            if not _copy_number(<object>PyTuple_GET_ITEM(values, i), out + i):
                return False
        return True
    return n == 1 and _copy_number(values, out)


cdef bint _copy_number(object value, double* out):
    if isinstance(value, float):
        out[0] = <double>value
        return True
    if type(value) is int and -EXACT <= value <= EXACT:
        out[0] = <double><long long>value
        return True
    return False


cdef bint all_finite(const double* values, Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(n):
        if not isfinite(values[i]):
            return False
    return True
