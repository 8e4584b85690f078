"""A forecaster's row: the past of a series (past.pyx), then the row of the model that forecasts from it.

Drift rates are judged by their forecasts many steps ahead: equations (N.28)-(N.31). Fast drift, which wins one step
ahead, harms many steps ahead. So the likeliest filter of every drift rate forecasts 8 and 64 steps ahead, every 8 and
64 steps; its errors there are its evidence there. A structure's scale at a horizon starts from that of one step, and
its forecast has a variance, equations (N.17) and (N.18); here squared errors are all there is, and the first three do
not count as evidence.
"""

from libc.math cimport NAN, isnan, log, log1p
from libc.stdlib cimport malloc
from libc.string cimport memcpy

cimport numpy as cnp

from adabypass.distributions.component cimport Component
from adabypass.kernels.covariance cimport FULL
from adabypass.kernels.multistep cimport MultistepForecaster, stabilise
from adabypass.kernels.past cimport (
    Design, N_UNKNOWN, Past, Workspace, base_of, extra_var, features, fill, fill_exog, is_ready, n_response, observe,
    open_past,
)
from adabypass.kernels.runner cimport Runner
from adabypass.kernels.shares cimport evidence_at, fill_shares, horizon_row, horizon_steps, judge_horizon
from adabypass.kernels.step cimport (
    Kernel, MAX_VALUE, LINE, StepContext, WeightsView, next_line, saturate, scale_features,
)
from adabypass.numerics.dispatch cimport LANES
from adabypass.numerics.special cimport larger, smaller

import numpy as np

from adabypass.distributions.component import COMPONENT
from adabypass.state import series as design_of
from adabypass.state import structures
from adabypass.state.bank import AutoBypassSpec

cnp.import_array()

cdef double EVIDENCE_DISCOUNT = design_of.EVIDENCE_DISCOUNT
cdef double MIN_SQUARES = design_of.MIN_SQUARES
cdef double MAX_SURPRISE = structures.MAX_SURPRISE
cdef double MIN_POSITIVE = 1e-300
cdef double MIN_SHARE = design_of.MIN_SHARE
cdef enum:
    RATIO = 8           # ratio of a horizon to the one before; asserted below to be that of the spec
    MAX_GROUPS = 16     # maximum number of drift groups of a bank; asserted below

assert max(1 + max(AutoBypassSpec(each).drift_groups) for each in (False, True)) <= MAX_GROUPS
assert design_of.HORIZONS == tuple(RATIO ** (j + 1) for j in range(len(design_of.HORIZONS)))


cdef bint is_due(const Past* past, const Design* design) noexcept nogil:
    """Whether a horizon has no forecast that is still to be judged."""
    cdef Py_ssize_t j
    for j in range(design.n_horizons):
        if past.horizon_time[j] == 0.0:
            return True
    return False


cdef void judge_drifts(Past* past, const Design* design, double y) noexcept nogil:
    """Let a step pass, and judge the forecasts of the observation y: equations (N.29) and (N.30)."""
    cdef Py_ssize_t j
    for j in range(design.n_horizons):
        if past.horizon_time[j] > 0.0:
            past.horizon_time[j] -= 1.0
            if past.horizon_time[j] == 0.0 and not isnan(y):
                _judge(past, design, j, y)


cdef void _judge(Past* past, const Design* design, Py_ssize_t j, double y) noexcept nogil:
    cdef Py_ssize_t g, n = design.n_groups
    cdef double[MAX_GROUPS] scores, squares
    cdef double dof = past.horizons.dof[j], scale, error
    cdef bint is_scored = dof >= MIN_SQUARES
    for g in range(n):
        error = y - past.pending_mean[j * n + g]
        squares[g] = saturate(error * error)
        if is_scored:
            scale = larger(past.horizons.square_sum[j * n + g] / dof, MIN_POSITIVE)
            scores[g] = -0.5 * log(scale) - 0.5 * (dof + 1.0) * log1p(squares[g] / scale / dof)
            scores[g] = larger(scores[g], -1e300)
            squares[g] = smaller(squares[g], MAX_SURPRISE * scale)
    judge_horizon(&past.horizons, j, scores if is_scored else NULL, squares, EVIDENCE_DISCOUNT, 1.0)


