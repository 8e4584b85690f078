"""SciPy's special functions, found when they are imported.

`cimport` would bind the name that a function has in the SciPy of the build, and `stdtr` has become `__pyx_fuse_0stdtr`
since SciPy 1.13: a wheel that was built with one version would not be imported with the other. Here a function is
looked up by the name it has in any version, and by its types.
"""

from cpython.pycapsule cimport PyCapsule_GetPointer, PyCapsule_IsValid

from scipy.special import cython_special

ctypedef double (*OneArgument)(double, int) noexcept nogil
ctypedef double (*TwoArguments)(double, double, int) noexcept nogil

cdef const char* ONE = "double (double, int __pyx_skip_dispatch)"
cdef const char* TWO = "double (double, double, int __pyx_skip_dispatch)"

cdef OneArgument scipy_erfcx = <OneArgument>find("erfcx", ONE)
cdef OneArgument scipy_log_ndtr = <OneArgument>find("log_ndtr", ONE)
cdef OneArgument scipy_ndtr = <OneArgument>find("ndtr", ONE)
cdef OneArgument scipy_ndtri = <OneArgument>find("ndtri", ONE)
cdef TwoArguments scipy_stdtr = <TwoArguments>find("stdtr", TWO)
cdef TwoArguments scipy_stdtrit = <TwoArguments>find("stdtrit", TWO)


cdef void* find(str name, const char* types) except NULL:
    """Return the function of this name and these types, which may be one of several for different types."""
    for full_name in (name, f"__pyx_fuse_0{name}", f"__pyx_fuse_1{name}"):
        capsule = cython_special.__pyx_capi__.get(full_name)
        if capsule is not None and PyCapsule_IsValid(capsule, types):
            return PyCapsule_GetPointer(capsule, types)
    raise ImportError(f"scipy.special.cython_special has no {name} of double precision; install another SciPy.")


cdef double erfcx(double x) noexcept nogil:
    return scipy_erfcx(x, 0)


cdef double log_ndtr(double x) noexcept nogil:
    return scipy_log_ndtr(x, 0)


cdef double ndtr(double x) noexcept nogil:
    return scipy_ndtr(x, 0)


cdef double ndtri(double p) noexcept nogil:
    return scipy_ndtri(p, 0)


cdef double stdtr(double dof, double t) noexcept nogil:
    return scipy_stdtr(dof, t, 0)


cdef double stdtrit(double dof, double p) noexcept nogil:
    return scipy_stdtrit(dof, p, 0)
