"""The row of an automatic forecaster whose period is found in the data: equations (N.32)-(N.37).

Observations are kept in a buffer. Now and then every period is weighed there by the evidence of a simple season against
an autoregression. When one is supported, a pool of that period takes the place of the pool so far, and learns the
buffer. From then on the forecaster is the same, to the bit, as one that was given the period and has seen the buffer.
"""

from libc.math cimport INFINITY, M_PI, NAN, cos, fabs, isnan, log, sin
from libc.stdlib cimport malloc
from libc.string cimport memcpy, memset

cimport numpy as cnp

from adabypass.kernels.pool cimport PoolRunner
from adabypass.kernels.runner cimport OneStepForecast, Runner
from adabypass.numerics.special cimport larger, smaller

import numpy as np

from adabypass.numerics import limits
from adabypass.state import season as design
from adabypass.state.pool import PoolState
from adabypass.state.structure_row import N_ALIKE as N_ALIKE_

cnp.import_array()

cdef enum:
    N_SEEN, N_STEPS, PERIOD, EVIDENCE, FOUND_AT, HEAD
    N_PAST = 1024
    PERIODS_SEEN = 3
    MIN_PERIOD = 2
    MIN_STEPS = 12
    MAX_STRIDE = 512
    N_LAGS = 3
    MAX_WAVES = 4
    MAX_PERIOD = 1024 // 3
    MIN_ROWS = 12

assert (N_PAST, PERIODS_SEEN, MIN_PERIOD) == (design.N_PAST, design.PERIODS_SEEN, design.MIN_PERIOD)
assert (MIN_STEPS, MAX_STRIDE, MIN_ROWS) == (design.MIN_STEPS, design.MAX_STRIDE, design.MIN_ROWS)
assert HEAD == len(design.HEAD)
assert design.MAX_STEPS % (2 * N_PAST) == design.MAX_STEPS % (2 * MAX_STRIDE) == 0
assert (N_LAGS, MAX_WAVES, MAX_PERIOD) == (design.N_LAGS, design.MAX_WAVES, design.MAX_PERIOD)

cdef double MIN_EVIDENCE = design.MIN_EVIDENCE
cdef double MIN_GAIN = design.MIN_GAIN
cdef double MAX_DEVIATION = design.MAX_DEVIATION
cdef double MIN_NULL_SHARE = design.MIN_NULL_SHARE
cdef double MIN_SHARE = design.MIN_SHARE
cdef double MAX_COUNT = limits.MAX_COUNT
cdef double MAX_STEPS = design.MAX_STEPS
cdef double RIDGE = 1e-12
cdef Py_ssize_t N_ALIKE = N_ALIKE_


