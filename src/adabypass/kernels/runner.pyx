"""A row with what moves it, and the way in for Python: one observation, or a whole stream.

A runner is the row of one model, the kernel that moves it and the memory that a step needs. All models share the one
loop here; a subclass gathers the inputs of its kernel. A panel binds a runner to one row after another.

Memory stays safe whatever is passed, and from however many threads. Inputs are converted first, which may run any code;
then they are copied into buffers of the runner's own and checked there; from then on no Python code runs until the
kernel is done. A stream is run by a runner of its own, on copies of the arrays.

The newest forecast stays until the row changes: an `update` with the inputs of the `predict` before it learns from that
forecast, and does not make it again.
"""

from cpython.exc cimport PyErr_CheckSignals
from cpython.list cimport PyList_CheckExact, PyList_GET_ITEM, PyList_GET_SIZE
from cpython.object cimport PyObject, PyTypeObject
from cpython.tuple cimport PyTuple_CheckExact, PyTuple_GET_ITEM, PyTuple_GET_SIZE
from libc.math cimport INFINITY, NAN, isfinite, isinf, isnan
from libc.stdlib cimport free, malloc
from libc.string cimport memcmp, memcpy

cimport numpy as cnp

from adabypass.distributions.component cimport Component
from adabypass.distributions.record cimport MixtureMoments, Moments
from adabypass.kernels.covariance cimport covariance_of, flush_updates
from adabypass.kernels.multistep cimport MultistepForecaster
from adabypass.kernels.step cimport (
    LINE, N_MATRICES, Kernel, StepContext, WeightsView, next_line, scale_features, weight_cov, weight_mean,
)

import numpy as np

from adabypass.distributions.mixture import Mixture
from adabypass.distributions.normal import Normal
from adabypass.errors import ConcurrentUseError
from adabypass.state.layout import aligned
from adabypass.validation import check_features, check_target

cnp.import_array()

cdef enum:
    BETWEEN_SIGNALS = 1048576       # numbers to go through between two checks for Ctrl-C
    STEP_OVERHEAD = 256             # constant cost of a step, in numbers to go through
    POSTPONE_FROM = 32              # features; below it a matrix is never far from the processor
    EXACT = 1 << 53                 # whole numbers up to this one are float64 numbers

cdef type NORMAL = Normal
cdef type MIXTURE = Mixture
cdef tuple NOTHING = ()


