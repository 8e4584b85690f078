# Where a row of AutoBypass, its scratch memory and its constants end, for models that have several in one row.

from adabypass.kernels.step cimport StepContext


ctypedef struct Extent:
    double* first_walk          # in the row, what is at the start of a cache line
    double* row_end
    double* scratch_end
    const double* constants_end
    Py_ssize_t n_record         # numbers that keep a forecast


cdef void find_extent(StepContext* step, Extent* out) noexcept nogil
