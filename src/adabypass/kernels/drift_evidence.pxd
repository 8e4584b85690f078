# Drift rates judged by their forecasts many steps ahead: equations (196)-(199).

from adabypass.kernels.ahead cimport Horizon
from adabypass.kernels.past cimport Design, Past


cdef bint is_due(const Past* past, const Design* design) noexcept nogil
cdef void judge_drifts(Past* past, const Design* design, double y) noexcept nogil
cdef void begin_drifts(Horizon ahead, Past* past, const Design* design, const Py_ssize_t* groups) noexcept nogil
cdef void fill_step_shares(
    Horizon ahead, const Past* past, const Design* design, const Py_ssize_t* groups
) noexcept nogil