cdef class Runner:
    """A row with what moves it. Use one of its subclasses."""

    def __dealloc__(self):
        free(self.memory)

    @property
    def row(self):
        """The model's memory, up to date until the model next learns."""
        self.flush()
        return self._row

    def copy_row(self):
        """Return a copy of the row, all of it of one moment.

        NumPy's own copy lets other threads in.
        """
        cdef cnp.npy_intp size = self.row_size
        self.flush()
        copy = cnp.PyArray_SimpleNew(1, &size, cnp.NPY_FLOAT64)
        memcpy(cnp.PyArray_DATA(copy), cnp.PyArray_DATA(self._row), size * sizeof(double))
        return copy

    @property
    def is_running(self):
        """Whether a copy of the row runs a stream, so that the row does not change."""
        return self.state == RUNNING

    def predict(self, inputs):
        """Return the forecast of the next observation, or None if none can be made yet."""
        self.read(inputs)
        if not self.forecast_read():
            return None
        record = self.new_record()      # which runs no Python code
        if record is not None:
            self.describe(<double*>cnp.PyArray_DATA(record))
        return self.make(self.seen.mean, self.seen.var, record)

    def update(self, inputs, y):
        """Learn that the next observation is `y`; nan if it is missing."""
        cdef double target = as_target(y)
        self.read_and_prepare(inputs, target)
        check_idle(self.state)
        self.forecast_read()
        self.is_current = False
        self.learn(target)

    def step(self, inputs, y):
        """Return the forecast of the next observation as `predict` does, then learn that it was `y`."""
        cdef double target = as_target(y), mean, var
        cdef bint could
        self.read_and_prepare(inputs, target)
        check_idle(self.state)
        could = self.forecast_read()
        record = self.new_record() if could else None       # which runs no Python code
        mean, var = self.seen.mean, self.seen.var
        if record is not None:
            self.describe(<double*>cnp.PyArray_DATA(record))
        self.is_current = False
        self.learn(target)
        return self.make(mean, var, record) if could else None

    def run(self, inputs, const double[::1] y, bint keep_weights, bint keep_records):
        """Forecast, then learn, every observation in turn. The runner and the arrays are this call's own, and checked.

        Parameters
        ----------
        inputs
            Array (n, n_inputs), or what the subclass takes.

        Returns
        -------
        first : int
            Number of observations before the first that could be forecast, with which the arrays begin.
        history : array (n, 2 + n_head)
            Mean and variance before each y, then the head of the model's row after it.
        weights : array (n, 2 * n_features), or with no rows
            Mean and variance of the weights after each y.
        records : array (n, n_record), or with no rows
            The forecasts: distributions/record.pyx. If none can be of the log or the root of y, without these parts.
        """
        cdef Py_ssize_t t = 0, stop, first = 0, n = y.shape[0]
        cdef Py_ssize_t n_record
        self.open_stream(inputs, n)
        n_record = self.record_size(y) if keep_records else 0
        keep_records = n_record > 0
        kept = np.empty((n, 2 + self.n_head))
        kept_weights = np.empty((n if keep_weights else 0, 2 * self.n_features))
        kept_records = np.empty((n if keep_records else 0, n_record))
        cdef double[:, ::1] history = kept, weights = kept_weights, records = kept_records
        self.is_current, self.newest.is_plain = False, n_record < self.n_record
        while t < n:
            stop = min(t + rows_between_signals(self.step_size), n)
            with nogil:
                while t < stop:
                    if not self.is_prepared(y[t]):
                        with gil:
                            self.prepare()
                        continue
                    self.take(t)
                    if self.forecast():
                        history[t, 0] = self.seen.mean
                        history[t, 1] = self.seen.var
                        if keep_records:
                            self.describe(&records[t, 0])
                    else:
                        first = t + 1
                    self.learn(y[t])
                    memcpy(&history[t, 2], self.head, self.n_head * sizeof(double))
                    if keep_weights:
                        self.flush()
                        write_weights(self.kernel, &self.newest, &weights[t, 0])
                    t += 1
            PyErr_CheckSignals()
        self.flush()
        self.stream, self.newest.is_plain = None, False
        return first, kept[first:], kept_weights[first:], kept_records[first:]

    cdef int read(self, object inputs) except -1:
        """Copy the inputs into the runner's memory, and check them; from then on no Python code may run."""
        cdef Py_ssize_t n = self.n_inputs
        if (inputs is None and n == 0) or (copy_plain(inputs, n, self.given) and all_finite(self.given, n)):
            return 0
        if self.check is None:
            raise ValueError(f"inputs must be a vector of {n} finite numbers")
        if not copy_plain(self.check(inputs, n), n, self.given):
            raise AssertionError("checked inputs are plain numbers")
        return 0

    cdef int read_and_prepare(self, object inputs, double y) except -1:
        """Read the inputs once all is there that learning `y` needs: from then on no Python code may run."""
        self.read(inputs)
        while not self.is_prepared(y):
            self.prepare()
            self.read(inputs)       # again: meanwhile another thread may have read its own
        return 0

    cdef bint is_prepared(self, double y) noexcept nogil:
        """Return whether all is there that learning `y` next needs."""
        return True

    cdef bint can_bind(self, const double* row) noexcept nogil:
        """Return whether all is there that going on with this row needs."""
        return True

    cdef int prepare(self) except -1:
        """Make what `is_prepared` or `can_bind` found lacking; Python code may run."""
        return 0

    cdef int open_stream(self, object inputs, Py_ssize_t n) except -1:
        """Check the shape of the inputs of a stream, and keep them until it has run."""
        cdef const double[:, ::1] table = inputs
        if table.shape[0] != n or table.shape[1] != self.n_inputs:
            raise ValueError("inputs must have a row for each y, and a column for each input")
        self.stream, self.stream_start = inputs, &table[0, 0] if n and self.n_inputs else NULL
        return 0

    cdef void take(self, Py_ssize_t t) noexcept nogil:
        """Let observation t of the stream be the one at hand."""
        self.x = self.stream_start + t * self.n_inputs

    cdef bint forecast(self) noexcept nogil:
        """Write the forecast of the observation at hand to `seen`, and return whether one can be made yet."""
        return False

    cdef void describe(self, double* record) noexcept nogil:
        """Write the newest forecast to a record of n_record numbers, or in a run of `record_size(y)`."""

    cdef void learn(self, double y) noexcept nogil:
        """Learn from `y`, after `forecast`; nan is a missing observation."""

    cdef void bind(self, double* row) noexcept nogil:
        """Go on with this row; the newest forecast of the row before is forgotten."""

    cdef void flush(self) noexcept nogil:
        """Make the updates that are pending, so that the row holds all that was learned."""

    cdef Py_ssize_t record_size(self, y) except -1:
        """Return the size of the records of a run over `y`: all of them have one."""
        return self.n_record

    cdef MultistepForecaster new_multistep(self, Py_ssize_t n_steps):
        """Return the scratch memory of a forecast of n_steps; None if it is not possible."""
        return None

    cdef bint forecast_ahead(self, MultistepForecaster ahead, const double* x, Component* parts) noexcept nogil:
        """Forecast many steps: `x` (n_steps, n_inputs), `parts` (n_steps, n_components). Return whether it could."""
        return False

    cdef int use_row(self, spec, cnp.ndarray row, Py_ssize_t size, aligned_at) except -1:
        """Take over a row of this size, or a copy that begins at a better address."""
        if not is_vector(row) or not cnp.PyArray_ISWRITEABLE(row):
            raise TypeError("row must be a contiguous, writeable vector of float64")
        if row.shape[0] != size:
            raise ValueError(f"row has {row.shape[0]} numbers, but this model needs {size}")
        self.spec, self._row, self.row_size = spec, aligned(row, aligned_at), size
        self.head, self.step_size, self.log_score_at = <double*>cnp.PyArray_DATA(self._row), size, -1
        return 0

    cdef int use_kernel(self, Kernel kernel, spec) except -1:
        """Let a kernel move the row of a model with this spec."""
        self.kernel, self.factory = kernel, ForecastFactory(spec, kernel.describe != NULL)
        self.constants = np.array(spec.constants(), dtype=np.float64)
        self.n_record, self.n_components, self.n_head = spec.n_record, spec.n_components, spec.n_head
        self.log_score_at = spec.log_score_at
        return 0

    cdef object new_record(self):
        """Return an empty record for the newest forecast; None if mean and variance say it all."""
        return None if self.n_record == 0 else cnp.PyArray_SimpleNew(1, &self.n_record, cnp.NPY_FLOAT64)

    cdef object make(self, double mean, double var, object record):
        """Return the forecast that the kernel's numbers amount to."""
        return self.factory.make(mean, var, record)

    cdef bint forecast_read(self) noexcept:
        """Forecast with the inputs that were read, unless the newest forecast is just that one."""
        cdef size_t size = self.n_inputs * sizeof(double)
        if self.is_current and (size == 0 or memcmp(self.given, self.inputs, size) == 0):
            return True
        if size:
            memcpy(self.inputs, self.given, size)
        self.x = self.inputs
        self.is_current = self.forecast()
        return self.is_current

    cdef bint forecast_row(self, const double* x, OneStepForecast* seen, double* record) noexcept nogil:
        """Forecast the next observation, and return whether that is possible yet.

        `x` holds n_inputs numbers; `record` is room for n_record, or NULL if it is not wanted.
        """
        self.x, self.is_current = x, False
        if not self.forecast():
            return False
        seen.mean, seen.var, seen.log_score = self.seen.mean, self.seen.var, NAN
        if record != NULL and self.n_record > 0:
            self.newest.is_plain = False
            self.describe(record)
        return True

    cdef bint step_row(self, const double* x, double y, OneStepForecast* seen, double* record) noexcept nogil:
        """Forecast the next observation, then learn that it was `y` (nan: missing); return whether it was forecast."""
        cdef bint could = self.forecast_row(x, seen, record)
        self.learn(y)
        if could and self.log_score_at >= 0 and not isnan(y):
            seen.log_score = self.head[self.log_score_at]
        return could