cdef class SeasonRunner(Runner):
    """The row of an automatic forecaster whose period is found in the data.

    A pool is made by Python code, which may fail and lets other threads in. So it is there before anything that needs
    it begins: `is_prepared`, `can_bind` and `prepare`.

    Parameters
    ----------
    spec : SeasonSpec
    row : float64 array
        Taken over, or copied to a better address.
    check : function, optional
        Converts and checks exogenous values: see `SeriesRunner`.
    """

    cdef PoolRunner pool                # of the row's period
    cdef list pools                     # by period: runner, blank row, places of its structures in a record; or None
    cdef bint[MAX_PERIOD + 1] is_made   # whether there is a pool of each period
    cdef double bound_period
    cdef Py_ssize_t lacking             # a period whose pool is to be made
    cdef Py_ssize_t looked_up           # the period that the next value brings to light; -1 if that was not looked up
    cdef Py_ssize_t width, pool_at, n_structures, n_wide_regressions, n_pool_structures
    cdef const double* blank            # a row of the pool that has seen nothing
    cdef const Py_ssize_t* slots
    cdef double* narrow                 # record of the pool
    cdef double* values                 # of the past, and their differences
    cdef double* evidence               # by period
    cdef double* scratch                # of 5 MAX_PERIOD numbers, more than N_PAST

    def __cinit__(self, spec, cnp.ndarray row not None, check=None):
        self.use_row(spec, row, spec.row_size, 0)
        self.n_inputs, self.n_record, self.check = spec.n_exog, spec.n_record, check
        self.width, self.pool_at = 1 + spec.n_exog, spec.pool_at
        self.n_structures, self.n_wide_regressions = (
            len(spec.widest.structures.structures), len(spec.widest.regressions)
        )
        self.memory = <double*>malloc(sizeof(double) * <Py_ssize_t>(
            2 * self.n_inputs + self.n_record + 2 * N_PAST + 6 * MAX_PERIOD + 1
        ))
        if self.memory == NULL:
            raise MemoryError()
        self.given, self.inputs = self.memory, self.memory + self.n_inputs
        self.narrow = self.inputs + self.n_inputs
        self.values = self.narrow + self.n_record
        self.evidence = self.values + 2 * N_PAST
        self.scratch = self.evidence + MAX_PERIOD + 1
        self.pools, self.looked_up = [None] * (MAX_PERIOD + 1), -1
        memset(self.is_made, 0, sizeof(self.is_made))
        self.bound_period = NAN
        if not self.can_bind(self.head):
            self.prepare()
        self.bind(self.head)

    @property
    def period(self):
        """The period that was found; 0 if none was."""
        return int(self.head[PERIOD])

    def freeze(self, exog):
        """Return the state of the pool, as `PoolRunner.freeze` does."""
        self.read(exog)
        record = np.empty(self.n_record)
        could = self.forecast_read()
        if could:
            self.pool.describe(<double*>cnp.PyArray_DATA(record))
        spec, row = self.pool.spec, self.copy_row()         # of the same moment: none of this runs Python code
        pool = row[self.pool_at : self.pool_at + spec.structures.row_size]
        return PoolState(spec, pool, record[: spec.n_record] if could else None)

    cdef bint can_bind(self, const double* row) noexcept nogil:
        self.lacking = <Py_ssize_t>row[PERIOD]
        return self.is_made[self.lacking]

    cdef void bind(self, double* row) noexcept nogil:
        self.is_current, self.looked_up = False, -1
        self.head = row
        if row[PERIOD] != self.bound_period:
            self._switch()
        self.pool.bind(row + self.pool_at)

    cdef bint forecast(self) noexcept nogil:
        cdef bint could
        self.pool.x = self.x
        could = self.pool.forecast()
        self.seen = self.pool.seen
        return could

    cdef void describe(self, double* record) noexcept nogil:
        """Write the pool's record, each structure at its place among those of every period."""
        cdef Py_ssize_t i, k, n = self.n_pool_structures, m = self.n_structures, n_regressions
        cdef const double* narrow = self.narrow
        if n == m and self.pool.n_record == self.n_record:
            self.pool.describe(record)
            return
        self.pool.describe(self.narrow)
        memset(record, 0, self.n_record * sizeof(double))
        for i in range(4):
            for k in range(m):
                record[i * m + k] = 0.0 if i < 2 else 1.0       # without a share, but sound
            for k in range(n):
                record[i * m + self.slots[k]] = narrow[i * n + k]
        memcpy(record + 4 * m, narrow + 4 * n, N_ALIKE * sizeof(double))
        record += 4 * m + N_ALIKE
        narrow += 4 * n + N_ALIKE
        n_regressions = self.pool.n_regressions
        memcpy(record, narrow, (1 + n_regressions) * sizeof(double))
        record += 1 + self.n_wide_regressions
        narrow += 1 + n_regressions
        k = self.pool.n_record - (4 * n + N_ALIKE) - (1 + n_regressions)
        memcpy(record, narrow, k * sizeof(double))
        while n_regressions < self.n_wide_regressions:          # those that this period does not have
            k = self.pool.first.runner.n_record + 2
            record[n_regressions * k] = record[n_regressions * k + 1] = NAN
            n_regressions += 1

    cdef bint is_prepared(self, double y) noexcept nogil:
        """Whether the pool of the period that `y` brings to light is there."""
        cdef double* head = self.head
        cdef double* past = head + HEAD + (<Py_ssize_t>head[N_STEPS] % N_PAST) * self.width
        cdef double before = past[0]
        self.looked_up = -1
        if not is_due(<Py_ssize_t>head[N_STEPS] + 1):
            return True
        past[0] = y
        head[N_STEPS] += 1.0
        self.looked_up = self.lacking = self._look()
        head[N_STEPS] -= 1.0
        past[0] = before
        return self.is_made[self.lacking]

    cdef int prepare(self) except -1:
        cdef Py_ssize_t period = self.lacking       # before Python code lets another thread in
        spec = self.spec.pool(period)
        self.pools[period] = PoolRunner(spec, spec.new_row(), self.check), spec._blank, self.spec.slots(period)
        self.is_made[period] = True
        return 0

    cdef void learn(self, double y) noexcept nogil:
        cdef double* head = self.head
        cdef double* past = head + HEAD + (<Py_ssize_t>head[N_STEPS] % N_PAST) * self.width
        past[0] = y
        if self.n_inputs:
            memcpy(past + 1, self.x, self.n_inputs * sizeof(double))
        self.pool.learn(y)
        head[N_SEEN] = smaller(head[N_SEEN] + (not isnan(y)), MAX_COUNT)
        head[N_STEPS] += 1.0
        if self.looked_up >= 0:
            self._adopt(self.looked_up)
            self.looked_up = -1
        if head[N_STEPS] >= MAX_STEPS:
            head[N_STEPS] -= 0.5 * MAX_STEPS

    cdef object make(self, double mean, double var, object record):
        return self.spec.predictive(record)

    cdef Py_ssize_t _look(self) noexcept nogil:
        """Return the period that the buffer has: equation (N.36)."""
        cdef double* head = self.head
        cdef Py_ssize_t now = <Py_ssize_t>head[PERIOD], n = <Py_ssize_t>smaller(head[N_STEPS], N_PAST)
        cdef Py_ssize_t longest = n // PERIODS_SEEN
        if not self._weigh(n, longest):
            self.evidence[now] = head[EVIDENCE]
            return now
        return find_period(self.evidence, longest, now)

    cdef void _adopt(self, Py_ssize_t period) noexcept nogil:
        """Let a pool of the period that was looked up, if it is another one, learn the buffer."""
        cdef double* head = self.head
        cdef Py_ssize_t n_used = self.pool.row_size, n = <Py_ssize_t>smaller(head[N_STEPS], N_PAST)
        if 0 < period <= n // PERIODS_SEEN:
            head[EVIDENCE] = self.evidence[period]
        if period == <Py_ssize_t>head[PERIOD]:
            return
        head[PERIOD], head[FOUND_AT] = period, head[N_STEPS]
        if period == 0:
            head[EVIDENCE] = 0.0
        self._switch()
        memset(head + self.pool_at, 0, max(n_used, self.pool.row_size) * sizeof(double))    # beyond, the row is 0
        self._replay(n)

    cdef bint _weigh(self, Py_ssize_t n, Py_ssize_t longest) noexcept nogil:
        """Write the log evidence for every period up to the longest; return False if nothing moves.

        Equations (N.32)-(N.35): a season of the values, or of their differences, against an autoregression of the same.
        """
        cdef Py_ssize_t p, world
        cdef double[2] null_share
        cdef Py_ssize_t[2] n_known
        cdef double var
        cdef double* cosine = self.scratch + 3 * MAX_PERIOD
        cdef double* sine = cosine + MAX_PERIOD
        if longest < MIN_PERIOD:
            return False
        for world in range(2):          # the values, and their differences
            if not self._fill(n, world == 1, self.values + world * N_PAST):
                return False
            var = clip(self.values + world * N_PAST, n - world, self.scratch, n_known + world)
            if not var > 0.0:
                return False
            null_share[world] = larger(
                autoregression_var(self.values + world * N_PAST, n - world, var) / var, MIN_NULL_SHARE
            )
        for p in range(MIN_PERIOD, longest + 1):
            fill_wave(p, cosine, sine)
            self.evidence[p] = -INFINITY
            for world in range(2):
                self.evidence[p] = larger(self.evidence[p], season_evidence(
                    self.values + world * N_PAST, n - world, n_known[world], p, null_share[world], cosine, sine,
                    self.scratch,
                ))
        return True

    cdef bint _fill(self, Py_ssize_t n, bint differences, double* x) noexcept nogil:
        """Write the past without its trend, or its differences (nan: missing); return whether there is enough of it."""
        cdef Py_ssize_t i, first = <Py_ssize_t>self.head[N_STEPS] - n, count = 0
        cdef double largest = 0.0, mean = 0.0, mean_time = 0.0, cross = 0.0, square = 0.0, center, time
        for i in range(n):
            x[i] = self._past(first + i)[0]
            if not isnan(x[i]):
                largest = larger(largest, fabs(x[i]))
                self.scratch[count] = x[i]
                count += 1
        if count < MIN_STEPS // 2 or largest == 0.0:
            return False
        center = median(self.scratch, count) / largest
        for i in range(n):
            x[i] = x[i] / largest - center
        clip(x, n, self.scratch, &count)
        if differences:
            n -= 1
            for i in range(n):
                x[i] = x[i + 1] - x[i]
        count = 0
        for i in range(n):
            if not isnan(x[i]):
                count += 1
                mean += (x[i] - mean) / count
                mean_time += (i - mean_time) / count
        if not differences:
            for i in range(n):
                if not isnan(x[i]):
                    time = i - mean_time
                    cross += time * (x[i] - mean)
                    square += time * time
        for i in range(n):
            x[i] -= mean + (cross / square * (i - mean_time) if square > 0.0 else 0.0)
        return True

    cdef inline const double* _past(self, Py_ssize_t step) noexcept nogil:
        """Return the observation of a step in the buffer, and its exogenous values."""
        return self.head + HEAD + (step % N_PAST) * self.width

    cdef void _replay(self, Py_ssize_t n) noexcept nogil:
        """Let the pool, which is new, learn the last n steps: equation (N.37)."""
        cdef double* row = self.head + self.pool_at
        cdef Py_ssize_t i, first = <Py_ssize_t>self.head[N_STEPS] - n
        cdef const double* past
        cdef OneStepForecast found
        memcpy(row, self.blank, self.pool.row_size * sizeof(double))
        self.pool.bind(row)
        for i in range(n):
            past = self._past(first + i)
            self.pool.step_row(past + 1, past[0], &found, NULL)

    cdef void _switch(self) noexcept nogil:
        with gil:
            self._use(<Py_ssize_t>self.head[PERIOD])

    cdef void _use(self, Py_ssize_t period) noexcept:
        """Let the pool of this period, which is there, be the one that moves the row; nothing here can fail."""
        cdef tuple made = <tuple>self.pools[period]
        self.pool = <PoolRunner>made[0]
        self.blank = <const double*>cnp.PyArray_DATA(<cnp.ndarray>made[1])
        self.slots = <const Py_ssize_t*>cnp.PyArray_DATA(<cnp.ndarray>made[2])
        self.n_pool_structures = cnp.PyArray_DIM(<cnp.ndarray>made[2], 0)
        self.bound_period = period


