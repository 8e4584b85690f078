/* The filters of a bank: each forecasts and learns by itself, in standard units: equations (49)-(56). */

#ifndef ADABYPASS_FILTERS_H
#define ADABYPASS_FILTERS_H

#include "bank.h"
#include "blocks.h"
#include "noise.h"

static inline const double* setting(const Bank* bank, int which) { return bank->settings + which * bank->n_lanes; }

/* Variance of a filter's noise, in units of its scale: that of the normals, or equation (5). */
static inline vec noise_var(const Bank* bank, ptrdiff_t k)
{
    vec var = load(setting(bank, NOISE_VAR) + k);
    mask shaped = equal(var, fill(0.0));
    if (!any(shaped)) return var;
    vec epsilon = load(bank->epsilon + k);
    vec shaped_var = (epsilon * (epsilon * (epsilon * (1.0 / 3.0) + 1.0) + 2.0) + 2.0) / (1.0 + epsilon);
    return select(shaped, shaped_var, var);
}

/* The least noise scale that the newest observation lets through, whose last digits are rounded: equation (85). */
static inline double least_scale(const Bank* bank)
{
    return bank->limits->resolution * fabs(bank->row[LAST_Y]) / bank->row[Y_SCALE];
}

/* What all filters need to know of an anchored drift, Q = q A: equation (53). */
static inline void find_anchor(Bank* bank)
{
    ptrdiff_t offset = bank->intercept;
    double level = 1.0, square = 1.0;
    for (ptrdiff_t i = 0; i < bank->n; i++) {
        double center = bank->anchor_center[i], inverse = 1.0 / bank->anchor_var[i];
        double slope = (bank->z[offset + i] - center) * inverse;
        bank->anchored_slope[offset + i] = slope;               /* (A z) of this feature */
        bank->anchored_diagonal[offset + i] = inverse;
        bank->anchored_cross[offset + i] = inverse * center;    /* A, beside the intercept, with its sign turned */
        level -= center * slope;
        square += inverse * center * center;
    }
    if (!offset) return;
    bank->anchored_slope[0] = level;
    bank->anchored_diagonal[0] = square;
    bank->anchored_cross[0] = 0.0;
}

/* The slow part of the noise's scale of the filters from k on, and the variance of their weights' drift. */
static inline void find_drift(Bank* bank, ptrdiff_t k)
{
    vec scale = exponential(load(bank->slow + k));
    store(bank->scale + k, scale);
    store(bank->drift_var + k, load(setting(bank, DRIFT_VAR) + k) * (scale * scale));           /* (52) */
}

/* The noise of the filters from k on, after `find_drift`, when their means are known. */
static inline void find_noise(Bank* bank, ptrdiff_t k, double least, double center, double inverse_sd)
{
    double most = bank->constants[LARGEST_LEVEL];
    vec level = clamp((load(bank->mean + k) - center) * inverse_sd, -most, most);               /* (105) */
    level *= load(setting(bank, FOLLOWS_LEVEL) + k);
    vec scale = load(bank->scale + k), log_scale = load(bank->fast + k) + load(bank->level_slope + k) * level;
    if (any(~equal(log_scale, fill(0.0)))) scale *= exponential(log_scale);                     /* (106) */
    store(bank->level + k, level);
    store(bank->scale + k, larger(scale, fill(least)));                                         /* (85) */
    store(bank->noise_var + k, noise_var(bank, k));
}

/* p = P @ z, h = z @ p and mean = z @ m, for a block of filters of `size` weights. */
INLINE void forecast_block(Bank* bank, ptrdiff_t block, const ptrdiff_t size)
{
    double* p = bank->p + block * size * LANES;
    const double* m = bank->m + block * size * LANES;
    const double* z = bank->z;
    const double* slope = bank->anchored_slope;
    product(size, bank->S + block * bank->n_packed * LANES, z, p);
    for (int part = 0; part < PARTS; part++) {
        ptrdiff_t lane = part * WIDTH, k = block * LANES + lane;
        vec h = fill(0.0), mean = fill(0.0), q = load(bank->drift_var + k);
        vec anchored = q * load(setting(bank, ANCHORED) + k), fixed = q - anchored;
        for (ptrdiff_t i = 0; i < size; i++) {
            double* along = p + i * LANES + lane;
            vec moved = load(along) + (anchored * slope[i] + fixed * z[i]);                     /* (53) */
            store(along, moved);
            h += z[i] * moved;
            mean += z[i] * load(m + i * LANES + lane);
            if (i == 0) fixed *= load(setting(bank, SLOPES_DRIFT) + k);
        }
        store(bank->h + k, larger(h, fill(0.0)));
        store(bank->mean + k, mean);
    }
}

