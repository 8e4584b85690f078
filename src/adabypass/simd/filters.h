/* The filters of a bank: each forecasts and learns by itself, in standard units: equations (49)-(56). */

#ifndef ADABYPASS_FILTERS_H
#define ADABYPASS_FILTERS_H

#include "bank.h"
#include "noise.h"

static inline const double* setting(const Bank* bank, int which) { return bank->settings + which * bank->n_lanes; }

/* p = S @ z, for a block of filters: two rows of the triangle at a time, so that p is read and written half as often */
static inline void product(ptrdiff_t size, const double* restrict S, const double* restrict z, double* restrict p)
{
    ptrdiff_t i = 0;
    for (; i + 1 < size; i += 2) {
        const double* below = S + (i + 1) * LANES;
        vec total[PARTS], next[PARTS], z_i = fill(z[i]), z_next = fill(z[i + 1]);
        for (int part = 0; part < PARTS; part++) total[part] = next[part] = fill(0.0);
        for (ptrdiff_t j = 0; j < i; j++) {
            vec z_j = fill(z[j]);
            for (int part = 0; part < PARTS; part++) {
                ptrdiff_t at = j * LANES + part * WIDTH;
                vec element = load(S + at), other = load(below + at);
                total[part] += element * z_j;
                next[part] += other * z_j;
                store(p + at, load(p + at) + (element * z_i + other * z_next));
            }
        }
        for (int part = 0; part < PARTS; part++) {
            ptrdiff_t at = i * LANES + part * WIDTH;
            vec cross = load(below + at);
            store(p + at, total[part] + load(S + at) * z_i + cross * z_next);
            store(p + at + LANES, next[part] + cross * z_i + load(below + at + LANES) * z_next);
        }
        S = below + (i + 2) * LANES;
    }
    if (i == size) return;
    for (int part = 0; part < PARTS; part++) {
        vec total = load(S + i * LANES + part * WIDTH) * z[i];
        for (ptrdiff_t j = 0; j < i; j++) {
            ptrdiff_t at = j * LANES + part * WIDTH;
            vec element = load(S + at);
            total += element * z[j];
            store(p + at, load(p + at) + element * z[i]);
        }
        store(p + i * LANES + part * WIDTH, total);
    }
}

/* S -= factor * outer(p, p), for a block of filters; `factor` is of each filter. Two rows at a time, as above. */
static inline void subtract_outer(ptrdiff_t size, const vec* factor, const double* restrict p, double* restrict S)
{
    ptrdiff_t i = 0;
    for (; i + 1 < size; i += 2) {
        double* below = S + (i + 1) * LANES;
        vec scaled[PARTS], next[PARTS];
        for (int part = 0; part < PARTS; part++) {
            scaled[part] = factor[part] * load(p + i * LANES + part * WIDTH);
            next[part] = factor[part] * load(p + (i + 1) * LANES + part * WIDTH);
        }
        for (ptrdiff_t j = 0; j <= i; j++)
            for (int part = 0; part < PARTS; part++) {
                ptrdiff_t at = j * LANES + part * WIDTH;
                vec along = load(p + at);
                store(S + at, load(S + at) - scaled[part] * along);
                store(below + at, load(below + at) - next[part] * along);
            }
        for (int part = 0; part < PARTS; part++) {
            ptrdiff_t at = (i + 1) * LANES + part * WIDTH;
            store(below + at, load(below + at) - next[part] * load(p + at));
        }
        S = below + (i + 2) * LANES;
    }
    if (i == size) return;
    for (int part = 0; part < PARTS; part++) {
        vec scaled = factor[part] * load(p + i * LANES + part * WIDTH);
        for (ptrdiff_t j = 0; j <= i; j++) {
            ptrdiff_t at = j * LANES + part * WIDTH;
            store(S + at, load(S + at) - scaled * load(p + at));
        }
    }
}

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

/* p += Q @ z, h = z @ p and mean = z @ m, for the filters from k on. */
static inline void forecast_part(Bank* bank, ptrdiff_t k, double least)
{
    ptrdiff_t size = bank->size, at = k / LANES * size * LANES + k % LANES;
    double* p = bank->p + at;
    const double* m = bank->m + at;
    const double* z = bank->z;
    const double* slope = bank->anchored_slope;
    vec h = fill(0.0), mean = fill(0.0), fast = load(bank->fast + k), scale = exponential(load(bank->slow + k));
    vec q = load(setting(bank, DRIFT_VAR) + k) * (scale * scale);                               /* (52) */
    vec anchored = q * load(setting(bank, ANCHORED) + k), fixed = q - anchored;
    if (any(~equal(fast, fill(0.0)))) scale *= exponential(fast);
    store(bank->scale + k, larger(scale, fill(least)));                                         /* (85) */
    store(bank->drift_var + k, q);
    for (ptrdiff_t i = 0; i < size; i++, p += LANES, m += LANES) {
        vec along = load(p) + (anchored * slope[i] + fixed * z[i]);                             /* (53) */
        store(p, along);
        h += z[i] * along;
        mean += z[i] * load(m);
    }
    store(bank->h + k, larger(h, fill(0.0)));
    store(bank->mean + k, mean);
    store(bank->noise_var + k, noise_var(bank, k));
}

