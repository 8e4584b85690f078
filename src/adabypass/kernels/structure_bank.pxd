# All structures on one row: units, observations, shares, and evidence many steps ahead.

from adabypass.kernels.profiles cimport Profile, ProfileDesign
from adabypass.kernels.shares cimport Horizons
from adabypass.kernels.structures cimport Limits, StructuralFilter

cdef enum:
    # Scalars of the row, in the order of its layout.
    N_SEEN
    N_STEPS
    N_FIRST
    N_VALUES
    N_MISSING
    IS_SCALED
    IS_POSITIVE
    CENTER
    UNIT
    LOG_CENTER
    LOG_UNIT
    N_ZERO
    N_COUNTED
    LOWEST
    HIGHEST
    LOG_LOWEST
    IS_COUNT

cdef struct StructureBank:
    Py_ssize_t n_structures
    Py_ssize_t n_exog
    Py_ssize_t n_season
    Py_ssize_t longest          # past values that are kept
    Py_ssize_t n_waves
    double first_period         # 0 if there is none
    const double* waves         # (n_waves, 3)
    StructuralFilter* filters
    double* head                # fields of the row
    double* start
    double* values
    double* log_values
    Py_ssize_t n_profiles
    Profile* profiles
    double* profile_values      # (n_profiles,) of the next value; scratch
    double* exog_center
    double* exog_unit
    bint is_doubted             # whether the newest value may be a gross error, so that lags have no share
    Horizons horizons
    double* pending_mean        # (n_horizons, n_structures)
    double* pending_var         # (n_horizons, n_pending)
    Py_ssize_t n_pending
    double* season              # regressors of the next value; scratch, as what follows
    double* exog
    double* x
    double* cov_x
    double* scores              # log density of the newest value under each structure
    double* shares              # of the structures in the forecast of it
    double log_score            # log density of it in that forecast; nan where it does not count
    bint is_weighed             # whether that is to be computed
    double* future_season       # (the farthest horizon, n_season)
    double* future_profile      # (the farthest horizon,)
    double* future_mean         # (the farthest horizon,)
    double* future_var
    double* future_scratch      # of `ahead_size` numbers

cdef struct Table:
    # Where a forecast is written: an array (n_structures,) each.
    double* shares
    double* means
    double* scales
    double* dofs


cdef double in_units(const StructureBank* bank, double value, Py_ssize_t column) noexcept nogil
cdef void describe(StructureBank* bank, const double* exog, bint is_limited, const Table* out) noexcept nogil
cdef void keep_near(
    const StructureBank* bank, const StructuralFilter* f, double* mean, double* scale, double* dof
) noexcept nogil
cdef double zero_share(const StructureBank* bank) noexcept nogil
cdef double count_reserve(const StructureBank* bank) noexcept nogil
cdef bint is_counted(const StructureBank* bank) noexcept nogil
cdef double observe(StructureBank* bank, double y, const double* exog) noexcept nogil
cdef Limits limits_of(const StructureBank* bank, const StructuralFilter* f) noexcept nogil
cdef void fill_season(const StructureBank* bank, double t, double* out) noexcept nogil
cdef const double* lagged_values(const StructureBank* bank, const StructuralFilter* f) noexcept nogil
cdef bint fill_profile(
    const StructureBank* bank, const StructuralFilter* f, double t, Py_ssize_t n, double* out
) noexcept nogil
cdef void find_doubt(StructureBank* bank) noexcept nogil
cdef bint has_share(const StructureBank* bank, const StructuralFilter* f) noexcept nogil
cdef void structure_shares(const StructureBank* bank, const double* evidence, double* out) noexcept nogil
cdef void evidence_ahead(const StructureBank* bank, Py_ssize_t step, double* out) noexcept nogil
cdef double scale_ahead(const StructureBank* bank, Py_ssize_t k, Py_ssize_t step, double* dof) noexcept nogil
