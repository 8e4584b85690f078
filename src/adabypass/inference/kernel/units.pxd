# The standard units of a bank.

from adabypass.inference.kernel.bank_state cimport Bank


cdef void standardise(Bank* bank, const double* x, double scale) noexcept nogil
cdef void find_scales(Bank* bank, const double* x, double scale) noexcept nogil
