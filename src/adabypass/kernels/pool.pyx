"""The automatic forecaster's row, and the way in for Python: structures, and regressions beside them one step ahead.

Memory stays safe as in cell.pyx: what comes in is copied and checked before the kernel runs.
"""

from cpython.exc cimport PyErr_CheckSignals
from libc.math cimport NAN, isnan

cimport numpy as cnp

from adabypass.kernels.arguments cimport is_vector
from adabypass.kernels.cell cimport rows_between_signals
from adabypass.kernels.row_cell cimport RowCell, OneStepForecast
from adabypass.kernels.running cimport Running, check_idle
from adabypass.kernels.shares cimport add_log_scores, fill_shares

import numpy as np

from adabypass.kernels.series import SeriesCell
from adabypass.kernels.structure import StructureCell
from adabypass.kernels.transformed import KERNEL
from adabypass.state import structures as design
from adabypass.state.layout import aligned
from adabypass.state.structure_row import LAYOUT

cnp.import_array()

cdef double POOL_DISCOUNT = design.POOL_DISCOUNT
cdef double EVIDENCE_POWER = design.EVIDENCE_POWER

cdef enum:
    MOST = 8  # members of a pool: the structures together, and regressions


cdef class PoolCell(Running):
    """The row of an automatic forecaster, and the models that move it.

    Parameters
    ----------
    spec : PoolSpec
    row : float64 array
        Taken over, or copied to a better address.
    """

    cdef readonly cnp.ndarray row
    cdef readonly object spec
    cdef readonly object structures     # the StructureCell of the row's beginning
    cdef list regressions               # a RowCell each, bound to its part of the row
    cdef Py_ssize_t n_regressions, n_exog
    cdef double* evidence               # of the structures together, then of each regression
    cdef double* start                  # of the row
    cdef double* exog_mean              # of each exogenous column,
    cdef double* exog_last              # its last value,
    cdef double* exog_count             # and how many were not missing
    cdef Py_ssize_t[MOST] n_seen_at     # where each regression's row says from how many observations it has learned,
    cdef double[MOST] fewest_seen       # and with how many it has a share

    def __cinit__(self, spec, cnp.ndarray row not None):
        cdef Py_ssize_t k
        cdef RowCell cell
        if not is_vector(row) or not cnp.PyArray_ISWRITEABLE(row):
            raise TypeError("row must be a contiguous, writeable vector of float64")
        if row.shape[0] != spec.row_size or len(spec.regressions) >= MOST:
            raise ValueError(f"row has {row.shape[0]} numbers, but this forecaster needs {spec.row_size}")
        self.spec, self.row = spec, aligned(row, 0)
        self.n_regressions, self.n_exog = len(spec.regressions), spec.n_exog
        self.structures = StructureCell(spec.structures, self.row[: spec.structures.row_size])
        self.start = <double*>cnp.PyArray_DATA(self.row)
        self.evidence = self.start + <Py_ssize_t>spec.evidence.start
        places = LAYOUT.places(**spec.structures.dims)
        self.exog_mean = self.start + <Py_ssize_t>places["exog_mean"][0].start
        self.exog_last = self.start + <Py_ssize_t>places["exog_last"][0].start
        self.exog_count = self.start + <Py_ssize_t>places["exog_count"][0].start
        self.regressions = []
        for k in range(self.n_regressions):
            part = spec.parts[k]
            cell = SeriesCell(KERNEL, spec.regressions[k], self.row[part.start:part.stop], self.n_exog)
            cell.bind(self.start + <Py_ssize_t>part.start)
            self.regressions.append(cell)
            self.n_seen_at[k], self.fewest_seen[k] = part.model, spec.fewest_seen[k]

    @property
    def shares(self):
        """Shares of the structures together and of each regression in the forecast of the next observation."""
        cdef Py_ssize_t k
        cdef bint[MOST] is_awake
        found = np.empty(1 + self.n_regressions)
        cdef double[::1] share = found
        for k in range(self.n_regressions):
            is_awake[k] = self._has_share(k)
        self._fill_shares(is_awake, self.structures.is_counted, &share[0])
        return found

    def describe(self, const double[::1] exog):
        """Describe the forecast of the next observation; no other thread changes the row meanwhile.

        Returns
        -------
        structures
            What `StructureCell.describe` returns.
        shares : array (1 + n_regressions,)
            Of the structures together, and of each regression.
        means, variances : arrays (n_regressions,)
        records : array (n_regressions, n_record)
            Of each regression's forecast, which says nothing where its share is 0.
        """
        cdef Py_ssize_t k
        cdef OneStepForecast seen
        cdef bint[MOST] is_awake
        cdef const double* x = self._inputs(exog)
        tables = [np.empty(1 + self.n_regressions), np.empty(self.n_regressions), np.empty(self.n_regressions)]
        records = np.zeros((self.n_regressions, (<RowCell>self.regressions[0]).n_record))
        cdef double[::1] share = tables[0], mean = tables[1], var = tables[2]
        cdef double[:, ::1] record = records
        for k in range(self.n_regressions):
            mean[k] = var[k] = NAN
            is_awake[k] = False
            if self._has_share(k) and (<RowCell>self.regressions[k]).forecast_row(x, &seen, &record[k, 0]):
                mean[k], var[k], is_awake[k] = seen.mean, seen.var, not isnan(seen.mean)
        self._fill_shares(is_awake, self.structures.is_counted, &share[0])
        return self.structures.describe(exog), *tables, records

    def freeze(self, const double[::1] exog):
        """Return a copy of the structures' row and what `describe` says, both of the same moment."""
        return self.structures.row.copy(), self.describe(exog)

    def update(self, double y, const double[::1] exog, str missing="raise"):
        """Learn the next observation; nan if it is missing. Both are checked.

        Parameters
        ----------
        missing : str
            How exogenous values that are nan are filled: by the "mean" or the "last" of their column; "raise" if there
            are none.
        """
        cdef Py_ssize_t k
        cdef OneStepForecast seen
        cdef double[MOST] scores
        cdef const double* x = self._inputs(exog)
        check_idle(self.state)
        if self.n_exog and missing != "raise":
            exog = self._filled(exog, missing == "mean")
            x = &exog[0]
        scores[0] = self.structures.update(y, exog)
        for k in range(self.n_regressions):
            scores[1 + k] = seen.log_score if self._step(self.regressions[k], k, x, y, &seen, NULL) else NAN
        self._weigh(scores)

    def run(self, const double[::1] y, const double[:, ::1] exog, bint keep):
        """Forecast, then learn, every observation. Cell, y and exog are this call's own, and checked.

        Returns
        -------
        tables
            What `StructureCell.run` returns.
        shares, means, variances, records
            As `describe` returns them, with a row for each observation before the last axis of each; without `keep`
            there are no records.
        """
        cdef Py_ssize_t t, k, n = y.shape[0], m = self.n_regressions
        cdef bint[MOST] awake_now
        tables = self.structures.run(y, exog, keep)
        shares, scores, is_awake = np.zeros((n, 1 + m)), np.empty((n, 1 + m)), np.zeros((n, m), np.uint8)
        means, variances = np.full((n, m), np.nan), np.full((n, m), np.nan)
        records = np.zeros((m, n if keep else 0, self.regressions[0].n_record))
        scores[:, 0] = tables[6]
        for k in range(m):
            self._run_one(k, y, exog, scores, is_awake, means, variances, records[k])
        cdef const unsigned char[::1] counted = tables[7].view(np.uint8)
        cdef const unsigned char[:, ::1] awake = is_awake
        cdef double[:, ::1] share = shares, score = scores
        for t in range(n):
            for k in range(m):
                awake_now[k] = awake[t, k]
            self._fill_shares(awake_now, counted[t], &share[t, 0])
            self._weigh(&score[t, 0])
        return tables, shares, means, variances, records

    cdef int _run_one(self, Py_ssize_t k, y, exog, scores, is_awake, means, variances, records) except -1:
        """Take `_step` for every observation with one regression."""
        cdef const double[::1] given = y
        cdef const double[:, ::1] columns = exog
        cdef double[:, ::1] score = scores, mean = means, var = variances, record = records
        cdef unsigned char[:, ::1] awake = is_awake
        cdef Py_ssize_t t = 0, stop, n = given.shape[0]
        cdef bint keep = record.shape[0] > 0
        cdef RowCell cell = self.regressions[k]
        cdef const double* x
        cdef OneStepForecast seen
        while t < n:
            stop = min(t + rows_between_signals(self.row.shape[0]), n)
            with nogil:
                while t < stop:
                    x = &columns[t, 0] if self.n_exog else NULL
                    awake[t, k] = self._step(cell, k, x, given[t], &seen, &record[t, 0] if keep else NULL)
                    score[t, 1 + k] = NAN
                    if awake[t, k]:
                        mean[t, k], var[t, k], score[t, 1 + k] = seen.mean, seen.var, seen.log_score
                    t += 1
            PyErr_CheckSignals()
        return 0

    cdef const double* _inputs(self, const double[::1] exog) except? NULL:
        if exog.shape[0] != self.n_exog:
            raise ValueError("exog must have a number for each exogenous column")
        return &exog[0] if self.n_exog else NULL

    cdef const double[::1] _filled(self, const double[::1] exog, bint by_mean):
        """Fill missing exogenous values, and learn the others: fill_missing in forecasting/exog_filling.py."""
        cdef Py_ssize_t i
        cdef double[::1] filled = np.array(exog)
        for i in range(self.n_exog):
            if isnan(filled[i]):
                filled[i] = self.exog_mean[i] if by_mean else self.exog_last[i]
                continue
            self.exog_count[i] += 1.0
            self.exog_mean[i] += filled[i] / self.exog_count[i] - self.exog_mean[i] / self.exog_count[i]
            self.exog_last[i] = filled[i]
        return filled

    cdef bint _has_share(self, Py_ssize_t k) noexcept nogil:
        """Whether a regression has seen enough to have a share in the forecast."""
        return self.start[self.n_seen_at[k]] >= self.fewest_seen[k]

    cdef bint _step(
        self, RowCell cell, Py_ssize_t k, const double* x, double y, OneStepForecast* seen, double* record
    ) noexcept nogil:
        """Let a regression forecast and learn; return whether its forecast has a share."""
        cdef bint has_share = self._has_share(k)
        return cell.step_row(x, y, seen, record) and has_share and not isnan(seen.mean)

    cdef void _fill_shares(self, const bint* is_awake, bint is_counted, double* out) noexcept:
        """Write the shares: equation (216). While structures do not count, they are alone."""
        cdef Py_ssize_t k
        out[0] = 1.0
        for k in range(self.n_regressions):
            out[1 + k] = is_counted and is_awake[k]
        fill_shares(self.evidence, 1 + self.n_regressions, out)

    cdef void _weigh(self, const double* scores) noexcept:
        """Add log scores to the evidence: equation (215)."""
        if not isnan(scores[0]):
            add_log_scores(self.evidence, scores, 1 + self.n_regressions, POOL_DISCOUNT, EVIDENCE_POWER)
