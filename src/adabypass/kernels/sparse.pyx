"""The rows of models whose features are mostly 0: a step takes time for those alone that are not.

The weights of the features that are given are gathered into a short row, on which the kernel works as on any other with
a diagonal covariance, and put back. Drift widens all weights alike, so it is added to one number, `common_var`, which
every variance is less: equation (M.3). In a bank there is one such sum for every walk: equations (M.7)-(M.10).
"""

from libc.math cimport NAN, exp, fabs, isfinite, isnan, log
from libc.stdlib cimport calloc, free, realloc
from libc.string cimport memcpy

cimport numpy as cnp

from adabypass.kernels.bank cimport (
    center_and_scale, describe_bank, forecast_start, is_milestone, measure_bank, open_bank, remember, reset, setting,
    start_log_density,
)
from adabypass.kernels.covariance cimport DIAGONAL
from adabypass.kernels.runner cimport Runner
from adabypass.kernels.step cimport (
    Kernel, MAX_VALUE, LINE, StepContext, WeightsView, next_line, saturate, scale_features,
)
from adabypass.numerics.dispatch cimport LANES, SIMD
from adabypass.numerics.special cimport larger, smaller
from adabypass.state.bank_table cimport (
    ANCHORED, ANCHOR_RATE, Bank, MAX_ERROR, LOG_SCORE, MAX_UNDERPERFORMANCE_COUNT, N_SEEN, N_WARM, PHASE, PHASE_SETTLED,
    PHASE_UNSCALED, PHASE_WARMING, PREC_DECAY, PRIOR_PREC, SEASON_STEP, SLOPES_DRIFT, MIN_ANCHOR_VAR,
    WARM_UP_WIDENING, Y_CENTER, Y_RUNNING_MEAN, Y_RUNNING_VAR, Y_SCALE, lay_scratch, scratch_size,
)

from adabypass.numerics import limits
from adabypass.state import bank as bank_spec

cnp.import_array()

cdef double LARGE_FEATURE = limits.LARGE_FEATURE
cdef double MAX_LOG_NOISE_SCALE = limits.MAX_LOG_NOISE_SCALE
cdef double MIN_LOG_NEW_SLOPE_SD = bank_spec.MIN_LOG_NEW_SLOPE_SD
cdef double MAX_VAR_RATIO = 1e6     # of a variance in the sum of its drift, beyond which digits would be lost

cdef enum:
    MAX_VECTORS = 4                # of a row, of which a step gathers the numbers of the features that are given


