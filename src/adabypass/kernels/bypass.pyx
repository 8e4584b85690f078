"""BYPASS and ADA-BYPASS, in place on rows: equations (C.8)-(C.19), (C.32), (D.3), (D.4) and (D.8)-(D.18).

The step of the weights, (C.28)-(C.31), and the gradients that go with it, (D.5) and (D.6), are in covariance.pyx.

What the paper got wrong can be corrected, by name: a set of `Correction` goes down to the sweep, which has a form of
its own for them, so that the models as they are do not pay for it.

Features may stand divided by `step.scale` (C.33): then h, D and their parts are in units of scale², which is why the
noise's variance 1/β appears divided by it.
"""

from libc.math cimport copysign, exp, fabs, isfinite, isnan, sqrt

from adabypass.distributions.families cimport GAUSSIAN
from adabypass.kernels.covariance cimport squared_projection
from adabypass.kernels.step cimport (
    Kernel, MAX_VALUE, MAX_WEIGHT, LinearMixture, StepContext, WeightsView, export_single, saturate, single_component,
)
from adabypass.numerics.dispatch cimport GradientMove, SIMD
from adabypass.numerics.special cimport Moments, atom_moments, bessel_ratio, larger, smaller, truncated_moments

import numpy as np

from adabypass.numerics import limits

cdef enum Correction:           # a set of them is their sum; see the errata in docs/equations.md
    AS_IN_THE_PAPER = 0
    E1 = 1
    E2 = 2
    E3 = 4
    E4 = 8
    E5 = 16
    E8 = 32


cdef enum:
    N_OMEGA = 3                 # a, b and epsilon, in this order
    N_THETA = 4                 # alpha, beta, mu and V


ctypedef struct Theta:          # the variational means
    double alpha
    double beta
    double mu
    double V


ctypedef struct SweepInputs:       # all that the sweeps need of an observation
    double s                    # x'Sx / scale²
    double n                    # x'x / scale²
    double k                    # |Sx|² / scale²
    double e                    # y - x'm
    double n_features
    double scale
    double noise_unit           # 1 / scale²
    double a
    double b
    double epsilon


ctypedef struct Slopes:         # where the derivatives stand, those by a first
    Py_ssize_t n
    double* mean                # N_OMEGA vectors
    double* cov                 # N_OMEGA packed triangles
    double* theta               # N_OMEGA times N_THETA
    double* moved               # scratch  N_OMEGA vectors: dS @ x


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


cdef inline double squared_move(const SweepInputs* seen, double drift_var, int corrections) noexcept nogil:
    """|Px|² / scale² (C.14), or corrected |x|² / (alpha scale)² (D.8)"""
    if corrections & E1:
        return seen.n * drift_var * drift_var
    return seen.k + drift_var * (2.0 * seen.s + seen.n * drift_var)


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


# ADA-BYPASS's right gradients, equations (D.10)-(D.18), of a full covariance. They are forward derivatives of all that
# BYPASS believes by a, b and epsilon: the fixed point is differentiated by the implicit function theorem, where its
# sweeps have ended. Numbers that leave double precision become 0: a hyperparameter then does not move, and the forecast
# is untouched.

cdef enum:
    N_NODES = 64
    N_INPUTS = 10               # alpha, beta, mu, V, s, k, e, a, b, epsilon

cdef double MAX_SLOPE = limits.MAX_SLOPE
cdef double NEGLIGIBLE_LOG = 40.0       # exp(-40) is beyond double precision beside 1
cdef double[N_NODES] NODES, WEIGHTS


cdef int _fill_nodes() except -1:
    cdef Py_ssize_t i
    nodes, weights = np.polynomial.legendre.leggauss(N_NODES)
    for i in range(N_NODES):
        NODES[i], WEIGHTS[i] = nodes[i], weights[i]
    return 0


_fill_nodes()

ctypedef struct NoiseMean:      # q(mu)
    double mean
    double[5] central           # moments; the first three are not used
    double[2] ends              # density, or probability of the atoms, at -epsilon and epsilon

ctypedef struct NoiseMeanSlopes:        # of mean and variance of q(mu)
    double[2] by_r
    double[2] by_beta
    double[2] by_epsilon


cdef inline double _tame(double value) noexcept nogil:
    """np.clip(np.nan_to_num(value), -MAX_SLOPE, MAX_SLOPE)"""
    if not isfinite(value):
        return 0.0
    return larger(-MAX_SLOPE, smaller(value, MAX_SLOPE))


