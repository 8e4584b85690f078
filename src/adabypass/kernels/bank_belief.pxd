# What a bank of filters believes about the observations to come.

from adabypass.kernels.belief cimport Belief
from adabypass.kernels.step cimport Step


cdef void believe(Step* step, Belief* out) noexcept nogil
