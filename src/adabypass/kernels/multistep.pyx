"""Forecasts many steps ahead: the one-step forecast, iterated, with weights of lags that let no series explode.

Equations (K.7)-(K.12). An observation depends on the values before it: y = d'b + w'r + noise, where b are
those values and some of the regressors r are lags, A b. What is not known of b, because it lies ahead or was missing,
is a Gaussian that is propagated from step to step, for each component of the mixture by itself. Values that no lag
reaches any more leave their slot to a new one, so that a far horizon takes no more memory than a near one.
"""

from libc.math cimport INFINITY, NAN, exp, hypot, isnan, sqrt
from libc.stdint cimport int64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy, memset

cimport numpy as cnp

from adabypass.distributions.component cimport Component
from adabypass.distributions.families cimport FLEXIBLE_NORMALS, GAUSSIAN
from adabypass.kernels.past cimport N_UNKNOWN, Past
from adabypass.kernels.stability cimport certain_growth, damped, find_growths, impulse_steps, shrinkage
from adabypass.kernels.step cimport LinearMixture, saturate, season_effect
from adabypass.numerics.dispatch cimport LANES, N_FLEXIBLE_NORMALS
from adabypass.numerics.special cimport larger, smaller

import numpy as np

from adabypass.numerics.limits import MAX_UNKNOWN
from adabypass.numerics.noise import Family
from adabypass.state.linear_mixture import MAX_LEVEL_DISTANCE as MAX_LEVEL_DISTANCE_, LEVEL_FLOOR as LEVEL_FLOOR_

cnp.import_array()

cdef double MIN_POSITIVE = 1e-300
cdef double MAX_LEVEL_DISTANCE = MAX_LEVEL_DISTANCE_
cdef double LEVEL_FLOOR = LEVEL_FLOOR_
cdef int64_t FLEXIBLE = Family.FLEXIBLE
cdef void stabilise(MultistepForecaster ahead, const Past* past) noexcept nogil:
    """Assume that the series does not explode: equations (K.9)-(K.11).

    Writes the weights from the second step on to `stable`, and by what their deviations are multiplied to `shrink`.
    """
    cdef LinearMixture* belief = &ahead.belief
    cdef Py_ssize_t i, j, k, at, K = belief.n_linears, W = belief.n_weights, T = W * (W + 1) // 2
    cdef Py_ssize_t n_lags = ahead.design.n_lags, n_values = ahead.design.n_values, n_taps = ahead.design.n_taps
    cdef Py_ssize_t n_steps = impulse_steps(n_lags, n_values, ahead.n_steps), n_recent = n_values - n_taps + 1
    cdef double doubt = 0.0, recent = 0.0, bound, apart, factor, old, moved, spread, total
    memcpy(ahead.stable, belief.mean, K * W * sizeof(double))
    for k in range(K):
        ahead.shrink[k] = 1.0
    if n_lags == 0:
        return
    for i in range(n_lags):
        ahead.typical[i] = 0.0
        for k in range(ahead.stride):
            old = belief.mean[k * W + ahead.lags_at + i] if k < K else 0.0
            ahead.weights[i * ahead.stride + k] = old
            ahead.typical[i] += belief.share[k] * old if k < K else 0.0
    for k in range(K):
        for i in range(n_lags):
            at = ahead.lags_at + i
            apart = belief.mean[k * W + at] - ahead.typical[i]
            doubt += belief.share[k] * (apart * apart + belief.cov[k * T + packed(at, at)])
    bound = certain_growth(n_lags, ahead.design.lags, ahead.typical, doubt, ahead.response, n_steps)
    find_growths(
        n_lags, ahead.design.lags, ahead.stride, ahead.weights, ahead.response, n_steps, ahead.growth, ahead.early
    )
    for i in range(n_recent):
        total = 0.0
        for j in range(n_taps):
            total += ahead.design.taps[j] * past.values[i + j]
        recent += total
    recent = finite(recent / n_recent)
    for k in range(K):
        factor = smaller(bound / ahead.growth[k], 1.0)
        moved = spread = 0.0
        for i in range(n_lags):
            at = ahead.lags_at + i
            old = belief.mean[k * W + at]
            ahead.stable[k * W + at] = damped(old, factor, ahead.design.lags[i])                          # (K.9)
            moved += (old - ahead.stable[k * W + at]) * (recent - belief.x_center[at - ahead.intercept])
            at = packed(at, at)
            spread += belief.cov[k * T + at] + ahead.n_steps * belief.drift[k * T + at]
        if ahead.lags_at > 0:
            ahead.stable[k * W] = finite(ahead.stable[k * W] + moved)                                     # (K.10)
        ahead.shrink[k] = shrinkage(ahead.growth[k], sqrt(larger(spread, MIN_POSITIVE)), ahead.n_steps)


