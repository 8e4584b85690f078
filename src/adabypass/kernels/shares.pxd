# Discounted evidence and the shares that follow from it, one step ahead and at horizons beyond.

cdef struct Horizons:
    # What was learned from forecasts many steps ahead, of several members at once.
    Py_ssize_t n                # horizons
    Py_ssize_t n_members
    double* count               # (n,)  forecasts that count as evidence, discounted
    double* dof                 # (n,)  squared errors, discounted
    double* evidence            # (n, n_members)
    double* square_sum          # (n, n_members)  squared errors, discounted


cdef inline Py_ssize_t horizon_steps(Py_ssize_t ratio, Py_ssize_t j) noexcept nogil:
    """ratio ** (j + 1): how many steps ahead horizon j is, where each is `ratio` times the one before."""
    cdef Py_ssize_t steps = ratio
    for _ in range(j):
        steps *= ratio
    return steps


cdef void add_log_scores(
    double* evidence, const double* scores, Py_ssize_t n, double discount, double power
) noexcept nogil
cdef void fill_shares(const double* evidence, Py_ssize_t n, double* share) noexcept nogil
cdef void judge_horizon(
    Horizons* horizons, Py_ssize_t j, const double* scores, const double* squares, double discount, double power
) noexcept nogil
cdef double horizon_row(const Horizons* horizons, double place, Py_ssize_t* row) noexcept nogil
cdef double evidence_at(
    const Horizons* horizons, Py_ssize_t k, double one_step, Py_ssize_t row, double part
) noexcept nogil
