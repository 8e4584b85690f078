# SciPy's special functions, found when they are imported: so one build runs with every version of SciPy.

cdef double erfcx(double x) noexcept nogil
cdef double log_ndtr(double x) noexcept nogil
cdef double ndtr(double x) noexcept nogil
cdef double ndtri(double p) noexcept nogil
cdef double stdtr(double dof, double t) noexcept nogil
cdef double stdtrit(double dof, double p) noexcept nogil
