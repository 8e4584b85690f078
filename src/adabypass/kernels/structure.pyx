"""The row of a series' structures: filters weighted by their evidence, one step and many steps ahead."""

from cpython.exc cimport PyErr_CheckSignals
from libc.math cimport NAN, isnan, sqrt
from libc.stdlib cimport free, malloc

cimport numpy as cnp

from adabypass.kernels.profiles cimport PROFILE_VALUES, Profile
from adabypass.kernels.runner cimport Runner
from adabypass.kernels.step cimport saturate
from adabypass.kernels.structure_bank cimport (
    CENTER, HIGHEST, IS_SCALED, LOG_CENTER, LOG_UNIT, LOWEST, N_FIRST, N_SEEN, N_STEPS, StructureBank, Table, UNIT,
    count_reserve, describe as describe_bank, evidence_ahead, fill_profile, fill_season, find_doubt, has_share,
    in_units, is_counted, keep_near, lagged_values, limits_of, observe, scale_ahead, structure_shares, zero_share,
)
from adabypass.kernels.structures cimport Future, StructuralFilter, ahead_size, forecast_ahead
from adabypass.numerics.special cimport larger

import numpy as np

from adabypass.state.structure_row import LAYOUT, N_PROFILE_VALUES, PROFILE_HEAD, SETTINGS

cnp.import_array()

FIELDS = (      # of the row, besides its scalars, in the order in which `bind` points at them
    "start", "values", "log_values", "exog_center", "exog_unit", "horizon_count", "horizon_dof", "horizon_evidence",
    "horizon_square_sum", "pending_mean", "pending_var", "mean", "cov", "evidence", "square_sum", "dof", "n_shocks",
    "profiles",
)
assert PROFILE_VALUES == len(PROFILE_HEAD)
cdef Py_ssize_t N_KEPT = N_PROFILE_VALUES
assert len(FIELDS) == N_FIELDS