cdef void begin_drifts(
    MultistepForecaster ahead, Past* past, const Design* design, const Py_ssize_t* groups
) noexcept nogil:
    """Forecast with the likeliest filter of every drift rate, for the horizons that are due: equation (N.28)."""
    cdef Py_ssize_t g, j, k, farthest = 0
    cdef Py_ssize_t[MAX_GROUPS] likeliest
    if not ahead.belief.is_known:
        return
    for j in range(design.n_horizons):
        if past.horizon_time[j] == 0.0:
            farthest = max(farthest, horizon_steps(RATIO, j))
    for g in range(design.n_groups):
        likeliest[g] = -1
    for k in range(ahead.belief.n_linears):
        g = groups[k]
        if likeliest[g] < 0 or ahead.belief.share[k] > ahead.belief.share[likeliest[g]]:
            likeliest[g] = k
    stabilise(ahead, past)
    ahead._place_slots(past)
    for g in range(design.n_groups):
        ahead.forecast_mean(likeliest[g], past, farthest)
        for j in range(design.n_horizons):
            if past.horizon_time[j] == 0.0:
                past.pending_mean[j * design.n_groups + g] = ahead.values[design.n_values + horizon_steps(RATIO, j) - 1]
    for j in range(design.n_horizons):
        if past.horizon_time[j] == 0.0:
            past.horizon_time[j] = horizon_steps(RATIO, j)


cdef void fill_step_shares(
    MultistepForecaster ahead, const Past* past, const Design* design, const Py_ssize_t* groups
) noexcept nogil:
    """Write the shares of all filters at each step ahead: equation (N.31)."""
    cdef Py_ssize_t g, k, t, row = 0, n = design.n_groups, K = ahead.belief.n_linears
    cdef double[MAX_GROUPS] total, evidence, share
    cdef double part
    ahead.has_step_shares = ahead.belief.is_known
    if not ahead.belief.is_known:
        return
    for g in range(n):
        total[g] = 0.0
    for k in range(K):
        total[groups[k]] += ahead.belief.share[k]
        ahead.step_share[k] = ahead.belief.share[k]
    for t in range(1, ahead.n_steps):
        part = horizon_row(&past.horizons, log(t + 1.0) / log(<double>RATIO), &row)
        for g in range(n):
            evidence[g] = evidence_at(&past.horizons, g, log(larger(total[g], MIN_SHARE)), row, part)
            share[g] = total[g] > 0.0
        fill_shares(evidence, n, share)
        for k in range(K):
            g = groups[k]
            ahead.step_share[t * K + k] = share[g] * (ahead.belief.share[k] / total[g]) if total[g] > 0.0 else 0.0


