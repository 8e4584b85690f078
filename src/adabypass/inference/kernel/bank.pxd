# What a bank forecasts, for cells that open it in their own way.

from adabypass.inference.kernel.bank_state cimport Bank
from adabypass.inference.kernel.step cimport Step


cdef void forecast_start(const Bank* bank, Step* step) noexcept nogil
cdef void describe_bank(const Bank* bank, double base, double* record) noexcept nogil
