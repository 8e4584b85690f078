"""A covariance whose updates wait until a block of observations has been seen: equations (200) to (202).

The products of the covariance with the features of the whole block, and all its updates, take one pass through memory.
Within the block, each product is corrected for the updates that wait. The diagonal is always up to date: (28) needs it.

The correction rounds as the covariance at the block's beginning does. So a block ends early once the variance of any
weight has fallen far below what it was: what is left would be rounded away.
"""

from libc.string cimport memcpy, memset

cimport numpy as cnp

from adabypass.model.special cimport larger
from adabypass.simd.dispatch cimport KERNELS, MOST_DELAYED, SLAB, TILE, Delayed, Projection

import numpy as np

from adabypass.model.row import aligned

cnp.import_array()


cdef class BlockMemory:
    """The memory of blocks for a covariance of `n` weights."""

    def __cinit__(self, Py_ssize_t n):
        cdef Delayed* by = &self.block.by
        cdef Py_ssize_t padded = (n + TILE - 1) // TILE * TILE, most = MOST_DELAYED
        if n < 1:
            raise ValueError("there must be at least one weight")
        self.memory = aligned(np.zeros(most + 3 * padded + 5 * most * padded), at=0)
        by.n, by.padded, by.most = n, padded, most
        by.factors = <double*>cnp.PyArray_DATA(self.memory)
        by.diagonal = by.factors + most
        by.first = by.diagonal + padded
        by.added = by.first + padded
        by.vectors = by.added + padded
        by.features = by.vectors + most * padded
        by.products = by.features + most * padded
        by.left = by.products + most * padded
        by.right = by.left + most * padded
        by.n_updates = by.n_rows = 0
        self.block.matrix = NULL
        self.block.at = self.block.end = most


cdef void start_blocks(Block* block, double* matrix) noexcept nogil:
    """Take a covariance, of which no update waits."""
    cdef Py_ssize_t i
    block.matrix = matrix
    for i in range(block.by.n):
        block.by.diagonal[i] = matrix[i * (i + 3) // 2]


cdef Py_ssize_t next_length(const Block* block, Py_ssize_t n_left) noexcept nogil:
    """How many observations the next block is to have: where one ended early, the next may do so too."""
    return min(n_left, block.by.most, max(<Py_ssize_t>SLAB, 2 * block.at))


cdef void set_features(Block* block, Py_ssize_t row, const double* x) noexcept nogil:
    """Let x, or 0 if it is NULL, be the features of an observation of the block that is opened next."""
    cdef Py_ssize_t i
    cdef double* column = block.by.features + row // SLAB * SLAB * block.by.padded + row % SLAB
    for i in range(block.by.n):
        column[i * SLAB] = x[i] if x != NULL else 0.0


cdef void open_block(Block* block, Py_ssize_t n_rows) noexcept nogil:
    """Begin a block of observations whose features have been set, once the updates of the last block are made."""
    cdef Py_ssize_t row
    for row in range(n_rows, (n_rows + SLAB - 1) // SLAB * SLAB):
        set_features(block, row, NULL)
    block.by.n_rows = n_rows
    _pass(block)
    block.at, block.end = 0, n_rows


cdef void close_block(Block* block) noexcept nogil:
    """Make all updates that wait."""
    block.by.n_rows = 0
    _pass(block)


cdef void _pass(Block* block) noexcept nogil:
    cdef Delayed* by = &block.by
    KERNELS.delayed_pass(by, block.matrix)                                              # (202)
    by.n_updates = 0
    memcpy(by.first, by.diagonal, by.n * sizeof(double))
    memset(by.added, 0, by.n * sizeof(double))


cdef void write_variances(Block* block) noexcept nogil:
    """Write the diagonal, as it is with all updates, to where it is kept; what else stands there waits on."""
    cdef Py_ssize_t i
    for i in range(block.by.n):
        block.matrix[i * (i + 3) // 2] = block.by.diagonal[i]


cdef Projection project_delayed(
    Block* block, const double* m, const double* x, double* p, double* diagonal
) noexcept nogil:
    """p = S @ x, diagonal = np.diag(S); x are the features of the block's next observation."""
    cdef Py_ssize_t n = block.by.n
    KERNELS.delayed_product(&block.by, block.at, x, p)                                  # (201)
    memcpy(diagonal, block.by.diagonal, n * sizeof(double))
    return Projection(larger(KERNELS.dot(n, x, p), 0.0), KERNELS.dot(n, x, x), KERNELS.dot(n, x, m))


cdef void condition_delayed(Block* block, double factor, const double* p, const double* widened) noexcept nogil:
    """Let S += factor * outer(p, p) wait, once the diagonal has been set to `widened`."""
    if not KERNELS.delay(&block.by, factor, p, widened):                                # (200)
        block.end = block.at + 1


cdef void drift_delayed(Block* block, double amount) noexcept nogil:
    """S += amount * eye(n)"""
    cdef Py_ssize_t i
    for i in range(block.by.n):
        block.by.diagonal[i] += amount
        block.by.added[i] += amount