cdef class SeriesRunner(Runner):
    """A forecaster's row.

    Parameters
    ----------
    kernel : Kernel
        Of the model.
    spec : SeriesSpec
    row : float64 array
        Taken over, or copied to a better address.
    n_exog : int
        Number of exogenous columns.
    check : function, optional
        Converts and checks the exogenous values of one observation: of these and n_exog; returns a vector, with nan
        where a value is to be filled. Needed where anything but plain, finite numbers may come in.
    """

    cdef cnp.ndarray lags, taps, groups
    cdef MultistepForecaster judged             # memory of the forecasts that are judged; None if none are
    cdef Py_ssize_t n_linears, n_walks
    cdef bint intercept             # whether the model has one of its own
    cdef object design_spec
    cdef bint by_mean               # whether a missing exogenous value takes the column's mean, or its last value
    cdef Design design
    cdef Past past
    cdef Workspace work
    cdef double* exog               # exogenous values, the missing ones filled
    cdef double* features           # of the model

    def __cinit__(self, Kernel kernel not None, spec, cnp.ndarray row not None, Py_ssize_t n_exog, check=None):
        cdef Py_ssize_t max_touched, n_doubles, stride
        if n_exog < 0 or not spec.model.is_full:
            raise ValueError("a forecaster's model keeps full covariances")
        self.use_row(spec, row, spec.row_size(n_exog), spec.aligned_at(n_exog))
        self.use_kernel(kernel, spec.model)
        self.n_inputs, self.check = n_exog, check
        self.lags = np.array(spec.design.lags, dtype=np.intp)
        self.taps = np.array(spec.design.taps, dtype=np.float64)
        self.n_features = spec.n_features(n_exog)
        self.n_linears, self.n_walks = spec.model.n_linears, spec.model.n_walks
        self.intercept, self.design_spec = spec.model.has_intercept, spec.design
        self.by_mean = spec.missing == "mean"
        self.design.n_values = spec.design.n_values
        self.design.n_lags = self.lags.shape[0]
        self.design.n_taps = self.taps.shape[0]
        self.design.n_exog = n_exog
        self.design.bias = spec.design.bias
        self.design.capacity = spec.capacity
        self.design.lags = <const Py_ssize_t*>cnp.PyArray_DATA(self.lags)
        self.design.taps = <const double*>cnp.PyArray_DATA(self.taps)
        self.groups = np.array(spec.model.drift_groups, dtype=np.intp)
        self.design.n_horizons, self.design.n_groups = len(spec.horizons(n_exog)), 1 + max(spec.model.drift_groups)
        self.judged = self.new_multistep(max(spec.horizons(n_exog))) if self.design.n_horizons > 0 else None
        self.bind(<double*>cnp.PyArray_DATA(self._row))
        max_touched = min(self.design.n_lags, self.design.capacity * self.design.n_taps)
        stride = self.n_walks if self.n_walks == 1 else (self.n_walks + LANES - 1) // LANES * LANES
        n_doubles = (
            2 * self.n_features + LINE + spec.model.n_scratch(self.n_features) + 3 * n_exog
            + max_touched * (max_touched + 1) + self.design.n_lags + 2 * self.design.capacity
            + stride * (4 + self.design.n_lags + n_response(&self.design))
        )
        self.memory = <double*>malloc(
            n_doubles * sizeof(double) + self.n_walks * sizeof(WeightsView) + max_touched * sizeof(Py_ssize_t)
        )
        if self.memory == NULL:
            raise MemoryError()
        self.features = self.memory
        self.newest.scaled = self.features + self.n_features
        self.exog = self.newest.scaled + self.n_features
        self.given = self.exog + n_exog
        self.inputs = self.given + n_exog
        self.work.max_touched = max_touched
        self.work.spread = self.inputs + n_exog
        self.work.crossed = self.work.spread + max_touched * max_touched
        self.work.typical = self.work.crossed + max_touched
        self.work.slope = self.work.typical + self.design.n_lags
        self.work.along = self.work.slope + self.design.capacity
        self.work.extra = self.work.along + self.design.capacity
        self.work.stride = stride
        self.work.growth = self.work.extra + stride
        self.work.size = self.work.growth + stride
        self.work.sd = self.work.size + stride
        self.work.weights = self.work.sd + stride
        self.work.response = self.work.weights + self.design.n_lags * stride
        self.newest.scratch = next_line(self.work.response + n_response(&self.design) * stride)
        self.work.linears = <WeightsView*>(self.memory + n_doubles)
        self.work.touched = <Py_ssize_t*>(self.work.linears + self.n_walks)
        self.newest.n = self.newest.n_total = self.n_features
        self.newest.covariance = &FULL
        self.newest.constants = <const double*>cnp.PyArray_DATA(self.constants)

    @property
    def is_ready(self):
        """Whether every lag is there, so that a forecast can be made."""
        return is_ready(&self.past, &self.design)

    def forecast_steps(self, const double[:, ::1] exog):
        """Return the components of forecasts, one for each row of `exog` (n_steps, n_exog); None before it is ready."""
        cdef MultistepForecaster ahead = self.new_multistep(exog.shape[0])
        if exog.shape[1] != self.n_inputs:
            raise ValueError("exog must have a column for each exogenous one")
        parts = np.empty((exog.shape[0], self.n_components), dtype=COMPONENT)
        cdef bint could = self.forecast_ahead(
            ahead, &exog[0, 0] if self.n_inputs else NULL, <Component*>cnp.PyArray_DATA(parts)
        )
        return parts if could else None

    cdef void bind(self, double* row) noexcept nogil:
        self.past = open_past(row, &self.design)
        self.head = self.past.model
        self.is_current = False

    def step_shares(self, Py_ssize_t step):
        """Return the shares of the linear models at a step ahead."""
        cdef MultistepForecaster ahead = self.new_multistep(max(step, 1))
        cdef Py_ssize_t k
        self.is_current = False
        self._begin(&self.newest)
        self.kernel.export_mixture(&self.newest, &ahead.belief)
        if self.design.n_horizons > 0:
            fill_step_shares(ahead, &self.past, &self.design, <const Py_ssize_t*>cnp.PyArray_DATA(self.groups))
        shares = np.empty(self.n_linears)
        for k in range(self.n_linears):
            shares[k] = (
                ahead.step_share[(max(step, 1) - 1) * self.n_linears + k] if ahead.has_step_shares
                else ahead.belief.share[k]
            )
        return shares

    def stable_weights(self, Py_ssize_t n_steps):
        """Return weights that let the series not explode within some steps, once it is ready: equations (K.9)-(K.11).

        Returns
        -------
        mean : array (n_linears, n_weights)
        shrink : array (n_linears, n_weights)
            By what deviations from the mean weights are multiplied.
        """
        cdef MultistepForecaster ahead = self.new_multistep(n_steps)
        cdef Py_ssize_t i, k, W = ahead.belief.n_weights
        means, shrinks = np.empty((self.n_linears, W)), np.ones((self.n_linears, W))
        cdef double[:, ::1] mean = means, shrink = shrinks
        if not is_ready(&self.past, &self.design):
            raise ValueError("a series has no lags before it is ready")
        self.is_current = False
        self._begin(&self.newest)
        self.kernel.export_mixture(&self.newest, &ahead.belief)
        stabilise(ahead, &self.past)
        for k in range(self.n_linears):
            for i in range(W):
                mean[k, i] = ahead.stable[k * W + i]
            for i in range(self.design.n_lags):
                shrink[k, ahead.lags_at + i] = ahead.shrink[k]
        return means, shrinks

    cdef MultistepForecaster new_multistep(self, Py_ssize_t n_steps):
        return MultistepForecaster(
            self.design_spec, self.n_linears, self.n_components, self.n_features, self.intercept, n_steps
        )

    cdef bint forecast_ahead(self, MultistepForecaster ahead, const double* x, Component* parts) noexcept nogil:
        if not is_ready(&self.past, &self.design):
            return False
        self.is_current = False
        self._begin(&self.newest)
        self.kernel.export_mixture(&self.newest, &ahead.belief)
        if self.design.n_horizons > 0:
            fill_step_shares(ahead, &self.past, &self.design, <const Py_ssize_t*>cnp.PyArray_DATA(self.groups))
        ahead.forecast(&self.past, x, parts)
        return True

    cdef bint forecast(self) noexcept nogil:
        cdef StepContext* step = &self.newest
        if not is_ready(&self.past, &self.design):
            return False
        self._fill_exog(False)
        self._begin(step)
        features(&self.past, &self.design, self.exog, self.features)
        if self.past.head[N_UNKNOWN] > 0.0:
            extra_var(&self.past, &self.design, &self.work, step, self.kernel.weights, self.n_walks)
            step.extra = self.work.extra
        scale_features(step, self.features, self.kernel.scale_up)
        self.kernel.forecast(step)
        self.seen.mean, self.seen.var = step.mean, step.var
        if self.design.n_taps > 1 and not isnan(step.mean):         # the kernel knows the differenced series alone
            self.seen.mean = saturate(step.mean + base_of(&self.past, &self.design))
        if step.extra != NULL and not self.kernel.learns_extra and not isnan(step.var):
            self.seen.var = smaller(step.var + self.work.extra[0], MAX_VALUE)
        return True

    cdef void describe(self, double* record) noexcept nogil:
        cdef double base = base_of(&self.past, &self.design) if self.design.n_taps > 1 else 0.0
        self.kernel.describe(&self.newest, base, record)

    cdef void learn(self, double y) noexcept nogil:
        y = y if isnan(y) else saturate(y)
        self._fill_exog(True)
        if not is_ready(&self.past, &self.design):
            fill(&self.past, &self.design, y)
            return
        self.kernel.learn(&self.newest, y - base_of(&self.past, &self.design))
        observe(&self.past, &self.design, &self.work, y, self.seen.mean, self.seen.var)
        if self.design.n_horizons > 0:
            judge_drifts(&self.past, &self.design, y)
            if is_due(&self.past, &self.design):
                self._begin(&self.newest)
                self.kernel.export_mixture(&self.newest, &self.judged.belief)
                begin_drifts(
                    self.judged, &self.past, &self.design, <const Py_ssize_t*>cnp.PyArray_DATA(self.groups)
                )

    cdef void _fill_exog(self, bint learn) noexcept nogil:
        """Fill the missing exogenous values of the observation at hand, and learn the others if asked to."""
        if self.n_inputs:
            memcpy(self.exog, self.x, self.n_inputs * sizeof(double))
            fill_exog(&self.past, &self.design, self.exog, self.by_mean, learn)

    cdef void _begin(self, StepContext* step) noexcept nogil:
        """Point a step at the model's row."""
        step.row = self.past.model
        step.extra = NULL
        step.mean = step.var = NAN
