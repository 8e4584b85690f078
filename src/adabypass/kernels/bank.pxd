# How a bank is opened, what it forecasts and how it learns.

from adabypass.state.bank_table cimport Bank
from adabypass.kernels.step cimport WeightsView, StepContext


cdef void measure_bank(Bank* bank, const double* constants, Py_ssize_t n_features, bint is_diagonal) noexcept nogil
cdef void open_bank(const StepContext* step, Bank* bank) noexcept nogil
cdef void forecast_start(const Bank* bank, double* mean, double* var) noexcept nogil
cdef void forecast_bank(Bank* bank, const double* x, double scale, double* mean, double* var) noexcept nogil
cdef void learn_bank(Bank* bank, const double* x, double scale, double y) noexcept nogil
cdef void describe_bank(const Bank* bank, double base, double* record) noexcept nogil
cdef void weigh(StepContext* step, double* mean, double* var) noexcept nogil
cdef void weights(const StepContext* step, WeightsView* out) noexcept nogil
