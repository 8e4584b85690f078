"""The automatic forecaster's row: the structures of a series, and regressions beside them one step ahead."""

from libc.math cimport NAN, isnan
from libc.stdlib cimport malloc
from libc.string cimport memcpy, memset

cimport numpy as cnp

from adabypass.kernels.shares cimport add_log_scores, fill_shares
from adabypass.kernels.structure_bank cimport is_counted

import numpy as np

from adabypass.kernels.series import SeriesRunner
from adabypass.kernels.auto_bypass import KERNEL
from adabypass.state import structures as design
from adabypass.state.pool import PoolState
from adabypass.state.structure_row import LAYOUT

cnp.import_array()

cdef double POOL_DISCOUNT = design.POOL_DISCOUNT
cdef double EVIDENCE_POWER = design.EVIDENCE_POWER

cdef enum:
    MAX_MEMBERS = 8  # members of a pool: the structures together, and regressions


cdef class Regression:
    """A regression of a pool, and the next one: without the interpreter's lock no list can be gone through."""

    cdef bint has_share(self) noexcept nogil:
        return self.n_seen[0] >= self.min_seen

    cdef void bind(self, double* row) noexcept nogil:
        self.n_seen = row + self.n_seen_at
        self.runner.bind(row + self.start)
        if self.next is not None:
            self.next.bind(row)

    cdef void forecast(self, const double* x) noexcept nogil:
        self.was_forecast = self.runner.forecast_row(x, &self.seen, NULL)
        self.is_awake = self.was_forecast and self.has_share() and not isnan(self.seen.mean)
        if self.next is not None:
            self.next.forecast(x)

    cdef void learn(self, double y, double* scores) noexcept nogil:
        """Learn `y`, and write its log density in the forecasts of this one and those after it; nan of one asleep."""
        self.runner.learn(y)
        scores[0] = NAN
        if self.is_awake and not isnan(y):
            scores[0] = self.runner.head[self.runner.log_score_at]
        if self.next is not None:
            self.next.learn(y, scores + 1)

    cdef void find_awake(self, bint* out) noexcept nogil:
        """Write whether this one and those after it have a share."""
        out[0] = self.is_awake
        if self.next is not None:
            self.next.find_awake(out + 1)

    cdef void describe(self, double* record) noexcept nogil:
        """Write mean, variance and record of the forecasts of this one and those after it."""
        record[0] = record[1] = NAN
        memset(record + 2, 0, self.runner.n_record * sizeof(double))
        if self.is_awake:
            record[0], record[1] = self.seen.mean, self.seen.var
            self.runner.describe(record + 2)
        if self.next is not None:
            self.next.describe(record + 2 + self.runner.n_record)