/* For every filter p = P @ z, h = z @ p and mean = z @ m. */
static void forecast_filters(Bank* bank)
{
    double least = least_scale(bank), unit = bank->row[Y_SCALE];
    find_anchor(bank);
    for (ptrdiff_t block = 0; block < bank->n_lanes / LANES; block++)
        product(bank->size, bank->S + block * bank->n_packed * LANES, bank->z, bank->p + block * bank->size * LANES);
    for (ptrdiff_t k = 0; k < bank->n_lanes; k += WIDTH) forecast_part(bank, k, least);
    if (bank->extra != NULL)
        for (ptrdiff_t k = 0; k < bank->n_filters; k++) {                                       /* (66) */
            double extra = bank->extra[k] / unit / unit;
            bank->h[k] += extra < bank->limits->largest_distance ? extra : bank->limits->largest_distance;
        }
}

/* S += Q, for the filters from k on: equation (53). */
static inline void let_drift(Bank* bank, ptrdiff_t k)
{
    double* row = bank->S + k / LANES * bank->n_packed * LANES + k % LANES;     /* of the triangle */
    const double* diagonal = bank->anchored_diagonal;
    const double* cross = bank->anchored_cross;
    vec q = load(bank->drift_var + k), anchored = q * load(setting(bank, ANCHORED) + k), fixed = q - anchored;
    for (ptrdiff_t i = 0; i < bank->size; i++) {
        double* last = row + i * LANES;
        if (bank->intercept) store(row, load(row) - anchored * cross[i]);
        store(last, load(last) + (fixed + anchored * diagonal[i]));
        row = last + LANES;
    }
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
    store(bank->d + k, clamp(d, -limits->largest_distance, limits->largest_distance));
    store(bank->v + k, clamp(v, limits->smallest_signal, 1.0 / limits->smallest_signal));
}

/* Write what `count` vectors of evidence say to the filters from k on; those before `first` keep what was said. */
static inline void keep_evidence(Bank* bank, ptrdiff_t k, int count, ptrdiff_t first, EvidenceLanes* says)
{
    if (k < first) {
        mask here = equal(load(setting(bank, FAMILY) + k), fill(setting(bank, FAMILY)[first]));
        says->log_density = select(here, says->log_density, load(bank->log_density + k));
        says->shift = select(here, says->shift, load(bank->shift + k));
        says->var = select(here, says->var, load(bank->posterior_var + k));
        says->scale_slope = select(here, says->scale_slope, load(bank->scale_slope + k));
        says->epsilon_slope = select(here, says->epsilon_slope, load(bank->epsilon_slope + k));
    }
    for (int c = 0; c < count; c++, k += WIDTH) {
        store(bank->log_density + k, says[c].log_density);
        store(bank->shift + k, says[c].shift);
        store(bank->posterior_var + k, says[c].var);
        store(bank->scale_slope + k, says[c].scale_slope);
        store(bank->epsilon_slope + k, says[c].epsilon_slope);
    }
}

/* What the observation says to every filter, one family of noise after the other: filters are sorted by it. */
static inline void weigh_evidence(Bank* bank)
{
    const double* family = setting(bank, FAMILY);
    EvidenceLanes says[CHUNK];
    ptrdiff_t first = 0;
    while (first < bank->n_lanes) {
        ptrdiff_t stop = first, k = first / WIDTH * WIDTH;
        const Normals* normals = bank->normals + (int)family[first];
        while (stop < bank->n_lanes && family[stop] == family[first]) stop++;
        while (k < stop) {
            ptrdiff_t left = (stop - k + WIDTH - 1) / WIDTH;
            int count = left < CHUNK ? (int)left : CHUNK;
            family_evidence(normals, count, bank->d + k, bank->v + k, bank->epsilon + k, says);
            keep_evidence(bank, k, count, first, says);
            k += count * WIDTH;
        }
        first = stop;
    }
}

/* The slopes over their running root mean square, within bounds: equation (54). */
static inline vec normalised(vec slope, double* mean_square, double rate, double bound)
{
    vec square = load(mean_square);
    square += rate * (slope * slope - square);
    store(mean_square, square);
    return clamp(slope / root(square + 1e-12), -bound, bound);
}

