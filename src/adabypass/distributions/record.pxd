# How the forecast of a mixture is kept: one record of numbers, from which its components are made when they are needed.

from libc.stdint cimport int64_t

from adabypass.distributions.component cimport Component
from adabypass.numerics.dispatch cimport MOST_FLEXIBLE


ctypedef struct Record:
    # Where everything is in a record. Linear model k has mean and variance of x'w of k modulo the number of signals.
    double* common_family       # of the noise of all of them; -1 if each has that of the layout
    double* normal_share        # of each normal of flexible noise; not there if no family is flexible
    double* weight              # of each linear model
    double* mean                # of each signal
    double* signal_var
    double* noise_scale         # of each linear model
    double* epsilon             # of each whose noise is insensitive


cdef class RecordLayout:
    cdef readonly tuple families
    cdef readonly RecordLayout transformed       # of what says how the log and the root of y are distributed; or None
    cdef readonly RecordLayout own               # of what is about y itself alone, which comes first
    cdef readonly Py_ssize_t n_own          # numbers of that
    cdef readonly Py_ssize_t n_linears
    cdef readonly Py_ssize_t n_signals      # means and variances of x'w
    cdef readonly Py_ssize_t n_flexible     # linear models of flexible noise, which come first
    cdef readonly Py_ssize_t n_components
    cdef readonly Py_ssize_t size           # of a record
    cdef int64_t* family
    cdef Py_ssize_t* signal_at              # which signal is that of a linear model,
    cdef Py_ssize_t* epsilon_at             # and where its epsilon is; -1 if it has none

    cdef Record open(self, const double* memory) noexcept nogil
    cdef Component linear(self, const Record* record, Py_ssize_t k) noexcept nogil
    cdef const double* record_of(self, const double* memory, int target) noexcept nogil
    cdef void expand_one(self, const double* memory, Component* out, bint is_transformed) noexcept nogil
    cdef void _expand_transformed(self, const double* memory, int target, Component* out) noexcept nogil


cdef enum:
    ABSENT = -2     # as the common family: what is transformed so has no share


cdef inline bint is_present(const double* record) noexcept nogil:
    """Whether the record of the log or of the root has a share in the forecast."""
    return record[0] >= -1.0


cdef inline Record open_record(
    double* memory, Py_ssize_t n_linears, Py_ssize_t n_signals, bint is_flexible
) noexcept nogil:
    cdef Record record
    record.common_family = memory
    record.normal_share = memory + 1
    record.weight = record.normal_share + (MOST_FLEXIBLE if is_flexible else 0)
    record.mean = record.weight + n_linears
    record.signal_var = record.mean + n_signals
    record.noise_scale = record.signal_var + n_signals
    record.epsilon = record.noise_scale + n_linears
    return record


cdef class Moments:
    cdef object own_mean            # a Python float, or an array (n,) of many forecasts; None until it is asked for
    cdef object own_var


cdef class MixtureMoments(Moments):
    cdef object given               # its components, if they were given: (n_components,), or (n, n_components)
    cdef readonly object record     # or the numbers from which they are made, (size,) or (n, size),
    cdef readonly object record_layout    # and how
    cdef readonly object extras     # what else it consists of (`MixtureExtras`), or None
