# The standard units of a bank.

from adabypass.state.bank_table cimport Bank


cdef void standardise(Bank* bank, const double* x, double scale) noexcept nogil
cdef void find_scales(Bank* bank, const double* x, double scale) noexcept nogil
