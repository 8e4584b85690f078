# Operations on every noise family: one table, indexed by `Family` of numerics/noise.py.

from libc.stdint cimport int64_t

from adabypass.distributions.component cimport Component
from adabypass.numerics.dispatch cimport N_FLEXIBLE_NORMALS, FlexibleNormals, Normals

cdef enum:
    MAX_FAMILIES = 8       # a power of two: indices are masked with one less, so that none leaves the table


cdef struct Noise
ctypedef double (*VarOf)(const Noise* noise, double epsilon) noexcept nogil
ctypedef double (*LogDensity)(const Noise* noise, const Component* part, double y) noexcept nogil

cdef struct Noise:
    bint has_epsilon                # whether its shape depends on epsilon
    double start_log                # log of the initial noise scale of AutoBypass's filters
    const Normals* normals          # normals of which it is a mixture; n is 0 for insensitive noise
    double normals_var              # variance of that mixture
    VarOf var                       # variance at scale 1
    LogDensity log_density          # log density of a component at y


cdef Noise[MAX_FAMILIES] NOISES
cdef Normals[MAX_FAMILIES] NORMALS
cdef FlexibleNormals FLEXIBLE_NORMALS
cdef double[N_FLEXIBLE_NORMALS] FLEXIBLE_START   # initial shares of the normals of flexible noise
cdef int64_t INSENSITIVE, GAUSSIAN, MODERATE, STUDENT


cdef inline const Noise* noise_of(int64_t family) noexcept nogil:
    return &NOISES[family & (MAX_FAMILIES - 1)]


cdef double student_log_height(double dof) noexcept nogil
cdef double total_sd(const Component* part) noexcept nogil
cdef double part_sd(const Component* part, double noise_var) noexcept nogil
cdef bint is_normal(const Component* part) noexcept nogil
cdef void back_moments(int64_t target, double mean, double var, double* out_mean, double* out_var) noexcept nogil
cdef bint is_known(const Component* parts) noexcept nogil
cdef double mix_log_density(const Component* parts, Py_ssize_t n, double y) noexcept nogil
