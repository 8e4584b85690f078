"""The one loop: a row, the kernel that moves it, and the way in for Python."""

from cpython.exc cimport PyErr_CheckSignals
from libc.math cimport NAN, fabs, frexp, isfinite, ldexp, sqrt
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy

from adabypass.model.component cimport Component
from adabypass.model.special cimport larger

cimport numpy as cnp

from adabypass.inference.kernel.linalg cimport add_diagonal, add_outer

from adabypass.model import limits
from adabypass.validation import check_features, check_target

cnp.import_array()

LARGEST = limits.LARGEST
LARGEST_WEIGHT = limits.LARGEST_WEIGHT
cdef double LARGE_FEATURE = limits.LARGE_FEATURE
cdef double ROUNDING = limits.ROUNDING

cdef enum:
    BETWEEN_SIGNALS = 4194304   # numbers of covariance to go through between two looks for Ctrl-C


cdef void condition(
    Py_ssize_t n, double* m, double* S, double* p, const double* x, double drift_var, double D, double move
) noexcept nogil:
    """Condition the weights on one observation, in place: equations (25)-(28).

    On entry p = S @ x; on exit p = P @ x. `D` is the predictive variance, `move` the innovation over D: both in the
    units in which x stands.
    """
    cdef Py_ssize_t i
    cdef double floor
    add_diagonal(n, drift_var, S)
    floor = guard(n, S, x, D)
    for i in range(n):
        p[i] += drift_var * x[i]                                                        # Px
        m[i] = saturate_weight(m[i] + move * p[i])                                      # (26)
    add_outer(n, -1.0 / larger(D, floor), p, S)                                           # (27)  P - Px (Px)' / D


cdef double guard(Py_ssize_t n, double* P, const double* x, double D) noexcept nogil:
    """Make room on P's diagonal for the rounding of P - Px (Px)' / D; give the least D that it lets through: (28)."""
    cdef Py_ssize_t i, at = 0
    cdef double reach = 0.0, rounding = (n + 4) * ROUNDING
    for i in range(n):
        reach += sqrt(larger(P[at + i], 0.0)) * fabs(x[i])
        at += i + 1
    at = 0
    for i in range(n):
        P[at + i] *= 1.0 + rounding * (1.0 + reach / sqrt(D))
        at += i + 1
    return rounding * reach * reach


cdef class Kernel:
    """How one kind of model forecasts and learns: a pair of compiled functions."""

    @staticmethod
    cdef Kernel of(Forecast forecast, Absorb absorb, bint scale_up, Describe describe=NULL, Weigh weigh=NULL):
        cdef Kernel kernel = Kernel.__new__(Kernel)
        kernel.describe = describe
        kernel.weigh = weigh
        kernel.forecast = forecast
        kernel.absorb = absorb
        kernel.scale_up = scale_up
        return kernel


