# The compiled functions of the instruction set in use.

cdef extern from "kernels.h" nogil:
    enum:
        MOST_NORMALS

    ctypedef struct Normals:
        int n
        int widest
        double[MOST_NORMALS] share
        double[MOST_NORMALS] sq
        double var
        double log_sd

    ctypedef struct Evidence:
        double log_density
        double shift
        double var
        double scale_slope
        double epsilon_slope

    ctypedef struct Kernels:
        const char* name
        int width
        Evidence (*normals_evidence)(const Normals* normals, double d, double v) noexcept nogil
        Evidence (*insensitive_evidence)(double d, double v, double epsilon) noexcept nogil
        void (*apply)(int function, const double* a, double* out, ptrdiff_t n) noexcept nogil


cdef const Kernels* KERNELS
