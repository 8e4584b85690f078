# What every model's step looks like: the one shape that lets a single loop drive them all.

from adabypass.model.component cimport Component
from adabypass.model.special cimport larger, smaller


ctypedef struct Step:
    # One observation on its way through a model. `forecast` fills what `absorb` then uses.
    Py_ssize_t n                # in     number of features
    double* row                 # inout  the model's memory (model/row.py)
    const double* constants     # in     hyperparameters that never change (model/spec.py)
    const double* x             # in     features, divided by `scale`
    double scale                # in     a power of two; 1 unless the features are huge
    const double* extra         # in     variance of x'w because x is not known exactly, of each component; or NULL
    double* scaled              # out    room for the scaled features
    double* scratch             # out    as many numbers as the spec says; owned by the caller
    double mean                 # out    forecast; of a model without a variance, `var` is nan
    double var
    double prior_var            # scratch  x'Sx, in units of scale²
    double square               # scratch  x'x, in units of scale²
    double product              # scratch  x'm

ctypedef void (*Forecast)(Step* step) noexcept nogil
ctypedef void (*Absorb)(Step* step, double y) noexcept nogil
ctypedef void (*Describe)(Step* step, Component* out) noexcept nogil
ctypedef void (*Weigh)(Step* step, double* mean, double* var) noexcept nogil


cdef class Kernel:
    cdef Forecast forecast
    cdef Absorb absorb
    cdef Describe describe      # NULL unless the forecast is a mixture
    cdef Weigh weigh            # NULL if the weights stand in the row as they are
    cdef bint scale_up          # whether tiny features are scaled as well as huge ones

    @staticmethod
    cdef Kernel of(Forecast forecast, Absorb absorb, bint scale_up, Describe describe=*, Weigh weigh=*)


cdef double LARGEST, LARGEST_WEIGHT


cdef inline double saturate(double value) noexcept nogil:
    """np.clip(value, -LARGEST, LARGEST)"""
    return larger(-LARGEST, smaller(value, LARGEST))


cdef inline double saturate_weight(double value) noexcept nogil:
    """np.clip(value, -LARGEST_WEIGHT, LARGEST_WEIGHT)"""
    return larger(-LARGEST_WEIGHT, smaller(value, LARGEST_WEIGHT))


cdef void condition(
    Py_ssize_t n, double* m, double* S, double* p, const double* x, double drift_var, double D, double move
) noexcept nogil

cdef double guard(Py_ssize_t n, double* P, const double* x, double D) noexcept nogil