cdef class SparseRunner(Runner):
    """A row with a diagonal covariance.

    Parameters
    ----------
    kernel : Kernel
    spec : Spec
        Whose covariance is diagonal.
    row : float64 array
        Taken over.
    n_features : int
    check : function
        Converts and checks the features of one observation: of these and n_features; returns ascending indices of
        those that are not 0, and their values.
    """

    cdef Py_ssize_t capacity        # features for which there is memory
    cdef Py_ssize_t n_given         # features that are given,
    cdef const Py_ssize_t* indices  # their indices,
    cdef const double* values       # and their values
    cdef Py_ssize_t* own_indices    # memory for these of one observation
    cdef double* own_values
    cdef double* scaled
    cdef double* compact            # the short row: scalars, then the vectors
    cdef const Py_ssize_t* begins   # of a stream: where each row begins,
    cdef const Py_ssize_t* all_indices
    cdef const double* all_values
    cdef Py_ssize_t n_vectors       # that are gathered
    cdef Py_ssize_t[MAX_VECTORS] vectors   # where they begin in the row
    cdef Py_ssize_t var             # which of them the variances are
    cdef Py_ssize_t common          # where the common variance is in the row

    def __cinit__(self, Kernel kernel not None, spec, cnp.ndarray row not None, Py_ssize_t n_features, check):
        if n_features < 1 or not spec.is_sparse:
            raise TypeError("a row is for at least one feature, of a spec for sparse features")
        self.use_row(spec, row, spec.row_size(n_features), None)
        self.use_kernel(kernel, spec)
        if self.row_size < self.n_head + 2 * n_features + 1:
            raise ValueError("a row has a mean and a variance for each feature")
        self.n_features, self.check, self.step_size = n_features, check, self.n_head
        self._find_vectors(spec)
        self.make_room(16)

    cdef int _find_vectors(self, spec) except -1:
        """Find where the vectors that are gathered begin, and the common variance."""
        places = spec.layout.places(**spec.dims(self.n_features))
        if len(spec.gathered) > MAX_VECTORS:
            raise ValueError(f"a step gathers up to {MAX_VECTORS} vectors")
        for name in spec.gathered:
            self.vectors[self.n_vectors] = places[name][0].start
            self.n_vectors += 1
        if self.n_vectors > 0:
            self.var, self.common = spec.gathered.index("var"), places["common_var"][0].start
        return 0

    cdef int make_room(self, Py_ssize_t n) except -1:
        """Let there be memory for n features at once: their indices and values, the short row, and scratch."""
        cdef double* memory
        if n <= self.capacity:
            return 0
        n = min(max(n, 2 * self.capacity), self.n_features if self.n_features > n else n)
        memory = <double*>realloc(self.memory, ((6 + self.n_vectors) * n + self.n_head + LINE) * sizeof(double))
        if memory == NULL:
            raise MemoryError()
        self.memory, self.capacity = memory, n
        self.own_indices, self.own_values, self.scaled = <Py_ssize_t*>memory, memory + n, memory + 2 * n
        self.compact = memory + 3 * n
        return 0

    cdef int read(self, object inputs) except -1:
        """Copy features into the runner's memory, and check them there; from then on no Python code may run."""
        cdef Py_ssize_t k, n
        found, numbers = self.check(inputs, self.n_features)
        cdef const Py_ssize_t[::1] indices = found
        cdef const double[::1] values = numbers
        n = indices.shape[0]
        if values.shape[0] != n:
            raise ValueError("every index needs a value")
        self.make_room(max(n, 1))
        for k in range(n):
            self.own_indices[k], self.own_values[k] = indices[k], values[k]
        self._check(self.own_indices, self.own_values, n)
        self._give(self.own_indices, self.own_values, n)
        self.is_current = False
        return 0

    cdef int _check(self, const Py_ssize_t* indices, const double* values, Py_ssize_t n) except -1:
        """Check the features of one observation, which nobody else can change."""
        cdef Py_ssize_t k, before = -1
        for k in range(n):
            if not before < indices[k] < self.n_features or not isfinite(values[k]):
                raise ValueError("indices must ascend and be those of features, and values be finite")
            before = indices[k]
        return 0

    cdef void _give(self, const Py_ssize_t* indices, const double* values, Py_ssize_t n) noexcept nogil:
        """Let these be the features that are given; no feature at all is one that is 0."""
        if n == 0:
            self.own_indices[0], self.own_values[0] = 0, 0.0
            indices, values, n = self.own_indices, self.own_values, 1
        self.indices, self.values, self.n_given = indices, values, n

    cdef int open_stream(self, object inputs, Py_ssize_t n) except -1:
        """Check rows in compressed form: where each begins, indices, values."""
        cdef const Py_ssize_t[::1] begins = inputs[0]
        cdef const Py_ssize_t[::1] indices = inputs[1]
        cdef const double[::1] values = inputs[2]
        cdef Py_ssize_t t, n_numbers = indices.shape[0], longest = 1
        if begins.shape[0] != n + 1 or n_numbers != values.shape[0]:
            raise ValueError("rows must say where they begin, and every index needs a value")
        self.begins = &begins[0]
        self.all_indices, self.all_values = &indices[0] if n_numbers else NULL, &values[0] if n_numbers else NULL
        for t in range(n):
            if not 0 <= begins[t] <= begins[t + 1] <= n_numbers:
                raise ValueError("rows must begin where the one before ends")
            longest = max(longest, begins[t + 1] - begins[t])
            self._check(self.all_indices + begins[t], self.all_values + begins[t], begins[t + 1] - begins[t])
        self.make_room(longest)
        self.stream = inputs
        return 0

    cdef void take(self, Py_ssize_t t) noexcept nogil:
        cdef Py_ssize_t begin = self.begins[t]
        self._give(self.all_indices + begin, self.all_values + begin, self.begins[t + 1] - begin)

    cdef bint forecast(self) noexcept nogil:
        """Gather the weights of the features that are given, and forecast."""
        cdef StepContext* step = &self.newest
        cdef Py_ssize_t j, k, n = self.n_given
        cdef double* gathered = self.compact + self.n_head
        memcpy(self.compact, self.head, self.n_head * sizeof(double))
        for j in range(self.n_vectors):
            for k in range(n):
                gathered[j * n + k] = self.head[self.vectors[j] + self.indices[k]]
        for k in range(n):
            gathered[self.var * n + k] += self.head[self.common]
        step.n, step.n_total, step.covariance = n, self.n_features, &DIAGONAL
        step.row = self.compact
        step.constants = <const double*>cnp.PyArray_DATA(self.constants)
        step.scaled = self.scaled
        step.scratch = next_line(gathered + self.n_vectors * n)
        step.extra, step.pending = NULL, NULL
        step.mean = step.var = NAN
        scale_features(step, self.values, self.kernel.scale_up)
        self.kernel.forecast(step)
        self.seen.mean, self.seen.var = step.mean, step.var
        return True

    cdef void describe(self, double* record) noexcept nogil:
        self.kernel.describe(&self.newest, 0.0, record)

    cdef void learn(self, double y) noexcept nogil:
        """Learn from `y`, after `forecast`, and put the weights back."""
        cdef WeightsView linear
        cdef Py_ssize_t i, j, k, n = self.n_given
        cdef double* row = self.head
        cdef double* var = row + self.vectors[self.var]
        cdef double* common = row + self.common
        cdef double* gathered = self.compact + self.n_head
        cdef double* gathered_var = gathered + self.var * n
        cdef double smallest = MAX_VALUE
        self.kernel.learn(&self.newest, y)
        self.kernel.weights(&self.newest, &linear)
        common[0] = smaller(common[0] + linear.drift_var, MAX_VALUE)                          # (M.3)
        memcpy(row, self.compact, self.n_head * sizeof(double))
        for j in range(self.n_vectors):
            for k in range(n):
                row[self.vectors[j] + self.indices[k]] = gathered[j * n + k]
        for k in range(n):
            var[self.indices[k]] = gathered_var[k] - common[0]
            smallest = smaller(smallest, gathered_var[k])
        if common[0] > MAX_VAR_RATIO * smallest:
            for i in range(self.n_features):
                var[i] += common[0]
            for k in range(n):          # exactly, where a difference has lost digits
                var[self.indices[k]] = gathered_var[k]
            common[0] = 0.0


