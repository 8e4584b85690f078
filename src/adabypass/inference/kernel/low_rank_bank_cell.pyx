"""AutoBypass with sparse features and covariances of low rank: one for each walk.

The bank is one without features; what its walks expect of z'w, and how sure they are, comes from here. The first
feature of a walk's weights is the intercept, if there is one: it is always given.
"""

from libc.math cimport exp, fabs, sqrt
from libc.stdlib cimport calloc, free, realloc
from libc.string cimport memcpy

cimport numpy as cnp

from adabypass.inference.kernel.bank_state cimport (
    LANES, N_FILTERS, N_FLEXIBLE, PHASE, PRIOR_VAR, SLOPES_DRIFT, UNSCALED, n_scratch, open_bank, setting,
)
from adabypass.inference.kernel.low_rank cimport LowRank, condition_low_rank, desk_size, lay_desk, project_low_rank
from adabypass.inference.kernel.sparse_bank_cell cimport LARGE_FEATURE, SparseBankCell
from adabypass.inference.kernel.sparse_cell cimport SparseCell
from adabypass.inference.kernel.step cimport LARGEST, saturate
from adabypass.model.special cimport larger, smaller
from adabypass.simd.dispatch cimport KERNELS, Projection

from adabypass.model import limits

cnp.import_array()

cdef double SMALLEST_SIGNAL = limits.SMALLEST_SIGNAL

