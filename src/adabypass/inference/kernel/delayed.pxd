# A covariance whose updates wait until a block of observations has been seen.

cimport numpy as cnp

from adabypass.simd.dispatch cimport Delayed, Projection


ctypedef struct Block:
    Delayed by                  # the updates that wait, and the products with the block's features
    double* matrix              # the covariance, as a packed triangle
    Py_ssize_t at               # observation of the block that is next
    Py_ssize_t end              # where the next block begins


cdef class BlockMemory:
    cdef Block block
    cdef cnp.ndarray memory


cdef void start_blocks(Block* block, double* matrix) noexcept nogil
cdef Py_ssize_t next_length(const Block* block, Py_ssize_t n_left) noexcept nogil
cdef void set_features(Block* block, Py_ssize_t row, const double* x) noexcept nogil
cdef void open_block(Block* block, Py_ssize_t n_rows) noexcept nogil
cdef void close_block(Block* block) noexcept nogil
cdef void write_variances(Block* block) noexcept nogil
cdef Projection project_delayed(
    Block* block, const double* m, const double* x, double* p, double* diagonal
) noexcept nogil
cdef void condition_delayed(Block* block, double factor, const double* p, const double* widened) noexcept nogil
cdef void drift_delayed(Block* block, double amount) noexcept nogil