/* For every filter p = P @ z, h = z @ p and mean = z @ m. */
static void forecast_filters(Bank* bank)
{
    double least = least_scale(bank), unit = bank->row[Y_SCALE];
    double center = bank->row[Y_RUNNING_MEAN], inverse_sd = 1.0 / sqrt(bank->row[Y_RUNNING_VAR]);
    ptrdiff_t n_blocks = bank->n_lanes / LANES;
    find_anchor(bank);
    for (ptrdiff_t k = 0; k < bank->n_lanes; k += WIDTH) find_drift(bank, k);
    if (bank->size == 2)        /* with the loops unrolled */
        for (ptrdiff_t block = 0; block < n_blocks; block++) forecast_block(bank, block, 2);
    else
        for (ptrdiff_t block = 0; block < n_blocks; block++) forecast_block(bank, block, bank->size);
    for (ptrdiff_t k = 0; k < bank->n_lanes; k += WIDTH) find_noise(bank, k, least, center, inverse_sd);
    if (bank->extra != NULL)
        for (ptrdiff_t k = 0; k < bank->n_filters; k++) {                                       /* (66) */
            double extra = bank->extra[k] / unit / unit;
            bank->h[k] += extra < bank->limits->largest_distance ? extra : bank->limits->largest_distance;
        }
}

/* P = S + Q, in place of S, for the filters from k on: equation (53). Return the sum of √P_ii |z_i|. */
INLINE vec let_drift(Bank* bank, ptrdiff_t k, const ptrdiff_t size)
{
    double* row = bank->S + k / LANES * bank->n_packed * LANES + k % LANES;     /* of the triangle */
    const double* diagonal = bank->anchored_diagonal;
    const double* cross = bank->anchored_cross;
    vec q = load(bank->drift_var + k), anchored = q * load(setting(bank, ANCHORED) + k), fixed = q - anchored;
    vec var = load(row) + (fixed + anchored * diagonal[0]), reach = root(larger(var, fill(0.0))) * fabs(bank->z[0]);
    store(row, var);
    fixed *= load(setting(bank, SLOPES_DRIFT) + k);
    for (ptrdiff_t i = 1; i < size; i++) {
        row += i * LANES;
        if (bank->intercept) store(row, load(row) - anchored * cross[i]);
        var = load(row + i * LANES) + (fixed + anchored * diagonal[i]);
        store(row + i * LANES, var);
        reach += root(larger(var, fill(0.0))) * fabs(bank->z[i]);
    }
    return reach;
}

/* An observation, and what all filters need to know of it. */
typedef struct {
    double y;               /* in standard units; nan if it is missing */
    double observed;        /* in the user's */
    double rounded;         /* so narrow a noise shows the rounding of y */
    double least_log;       /* of the noise's scale: (85) */
    double slope_rate;      /* of the mean squares of slopes */
    double slow_rate;       /* least rate of the noise's scale */
    bool repeats;           /* whether it has been the same for long */
} Observation;

static inline Observation describe(const Bank* bank, double y, double observed)
{
    const double* constants = bank->constants;
    double n = bank->row[N_SEEN], unit = bank->row[Y_SCALE], least = least_scale(bank), rate = 1.0 / (n + 2.0);
    Observation seen = {y, observed, 1048576.0 * bank->limits->resolution * fabs(observed) / unit};
    seen.least_log = -bank->limits->largest_log_scale;
    if (least > 1e-40) seen.least_log = logarithm_of(least);        /* above exp(-92) */
    seen.slope_rate = rate > constants[SLOPE_RATE] ? rate : constants[SLOPE_RATE];
    seen.slow_rate = 1.0 / (n + 3.0);
    seen.repeats = bank->row[N_REPEATS] > constants[MAX_REPEATS];
    return seen;
}

