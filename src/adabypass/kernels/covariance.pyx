"""What a step does with the covariance of the weights: full, (C.28)-(C.32), or its diagonal alone, (M.1) and (M.2).

With each goes the gradient that ADA-BYPASS carries along: (D.5) and (D.6), or (M.14)-(M.16). Of a diagonal, G is kept
as its diagonal too, zeta. Gradients fade with every step, and arithmetic on denormal numbers is slow: so those that no
longer matter become 0.
"""

from libc.string cimport memcpy

from adabypass.kernels.step cimport COVARIANCE, GRADIENT, N_MATRICES, Pending, saturate, saturate_weight
from adabypass.numerics.dispatch cimport Conditioning, GradientMove, Projection, SIMD, Update
from adabypass.numerics.special cimport larger, smaller

from adabypass.numerics import limits

cdef double MAX_WEIGHT = limits.MAX_WEIGHT
cdef double ROUNDING = limits.ROUNDING
cdef double NEGLIGIBLE = limits.NEGLIGIBLE_GRADIENT


# A full covariance. The update of a matrix may wait for the next product with it.

cdef Py_ssize_t full_size(Py_ssize_t n) noexcept nogil:
    return n * (n + 1) // 2


cdef inline const Update* take(StepContext* step, int which) noexcept nogil:
    """The update that waits for a matrix, which the caller makes; NULL if there is none."""
    if step.pending == NULL or step.pending[which].matrix == NULL:
        return NULL
    step.pending[which].matrix = NULL
    return &step.pending[which].update


cdef void update(StepContext* step, int which, const Update* by, double* matrix) noexcept nogil:
    """Update a matrix, or let that wait; before it, a product has made any update that waited."""
    cdef Pending* pending
    cdef Py_ssize_t n = step.n
    cdef const double* second = by.b if by.b != NULL else by.diagonal
    if step.pending == NULL:
        SIMD.update(n, by, matrix)
        return
    pending = step.pending + which
    pending.matrix = matrix
    pending.update = by[0]
    memcpy(pending.vectors, by.a, n * sizeof(double))
    memcpy(pending.vectors + n, second, n * sizeof(double))
    pending.update.a = pending.vectors
    if by.b != NULL:
        pending.update.b = pending.vectors + n
    else:
        pending.update.diagonal = pending.vectors + n


cdef void flush_updates(StepContext* step) noexcept nogil:
    """Make all updates that wait, so that the row says what the model has learned."""
    cdef int which
    if step.pending == NULL:
        return
    for which in range(N_MATRICES):
        if step.pending[which].matrix != NULL:
            SIMD.update(step.n, &step.pending[which].update, step.pending[which].matrix)
            step.pending[which].matrix = NULL


cdef double squared_projection(StepContext* step) noexcept nogil:
    """|S @ x|², after `project`"""
    return SIMD.dot(step.n, step.scratch, step.scratch)


cdef void project_full(StepContext* step, const double* m, double* S) noexcept nogil:
    cdef Projection seen = SIMD.project(
        step.n, m, take(step, COVARIANCE), S, step.x, step.scratch, step.scratch + step.n
    )
    step.prior_var, step.square, step.product = seen.prior_var, seen.square, saturate(step.scale * seen.product)


cdef void condition_full(
    StepContext* step, double* m, double* S, double drift_var, double D, double move, double explained
) noexcept nogil:
    """Equations (C.28)-(C.31)."""
    cdef Conditioning by = Conditioning(drift_var, (step.n + 4) * ROUNDING, D, move, MAX_WEIGHT, explained)
    cdef double factor = SIMD.condition(step.n, &by, step.x, step.scratch, step.scratch + step.n, m)
    cdef Update change = Update(factor, -1.0, step.scratch, NULL, step.scratch + step.n)
    update(step, COVARIANCE, &change, S)