cdef class MultistepForecaster:
    """The memory of forecasts of `n_steps` steps, for series of one design and models of one size.

    Parameters
    ----------
    design : adabypass.state.past.Design
    n_linears, n_components, n_features : int
        Of the model: linear models in its mixture, components of a forecast, features.
    intercept : bool
        Whether its weights begin with that of an intercept of its own.
    n_steps : int
    """

    def __cinit__(
        self, design, Py_ssize_t n_linears, Py_ssize_t n_components, Py_ssize_t n_features, bint intercept,
        Py_ssize_t n_steps,
    ):
        lags = np.array(design.lags, dtype=np.intp)
        taps = np.array(design.taps, dtype=np.float64)
        positions = np.ascontiguousarray(design.positions, dtype=np.intp)
        place = np.searchsorted(positions, lags[:, None] - 1 + np.arange(len(taps))).astype(np.intp)
        base = np.array(design.base_weights(design.positions), dtype=np.float64)
        if n_linears < 1 or n_steps < 1 or n_features < len(lags) + design.bias:
            raise ValueError("a forecast needs a component, a step, and a feature for each lag")
        self.owned = [lags, taps, positions, np.ascontiguousarray(place), base]
        self.design.n_values, self.design.n_lags, self.design.n_taps = design.n_values, len(lags), len(taps)
        self.design.bias, self.design.capacity = design.bias, 0
        self.design.n_horizons = self.design.n_groups = 0
        self.design.n_exog = n_features - len(lags) - design.bias
        self.design.lags = <const Py_ssize_t*>cnp.PyArray_DATA(self.owned[0])
        self.design.taps = <const double*>cnp.PyArray_DATA(self.owned[1])
        self.positions = <const Py_ssize_t*>cnp.PyArray_DATA(self.owned[2])
        self.place = <const Py_ssize_t*>cnp.PyArray_DATA(self.owned[3])
        self.base = <const double*>cnp.PyArray_DATA(self.owned[4])
        self.n_steps, self.n_positions, self.intercept = n_steps, len(positions), intercept
        self.lags_at = self.design.bias + intercept
        self.belief.n_linears, self.belief.n_features, self.n_components = n_linears, n_features, n_components
        self.belief.n_weights = n_features + intercept
        self.stride = n_linears if n_linears == 1 else (n_linears + LANES - 1) // LANES * LANES
        self.n_packed = self.belief.n_weights * (self.belief.n_weights + 1) // 2
        self.n_slots = max(min(min(design.n_values, MAX_UNKNOWN) + n_steps, design.n_values), 1)
        self._allocate()

    def _allocate(self):
        """Take all memory at once, and divide it."""
        cdef Py_ssize_t K = self.belief.n_linears, W = self.belief.n_weights, n_lags = self.design.n_lags
        cdef Py_ssize_t T = W * (W + 1) // 2, n_values = self.design.n_values + self.n_steps, S = self.n_slots
        cdef Py_ssize_t n_impulse = impulse_steps(n_lags, self.design.n_values, self.n_steps)
        cdef Py_ssize_t n_doubles = (
            K * (10 + 2 * W + 2 * T) + 2 * self.belief.n_features + 3 * W + n_values + S * S + S * W + S
            + self.n_positions + n_lags * (self.stride + 1) + self.stride * (n_impulse + 2) + self.n_steps * K
        )
        cdef Py_ssize_t n_whole = K + n_values + self.n_positions + n_lags
        cdef double* at = <double*>malloc(n_doubles * sizeof(double) + n_whole * sizeof(int64_t))
        cdef LinearMixture* belief = &self.belief
        if at == NULL:
            raise MemoryError()
        self.memory = at
        belief.share = at
        belief.noise_scale = belief.share + K
        belief.unit_var = belief.noise_scale + K
        belief.epsilon = belief.unit_var + K
        belief.fading = belief.epsilon + K
        belief.fade = belief.fading + K
        belief.level_slope = belief.fade + K
        belief.level_linear = belief.level_slope + K
        belief.differenced = belief.level_linear + K
        self.shrink = belief.differenced + K
        belief.mean = self.shrink + K
        self.stable = belief.mean + K * W
        belief.cov = self.stable + K * W
        belief.drift = belief.cov + K * T
        belief.x_center = belief.drift + K * T
        belief.feature_size = belief.x_center + belief.n_features
        self.r = belief.feature_size + belief.n_features
        self.Pr = self.r + W
        self.direction = self.Pr + W
        self.values = self.direction + W
        self.cov = self.values + n_values
        self.cross = self.cov + S * S
        self.along = self.cross + S * W
        self.slope = self.along + S
        self.weights = self.slope + self.n_positions
        self.typical = self.weights + n_lags * self.stride
        self.response = self.typical + n_lags
        self.growth = self.response + n_impulse * self.stride
        self.early = self.growth + self.stride
        self.step_share = self.early + self.stride
        self.has_step_shares = False
        belief.family = <int64_t*>(at + n_doubles)
        self.slot = <Py_ssize_t*>(belief.family + K)
        self.used = self.slot + n_values
        self.touched = self.used + self.n_positions

    def __dealloc__(self):
        free(self.memory)

    cdef void forecast(self, const Past* past, const double* exog, Component* out) noexcept nogil:
        """Write the components of every step, (n_steps, n_components), from `belief`, which is used up.

        `exog` (n_steps, n_exog) are the exogenous values to come.
        """
        cdef LinearMixture* belief = &self.belief
        cdef Py_ssize_t k, t, at = 0, n_each
        cdef Component blank
        if belief.n_linears + belief.n_flexible * (N_FLEXIBLE_NORMALS - 1) != self.n_components:
            return                      # cannot happen: n_components is of the same spec as the belief
        if belief.is_known:
            stabilise(self, past)
            self._place_slots(past)
        for k in range(belief.n_linears):
            n_each = N_FLEXIBLE_NORMALS if k < belief.n_flexible else 1
            if belief.is_known:
                self._forecast_component(k, past, exog, out + at)
            else:
                blank = Component(belief.share[k], NAN, 0.0, INFINITY, 0.0, GAUSSIAN, 0, 0.0)
                for t in range(self.n_steps):
                    self._write(k, &blank, out + at + t * self.n_components)
            at += n_each

    cdef void _write(self, Py_ssize_t k, const Component* whole, Component* out) noexcept nogil:
        """Write the component of a linear model; of flexible noise, each of its normals: equation (H.31).

        Before a scale is known no noise is flexible: then the first stays what it is, and the others have no weight.
        """
        cdef LinearMixture* belief = &self.belief
        cdef double mean = 0.0
        cdef Py_ssize_t j
        if k >= belief.n_flexible:
            out[0] = whole[0]
            return
        for j in range(N_FLEXIBLE_NORMALS):
            mean += belief.normal_share[j] * FLEXIBLE_NORMALS.center[j]
        for j in range(N_FLEXIBLE_NORMALS):
            out[j] = whole[0]
            if belief.family[k] != FLEXIBLE or isnan(whole.mean):
                out[j].weight *= j == 0
                continue
            out[j].weight *= belief.normal_share[j]
            out[j].mean = saturate(whole.mean + whole.noise_scale * (FLEXIBLE_NORMALS.center[j] - mean))
            out[j].noise_scale = saturate(whole.noise_scale * sqrt(FLEXIBLE_NORMALS.sq[j]))
            out[j].family = GAUSSIAN

    cdef void _place_slots(self, const Past* past) noexcept nogil:
        """Say where each value, oldest first, is kept among those that are not known; -1 if it is known."""
        cdef Py_ssize_t i, n_values = self.design.n_values, n_unknown = <Py_ssize_t>past.head[N_UNKNOWN]
        self.n_slots = max(min(n_unknown + self.n_steps, n_values), 1)
        for i in range(n_values):
            self.slot[i] = -1
        for i in range(n_unknown):
            self.slot[n_values - 1 - <Py_ssize_t>past.positions[i]] = i
        for i in range(self.n_steps):
            self.slot[n_values + i] = (n_unknown + i) % self.n_slots

    cdef void _forecast_component(
        self, Py_ssize_t k, const Past* past, const double* exog, Component* out
    ) noexcept nogil:
        """Propagate one component through all steps."""
        cdef LinearMixture* belief = &self.belief
        cdef Py_ssize_t t, n_values = self.design.n_values
        cdef Component whole
        cdef double* m = belief.mean + k * belief.n_weights
        cdef double* P = belief.cov + k * self.n_packed
        cdef double scale = belief.noise_scale[k], fading = belief.fading[k], base, own, mean, signal, level, noise, var
        cdef double share
        self._begin(past)
        for t in range(self.n_steps):
            self._advance(k, t)
            if t > 0:
                scale *= exp((belief.fade[k] - 1.0) * fading)
                fading *= belief.fade[k]
            base = self._regress(m, t, exog)
            signal = self._signal(m, P, &own)
            mean = finite(own + base)
            level = (finite(own) - belief.level_center) / belief.level_unit
            level = belief.level_slope[k] * larger(smaller(level, MAX_LEVEL_DISTANCE), -MAX_LEVEL_DISTANCE)
            noise = scale                                                                               # (H.30), (H.37)
            if belief.level_linear[k] != 0.0:
                noise *= hypot(1.0 + level, LEVEL_FLOOR) / hypot(1.0, LEVEL_FLOOR)
                level = 0.0
            if belief.season_log != NULL:
                level += season_effect(belief, (belief.season_step + t) % belief.period)
            noise *= exp(level)
            var = noise * noise * belief.unit_var[k]
            self.values[n_values + t] = mean
            self._append(self.slot[n_values + t], self.shrink[k] if t == 0 else 1.0)
            self.cov[self.slot[n_values + t] * (self.n_slots + 1)] = finite(signal + (0.0 if isnan(var) else var))
            if belief.differenced[k] != 0.0:
                self._explain(
                    self.slot[n_values + t], P, 0.0 if isnan(var) else var, self.shrink[k] if t == 0 else 1.0
                )
            share = self.step_share[t * belief.n_linears + k] if self.has_step_shares else belief.share[k]
            whole = Component(share, mean, signal, noise, belief.epsilon[k], belief.family[k], 0, 0.0)
            self._write(k, &whole, out + t * self.n_components)

    cdef void forecast_mean(self, Py_ssize_t k, const Past* past, Py_ssize_t n_steps) noexcept nogil:
        """Write what one component expects of each of the first steps to `values`, without any uncertainty: (N.28).

        After `stabilise`; `belief` is not used up.
        """
        cdef Py_ssize_t i, t, n_values = self.design.n_values, W = self.belief.n_weights
        cdef const double* m = self.belief.mean + k * W
        cdef double total
        for i in range(n_values):
            self.values[i] = past.values[n_values - 1 - i]
        for t in range(n_steps):
            if t == 1:
                m = self.stable + k * W
            total = self._regress(m, t, NULL) + self.belief.y_center
            for i in range(W):
                total += m[i] * self.r[i]
            self.values[n_values + t] = finite(total)

    cdef void _begin(self, const Past* past) noexcept nogil:
        """Start from the past: nothing is known to be correlated with the weights."""
        cdef Py_ssize_t i, j, n_values = self.design.n_values, S = self.n_slots
        memset(self.cov, 0, S * S * sizeof(double))
        memset(self.cross, 0, self.belief.n_weights * S * sizeof(double))
        for i in range(n_values):
            self.values[i] = past.values[n_values - 1 - i]
        for i in range(<Py_ssize_t>past.head[N_UNKNOWN]):
            for j in range(<Py_ssize_t>past.head[N_UNKNOWN]):
                self.cov[i * S + j] = past.cov[packed(i, j)]

    cdef void _advance(self, Py_ssize_t k, Py_ssize_t t) noexcept nogil:
        """Let the weights drift; from the second step on they are those that do not explode."""
        cdef Py_ssize_t i, j, W = self.belief.n_weights, first = self.lags_at, stop = first + self.design.n_lags
        cdef double* P = self.belief.cov + k * self.n_packed
        cdef double* Q = self.belief.drift + k * self.n_packed
        cdef double factor
        if t == 1:
            memcpy(self.belief.mean + k * W, self.stable + k * W, W * sizeof(double))
            for i in range(W):
                for j in range(i + 1):
                    factor = self.shrink[k] if first <= i < stop else 1.0
                    factor *= self.shrink[k] if first <= j < stop else 1.0
                    P[packed(i, j)] *= factor
                    Q[packed(i, j)] *= factor
        for i in range(self.n_packed):
            P[i] += Q[i]

    cdef double _regress(self, const double* m, Py_ssize_t t, const double* exog) noexcept nogil:
        """Find the regressors r, which values they are made of, and their slopes; return what differencing took away.
        """
        cdef Py_ssize_t i, j, u, n_taps = self.design.n_taps, n_lags = self.design.n_lags, n_exog = self.design.n_exog
        cdef Py_ssize_t newest = self.design.n_values + t - 1
        cdef double* x = self.r + self.intercept
        cdef double base = 0.0
        for i in range(self.n_positions):
            self.used[i] = self.slot[newest - self.positions[i]]
            base += self.values[newest - self.positions[i]] * self.base[i]
            self.slope[i] = self.base[i]
        if self.design.bias:
            x[0] = 1.0
        for i in range(n_lags):
            x[self.design.bias + i] = 0.0
            for j in range(n_taps):
                u = self.place[i * n_taps + j]
                x[self.design.bias + i] += self.design.taps[j] * self.values[newest - self.positions[u]]
                self.slope[u] += m[self.lags_at + i] * self.design.taps[j]
        for i in range(n_exog):
            x[self.design.bias + n_lags + i] = exog[t * n_exog + i]
        for i in range(self.belief.n_features):
            x[i] -= self.belief.x_center[i]
        if self.intercept:
            self.r[0] = 1.0
        return base

    cdef void _explain(self, Py_ssize_t at, double* P, double var, double shrink) noexcept nogil:
        """Let the weights move by the noise of variance `var` of the value in slot `at`: equation (H.20)."""
        cdef Py_ssize_t i, j, W = self.belief.n_weights, first = self.lags_at, stop = first + self.design.n_lags
        cdef double* u = self.direction
        cdef double size, moved, total = 0.0
        for i in range(W):
            u[i] = 1.0 if self.intercept and i == 0 else 0.0
            if not self.intercept and self.belief.feature_size[i] > 0.0:
                u[i] = self.r[i] / self.belief.feature_size[i]
                total += u[i] * u[i]
        if not self.intercept:
            total = larger(total, self.belief.min_mean_square * W)
            for i in range(W):
                size = self.belief.feature_size[i]
                u[i] = u[i] / size / total if size > 0.0 else 0.0                                       # (H.14)
        for i in range(W):
            moved = u[i] * var * (shrink if first <= i < stop else 1.0)
            self.cross[i * self.n_slots + at] = finite(self.cross[i * self.n_slots + at] + moved)
            for j in range(i + 1):
                P[packed(i, j)] = finite(P[packed(i, j)] + u[i] * u[j] * var)

    cdef void _append(self, Py_ssize_t at, double shrink) noexcept nogil:
        """Put a new value into slot `at`: its covariance with the others and with the weights, equation (K.8)."""
        cdef Py_ssize_t i, j, s, S = self.n_slots, first = self.lags_at, stop = first + self.design.n_lags
        cdef double total
        for s in range(S):
            total = 0.0
            for i in range(self.belief.n_weights):
                total += self.cross[i * S + s] * self.r[i]
            for i in range(self.n_positions):
                if self.used[i] >= 0:
                    total += self.cov[s * S + self.used[i]] * self.slope[i]
            self.along[s] = finite(total)
        for i in range(self.belief.n_weights):
            total = self.Pr[i]
            for j in range(self.n_positions):
                if self.used[j] >= 0:
                    total += self.cross[i * S + self.used[j]] * self.slope[j]
            self.cross[i * S + at] = finite(total * shrink if first <= i < stop else total)
        for s in range(S):
            self.cov[s * S + at] = self.cov[at * S + s] = self.along[s]

    cdef double _signal(self, const double* m, const double* P, double* own) noexcept nogil:
        """Variance of d'b + w'r, exact if weights and values are jointly Gaussian: equation (K.7).

        Writes the mean of w'r to `own`, and P @ r, which the covariance with the weights begins with, to `Pr`.
        """
        cdef Py_ssize_t a, b, i, j, other, u, v, n_touched = 0, W = self.belief.n_weights, S = self.n_slots
        cdef Py_ssize_t n_taps = self.design.n_taps, first = self.lags_at
        cdef const double* taps = self.design.taps
        cdef double total, forward, backward, gain = 0.0
        own[0] = self.belief.y_center
        for i in range(W):
            total = 0.0
            for j in range(W):
                total += P[packed(i, j)] * self.r[j]
            self.Pr[i] = total
            gain += self.r[i] * total
            own[0] += m[i] * self.r[i]
        for i in range(self.n_positions):
            if self.used[i] < 0:
                continue
            total = 0.0
            for j in range(self.n_positions):
                if self.used[j] >= 0:
                    total += self.cov[self.used[i] * S + self.used[j]] * self.slope[j]
            for j in range(W):
                total += 2.0 * self.r[j] * self.cross[j * S + self.used[i]]
            gain += self.slope[i] * total
        for a in range(self.design.n_lags):
            for j in range(n_taps):
                if self.used[self.place[a * n_taps + j]] >= 0:
                    self.touched[n_touched] = a
                    n_touched += 1
                    break
        for i in range(n_touched):
            a = self.touched[i]
            for other in range(n_touched):
                b = self.touched[other]
                total = forward = backward = 0.0
                for j in range(n_taps):
                    u = self.used[self.place[a * n_taps + j]]
                    if u < 0:
                        continue
                    backward += self.cross[(first + b) * S + u] * taps[j]
                    for v in range(n_taps):
                        if self.used[self.place[b * n_taps + v]] >= 0:
                            total += taps[j] * taps[v] * self.cov[u * S + self.used[self.place[b * n_taps + v]]]
                for v in range(n_taps):
                    u = self.used[self.place[b * n_taps + v]]
                    if u >= 0:
                        forward += self.cross[(first + a) * S + u] * taps[v]
                gain += P[packed(first + a, first + b)] * total + forward * backward
                if a == b:
                    own[0] += forward
        return larger(finite(gain), 0.0)
