# ADA-BYPASS's right gradients: equations (D.10)-(D.18).

from adabypass.kernels.step cimport StepContext


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


cdef inline double squared_move(const SweepInputs* seen, double drift_var, int corrections) noexcept nogil:
    """|Px|² / scale² (C.14), or corrected |x|² / (alpha scale)² (D.8)"""
    if corrections & E1:
        return seen.n * drift_var * drift_var
    return seen.k + drift_var * (2.0 * seen.s + seen.n * drift_var)


cdef Slopes open_slopes(StepContext* step, double* S) noexcept nogil

cdef void adapt_exactly(
    StepContext* step, Slopes* slopes, const Theta* theta, double e, bint by_likelihood, double* omega
) noexcept nogil

cdef void follow_exactly(
    StepContext* step, Slopes* slopes, const Theta* theta, const SweepInputs* seen, int corrections
) noexcept nogil

cdef void drift_slopes(Slopes* slopes, double alpha) noexcept nogil