/* Distance of the observation from the forecasts of the filters from k on, and their signals' variance. */
static inline void measure(Bank* bank, ptrdiff_t k, const Observation* seen)
{
    const Limits* limits = bank->limits;
    double unit = bank->row[Y_SCALE];
    vec scale = load(bank->scale + k), inverse = 1.0 / scale, mean = load(bank->mean + k);
    vec d = (seen->y - mean) * inverse, v = load(bank->h + k) * inverse * inverse;
    mask shows = less(scale, fill(seen->rounded));
    if (any(shows))     /* then what is given counts: the mixture's weights go by its density */
        d = select(shows, (seen->observed - (bank->row[Y_CENTER] + unit * mean)) / (unit * scale), d);
    store(bank->inverse_scale + k, inverse);
    store(bank->d + k, clamp(d, -limits->largest_distance, limits->largest_distance));
    store(bank->v + k, clamp(v, limits->smallest_signal, 1.0 / limits->smallest_signal));
}

/* Write what the observation says to the filters from k on; those before `first` keep what was said. */
static inline void keep_evidence(Bank* bank, ptrdiff_t k, ptrdiff_t first, EvidenceLanes says)
{
    if (k < first) {
        mask here = equal(load(setting(bank, FAMILY) + k), fill(setting(bank, FAMILY)[first]));
        says.mass = select(here, says.mass, load(bank->mass + k));
        says.log_unit = select(here, says.log_unit, load(bank->log_unit + k));
        says.shift = select(here, says.shift, load(bank->shift + k));
        says.var = select(here, says.var, load(bank->posterior_var + k));
        says.scale_slope = select(here, says.scale_slope, load(bank->scale_slope + k));
        says.epsilon_slope = select(here, says.epsilon_slope, load(bank->epsilon_slope + k));
    }
    store(bank->mass + k, says.mass);
    store(bank->log_unit + k, says.log_unit);
    store(bank->shift + k, says.shift);
    store(bank->posterior_var + k, says.var);
    store(bank->scale_slope + k, says.scale_slope);
    store(bank->epsilon_slope + k, says.epsilon_slope);
}

/* What the observation says to the filters from `first` up to `stop`, whose noise is of one family: of n normals. */
INLINE void weigh_family(Bank* bank, ptrdiff_t first, ptrdiff_t stop, const Normals* normals, const int n)
{
    for (ptrdiff_t k = first / WIDTH * WIDTH; k < stop; k += WIDTH)
        keep_evidence(
            bank, k, first, family_evidence(normals, n, load(bank->d + k), load(bank->v + k), load(bank->epsilon + k)));
}

/* What the observation says to every filter, one family of noise after the other: filters are sorted by it. */
static inline void weigh_evidence(Bank* bank)
{
    const double* family = setting(bank, FAMILY);
    ptrdiff_t first = 0;
    while (first < bank->n_lanes) {
        ptrdiff_t stop = first;
        const Normals* normals = bank->normals + (int)family[first];
        while (stop + LANES < bank->n_lanes && family[stop + LANES] == family[first]) stop += LANES;
        while (stop < bank->n_lanes && family[stop] == family[first]) stop++;
        switch (normals->n) {       /* with the loops unrolled for the numbers that are in use */
        case 0: weigh_family(bank, first, stop, normals, 0); break;
        case 1: weigh_family(bank, first, stop, normals, 1); break;
        case 4: weigh_family(bank, first, stop, normals, 4); break;
        case 5: weigh_family(bank, first, stop, normals, 5); break;
        default: weigh_family(bank, first, stop, normals, normals->n);
        }
        first = stop;
    }
}

/* The slopes over their running root mean square: equation (54). */
static inline vec normalised(vec slope, double* mean_square, double rate)
{
    vec square = load(mean_square);
    square += rate * (slope * slope - square);
    store(mean_square, square);
    return slope / root(square + 1e-12);
}

