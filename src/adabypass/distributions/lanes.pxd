# One forecast laid out for evaluation, whichever way it is kept.

from adabypass.distributions.component cimport N_TARGETS, Component
from adabypass.distributions.record cimport RecordLayout
from adabypass.numerics.dispatch cimport MixtureLanes, TailValues


cdef struct Student:
    # A component that is a Student's t distribution of the value, or of its log.
    double weight
    double location
    double scale
    double dof
    double log_height       # log density where it is highest
    bint is_log


cdef struct Mix:
    # A forecast: a mixture of components, which together have all of the probability but that of the atom.
    MixtureLanes[N_TARGETS] lanes       # normals and insensitive noise of y, its log and its root
    MixtureLanes largest                # those of y with a large weight alone
    Student* students
    Py_ssize_t n_students
    Py_ssize_t student_room             # Student's t distributions that there is room for: a record has none
    bint has_log_students
    bint is_transformed                 # whether any lane is of the log or the root
    bint has_extreme                    # whether the square of a standard deviation could overflow or underflow
    double center                       # where a search begins,
    double unit                         # and the mean standard deviation: it hardly feels the widest component
    double atom_share                   # probability of a value of exactly 0
    double low                          # values beyond these bounds are moved to them
    double high
    double* memory
    Component* parts                    # room for the components of a record


cdef int make_room(Mix* mix, Py_ssize_t n_components, Py_ssize_t n_transformed, Py_ssize_t n_students) except -1
cdef void lay_out_record(const double* memory, RecordLayout layout, Mix* mix) noexcept nogil
cdef Py_ssize_t count_transformed(RecordLayout layout) noexcept
cdef double probability(const Mix* mix, double y, bint lower) noexcept nogil
cdef TailValues tail_of(const Mix* mix, const MixtureLanes* lanes, double y, bint lower, bint is_rough) noexcept nogil
cdef bint choose_largest(Mix* mix) noexcept nogil
cdef double value_of(const Student* part, double z) noexcept nogil


cdef class Forecasts:
    cdef const Component[:, ::1] parts      # (n, n_components), or
    cdef const double[:, ::1] records       # (n, size), with
    cdef RecordLayout layout
    cdef readonly Py_ssize_t n
    cdef Mix mix
    cdef Py_ssize_t n_room                  # components that there is room for,
    cdef Py_ssize_t n_transformed           # that may be about the log of y, and as many about its root,
    cdef Py_ssize_t n_students              # and that may be Student's t distributions
    cdef const double[::1] atom_share       # (n,), or None
    cdef const double[:, ::1] share         # (n_pooled, 1 + n_pool) of these forecasts and of each in the pool, or None
    cdef const Py_ssize_t[::1] pooled_at    # (n,) row of `share`, -1 if the forecast is not pooled
    cdef list pool                          # Forecasts of n_pooled rows each
    cdef double low
    cdef double high

    cdef bint lay_out(self, Py_ssize_t t, double negligible) noexcept nogil
    cdef bint _add(self, Py_ssize_t t, double share, Mix* mix) noexcept nogil
    cdef bint _add_pool(self, Py_ssize_t row) noexcept
    cdef double log_density(self, Py_ssize_t t, double y) noexcept nogil
    cdef double _own_log_density(self, Py_ssize_t t, double y, Component* room) noexcept nogil
    cdef double _pooled_log_density(self, Py_ssize_t t, double y) noexcept nogil
    cdef double _pool_log_density(self, Py_ssize_t row, double y, double own) noexcept