cdef Slopes open_slopes(StepContext* step, double* S) noexcept nogil:
    """Find the derivatives, which stand behind the covariance S."""
    cdef Slopes slopes
    cdef Py_ssize_t triangle = step.n * (step.n + 1) // 2
    slopes.n = step.n
    slopes.mean = S + triangle
    slopes.cov = slopes.mean + N_OMEGA * step.n
    slopes.theta = slopes.cov + N_OMEGA * triangle
    slopes.moved = step.scratch + 3 * step.n
    return slopes


cdef double _multiply(Py_ssize_t n, const double* matrix, const double* x, double* out) noexcept nogil:
    """out = matrix @ x of a packed triangle; return x @ matrix @ x"""
    cdef Py_ssize_t i, j
    cdef const double* line = matrix
    cdef double total = 0.0
    for i in range(n):
        out[i] = 0.0
        for j in range(i):
            out[i] += line[j] * x[j]
            out[j] += line[j] * x[i]
        out[i] += line[i] * x[i]
        line += i + 1
    for i in range(n):
        total += out[i] * x[i]
    return total


cdef double _dot(Py_ssize_t n, const double* a, const double* b) noexcept nogil:
    """a @ b"""
    cdef Py_ssize_t i
    cdef double total = 0.0
    for i in range(n):
        total += a[i] * b[i]
    return total


