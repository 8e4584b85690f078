# A bank of filters: its units, its start, what it forecasts, how it learns, and the weights that it exports.

from libc.math cimport exp

from adabypass.distributions.component cimport Component
from adabypass.kernels.step cimport Covariance, LinearMixture, StepContext, WeightsView
from adabypass.numerics.dispatch cimport LANES
from adabypass.numerics.special cimport larger
from adabypass.state.bank_table cimport Bank, DRIFT_VAR


cdef extern from "bank.h" nogil:
    double MIN_SHARE


cdef inline const double* setting(const Bank* bank, Py_ssize_t which) noexcept nogil:
    """One of the settings, of every filter."""
    return bank.settings + which * bank.n_filters


cdef inline Py_ssize_t var_at(const Bank* bank, Py_ssize_t walk, Py_ssize_t i) noexcept nogil:
    """Where in `walk_cov` the variance of weight i of a walk is."""
    return (i if bank.is_diagonal else i * (i + 3) // 2) * LANES + walk


cdef inline double share_of_walk(const Bank* bank, Py_ssize_t walk) noexcept nogil:
    """Share of all filters of a walk in the mixture."""
    cdef Py_ssize_t j
    cdef double total = 0.0
    for j in range(bank.n_filters // LANES):
        total += bank.filter_share[j * LANES + walk]
    return total


cdef inline double drift_of_walk(const Bank* bank, Py_ssize_t walk) noexcept nogil:
    """Variance of a step of a walk, in standard units, but for jumps: equation (H.7)."""
    cdef Py_ssize_t j
    cdef double slow = 0.0
    for j in range(bank.n_filters // LANES):
        slow += bank.filter_share[j * LANES + walk] * bank.filter_slow[j * LANES + walk]
    slow /= larger(share_of_walk(bank, walk), MIN_SHARE)
    return setting(bank, DRIFT_VAR)[walk] * exp(2.0 * slow)


cdef void standardise(Bank* bank, const double* x, double scale) noexcept nogil
cdef void find_scales(Bank* bank, const double* x, double scale) noexcept nogil


cdef void start_component(const Bank* bank, Py_ssize_t k, Component* out) noexcept nogil
cdef double start_log_density(const Bank* bank, double y) noexcept nogil
cdef void center_and_scale(
    const double* first, Py_ssize_t count, Py_ssize_t stride, bint centred, double* center, double* scale
) noexcept nogil
cdef void reset(Bank* bank, double widening) noexcept nogil
cdef void start_over(Bank* bank) noexcept nogil
cdef bint is_milestone(const Bank* bank) noexcept nogil
cdef void remember(Bank* bank, const double* x, double scale, double y) noexcept nogil


cdef void measure_bank(
    Bank* bank, const double* constants, Py_ssize_t n_features, const Covariance* covariance
) noexcept nogil
cdef void open_bank(const StepContext* step, Bank* bank) noexcept nogil
cdef void forecast_start(const Bank* bank, double* mean, double* var) noexcept nogil
cdef void forecast_bank(Bank* bank, const double* x, double scale, double* mean, double* var) noexcept nogil
cdef void learn_bank(Bank* bank, const double* x, double scale, double y) noexcept nogil
cdef void describe_bank(const Bank* bank, double base, double* record) noexcept nogil
cdef void mixture_weights(StepContext* step, double* mean, double* var) noexcept nogil
cdef void weights(const StepContext* step, WeightsView* out) noexcept nogil


cdef void export_mixture(StepContext* step, LinearMixture* out) noexcept nogil