cdef class PoolRunner(Runner):
    """The row of an automatic forecaster.

    Its record of a forecast is that of the structures; the shares of the structures together and of each regression;
    then mean, variance and record of each regression's forecast, which says nothing where the share is 0.

    Parameters
    ----------
    spec : PoolSpec
    row : float64 array
        Taken over, or copied to a better address.
    check : function, optional
        Converts and checks exogenous values: see `SeriesRunner`.
    """

    def __cinit__(self, spec, cnp.ndarray row not None, check=None):
        cdef Regression each
        if len(spec.regressions) >= MAX_MEMBERS:
            raise ValueError(f"a pool has up to {MAX_MEMBERS} members")
        self.use_row(spec, row, spec.row_size, 0)
        self.n_inputs, self.n_record, self.check = spec.n_exog, spec.n_record, check
        self.n_regressions, self.evidence_at = len(spec.regressions), spec.evidence.start
        self.fills, self.by_mean = spec.missing != "raise", spec.missing == "mean"
        places = LAYOUT.places(**spec.structures.dims)
        self.exog_mean_at, self.exog_last_at = places["exog_mean"][0].start, places["exog_last"][0].start
        self.exog_count_at = places["exog_count"][0].start
        self.memory = <double*>malloc((3 * self.n_inputs + 1) * sizeof(double))
        if self.memory == NULL:
            raise MemoryError()
        self.given, self.inputs = self.memory, self.memory + self.n_inputs
        self.exog = self.inputs + self.n_inputs
        self.structures = StructureRunner(spec.structures, self._row[: spec.structures.row_size])
        for part, regression, min_seen in reversed(list(zip(spec.parts, spec.regressions, spec.min_seen))):
            each = Regression.__new__(Regression)
            each.runner = SeriesRunner(KERNEL, regression, self._row[part.start:part.stop], self.n_inputs)
            each.next, each.start, each.n_seen_at, each.min_seen = self.first, part.start, part.model, min_seen
            self.first = each
        self.bind(self.head)

    @property
    def shares(self):
        """Shares of the structures together and of each regression in the forecast of the next observation."""
        cdef Regression each = self.first
        found = np.empty(1 + self.n_regressions)
        cdef double[::1] share = found
        while each is not None:
            each.is_awake = each.has_share()
            each = each.next
        self.is_current = False
        self._fill_shares(&share[0])
        return found

    def freeze(self, exog):
        """Return the state of the pool: its spec, a copy of the structures' row, and the record of the next forecast.

        All are of the same moment. None instead of the record before anything was seen.
        """
        self.read(exog)
        record = np.empty(self.n_record)
        if not self.forecast_read():
            return PoolState(self.spec, self.copy_row()[:self.structures.row_size], None)
        self.describe(<double*>cnp.PyArray_DATA(record))
        return PoolState(self.spec, self.copy_row()[:self.structures.row_size], record)

    cdef void bind(self, double* row) noexcept nogil:
        self.is_current = False
        self.head = row
        self.structures.bind(row)
        self.first.bind(row)

    cdef bint forecast(self) noexcept nogil:
        self._fill_exog(False)
        self.structures.x = self.exog
        self.first.forecast(self.exog)
        self.seen.mean = self.seen.var = NAN        # which the record has to be asked for
        return self.structures.forecast()

    cdef void describe(self, double* record) noexcept nogil:
        self.structures.describe(record)
        record += self.structures.n_record
        self._fill_shares(record)
        self.first.describe(record + 1 + self.n_regressions)

    cdef void learn(self, double y) noexcept nogil:
        """Learn from `y`; log scores are added to the evidence: equation (N.25)."""
        cdef double[MAX_MEMBERS] scores
        self._fill_exog(True)
        self.structures.learn(y)
        scores[0] = self.structures.seen.log_score
        self.first.learn(y, scores + 1)
        if not isnan(scores[0]):
            add_log_scores(
                self.head + self.evidence_at, scores, 1 + self.n_regressions, POOL_DISCOUNT, EVIDENCE_POWER
            )

    cdef object make(self, double mean, double var, object record):
        return self.spec.predictive(record)

    cdef void _fill_exog(self, bint learn) noexcept nogil:
        """Fill the missing exogenous values of the observation at hand, and learn the others if asked to."""
        cdef double* mean = self.head + self.exog_mean_at
        cdef double* last = self.head + self.exog_last_at
        cdef double* count = self.head + self.exog_count_at
        cdef Py_ssize_t i
        if self.n_inputs:
            memcpy(self.exog, self.x, self.n_inputs * sizeof(double))
        if not self.fills:
            return
        for i in range(self.n_inputs):
            if isnan(self.exog[i]):
                self.exog[i] = mean[i] if self.by_mean else last[i]
            elif learn:
                count[i] += 1.0
                mean[i] += self.exog[i] / count[i] - mean[i] / count[i]
                last[i] = self.exog[i]

    cdef void _fill_shares(self, double* out) noexcept nogil:
        """Write the shares: equation (N.26). While structures do not count, they are alone."""
        cdef bint[MAX_MEMBERS] is_awake
        cdef bint counts = is_counted(&self.structures.bank)
        cdef Py_ssize_t k
        self.first.find_awake(is_awake)
        out[0] = 1.0
        for k in range(self.n_regressions):
            out[1 + k] = counts and is_awake[k]
        fill_shares(self.head + self.evidence_at, 1 + self.n_regressions, out)
