# What comes in from Python with one observation: numbers, without a call to Python where they are plain ones.

cdef bint is_vector(object array)
cdef bint is_target(object y) noexcept
cdef double as_target(object y) except? -1.0
cdef bint copy_plain(object values, Py_ssize_t n, double* out)
cdef bint all_finite(const double* values, Py_ssize_t n) noexcept nogil
