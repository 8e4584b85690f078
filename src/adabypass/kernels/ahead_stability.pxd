# Weights of lags that do not let a series explode, many steps ahead.

from adabypass.kernels.ahead cimport MultistepForecaster
from adabypass.kernels.past cimport Past

cdef enum:
    LEAST_STEPS = 30        # for which the response to an impulse is followed


cdef void stabilise(MultistepForecaster ahead, const Past* past) noexcept nogil
