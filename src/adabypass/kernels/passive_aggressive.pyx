"""Passive-aggressive regression, in place on rows: equations (B.1)-(B.5)."""

from libc.math cimport NAN, copysign, fabs, isnan

from adabypass.distributions.families cimport GAUSSIAN
from adabypass.kernels.step cimport (
    Kernel, LinearMixture, StepContext, WeightsView, export_single, saturate, saturate_weight, single_component,
)
from adabypass.numerics.dispatch cimport SIMD
from adabypass.numerics.special cimport larger, smaller

cdef enum:      # the row
    N_SEEN = 0
    MEAN = 1

cdef enum:      # the constants
    VARIANT = 0
    C = 1
    EPSILON = 2

cdef enum:      # the variants
    PA = 0
    PA_I = 1


cdef void forecast(StepContext* step) noexcept nogil:
    step.mean = saturate(step.scale * SIMD.dot(step.n, step.x, step.row + MEAN))
    step.var = NAN


cdef void learn(StepContext* step, double y) noexcept nogil:
    """w += sign(error) * tau * x, with x = scale * step.x"""
    cdef double* w = step.row + MEAN
    cdef const double* hyper = step.constants
    cdef double error, loss, n, step_length
    cdef Py_ssize_t i
    if isnan(y):
        return
    step.row[N_SEEN] += 1.0
    n = SIMD.dot(step.n, step.x, step.x)
    error = saturate(y - step.mean)
    loss = larger(fabs(error) - hyper[EPSILON], 0.0)                          # (B.1)
    if n == 0.0 or loss == 0.0:
        return
    if hyper[VARIANT] == PA:                                                # step_length = tau * scale
        step_length = loss / (n * step.scale)                               # (B.2)
    elif hyper[VARIANT] == PA_I:
        step_length = smaller(hyper[C] * step.scale, loss / (n * step.scale))  # (B.3)
    else:
        step_length = loss / (n * step.scale + 0.5 / (hyper[C] * step.scale))   # (B.4)
    step_length = copysign(saturate(step_length), error)
    for i in range(step.n):
        w[i] = saturate_weight(w[i] + step_length * step.x[i])              # (B.5)


cdef void weights(const StepContext* step, WeightsView* out) noexcept nogil:
    single_component(out, step.row + MEAN, NULL, 0.0)


cdef void export_mixture(StepContext* step, LinearMixture* out) noexcept nogil:
    export_single(out, step.row + MEAN, NULL, 0.0, NAN, 0.0, GAUSSIAN, 0.0)


KERNEL = Kernel.of(forecast, learn, weights, export_mixture, scale_up=True)