cdef bint is_due(Py_ssize_t n) noexcept nogil:
    """Whether a period is looked for after n steps: at first often, then after every `MAX_STRIDE` steps."""
    cdef Py_ssize_t stride = 1
    if n < MIN_STEPS:
        return False
    while 4 * stride <= n and stride < MAX_STRIDE:
        stride *= 2
    return n % stride == 0


cdef Py_ssize_t find_period(const double* evidence, Py_ssize_t longest, Py_ssize_t now) noexcept nogil:
    """Return the period that the evidence supports, 0 if none; `now` is the one so far: equation (N.36)."""
    cdef Py_ssize_t p, period = 0, kept = now
    cdef double best = -INFINITY, least = MIN_EVIDENCE + log(<double>longest), here
    if 0 < now <= longest and evidence[now] <= 0.0:
        kept = 0
    for p in range(MIN_PERIOD, longest + 1):
        if evidence[p] > best:
            best, period = evidence[p], p
    if best <= least:
        return kept
    for p in range(MIN_PERIOD, period):         # a multiple fits as well: the shortest counts
        if period % p == 0 and evidence[p] > larger(best - MIN_GAIN, least):
            period = p
            break
    if period == now or now == 0 or now > longest:
        return period if now <= longest else now
    here = evidence[now] + (-MIN_GAIN if now % period == 0 else MIN_GAIN)
    return period if evidence[period] > here else kept


