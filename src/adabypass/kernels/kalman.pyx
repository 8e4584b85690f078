"""SKF, the paper's benchmark, in place on rows: equations (F.1)-(F.3)."""

from libc.math cimport isnan, sqrt

from adabypass.distributions.families cimport GAUSSIAN
from adabypass.kernels.step cimport (
    Kernel, LinearMixture, StepContext, WeightsView, export_single, saturate,
    single_component,
)
from adabypass.numerics.special cimport larger, smaller

from adabypass.numerics import limits

cdef enum:      # the row
    N_SEEN = 0
    DRIFT_VAR = 1
    NOISE_VAR = 2
    MEAN = 3    # then the covariance

cdef enum:      # the constants
    ADAPT_NOISE = 0

cdef double MAX_DRIFT_VAR = 1.0 / limits.MIN_PREC
cdef double MIN_VAR = 1.0 / limits.MAX_VALUE


cdef void forecast(StepContext* step) noexcept nogil:
    """mean = x @ m, var = x @ P @ x + R"""
    step.covariance.project(step, step.row + MEAN, step.row + MEAN + step.n)
    step.mean = step.product
    step.var = saturate(                                                            # (F.1)
        step.scale * (step.scale * (step.prior_var + step.row[DRIFT_VAR] * step.square)) + step.row[NOISE_VAR]
    )


cdef void learn(StepContext* step, double y) noexcept nogil:
    cdef double* m = step.row + MEAN
    cdef double* S = m + step.n
    cdef double R = step.row[NOISE_VAR], q = 0.0, error, unexplained, noise, D
    if isnan(y):
        step.covariance.add_drift(step, step.row[DRIFT_VAR], S)
        return
    error = saturate(y - step.mean) / step.scale
    noise = R / step.scale / step.scale
    unexplained = error * error - step.prior_var
    if step.square > 0.0:
        q = smaller(larger((unexplained - noise) / step.square, 0.0), MAX_DRIFT_VAR)                 # (F.2)
    D = step.prior_var + q * step.square + noise
    if D > MIN_VAR:        # else a known weight meets a huge feature, and there is nothing to learn
        step.covariance.condition(step, m, S, q, D, saturate(error / D), 1.0)
    step.row[DRIFT_VAR] = q
    if step.constants[ADAPT_NOISE]:
        unexplained = saturate(step.scale * saturate(step.scale * larger(unexplained, 0.0)))
        step.row[NOISE_VAR] = R + (unexplained - R) / (step.row[N_SEEN] + 2.0)                      # (F.3)
    step.row[N_SEEN] += 1.0


cdef void weights(const StepContext* step, WeightsView* out) noexcept nogil:
    single_component(out, step.row + MEAN, step.row + MEAN + step.n, step.row[DRIFT_VAR])


cdef void export_mixture(StepContext* step, LinearMixture* out) noexcept nogil:
    cdef double* m = step.row + MEAN
    export_single(out, m, m + step.n, step.row[DRIFT_VAR], sqrt(step.row[NOISE_VAR]), 0.0, GAUSSIAN, 0.0)


KERNEL = Kernel.of(forecast, learn, weights, export_mixture)