cdef class StructureRunner(Runner):
    """The row of a series' structures.

    Its record of a forecast is: share, mean, scale and degrees of freedom of each structure; the probability that the
    observation is exactly 0; whether the unit of the series is known; its last value if not; and its `reserve`. Its
    `seen.log_score` is the log density of the newest observation, nan where that does not count.

    Parameters
    ----------
    spec : StructureSpec
    row : float64 array
        Taken over.
    """

    def __cinit__(self, spec, cnp.ndarray row not None):
        cdef StructureBank* bank = &self.bank
        self.use_row(spec, row, spec.row_size, None)
        self.n_inputs, self.n_record = spec.n_exog, spec.n_record
        self.settings, self.lags, self.priors = spec.settings, spec.lags, spec.lag_priors
        self.waves = spec.waves
        bank.n_structures, bank.n_exog, bank.n_season = len(spec.structures), spec.n_exog, spec.n_season
        bank.longest, bank.n_waves, bank.horizons.n = spec.longest, len(spec.harmonics), len(spec.horizons)
        bank.horizons.n_members = bank.n_structures
        bank.first_period = min(spec.periods, default=0.0)
        bank.waves = <const double*>cnp.PyArray_DATA(self.waves)
        self.max_states = spec.sizes.max()
        bank.filters = <StructuralFilter*>malloc(bank.n_structures * sizeof(StructuralFilter))
        farthest = max(spec.horizons, default=1)
        self.memory = <double*>malloc(sizeof(double) * <Py_ssize_t>(
            (1 + farthest) * bank.n_season + 3 * bank.n_exog + 2 * self.max_states + 2 * bank.n_structures
            + 3 * farthest + len(spec.profiles) + max(ahead_size(self.max_states, bank.longest), bank.n_structures)
        ))
        bank.n_profiles = len(spec.profiles)
        bank.profiles = <Profile*>malloc(max(bank.n_profiles, 1) * sizeof(Profile))
        if bank.filters == NULL or bank.profiles == NULL or self.memory == NULL:
            raise MemoryError()
        self.given = self.memory
        self.inputs = self.given + bank.n_exog
        bank.season = self.inputs + bank.n_exog
        bank.exog = bank.season + bank.n_season
        bank.x = bank.exog + bank.n_exog
        bank.cov_x = bank.x + self.max_states
        bank.scores = bank.cov_x + self.max_states
        bank.shares = bank.scores + bank.n_structures
        bank.future_season = bank.shares + bank.n_structures
        bank.profile_values = bank.future_season + <Py_ssize_t>farthest * bank.n_season
        bank.future_profile = bank.profile_values + bank.n_profiles
        bank.future_mean = bank.future_profile + <Py_ssize_t>farthest
        bank.future_var = bank.future_mean + <Py_ssize_t>farthest
        bank.future_scratch = bank.future_var + <Py_ssize_t>farthest
        self._place_fields()
        self._set_profiles()
        sizes, owners, places = spec.sizes, spec.cov_owners, spec.pending_places
        bank.n_pending = 1 + places.max()
        self.cov_starts = spec.cov_starts
        for k in range(bank.n_structures):
            self._set(bank.filters + <Py_ssize_t>k, k)
            bank.filters[<Py_ssize_t>k].n = sizes[k]
            bank.filters[<Py_ssize_t>k].owner, bank.filters[<Py_ssize_t>k].pending_at = owners[k], places[k]
            bank.filters[<Py_ssize_t>k].twin = 0
            bank.filters[<Py_ssize_t>k].following = spec.structures.index(spec.structures[k]._replace(shock="follows"))
            newest = np.flatnonzero(owners[:k] == owners[k])
            if len(newest):
                bank.filters[<Py_ssize_t>newest.max()].twin = k
        self.bind(self.head)

    def __dealloc__(self):
        free(self.bank.filters)
        free(self.bank.profiles)

    cdef int _place_fields(self) except -1:
        """Find where the fields begin in a row."""
        cdef Py_ssize_t i
        places = LAYOUT.places(**self.spec.dims)
        for i in range(N_FIELDS):
            self.starts[i] = places[FIELDS[i]][0].start
        return 0

    cdef void bind(self, double* row) noexcept nogil:
        cdef StructureBank* bank = &self.bank
        cdef const Py_ssize_t* starts = self.starts
        cdef double* mean = row + starts[11]
        cdef double* cov = row + starts[12]
        cdef const Py_ssize_t* profile_starts = <const Py_ssize_t*>cnp.PyArray_DATA(self.profile_starts)
        cdef const Py_ssize_t* cov_starts = <const Py_ssize_t*>cnp.PyArray_DATA(self.cov_starts)
        cdef Py_ssize_t k
        cdef StructuralFilter* f
        self.is_current = False
        self.head = bank.head = row
        bank.start, bank.values, bank.log_values = row + starts[0], row + starts[1], row + starts[2]
        bank.exog_center, bank.exog_unit = row + starts[3], row + starts[4]
        bank.horizons.count, bank.horizons.dof = row + starts[5], row + starts[6]
        bank.horizons.evidence, bank.horizons.square_sum = row + starts[7], row + starts[8]
        bank.pending_mean, bank.pending_var = row + starts[9], row + starts[10]
        for k in range(bank.n_structures):
            f = bank.filters + k
            f.mean, f.cov = mean, cov + cov_starts[k]
            f.evidence, f.square_sum, f.dof = row + starts[13] + k, row + starts[14] + k, row + starts[15] + k
            f.n_shocks = row + starts[16] + k
            mean += f.n
        for k in range(bank.n_profiles):
            self._place_profile(bank.profiles + k, row + starts[17] + profile_starts[k])
        find_doubt(bank)

    cdef void _place_profile(self, Profile* profile, double* numbers) noexcept nogil:
        """Find the tables of a profile, one behind the other, behind its other numbers."""
        cdef Py_ssize_t i
        profile.numbers = numbers
        numbers += PROFILE_VALUES + N_KEPT
        for i in range(profile.n_periods):
            profile.tables[i] = numbers
            numbers += <Py_ssize_t>profile.periods[i]

    cdef int _set_profiles(self) except -1:
        """Read the settings of the profiles."""
        cdef Py_ssize_t i
        cdef Profile* profile
        self.profile_starts = self.spec.profile_starts
        for i, (is_log, *numbers) in enumerate(self.spec.profile_settings.tolist()):
            profile = self.bank.profiles + i
            profile.is_log, profile.n_periods = is_log, 1 + (numbers[1] > 0.0)
            profile.periods[0], profile.periods[1], profile.rates[0], profile.rates[1] = numbers
            profile.length = max(numbers[:2])
        return 0

    cdef int _set(self, StructuralFilter* f, Py_ssize_t k) except -1:
        """Read the settings of a structure."""
        cdef const Py_ssize_t[:, ::1] lags = self.lags
        cdef const double[:, ::1] priors = self.priors
        of = dict(zip(SETTINGS, self.settings[k].tolist(), strict=True))
        f.is_log, f.has_slope, f.is_difference = of["is_log"], of["has_slope"], of["is_difference"]
        f.season_at, f.n_season, f.n_exog = int(of["season_at"]), int(of["n_season"]), self.bank.n_exog
        f.n_lags, f.n_values = int(of["n_lags"]), int(of["n_values"])
        f.noise_var, f.damping, f.level_var, f.slope_var = (
            of["noise_var"], of["damping"], of["level_var"], of["slope_var"]
        )
        f.season_var, f.lag_var, f.exog_var = of["season_var"], of["lag_var"], of["exog_var"]
        f.lags, f.lag_prior, f.shock = &lags[k, 0], &priors[k, 0], int(of["shock"])
        f.profile = int(of["profile"])
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

    def components(self, const double[::1] exog):
        """Return shares, means, scales and degrees of freedom of the next forecast, as evidence judges it: unlimited.

        What is shown stays near the data: equations (N.14) and (N.16).
        """
        cdef Table table
        tables = [np.empty(self.bank.n_structures) for _ in range(4)]
        cdef double[::1] shares = tables[0], means = tables[1], scales = tables[2], dofs = tables[3]
        if exog.shape[0] != self.bank.n_exog:
            raise ValueError("exog must have a number for each exogenous column")
        table.shares, table.means, table.scales, table.dofs = &shares[0], &means[0], &scales[0], &dofs[0]
        describe_bank(&self.bank, &exog[0] if self.bank.n_exog else NULL, False, &table)
        return tuple(tables)

    @property
    def reserve(self):
        """Of a series of counts the probability that the next value is none, otherwise 0."""
        return count_reserve(&self.bank)

    @property
    def last_value(self):
        """The last observation of a series that has not moved yet; nan if there was none but zeros."""
        return self._last_value()

    cdef bint forecast(self) noexcept nogil:
        self.seen.mean = self.seen.var = NAN        # which the record has to be asked for
        return self.bank.head[N_SEEN] > 0.0

    cdef void describe(self, double* record) noexcept nogil:
        cdef Py_ssize_t n = self.bank.n_structures
        cdef Table table = Table(record, record + n, record + 2 * n, record + 3 * n)
        describe_bank(&self.bank, self.x, True, &table)
        record += 4 * n
        record[0], record[1], record[2] = zero_share(&self.bank), self.bank.head[IS_SCALED], NAN
        record[3] = count_reserve(&self.bank)
        if self.bank.head[IS_SCALED] == 0.0:
            record[2] = self._last_value()

    cdef void learn(self, double y) noexcept nogil:
        self.seen.log_score = observe(&self.bank, y, self.x)

    cdef object make(self, double mean, double var, object record):
        return record

    cdef double _last_value(self) noexcept nogil:
        cdef Py_ssize_t i = <Py_ssize_t>self.bank.head[N_FIRST] - 1, width = 1 + self.bank.n_exog
        while i >= 0:
            if not isnan(self.bank.start[i * width]):
                return self.bank.start[i * width]
            i -= 1
        # Zeros apart have pushed it out; but until the unit is known, all that were no zeros were equal.
        if self.bank.head[N_SEEN] == 0.0 or self.bank.head[LOWEST] == self.bank.head[HIGHEST] == 0.0:
            return NAN
        return self.bank.head[HIGHEST] if self.bank.head[HIGHEST] != 0.0 else self.bank.head[LOWEST]

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
        cdef StructureBank* bank = &self.bank
        cdef Future future
        cdef StructuralFilter* f
        if exog.shape[1] != bank.n_exog or horizon == 0:
            raise ValueError("exog must have a row for each step, and as many columns as the forecaster")
        means, variances = np.zeros((m, horizon)), np.ones((m, horizon))
        future.n_season, future.n_exog = max(bank.n_season, 1), max(bank.n_exog, 1)
        cdef double[::1] room = np.empty(ahead_size(self.max_states, bank.longest)), profile = np.empty(horizon)
        cdef double[:, ::1] mean = means, var = variances
        waves, columns = self.regressors_ahead(exog)
        cdef double[:, ::1] season = waves, known = columns
        future.horizon, future.season, future.exog, future.scratch = horizon, &season[0, 0], &known[0, 0], &room[0]
        for k in range(m):
            f = bank.filters + k
            if not has_share(bank, f) or bank.head[IS_SCALED] == 0.0:
                continue
            future.values, future.limits, future.profile = lagged_values(bank, f), limits_of(bank, f), NULL
            if fill_profile(bank, f, bank.head[N_STEPS], horizon, &profile[0]):
                future.profile = &profile[0]
            with nogil:
                forecast_ahead(f, &future, &mean[k, 0], &var[k, 0])
            PyErr_CheckSignals()
        return means, variances

    def profile_ahead(self, Py_ssize_t k, Py_ssize_t horizon):
        """Return what its profile adds to structure k at each step ahead, in its units; 0 without one."""
        added = np.zeros(horizon)
        cdef double[::1] out = added
        if not 0 <= k < self.bank.n_structures or horizon <= 0:
            raise ValueError("there is no such structure, or no step ahead")
        fill_profile(&self.bank, self.bank.filters + k, self.bank.head[N_STEPS], horizon, &out[0])
        return added

    def shares_ahead(self, Py_ssize_t step):
        """Return the shares of the structures at a step ahead."""
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
        """Forecast a step for each row of `exog`, at least one.

        Returns
        -------
        shares, dofs, means, scales : arrays (horizon, n_structures)
            Means and scales in the units of the series or of its log.
        """
        cdef Py_ssize_t h, k, horizon = exog.shape[0], m = self.bank.n_structures
        cdef StructureBank* bank = &self.bank
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
