"""The automatic forecaster's row, and the way in for Python: structures weighted by their evidence.

Memory stays safe as in cell.pyx: what comes in is copied and checked before the kernel runs.
"""

from cpython.exc cimport PyErr_CheckSignals
from libc.stdlib cimport free, malloc

cimport numpy as cnp

from adabypass.inference.kernel.arguments cimport is_vector
from adabypass.inference.kernel.cell cimport check_idle, rows_between_signals
from adabypass.inference.kernel.step cimport saturate
from adabypass.inference.kernel.structure_ahead cimport Future, ahead_size, forecast_ahead
from adabypass.inference.kernel.structure_bank cimport (
    CENTER, IS_SCALED, LOG_CENTER, LOG_UNIT, N_STEPS, UNIT, Bank, Table, describe, fill_season, fill_shares, in_units,
    observe, zero_share,
)
from adabypass.inference.kernel.structure_filter cimport Filter, scale_var

import numpy as np

from adabypass.model.structure_spec import LAYOUT, SETTINGS

cnp.import_array()


cdef class StructureCell:
    """The row of an automatic forecaster, and the filters that move it.

    Parameters
    ----------
    spec : StructureSpec
    row : float64 array
        Taken over.
    """

    cdef readonly cnp.ndarray row
    cdef readonly object spec
    cdef readonly bint is_running   # a copy of the row runs a series, and will replace this one
    cdef Py_ssize_t most_states
    cdef cnp.ndarray settings, lags, priors, waves
    cdef Bank bank
    cdef double* memory

    def __cinit__(self, spec, cnp.ndarray row not None):
        cdef Bank* bank = &self.bank
        if not is_vector(row) or not cnp.PyArray_ISWRITEABLE(row):
            raise TypeError("row must be a contiguous, writeable vector of float64")
        if row.shape[0] != spec.row_size:
            raise ValueError(f"row has {row.shape[0]} numbers, but this forecaster needs {spec.row_size}")
        self.spec, self.row = spec, row
        self.settings, self.lags, self.priors = spec.settings(), spec.lags(), spec.lag_priors()
        self.waves = spec.waves()
        bank.n_structures, bank.n_exog, bank.n_season = len(spec.structures), spec.n_exog, spec.n_season
        bank.longest, bank.n_waves = spec.longest, len(spec.harmonics)
        bank.first_period = min(spec.periods, default=0.0)
        bank.waves = <const double*>cnp.PyArray_DATA(self.waves)
        self.most_states = spec.sizes.max()
        bank.filters = <Filter*>malloc(bank.n_structures * sizeof(Filter))
        self.memory = <double*>malloc(
            (bank.n_season + bank.n_exog + 2 * self.most_states + bank.n_structures) * sizeof(double)
        )
        if bank.filters == NULL or self.memory == NULL:
            raise MemoryError()
        bank.season = self.memory
        bank.exog = bank.season + bank.n_season
        bank.x = bank.exog + bank.n_exog
        bank.cov_x = bank.x + self.most_states
        bank.scores = bank.cov_x + self.most_states
        self._open()

    def __dealloc__(self):
        free(self.bank.filters)
        free(self.memory)

    cdef int _open(self) except -1:
        """Point at the fields of the row."""
        cdef Bank* bank = &self.bank
        cdef double* row = <double*>cnp.PyArray_DATA(self.row)
        starts = {name: place.start for name, (place, _) in LAYOUT.places(**self.spec.dims).items()}
        cdef double* evidence = row + <Py_ssize_t>starts["evidence"]
        cdef double* square_sum = row + <Py_ssize_t>starts["square_sum"]
        cdef double* dof = row + <Py_ssize_t>starts["dof"]
        cdef double* mean = row + <Py_ssize_t>starts["mean"]
        cdef double* cov = row + <Py_ssize_t>starts["cov"]
        cdef Py_ssize_t k
        cdef Filter* f
        bank.head = row
        bank.start, bank.values = row + <Py_ssize_t>starts["start"], row + <Py_ssize_t>starts["values"]
        bank.log_values = row + <Py_ssize_t>starts["log_values"]
        bank.exog_center = row + <Py_ssize_t>starts["exog_center"]
        bank.exog_unit = row + <Py_ssize_t>starts["exog_unit"]
        sizes = self.spec.sizes
        for k in range(bank.n_structures):
            f = bank.filters + k
            self._set(f, k)
            f.n = sizes[k]
            f.mean, f.cov, f.evidence, f.square_sum, f.dof = mean, cov, evidence + k, square_sum + k, dof + k
            mean += f.n
            cov += f.n * (f.n + 1) // 2
        return 0

    cdef int _set(self, Filter* f, Py_ssize_t k) except -1:
        """Read the settings of a structure."""
        cdef const Py_ssize_t[:, ::1] lags = self.lags
        cdef const double[:, ::1] priors = self.priors
        of = dict(zip(SETTINGS, self.settings[k].tolist(), strict=True))
        f.is_log, f.has_slope, f.is_difference = of["is_log"], of["has_slope"], of["is_difference"]
        f.n_season, f.n_exog = self.bank.n_season if of["has_season"] else 0, self.bank.n_exog
        f.n_lags, f.n_values = int(of["n_lags"]), int(of["n_values"])
        f.noise_var, f.damping, f.level_var, f.slope_var = (
            of["noise_var"], of["damping"], of["level_var"], of["slope_var"]
        )
        f.season_var, f.lag_var, f.exog_var = of["season_var"], of["lag_var"], of["exog_var"]
        f.lags, f.lag_prior = &lags[k, 0], &priors[k, 0]
        return 0

    def start_run(self):
        """Refuse whatever would change the row, until `end_run`; return a copy of the row."""
        check_idle(self.is_running)
        self.is_running = True
        return self.row.copy()

    def end_run(self):
        """Let the row be changed again."""
        self.is_running = False

    @property
    def is_scaled(self):
        """Whether the unit of the series is known, so that structures can forecast it."""
        return self.bank.head[IS_SCALED] != 0.0

    @property
    def zero_share(self):
        """Probability that the next observation is exactly 0."""
        return zero_share(&self.bank)

    def describe(self, const double[::1] exog):
        """Return shares, means, scales and degrees of freedom of the forecast of the next observation."""
        cdef Table table
        tables = [np.empty(self.bank.n_structures) for _ in range(4)]
        cdef double[::1] shares = tables[0], means = tables[1], scales = tables[2], dofs = tables[3]
        if exog.shape[0] != self.bank.n_exog:
            raise ValueError("exog must have a number for each exogenous column")
        table.shares, table.means, table.scales, table.dofs = &shares[0], &means[0], &scales[0], &dofs[0]
        describe(&self.bank, &exog[0] if self.bank.n_exog else NULL, &table)
        return tuple(tables)

    def update(self, double y, const double[::1] exog):
        """Learn the next observation; nan if it is missing. Both are checked."""
        check_idle(self.is_running)
        if exog.shape[0] != self.bank.n_exog:
            raise ValueError("exog must have a number for each exogenous column")
        observe(&self.bank, y, &exog[0] if self.bank.n_exog else NULL)

    def run(self, const double[::1] y, const double[:, ::1] exog, bint keep):
        """Forecast, then learn, every observation. Cell, y and exog are this call's own, and checked.

        Returns
        -------
        shares, means, scales, dofs : arrays (n, n_structures)
            Of each forecast; without `keep` of none.
        is_known, zero_shares : arrays (n,)
            Whether structures forecast the observation, since the unit was known before it; and the probability that
            it was exactly 0.
        """
        cdef Py_ssize_t t = 0, stop, n = y.shape[0]
        cdef Table table
        cdef const double* x
        if exog.shape[0] != n or exog.shape[1] != self.bank.n_exog:
            raise ValueError("exog must have a row for each y, and as many columns as the forecaster")
        tables = [np.empty((n if keep else 0, self.bank.n_structures)) for _ in range(4)]
        is_known, zero_shares = np.zeros(n, dtype=np.uint8), np.zeros(n)
        cdef double[:, ::1] shares = tables[0], means = tables[1], scales = tables[2], dofs = tables[3]
        cdef unsigned char[::1] known = is_known
        cdef double[::1] zeros = zero_shares
        while t < n:
            stop = min(t + rows_between_signals(self.row.shape[0]), n)
            with nogil:
                while t < stop:
                    x = &exog[t, 0] if self.bank.n_exog else NULL
                    known[t] = self.bank.head[IS_SCALED] != 0.0
                    zeros[t] = zero_share(&self.bank)
                    if keep:
                        table.shares, table.means, table.scales = &shares[t, 0], &means[t, 0], &scales[t, 0]
                        table.dofs = &dofs[t, 0]
                        describe(&self.bank, x, &table)
                    observe(&self.bank, y[t], x)
                    t += 1
            PyErr_CheckSignals()
        return (*tables, is_known.astype(bool), zero_shares)

    def regressors_ahead(self, const double[:, ::1] exog):
        """Return season and exogenous columns, in units, at each step ahead; a column of zeros where there is none."""
        cdef Py_ssize_t h, i, horizon = exog.shape[0]
        if exog.shape[1] != self.bank.n_exog:
            raise ValueError("exog must have as many columns as the forecaster")
        waves = np.zeros((horizon, max(self.bank.n_season, 1)))
        columns = np.zeros((horizon, max(self.bank.n_exog, 1)))
        cdef double[:, ::1] season = waves, known = columns
        for h in range(horizon):
            fill_season(&self.bank, self.bank.head[N_STEPS] + h, &season[h, 0])
            for i in range(self.bank.n_exog):
                known[h, i] = in_units(&self.bank, exog[h, i], i)
        return waves, columns

    def ahead(self, const double[:, ::1] exog):
        """Forecast as many steps as `exog` has rows, at least one.

        Returns
        -------
        shares, dofs : arrays (n_structures,)
        means, scales : arrays (horizon, n_structures)
            In the units of the series or of its log.
        """
        cdef Py_ssize_t h, k, horizon = exog.shape[0], m = self.bank.n_structures
        cdef Bank* bank = &self.bank
        cdef Future future
        cdef Filter* f
        cdef double unit, center, root
        if exog.shape[1] != bank.n_exog or horizon == 0:
            raise ValueError("exog must have a row for each step, and as many columns as the forecaster")
        shares, dofs = np.empty(m), np.empty(m)
        means, variances = np.zeros((m, horizon)), np.ones((m, horizon))
        future.n_season, future.n_exog = max(bank.n_season, 1), max(bank.n_exog, 1)
        cdef double[::1] share = shares, dof = dofs, room = np.empty(ahead_size(self.most_states, bank.longest))
        cdef double[:, ::1] mean = means, var = variances
        waves, columns = self.regressors_ahead(exog)
        cdef double[:, ::1] season = waves, known = columns
        future.horizon, future.season, future.exog, future.scratch = horizon, &season[0, 0], &known[0, 0], &room[0]
        fill_shares(bank, &share[0])
        for k in range(m):
            f = bank.filters + k
            dof[k] = max(f.dof[0], 1.0)
            if share[k] == 0.0 or bank.head[IS_SCALED] == 0.0:
                continue
            future.values = bank.log_values if f.is_log else bank.values
            with nogil:
                forecast_ahead(f, &future, &mean[k, 0], &var[k, 0])
            PyErr_CheckSignals()
            unit = bank.head[LOG_UNIT if f.is_log else UNIT]
            center = bank.head[LOG_CENTER if f.is_log else CENTER]
            root = scale_var(f)
            for h in range(horizon):
                mean[k, h] = saturate(center + unit * mean[k, h])
                var[k, h] = saturate(unit * (root * var[k, h]) ** 0.5)
        return shares, dofs, np.ascontiguousarray(means.T), np.ascontiguousarray(variances.T)
