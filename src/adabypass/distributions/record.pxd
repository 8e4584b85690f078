# How a run keeps the forecasts of mixtures: as records of numbers, from which components are made when needed.

from libc.stdint cimport int64_t

from adabypass.distributions.component cimport Component
from adabypass.numerics.dispatch cimport N_FLEXIBLE_NORMALS


ctypedef struct RecordFields:
    # Pointers into a record. Linear model k has signal k % n_signals: mean and variance of x'w.
    double* common_family       # noise family of all linear models; -1 if each has that of the layout
    double* normal_share        # (N_FLEXIBLE_NORMALS,) shares of the normals; absent if no family is flexible
    double* weight              # (n_linears,) mixture weights
    double* mean                # (n_signals,)
    double* signal_var          # (n_signals,)
    double* noise_scale         # (n_linears,)
    double* epsilon             # (number of linear models whose noise is insensitive,)


cdef class RecordLayout:
    cdef readonly tuple families
    cdef readonly RecordLayout transformed  # layout of the parts about the log and the root of y, or None
    cdef readonly RecordLayout own          # layout of the part about y itself, which comes first
    cdef readonly Py_ssize_t n_own          # numbers in the part about y itself
    cdef readonly Py_ssize_t n_linears      # linear models
    cdef readonly Py_ssize_t n_signals      # pairs of mean and variance of x'w
    cdef readonly Py_ssize_t n_flexible     # linear models of flexible noise, which come first
    cdef readonly Py_ssize_t n_components   # components of a forecast
    cdef readonly Py_ssize_t size           # numbers in a record
    cdef int64_t* family                    # (n_linears,) noise family of each linear model
    cdef Py_ssize_t* signal_at              # (n_linears,) index of the signal of each linear model
    cdef Py_ssize_t* epsilon_at             # (n_linears,) index of the epsilon of each linear model; -1 if it has none

    cdef RecordFields open(self, const double* memory) noexcept nogil
    cdef Component linear(self, const RecordFields* record, Py_ssize_t k) noexcept nogil
    cdef const double* record_of(self, const double* memory, int target) noexcept nogil
    cdef void expand_one(self, const double* memory, Component* out, bint is_transformed) noexcept nogil
    cdef void _expand_transformed(self, const double* memory, int target, Component* out) noexcept nogil


cdef enum:
    ABSENT = -2     # common family of a part about the log or the root of y that has no share in the forecast


cdef inline bint is_present(const double* record) noexcept nogil:
    """Whether the part about the log or the root of y has a share in the forecast."""
    return record[0] >= -1.0


cdef inline RecordFields open_record(
    double* memory, Py_ssize_t n_linears, Py_ssize_t n_signals, bint is_flexible
) noexcept nogil:
    cdef RecordFields record
    record.common_family = memory
    record.normal_share = memory + 1
    record.weight = record.normal_share + (N_FLEXIBLE_NORMALS if is_flexible else 0)
    record.mean = record.weight + n_linears
    record.signal_var = record.mean + n_signals
    record.noise_scale = record.signal_var + n_signals
    record.epsilon = record.noise_scale + n_linears
    return record


cdef class Moments:
    cdef object own_mean            # a Python float, or an array (n,) of many forecasts; None until it is computed
    cdef object own_var             # the same for the variance


cdef class MixtureMoments(Moments):
    cdef object given                   # components, (n_components,) or (n, n_components); None until they are made
    cdef readonly object record         # record, (size,) or (n, size), from which components are made, or None
    cdef readonly object record_layout  # `RecordLayout` of the record, or None
    cdef readonly object extras         # `MixtureExtras`, or None
