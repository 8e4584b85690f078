# What a bank of filters believes about the observations to come.

from adabypass.inference.kernel.belief cimport Belief
from adabypass.inference.kernel.step cimport Step


cdef void believe(Step* step, Belief* out) noexcept nogil
