# Weights of lags that do not let a series explode, many steps ahead.

from adabypass.inference.kernel.ahead cimport Horizon
from adabypass.inference.kernel.past cimport Past

cdef enum:
    LEAST_STEPS = 30        # for which the response to an impulse is followed


cdef void stabilise(Horizon ahead, const Past* past) noexcept nogil
