# One forecast laid out for evaluation, whichever way it is kept.

from adabypass.distributions.component cimport N_TARGETS, Component
from adabypass.distributions.packing cimport Packing
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
cdef void lay_out_record(const double* memory, Packing packing, Mix* mix) noexcept nogil
cdef Py_ssize_t count_transformed(Packing packing) noexcept
cdef double probability(const Mix* mix, double y, bint lower) noexcept nogil
cdef TailValues tail_of(const Mix* mix, const MixtureLanes* lanes, double y, bint lower, bint is_rough) noexcept nogil
cdef bint choose_largest(Mix* mix) noexcept nogil
cdef double value_of(const Student* part, double z) noexcept nogil
cdef void empty_mix(Mix* mix) noexcept nogil
cdef void add_components(const Component* parts, Py_ssize_t n, double share, Mix* mix) noexcept nogil
cdef void add_record(const double* memory, Packing packing, double share, Mix* mix) noexcept nogil
cdef void drop_negligible(Mix* mix, double negligible) noexcept nogil
cdef void finish_mix(Mix* mix) noexcept nogil
