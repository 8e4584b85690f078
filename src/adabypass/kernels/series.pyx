"""A forecaster's row, and the way in for Python: the next observation of a series, or all of it.

The row is the past of the series (past.pyx), then the model's own row. Memory stays safe as in cell.pyx.
"""

from cpython.exc cimport PyErr_CheckSignals
from libc.math cimport NAN, isnan
from libc.stdlib cimport free, malloc
from libc.string cimport memcmp, memcpy

cimport numpy as cnp

from adabypass.kernels.multistep cimport MultistepForecaster, n_response
from adabypass.kernels.arguments cimport all_finite, as_target, copy_plain, is_target, is_vector
from adabypass.kernels.cell cimport rows_between_signals, write_weights
from adabypass.kernels.drift_evidence cimport begin_drifts, fill_step_shares, is_due, judge_drifts
from adabypass.kernels.forecast_factory cimport ForecastFactory
from adabypass.kernels.past cimport (
    Design, N_UNKNOWN, Past, Workspace, base_of, extra_var, features, fill, fill_exog, is_ready, observe, open_past,
)
from adabypass.kernels.row_cell cimport RowCell, OneStepForecast
from adabypass.kernels.running cimport check_idle
from adabypass.kernels.step cimport LARGEST, LINE, Kernel, WeightsView, StepContext, scale_features, next_line, saturate
from adabypass.distributions.component cimport Component
from adabypass.numerics.special cimport smaller
from adabypass.simd.dispatch cimport LANES

import numpy as np

from adabypass.distributions.component import COMPONENT
from adabypass.state.layout import aligned

cnp.import_array()


