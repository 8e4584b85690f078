# The rows of many series.


cdef class RowStore:
    cdef readonly Py_ssize_t row_size
    cdef readonly Py_ssize_t stride         # numbers from a row to the next: whole lines of the processor's cache
    cdef readonly Py_ssize_t rows_per_block
    cdef readonly Py_ssize_t n_rows
    cdef list blocks                        # arrays, which stay where they are
    cdef double** starts                    # first row of each block
    cdef Py_ssize_t n_blocks, room          # blocks that are there, and for which `starts` has room
    cdef Py_ssize_t aligned_at

    cdef double* at(self, Py_ssize_t index) noexcept nogil
