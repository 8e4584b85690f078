# The first observations, which set the units.

from adabypass.state.bank_table cimport Bank
from adabypass.distributions.component cimport Component


cdef void start_component(const Bank* bank, Py_ssize_t k, Component* out) noexcept nogil
cdef double start_log_density(const Bank* bank, double y) noexcept nogil
cdef void center_and_scale(
    const double* first, Py_ssize_t count, Py_ssize_t stride, bint centred, double* center, double* scale
) noexcept nogil
cdef void reset(Bank* bank, double widening) noexcept nogil
cdef void start_over(Bank* bank) noexcept nogil
cdef bint is_milestone(const Bank* bank) noexcept nogil
cdef void remember(Bank* bank, const double* x, double scale, double y) noexcept nogil