cdef class Cell:
    """A row together with the kernel that moves it.

    Parameters
    ----------
    kernel : Kernel
    row : float64 array, changed in place
        The model's memory.
    constants : float64 array
        What the kernel needs and never changes.
    n_features : int
    n_scratch : int
        How many numbers the kernel wants to work with, besides one for each feature.
    """

    cdef readonly cnp.ndarray row
    cdef readonly Py_ssize_t n_features
    cdef Kernel kernel
    cdef cnp.ndarray constants
    cdef Py_ssize_t n_scratch
    cdef double* scratch        # of `forecast` and `absorb`, which hold the interpreter's lock; `run` has its own

    def __cinit__(
        self, Kernel kernel, cnp.ndarray row, cnp.ndarray constants, Py_ssize_t n_features, Py_ssize_t n_scratch
    ):
        if not (_is_vector(row) and _is_vector(constants) and cnp.PyArray_ISWRITEABLE(row)):
            raise TypeError("row and constants must be contiguous vectors of float64, and the row writeable")
        self.kernel = kernel
        self.row = row
        self.constants = constants
        self.n_features = n_features
        self.n_scratch = n_scratch
        self.scratch = self._allocate()

    def __dealloc__(self):
        free(self.scratch)

    def forecast(self, x):
        """Give mean and variance of the observation at `x`, before it is seen."""
        cdef Step step
        self._begin(&step, self.scratch)
        self._forecast(&step, x)
        return step.mean, step.var

    def components(self, x, Component[::1] out):
        """Write the components of the forecast at `x`: a kernel that has any."""
        cdef Step step
        self._begin(&step, self.scratch)
        self._forecast(&step, x)
        self.kernel.describe(&step, &out[0])
        return step.mean, step.var

    def absorb(self, x, y, const double[::1] extra=None):
        """Learn from having seen `y` at `x`; nan is a missing observation.

        `extra`, which only kernels with exact evidence take to heart, is the variance of x'w under each component that
        comes from an x that is not known exactly.
        """
        cdef Step step
        cdef double target = y if isinstance(y, float) and isfinite(<double>y) else check_target(y)
        self._begin(&step, self.scratch)
        if extra is not None:
            step.extra = &extra[0]
        self._forecast(&step, x)
        self.kernel.absorb(&step, target)

    def step(self, x, y, Component[::1] out):
        """Forecast `y` at `x`, then learn from it; `out`, if it has any rows, takes the forecast's components."""
        cdef Step step
        cdef double target = y if isinstance(y, float) and isfinite(<double>y) else check_target(y)
        self._begin(&step, self.scratch)
        self._forecast(&step, x)
        mean, var = step.mean, step.var
        if out.shape[0]:
            self.kernel.describe(&step, &out[0])
        self.kernel.absorb(&step, target)
        return mean, var

    def run(
        self, const double[:, ::1] X, const double[::1] y, double[:, ::1] history, double[:, ::1] weights,
        Py_ssize_t cov_at, Component[:, ::1] components,
    ):
        """Forecast and absorb every row of X in turn.

        `history` (out) takes mean and variance before each y, then the head of the row after it. `weights` (out), if it
        has any rows, takes the mean of the weights after each y, then their variances if it is wide enough: these stand
        in the row from `cov_at`. `components` (out), if it has any rows, takes the components of each forecast.
        """
        cdef Step step
        cdef Py_ssize_t t = 0, stop, n = self.n_features, n_rows = y.shape[0], head = history.shape[1] - 2
        cdef bint keep = weights.shape[0] > 0, keep_var = weights.shape[1] > n, describe = components.shape[0] > 0
        cdef double* scratch = self._allocate()
        try:
            self._begin(&step, scratch)
            while t < n_rows:
                stop = min(t + 1 + BETWEEN_SIGNALS // (self.row.shape[0] + 256), n_rows)
                with nogil:
                    while t < stop:
                        _aim(&step, &X[t, 0], self.kernel.scale_up)
                        self.kernel.forecast(&step)
                        history[t, 0] = step.mean
                        history[t, 1] = step.var
                        if describe:
                            self.kernel.describe(&step, &components[t, 0])
                        self.kernel.absorb(&step, y[t])
                        memcpy(&history[t, 2], step.row, head * sizeof(double))
                        if keep and self.kernel.weigh != NULL:
                            self.kernel.weigh(&step, &weights[t, 0], &weights[t, n])
                        elif keep:
                            memcpy(&weights[t, 0], step.row + head, n * sizeof(double))
                            if keep_var:
                                _copy_diagonal(n, step.row + cov_at, &weights[t, n])
                        t += 1
                PyErr_CheckSignals()
        finally:
            free(scratch)

    cdef double* _allocate(self) except NULL:
        cdef double* scratch = <double*>malloc((self.n_features + self.n_scratch) * sizeof(double))
        if scratch == NULL:
            raise MemoryError()
        return scratch

    cdef int _forecast(self, Step* step, object x) except -1:
        cdef cnp.ndarray features = self._features(x)
        _aim(step, <const double*>cnp.PyArray_DATA(features), self.kernel.scale_up)
        self.kernel.forecast(step)
        return 0

    cdef cnp.ndarray _features(self, x):
        """Check x; the common case without a call to Python."""
        cdef Py_ssize_t i
        cdef const double* values
        if _is_vector(x) and cnp.PyArray_DIM(x, 0) == self.n_features:
            values = <const double*>cnp.PyArray_DATA(x)
            for i in range(self.n_features):
                if not isfinite(values[i]):
                    break
            else:
                return x
        return check_features(x, self.n_features)

    cdef void _begin(self, Step* step, double* scratch):
        step.n = self.n_features
        step.row = <double*>cnp.PyArray_DATA(self.row)
        step.constants = <const double*>cnp.PyArray_DATA(self.constants)
        step.scaled = scratch
        step.scratch = scratch + self.n_features
        step.extra = NULL
        step.mean = step.var = NAN


cdef inline bint _is_vector(object array):
    return (
        cnp.PyArray_CheckExact(array)
        and cnp.PyArray_NDIM(array) == 1
        and cnp.PyArray_TYPE(array) == cnp.NPY_FLOAT64
        and cnp.PyArray_ISCARRAY_RO(array)
    )


cdef inline void _aim(Step* step, const double* x, bint scale_up) noexcept nogil:
    """Point the step at x, divided by a power of two where its squares could overflow (or, if asked, vanish): (37)."""
    cdef Py_ssize_t i
    cdef double largest = 0.0
    cdef double* scaled = step.scaled
    cdef int exponent
    step.x = x
    step.scale = 1.0
    for i in range(step.n):
        if fabs(x[i]) > largest:
            largest = fabs(x[i])
    if largest > LARGE_FEATURE or (scale_up and 0.0 < largest < 1.0 / LARGE_FEATURE):
        frexp(largest, &exponent)
        exponent = min(max(exponent, -1022), 1023)      # so that the scale itself is a normal number
        for i in range(step.n):
            scaled[i] = ldexp(x[i], -exponent)
        step.x = scaled
        step.scale = ldexp(1.0, exponent)


cdef inline void _copy_diagonal(Py_ssize_t n, const double* A, double* out) noexcept nogil:
    """out = A.diagonal()"""
    cdef Py_ssize_t i, at = 0
    for i in range(n):
        out[i] = A[at + i]
        at += i + 1