cdef void adapt_exactly(
    StepContext* step, Slopes* slopes, const Theta* theta, double e, bint by_likelihood, double* omega
) noexcept nogil:
    """Move a, b and epsilon, each along its own slope of the loss: equations (D.17) or (D.18), and (D.4)."""
    cdef Py_ssize_t j
    cdef double error = e - theta.mu, var = step.var, along, mean, d, var_slope
    cdef const double* slope
    for j in range(N_OMEGA):
        slope = slopes.theta + N_THETA * j
        along = step.scale * _dot(slopes.n, step.x, slopes.mean + j * slopes.n)
        d = theta.beta * along * error                                                  # (D.17)
        if by_likelihood:
            mean = along + slope[2]
            var_slope = _multiply(slopes.n, slopes.cov + j * (slopes.n * (slopes.n + 1) // 2), step.x, slopes.moved)
            var_slope = step.scale * (step.scale * (var_slope - step.square * (slope[0] / theta.alpha) / theta.alpha))
            var_slope -= slope[1] / theta.beta / theta.beta
            d = (mean * error + 0.5 * var_slope * (error * error / var - 1.0)) / var    # (D.18)
        d = _tame(step.constants[AGGRESSIVENESS] * d)
        omega[j] = smaller(larger(omega[j] + d, step.constants[OMEGA_MIN]), MAX_HYPERPARAMETER)


cdef NoiseMean _noise_mean(double location, double prec, double half_width, bint atoms) noexcept nogil:
    """q(mu) by quadrature, at distances d from its point nearest to `location`, in standard deviations: (D.9)."""
    cdef NoiseMean q
    cdef double[N_NODES + 2] d, share
    cdef double scale = sqrt(prec), nearest = smaller(fabs(location), half_width)
    cdef double tilt = scale * larger(fabs(location) - half_width, 0.0)
    cdef double reach = 2.0 * NEGLIGIBLE_LOG / (tilt + sqrt(tilt * tilt + 2.0 * NEGLIGIBLE_LOG))
    cdef double near_end = scale * (nearest - half_width), far_end = scale * (nearest + half_width)
    cdef double low = larger(-reach, near_end), half = 0.5 * (smaller(reach, far_end) - larger(-reach, near_end))
    cdef double total = 0.0, mean = 0.0, off, power
    cdef Py_ssize_t i, k, n = N_NODES
    for i in range(N_NODES):
        d[i] = low + half * (1.0 + NODES[i])
        share[i] = half * WEIGHTS[i] * exp(-(tilt + 0.5 * d[i]) * d[i]) / scale
        total += share[i]
    d[n], d[n + 1] = near_end, far_end
    for i in range(n, n + 2):
        share[i] = exp(-(tilt + 0.5 * d[i]) * d[i])
    if atoms:
        total += share[n] + share[n + 1]
        n += 2
    q.ends[0], q.ends[1] = share[N_NODES + 1] / total, share[N_NODES] / total
    if copysign(1.0, location) < 0.0:
        q.ends[0], q.ends[1] = q.ends[1], q.ends[0]
    for i in range(n):
        mean += share[i] / total * d[i]
    for k in range(5):
        q.central[k] = 0.0
    for i in range(n):
        off = copysign(1.0, location) * (mean - d[i]) / scale
        power = share[i] / total
        for k in range(5):
            q.central[k] += power
            power *= off
    q.mean = copysign(1.0, location) * (nearest - mean / scale)
    return q


cdef NoiseMeanSlopes _noise_mean_slopes(double r, double beta, double epsilon, bint atoms) noexcept nogil:
    """Derivatives of mean and variance of q(mu): equations (D.11)-(D.13)."""
    cdef NoiseMeanSlopes by
    cdef NoiseMean q = _noise_mean(r, beta, epsilon, atoms)
    cdef double var = q.central[2], third = q.central[3], off, weight, side
    cdef Py_ssize_t k
    by.by_r[0], by.by_r[1] = beta * var, beta * third                                                   # (D.11)
    by.by_beta[0] = (r - q.mean) * var - 0.5 * third                                                    # (D.12)
    by.by_beta[1] = (r - q.mean) * third - 0.5 * (q.central[4] - var * var)
    by.by_epsilon[0] = by.by_epsilon[1] = 0.0
    for k in range(2):                                                                                  # (D.13)
        side = 2.0 * k - 1.0
        off = side * epsilon - q.mean
        weight = 1.0 + (side * beta * (r - side * epsilon) if atoms else 0.0)
        by.by_epsilon[0] += q.ends[k] * (weight * off + (side if atoms else 0.0))
        by.by_epsilon[1] += q.ends[k] * (weight * (off * off - var) + (2.0 * side * off if atoms else 0.0))
    return by


cdef void _sweep_slopes(
    const Theta* theta, const SweepInputs* seen, const NoiseMeanSlopes* by, int corrections,
    const double* move,             # in     of alpha, beta, mu, V, s, k, e, a, b and epsilon
    double* out,                    # out    of alpha, beta, mu and V
) noexcept nogil:
    """How a sweep's results move if its inputs do: the derivatives of (C.11)-(C.19)."""
    cdef double beta = theta.beta, q = 1.0 / theta.alpha, d_q = -move[0] * q * q, d_beta = move[1]
    cdef double h = seen.s + seen.n * q, d_h = move[4] + seen.n * d_q
    cdef double D = h + seen.noise_unit / beta, d_D = d_h - seen.noise_unit * d_beta / beta / beta
    cdef double c = seen.e - theta.mu, d_c = move[6] - move[2]
    cdef double p2 = squared_move(seen, q, corrections), d_p2 = 2.0 * seen.n * q * d_q
    cdef double part = h / D, d_part = (d_h - part * d_D) / D
    cdef double r = seen.e - c * part, d_r = move[6] - d_c * part - c * d_part
    cdef double gain = saturate(c / (seen.scale * D)), d_gain = d_c / (seen.scale * D) - gain * d_D / D
    cdef double spread = 2.0 * seen.b + p2 * gain * gain + (seen.n_features * q - p2 / D)
    cdef double shape = 2.0 * seen.a + (seen.n_features if corrections & E2 else 0.0)
    cdef double rho = (r - theta.mu) * (r - theta.mu) + part / beta + theta.V, d_rho, d_spread, ratio
    if not corrections & E1:
        d_p2 = move[5] + 2.0 * q * move[4] + 2.0 * h * d_q
    d_spread = 2.0 * move[8] + d_p2 * (gain * gain - 1.0 / D) + 2.0 * p2 * gain * d_gain
    d_spread += seen.n_features * d_q + p2 / D * d_D / D
    out[0] = 0.0
    if spread > 0.0 and MIN_PREC < shape / spread < MAX_PREC:
        out[0] = (2.0 * move[7] - shape / spread * d_spread) / spread
    rho = smaller(larger(rho, MIN_RHO), MAX_VALUE)
    d_rho = 2.0 * (r - theta.mu) * (d_r - move[2]) + d_part / beta - part * d_beta / beta / beta + move[3]
    ratio = bessel_ratio(rho)
    out[1] = d_rho * (-0.5 / (rho * sqrt(rho)) if corrections & E3 else 0.5 * (ratio * ratio - 1.0 / rho))      # (D.10)
    out[2] = by.by_r[0] * d_r + by.by_beta[0] * d_beta + by.by_epsilon[0] * move[9]
    out[3] = by.by_r[1] * d_r + by.by_beta[1] * d_beta + by.by_epsilon[1] * move[9]


cdef void _solve_linear(double[N_THETA][N_THETA] matrix, double[N_THETA][N_OMEGA] right) noexcept nogil:
    """right = np.linalg.solve(matrix, right), by elimination with pivots; `matrix` is used up."""
    cdef Py_ssize_t i, j, k, pivot
    cdef double factor
    for i in range(N_THETA):
        pivot = i
        for j in range(i + 1, N_THETA):
            if fabs(matrix[j][i]) > fabs(matrix[pivot][i]):
                pivot = j
        for k in range(N_THETA):
            matrix[i][k], matrix[pivot][k] = matrix[pivot][k], matrix[i][k]
        for k in range(N_OMEGA):
            right[i][k], right[pivot][k] = right[pivot][k], right[i][k]
        for j in range(N_THETA):
            if j != i:
                factor = matrix[j][i] / matrix[i][i]
                for k in range(i, N_THETA):
                    matrix[j][k] -= factor * matrix[i][k]
                for k in range(N_OMEGA):
                    right[j][k] -= factor * right[i][k]
    for i in range(N_THETA):
        for k in range(N_OMEGA):
            right[i][k] /= matrix[i][i]


cdef void _theta_slopes(
    const Theta* theta, const SweepInputs* seen, int corrections, double[N_OMEGA][3] inputs, double* out
) noexcept nogil:
    """Derivatives of the fixed point, from those of s, k and e: equation (D.14)."""
    cdef double c = seen.e - theta.mu, h = seen.s + seen.n / theta.alpha
    cdef double r = seen.e - c * h / (h + seen.noise_unit / theta.beta)
    cdef NoiseMeanSlopes by = _noise_mean_slopes(r, theta.beta, seen.epsilon, corrections & E4)
    cdef double[N_THETA][N_THETA] matrix
    cdef double[N_THETA][N_OMEGA] right
    cdef double[N_INPUTS] move
    cdef double[N_THETA] answer
    cdef Py_ssize_t i, j
    for j in range(N_THETA + N_OMEGA):
        for i in range(N_INPUTS):
            move[i] = 0.0
        if j < N_THETA:
            move[j] = 1.0
        else:
            for i in range(3):
                move[N_THETA + i] = inputs[j - N_THETA][i]
            move[3 + j] = 1.0           # of a, b and epsilon, which are the last three
        _sweep_slopes(theta, seen, &by, corrections, move, answer)
        for i in range(N_THETA):
            if j < N_THETA:
                matrix[i][j] = (1.0 if i == j else 0.0) - answer[i]
            else:
                right[i][j - N_THETA] = answer[i]
    _solve_linear(matrix, right)
    for j in range(N_OMEGA):
        for i in range(N_THETA):
            out[N_THETA * j + i] = _tame(right[i][j])


cdef void follow_exactly(
    StepContext* step, Slopes* slopes, const Theta* theta, const SweepInputs* seen, int corrections
) noexcept nogil:
    """Carry the derivatives through a step that has been taken: scratch memory begins with p = P @ x."""
    cdef Py_ssize_t i, j, k, n = slopes.n
    cdef const double* p = step.scratch
    cdef const double* x = step.x
    cdef double q = 1.0 / theta.alpha, D = seen.s + seen.n * q + seen.noise_unit / theta.beta
    cdef double gain = saturate((seen.e - theta.mu) / (seen.scale * D)), d_q, d_D, d_gain, dp
    cdef double[N_OMEGA][3] inputs
    cdef double* cov
    cdef double* mean
    cdef double* moved
    for j in range(N_OMEGA):
        moved = slopes.moved + j * n
        inputs[j][0] = _tame(_multiply(n, slopes.cov + j * (n * (n + 1) // 2), x, moved))
        inputs[j][1] = _tame(2.0 * (_dot(n, moved, p) - q * inputs[j][0]))       # u = p - q x
        inputs[j][2] = _tame(-seen.scale * _dot(n, x, slopes.mean + j * n))
    _theta_slopes(theta, seen, corrections, inputs, slopes.theta)
    for j in range(N_OMEGA):
        moved, mean, cov = slopes.moved + j * n, slopes.mean + j * n, slopes.cov + j * (n * (n + 1) // 2)
        d_q = -slopes.theta[N_THETA * j] * q * q
        d_D = inputs[j][0] + seen.n * d_q - seen.noise_unit * slopes.theta[N_THETA * j + 1] / theta.beta / theta.beta
        d_gain = (inputs[j][2] - slopes.theta[N_THETA * j + 2]) / (seen.scale * D) - gain * d_D / D
        for i in range(n):
            dp = moved[i] = moved[i] + d_q * x[i]
            mean[i] = _tame(mean[i] + gain * dp + d_gain * p[i])                        # (D.15)
        for i in range(n):                                                              # (D.16)
            for k in range(i + 1):
                cov[k] = _tame(cov[k] - (moved[i] * p[k] + p[i] * moved[k] - p[i] * p[k] * d_D / D) / D)
            cov[i] = _tame(cov[i] + d_q)
            cov += i + 1


cdef void drift_slopes(Slopes* slopes, double alpha) noexcept nogil:
    """Let a step without an observation pass: S grows by 1 / alpha."""
    cdef Py_ssize_t i, j
    cdef double* cov = slopes.cov
    for j in range(N_OMEGA):
        for i in range(slopes.n):
            cov[i] = _tame(cov[i] - slopes.theta[N_THETA * j] / alpha / alpha)
            cov += i + 1


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