cdef class SeriesCell(RowCell):
    """A forecaster's row together with the kernel of its model.

    Parameters
    ----------
    kernel : Kernel
        Of the model.
    spec : SeriesSpec
    row : float64 array
        Taken over, or copied to a better address.
    n_exog : int
        Number of exogenous columns.
    """

    cdef readonly cnp.ndarray row
    cdef readonly Py_ssize_t n_features
    cdef readonly Py_ssize_t n_exog
    cdef Kernel kernel
    cdef cnp.ndarray constants, lags, taps, groups
    cdef MultistepForecaster judged             # memory of the forecasts that are judged; None if none are
    cdef Py_ssize_t n_linears, n_walks, n_head
    cdef bint intercept             # whether the model has one of its own
    cdef object design_spec
    cdef bint by_mean               # whether a missing exogenous value takes the column's mean, or its last value
    cdef Design design
    cdef Past past
    cdef Workspace work
    cdef double* memory
    cdef double* exog               # exogenous values, the missing ones filled
    cdef double* given              # exogenous values as they came in,
    cdef double* last_given         # and those of the newest forecast
    cdef StepContext newest                # the newest forecast; its scratch and workspace are in memory
    cdef bint is_current            # whether that is the forecast of the row as it is, with `last_given`
    cdef ForecastFactory factory
    cdef double* scaled
    cdef double* scratch

    def __cinit__(self, Kernel kernel not None, spec, cnp.ndarray row not None, Py_ssize_t n_exog):
        cdef Py_ssize_t most_touched, n_doubles, stride
        if not is_vector(row) or not cnp.PyArray_ISWRITEABLE(row):
            raise TypeError("row must be a contiguous, writeable vector of float64")
        if n_exog < 0 or row.shape[0] != spec.row_size(n_exog):
            raise ValueError(f"row has {row.shape[0]} numbers, but this forecaster needs {spec.row_size(n_exog)}")
        if not spec.model.is_full:
            raise ValueError("a forecaster's model keeps full covariances")
        row = aligned(row, spec.aligned_at(n_exog))
        self.kernel, self.row, self.n_exog = kernel, row, n_exog
        self.constants = np.array(spec.model.constants(), dtype=np.float64)
        self.lags = np.array(spec.design.lags, dtype=np.intp)
        self.taps = np.array(spec.design.taps, dtype=np.float64)
        self.n_features = spec.n_features(n_exog)
        self.n_linears, self.n_components = spec.model.n_linears, spec.model.n_components
        self.n_walks = spec.model.n_walks
        self.n_record = spec.model.n_record
        self.n_head = spec.model.n_head
        self.n_inputs, self.row_size, self.log_score_at = n_exog, row.shape[0], spec.model.log_score_at
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
        self.past = open_past(<double*>cnp.PyArray_DATA(row), &self.design)
        most_touched = min(self.design.n_lags, self.design.capacity * self.design.n_taps)
        stride = self.n_walks if self.n_walks == 1 else (self.n_walks + LANES - 1) // LANES * LANES
        n_doubles = (
            2 * self.n_features + LINE + spec.model.n_scratch(self.n_features) + 3 * n_exog
            + most_touched * (most_touched + 1) + self.design.n_lags + 2 * self.design.capacity
            + stride * (4 + self.design.n_lags + n_response(&self.design))
        )
        self.memory = <double*>malloc(
            n_doubles * sizeof(double) + self.n_walks * sizeof(WeightsView) + most_touched * sizeof(Py_ssize_t)
        )
        if self.memory == NULL:
            raise MemoryError()
        self.scaled = self.memory + self.n_features
        self.exog = self.scaled + self.n_features
        self.given = self.exog + n_exog
        self.last_given = self.given + n_exog
        self.factory = ForecastFactory(spec.model, kernel.describe != NULL)
        self.work.most_touched = most_touched
        self.work.spread = self.last_given + n_exog
        self.work.crossed = self.work.spread + most_touched * most_touched
        self.work.typical = self.work.crossed + most_touched
        self.work.slope = self.work.typical + self.design.n_lags
        self.work.along = self.work.slope + self.design.capacity
        self.work.extra = self.work.along + self.design.capacity
        self.work.stride = stride
        self.work.growth = self.work.extra + stride
        self.work.size = self.work.growth + stride
        self.work.sd = self.work.size + stride
        self.work.weights = self.work.sd + stride
        self.work.response = self.work.weights + self.design.n_lags * stride
        self.scratch = next_line(self.work.response + n_response(&self.design) * stride)
        self.work.linears = <WeightsView*>(self.memory + n_doubles)
        self.work.touched = <Py_ssize_t*>(self.work.linears + self.n_walks)

    def __dealloc__(self):
        free(self.memory)

    @property
    def is_ready(self):
        """Whether every lag is there, so that a forecast can be made."""
        return is_ready(&self.past, &self.design)

    def predict(self, exog, bint is_checked=False):
        """Return the forecast of the next observation; None before it is ready.

        Parameters
        ----------
        exog
            The exogenous values; None if there are no such columns.
        is_checked
            Whether `exog` is a vector of n_exog numbers that are finite, or nan where they are to be filled. If not,
            and `exog` is not made of plain finite numbers, nothing is done, and NotImplemented is returned.
        """
        record = self.factory.new_record(True)
        if not self._load(exog, is_checked):
            return NotImplemented
        if not is_ready(&self.past, &self.design):
            return None
        if not self._is_newest():
            memcpy(self.exog, self.given, self.n_exog * sizeof(double))
            fill_exog(&self.past, &self.design, self.exog, self.by_mean, False)
            self._keep_forecast()
        if record is not None:
            self._describe(&self.newest, <double*>cnp.PyArray_DATA(record))
        return self.factory.make(self._mean(&self.newest), self._var(&self.newest), record)

    def step(self, y, exog, bint is_checked=False, bint want_forecast=True):
        """Forecast the next observation as `predict` does, then learn that it was `y`, or nan if it is missing.

        Unless `is_checked` is set, `y` too must be a plain number that is not infinite: if not, nothing is done, and
        NotImplemented is returned. Without `want_forecast`, None is returned.
        """
        cdef double target, mean, var
        cdef bint was_forecast
        record = self.factory.new_record(True) if want_forecast else None
        if not is_checked and not is_target(y):
            return NotImplemented
        target = as_target(y)
        if not self._load(exog, is_checked):
            return NotImplemented
        check_idle(self.state)
        if not isnan(target):
            target = saturate(target)
        was_forecast = self._is_newest()
        self.is_current = False
        memcpy(self.exog, self.given, self.n_exog * sizeof(double))
        fill_exog(&self.past, &self.design, self.exog, self.by_mean, True)
        if not is_ready(&self.past, &self.design):
            fill(&self.past, &self.design, target)
            return None
        if not was_forecast:
            self._forecast(&self.newest)
        if record is not None:
            self._describe(&self.newest, <double*>cnp.PyArray_DATA(record))
        mean, var = self._mean(&self.newest), self._var(&self.newest)
        self._learn(&self.newest, target, mean, var)
        return self.factory.make(mean, var, record) if want_forecast else None

    def run(self, const double[::1] y, const double[:, ::1] exog, bint keep_weights, bint keep_records):
        """Take `step` for every observation. Cell, y and exog are this call's own, and checked.

        Returns
        -------
        first : int
            Number of observations that filled the lags; the arrays begin with the observation after these.
        history, weights, records
            As `Cell.run` returns them.
        """
        cdef StepContext step
        cdef Py_ssize_t t = 0, at, stop, first = 0, n = self.n_features, n_rows = y.shape[0]
        cdef double target, mean, var
        if exog.shape[0] != n_rows or exog.shape[1] != self.n_exog:
            raise ValueError("exog must have a row for each y, and as many columns as the forecaster")
        self.is_current, step.opened_row = False, NULL
        while first < n_rows and not is_ready(&self.past, &self.design):
            if self.n_exog:
                memcpy(self.exog, &exog[first, 0], self.n_exog * sizeof(double))
            fill_exog(&self.past, &self.design, self.exog, self.by_mean, True)
            fill(&self.past, &self.design, y[first] if isnan(y[first]) else saturate(y[first]))
            first += 1
        keep_records = keep_records and self.factory.n_record > 0
        kept = np.empty((n_rows - first, 2 + self.n_head))
        kept_weights = np.empty((n_rows - first if keep_weights else 0, 2 * n))
        kept_records = np.empty((n_rows - first if keep_records else 0, self.n_record))
        cdef double[:, ::1] history = kept, weights = kept_weights, records = kept_records
        t = first
        while t < n_rows:
            stop = min(t + rows_between_signals(self.row.shape[0]), n_rows)
            with nogil:
                while t < stop:
                    at = t - first
                    if self.n_exog:
                        memcpy(self.exog, &exog[t, 0], self.n_exog * sizeof(double))
                    fill_exog(&self.past, &self.design, self.exog, self.by_mean, True)
                    self._forecast(&step)
                    history[at, 0] = mean = self._mean(&step)
                    history[at, 1] = var = self._var(&step)
                    if keep_records:
                        self._describe(&step, &records[at, 0])
                    target = y[t] if isnan(y[t]) else saturate(y[t])
                    self._learn(&step, target, mean, var)
                    memcpy(&history[at, 2], step.row, self.n_head * sizeof(double))
                    if keep_weights:
                        write_weights(self.kernel.weigh, self.kernel.weights, &step, &weights[at, 0])
                    t += 1
            PyErr_CheckSignals()
        return first, kept, kept_weights, kept_records

    def forecast_steps(self, const double[:, ::1] exog):
        """Return the components of forecasts of as many steps as `exog` (n_steps, n_exog) has rows; None before ready.
        """
        cdef MultistepForecaster ahead = self.new_multistep(exog.shape[0])
        if exog.shape[1] != self.n_exog:
            raise ValueError("exog must have as many columns as the forecaster")
        parts = np.empty((exog.shape[0], self.n_components), dtype=COMPONENT)
        cdef bint could = self.forecast_ahead(
            ahead, &exog[0, 0] if self.n_exog else NULL, <Component*>cnp.PyArray_DATA(parts)
        )
        return parts if could else None

    cdef void bind(self, double* row) noexcept nogil:
        self.past = open_past(row, &self.design)
        self.is_current = False

    cdef bint forecast_row(self, const double* x, OneStepForecast* seen, double* record) noexcept nogil:
        if not is_ready(&self.past, &self.design):
            return False
        if self.n_exog:
            memcpy(self.exog, x, self.n_exog * sizeof(double))
        fill_exog(&self.past, &self.design, self.exog, self.by_mean, False)
        self._see(seen, record)
        return True

    cdef bint step_row(self, const double* x, double y, OneStepForecast* seen, double* record) noexcept nogil:
        cdef double target = y if isnan(y) else saturate(y)
        if self.n_exog:
            memcpy(self.exog, x, self.n_exog * sizeof(double))
        fill_exog(&self.past, &self.design, self.exog, self.by_mean, True)
        if not is_ready(&self.past, &self.design):
            fill(&self.past, &self.design, target)
            return False
        self._see(seen, record)
        self._learn(&self.newest, target, seen.mean, seen.var)
        if self.log_score_at >= 0 and not isnan(y):
            seen.log_score = self.past.model[self.log_score_at]
        return True

    def step_shares(self, Py_ssize_t step):
        """Return the shares of the linear models so many steps ahead."""
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

    cdef void _see(self, OneStepForecast* seen, double* record) noexcept nogil:
        """Forecast with the exogenous values that were filled."""
        self._forecast(&self.newest)
        seen.mean, seen.var, seen.log_score = self._mean(&self.newest), self._var(&self.newest), NAN
        if record != NULL and self.n_record > 0:
            self._describe(&self.newest, record)

    cdef bint _load(self, object exog, bint is_checked) except -1:
        """Copy the exogenous values into the cell's memory; return whether they are checked, or plain and finite."""
        if exog is None and self.n_exog == 0:
            return True
        if copy_plain(exog, self.n_exog, self.given) and (is_checked or all_finite(self.given, self.n_exog)):
            return True
        if is_checked:
            raise ValueError("exog must be a vector with a number for each exogenous column")
        return False

    cdef bint _is_newest(self) noexcept:
        """Whether the newest forecast is that of the row as it is, with the exogenous values that were loaded."""
        return self.is_current and memcmp(self.given, self.last_given, self.n_exog * sizeof(double)) == 0

    cdef void _keep_forecast(self) noexcept:
        """Forecast, and remember that it was with the exogenous values that were loaded."""
        memcpy(self.last_given, self.given, self.n_exog * sizeof(double))
        self._forecast(&self.newest)
        self.is_current = True

    cdef void _begin(self, StepContext* step) noexcept nogil:
        """Point a step at the model's row."""
        step.n = step.n_total = self.n_features
        step.is_diagonal = False
        step.row = self.past.model
        step.constants = <const double*>cnp.PyArray_DATA(self.constants)
        step.scaled = self.scaled
        step.scratch = self.scratch
        step.extra = NULL
        step.pending = NULL
        step.is_plain = step.is_mixed = False
        step.mean = step.var = NAN

    cdef void _forecast(self, StepContext* step) noexcept nogil:
        """Forecast the next value, less what differencing took away from it."""
        self._begin(step)
        features(&self.past, &self.design, self.exog, self.memory)
        if self.past.head[N_UNKNOWN] > 0.0:
            extra_var(&self.past, &self.design, &self.work, step, self.kernel.weights, self.n_walks)
            step.extra = self.work.extra
        scale_features(step, self.memory, self.kernel.scale_up)
        self.kernel.forecast(step)

    cdef double _mean(self, const StepContext* step) noexcept nogil:
        """Expected value of the series itself; nan where nothing is known."""
        if self.design.n_taps == 1 or isnan(step.mean):
            return step.mean
        return saturate(step.mean + base_of(&self.past, &self.design))

    cdef double _var(self, const StepContext* step) noexcept nogil:
        """Variance of the series itself; nan of a point."""
        if step.extra == NULL or self.kernel.learns_extra or isnan(step.var):
            return step.var
        return smaller(step.var + self.work.extra[0], LARGEST)

    cdef void _describe(self, StepContext* step, double* record) noexcept nogil:
        self.kernel.describe(step, base_of(&self.past, &self.design) if self.design.n_taps > 1 else 0.0, record)

    cdef void _learn(self, StepContext* step, double y, double mean, double var) noexcept nogil:
        self.kernel.learn(step, y - base_of(&self.past, &self.design))
        observe(&self.past, &self.design, &self.work, y, mean, var)
        if self.design.n_horizons > 0:
            judge_drifts(&self.past, &self.design, y)
            if is_due(&self.past, &self.design):
                self._begin(&self.newest)
                self.kernel.export_mixture(&self.newest, &self.judged.belief)
                begin_drifts(
                    self.judged, &self.past, &self.design, <const Py_ssize_t*>cnp.PyArray_DATA(self.groups)
                )
