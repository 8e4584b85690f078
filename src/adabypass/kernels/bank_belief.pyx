"""What a bank of filters believes about the observations to come: `AutoBypassSpec.linear_mixture`, compiled."""

from libc.math cimport exp, fabs, isnan, sqrt
from libc.stdint cimport int64_t
from libc.string cimport memset

from adabypass.kernels.bank cimport open_bank
from adabypass.kernels.bank_walks cimport drift_of_walk, setting
from adabypass.kernels.step cimport LARGEST, saturate
from adabypass.kernels.warm_up cimport start_component
from adabypass.state.bank_table cimport (
    ANCHORED, Bank, DIFFERENCED, DRIFT_VAR, FAMILY, FAST_DECAY, JUMP_VAR, LARGEST_FAST_DECAY, LAST_Y, LEAST_SIZE,
    LEVEL_LAW, LEVEL_LAW_LINEAR, MAX_STRIKES, PHASE, PHASE_UNSCALED, SEASON_STEP, SLOPES_DRIFT, Y_CENTER,
    Y_RUNNING_MEAN, Y_RUNNING_VAR, Y_SCALE,
)
from adabypass.distributions.component cimport Component
from adabypass.distributions.families cimport Noise, noise_of
from adabypass.numerics.special cimport larger, smaller
from adabypass.numerics.dispatch cimport LANES, MOST_FLEXIBLE

from adabypass.numerics import limits

cdef double LARGEST_UNIT = limits.LARGEST_UNIT
cdef double RESOLUTION = limits.RESOLUTION


