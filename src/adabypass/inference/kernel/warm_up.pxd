# The first observations, which set the units.

from adabypass.inference.kernel.bank_state cimport Bank
from adabypass.inference.kernel.step cimport Step


cdef void start_over(Bank* bank, double n_seen) noexcept nogil
cdef bint is_milestone(Py_ssize_t count, Py_ssize_t warm_up) noexcept nogil
cdef void remember(Bank* bank, Step* step, double y) noexcept nogil
