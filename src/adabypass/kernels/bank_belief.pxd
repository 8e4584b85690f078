# What a bank of filters believes about the observations to come.

from adabypass.kernels.belief cimport LinearMixture
from adabypass.kernels.step cimport StepContext


cdef void export_mixture(StepContext* step, LinearMixture* out) noexcept nogil
