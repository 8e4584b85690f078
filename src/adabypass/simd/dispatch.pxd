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
        # of vectors
        double (*dot)(ptrdiff_t n, const double* a, const double* b) noexcept nogil
        double (*largest_size)(ptrdiff_t n, const double* a) noexcept nogil
        double (*widen)(
            ptrdiff_t n, double drift_var, double rounding, double D, const double* x, double* diagonal
        ) noexcept nogil
        void (*move_mean)(
            ptrdiff_t n, double drift_var, const double* x, double move, double bound, double* p, double* m
        ) noexcept nogil
        # of packed lower triangles
        void (*multiply)(
            ptrdiff_t n, const double* A, const double* x, double* out, double* diagonal
        ) noexcept nogil
        void (*add_outer)(
            ptrdiff_t n, double factor, const double* a, const double* diagonal, double* A
        ) noexcept nogil
        void (*add_outer_pair)(
            ptrdiff_t n, double factor, const double* a, const double* b, double negligible, double* A
        ) noexcept nogil
        void (*apply)(int function, const double* a, double* out, ptrdiff_t n) noexcept nogil


cdef const Kernels* KERNELS