cdef void export_mixture(StepContext* step, LinearMixture* out) noexcept nogil:
    """Fill the belief of all filters, in the user's units."""
    cdef Bank bank
    open_bank(step, &bank)
    cdef Py_ssize_t i, k
    cdef double y_scale = bank.row[Y_SCALE], floor = RESOLUTION * fabs(bank.row[LAST_Y])
    cdef double center = 0.0, flexible_var = 0.0
    cdef const Noise* noise
    cdef double* unit = bank.z          # scratch: of each weight
    out.n_flexible, out.season_log, out.period, out.season_step = bank.n_flexible, NULL, bank.period, 0
    if bank.row[PHASE] == PHASE_UNSCALED:
        _believe_start(&bank, out)
        return
    out.is_known = True
    for k in range(MOST_FLEXIBLE):
        out.normal_share[k] = bank.normal_share[k]
        center += bank.normal_share[k] * bank.flexible.center[k]
        flexible_var += bank.normal_share[k] * (
            bank.flexible.sq[k] + bank.flexible.center[k] * bank.flexible.center[k]
        )
    flexible_var -= center * center
    out.season_log, out.season_step = bank.season_log, <Py_ssize_t>bank.row[SEASON_STEP]
    out.season_wave[0], out.season_wave[1] = bank.season_wave[0], bank.season_wave[1]
    out.y_center, out.least_size = bank.row[Y_CENTER], bank.constants[LEAST_SIZE]
    out.level_center = bank.row[Y_CENTER] + y_scale * bank.row[Y_RUNNING_MEAN]
    out.level_unit = y_scale * sqrt(bank.row[Y_RUNNING_VAR])
    if bank.intercept:
        unit[0] = y_scale
    for i in range(bank.n_features):
        out.x_center[i] = bank.x_center[i]
        out.feature_size[i] = larger(bank.x_scale[i], 0.0) * sqrt(bank.anchor_var[i])
        unit[bank.intercept + i] = smaller(y_scale / bank.x_scale[i], LARGEST_UNIT) if bank.x_scale[i] > 0.0 else 0.0
    for k in range(bank.n_filters):
        out.share[k] = bank.filter_share[k]
        out.family[k] = <int64_t>setting(&bank, FAMILY)[k]
        noise = noise_of(out.family[k])
        out.epsilon[k] = bank.filter_epsilon[k] if noise.has_epsilon else 0.0
        out.unit_var[k] = flexible_var if k < bank.n_flexible else noise.var(noise, out.epsilon[k])
        out.noise_scale[k] = larger(y_scale * exp(bank.filter_slow[k] + bank.filter_fast[k]), floor)        # (85)
        out.fading[k] = bank.filter_fast[k]
        out.fade[k] = 1.0 - (1.0 - setting(&bank, FAST_DECAY)[k]) * exp(bank.noise_fading_log[k // LANES])   # (102)
        out.fade[k] = larger(smaller(out.fade[k], bank.constants[LARGEST_FAST_DECAY]), 0.0)
        out.level_slope[k], out.differenced[k] = bank.filter_level_slope[k], setting(&bank, DIFFERENCED)[k]
        out.level_linear[k] = setting(&bank, LEVEL_LAW)[k] == LEVEL_LAW_LINEAR
        _believe_weights(&bank, k, unit, out)


cdef void _believe_weights(const Bank* bank, Py_ssize_t k, const double* unit, LinearMixture* out) noexcept nogil:
    """Mean and covariance of a filter's weights, and what a step of time adds to it: equations (53) and (120).

    A jump that is due, equation (116), is part of the covariance: it comes with the next step alone.
    """
    cdef Py_ssize_t i, j, at = 0, first = bank.intercept, walk = k % LANES
    cdef bint is_anchored = setting(bank, ANCHORED)[k] != 0.0, is_differenced = setting(bank, DIFFERENCED)[k] != 0.0
    cdef const double* centers = bank.newest_center if is_differenced else bank.anchor_center
    cdef const double* vars = bank.move_var if is_differenced else bank.anchor_var
    cdef double q = drift_of_walk(bank, walk), moves = setting(bank, SLOPES_DRIFT)[k]
    cdef double units, prec, center, of_intercept = 0.0 if is_differenced else 1.0, jump
    is_anchored = is_anchored or is_differenced
    cdef double* cov = out.cov + k * bank.n_packed
    cdef double* drift = out.drift + k * bank.n_packed
    memset(drift, 0, bank.n_packed * sizeof(double))
    for i in range(bank.n_weights):
        out.mean[k * bank.n_weights + i] = bank.walk_mean[i * LANES + walk] * unit[i]
        for j in range(i + 1):
            units = smaller(unit[i] * unit[j], LARGEST)
            cov[at] = saturate(bank.walk_cov[at * LANES + walk] * units)
            at += 1
        if i < first:
            continue
        prec = moves / vars[i - first] if is_anchored else moves
        drift[at - 1] = saturate(q * prec * units)
        if bank.intercept:
            center = centers[i - first] if is_anchored else 0.0
            of_intercept += center * center * prec
            drift[at - 1 - i] = saturate(-q * center * prec * smaller(unit[i] * unit[0], LARGEST))
    if bank.intercept:
        drift[0] = saturate(q * of_intercept * smaller(unit[0] * unit[0], LARGEST))
    if bank.walk_strikes[walk] >= bank.constants[MAX_STRIKES] and setting(bank, JUMP_VAR)[walk] > 0.0:
        jump = setting(bank, JUMP_VAR)[walk] / setting(bank, DRIFT_VAR)[walk]
        for at in range(bank.n_packed):
            cov[at] = saturate(cov[at] + jump * drift[at])                                                  # (116)


cdef void _believe_start(const Bank* bank, LinearMixture* out) noexcept nogil:
    """Before the scale of y is known: the components of equation (83), whatever the features."""
    cdef Component part
    cdef Py_ssize_t i, k
    memset(out.mean, 0, bank.n_filters * bank.n_weights * sizeof(double))
    memset(out.cov, 0, bank.n_filters * bank.n_packed * sizeof(double))
    memset(out.drift, 0, bank.n_filters * bank.n_packed * sizeof(double))
    for i in range(bank.n_features):
        out.x_center[i] = 0.0
    for k in range(bank.n_filters):
        start_component(bank, k, &part)
        out.share[k], out.noise_scale[k], out.epsilon[k], out.family[k] = (
            part.weight, part.noise_scale, part.epsilon, part.family
        )
        out.unit_var[k] = noise_of(part.family).var(noise_of(part.family), part.epsilon)
        out.fading[k] = out.fade[k] = out.level_slope[k] = out.level_linear[k] = out.differenced[k] = 0.0
    out.level_center, out.level_unit, out.y_center = 0.0, 1.0, part.mean
    out.is_known = not isnan(part.mean)