cdef void add_drift_full(StepContext* step, double amount, double* S) noexcept nogil:
    """Equation (C.32)."""
    cdef Py_ssize_t i
    for i in range(step.n):
        S[i * (i + 3) // 2] += amount


cdef void follow_full(StepContext* step, const GradientMove* by, double* psi, double* G) noexcept nogil:
    """Equations (D.5) and (D.6).

    With g = p/D, v = Gx and f = x'v, (D.5) is G - g v' - v g' + f g g' = G - (g a' + a g') where a = v - f g/2, and the
    new Gx is `left` = 1 - x'g times v - f g: no second product with a matrix.
    """
    cdef Py_ssize_t n = step.n
    cdef double* g = step.scratch
    cdef double* v = g + n
    cdef double* a = v + n
    cdef double f
    cdef Update change
    SIMD.multiply(n, take(step, GRADIENT), G, step.x, v, NULL)
    f = SIMD.move_gradient(n, by, step.x, g, v, g, a, psi)                             # (D.6)
    change = Update(-1.0, NEGLIGIBLE if f < NEGLIGIBLE else -1.0, g, a, NULL)
    update(step, GRADIENT, &change, G)                                                  # (D.5)


# A diagonal.

cdef Py_ssize_t diagonal_size(Py_ssize_t n) noexcept nogil:
    return n


cdef void project_diagonal(StepContext* step, const double* m, double* S) noexcept nogil:
    """Equation (M.1)."""
    cdef Py_ssize_t i, n = step.n
    cdef double product = 0.0
    step.prior_var = step.square = 0.0
    for i in range(n):
        step.scratch[i], step.scratch[n + i] = S[i] * step.x[i], S[i]
        step.prior_var += step.x[i] * step.scratch[i]
        step.square += step.x[i] * step.x[i]
        product += step.x[i] * m[i]
    step.product = saturate(step.scale * product)


cdef void condition_diagonal(
    StepContext* step, double* m, double* S, double drift_var, double D, double move, double explained
) noexcept nogil:
    """Equations (C.29) and (M.2)."""
    cdef Py_ssize_t i, n = step.n
    cdef double P, p
    for i in range(n):
        P = step.scratch[n + i] + drift_var
        step.scratch[i] = p = step.scratch[i] + drift_var * step.x[i]
        m[i] = saturate_weight(m[i] + move * p)
        S[i] = larger(P * (1.0 - explained * smaller(p * step.x[i] / D, 1.0)), 0.0)


cdef void add_drift_diagonal(StepContext* step, double amount, double* S) noexcept nogil:
    """Equation (C.32)."""
    cdef Py_ssize_t i
    for i in range(step.n):
        S[i] += amount


cdef inline double narrowed(double zeta, double g, double x, double f, double negligible) noexcept nogil:
    """The new zeta of a feature, whose gain is g; f = zeta @ x²: equations (M.14) and (M.16)."""
    cdef double left = 1.0 - g * x
    cdef double moved = zeta * left * left + g * (g * larger(f - zeta * x * x, 0.0))
    if moved < zeta:       # and a number
        zeta = moved
    return zeta if zeta > negligible else 0.0


cdef void follow_diagonal(StepContext* step, const GradientMove* by, double* psi, double* zeta) noexcept nogil:
    """Equations (M.14)-(M.16)."""
    cdef Py_ssize_t i, n = step.n
    cdef double* g = step.scratch
    cdef double* v = g + n
    cdef double f
    for i in range(n):
        v[i] = zeta[i] * step.x[i]
    f = SIMD.move_gradient(n, by, step.x, g, v, g, v + n, psi)                               # (M.15)
    for i in range(n):
        zeta[i] = narrowed(zeta[i], g[i], step.x[i], f, by.negligible)


FULL = Covariance(False, full_size, project_full, condition_full, add_drift_full, follow_full)
DIAGONAL = Covariance(
    True, diagonal_size, project_diagonal, condition_diagonal, add_drift_diagonal, follow_diagonal
)
