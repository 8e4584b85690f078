# What belongs to one walk of a bank, or to one setting of its filters.

from adabypass.state.bank_table cimport DRIFT_VAR, Bank
from adabypass.numerics.special cimport larger
from adabypass.numerics.dispatch cimport LANES

from libc.math cimport exp


cdef extern from "bank.h" nogil:
    double SMALLEST_SHARE


cdef inline const double* setting(const Bank* bank, Py_ssize_t which) noexcept nogil:
    """One of the settings, of every filter."""
    return bank.settings + which * bank.n_filters


cdef inline Py_ssize_t var_at(const Bank* bank, Py_ssize_t walk, Py_ssize_t i) noexcept nogil:
    """Where in `walk_cov` the variance of weight i of a walk is."""
    return (i if bank.is_diagonal else i * (i + 3) // 2) * LANES + walk


cdef inline double share_of_walk(const Bank* bank, Py_ssize_t walk) noexcept nogil:
    """Share of all filters of a walk in the mixture."""
    cdef Py_ssize_t j
    cdef double total = 0.0
    for j in range(bank.n_filters // LANES):
        total += bank.filter_share[j * LANES + walk]
    return total


cdef inline double drift_of_walk(const Bank* bank, Py_ssize_t walk) noexcept nogil:
    """Variance of a step of a walk, in standard units, but for jumps: equation (52)."""
    cdef Py_ssize_t j
    cdef double slow = 0.0
    for j in range(bank.n_filters // LANES):
        slow += bank.filter_share[j * LANES + walk] * bank.filter_slow[j * LANES + walk]
    slow /= larger(share_of_walk(bank, walk), SMALLEST_SHARE)
    return setting(bank, DRIFT_VAR)[walk] * exp(2.0 * slow)