cdef class DenseRunner(Runner):
    """The row of a model whose features are all given.

    Of many features, the update of a matrix waits for the next product with it: then both take one pass through memory.
    So the row is up to date only where it is read through `row`, which makes the updates that are pending.

    Parameters
    ----------
    kernel : Kernel
    spec : Spec
    row : float64 array
        The model's memory; taken over, or a copy that begins at a better address.
    n_features : int
    """

    def __cinit__(self, Kernel kernel not None, spec, cnp.ndarray row not None, Py_ssize_t n_features):
        cdef Py_ssize_t i, n_waiting
        if n_features < 1:
            raise TypeError("n_features is less than 1, but a row needs at least one feature")
        self.use_row(spec, row, spec.row_size(n_features), spec.aligned_at(n_features))
        self.use_kernel(kernel, spec)
        self.n_inputs = self.n_features = n_features
        self.n_own = 0 if spec.record_layout is None else spec.record_layout.n_own
        self.check = _check_features
        n_waiting = 2 * N_MATRICES * n_features if n_features >= POSTPONE_FROM else 0
        self.memory = <double*>malloc(
            (3 * n_features + n_waiting + LINE + <Py_ssize_t>spec.n_scratch(n_features)) * sizeof(double)
        )
        if self.memory == NULL:
            raise MemoryError()
        self.inputs, self.given = self.memory, self.memory + n_features
        self.newest.scaled = self.given + n_features
        for i in range(N_MATRICES):
            self.pending[i].matrix = NULL
            self.pending[i].vectors = self.newest.scaled + (1 + 2 * i) * n_features
        self.newest.scratch = next_line(self.newest.scaled + n_features + n_waiting)
        self.newest.n = self.newest.n_total = n_features
        self.newest.covariance = covariance_of(spec.is_full)
        self.newest.row = self.head
        self.newest.constants = <const double*>cnp.PyArray_DATA(self.constants)
        self.newest.pending = self.pending if n_waiting else NULL

    cdef bint forecast(self) noexcept nogil:
        scale_features(&self.newest, self.x, self.kernel.scale_up)
        self.kernel.forecast(&self.newest)
        self.seen.mean, self.seen.var = self.newest.mean, self.newest.var
        return True

    cdef void describe(self, double* record) noexcept nogil:
        self.kernel.describe(&self.newest, 0.0, record)

    cdef void learn(self, double y) noexcept nogil:
        self.kernel.learn(&self.newest, y)

    cdef void bind(self, double* row) noexcept nogil:
        self.head = self.newest.row = row
        self.is_current = False

    cdef void flush(self) noexcept nogil:
        flush_updates(&self.newest)

    cdef object new_record(self):
        """Return an empty record, without the parts of the log and the root of y if the newest forecast has none."""
        if self.n_record == 0:
            return None
        self.newest.is_plain = not self.newest.is_mixed
        return cnp.PyArray_SimpleNew(1, &self.n_own if self.newest.is_plain else &self.n_record, cnp.NPY_FLOAT64)

    cdef Py_ssize_t record_size(self, y) except -1:
        return self.spec.record_size(self.row, self.n_features, np.asarray(y))


