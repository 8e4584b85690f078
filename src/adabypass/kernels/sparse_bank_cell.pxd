cimport numpy as cnp

from adabypass.state.bank_table cimport Bank
from adabypass.kernels.sparse_cell cimport SparseCell
from adabypass.kernels.step cimport StepContext


cdef class SparseBankCell(SparseCell):
    cdef StepContext without_features
    cdef Bank bank                      # of the features that are given
    cdef double* new_log                # ν of (183), and how much was seen of it
    cdef double* x_scale                # (features,)   0 of one that was never other than 0
    cdef double* x_count
    cdef double* x_square               # running mean square of a feature where it is given, in units of x_scale²
    cdef double* intercept_mean         # in the row
    cdef double* intercept_var
    cdef double* drift_sum              # (walks,)
    cdef double* slope_mean             # (features, walks)
    cdef double* slope_var              # (features, walks)   less what the drift has added
    cdef double* short_memory
    cdef Py_ssize_t short_capacity

    cdef void _open(self) noexcept nogil
    cdef double _variance(self, const double* anchored, Py_ssize_t i, Py_ssize_t walk) noexcept nogil
    cdef void _keep_variance(
        self, const double* anchored, Py_ssize_t i, Py_ssize_t walk, double var
    ) noexcept nogil
    cdef void _learn_prior(self) noexcept nogil
    cdef void _see(self, Py_ssize_t k, double scale, bint was_seen) noexcept nogil
    cdef void _put_back(self, bint was_seen) noexcept nogil
    cdef void _settle_drift(self, const double* anchored, Py_ssize_t walk) noexcept nogil
    cdef void _restart_walks(self, const double* failures) noexcept nogil
    cdef void _copy_walk(self, Py_ssize_t best, Py_ssize_t walk) noexcept nogil
    cdef void _set_units(self) noexcept nogil
    cdef void _rescale(self, double ratio, double move) noexcept nogil
