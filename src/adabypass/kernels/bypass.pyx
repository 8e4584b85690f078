"""BYPASS and ADA-BYPASS, in place on rows: equations (C.8)-(C.19), (C.32), (D.3), (D.4), (D.8) and (D.9).

The step of the weights, (C.28)-(C.31), and the gradients that go with it, (D.5) and (D.6), are in covariance.pyx; the
right gradients, (D.10)-(D.18), in gradient.pyx.

What the paper got wrong can be corrected, by name: a set of `Correction` goes down to the sweep, which has a form of
its own for them, so that the models as they are do not pay for it.

Features may stand divided by `step.scale` (C.33): then h, D and their parts are in units of scale², which is why the
noise's variance 1/β appears divided by it.
"""

from libc.math cimport fabs, isnan, sqrt

from adabypass.distributions.families cimport GAUSSIAN
from adabypass.kernels.covariance cimport squared_projection
from adabypass.kernels.gradient cimport (
    AS_IN_THE_PAPER, E2, E3, E4, E8, Slopes, SweepInputs, Theta, adapt_exactly, drift_slopes,
    follow_exactly, open_slopes, squared_move,
)
from adabypass.kernels.step cimport (
    Kernel, MAX_VALUE, MAX_WEIGHT, LinearMixture, StepContext, WeightsView, export_single, saturate, single_component,
)
from adabypass.numerics.dispatch cimport GradientMove, SIMD
from adabypass.numerics.special cimport Moments, atom_moments, bessel_ratio, larger, smaller, truncated_moments

from adabypass.numerics import limits

cdef enum:      # the row
    N_SEEN = 0
    DRIFT_PREC = 1
    NOISE_PREC = 2
    NOISE_MEAN = 3
    NOISE_MEAN_VAR = 4
    A = 5
    B = 6
    EPSILON = 7
    MEAN = 8    # then the mean's gradient (ADA-BYPASS), the covariance, the covariance's gradient (ADA-BYPASS)

cdef enum:      # the constants
    MAX_SWEEPS = 0      # 0: to convergence
    TOL = 1
    CONVERGENCE_CAP = 2
    AGGRESSIVENESS = 3
    OMEGA_MIN = 4
    BYPASS_CORRECTIONS = 3      # where there are any
    ADA_CORRECTIONS = 5

cdef double MIN_PREC = limits.MIN_PREC
cdef double MAX_PREC = limits.MAX_PREC
cdef double MIN_RHO = limits.MIN_RHO
cdef double MAX_HYPERPARAMETER = limits.MAX_HYPERPARAMETER
cdef double NEGLIGIBLE = limits.NEGLIGIBLE_GRADIENT


cdef inline void _forecast(StepContext* step, double* S) noexcept nogil:
    """mean = x @ m + mu, var = x @ S @ x + x @ x / alpha + 1 / beta"""
    cdef double prior_var
    step.covariance.project(step, step.row + MEAN, S)
    step.mean = saturate(step.product + step.row[NOISE_MEAN])                           # (C.8)
    prior_var = step.prior_var + step.square / step.row[DRIFT_PREC]
    step.var = saturate(step.scale * (step.scale * prior_var) + 1.0 / step.row[NOISE_PREC])     # (C.9)


ctypedef struct Innovation:     # what an observation is at the old means
    double drift_var            # 1 / alpha
    double D
    double r
    double rho
    double move


cdef inline Innovation _innovate(const Theta* old, const SweepInputs* seen) noexcept nogil:
    """Equations (C.11)-(C.13), (C.15) and (C.17)."""
    cdef Innovation now
    cdef double h, c, share
    now.drift_var = 1.0 / old.alpha
    h = seen.s + seen.n * now.drift_var                                                 # (C.11)
    now.D = h + seen.noise_unit / old.beta                                              # (C.12)
    c = seen.e - old.mu                                                                 # (C.13)
    share = h / now.D
    now.r = seen.e - c * share                                                          # (C.15)
    now.move = saturate(c / (seen.scale * now.D))
    now.rho = (now.r - old.mu) * (now.r - old.mu) + share / old.beta + old.V            # (C.17)
    now.rho = smaller(larger(now.rho, MIN_RHO), MAX_VALUE)
    return now


cdef inline double _drift_prec(
    const SweepInputs* seen, const Innovation* now, double p2, double shape
) noexcept nogil:
    """The new alpha: equation (C.16)."""
    cdef double spread = 2.0 * seen.b + p2 * now.move * now.move + (seen.n_features * now.drift_var - p2 / now.D)
    if spread > 0.0:
        return smaller(larger(shape / spread, MIN_PREC), MAX_PREC)
    return MAX_PREC


