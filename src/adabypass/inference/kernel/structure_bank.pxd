# All structures on one row: units, evidence and shares, equations (130), (139) and (140).

from adabypass.inference.kernel.structure_filter cimport Filter

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

cdef struct Bank:
    Py_ssize_t n_structures
    Py_ssize_t n_exog
    Py_ssize_t n_season
    Py_ssize_t longest          # past values that are kept
    Py_ssize_t n_waves
    double first_period         # 0 if there is none
    const double* waves         # (n_waves, 3)
    Filter* filters
    double* head                # fields of the row
    double* start
    double* values
    double* log_values
    double* exog_center
    double* exog_unit
    double* season              # regressors of the next value; scratch, as what follows
    double* exog
    double* x
    double* cov_x
    double* scores              # log density of the newest value under each structure

cdef struct Table:
    # Where a forecast is written: an array (n_structures,) each.
    double* shares
    double* means
    double* scales
    double* dofs


cdef void fill_season(const Bank* bank, double t, double* out) noexcept nogil
cdef double in_units(const Bank* bank, double value, Py_ssize_t column) noexcept nogil
cdef void fill_shares(const Bank* bank, double* out) noexcept nogil
cdef void describe(Bank* bank, const double* exog, const Table* out) noexcept nogil
cdef double zero_share(const Bank* bank) noexcept nogil
cdef void observe(Bank* bank, double y, const double* exog) noexcept nogil