def _check_features(x, n):
    """Check features, and return a copy of them, which nobody can change after they were checked."""
    return check_features(check_features(x, n).copy(), n)


cdef void write_weights(Kernel kernel, StepContext* step, double* out) noexcept nogil:
    """Write mean and variance of the weights, in the user's units."""
    cdef WeightsView linear
    cdef Py_ssize_t i
    if kernel.mixture_weights != NULL:
        kernel.mixture_weights(step, out, out + step.n)
        return
    kernel.weights(step, &linear)
    for i in range(step.n):
        out[i] = weight_mean(&linear, i)
        out[step.n + i] = weight_cov(&linear, i, i)


cdef Py_ssize_t rows_between_signals(Py_ssize_t step_size) noexcept nogil:
    """How many steps to take between two checks for Ctrl-C."""
    return 1 + BETWEEN_SIGNALS // (step_size + STEP_OVERHEAD)


cdef class ForecastFactory:
    """Makes the forecasts of one kind of model: a normal or a mixture without a call to Python.

    Parameters
    ----------
    spec : Spec
        Its `forecast_type` is the class of a forecast; its `predictive` makes those other than `Normal` and `Mixture`.
    describes : bool
        Whether the kernel describes a forecast, beyond its mean and variance.
    """

    def __cinit__(self, spec, bint describes):
        if describes != (spec.n_record > 0):
            raise ValueError("a kernel describes the forecasts that its spec keeps as records, and no others")
        self.forecast_type = spec.forecast_type
        self.predictive = spec.predictive
        self.record_layout, self.n_record = spec.record_layout, spec.n_record
        if self.record_layout is not None:
            self.own_layout = self.record_layout.own

    cdef object make(self, double mean, double var, object record):
        """spec.predictive(mean, var, record)"""
        cdef Moments normal
        cdef MixtureMoments mixture
        if self.forecast_type is NORMAL and 0.0 < var < INFINITY and isfinite(mean):
            normal = (<PyTypeObject*>NORMAL).tp_new(NORMAL, <PyObject*>NOTHING, NULL)
            normal.own_mean, normal.own_var = mean, var
            return normal
        if self.forecast_type is MIXTURE:
            mixture = (<PyTypeObject*>MIXTURE).tp_new(MIXTURE, <PyObject*>NOTHING, NULL)
            mixture.record, mixture.own_mean, mixture.own_var = record, mean, var
            mixture.record_layout = self.record_layout if len(<cnp.ndarray>record) == self.n_record else self.own_layout
            return mixture
        return self.predictive(mean, var, record)


