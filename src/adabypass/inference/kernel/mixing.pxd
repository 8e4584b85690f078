# What the filters of the bank learn together.

from adabypass.inference.kernel.bank_state cimport Bank


cdef void learn(Bank* bank, double y) noexcept nogil