cdef inline void _sweep(const Theta* old, const SweepInputs* seen, Theta* new) noexcept nogil:
    """Renew every variational mean from the old ones: equations (C.11)-(C.19)."""
    cdef Innovation now = _innovate(old, seen)
    cdef double p2 = squared_move(seen, now.drift_var, AS_IN_THE_PAPER)                 # (C.14)
    cdef Moments mu = truncated_moments(now.r, old.beta, seen.epsilon)                  # (C.19)
    new.alpha = _drift_prec(seen, &now, p2, 2.0 * seen.a)                               # (C.16)
    new.beta = bessel_ratio(now.rho)                                                    # (C.18)
    new.mu = mu.mean
    new.V = mu.var


cdef void _corrected_sweep(const Theta* old, const SweepInputs* seen, Theta* new, int corrections) noexcept nogil:
    """The same, but for what `corrections` names: equations (D.8) and (D.9)."""
    cdef Innovation now = _innovate(old, seen)
    cdef double p2 = squared_move(seen, now.drift_var, corrections)                     # E1
    cdef double shape = 2.0 * seen.a + (seen.n_features if corrections & E2 else 0.0)
    cdef Moments mu
    if corrections & E4:
        mu = atom_moments(now.r, old.beta, seen.epsilon)
    else:
        mu = truncated_moments(now.r, old.beta, seen.epsilon)
    new.alpha = _drift_prec(seen, &now, p2, shape)
    new.beta = 1.0 / sqrt(now.rho) if corrections & E3 else bessel_ratio(now.rho)
    new.mu = mu.mean
    new.V = mu.var


cdef inline bint _settled(const Theta* old, const Theta* new, double epsilon, double tol) noexcept nogil:
    """Whether no quantity moved by more than tol of its own size."""
    return (
        fabs(new.alpha - old.alpha) <= tol * old.alpha
        and fabs(new.beta - old.beta) <= tol * old.beta
        and fabs(new.mu - old.mu) <= tol * epsilon
        and fabs(new.V - old.V) <= tol * epsilon * epsilon
    )


cdef inline Theta _solve(Theta theta, const SweepInputs* seen, const double* constants, int corrections) noexcept nogil:
    """Sweep until nothing moves by more than `tol`, `max_sweeps` times at the most."""
    cdef Theta old
    cdef long sweeps = <long>(constants[MAX_SWEEPS] if constants[MAX_SWEEPS] > 0.0 else constants[CONVERGENCE_CAP])
    while sweeps > 0:
        old = theta
        if corrections == AS_IN_THE_PAPER:
            _sweep(&old, seen, &theta)
        else:
            _corrected_sweep(&old, seen, &theta, corrections)
        if _settled(&old, &theta, seen.epsilon, constants[TOL]):
            break
        sweeps -= 1
    return theta


cdef inline void _adapt(StepContext* step, double e, const double* psi) noexcept nogil:
    """Move a, b and epsilon, all by the same amount: equations (D.3) and (D.4)."""
    cdef double* row = step.row
    cdef Py_ssize_t name
    cdef double d = saturate(row[NOISE_PREC] * saturate(step.scale * SIMD.dot(step.n, step.x, psi)))
    d = saturate(step.constants[AGGRESSIVENESS] * saturate(d * (e - row[NOISE_MEAN])))
    for name in range(A, EPSILON + 1):
        row[name] = smaller(larger(row[name] + d, step.constants[OMEGA_MIN]), MAX_HYPERPARAMETER)


cdef inline void _fill_sweep_inputs(StepContext* step, double e, SweepInputs* seen) noexcept nogil:
    """All that the sweeps need, after `project`: equation (C.10)."""
    cdef const double* row = step.row
    seen.e = e
    seen.s = step.prior_var
    seen.n = step.square
    seen.k = squared_projection(step)
    seen.n_features = step.n_total
    seen.scale = step.scale
    seen.noise_unit = 1.0 / step.scale / step.scale
    seen.a, seen.b, seen.epsilon = row[A], row[B], row[EPSILON]


cdef inline void _learn(
    StepContext* step, double y, double* S, double* psi, double* G, int corrections
) noexcept nogil:
    """Learn from y; `psi` and `G` are NULL where nothing adapts."""
    cdef double* row = step.row
    cdef Theta theta = Theta(row[DRIFT_PREC], row[NOISE_PREC], row[NOISE_MEAN], row[NOISE_MEAN_VAR])
    cdef SweepInputs seen
    cdef GradientMove by
    cdef double h, noise, D, error, e
    if isnan(y):
        step.covariance.add_drift(step, 1.0 / theta.alpha, S)                                      # (C.32)
        return
    e = saturate(y - step.product)
    if psi != NULL:
        _adapt(step, e, psi)
    _fill_sweep_inputs(step, e, &seen)
    theta = _solve(theta, &seen, step.constants, corrections)
    error = seen.e - theta.mu
    h = seen.s + seen.n / theta.alpha
    noise = seen.noise_unit / theta.beta
    D = h + noise
    by = GradientMove(
        D, noise / D, saturate(saturate(theta.beta * error) * step.scale), MAX_WEIGHT, NEGLIGIBLE
    )
    step.covariance.condition(step, row + MEAN, S, 1.0 / theta.alpha, D, saturate(error / (step.scale * D)), 1.0)
    if psi != NULL:
        step.covariance.follow(step, &by, psi, G)
    row[DRIFT_PREC], row[NOISE_PREC], row[NOISE_MEAN], row[NOISE_MEAN_VAR] = theta.alpha, theta.beta, theta.mu, theta.V
    row[N_SEEN] += 1.0


