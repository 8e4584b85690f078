# The filters of the bank.

from adabypass.inference.kernel.bank_state cimport Bank


cdef void standardise(Bank* bank, const double* x, double scale) noexcept nogil
cdef bint moves(const Bank* bank, Py_ssize_t i, double deviation) noexcept nogil
cdef void forecast_filters(Bank* bank) noexcept nogil
cdef void absorb_filters(Bank* bank, double y) noexcept nogil
cdef double noise_var(const double* setting, const double* filter) noexcept nogil
