# How the forecast of a mixture is kept: one record of numbers, from which its components are made when they are needed.

from libc.stdint cimport int64_t

from adabypass.model.component cimport Component
from adabypass.simd.dispatch cimport MOST_FLEXIBLE


ctypedef struct Record:
    # Where everything is in a record. All but the first two have a number for each linear model.
    double* common_family       # of the noise of all of them; -1 if each has that of the packing
    double* normal_share        # of each normal of flexible noise; not there if no family is flexible
    double* weight
    double* mean
    double* signal_var
    double* noise_scale
    double* epsilon


cdef class Packing:
    cdef readonly tuple families
    cdef readonly Py_ssize_t n_linears
    cdef readonly Py_ssize_t n_flexible     # which come first
    cdef readonly Py_ssize_t n_components
    cdef readonly Py_ssize_t size           # of a record
    cdef int64_t* family

    cdef void expand_one(self, const double* memory, Component* out) noexcept nogil


cdef inline Record open_record(double* memory, Py_ssize_t n_linears, bint is_flexible) noexcept nogil:
    cdef Record record
    record.common_family = memory
    record.normal_share = memory + 1
    record.weight = record.normal_share + (MOST_FLEXIBLE if is_flexible else 0)
    record.mean = record.weight + n_linears
    record.signal_var = record.mean + n_linears
    record.noise_scale = record.signal_var + n_linears
    record.epsilon = record.noise_scale + n_linears
    return record
