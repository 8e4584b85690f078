# What compiled code knows of every family of noise: one table of operations, indexed by `Family` of noise.py.

from libc.stdint cimport int64_t

from adabypass.model.component cimport Component

cdef enum:
    MOST_FAMILIES = 8       # a power of two: indices are masked with one less, so that none leaves the table
    MOST_NORMALS = 8


cdef struct Evidence:
    # What one observation says about η = (y - x'w)/σ, which is N(d, v) before it is seen.
    double log_density      # of y, times σ
    double shift            # posterior less prior mean of η
    double var              # posterior variance of η
    double scale_slope      # d log density / d log σ, of the density of y itself
    double epsilon_slope    # d log density / d ε


cdef struct Noise
ctypedef Evidence (*EvidenceOf)(const Noise* noise, double d, double v, double epsilon) noexcept nogil
ctypedef double (*VarOf)(const Noise* noise, double epsilon) noexcept nogil
ctypedef double (*LogDensity)(const Noise* noise, const Component* part, double y) noexcept nogil
ctypedef double (*Below)(const Noise* noise, const Component* part, double y, double* density) noexcept nogil
ctypedef double (*MeanDistance)(const Noise* noise, const Component* part, double y) noexcept nogil
ctypedef double (*PairDistance)(const Noise* noise, const Component* part, const Component* other) noexcept nogil

cdef struct Noise:
    bint has_epsilon                # whether its shape depends on epsilon
    double start_log                # log of the scale of AutoBypass's filters before anything is learned
    int n_normals                   # 0 unless it is a mixture of normals of mean 0
    double[MOST_NORMALS] share      # of these normals
    double[MOST_NORMALS] log_share
    double[MOST_NORMALS] sq         # and their variances
    double normals_var              # of the mixture
    double normal_miss              # bounds of the error of E |Y - t| when noise of variance 1 is taken for normal: as
    double smoothed_miss            # it is, and over S³ when a normal of variance S² is added: equation (75)
    EvidenceOf evidence
    VarOf var                       # of noise of scale 1
    LogDensity log_density          # of a component at y
    Below below                     # P(Y < y) of a component; its density at y is written
    MeanDistance mean_distance      # E |Y - y| of a component
    PairDistance pair_distance      # E |Y - Y'| of two components of this family; not needed of a mixture of normals


cdef Noise[MOST_FAMILIES] NOISES
cdef int64_t INSENSITIVE, GAUSSIAN, HEAVY


cdef inline const Noise* noise_of(int64_t family) noexcept nogil:
    return &NOISES[family & (MOST_FAMILIES - 1)]


cdef double total_sd(const Component* part) noexcept nogil
cdef bint is_normal(const Component* part) noexcept nogil