cdef void bypass_forecast(StepContext* step) noexcept nogil:
    _forecast(step, step.row + MEAN + step.n)


cdef void bypass_learn(StepContext* step, double y) noexcept nogil:
    _learn(step, y, step.row + MEAN + step.n, NULL, NULL, AS_IN_THE_PAPER)


cdef void corrected_bypass_learn(StepContext* step, double y) noexcept nogil:
    _learn(step, y, step.row + MEAN + step.n, NULL, NULL, <int>step.constants[BYPASS_CORRECTIONS])


cdef void ada_forecast(StepContext* step) noexcept nogil:
    _forecast(step, step.row + MEAN + 2 * step.n)


cdef inline void _ada_learn(StepContext* step, double y, int corrections) noexcept nogil:
    cdef double* psi = step.row + MEAN + step.n
    cdef double* S = psi + step.n
    _learn(step, y, S, psi, S + step.covariance.size(step.n), corrections)


cdef void ada_learn(StepContext* step, double y) noexcept nogil:
    _ada_learn(step, y, AS_IN_THE_PAPER)


cdef void corrected_ada_learn(StepContext* step, double y) noexcept nogil:
    _ada_learn(step, y, <int>step.constants[ADA_CORRECTIONS])


cdef void exact_learn(StepContext* step, double y) noexcept nogil:
    """Learn from y with the right gradients (E5): a, b and epsilon move first, then the weights, then the slopes."""
    cdef double* row = step.row
    cdef Theta theta = Theta(row[DRIFT_PREC], row[NOISE_PREC], row[NOISE_MEAN], row[NOISE_MEAN_VAR])
    cdef Slopes slopes = open_slopes(step, row + MEAN + step.n)
    cdef int corrections = <int>step.constants[ADA_CORRECTIONS]
    cdef SweepInputs seen
    cdef double e, D, move
    if isnan(y):
        step.covariance.add_drift(step, 1.0 / theta.alpha, row + MEAN + step.n)                         # (C.32)
        drift_slopes(&slopes, theta.alpha)
        return
    e = saturate(y - step.product)
    adapt_exactly(step, &slopes, &theta, e, corrections & E8, row + A)
    _fill_sweep_inputs(step, e, &seen)
    theta = _solve(theta, &seen, step.constants, corrections)
    D = seen.s + seen.n / theta.alpha + seen.noise_unit / theta.beta
    move = saturate((seen.e - theta.mu) / (step.scale * D))
    step.covariance.condition(step, row + MEAN, row + MEAN + step.n, 1.0 / theta.alpha, D, move, 1.0)
    follow_exactly(step, &slopes, &theta, &seen, corrections)
    row[DRIFT_PREC], row[NOISE_PREC], row[NOISE_MEAN], row[NOISE_MEAN_VAR] = theta.alpha, theta.beta, theta.mu, theta.V
    row[N_SEEN] += 1.0


cdef void bypass_weights(const StepContext* step, WeightsView* out) noexcept nogil:
    single_component(out, step.row + MEAN, step.row + MEAN + step.n, 1.0 / step.row[DRIFT_PREC])


cdef void ada_weights(const StepContext* step, WeightsView* out) noexcept nogil:
    single_component(out, step.row + MEAN, step.row + MEAN + 2 * step.n, 1.0 / step.row[DRIFT_PREC])


cdef void _export_mixture(StepContext* step, const double* S, LinearMixture* out) noexcept nogil:
    """Gaussian noise of the mean and precision that were last inferred."""
    cdef const double* row = step.row
    export_single(
        out, row + MEAN, S, 1.0 / row[DRIFT_PREC], 1.0 / sqrt(row[NOISE_PREC]), 0.0, GAUSSIAN, row[NOISE_MEAN]
    )


cdef void bypass_export_mixture(StepContext* step, LinearMixture* out) noexcept nogil:
    _export_mixture(step, step.row + MEAN + step.n, out)


cdef void ada_export_mixture(StepContext* step, LinearMixture* out) noexcept nogil:
    _export_mixture(step, step.row + MEAN + 2 * step.n, out)


BYPASS = Kernel.of(bypass_forecast, bypass_learn, bypass_weights, bypass_export_mixture)
ADA_BYPASS = Kernel.of(ada_forecast, ada_learn, ada_weights, ada_export_mixture)
CORRECTED_BYPASS = Kernel.of(bypass_forecast, corrected_bypass_learn, bypass_weights, bypass_export_mixture)
CORRECTED_ADA_BYPASS = Kernel.of(ada_forecast, corrected_ada_learn, ada_weights, ada_export_mixture)
EXACT_ADA_BYPASS = Kernel.of(bypass_forecast, exact_learn, bypass_weights, bypass_export_mixture)
