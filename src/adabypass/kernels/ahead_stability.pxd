# Weights of lags that do not let a series explode, many steps ahead.

from adabypass.kernels.ahead cimport Horizon
from adabypass.kernels.past cimport Past

cdef enum:
    LEAST_STEPS = 30        # for which the response to an impulse is followed


cdef void stabilise(Horizon ahead, const Past* past) noexcept nogil
