"""A model's row, and the way in for Python: one observation, or a whole stream.

Memory stays safe whatever is passed, and from however many threads. What comes in is converted first, which may run any
code; then it is copied into buffers of the cell's own and checked there; from then on no Python code runs until the
kernel is done. A stream is run on a cell of its own, and on copies of the arrays.

Of many features, the update of a matrix waits for the next product with it: then both take one pass through memory. So
the row is up to date only where it is read through `row`, which makes what updates are pending.

The newest forecast stays in those buffers until the row changes: an `update` at the features of the `predict` before it
learns from that forecast, and does not make it again.
"""

from cpython.exc cimport PyErr_CheckSignals
from libc.math cimport NAN, isnan
from libc.stdlib cimport free, malloc
from libc.string cimport memcmp, memcpy

cimport numpy as cnp

from adabypass.kernels.arguments cimport all_finite, as_target, copy_plain, is_vector
from adabypass.kernels.forecast_factory cimport ForecastFactory
from adabypass.kernels.row_cell cimport RowCell, OneStepForecast
from adabypass.kernels.running cimport check_idle
from adabypass.kernels.step cimport (
    LINE, N_MATRICES, Kernel, WeightsView, StepContext, Weigh, Weights, scale_features, next_line, flush_updates,
    weight_cov, weight_mean,
)

import numpy as np

from adabypass.state.layout import aligned
from adabypass.validation import check_features

cnp.import_array()

cdef enum:
    BETWEEN_SIGNALS = 1048576       # numbers of a row to go through between two checks for Ctrl-C
    ROW_OVERHEAD = 256              # numbers that a step costs besides those of its row
    POSTPONE_FROM = 32              # features; below it a matrix is never far from the processor


