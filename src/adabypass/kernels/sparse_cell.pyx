"""A row whose covariance is diagonal, and the way in for Python: features that are mostly 0.

Only the weights of the features that are given take part in a step. They are gathered into a short row, on which the
kernel works as on any other, and put back. Drift widens all weights alike, so it is added to one number, `common_var`,
which every variance is less: equation (172).
"""

from cpython.exc cimport PyErr_CheckSignals
from libc.math cimport NAN, isfinite
from libc.stdlib cimport free, realloc
from libc.string cimport memcpy

cimport numpy as cnp

from adabypass.kernels.arguments cimport as_target, is_vector
from adabypass.kernels.forecast_factory cimport ForecastFactory
from adabypass.kernels.running cimport Running, check_idle
from adabypass.kernels.step cimport LARGEST, LINE, Kernel, WeightsView, StepContext, scale_features, next_line
from adabypass.numerics.special cimport smaller

import numpy as np

cnp.import_array()

cdef double LARGEST_SHARE = 1e6     # of the variances in the common one, beyond which digits would be lost
cdef enum:
    BETWEEN_SIGNALS = 4096          # rows


cdef class SparseCell(Running):
    """A row with a diagonal covariance, together with the kernel that moves it.

    Parameters
    ----------
    kernel : Kernel
    spec : Spec
        Whose covariance is diagonal.
    row : float64 array
        Taken over.
    n_features : int
    """

    def __cinit__(self, Kernel kernel not None, spec, cnp.ndarray row not None, Py_ssize_t n_features):
        if n_features < 1 or not is_vector(row) or not cnp.PyArray_ISWRITEABLE(row) or not spec.is_sparse:
            raise TypeError("row must be a contiguous, writeable vector of float64, of a spec for sparse features")
        if row.shape[0] != spec.row_size(n_features) or row.shape[0] < spec.n_head + 2 * n_features + 1:
            raise ValueError(f"row has {row.shape[0]} numbers, but this model needs {spec.row_size(n_features)}")
        self.kernel, self.spec, self.row, self.n_features = kernel, spec, row, n_features
        self.constants = np.array(spec.constants(), dtype=np.float64)
        self.n_head = spec.n_head
        self.factory = ForecastFactory(spec, kernel.describe != NULL)
        self._find_vectors(spec)
        self._make_room(16)

    def __dealloc__(self):
        free(self.memory)

    cdef int _find_vectors(self, spec) except -1:
        """Learn where the vectors that are gathered begin, and the common variance."""
        places = spec.layout.places(**spec.dims(self.n_features))
        if len(spec.gathered) > MOST_VECTORS:
            raise ValueError(f"a step gathers up to {MOST_VECTORS} vectors")
        for name in spec.gathered:
            self.vectors[self.n_vectors] = places[name][0].start
            self.n_vectors += 1
        if self.n_vectors > 0:
            self.var, self.common = spec.gathered.index("var"), places["common_var"][0].start
        return 0

    cdef int _make_room(self, Py_ssize_t n) except -1:
        """Let there be memory for so many features at once: their indices and values, the short row, and scratch."""
        cdef double* memory
        if n <= self.capacity:
            return 0
        n = min(max(n, 2 * self.capacity), self.n_features if self.n_features > n else n)
        memory = <double*>realloc(self.memory, ((6 + self.n_vectors) * n + self.n_head + LINE) * sizeof(double))
        if memory == NULL:
            raise MemoryError()
        self.memory, self.capacity = memory, n
        self.indices = <Py_ssize_t*>memory
        self.values = memory + n
        self.compact = self.values + 2 * n          # after room for the scaled features
        return 0

    def predict(self, const Py_ssize_t[::1] indices, const double[::1] values):
        """Return the forecast of the observation at the features `indices`, whose values these are; others are 0."""
        record = self.factory.new_record(True)
        self._load(indices, values)
        self._forecast()
        if record is not None:
            self._describe(<double*>cnp.PyArray_DATA(record))
        return self.factory.make(self.newest.mean, self.newest.var, record)

    def update(self, const Py_ssize_t[::1] indices, const double[::1] values, y):
        """Learn from having seen `y`; nan is a missing observation."""
        self.step(indices, values, y, False)

    def step(self, const Py_ssize_t[::1] indices, const double[::1] values, y, bint want_forecast=True):
        """Forecast `y` as `predict` does, then learn from it; nan is a missing observation."""
        cdef double target = as_target(y), mean, var
        record = self.factory.new_record(True) if want_forecast else None
        self._load(indices, values)
        check_idle(self.state)
        self._forecast()
        mean, var = self.newest.mean, self.newest.var
        if record is not None:
            self._describe(<double*>cnp.PyArray_DATA(record))
        self._learn(target)
        return self.factory.make(mean, var, record) if want_forecast else None

    def run(
        self, const Py_ssize_t[::1] begin, const Py_ssize_t[::1] indices, const double[::1] values,
        const double[::1] y, bint keep_records,
    ):
        """Take `step` for rows in compressed form. Cell and arrays are this call's own, and checked.

        Returns
        -------
        history, records
            As `Cell.run` returns them.
        """
        cdef Py_ssize_t t, n_rows = y.shape[0]
        if begin.shape[0] != n_rows + 1 or indices.shape[0] != values.shape[0]:
            raise ValueError("rows must say where they begin, and every index needs a value")
        keep_records = keep_records and self.factory.n_record > 0
        kept = np.empty((n_rows, 2 + self.n_head))
        kept_records = np.empty((n_rows if keep_records else 0, self.factory.n_record))
        cdef double[:, ::1] history = kept, records = kept_records
        for t in range(n_rows):
            if not 0 <= begin[t] <= begin[t + 1] <= indices.shape[0]:
                raise ValueError("rows must begin where the one before ends")
            self._load(indices[begin[t]:begin[t + 1]], values[begin[t]:begin[t + 1]])
            self._forecast()
            history[t, 0], history[t, 1] = self.newest.mean, self.newest.var
            if keep_records:
                self._describe(&records[t, 0])
            self._learn(y[t])
            memcpy(&history[t, 2], cnp.PyArray_DATA(self.row), self.n_head * sizeof(double))
            if t % BETWEEN_SIGNALS == 0:
                PyErr_CheckSignals()
        return kept, kept_records

    cdef int _load(self, const Py_ssize_t[::1] indices, const double[::1] values) except -1:
        """Copy features into the cell's memory, and check them there; from then on no Python code may run."""
        cdef Py_ssize_t k, before = -1, n = indices.shape[0]
        if values.shape[0] != n:
            raise ValueError("every index needs a value")
        self._make_room(max(n, 1))
        for k in range(n):
            self.indices[k], self.values[k] = indices[k], values[k]
            if not before < self.indices[k] < self.n_features or not isfinite(self.values[k]):
                raise ValueError("indices must ascend and be those of features, and values be finite")
            before = self.indices[k]
        if n == 0:              # no feature at all is one that is 0
            self.indices[0], self.values[0], n = 0, 0.0, 1
        self.n_given = n
        return 0

    cdef void _forecast(self) noexcept nogil:
        """Gather the weights of the features that were loaded, and forecast."""
        cdef StepContext* step = &self.newest
        cdef Py_ssize_t j, k, n = self.n_given
        cdef double* row = <double*>cnp.PyArray_DATA(self.row)
        cdef double* given = self.compact + self.n_head
        memcpy(self.compact, row, self.n_head * sizeof(double))
        for j in range(self.n_vectors):
            for k in range(n):
                given[j * n + k] = row[self.vectors[j] + self.indices[k]]
        for k in range(n):
            given[self.var * n + k] += row[self.common]
        step.n, step.n_total, step.is_diagonal = n, self.n_features, True
        step.row = self.compact
        step.constants = <const double*>cnp.PyArray_DATA(self.constants)
        step.scaled = self.values + self.capacity
        step.scratch = next_line(given + self.n_vectors * n)
        step.extra, step.pending = NULL, NULL
        step.mean = step.var = NAN
        scale_features(step, self.values, self.kernel.scale_up)
        self.kernel.forecast(step)

    cdef void _describe(self, double* record) noexcept nogil:
        """Write the newest forecast."""
        self.kernel.describe(&self.newest, 0.0, record)

    cdef void _learn(self, double y) noexcept nogil:
        """Learn from `y`, after `_forecast`, and put the weights back."""
        cdef WeightsView linear
        cdef Py_ssize_t i, j, k, n = self.n_given
        cdef double* row = <double*>cnp.PyArray_DATA(self.row)
        cdef double* var = row + self.vectors[self.var]
        cdef double* common = row + self.common
        cdef double* given = self.compact + self.n_head
        cdef double* given_var = given + self.var * n
        cdef double smallest = LARGEST
        self.kernel.learn(&self.newest, y)
        self.kernel.weights(&self.newest, &linear)
        common[0] = smaller(common[0] + linear.drift_var, LARGEST)                          # (172)
        memcpy(row, self.compact, self.n_head * sizeof(double))
        for j in range(self.n_vectors):
            for k in range(n):
                row[self.vectors[j] + self.indices[k]] = given[j * n + k]
        for k in range(n):
            var[self.indices[k]] = given_var[k] - common[0]
            smallest = smaller(smallest, given_var[k])
        if common[0] > LARGEST_SHARE * smallest:
            for i in range(self.n_features):
                var[i] += common[0]
            for k in range(n):          # exactly, where a difference has lost digits
                var[self.indices[k]] = given_var[k]
            common[0] = 0.0
