# Forecasts laid out for evaluation.

from libc.math cimport fabs, floor

from adabypass.distributions.component cimport N_TARGETS, Component
from adabypass.distributions.record cimport RecordLayout
from adabypass.numerics.dispatch cimport MixtureLanes, TailValues


cdef struct Student:
    # A component that is a Student's t distribution of y, or of log y.
    double weight
    double location
    double scale
    double dof
    double log_height       # log density at the location
    bint is_log


cdef struct Mix:
    # One forecast: a mixture of components with total weight 1, which the atom at 0 reduces to 1 - atom_share.
    MixtureLanes[N_TARGETS] lanes       # normals and smoothed insensitive noise of y, log y and root y
    MixtureLanes largest                # components of y with a large weight, with weights that add up to 1
    Student* students
    Py_ssize_t n_students
    Py_ssize_t student_room             # capacity of `students`; 0 for a record
    bint has_log_students
    bint is_transformed                 # whether any component describes the log or the root of y
    bint has_extreme                    # whether the square of a standard deviation may overflow or underflow
    double center                       # start of a search for a quantile
    double unit                         # unit of a search: the mean standard deviation, robust to one wide component
    double atom_share                   # probability of a value of exactly 0
    double low                          # lower bound, to which smaller values are clipped
    double high                         # upper bound, to which larger values are clipped
    bint is_count                       # whether values are rounded, and at least `least`
    double least
    double* memory                      # the one allocation that all pointers of a Mix lead into
    Component* parts                    # scratch for the components of a record


cdef int make_room(Mix* mix, Py_ssize_t n_components, Py_ssize_t n_transformed, Py_ssize_t n_students) except -1
cdef void lay_out_record(const double* memory, RecordLayout layout, Mix* mix) noexcept nogil
cdef Py_ssize_t count_transformed(RecordLayout layout) noexcept
cdef inline bint is_whole(double y) noexcept nogil:
    """Whether a number is whole, and small enough to have whole neighbours."""
    return y == floor(y) and fabs(y) < 1e15


cdef double probability(const Mix* mix, double y, bint lower) noexcept nogil
cdef TailValues tail_of(const Mix* mix, const MixtureLanes* lanes, double y, bint lower, bint is_rough) noexcept nogil
cdef bint choose_largest(Mix* mix) noexcept nogil
cdef double value_of(const Student* part, double z) noexcept nogil


cdef class Forecasts:
    cdef const Component[:, ::1] parts      # (n, n_components), if forecasts are stored as components
    cdef const double[:, ::1] records       # (n, size), if they are stored as records
    cdef RecordLayout layout                # of the records, or None
    cdef readonly Py_ssize_t n              # number of forecasts
    cdef Mix mix                            # the forecast that is laid out
    cdef Py_ssize_t n_room                  # capacity of `mix` in components
    cdef Py_ssize_t n_transformed           # its capacity in components of log y; that for root y is the same
    cdef Py_ssize_t n_students              # its capacity in Student's t distributions
    cdef const double[::1] atom_share       # (n,) probability of exactly 0, or None
    cdef const double[::1] reserve          # (n,) above 0 of counts, or None
    cdef const double[:, ::1] share         # (n_pooled, 1 + n_pool) shares of these forecasts and of each in pool
    cdef const Py_ssize_t[::1] pooled_at    # (n,) row of `share`; -1 if the forecast is not pooled
    cdef list pool                          # `Forecasts` of n_pooled rows each
    cdef double low                         # bounds of all forecasts
    cdef double high

    cdef bint lay_out(self, Py_ssize_t t, double negligible) noexcept nogil
    cdef bint _add(self, Py_ssize_t t, double share, Mix* mix) noexcept nogil
    cdef bint _add_pool(self, Py_ssize_t row) noexcept
    cdef double log_density(self, Py_ssize_t t, double y) noexcept nogil
    cdef double _count_log_density(self, Py_ssize_t t, double y) noexcept nogil
    cdef double _own_log_density(self, Py_ssize_t t, double y, Component* room) noexcept nogil
    cdef double _pooled_log_density(self, Py_ssize_t t, double y) noexcept nogil
    cdef double _pool_log_density(self, Py_ssize_t row, double y, double own) noexcept