/* Move what the filters from k on have learned along the evidence's slope, which depends on it by `effect`: (100). */
static inline vec learn(const Bank* bank, double* value, double* prec, vec slope, vec effect, double low, double high)
{
    vec known = load(prec), moved;
    known += effect * effect - bank->constants[PREC_DECAY] * (known - bank->constants[PRIOR_PREC]);
    moved = clamp(load(value) + slope * effect / known, low, high);
    store(prec, known);
    store(value, moved);
    return moved;
}

/* The share of the fast part that is left a step later, and what goes: equation (102). */
static inline vec fast_decay(const Bank* bank, ptrdiff_t k, vec fading_log)
{
    vec fading = (1.0 - load(setting(bank, FAST_DECAY) + k)) * exponential(fading_log);
    return clamp(1.0 - fading, 0.0, bank->constants[LARGEST_FAST_DECAY]);
}

/* Let the fast part of the noise's scale fade, and move by `news` at a rate of `rate`: equations (103) and (104). */
static inline void move_fast(Bank* bank, ptrdiff_t k, vec decay, vec rate, vec news, vec error)
{
    vec fast = load(bank->fast + k), kept = larger(decay - rate, fill(0.0)), moved = rate * news;
    store(bank->fading_log.effect + k, kept * load(bank->fading_log.effect + k) - (1.0 - decay) * fast);
    store(bank->leverage.effect + k, kept * load(bank->leverage.effect + k) + rate * error);
    store(bank->fast_log.effect + k, kept * load(bank->fast_log.effect + k) + moved);
    store(bank->fast + k, decay * fast + moved);
}

/* Let the fast part of the noise's scale follow the slope, and errors of one sign more than of the other; learn how
   much: equations (100)-(104). */
static inline void learn_volatility(Bank* bank, ptrdiff_t k, vec slope)
{
    const double* constants = bank->constants;
    double most = constants[LARGEST_ERROR], leverage = constants[LARGEST_LEVERAGE];
    vec start = load(setting(bank, FAST_RATE) + k), sd = root(load(bank->v + k) + load(bank->noise_var + k));
    if (!any(~equal(start, fill(0.0)))) return;
    vec error = clamp(-load(bank->d + k) / sd, -most, most);                                    /* (101) */
    vec lean = learn(bank, bank->leverage.value + k, bank->leverage.prec + k, slope, load(bank->leverage.effect + k),
        -leverage, leverage);
    vec rate = start * exponential(learn(bank, bank->fast_log.value + k, bank->fast_log.prec + k, slope,
        load(bank->fast_log.effect + k), constants[SMALLEST_FAST_LOG], constants[LARGEST_FAST_LOG]));
    vec fading = learn(bank, bank->fading_log.value + k, bank->fading_log.prec + k, slope,
        load(bank->fading_log.effect + k), constants[SMALLEST_FADING_LOG], constants[LARGEST_FADING_LOG]);
    move_fast(bank, k, fast_decay(bank, k, fading), rate, slope + lean * error, error);
}

/* Move the noise's scale along the evidence: equations (54), (55), (84) and (85). */
static inline void learn_scale(Bank* bank, ptrdiff_t k, const Observation* seen)
{
    vec slope = smaller(load(bank->scale_slope + k), fill(bank->limits->largest_distance)), slow = load(bank->slow + k);
    vec bound = load(setting(bank, LARGEST_SLOPE) + k);
    double steepest = bank->constants[LARGEST_LEVEL_SLOPE];
    slope = normalised(slope, bank->scale_slope_sq + k, seen->slope_rate);
    slope = smaller(larger(slope, -bound), bound);
    if (seen->repeats) slope = larger(slope, fill(0.0));                                        /* (84) */
    slow += larger(load(setting(bank, SLOW_RATE) + k), fill(seen->slow_rate)) * slope;          /* (55) */
    store(bank->slow + k, clamp(slow, seen->least_log, bank->limits->largest_log_scale));
    learn_volatility(bank, k, slope);
    learn(bank, bank->level_slope + k, bank->level_prec + k, slope, load(bank->level + k), -steepest, steepest);
}