cdef void fill_wave(Py_ssize_t period, double* cosine, double* sine) noexcept nogil:
    """Write cos(2 pi i / period) and sin(2 pi i / period), by rotation, which is faster and right to 1e-13."""
    cdef Py_ssize_t i
    cdef double step_c = cos(2.0 * M_PI / period), step_s = sin(2.0 * M_PI / period)
    cosine[0], sine[0] = 1.0, 0.0
    for i in range(1, period):
        cosine[i] = cosine[i - 1] * step_c - sine[i - 1] * step_s
        sine[i] = sine[i - 1] * step_c + cosine[i - 1] * step_s


cdef double clip(double* x, Py_ssize_t n, double* scratch, Py_ssize_t* n_known) noexcept nogil:
    """Clip values far out: equation (N.32); return the mean of their squares, and write how many there are."""
    cdef Py_ssize_t i, k = 0
    cdef double bound, square = 0.0
    for i in range(n):
        if not isnan(x[i]):
            scratch[k] = fabs(x[i])
            k += 1
    bound = MAX_DEVIATION * median(scratch, k)
    for i in range(n):
        if not isnan(x[i]):
            if bound > 0.0:
                x[i] = larger(-bound, smaller(x[i], bound))
            square += x[i] * x[i]
    n_known[0] = k
    return square / k if k else 0.0