cdef class SparseBankRunner(SparseRunner):
    """The row of AutoBypass with features that are mostly 0: a bank without features, and slopes beside it.

    Features are not centred, so that one that is 0 says nothing. Its slopes drift all the same.

    Parameters
    ----------
    kernel : Kernel
    spec : AutoBypassSpec
        Whose features are sparse.
    row : float64 array
        Taken over; its counts are checked.
    n_features : int
    check : function
        As of `SparseRunner`.
    """

    cdef StepContext without_features
    cdef Bank bank                      # of the features that are given
    cdef double* log_new_slope_sd                # ν of (M.7), and how much was seen of it
    cdef double* x_scale                # (features,)   0 of one that was never other than 0
    cdef double* x_count
    cdef double* x_square               # running mean square of a feature where it is given, in units of x_scale²
    cdef double* intercept_mean         # in the row
    cdef double* intercept_var
    cdef double* drift_sum              # (walks,)
    cdef double* slope_mean             # (features, walks)
    cdef double* slope_var              # (features, walks)   less what the drift has added
    cdef double* short_memory
    cdef Py_ssize_t short_capacity

    def __cinit__(self, kernel, spec, cnp.ndarray row not None, Py_ssize_t n_features, check):
        cdef double* first = self.head
        spec.check_row(self._row, n_features)
        places = spec.layout.places(**spec.dims(n_features))
        self.without_features.n = 0
        self.without_features.covariance = &DIAGONAL
        self.without_features.row = first
        self.without_features.constants = <const double*>cnp.PyArray_DATA(self.constants)
        self.without_features.extra = NULL
        self.log_new_slope_sd = first + <Py_ssize_t>places["log_new_slope_sd"][0].start
        self.x_scale = first + <Py_ssize_t>places["slope_scale"][0].start
        self.x_count = first + <Py_ssize_t>places["slope_count"][0].start
        self.x_square = first + <Py_ssize_t>places["slope_square"][0].start
        self.drift_sum = first + <Py_ssize_t>places["drift_sum"][0].start
        self.slope_mean = first + <Py_ssize_t>places["slope_mean"][0].start
        self.slope_var = first + <Py_ssize_t>places["slope_var"][0].start
        self.make_room(16)

    def __dealloc__(self):
        free(self.short_memory)

    cdef int make_room(self, Py_ssize_t n) except -1:
        """Let there be memory for n features at once."""
        cdef Py_ssize_t size
        cdef double* memory
        cdef Bank longest
        SparseRunner.make_room(self, n)
        if n <= self.short_capacity:
            return 0
        n = self.capacity
        size = n + 1
        measure_bank(&longest, self.without_features.constants, n, &DIAGONAL)
        memory = <double*>calloc(6 * n + 2 * size * LANES + scratch_size(&longest) + 2 * LINE, sizeof(double))
        if memory == NULL:
            raise MemoryError()
        free(self.short_memory)
        self.short_memory, self.short_capacity = memory, n
        self.without_features.scratch = next_line(memory + 6 * n) + 2 * size * LANES
        return 0

    cdef void _open(self) noexcept nogil:
        """Let the bank have the features that are given."""
        cdef Bank* bank = &self.bank
        cdef Py_ssize_t i, k, walk, at, n = self.n_given, most = self.short_capacity
        cdef const double* anchored
        cdef double x, new_var = exp(2.0 * self.log_new_slope_sd[0]) / n                                 # (M.7)
        open_bank(&self.without_features, bank)
        self.intercept_mean, self.intercept_var = bank.walk_mean, bank.walk_cov
        anchored = setting(bank, ANCHORED)
        bank.n_features, bank.n_weights = n, n + bank.intercept
        bank.n_packed = bank.n_weights
        bank.x_center = self.short_memory                   # always 0, as is the next
        bank.anchor_center = bank.x_center + most
        bank.x_scale = bank.anchor_center + most
        bank.anchor_var = bank.x_scale + most
        bank.newest_center = bank.anchor_var + most
        bank.move_var = bank.newest_center + most
        bank.walk_mean = next_line(bank.move_var + most)
        bank.walk_cov = bank.walk_mean + (most + 1) * LANES
        lay_scratch(bank, self.without_features.scratch)
        if bank.intercept:
            bank.z[0] = 1.0
            memcpy(bank.walk_mean, self.intercept_mean, LANES * sizeof(double))
            memcpy(bank.walk_cov, self.intercept_var, LANES * sizeof(double))
        for k in range(n):
            i, x, at = self.indices[k], self.values[k], (k + bank.intercept) * LANES
            bank.anchor_center[k], bank.newest_center[k], bank.move_var[k] = 0.0, 0.0, 1.0
            if self.x_scale[i] > 0.0:
                bank.x_scale[k], bank.anchor_var[k] = self.x_scale[i], self.x_square[i]
                memcpy(bank.walk_mean + at, self.slope_mean + i * LANES, LANES * sizeof(double))
                for walk in range(LANES):
                    bank.walk_cov[at + walk] = self._variance(anchored, i, walk)
            else:
                bank.x_scale[k], bank.anchor_var[k] = smaller(fabs(x), MAX_VALUE), 1.0
                for walk in range(LANES):
                    bank.walk_mean[at + walk], bank.walk_cov[at + walk] = 0.0, new_var
            bank.z[k + bank.intercept] = 0.0
            if x != 0.0:
                bank.z[k + bank.intercept] = smaller(larger(x / bank.x_scale[k], -LARGE_FEATURE), LARGE_FEATURE)

    cdef double _variance(self, const double* anchored, Py_ssize_t i, Py_ssize_t walk) noexcept nogil:
        """Variance of a slope: what is kept of it, and what drift has added to it since: equation (M.9)."""
        cdef double drifted = self.drift_sum[walk]
        if anchored[walk] != 0.0:
            drifted /= self.x_square[i]
        return larger(self.slope_var[i * LANES + walk] + drifted, 0.0)

    cdef void _keep_variance(
        self, const double* anchored, Py_ssize_t i, Py_ssize_t walk, double var
    ) noexcept nogil:
        cdef double drifted = self.drift_sum[walk]
        if anchored[walk] != 0.0:
            drifted /= self.x_square[i]
        self.slope_var[i * LANES + walk] = var - drifted

    cdef bint forecast(self) noexcept nogil:
        self._open()
        if self.bank.row[PHASE] == PHASE_UNSCALED:
            forecast_start(&self.bank, &self.seen.mean, &self.seen.var)
        else:
            SIMD.bank_forecast(&self.bank, &self.seen.mean, &self.seen.var)
        return True

    cdef void describe(self, double* record) noexcept nogil:
        describe_bank(&self.bank, 0.0, record)

    cdef void learn(self, double y) noexcept nogil:
        cdef Bank* bank = &self.bank
        cdef double[LANES] counts
        if bank.row[PHASE] != PHASE_UNSCALED:
            memcpy(counts, bank.walk_underperformance_count, LANES * sizeof(double))
            SIMD.bank_learn(bank, y)
            if not isnan(y):
                self._learn_prior()
            self._put_back(not isnan(y))
            self._restart_walks(counts)
        elif not isnan(y):
            bank.row[LOG_SCORE] = start_log_density(bank, y)
            bank.row[N_SEEN] += 1.0
        if bank.row[PHASE] != PHASE_SETTLED and not isnan(y):
            bank.n_features = 0                  # of the warm-up the targets alone are kept
            remember(bank, self.newest.x, self.newest.scale, y)
            if is_milestone(bank):
                self._set_units()
        bank.row[SEASON_STEP] = bank.row[SEASON_STEP] + 1.0 if bank.row[SEASON_STEP] + 1.0 < bank.period else 0.0

    cdef void _learn_prior(self) noexcept nogil:
        """Move the deviation of new slopes along the evidence: equations (M.12) and (M.13)."""
        cdef Bank* bank = &self.bank
        cdef Py_ssize_t k, walk
        cdef double new_var = exp(2.0 * self.log_new_slope_sd[0]) / self.n_given
        cdef double square = 0.0, slope = 0.0, effect = 0.0, part, h
        for k in range(self.n_given):
            if self.x_scale[self.indices[k]] <= 0.0:
                square += bank.z[k + bank.intercept] * bank.z[k + bank.intercept]
        if square == 0.0:
            return
        for walk in range(LANES):
            h = bank.h[walk]
            part = smaller(square * new_var / h, 1.0)       # of the signal's variance that new slopes have
            slope += bank.walk_share[walk] * part * ((bank.left[walk] - h) / h + bank.move[walk] / h * bank.move[walk])
            effect += bank.walk_share[walk] * 2.0 * (part * h / (h + bank.walk_noise[walk])) ** 2
        slope = smaller(larger(slope, -bank.constants[MAX_ERROR]), bank.constants[MAX_ERROR])
        self.log_new_slope_sd[1] += (
            effect - bank.constants[PREC_DECAY] * (self.log_new_slope_sd[1] - bank.constants[PRIOR_PREC])
        )
        self.log_new_slope_sd[0] += slope / self.log_new_slope_sd[1]
        self.log_new_slope_sd[0] = smaller(larger(self.log_new_slope_sd[0], MIN_LOG_NEW_SLOPE_SD), 0.0)

    cdef void _put_back(self, bint was_seen) noexcept nogil:
        """Keep what the bank has learned of the features that were given."""
        cdef Bank* bank = &self.bank
        cdef Py_ssize_t i, k, walk, at, n = self.n_given
        cdef const double* anchored = setting(bank, ANCHORED)
        cdef const double* moves = setting(bank, SLOPES_DRIFT)
        cdef double[LANES] least
        for walk in range(LANES):
            least[walk] = MAX_VALUE
            self.drift_sum[walk] = (
                smaller(self.drift_sum[walk] + bank.drift_var[walk] * moves[walk], MAX_VALUE)  # (M.8)
            )
        if bank.intercept:
            memcpy(self.intercept_mean, bank.walk_mean, LANES * sizeof(double))
            memcpy(self.intercept_var, bank.walk_cov, LANES * sizeof(double))
        for k in range(n):
            i, at = self.indices[k], (k + bank.intercept) * LANES
            self._see(k, bank.x_scale[k], was_seen)
            if self.x_scale[i] <= 0.0:
                continue
            memcpy(self.slope_mean + i * LANES, bank.walk_mean + at, LANES * sizeof(double))
            for walk in range(LANES):
                self._keep_variance(anchored, i, walk, bank.walk_cov[at + walk])
                least[walk] = smaller(least[walk], bank.walk_cov[at + walk])
        for walk in range(LANES):
            if self.drift_sum[walk] > MAX_VAR_RATIO * least[walk]:
                self._settle_drift(anchored, walk)

    cdef void _see(self, Py_ssize_t k, double scale, bint was_seen) noexcept nogil:
        """Follow the size of a feature that is given: equation (M.10); `scale` is its unit, if it is new."""
        cdef Py_ssize_t i = self.indices[k]
        cdef double z = self.bank.z[k + self.bank.intercept], rate
        if z == 0.0:
            return
        if self.x_scale[i] <= 0.0:
            self.x_scale[i], self.x_square[i] = scale, 1.0
        if was_seen:
            self.x_count[i] += 1.0
            rate = larger(self.bank.constants[ANCHOR_RATE], 1.0 / (self.x_count[i] + 1.0))
            self.x_square[i] += rate * (z * z - self.x_square[i])
            self.x_square[i] = larger(self.x_square[i], self.bank.constants[MIN_ANCHOR_VAR])

    cdef void _settle_drift(self, const double* anchored, Py_ssize_t walk) noexcept nogil:
        """Add the sum of a walk's drift to every variance, and begin it anew."""
        cdef Py_ssize_t i, k, at
        for i in range(self.n_features):
            self.slope_var[i * LANES + walk] = self._variance(anchored, i, walk) if self.x_scale[i] > 0.0 else 0.0
        self.drift_sum[walk] = 0.0
        for k in range(self.n_given):       # exactly, where a difference has lost digits
            at = (k + self.bank.intercept) * LANES + walk
            if self.x_scale[self.indices[k]] > 0.0:
                self.slope_var[self.indices[k] * LANES + walk] = self.bank.walk_cov[at]

    cdef void _restart_walks(self, const double* counts) noexcept nogil:
        """Let all slopes of a walk that has given up, which had these counts, go on from the best: equation (H.46)."""
        cdef Bank* bank = &self.bank
        cdef double most = bank.constants[MAX_UNDERPERFORMANCE_COUNT]
        cdef Py_ssize_t walk, best = 0
        for walk in range(1, LANES):
            if bank.walk_share[walk] > bank.walk_share[best]:
                best = walk
        for walk in range(LANES):
            if counts[walk] + 1.0 < most or bank.walk_underperformance_count[walk] != 0.0 or walk == best:
                continue
            self._copy_walk(best, walk)

    cdef void _copy_walk(self, Py_ssize_t best, Py_ssize_t walk) noexcept nogil:
        """Let all slopes of a walk be those of another."""
        cdef const double* anchored = setting(&self.bank, ANCHORED)
        cdef Py_ssize_t i
        for i in range(self.n_features):
            if self.x_scale[i] > 0.0:
                self.slope_mean[i * LANES + walk] = self.slope_mean[i * LANES + best]
                self._keep_variance(anchored, i, walk, self._variance(anchored, i, best))

    cdef void _set_units(self) noexcept nogil:
        """Set centre and scale of y by the targets of the warm-up; what was learned is told in the new ones: (M.11)."""
        cdef Bank* bank = &self.bank
        cdef double* row = bank.row
        cdef Py_ssize_t k, count = <Py_ssize_t>row[N_WARM]
        cdef double center, scale, ratio, move, moved
        cdef bint is_first = row[PHASE] == PHASE_UNSCALED
        center_and_scale(bank.warm_y, count, 1, bank.intercept, &center, &scale)
        if scale == 0.0:
            if is_first:
                row[Y_CENTER], row[Y_SCALE] = center, 0.0
            return
        row[PHASE] = PHASE_WARMING if count < bank.n_warm_up else PHASE_SETTLED
        if is_first:
            row[Y_CENTER], row[Y_SCALE] = center, scale
            open_bank(&self.without_features, bank)
            self.log_new_slope_sd[0], self.log_new_slope_sd[1] = 0.0, bank.constants[PRIOR_PREC]
            reset(bank, 1.0 + bank.constants[WARM_UP_WIDENING] / count if row[PHASE] == PHASE_WARMING else 1.0)
            return
        ratio, move = row[Y_SCALE] / scale, (row[Y_CENTER] - center) / scale
        row[Y_CENTER], row[Y_SCALE] = center, scale
        row[Y_RUNNING_MEAN] = saturate(row[Y_RUNNING_MEAN] * ratio + move)
        row[Y_RUNNING_VAR] = larger(saturate(row[Y_RUNNING_VAR] * ratio * ratio), bank.constants[MIN_ANCHOR_VAR])
        for k in range(bank.n_filters):
            moved = bank.filter_slow[k] + log(ratio)
            bank.filter_slow[k] = smaller(larger(moved, -MAX_LOG_NOISE_SCALE), MAX_LOG_NOISE_SCALE)
        self._rescale(ratio, move)

    cdef void _rescale(self, double ratio, double move) noexcept nogil:
        """Tell the weights in other units of y: equation (M.11)."""
        cdef Py_ssize_t i, walk
        for walk in range(LANES):
            if self.bank.intercept:
                self.intercept_mean[walk] = saturate(self.intercept_mean[walk] * ratio + move)
                self.intercept_var[walk] = saturate(self.intercept_var[walk] * ratio * ratio)
            self.drift_sum[walk] = saturate(self.drift_sum[walk] * ratio * ratio)
        for i in range(self.n_features * LANES):
            self.slope_mean[i] = saturate(self.slope_mean[i] * ratio)
            self.slope_var[i] = saturate(self.slope_var[i] * ratio * ratio)