/* Move the noise's scale and shape along the evidence: equations (54)-(56), (84) and (85). */
static inline void learn_noise(Bank* bank, ptrdiff_t k, const Observation* seen, vec scale_slope, vec epsilon_slope)
{
    const double* constants = bank->constants;
    double rate = seen->slope_rate, bound = constants[LARGEST_SLOPE];
    vec slope = smaller(scale_slope, fill(bank->limits->largest_distance)), slow = load(bank->slow + k);
    slope = normalised(slope, bank->scale_slope_sq + k, rate, bound);
    if (seen->repeats) slope = larger(slope, fill(0.0));                                        /* (84) */
    slow += larger(load(setting(bank, SLOW_RATE) + k), fill(seen->slow_rate)) * slope;          /* (55) */
    store(bank->slow + k, clamp(slow, seen->least_log, bank->limits->largest_log_scale));
    vec fast = load(setting(bank, FAST_DECAY) + k) * load(bank->fast + k);
    store(bank->fast + k, fast + load(setting(bank, FAST_RATE) + k) * slope);
    mask shaped = equal(load(setting(bank, NOISE_VAR) + k), fill(0.0));
    if (!any(shaped)) return;
    vec epsilon = load(bank->epsilon + k), square = load(bank->epsilon_slope_sq + k);
    slope = normalised(epsilon_slope, bank->epsilon_slope_sq + k, rate, bound);
    store(bank->epsilon_slope_sq + k, select(shaped, load(bank->epsilon_slope_sq + k), square));
    vec moved = epsilon * exponential(constants[EPSILON_RATE] * slope);                         /* (56) */
    moved = clamp(moved, constants[SMALLEST_EPSILON], constants[LARGEST_EPSILON]);
    store(bank->epsilon + k, select(shaped, moved, epsilon));
}

/* Let the filters from k on learn of their noise; write what their weights will move by. */
static inline void absorb_part(Bank* bank, ptrdiff_t k, const Observation* seen)
{
    const Limits* limits = bank->limits;
    vec scale = load(bank->scale + k), h = load(bank->h + k), inverse_h = 1.0 / h;
    mask moves = less(fill(limits->smallest_signal), h);
    vec scale_log = larger(load(bank->slow + k) + load(bank->fast + k), fill(seen->least_log));
    vec step = clamp(load(bank->shift + k) * scale * inverse_h, -limits->largest, limits->largest);
    vec shrink = larger(1.0 - load(bank->posterior_var + k) * (scale * scale * inverse_h), fill(0.0));
    store(bank->log_density + k, load(bank->log_density + k) - scale_log);
    store(bank->step + k, zero_unless(moves, step));                                            /* (45) */
    store(bank->shrink + k, zero_unless(moves, shrink));                                        /* (46) */
    store(bank->inverse_h + k, zero_unless(moves, inverse_h));
    learn_noise(bank, k, seen, load(bank->scale_slope + k), load(bank->epsilon_slope + k));
}

/* Give the weights of a block the posterior mean and variance of z'w: equations (28), (45) and (46). */
static inline void move_block(Bank* bank, ptrdiff_t block)
{
    ptrdiff_t size = bank->size;
    double* S = bank->S + block * bank->n_packed * LANES;
    const double* p = bank->p + block * size * LANES;
    const double* z = bank->z;
    double* m = bank->m + block * size * LANES;
    double most = bank->limits->largest_weight, rounding = (double)(size + 4) * bank->limits->rounding;
    vec factor[PARTS];
    for (int part = 0; part < PARTS; part++) {
        ptrdiff_t lane = part * WIDTH, k = block * LANES + lane;
        vec inverse_h = load(bank->inverse_h + k), step = load(bank->step + k), reach = fill(0.0);
        mask moves = less(fill(0.0), inverse_h);
        double* diagonal = S + lane;
        for (ptrdiff_t i = 0; i < size; diagonal += (i + 2) * LANES, i++)
            reach += root(larger(load(diagonal), fill(0.0))) * fabs(z[i]);
        vec growth = 1.0 + zero_unless(moves, rounding * (1.0 + reach * root(inverse_h)));
        diagonal = S + lane;
        for (ptrdiff_t i = 0; i < size; diagonal += (i + 2) * LANES, i++) {
            double* weight = m + i * LANES + lane;
            store(diagonal, load(diagonal) * growth);                                           /* (28) */
            store(weight, clamp(load(weight) - step * load(p + i * LANES + lane), -most, most));        /* (45) */
        }
        vec floor = rounding * reach * reach;
        if (any(less(fill(1.0), floor * inverse_h))) inverse_h = smaller(inverse_h, 1.0 / floor);
        factor[part] = load(bank->shrink + k) * inverse_h;
    }
    subtract_outer(size, factor, p, S);                                                         /* (46) */
}

/* Let every filter learn from y, in standard units; `observed` is the same in the user's. nan lets time pass. */
static void absorb_filters(Bank* bank, double y, double observed)
{
    Observation seen = describe(bank, y, observed);
    for (ptrdiff_t k = 0; k < bank->n_lanes; k += WIDTH) let_drift(bank, k);
    if (isnan(y)) {
        for (ptrdiff_t k = 0; k < bank->n_lanes; k += WIDTH)
            store(bank->fast + k, load(bank->fast + k) * load(setting(bank, FAST_DECAY) + k));
        return;
    }
    for (ptrdiff_t k = 0; k < bank->n_lanes; k += WIDTH) measure(bank, k, &seen);
    weigh_evidence(bank);
    for (ptrdiff_t k = 0; k < bank->n_lanes; k += WIDTH) absorb_part(bank, k, &seen);
    for (ptrdiff_t block = 0; block < bank->n_lanes / LANES; block++) move_block(bank, block);
}

#endif
