from adabypass.inference.kernel.low_rank cimport LowRank

cdef void shorten(LowRank* low, Py_ssize_t count) noexcept nogil
cdef void forget_columns(LowRank* low) noexcept nogil