/* Move the shape of insensitive noise along the evidence: equations (54) and (56). */
static inline void learn_epsilon(Bank* bank, ptrdiff_t k, const Observation* seen)
{
    const double* constants = bank->constants;
    mask shaped = equal(load(setting(bank, NOISE_VAR) + k), fill(0.0));
    if (!any(shaped)) return;
    vec epsilon = load(bank->epsilon + k), square = load(bank->epsilon_slope_sq + k), slope = load(bank->epsilon_slope + k);
    double bound = constants[LARGEST_EPSILON_SLOPE];
    slope = clamp(normalised(slope, bank->epsilon_slope_sq + k, seen->slope_rate), -bound, bound);
    store(bank->epsilon_slope_sq + k, select(shaped, load(bank->epsilon_slope_sq + k), square));
    vec moved = epsilon * exponential(constants[EPSILON_RATE] * slope);                         /* (56) */
    moved = clamp(moved, constants[SMALLEST_EPSILON], constants[LARGEST_EPSILON]);
    store(bank->epsilon + k, select(shaped, moved, epsilon));
}

/* Let a block of filters of `size` weights learn; it gets the posterior mean and variance of z'w: equations (28), (45)
   and (46). */
INLINE void learn_block(Bank* bank, ptrdiff_t block, const ptrdiff_t size)
{
    const Limits* limits = bank->limits;
    double* S = bank->S + block * bank->n_packed * LANES;
    double* m = bank->m + block * size * LANES;
    const double* p = bank->p + block * size * LANES;
    const double* z = bank->z;
    double most = limits->largest_weight, rounding = (double)(size + 4) * limits->rounding;
    vec growth[PARTS], factor[PARTS];
    for (int part = 0; part < PARTS; part++) {
        ptrdiff_t lane = part * WIDTH, k = block * LANES + lane;
        vec scale = load(bank->scale + k), h = load(bank->h + k);
        mask moves = less(fill(limits->smallest_signal), h);
        vec inverse_h = zero_unless(moves, 1.0 / h);
        vec step = clamp(load(bank->shift + k) * scale * inverse_h, -limits->largest, limits->largest);
        vec shrink = larger(1.0 - load(bank->posterior_var + k) * (scale * scale * inverse_h), fill(0.0));
        vec reach = let_drift(bank, k, size);
        for (ptrdiff_t i = 0; i < size; i++) {
            double* weight = m + i * LANES + lane;
            store(weight, clamp(load(weight) - step * load(p + i * LANES + lane), -most, most));        /* (45) */
        }
        growth[part] = 1.0 + zero_unless(moves, rounding * (1.0 + reach * root(inverse_h)));    /* (28) */
        vec floor = rounding * reach * reach;
        if (any(less(fill(1.0), floor * inverse_h))) inverse_h = smaller(inverse_h, 1.0 / floor);
        factor[part] = shrink * inverse_h;
    }
    subtract_outer(size, growth, factor, p, S);                                                 /* (46) */
}

/* Let every filter learn from y, in standard units; `observed` is the same in the user's. nan lets time pass. */
static void absorb_filters(Bank* bank, double y, double observed)
{
    Observation seen = describe(bank, y, observed);
    ptrdiff_t n_blocks = bank->n_lanes / LANES;
    if (isnan(y)) {
        for (ptrdiff_t k = 0; k < bank->n_lanes; k += WIDTH) {
            let_drift(bank, k, bank->size);
            move_fast(bank, k, fast_decay(bank, k, load(bank->fading_log.value + k)), fill(0.0), fill(0.0), fill(0.0));
        }
        return;
    }
    for (ptrdiff_t k = 0; k < bank->n_lanes; k += WIDTH) measure(bank, k, &seen);
    weigh_evidence(bank);
    for (ptrdiff_t k = 0; k < bank->n_lanes; k += WIDTH) learn_scale(bank, k, &seen);
    for (ptrdiff_t k = 0; k < bank->n_lanes; k += WIDTH) learn_epsilon(bank, k, &seen);
    if (bank->size == 2)        /* with the loops unrolled */
        for (ptrdiff_t block = n_blocks - 1; block >= 0; block--) learn_block(bank, block, 2);
    else        /* the last block first: it is the one that the cache still holds */
        for (ptrdiff_t block = n_blocks - 1; block >= 0; block--) learn_block(bank, block, bank->size);
}

#endif