cdef double autoregression_var(const double* x, Py_ssize_t n, double var) noexcept nogil:
    """Return the variance that an autoregression by least squares leaves, at most `var`: equation (N.33)."""
    cdef double[N_LAGS + 1][N_LAGS + 1] products
    cdef Py_ssize_t i, j, k, count = 0
    cdef bint is_whole
    cdef double factor, left
    memset(&products[0][0], 0, sizeof(products))
    for i in range(N_LAGS, n):
        is_whole = True
        for j in range(N_LAGS + 1):
            is_whole = is_whole and not isnan(x[i - j])
        if is_whole:
            count += 1
            for j in range(N_LAGS + 1):
                for k in range(j + 1):
                    products[j][k] += x[i - j] * x[i - k]
    if count < MIN_ROWS:        # what cannot be fitted cannot be beaten
        return 0.0
    # Eliminate the lags, the last first; what is left of the first square is the error of the regression.
    left = products[0][0]
    for j in range(N_LAGS, 0, -1):
        factor = products[j][j] + RIDGE * left
        if factor <= 0.0:
            continue
        for k in range(j):
            for i in range(k + 1):
                products[k][i] -= products[j][k] * products[j][i] / factor
    return smaller(larger(products[0][0], 0.0) / (count - N_LAGS), var)


cdef double season_evidence(
    const double* x, Py_ssize_t n, Py_ssize_t n_known, Py_ssize_t period, double null_share,
    const double* cosine, const double* sine,       # in  (period,)
    double* scratch,                                # (3 * period,)
) noexcept nogil:
    """Return the log evidence for a season of some waves, or of any shape: equations (N.34) and (N.35).

    Waves are fitted to whole periods, where they are orthogonal unless values are missing.
    """
    cdef double* total = scratch
    cdef double* count = total + period
    cdef double* fit = count + period
    cdef Py_ssize_t i, k, at, start = 0, m, n_whole = n - n % period
    cdef double square = 0.0, explained = 0.0, left, best = -INFINITY, real, imaginary, part
    memset(scratch, 0, 3 * period * sizeof(double))
    while start < n_whole:
        add_values(x + start, period, total, count, &square)
        start += period
    m = 0
    for i in range(period):
        m += <Py_ssize_t>count[i]
    if m <= period or not square > 0.0:
        return -INFINITY
    left = square
    for k in range(1, min(<Py_ssize_t>MAX_WAVES, period // 2) + 1):
        part, real, imaginary, at = (1.0 if 2 * k == period else 2.0) / m, 0.0, 0.0, 0
        for i in range(period):
            real += total[i] * cosine[at]
            imaginary += total[i] * sine[at]
            at = at + k - (period if at + k >= period else 0)
        if m == n_whole:
            left -= part * (real * real + imaginary * imaginary)
        else:
            left, at = square, 0
            for i in range(period):
                fit[i] += part * (real * cosine[at] + imaginary * sine[at])
                left += fit[i] * (count[i] * fit[i] - 2.0 * total[i])
                at = at + k - (period if at + k >= period else 0)
        best = larger(best, _evidence(left / (m - 2 * k) / (square / m), n_known, 2 * k, null_share))
    add_values(x + n_whole, n - n_whole, total, count, &square)
    m = 0
    for i in range(period):
        m += <Py_ssize_t>count[i]
        if count[i] > 0.0:
            explained += total[i] * total[i] / count[i]
    return larger(best, _evidence((square - explained) / (m - period) / (square / m), n_known, period, null_share))


cdef inline void add_values(
    const double* x, Py_ssize_t n, double* total, double* count, double* square
) noexcept nogil:
    """Add the values of one period, and their squares; nan is none."""
    cdef Py_ssize_t i
    for i in range(n):
        if not isnan(x[i]):
            total[i] += x[i]
            count[i] += 1.0
            square[0] += x[i] * x[i]


cdef inline double _evidence(double share, Py_ssize_t n, Py_ssize_t k, double null_share) noexcept nogil:
    """Return the log evidence for a season of k numbers that leaves this share of the variance: equation (N.35)."""
    return 0.5 * n * log(null_share / larger(share, MIN_SHARE)) - 0.5 * k * log(<double>n)


cdef double median(double* values, Py_ssize_t n) noexcept nogil:
    """Return the median, the upper of two in the middle; the values are reordered."""
    cdef Py_ssize_t low = 0, high = n - 1, at = n // 2, i, j
    cdef double pivot, swapped
    while low < high:
        pivot, i, j = values[at], low, high
        while i <= j:
            while values[i] < pivot:
                i += 1
            while values[j] > pivot:
                j -= 1
            if i <= j:
                swapped = values[i]
                values[i] = values[j]
                values[j] = swapped
                i += 1
                j -= 1
        if j < at:
            low = i
        if i > at:
            high = j
    return values[at]
