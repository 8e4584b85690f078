# What a bank forecasts and learns, for those who open it in their own way.

from adabypass.inference.kernel.bank_state cimport Bank
from adabypass.inference.kernel.step cimport Linear, Step


cdef void forecast_start(const Bank* bank, double* mean, double* var) noexcept nogil
cdef void forecast_bank(Bank* bank, const double* x, double scale, double* mean, double* var) noexcept nogil
cdef void absorb_bank(Bank* bank, const double* x, double scale, double y) noexcept nogil
cdef void describe_bank(const Bank* bank, double base, double* record) noexcept nogil
cdef void weigh(Step* step, double* mean, double* var) noexcept nogil
cdef void weights(const Step* step, Linear* out) noexcept nogil