cdef class Cell(RowCell):
    """A row together with the kernel that moves it.

    Parameters
    ----------
    kernel : Kernel
    spec : Spec
        What the row belongs to: it says how many numbers the row and the kernel's scratch have.
    row : float64 array
        The model's memory; the cell takes it over, or a copy that begins at a better address.
    n_features : int
    """

    def __cinit__(self, Kernel kernel not None, spec, cnp.ndarray row not None, Py_ssize_t n_features):
        cdef Py_ssize_t i, n_waiting
        constants = np.array(spec.constants(), dtype=np.float64)
        if n_features < 1 or not is_vector(row) or not cnp.PyArray_ISWRITEABLE(row):
            raise TypeError("row must be a contiguous, writeable vector of float64, for at least one feature")
        if row.shape[0] != spec.row_size(n_features):
            raise ValueError(f"row has {row.shape[0]} numbers, but this model needs {spec.row_size(n_features)}")
        self.kernel, self.spec = kernel, spec
        self._row = aligned(row, spec.aligned_at(n_features))
        self.constants = constants
        self.n_features = n_features
        self.n_record, self.n_components = spec.n_record, spec.n_components
        self.n_inputs, self.row_size = n_features, row.shape[0]
        self.log_score_at = spec.log_score_at
        self.is_diagonal = not spec.is_full
        self.n_head = spec.n_head
        self.n_scratch = spec.n_scratch(n_features)
        self.factory = ForecastFactory(spec, kernel.describe != NULL)
        self.postpones = n_features >= POSTPONE_FROM
        n_waiting = 2 * N_MATRICES * n_features if self.postpones else 0
        self.memory = <double*>malloc((3 * n_features + n_waiting + LINE + self.n_scratch) * sizeof(double))
        if self.memory == NULL:
            raise MemoryError()
        self.given = self.memory + 2 * n_features
        for i in range(N_MATRICES):
            self.pending[i].matrix = NULL
            self.pending[i].vectors = self.given + (1 + 2 * i) * n_features
        self.scratch = next_line(self.given + n_features + n_waiting)
        self.begin(&self.newest)

    def __dealloc__(self):
        free(self.memory)

    @property
    def row(self):
        """The model's memory, up to date until the model next learns."""
        flush_updates(&self.newest)
        return self._row

    def predict(self, x):
        """Return the forecast of the observation at `x`."""
        self.load(x)
        record = self.factory.new_record(self.may_mix(NULL, 0))     # which runs no Python code
        self.forecast()
        if record is not None:
            self.describe(record)
        return self.factory.make(self.newest.mean, self.newest.var, record)

    def update(self, x, y):
        """Learn from having seen `y` at `x`; nan is a missing observation."""
        cdef double target = as_target(y)
        self.load(x)
        check_idle(self.state)
        self.forecast()
        self.learn(target)

    def step(self, x, y):
        """Forecast `y` at `x` as `predict` does, then learn from it."""
        cdef double target = as_target(y), mean, var
        self.load(x)
        check_idle(self.state)
        record = self.factory.new_record(self.may_mix(NULL, 0))     # which runs no Python code
        self.forecast()
        mean, var = self.newest.mean, self.newest.var
        if record is not None:
            self.describe(record)
        self.learn(target)
        return self.factory.make(mean, var, record)

    def run(self, const double[:, ::1] X, const double[::1] y, bint keep_weights, bint keep_records):
        """Forecast and learn every row of X in turn. Cell, X and y are this call's own, and checked.

        Returns
        -------
        history : array (n, 2 + n_head)
            Mean and variance before each y, then the head of the row after it.
        weights : array (n, 2 * n_features), or with no rows
            Mean and variance of the weights after each y.
        records : array (n, n_record), or with no rows
            The forecasts: distributions/record.pyx. If none can speak of the log or the root of y, without what would.
        """
        cdef StepContext step
        cdef Py_ssize_t t = 0, stop, n = self.n_features, n_rows = y.shape[0]
        if X.shape[0] != n_rows or X.shape[1] != n:
            raise ValueError("X must have a row for each y, and a column for each feature")
        kept = np.empty((n_rows, 2 + self.n_head))
        kept_weights = np.empty((n_rows if keep_weights else 0, 2 * n))
        keep_records = keep_records and self.factory.n_record > 0
        cdef bint may_mix = n_rows > 0 and self.may_mix(&y[0], n_rows)
        cdef Py_ssize_t n_record = self.factory.n_record if may_mix else self.factory.n_own
        kept_records = np.empty((n_rows if keep_records else 0, n_record))
        cdef double[:, ::1] history = kept, weights = kept_weights, records = kept_records
        self.is_current = False
        self.begin(&step)
        step.opened_row, step.is_plain = NULL, not may_mix
        while t < n_rows:
            stop = min(t + rows_between_signals(self._row.shape[0]), n_rows)
            with nogil:
                while t < stop:
                    scale_features(&step, &X[t, 0], self.kernel.scale_up)
                    self.kernel.forecast(&step)
                    history[t, 0] = step.mean
                    history[t, 1] = step.var
                    if keep_records:
                        self.kernel.describe(&step, 0.0, &records[t, 0])
                    self.kernel.learn(&step, y[t])
                    memcpy(&history[t, 2], step.row, self.n_head * sizeof(double))
                    if keep_weights:
                        flush_updates(&step)
                        write_weights(self.kernel.weigh, self.kernel.weights, &step, &weights[t, 0])
                    t += 1
            PyErr_CheckSignals()
        flush_updates(&step)
        return kept, kept_weights, kept_records

    cdef bint may_mix(self, const double* y, Py_ssize_t n) noexcept nogil:
        """Whether the forecast of any of n observations, or of the one after them, may speak of the log or the root."""
        return self.kernel.may_mix != NULL and self.kernel.may_mix(&self.newest, y, n)

    cdef void describe(self, cnp.ndarray record) noexcept:
        """Write the newest forecast to a record of n_record numbers, or n_own if it cannot be mixed."""
        self.newest.is_plain = cnp.PyArray_DIM(record, 0) < self.n_record
        self.kernel.describe(&self.newest, 0.0, <double*>cnp.PyArray_DATA(record))

    cdef void bind(self, double* row) noexcept nogil:
        self.newest.row = row
        self.is_current = False

    cdef bint forecast_row(self, const double* x, OneStepForecast* seen, double* record) noexcept nogil:
        scale_features(&self.newest, x, self.kernel.scale_up)
        self.kernel.forecast(&self.newest)
        seen.mean, seen.var, seen.log_score = self.newest.mean, self.newest.var, NAN
        if record != NULL and self.n_record > 0:
            self.newest.is_plain = False
            self.kernel.describe(&self.newest, 0.0, record)
        return True

    cdef bint step_row(self, const double* x, double y, OneStepForecast* seen, double* record) noexcept nogil:
        self.forecast_row(x, seen, record)
        self.kernel.learn(&self.newest, y)
        if self.log_score_at >= 0 and not isnan(y):
            seen.log_score = self.newest.row[self.log_score_at]
        return True

    cdef void flush_row(self) noexcept nogil:
        flush_updates(&self.newest)

    cdef void begin(self, StepContext* step) noexcept:
        step.n = step.n_total = self.n_features
        step.is_diagonal = self.is_diagonal
        step.row = <double*>cnp.PyArray_DATA(self._row)
        step.constants = <const double*>cnp.PyArray_DATA(self.constants)
        step.scaled = self.memory + self.n_features
        step.scratch = self.scratch
        step.extra = NULL
        step.pending = self.pending if self.postpones else NULL
        step.is_plain = step.is_mixed = False
        step.mean = step.var = NAN

    cdef int load(self, object x) except -1:
        """Copy the features into the cell's memory, and check them there; from then on no Python code may run."""
        cdef Py_ssize_t n = self.n_features
        if not copy_plain(x, n, self.given) and not copy_plain(check_features(x, n), n, self.given):
            raise AssertionError("checked features are plain numbers")
        if not all_finite(self.given, n):
            check_features([self.given[i] for i in range(n)], n)      # raises, and names the feature
        return 0

    cdef void forecast(self) noexcept:
        """Forecast at the features that were loaded, unless the newest forecast is just that one."""
        cdef size_t size = self.n_features * sizeof(double)
        if self.is_current and memcmp(self.given, self.memory, size) == 0:
            return
        memcpy(self.memory, self.given, size)
        scale_features(&self.newest, self.memory, self.kernel.scale_up)
        self.kernel.forecast(&self.newest)
        self.is_current = True

    cdef void learn(self, double y) noexcept:
        """Learn from `y`, after `forecast`."""
        self.is_current = False
        self.kernel.learn(&self.newest, y)


cdef void write_weights(Weigh weigh, Weights weights_of, StepContext* step, double* out) noexcept nogil:
    """Write mean and variance of the weights, in the user's units."""
    cdef WeightsView linear
    cdef Py_ssize_t i
    if weigh != NULL:
        weigh(step, out, out + step.n)
        return
    weights_of(step, &linear)
    for i in range(step.n):
        out[i] = weight_mean(&linear, i)
        out[step.n + i] = weight_cov(&linear, i, i)


cdef Py_ssize_t rows_between_signals(Py_ssize_t row_size):
    return 1 + BETWEEN_SIGNALS // (row_size + ROW_OVERHEAD)