cdef class RunGuard:
    """Replaces the runner of one model, its attribute `_runner`: by one call at a time, as a whole or not at all.

    A method here looks and acts while it holds the interpreter's lock and runs no Python code in between: neither
    another thread nor Ctrl-C comes between the two, whereas a lock, taken by a `with` statement, may be taken and its
    block not entered. No lock can be left behind, not by a fork either.
    """

    def run(self, model, work):
        """Let `work` make the runner that replaces the model's, and whatever else it may fail at; return its answer.

        Meanwhile the runner that there is answers, and whatever would change the model is refused. If `work` raises,
        the model is as it was.

        Parameters
        ----------
        work : function
            Of the model's runner, or None; returns the new runner, and the answer.
        """
        cdef Runner before = model._runner
        cdef RunState after = IDLE
        check_idle(RUNNING if self.is_running else IDLE)
        self.is_running = True
        if before is not None:
            before.state = RUNNING
        try:
            runner, answer = work(before)
            model._runner = runner
            after = REPLACED
        finally:
            self.is_running = False
            if before is not None:
                before.state = after
        return answer

    def meet(self, model, choose, act, bint changes=True):
        """Call `act` with the runner that `choose` returns; a new runner is kept once `act` has succeeded.

        If another thread has changed the runner meanwhile, both are called again with that one.

        Parameters
        ----------
        choose : function
            Takes the model's runner, or None; returns the same runner, or a new one if that has learned nothing.
        act : function
            Takes that runner; returns the answer.
        changes : bool
            Whether `act` changes the runner: then it is refused while a first run is under way.
        """
        cdef Runner before
        while True:
            before = model._runner
            runner = choose(before)
            answer = act(runner)
            if runner is before or self._keep(model, before, runner, changes):
                return answer

    cdef bint _keep(self, model, Runner before, Runner after, bint changes) except -1:
        """Set a new runner of the model; return False if that failed because the model has changed."""
        if self.is_running:
            check_idle(RUNNING if changes else IDLE)
            return True             # a forecast as of before the run, which decides what the model will be
        if model._runner is not before or (before is not None and before.row[0] > 0):
            return False
        self.put(model, after)
        if before is not None:
            before.state = REPLACED
        return True

    def put(self, model, runner):
        """Set the runner of the model, or None; refused while a run is under way."""
        check_idle(RUNNING if self.is_running else IDLE)
        model._runner = runner


