# A covariance D - B M B' and a mean m + B b, of which B has few columns: equation (173).

from adabypass.simd.dispatch cimport Projection


ctypedef struct Entry:
    # A number of a sparse column, where they are sorted by feature.
    Py_ssize_t column
    double value


ctypedef struct Desk:
    # Scratch memory for making a covariance short.
    Py_ssize_t* first           # (n + 1,), of each feature among the entries
    Entry* entries              # (room + n,)
    double* weighted            # (n_all, n_all), B' D⁻¹ B
    double* matrix              # (n_all, n_all), its product with the roots on both sides, then its eigenvectors
    double* directions          # (n_all, n_all), row j: by what column j of B is multiplied in each direction
    double* eigenvalues         # (n_all,)
    double* work                # (WORK * n_all,), LAPACK's
    double* map                 # (rank, width_of), the same of features that are in no sparse column
    double* whole               # (n_all,), one feature in each direction
    double* inner               # (rank, rank), W'DW
    double* chunk               # (CHUNK, width_of)
    double* scaled              # (CHUNK, rank)


cdef enum:
    CHUNK = 256                 # features that are worked on at once, so that they stay in the processor's cache
    WORK = 34


ctypedef struct LowRank:
    Py_ssize_t n                # number of features
    Py_ssize_t rank             # number of dense columns of B
    Py_ssize_t most             # largest number of sparse columns, which follow
    Py_ssize_t n_all            # rank + most
    Py_ssize_t room             # for the numbers of the sparse columns
    # in the row (model/covariance.py)
    double* mean                # m
    double* var                 # of D, without `common`
    double* common
    double* factors             # (n, rank), the dense columns
    double* n_columns           # number of sparse columns
    double* roots               # (n_all, n_all), M = roots' roots
    double* gram                # (n_all, n_all), B'B, its lower triangle
    double* shift               # b
    double* begin               # of each sparse column
    double* indices
    double* values
    # in the row too, where ADA-BYPASS adapts; else NULL
    double* gradient            # (n,), the mean's, without what the columns say
    double* gradient_shift      # (n_all,), what they say
    double* var_gradient        # (n,)
    double gradient_move        # by what the newest observation moves the gradient along p of equation (174)
    # the features that are given, in ascending order
    Py_ssize_t n_given
    const Py_ssize_t* given
    # scratch
    double* spread              # (n,), all 0 between calls
    double* products            # (n_all,), B'x
    double* along               # (n_all,), roots B'x
    double* change              # (n_all,), c of equation (174)
    double* newest              # (n_given,), z of equation (174)
    Desk desk


cdef inline Py_ssize_t width_of(const LowRank* low) noexcept nogil:
    """Number of columns of a feature's numbers in the map: directions twice, what its mean gains, and its gradient."""
    return 2 * low.rank + (1 if low.gradient == NULL else 2)


cdef Py_ssize_t desk_size(const LowRank* low) noexcept nogil
cdef void lay_desk(LowRank* low, double* memory) noexcept nogil
cdef Projection project_low_rank(LowRank* low, const double* x) noexcept nogil
cdef double squared_product(LowRank* low, const double* x, double prior_var, double square) noexcept nogil
cdef void condition_low_rank(
    LowRank* low, const double* x, double drift_var, double D, double move, double explained
) noexcept nogil
cdef void products_with(LowRank* low, const double* v, double* out) noexcept nogil
