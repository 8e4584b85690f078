/* The filters of a bank: each forecasts and learns by itself, in standard units: equations (49)-(56). */

#ifndef ADABYPASS_FILTERS_H
#define ADABYPASS_FILTERS_H

#include "blocks.h"
#include "diagonal_blocks.h"
#include "differences.h"
#include "filter_noise.h"

/* The slow part of the noise's scale of the filters from k on, and the variance of their weights' drift. */
static inline void find_drift(Bank* bank, ptrdiff_t k)
{
    vec scale = exponential(load(bank->slow + k)), q = load(setting(bank, DRIFT_VAR) + k);
    mask jumps = at_most(fill(bank->constants[MAX_STRIKES]), load(bank->strikes + k));
    if (any(jumps)) q += zero_unless(jumps, load(setting(bank, JUMP_VAR) + k));                 /* (116) */
    store(bank->scale + k, scale);
    store(bank->drift_var + k, q * (scale * scale));                                            /* (52) */
}

/* p = P @ z, h = z @ p and mean = z @ m, for a block of filters of `size` weights. */
INLINE void forecast_block(Bank* bank, ptrdiff_t block, const ptrdiff_t size, const int is_diagonal)
{
    double* p = bank->p + block * size * LANES;
    const double* m = bank->m + block * size * LANES;
    const double* z = bank->z;
    const double* slope = bank->anchored_slope;
    const double* moved_slope = bank->moved_slope;
    if (is_diagonal)
        product_diagonal(size, bank->S + block * size * LANES, z, p);
    else
        product(size, bank->S + block * bank->n_packed * LANES, z, p);
    for (int part = 0; part < PARTS; part++) {
        ptrdiff_t lane = part * WIDTH, k = block * LANES + lane;
        vec h = fill(0.0), mean = fill(0.0), q = load(bank->drift_var + k);
        vec anchored = q * load(setting(bank, ANCHORED) + k), newest = q * load(setting(bank, DIFFERENCED) + k);
        vec fixed = q - anchored - newest;
        for (ptrdiff_t i = 0; i < size; i++) {
            double* along = p + i * LANES + lane;
            vec moved = load(along) + (anchored * slope[i] + fixed * z[i] + newest * moved_slope[i]);  /* (53), (120) */
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
    double season = has_season(bank) ? *season_log(bank) : 0.0;
    ptrdiff_t n_blocks = bank->n_lanes / LANES;
    find_anchors(bank);
    for (ptrdiff_t k = 0; k < bank->n_lanes; k += WIDTH) find_drift(bank, k);
    if (bank->is_diagonal)
        for (ptrdiff_t block = 0; block < n_blocks; block++) forecast_block(bank, block, bank->size, 1);
    else if (bank->size == 2)   /* with the loops unrolled */
        for (ptrdiff_t block = 0; block < n_blocks; block++) forecast_block(bank, block, 2, 0);
    else
        for (ptrdiff_t block = 0; block < n_blocks; block++) forecast_block(bank, block, bank->size, 0);
    for (ptrdiff_t k = 0; k < bank->n_lanes; k += WIDTH) find_noise(bank, k, least, center, inverse_sd, season);
    double flexible = flexible_var(bank->flexible, bank->normal_share);
    for (ptrdiff_t k = 0; k < bank->n_flexible; k++) bank->noise_var[k] = flexible;
    if (bank->extra != NULL)
        for (ptrdiff_t k = 0; k < bank->n_filters; k++) {                                       /* (66) */
            double extra = bank->extra[k] / unit / unit;
            bank->h[k] += extra < bank->limits->largest_distance ? extra : bank->limits->largest_distance;
        }
}

/* P = S + Q, in place of S, for the filters from k on: equations (53) and (120). Return the sum of √P_ii |z_i|. */
INLINE vec let_drift(Bank* bank, ptrdiff_t k, const ptrdiff_t size)
{
    double* row = bank->S + k / LANES * bank->n_packed * LANES + k % LANES;     /* of the triangle */
    const double* diagonal = bank->anchored_diagonal;
    const double* cross = bank->anchored_cross;
    const double* moved_diagonal = bank->moved_diagonal;
    const double* moved_cross = bank->moved_cross;
    vec q = load(bank->drift_var + k), anchored = q * load(setting(bank, ANCHORED) + k);
    vec newest = q * load(setting(bank, DIFFERENCED) + k), fixed = q - anchored - newest;
    vec var = load(row) + (fixed + anchored * diagonal[0] + newest * moved_diagonal[0]), reach = root(larger(var, fill(0.0))) * fabs(bank->z[0]);
    store(row, var);
    fixed *= load(setting(bank, SLOPES_DRIFT) + k);
    for (ptrdiff_t i = 1; i < size; i++) {
        row += i * LANES;
        if (bank->intercept) store(row, load(row) - (anchored * cross[i] + newest * moved_cross[i]));
        var = load(row + i * LANES) + (fixed + anchored * diagonal[i] + newest * moved_diagonal[i]);
        store(row + i * LANES, var);
        reach += root(larger(var, fill(0.0))) * fabs(bank->z[i]);
    }
    return reach;
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

/* Lanes of the blocks that have filters of flexible noise. */
static inline ptrdiff_t n_flexible_lanes(const Bank* bank) { return (bank->n_flexible + LANES - 1) / LANES * LANES; }

/* What the observation says to the filters of flexible noise, and which normal of theirs it came from. */
static inline void weigh_flexible(Bank* bank)
{
    const double* share = bank->normal_share;
    double mean = flexible_mean(bank->flexible->center, share);
    ptrdiff_t n_lanes = n_flexible_lanes(bank);
    for (ptrdiff_t k = 0; k < n_lanes; k += WIDTH) {
        vec weight[MOST_FLEXIBLE];
        keep_evidence(bank, k, k,
            evidence_of_flexible(bank->flexible, share, mean, load(bank->d + k), load(bank->v + k), weight));
        for (int j = 0; j < MOST_FLEXIBLE; j++) store(bank->responsibility + j * n_lanes + k, weight[j]);
    }
}

/* What the observation says to every filter, one family of noise after the other: filters are sorted by it. */
static inline void weigh_evidence(Bank* bank)
{
    const double* family = setting(bank, FAMILY);
    ptrdiff_t first = bank->n_flexible;
    weigh_flexible(bank);
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
    vec growth[PARTS], factor[PARTS], reaches[PARTS];
    for (int part = 0; part < PARTS; part++) {
        ptrdiff_t lane = part * WIDTH, k = block * LANES + lane;
        vec scale = load(bank->scale + k), h = load(bank->h + k);
        mask moves = less(fill(limits->smallest_signal), h);
        vec inverse_h = zero_unless(moves, 1.0 / h);
        vec step = clamp(load(bank->shift + k) * scale * inverse_h, -limits->largest, limits->largest);
        vec shrink = larger(1.0 - load(bank->posterior_var + k) * (scale * scale * inverse_h), fill(0.0));
        vec reach = reaches[part] = let_drift(bank, k, size);
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
    for (int part = 0; part < PARTS; part++)
        if (any_differenced(bank, block * LANES + part * WIDTH))
            explain_newest(bank, block * LANES + part * WIDTH, size, factor[part], rounding * reaches[part] * reaches[part]);
}

/* Count how many times in a row the filters from k on were far off: equation (115). */
static inline void count_strikes(Bank* bank, ptrdiff_t k)
{
    double far = bank->constants[JUMP_DISTANCE];
    vec d = load(bank->d + k), var = load(bank->v + k) + load(bank->noise_var + k);
    mask strikes = less(far * far * var, d * d);
    store(bank->strikes + k, zero_unless(strikes, load(bank->strikes + k) + 1.0));
}

/* Let every filter learn from y, in standard units; `observed` is the same in the user's. nan lets time pass. */
static void absorb_filters(Bank* bank, double y, double observed)
{
    Observation seen = describe(bank, y, observed);
    ptrdiff_t n_blocks = bank->n_lanes / LANES;
    if (isnan(y)) {
        for (ptrdiff_t k = 0; k < bank->n_lanes; k += WIDTH) {
            if (bank->is_diagonal)
                let_drift_diagonal(bank, k);
            else
                let_drift(bank, k, bank->size);
            if (any_differenced(bank, k)) pass_newest(bank, k);
            store(bank->strikes + k, fill(0.0));
            move_fast(bank, k, fast_decay(bank, k, kept_fading_log(bank, k)), fill(0.0), fill(0.0), fill(0.0));
        }
        return;
    }
    for (ptrdiff_t k = 0; k < bank->n_lanes; k += WIDTH) measure(bank, k, &seen);
    weigh_evidence(bank);
    for (ptrdiff_t k = 0; k < bank->n_lanes; k += WIDTH) count_strikes(bank, k);
    for (ptrdiff_t k = 0; k < bank->n_lanes; k += WIDTH) learn_scale(bank, k, &seen);
    if (has_season(bank)) learn_season(bank);
    for (ptrdiff_t k = 0; k < bank->n_lanes; k += WIDTH) learn_epsilon(bank, k, &seen);
    if (bank->is_diagonal)
        for (ptrdiff_t block = n_blocks - 1; block >= 0; block--) learn_diagonal_block(bank, block);
    else if (bank->size == 2)   /* with the loops unrolled */
        for (ptrdiff_t block = n_blocks - 1; block >= 0; block--) learn_block(bank, block, 2);
    else        /* the last block first: it is the one that the cache still holds */
        for (ptrdiff_t block = n_blocks - 1; block >= 0; block--) learn_block(bank, block, bank->size);
}

#endif
