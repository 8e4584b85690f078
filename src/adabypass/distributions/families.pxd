# What compiled code knows of every family of noise: one table of operations, indexed by `Family` of noise.py.

from libc.stdint cimport int64_t

from adabypass.distributions.component cimport Component
from adabypass.numerics.dispatch cimport MOST_FLEXIBLE, FlexibleNormals, Normals

cdef enum:
    MOST_FAMILIES = 8       # a power of two: indices are masked with one less, so that none leaves the table


cdef struct Noise
ctypedef double (*VarOf)(const Noise* noise, double epsilon) noexcept nogil
ctypedef double (*LogDensity)(const Noise* noise, const Component* part, double y) noexcept nogil

cdef struct Noise:
    bint has_epsilon                # whether its shape depends on epsilon
    double start_log                # log of the scale of AutoBypass's filters before anything is learned
    const Normals* normals          # what it is a mixture of, if their number is not 0
    double normals_var              # and its variance
    VarOf var                       # of noise of scale 1
    LogDensity log_density          # of a component at y


cdef Noise[MOST_FAMILIES] NOISES
cdef Normals[MOST_FAMILIES] NORMALS
cdef FlexibleNormals FLEXIBLE_NORMALS
cdef double[MOST_FLEXIBLE] FLEXIBLE_START   # shares of its normals before anything is learned
cdef int64_t INSENSITIVE, GAUSSIAN, MODERATE, STUDENT


cdef inline const Noise* noise_of(int64_t family) noexcept nogil:
    return &NOISES[family & (MOST_FAMILIES - 1)]


cdef double student_log_height(double dof) noexcept nogil
cdef double total_sd(const Component* part) noexcept nogil
cdef double part_sd(const Component* part, double noise_var) noexcept nogil
cdef bint is_normal(const Component* part) noexcept nogil
cdef void back_moments(int64_t target, double mean, double var, double* out_mean, double* out_var) noexcept nogil
cdef bint is_known(const Component* parts) noexcept nogil
cdef double mix_log_density(const Component* parts, Py_ssize_t n, double y) noexcept nogil
