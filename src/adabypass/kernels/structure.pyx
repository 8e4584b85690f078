"""The automatic forecaster's row, and the way in for Python: structures weighted by their evidence.

Memory stays safe as in cell.pyx: what comes in is copied and checked before the kernel runs.
"""

from cpython.exc cimport PyErr_CheckSignals
from libc.math cimport sqrt
from libc.stdlib cimport free, malloc

cimport numpy as cnp

from adabypass.kernels.arguments cimport is_vector
from adabypass.kernels.cell cimport rows_between_signals
from adabypass.kernels.running cimport Running, check_idle
from adabypass.kernels.step cimport saturate
from adabypass.kernels.structure_bank cimport (
    CENTER, IS_SCALED, LOG_CENTER, LOG_UNIT, N_STEPS, UNIT, StructureBank as Bank, Table, describe, evidence_ahead,
    fill_season, has_share, in_units, is_counted, keep_near, limits_of, observe, scale_ahead, structure_shares,
    zero_share,
)
from adabypass.kernels.structures cimport Future, StructuralFilter as Filter, ahead_size, forecast_ahead
from adabypass.numerics.special cimport larger

import numpy as np

from adabypass.state.structure_row import LAYOUT, SETTINGS

cnp.import_array()


cdef class StructureCell(Running):
    """The row of an automatic forecaster, and the filters that move it.

    Parameters
    ----------
    spec : StructureSpec
    row : float64 array
        Taken over.
    """

    cdef readonly cnp.ndarray row
    cdef readonly object spec
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
        self.settings, self.lags, self.priors = spec.settings, spec.lags, spec.lag_priors
        self.waves = spec.waves
        bank.n_structures, bank.n_exog, bank.n_season = len(spec.structures), spec.n_exog, spec.n_season
        bank.longest, bank.n_waves, bank.horizons.n = spec.longest, len(spec.harmonics), len(spec.horizons)
        bank.horizons.n_members = bank.n_structures
        bank.first_period = min(spec.periods, default=0.0)
        bank.waves = <const double*>cnp.PyArray_DATA(self.waves)
        self.most_states = spec.sizes.max()
        bank.filters = <Filter*>malloc(bank.n_structures * sizeof(Filter))
        farthest = max(spec.horizons, default=1)
        self.memory = <double*>malloc(sizeof(double) * <Py_ssize_t>(
            (1 + farthest) * bank.n_season + bank.n_exog + 2 * self.most_states + 2 * bank.n_structures + 2 * farthest
            + max(ahead_size(self.most_states, bank.longest), bank.n_structures)
        ))
        if bank.filters == NULL or self.memory == NULL:
            raise MemoryError()
        bank.season = self.memory
        bank.exog = bank.season + bank.n_season
        bank.x = bank.exog + bank.n_exog
        bank.cov_x = bank.x + self.most_states
        bank.scores = bank.cov_x + self.most_states
        bank.shares = bank.scores + bank.n_structures
        bank.future_season = bank.shares + bank.n_structures
        bank.future_mean = bank.future_season + <Py_ssize_t>farthest * bank.n_season
        bank.future_var = bank.future_mean + <Py_ssize_t>farthest
        bank.future_scratch = bank.future_var + <Py_ssize_t>farthest
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
        bank.horizons.count = row + <Py_ssize_t>starts["horizon_count"]
        bank.horizons.dof = row + <Py_ssize_t>starts["horizon_dof"]
        bank.horizons.evidence = row + <Py_ssize_t>starts["horizon_evidence"]
        bank.horizons.square_sum = row + <Py_ssize_t>starts["horizon_square_sum"]
        bank.pending_mean = row + <Py_ssize_t>starts["pending_mean"]
        bank.pending_var = row + <Py_ssize_t>starts["pending_var"]
        bank.pending_scale_var = row + <Py_ssize_t>starts["pending_scale_var"]
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
        f.n_season, f.n_exog = int(of["n_season"]), self.bank.n_exog
        f.n_lags, f.n_values = int(of["n_lags"]), int(of["n_values"])
        f.noise_var, f.damping, f.level_var, f.slope_var = (
            of["noise_var"], of["damping"], of["level_var"], of["slope_var"]
        )
        f.season_var, f.lag_var, f.exog_var = of["season_var"], of["lag_var"], of["exog_var"]
        f.lags, f.lag_prior = &lags[k, 0], &priors[k, 0]
        return 0

    @property
    def is_scaled(self):
        """Whether the unit of the series is known, so that structures can forecast it."""
        return self.bank.head[IS_SCALED] != 0.0

    @property
    def is_counted(self):
        """Whether the forecast of the next observation can be weighed against others."""
        return is_counted(&self.bank)

    @property
    def zero_share(self):
        """Probability that the next observation is exactly 0."""
        return zero_share(&self.bank)

    def describe(self, const double[::1] exog, bint is_limited=True):
        """Return shares, means, scales and degrees of freedom of the forecast of the next observation.

        It stays near the data; without limits it is what evidence judges: equations (226) and (229).
        """
        cdef Table table
        tables = [np.empty(self.bank.n_structures) for _ in range(4)]
        cdef double[::1] shares = tables[0], means = tables[1], scales = tables[2], dofs = tables[3]
        if exog.shape[0] != self.bank.n_exog:
            raise ValueError("exog must have a number for each exogenous column")
        table.shares, table.means, table.scales, table.dofs = &shares[0], &means[0], &scales[0], &dofs[0]
        describe(&self.bank, &exog[0] if self.bank.n_exog else NULL, is_limited, &table)
        return tuple(tables)

    def update(self, double y, const double[::1] exog):
        """Learn the next observation; nan if it is missing. Both are checked.

        Returns
        -------
        float
            Log density of the observation in the forecast that was made before; nan where it does not count.
        """
        check_idle(self.state)
        if exog.shape[0] != self.bank.n_exog:
            raise ValueError("exog must have a number for each exogenous column")
        return observe(&self.bank, y, &exog[0] if self.bank.n_exog else NULL)

    def run(self, const double[::1] y, const double[:, ::1] exog, bint keep):
        """Forecast, then learn, every observation. Cell, y and exog are this call's own, and checked.

        Returns
        -------
        shares, means, scales, dofs : arrays (n, n_structures)
            Of each forecast; without `keep` of none.
        is_known, zero_shares, log_scores, are_counted : arrays (n,)
            Whether structures forecast the observation, since the unit was known before it; the probability that it
            was exactly 0; its log density, nan where it does not count; and whether forecasts counted before it.
        """
        cdef Py_ssize_t t = 0, stop, n = y.shape[0]
        cdef Table table
        cdef const double* x
        if exog.shape[0] != n or exog.shape[1] != self.bank.n_exog:
            raise ValueError("exog must have a row for each y, and as many columns as the forecaster")
        tables = [np.empty((n if keep else 0, self.bank.n_structures)) for _ in range(4)]
        is_known, zero_shares, log_scores, are_counted = (np.zeros(n, dtype) for dtype in ("u1", "f8", "f8", "u1"))
        cdef double[:, ::1] shares = tables[0], means = tables[1], scales = tables[2], dofs = tables[3]
        cdef unsigned char[::1] known = is_known, counted = are_counted
        cdef double[::1] zeros = zero_shares, scores = log_scores
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
                        describe(&self.bank, x, True, &table)
                    counted[t] = is_counted(&self.bank)
                    scores[t] = observe(&self.bank, y[t], x)
                    t += 1
            PyErr_CheckSignals()
        return (*tables, is_known.astype(bool), zero_shares, log_scores, are_counted.astype(bool))

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

    def moments_ahead(self, const double[:, ::1] exog):
        """Return means and variances of every structure at each step ahead, shape (n_structures, horizon).

        In units of the series or of its log; variances over the squared scale of the noise. Structures without a share
        have 0 and 1.
        """
        cdef Py_ssize_t k, horizon = exog.shape[0], m = self.bank.n_structures
        cdef Bank* bank = &self.bank
        cdef Future future
        cdef Filter* f
        if exog.shape[1] != bank.n_exog or horizon == 0:
            raise ValueError("exog must have a row for each step, and as many columns as the forecaster")
        means, variances = np.zeros((m, horizon)), np.ones((m, horizon))
        future.n_season, future.n_exog = max(bank.n_season, 1), max(bank.n_exog, 1)
        cdef double[::1] room = np.empty(ahead_size(self.most_states, bank.longest))
        cdef double[:, ::1] mean = means, var = variances
        waves, columns = self.regressors_ahead(exog)
        cdef double[:, ::1] season = waves, known = columns
        future.horizon, future.season, future.exog, future.scratch = horizon, &season[0, 0], &known[0, 0], &room[0]
        for k in range(m):
            f = bank.filters + k
            if not has_share(bank, f) or bank.head[IS_SCALED] == 0.0:
                continue
            future.values = bank.log_values if f.is_log else bank.values
            future.limits = limits_of(bank, f)
            with nogil:
                forecast_ahead(f, &future, &mean[k, 0], &var[k, 0])
            PyErr_CheckSignals()
        return means, variances

    def shares_ahead(self, Py_ssize_t step):
        """Return the shares of the structures so many steps ahead."""
        cdef double[::1] evidence = np.empty(self.bank.n_structures)
        shares = np.empty(self.bank.n_structures)
        cdef double[::1] share = shares
        evidence_ahead(&self.bank, max(step, 1), &evidence[0])
        structure_shares(&self.bank, &evidence[0], &share[0])
        return shares

    def scales_ahead(self, Py_ssize_t horizon):
        """Return squared scales of the noise and degrees of freedom at each step ahead, shape (horizon, n_structures).

        In units of the series or of its log.
        """
        cdef Py_ssize_t h, k
        variances, dofs = np.empty((horizon, self.bank.n_structures)), np.empty((horizon, self.bank.n_structures))
        cdef double[:, ::1] var = variances, dof = dofs
        for h in range(horizon):
            for k in range(self.bank.n_structures):
                dof[h, k] = 1.0
                var[h, k] = scale_ahead(&self.bank, k, h + 1, &dof[h, k])
        return variances, dofs

    def ahead(self, const double[:, ::1] exog):
        """Forecast as many steps as `exog` has rows, at least one.

        Returns
        -------
        shares, dofs, means, scales : arrays (horizon, n_structures)
            Means and scales in the units of the series or of its log.
        """
        cdef Py_ssize_t h, k, horizon = exog.shape[0], m = self.bank.n_structures
        cdef Bank* bank = &self.bank
        cdef double unit, center
        in_units_means, in_units_vars = self.moments_ahead(exog)
        noise_vars, dofs = self.scales_ahead(horizon)
        shares = np.array([self.shares_ahead(h + 1) for h in range(horizon)])
        means, scales = np.empty((horizon, m)), np.empty((horizon, m))
        cdef double[:, ::1] mean = in_units_means, var = in_units_vars, noise_var = noise_vars, dof = dofs
        cdef double[:, ::1] out_mean = means, out_scale = scales
        for k in range(m):
            unit = bank.head[LOG_UNIT if bank.filters[k].is_log else UNIT]
            center = bank.head[LOG_CENTER if bank.filters[k].is_log else CENTER]
            for h in range(horizon):
                out_scale[h, k] = saturate(unit * sqrt(larger(noise_var[h, k] * var[k, h], 0.0)))
                out_mean[h, k] = saturate(center + unit * mean[k, h])
                keep_near(bank, bank.filters + k, &out_mean[h, k], &out_scale[h, k], &dof[h, k])
        return shares, dofs, means, scales