def hold(lock, work):
    """Call `work` while the lock is held.

    Compiled, since a `with` statement may be stopped, as by Ctrl-C, between the end of its block and letting go of the
    lock, which nobody would get any more.
    """
    lock.acquire()
    try:
        return work()
    finally:
        lock.release()


cdef int refuse(RunState state) except -1:
    """Raise the error about a row that does not change, or no longer."""
    if state == RUNNING:
        raise ConcurrentUseError(
            "this model is running a stream, in this thread or another; wait until run returns, or use a copy() of it."
        )
    raise ConcurrentUseError("this model was changed by another call while this one began; call it again.")


# Plain numbers are Python's floats and NumPy's float64, and whole numbers of Python; in a contiguous vector, a list or
# a tuple. Reading them runs no code of the caller's. Everything else is converted in Python, which may run any.

cdef bint is_vector(object array):
    return (
        cnp.PyArray_CheckExact(array)
        and cnp.PyArray_NDIM(array) == 1
        and cnp.PyArray_TYPE(array) == cnp.NPY_FLOAT64
        and cnp.PyArray_ISCARRAY_RO(array)
    )


cdef double as_target(object y) except? -1.0:
    """Check one observation, nan if it is missing; the common case without a call to Python."""
    return <double>y if isinstance(y, float) and not isinf(<double>y) else check_target(y)


cdef bint copy_plain(object values, Py_ssize_t n, double* out):
    """Copy n plain numbers to `out`, and return whether they are that; if not, `out` may be written in part."""
    cdef Py_ssize_t i
    if is_vector(values):
        if cnp.PyArray_DIM(values, 0) != n:
            return False
        memcpy(out, cnp.PyArray_DATA(values), n * sizeof(double))
        return True
    if PyList_CheckExact(values):
        if PyList_GET_SIZE(values) != n:
            return False
        for i in range(n):
            if not _copy_number(<object>PyList_GET_ITEM(values, i), out + i):
                return False
        return True
    if PyTuple_CheckExact(values):
        if PyTuple_GET_SIZE(values) != n:
            return False
        for i in range(n):
            if not _copy_number(<object>PyTuple_GET_ITEM(values, i), out + i):
                return False
        return True
    return n == 1 and _copy_number(values, out)


cdef bint _copy_number(object value, double* out):
    if isinstance(value, float):
        out[0] = <double>value
        return True
    if type(value) is int and -EXACT <= value <= EXACT:
        out[0] = <double><long long>value
        return True
    return False


cdef bint all_finite(const double* values, Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(n):
        if not isfinite(values[i]):
            return False
    return True
