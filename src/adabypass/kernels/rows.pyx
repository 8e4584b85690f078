"""The rows of many series, and the loops that go through them without the interpreter's lock.

Rows are kept in blocks that never move, so adding a series copies none of the others. Each thread goes through series
of its own with a runner of its own: results depend neither on the number of threads nor on the order of series.
"""

from cpython.exc cimport PyErr_SetInterrupt
from libc.math cimport INFINITY, NAN
from libc.stdlib cimport free, realloc
from libc.string cimport memcpy

cimport numpy as cnp

from adabypass.distributions.component cimport Component
from adabypass.distributions.families cimport GAUSSIAN
from adabypass.kernels.multistep cimport MultistepForecaster
from adabypass.kernels.runner cimport OneStepForecast, Runner, is_vector
from adabypass.kernels.step cimport LINE

cnp.import_array()

cdef class RowStore:
    """Rows of one size, in blocks.

    Parameters
    ----------
    row_size : int
        Numbers of a row.
    rows_per_block : int
    aligned_at : int
        Which number of a row is kept at the beginning of a cache line.
    """

    cdef readonly Py_ssize_t row_size
    cdef readonly Py_ssize_t stride         # numbers from a row to the next: whole lines of the processor's cache
    cdef readonly Py_ssize_t rows_per_block
    cdef readonly Py_ssize_t n_rows
    cdef list blocks                        # arrays, which stay where they are
    cdef double** starts                    # first row of each block
    cdef Py_ssize_t n_blocks, room          # blocks that are there, and for which `starts` has room
    cdef Py_ssize_t aligned_at

    def __cinit__(self, Py_ssize_t row_size, Py_ssize_t rows_per_block, Py_ssize_t aligned_at=0):
        if row_size < 1 or rows_per_block < 1 or aligned_at < 0:
            raise ValueError("rows need numbers, and blocks need rows")
        self.row_size, self.rows_per_block, self.aligned_at = row_size, rows_per_block, aligned_at
        self.stride = (row_size + LINE - 1) // LINE * LINE
        self.blocks = []

    def __dealloc__(self):
        free(self.starts)

    @property
    def block_size(self):
        """Numbers that a block must have: its rows, and room to align them."""
        return self.rows_per_block * self.stride + LINE

    @property
    def capacity(self):
        """Rows for which there are blocks."""
        return self.n_blocks * self.rows_per_block

    def add_block(self, cnp.ndarray block not None):
        """Take over a vector of `block_size` numbers, to keep further rows in."""
        cdef double** starts
        cdef size_t address = <size_t>cnp.PyArray_DATA(block), line = LINE * sizeof(double)
        if not is_vector(block) or not cnp.PyArray_ISWRITEABLE(block) or block.shape[0] != self.block_size:
            raise ValueError(f"a block is a writeable vector of {self.block_size} numbers")
        if self.n_blocks == self.room:
            starts = <double**>realloc(self.starts, (2 * self.room + 8) * sizeof(double*))
            if starts == NULL:
                raise MemoryError()
            self.starts, self.room = starts, 2 * self.room + 8
        address += (line - (address + self.aligned_at * sizeof(double)) % line) % line
        self.starts[self.n_blocks] = <double*>address
        self.n_blocks += 1
        self.blocks.append(block)

    def append(self, cnp.ndarray row not None, Py_ssize_t n):
        """Add `n` copies of a row, for which there must be blocks; return the index of the first."""
        cdef Py_ssize_t i, first = self.n_rows
        cdef const double* source = <const double*>cnp.PyArray_DATA(row)
        if not is_vector(row) or row.shape[0] != self.row_size or not 0 <= n <= self.capacity - first:
            raise ValueError(f"rows have {self.row_size} numbers, and there is room for {self.capacity - first} more")
        with nogil:
            for i in range(first, first + n):
                memcpy(self.at(i), source, self.row_size * sizeof(double))
        self.n_rows = first + n
        return first

    def row(self, Py_ssize_t index):
        """Return a view of a row."""
        cdef cnp.npy_intp size = self.row_size
        if not 0 <= index < self.n_rows:
            raise IndexError(f"there is no row {index}; there are {self.n_rows}")
        view = cnp.PyArray_SimpleNewFromData(1, &size, cnp.NPY_FLOAT64, self.at(index))
        cnp.set_array_base(view, self.blocks[index // self.rows_per_block])
        return view

    cdef double* at(self, Py_ssize_t index) noexcept nogil:
        return self.starts[index // self.rows_per_block] + (index % self.rows_per_block) * self.stride


cdef int _check(Runner runner, RowStore rows, const Py_ssize_t[::1] which) except -1:
    """Check that the runner moves rows of this size, and that these rows are there."""
    cdef Py_ssize_t i, n_rows = rows.n_rows
    if runner.row_size != rows.row_size:
        raise ValueError(f"the runner moves rows of {runner.row_size} numbers, but these have {rows.row_size}")
    for i in range(which.shape[0]):
        if not 0 <= which[i] < n_rows:
            raise IndexError(f"there is no row {which[i]}; there are {n_rows}")
    return 0


cdef int prepare(Runner runner) except -1:
    """Make what the runner lacks; Ctrl-C waits until a series is done, which would be left half learned otherwise."""
    cdef bint was_interrupted = False
    while True:
        try:
            runner.prepare()
            break
        except KeyboardInterrupt:
            was_interrupted = True
    if was_interrupted:
        PyErr_SetInterrupt()
    return 0


def step_rows(
    Runner runner not None,
    RowStore rows not None,
    const Py_ssize_t[::1] which,        # rows, each at most once
    const Py_ssize_t[::1] begin,        # (n + 1,) where in `order` the observations of each begin
    const Py_ssize_t[::1] order,        # numbers of observations, in the order of time
    const double[::1] y,                # (n_observations,)
    const double[:, ::1] X,             # (n_observations, n_inputs)
    double[:, ::1] seen,                # out  (n_observations, 3) mean, variance, log score; or no rows
    double[:, ::1] records,             # out  (n_observations, n_record); or no rows
    Py_ssize_t[::1] n_forecast,         # out  (n,) how many observations of each could be forecast
    const Py_ssize_t[::1] watched,      # which numbers of a row are kept after each observation
    double[:, ::1] learned,             # out  (n_observations, n_watched); or no rows
):
    """Forecast each observation, then learn it, series after series.

    Where none could be forecast yet, the mean is nan and the variance infinite.
    """
    cdef Py_ssize_t i, j, t, n = y.shape[0], n_which = which.shape[0], n_inputs = runner.n_inputs
    cdef Py_ssize_t k, n_watched = watched.shape[0]
    cdef bint keep = seen.shape[0] > 0, keep_records = records.shape[0] > 0 and runner.n_record > 0
    cdef bint is_sound = begin.shape[0] == n_which + 1 == n_forecast.shape[0] + 1
    cdef OneStepForecast found
    cdef bint could
    cdef double* row
    _check(runner, rows, which)
    if X.shape[0] != n or X.shape[1] != n_inputs or (keep and (seen.shape[0] != n or seen.shape[1] != 3)):
        raise ValueError("every observation needs its inputs, and room for what is forecast of it")
    if keep_records and (records.shape[0] != n or records.shape[1] != runner.n_record):
        raise ValueError("every observation needs room for the record of its forecast")
    if n_watched and (learned.shape[0] != n or learned.shape[1] != n_watched):
        raise ValueError("every observation needs room for the numbers that are watched")
    for k in range(n_watched):
        if not 0 <= watched[k] < rows.row_size:
            raise IndexError(f"there is no number {watched[k]} of a row; there are {rows.row_size}")
    if is_sound and n_which:
        is_sound = begin[0] >= 0 and begin[n_which] <= order.shape[0]
        for i in range(n_which):
            is_sound = is_sound and begin[i] <= begin[i + 1]
    if not is_sound:
        raise ValueError("`begin` must say where in `order` the observations of each row begin, and end")
    with nogil:
        for i in range(n_which):
            row = rows.at(which[i])
            if not runner.can_bind(row):
                with gil:
                    prepare(runner)
            runner.bind(row)
            n_forecast[i] = 0
            for j in range(begin[i], begin[i + 1]):
                t = order[j]
                if not 0 <= t < n:
                    continue
                if not runner.is_prepared(y[t]):
                    with gil:
                        prepare(runner)
                    runner.is_prepared(y[t])
                could = runner.step_row(
                    &X[t, 0] if n_inputs else NULL, y[t], &found, &records[t, 0] if keep_records else NULL
                )
                n_forecast[i] += could
                if keep:
                    seen[t, 0] = found.mean if could else NAN
                    seen[t, 1] = found.var if could else INFINITY
                    seen[t, 2] = found.log_score if could else NAN
                if keep_records and not could:
                    records[t, :] = NAN
                for k in range(n_watched):
                    learned[t, k] = row[watched[k]]
            runner.flush()


def forecast_rows(
    Runner runner not None,
    RowStore rows not None,
    const Py_ssize_t[::1] which,
    const double[:, ::1] X,             # (n, n_inputs)
    double[:, ::1] seen,                # out  (n, 3)
    double[:, ::1] records,             # out  (n, n_record); or no rows
):
    """Forecast the next observation of each row; mean nan and variance infinite where it is not possible yet."""
    cdef Py_ssize_t i, n = which.shape[0], n_inputs = runner.n_inputs
    cdef bint keep_records = records.shape[0] > 0 and runner.n_record > 0, could
    cdef OneStepForecast found
    _check(runner, rows, which)
    if X.shape[0] != n or X.shape[1] != n_inputs or seen.shape[0] != n or seen.shape[1] != 3:
        raise ValueError("every row needs its inputs, and room for what is forecast of it")
    if keep_records and (records.shape[0] != n or records.shape[1] != runner.n_record):
        raise ValueError("every row needs room for the record of its forecast")
    with nogil:
        for i in range(n):
            if not runner.can_bind(rows.at(which[i])):
                with gil:
                    prepare(runner)
            runner.bind(rows.at(which[i]))
            could = runner.forecast_row(
                &X[i, 0] if n_inputs else NULL, &found, &records[i, 0] if keep_records else NULL
            )
            seen[i, 0] = found.mean if could else NAN
            seen[i, 1] = found.var if could else INFINITY
            seen[i, 2] = NAN
            if keep_records and not could:
                records[i, :] = NAN


def forecast_rows_ahead(
    Runner runner not None,
    RowStore rows not None,
    const Py_ssize_t[::1] which,
    const double[:, :, ::1] X,          # (n, n_steps, n_inputs)
    Component[:, :, ::1] parts,         # out  (n, n_steps, n_components)
):
    """Forecast many steps of each row; blank components where it is not possible yet."""
    cdef Py_ssize_t i, t, n = which.shape[0], n_steps = X.shape[1]
    cdef MultistepForecaster ahead
    _check(runner, rows, which)
    if X.shape[0] != n or X.shape[2] != runner.n_inputs or n_steps < 1:
        raise ValueError("every step of a row needs its inputs")
    if parts.shape[0] != n or parts.shape[1] != n_steps or parts.shape[2] != runner.n_components:
        raise ValueError("every step of a row needs room for the components of its forecast")
    ahead = runner.new_multistep(n_steps)
    if ahead is None:
        raise ValueError("rows of this kind are not forecast many steps ahead")
    with nogil:
        for i in range(n):
            if not runner.can_bind(rows.at(which[i])):
                with gil:
                    prepare(runner)
            runner.bind(rows.at(which[i]))
            if not runner.forecast_ahead(ahead, &X[i, 0, 0] if runner.n_inputs else NULL, &parts[i, 0, 0]):
                for t in range(n_steps):
                    _blank(&parts[i, t, 0], runner.n_components)


cdef void _blank(Component* parts, Py_ssize_t n) noexcept nogil:
    """Say that nothing is known about an observation."""
    cdef Py_ssize_t k
    for k in range(n):
        parts[k] = Component(1.0 / n, NAN, 0.0, INFINITY, 0.0, GAUSSIAN, 0, 0.0)
