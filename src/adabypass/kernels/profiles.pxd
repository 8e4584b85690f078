# What a series is at each position in a period, or in two, about a level that hardly moves: equations (N.46)-(N.50).

from libc.math cimport floor, fmod, sqrt
from libc.string cimport memmove, memset

from adabypass.numerics.special cimport larger, smaller

cdef enum:
    # Numbers of a profile, in the order of PROFILE_HEAD in state/structure_row.py; then the values, then the tables.
    PROFILE_LEVEL
    PROFILE_SQUARE_SUM
    PROFILE_DOF
    N_LEARNED
    PROFILE_VALUES

cdef struct Profile:
    bint is_log
    Py_ssize_t n_periods
    double[2] periods
    double[2] rates
    double length               # the longest period
    double* numbers             # in the row
    double* tables[2]

cdef struct ProfileDesign:
    # Constants of state/structures.py.
    double prior_dof
    double discount
    double max_surprise
    double gross_error
    double min_shock_dof
    double min_scale_var
    Py_ssize_t n_values


cdef inline Py_ssize_t _position(double t, double period) noexcept nogil:
    return <Py_ssize_t>fmod(t, period)


cdef inline bint is_known_for(const Profile* p, double n_periods) noexcept nogil:
    """Whether so many of its periods were seen."""
    return p.numbers[N_LEARNED] >= n_periods * p.length


cdef inline double profile_at(const Profile* p, double t) noexcept nogil:
    """Return the profile at time t: equation (N.46)."""
    cdef Py_ssize_t i
    cdef double total = p.numbers[PROFILE_LEVEL]
    for i in range(p.n_periods):
        total += p.tables[i][_position(t, p.periods[i])]
    return total


cdef inline void clear_profile(Profile* p, const ProfileDesign* design) noexcept nogil:
    cdef Py_ssize_t i
    memset(p.numbers, 0, (PROFILE_VALUES + design.n_values) * sizeof(double))
    p.numbers[PROFILE_SQUARE_SUM] = p.numbers[PROFILE_DOF] = design.prior_dof
    for i in range(p.n_periods):
        memset(p.tables[i], 0, <Py_ssize_t>p.periods[i] * sizeof(double))


cdef inline void learn_profile(Profile* p, const ProfileDesign* design, double t, double z) noexcept nogil:
    """Learn the value of time t."""
    cdef Py_ssize_t i
    cdef double* numbers = p.numbers
    cdef double error = z - profile_at(p, t), dof = numbers[PROFILE_DOF], scale, most, gain
    if numbers[N_LEARNED] >= p.length:
        scale = larger(numbers[PROFILE_SQUARE_SUM] / dof, design.min_scale_var)
        numbers[PROFILE_SQUARE_SUM] = (
            design.discount * numbers[PROFILE_SQUARE_SUM] + smaller(error * error, design.max_surprise * scale)
        )                                                                               # (N.47)
        numbers[PROFILE_DOF] = design.discount * dof + 1.0
        if dof >= design.min_shock_dof:
            most = design.gross_error * sqrt(scale)
            error = larger(-most, smaller(error, most))                                 # (N.48)
        numbers[PROFILE_LEVEL] += error / p.length                                      # (N.49)
        error -= error / p.length
    for i in range(p.n_periods):
        gain = larger(p.rates[i], 1.0 / (floor(numbers[N_LEARNED] / p.periods[i]) + 1.0 + i))
        p.tables[i][_position(t, p.periods[i])] += gain * error                         # (N.50)
        error -= gain * error
    numbers[N_LEARNED] += 1.0


cdef inline void push_rest(Profile* p, const ProfileDesign* design, double value) noexcept nogil:
    """Let what the profile leaves of the newest value join those that lags reach."""
    cdef double* values = p.numbers + PROFILE_VALUES
    memmove(values + 1, values, (design.n_values - 1) * sizeof(double))
    values[0] = value
