# Drift rates judged by their forecasts many steps ahead: equations (N.28)-(N.31).

from adabypass.kernels.multistep cimport MultistepForecaster
from adabypass.kernels.past cimport Design, Past


cdef bint is_due(const Past* past, const Design* design) noexcept nogil
cdef void judge_drifts(Past* past, const Design* design, double y) noexcept nogil
cdef void begin_drifts(
    MultistepForecaster ahead, Past* past, const Design* design, const Py_ssize_t* groups
) noexcept nogil
cdef void fill_step_shares(
    MultistepForecaster ahead, const Past* past, const Design* design, const Py_ssize_t* groups
) noexcept nogil