cdef class LowRankBankCell(SparseBankCell):
    """A row of a bank with sparse features and covariances of low rank, together with the kernel that moves it.

    Parameters
    ----------
    kernel : Kernel
    spec : AutoBypassSpec
        Whose covariances are of low rank.
    row : float64 array
        Taken over; its counts and indices are checked.
    n_features : int
    """

    cdef LowRank[LANES] low
    cdef bint intercept
    cdef Py_ssize_t walk_size           # numbers of a walk in the row
    cdef double* walks                  # the first of them
    cdef double* desk_memory
    cdef double* step_memory            # products, along and change of every walk
    cdef Py_ssize_t* given              # intercept and features that are given, in the weights' order
    cdef double* z                      # their values, in standard units
    cdef double* units                  # of the features that are given
    cdef Py_ssize_t z_capacity
    cdef double new_var                 # that slopes of features which are new begin with

    def __cinit__(self, kernel, spec, cnp.ndarray row not None, Py_ssize_t n_features):
        cdef LowRank* low
        cdef Py_ssize_t walk, K, n_flexible
        cdef double* first = <double*>cnp.PyArray_DATA(row)
        if not spec.is_low_rank:
            raise TypeError("the covariance of the spec must be of low rank")
        self.intercept = spec.intercept
        place, shape = spec.layout.places(**spec.dims(n_features))["walk_weights"]
        self.walks, self.walk_size = first + <Py_ssize_t>place.start, shape[1]
        places = spec.walk_layout.places(n_features=n_features + spec.intercept)
        for walk in range(LANES):
            low = &self.low[walk]
            first = self.walks + walk * self.walk_size
            low.n, low.rank = places["factors"][1]
            low.n_all, low.room = places["shift"][1][0], places["values"][1][0]
            low.most = low.n_all - low.rank
            low.mean, low.var = first + <Py_ssize_t>places["mean"][0].start, first + <Py_ssize_t>places["var"][0].start
            low.common = first + <Py_ssize_t>places["common_var"][0].start
            low.factors = first + <Py_ssize_t>places["factors"][0].start
            low.n_columns = first + <Py_ssize_t>places["n_columns"][0].start
            low.roots = first + <Py_ssize_t>places["roots"][0].start
            low.gram = first + <Py_ssize_t>places["gram"][0].start
            low.shift = first + <Py_ssize_t>places["shift"][0].start
            low.begin = first + <Py_ssize_t>places["begin"][0].start
            low.indices = first + <Py_ssize_t>places["indices"][0].start
            low.values = first + <Py_ssize_t>places["values"][0].start
        low = &self.low[0]
        K = <Py_ssize_t>self.without_features.constants[N_FILTERS]
        n_flexible = <Py_ssize_t>self.without_features.constants[N_FLEXIBLE]
        self.desk_memory = <double*>calloc(desk_size(low) + n_scratch(K, n_flexible, 1), sizeof(double))
        self.step_memory = <double*>calloc(3 * LANES * low.n_all, sizeof(double))
        if self.desk_memory == NULL or self.step_memory == NULL:
            raise MemoryError()
        self.without_features.scratch = self.desk_memory + desk_size(low)
        for walk in range(LANES):       # one after the other, so that they may have the desk in common
            low = &self.low[walk]
            lay_desk(low, self.desk_memory)
            low.products = self.step_memory + 3 * walk * low.n_all
            low.along = low.products + low.n_all
            low.change = low.along + low.n_all
        self._make_room(16)

    def __dealloc__(self):
        free(self.desk_memory)
        free(self.step_memory)
        free(self.given)

    cdef int _make_room(self, Py_ssize_t n) except -1:
        """Let there be memory for so many features at once."""
        cdef Py_ssize_t* memory
        SparseCell._make_room(self, n)
        if n <= self.z_capacity:
            return 0
        n = self.capacity
        memory = <Py_ssize_t*>realloc(self.given, 3 * (n + 1) * sizeof(double))
        if memory == NULL:
            raise MemoryError()
        self.given, self.z_capacity = memory, n
        self.z = <double*>memory + n + 1
        self.units = self.z + n + 1
        return 0

    cdef void _open(self) noexcept nogil:
        """Let the bank know what its walks expect."""
        cdef Py_ssize_t k, walk, i, first = self.intercept
        cdef LowRank* low
        cdef Projection seen
        cdef double x, q
        self.bank = open_bank(&self.without_features)
        self.bank.is_apart = True
        self.bank.z = self.z
        self.given[0], self.z[0] = 0, 1.0           # of the intercept; without one the next takes their place
        for k in range(self.n_given):
            i, x = self.indices[k], self.values[k]
            self.given[k + first] = i + first
            self.units[k] = self.x_scale[i] if self.x_scale[i] > 0.0 else smaller(fabs(x), LARGEST)
            self.z[k + first] = smaller(larger(x / self.units[k], -LARGE_FEATURE), LARGE_FEATURE) if x != 0.0 else 0.0
        if self.bank.row[PHASE] == UNSCALED:
            return
        KERNELS.bank_drift(&self.bank)
        self.new_var = exp(2.0 * self.new_log[0]) / self.n_given                                # (183)
        self._widen_new(True)
        for walk in range(LANES):
            low = &self.low[walk]
            low.given, low.n_given = self.given, self.n_given + first
            seen = project_low_rank(low, self.z)
            q = self.bank.drift_var[walk]
            if setting(&self.bank, SLOPES_DRIFT)[walk] != 0.0:
                q *= seen.square
            elif not first:
                q = 0.0
            self.bank.h[walk], self.bank.mean[walk] = smaller(seen.prior_var + q, LARGEST), saturate(seen.product)
        self._widen_new(False)

    cdef void _widen_new(self, bint are_new) noexcept nogil:
        """Give the slopes of features that are new the variance that they begin with, or take it from them again."""
        cdef Py_ssize_t k, walk, i
        for k in range(self.n_given):
            i = self.indices[k]
            if self.x_scale[i] > 0.0:
                continue
            for walk in range(LANES):
                self.low[walk].var[i + self.intercept] = self.new_var - self.low[walk].common[0] if are_new else 0.0

    cdef void _put_back(self, bint was_seen) noexcept nogil:
        """Move the weights of all walks by what the bank has learned of z'w."""
        cdef Py_ssize_t k, walk
        cdef LowRank* low
        cdef double h, q
        self._widen_new(True)
        for k in range(self.n_given):
            self._see(k, self.units[k], was_seen)
        for walk in range(LANES):
            low, h, q = &self.low[walk], self.bank.h[walk], self.bank.drift_var[walk]
            if setting(&self.bank, SLOPES_DRIFT)[walk] == 0.0:
                if self.intercept:
                    low.var[0] = smaller(low.var[0] + q, LARGEST)
                q = 0.0
            if was_seen and h > SMALLEST_SIGNAL:
                condition_low_rank(
                    low, self.z, q, h, saturate(self.bank.move[walk] / h), larger(1.0 - self.bank.left[walk] / h, 0.0)
                )
                self._bound_gram(low)
            else:
                low.common[0] = smaller(low.common[0] + q, LARGEST)
        for k in range(self.n_given):           # those that are given as 0 are still unknown
            if self.x_scale[self.indices[k]] <= 0.0:
                for walk in range(LANES):
                    self.low[walk].var[self.indices[k] + self.intercept] = 0.0
        if was_seen:
            self._renew_units()

    cdef void _bound_gram(self, LowRank* low) noexcept nogil:
        """Keep B'B finite, of which a bank makes no use: its newest row, or all of it if B was made short."""
        cdef Py_ssize_t i, count = <Py_ssize_t>low.n_columns[0], last = low.rank + count
        for i in range(0 if count == 0 else (last - 1) * low.n_all, last * low.n_all):
            low.gram[i] = saturate(low.gram[i])

    cdef void _renew_units(self) noexcept nogil:
        """Let each feature's unit be its running size, when no walk has a sparse column: equation (205)."""
        cdef Py_ssize_t i, at, j, walk
        cdef LowRank* low
        cdef double ratio
        for walk in range(LANES):
            if self.low[walk].n_columns[0] > 0.0:
                return
        for i in range(self.n_features):
            if self.x_scale[i] <= 0.0 or self.x_square[i] == 1.0:
                continue
            at, ratio = i + self.intercept, sqrt(self.x_square[i])
            self.x_scale[i], self.x_square[i] = smaller(larger(self.x_scale[i] * ratio, 1.0 / LARGEST), LARGEST), 1.0
            for walk in range(LANES):
                low = &self.low[walk]
                low.mean[at] = saturate(low.mean[at] * ratio)
                low.var[at] = saturate((low.var[at] + low.common[0]) * ratio * ratio) - low.common[0]
                for j in range(low.rank):
                    low.factors[at * low.rank + j] = saturate(low.factors[at * low.rank + j] * ratio)

    cdef void _copy_walk(self, Py_ssize_t best, Py_ssize_t walk) noexcept nogil:
        """Let all weights of a walk be those of another."""
        memcpy(self.walks + walk * self.walk_size, self.walks + best * self.walk_size, self.walk_size * sizeof(double))

    cdef void _begin(self) noexcept nogil:
        """Let the intercept begin, when the units of y are first known."""
        cdef Py_ssize_t walk
        for walk in range(LANES):
            if self.intercept:
                self.low[walk].var[0] = self.bank.constants[PRIOR_VAR]

    cdef void _rescale(self, double ratio, double move) noexcept nogil:
        """Tell the weights in other units of y: equation (187)."""
        cdef Py_ssize_t i, walk
        cdef LowRank* low
        for walk in range(LANES):
            low = &self.low[walk]
            for i in range(low.n):
                low.mean[i] = saturate(low.mean[i] * ratio)
                low.var[i] = saturate(low.var[i] * ratio * ratio)
            if self.intercept:
                low.mean[0] = saturate(low.mean[0] + move)
            low.common[0] = saturate(low.common[0] * ratio * ratio)
            for i in range(low.n_all):
                low.shift[i] = saturate(low.shift[i] * ratio)
            for i in range(low.n_all * low.n_all):
                low.roots[i] = saturate(low.roots[i] * ratio)
