/* The random walks that a bank's weights follow. The filters of a walk, which differ in their noise alone, share its
   weights: equations (G.11), (G.12) and (H.7)-(H.20). */

#ifndef ADABYPASS_WALKS_H
#define ADABYPASS_WALKS_H

#include "differences.h"
#include "filter_noise.h"
#include "walk_covariances.h"

/* Shares of the walks from `lane` on in the mixture, and the variance of their drift. */
static inline void find_drift(Bank* bank, ptrdiff_t lane)
{
    vec share = fill(0.0), slow = fill(0.0), q = load(setting(bank, DRIFT_VAR) + lane);
    mask jumps = at_most(fill(bank->constants[MAX_CONSECUTIVE_OUTLIERS]), load(bank->walk_consecutive_outliers + lane));
    for (ptrdiff_t k = lane; k < bank->n_filters; k += LANES) {
        vec own = load(bank->filter_share + k);
        share += own;
        slow += own * load(bank->filter_slow + k);
    }
    share = larger(share, fill(MIN_SHARE));
    if (any(jumps)) q += zero_unless(jumps, load(setting(bank, JUMP_VAR) + lane));              /* (H.10) */
    store(bank->walk_share + lane, share);
    store(bank->drift_var + lane, q * exponential(2.0 * (slow / share)));                       /* (H.7) */
}

/* p = P @ z, h = z @ p and mean = z @ m, for walks of `size` weights, once p is S @ z. */
INLINE void project_walks_of(Bank* bank, const ptrdiff_t size)
{
    double* p = bank->p;
    const double* m = bank->walk_mean;
    const double* z = bank->z;
    const double* slope = bank->anchored_slope;
    const double* moved_slope = bank->moved_slope;
    for (ptrdiff_t lane = 0; lane < LANES; lane += WIDTH) {
        vec h = fill(0.0), mean = fill(0.0), q = load(bank->drift_var + lane);
        vec anchored = q * load(setting(bank, ANCHORED) + lane), newest = q * load(setting(bank, DIFFERENCED) + lane);
        vec fixed = q - anchored - newest;
        for (ptrdiff_t i = 0; i < size; i++) {
            double* along = p + i * LANES + lane;
            /* (H.8), (H.18) */
            vec moved = load(along) + (anchored * slope[i] + fixed * z[i] + newest * moved_slope[i]);
            store(along, moved);
            h += z[i] * moved;
            mean += z[i] * load(m + i * LANES + lane);
            if (i == 0) fixed *= load(setting(bank, SLOPES_DRIFT) + lane);
        }
        store(bank->h + lane, larger(h, fill(0.0)));
        store(bank->mean + lane, mean);
    }
}

/* The shares and the drift of all walks. */
static void find_drifts(Bank* bank)
{
    for (ptrdiff_t lane = 0; lane < LANES; lane += WIDTH) find_drift(bank, lane);
}

/* P = S + Q, in place of S, for the walks from `lane` on: equations (H.8) and (H.18). Return the sum of √P_ii |z_i|. */
INLINE vec let_drift(Bank* bank, ptrdiff_t lane, const ptrdiff_t size)
{
    double* row = bank->walk_cov + lane;       /* of the triangle */
    const double* diagonal = bank->anchored_diagonal;
    const double* cross = bank->anchored_cross;
    const double* moved_diagonal = bank->moved_diagonal;
    const double* moved_cross = bank->moved_cross;
    vec q = load(bank->drift_var + lane), anchored = q * load(setting(bank, ANCHORED) + lane);
    vec newest = q * load(setting(bank, DIFFERENCED) + lane), fixed = q - anchored - newest;
    vec var = load(row) + (fixed + anchored * diagonal[0] + newest * moved_diagonal[0]);
    vec reach = root(larger(var, fill(0.0))) * fabs(bank->z[0]);
    store(row, var);
    fixed *= load(setting(bank, SLOPES_DRIFT) + lane);
    for (ptrdiff_t i = 1; i < size; i++) {
        row += i * LANES;
        if (bank->intercept) store(row, load(row) - (anchored * cross[i] + newest * moved_cross[i]));
        var = load(row + i * LANES) + (fixed + anchored * diagonal[i] + newest * moved_diagonal[i]);
        store(row + i * LANES, var);
        reach += root(larger(var, fill(0.0))) * fabs(bank->z[i]);
    }
    return reach;
}

/* Count how many times in a row the walks from `lane` on were far off, beside the narrowest noise of their filters, as an
   observation that is far off makes wide noise likely: equation (H.9). */
static inline void count_outliers(Bank* bank, ptrdiff_t lane, double y)
{
    double far = bank->constants[JUMP_DISTANCE];
    vec error = y - load(bank->mean + lane), noise = fill(bank->limits->max_value);
    for (ptrdiff_t k = lane; k < bank->n_filters; k += LANES) {
        vec scale = load(bank->scale + k);
        noise = smaller(noise, scale * scale * load(bank->noise_var + k));
    }
    vec var = load(bank->h + lane) + noise;
    mask is_outlier = less(far * far * var, error * error);
    store(bank->walk_consecutive_outliers + lane, zero_unless(is_outlier,
        load(bank->walk_consecutive_outliers + lane) + 1.0));
}

/* What the observation says of z @ w in the walks from `lane` on: mean and variance over their filters, which are weighed
   by how well they foresaw it: equations (H.11)-(H.13). Densities are in place of `mass`. */
static inline void match_moments(Bank* bank, ptrdiff_t lane)
{
    vec total = fill(0.0), move = fill(0.0), left = fill(0.0), h = load(bank->h + lane);
    for (ptrdiff_t k = lane; k < bank->n_filters; k += LANES) {
        vec own = load(bank->filter_share + k) * (load(bank->mass + k) + MIN_DENSITY);            /* (H.11) */
        store(bank->term + k, own);
        total += own;
        move -= own * (load(bank->shift + k) * load(bank->scale + k));
    }
    mask is_known = less(fill(0.0), total);
    vec inverse = zero_unless(is_known, 1.0 / total);
    move *= inverse;                                                                            /* (H.12) */
    for (ptrdiff_t k = lane; k < bank->n_filters; k += LANES) {
        vec scale = load(bank->scale + k), apart = load(bank->shift + k) * scale + move;
        left += load(bank->term + k) * (load(bank->posterior_var + k) * (scale * scale) + apart * apart);
    }
    store(bank->move + lane, move);
    store(bank->left + lane, smaller(select(is_known, left * inverse, h), h));                  /* (H.13) */
}

/* Let walks of `size` weights learn; they get the posterior mean and variance of z @ w: (C.31), (G.11) and (G.12). */
INLINE void learn_walks_of(Bank* bank, const ptrdiff_t size, double y)
{
    const Limits* limits = bank->limits;
    const double* p = bank->p;
    double most = limits->max_weight, rounding = (double)(size + 4) * limits->rounding;
    vec growth[PARTS], factor[PARTS], reaches[PARTS];
    for (int part = 0; part < PARTS; part++) {
        ptrdiff_t lane = part * WIDTH;
        vec h = load(bank->h + lane);
        mask moves = less(fill(limits->min_signal), h);
        vec inverse_h = zero_unless(moves, 1.0 / h);
        vec step = clamp(load(bank->move + lane) * inverse_h, -limits->max_value, limits->max_value);
        vec shrink = larger(1.0 - load(bank->left + lane) * inverse_h, fill(0.0));
        vec reach = reaches[part] = let_drift(bank, lane, size);
        for (ptrdiff_t i = 0; i < size; i++) {
            double* weight = bank->walk_mean + i * LANES + lane;
            store(weight, clamp(load(weight) + step * load(p + i * LANES + lane), -most, most));        /* (G.11) */
        }
        growth[part] = 1.0 + zero_unless(moves, rounding * (1.0 + reach * root(inverse_h)));    /* (C.31) */
        vec floor = rounding * reach * reach;
        if (any(less(fill(1.0), floor * inverse_h))) inverse_h = smaller(inverse_h, 1.0 / floor);
        factor[part] = shrink * inverse_h;
    }
    subtract_outer(size, growth, factor, p, bank->walk_cov);                                           /* (G.12) */
    for (int part = 0; part < PARTS; part++)
        if (any_differenced(bank, part * WIDTH))
            explain_newest(bank, part * WIDTH, size, y, factor[part], rounding * reaches[part] * reaches[part]);
}

/* What is done with the covariances of all walks, which are kept in full or as their diagonals. */
typedef struct {
    void (*project)(Bank* bank);                        /* p = P @ z, h = z @ p and mean = z @ m */
    void (*drift)(Bank* bank, ptrdiff_t lane);          /* P = S + Q, in place of S, for the walks from `lane` on */
    void (*learn)(Bank* bank, double y);                /* from moments that `match_moments` has found */
} WalkCovariance;

INLINE void project_full_of(Bank* bank, const ptrdiff_t size)
{
    product(size, bank->walk_cov, bank->z, bank->p);
    project_walks_of(bank, size);
}

/* With the loops unrolled for two weights. */
static void project_full(Bank* bank)
{
    if (bank->n_weights == 2)
        project_full_of(bank, 2);
    else
        project_full_of(bank, bank->n_weights);
}

static void drift_full(Bank* bank, ptrdiff_t lane) { let_drift(bank, lane, bank->n_weights); }

static void learn_full(Bank* bank, double y)
{
    if (bank->n_weights == 2)
        learn_walks_of(bank, 2, y);
    else
        learn_walks_of(bank, bank->n_weights, y);
}

static void project_diagonal(Bank* bank)
{
    product_diagonal(bank->n_weights, bank->walk_cov, bank->z, bank->p);
    project_walks_of(bank, bank->n_weights);
}

static void drift_diagonal(Bank* bank, ptrdiff_t lane) { let_drift_diagonal(bank, lane); }

static void learn_diagonal(Bank* bank, double y)
{
    (void)y;
    learn_walks_diagonal(bank);
}

static const WalkCovariance FULL = {project_full, drift_full, learn_full};
static const WalkCovariance DIAGONAL = {project_diagonal, drift_diagonal, learn_diagonal};

static inline const WalkCovariance* covariance_of(const Bank* bank) { return bank->is_diagonal ? &DIAGONAL : &FULL; }

/* The forecasts of all walks, and their level. */
static void forecast_walks(Bank* bank)
{
    double unit = bank->row[Y_SCALE], most = bank->constants[MAX_LEVEL_DISTANCE];
    double center = bank->row[Y_RUNNING_MEAN], inverse_sd = 1.0 / sqrt(bank->row[Y_RUNNING_VAR]);
    find_anchors(bank);
    find_drifts(bank);
    covariance_of(bank)->project(bank);
    for (ptrdiff_t lane = 0; lane < LANES; lane += WIDTH)
        store(bank->level + lane, clamp((load(bank->mean + lane) - center) * inverse_sd, -most, most));     /* (H.29) */
    if (bank->extra != NULL)
        for (ptrdiff_t walk = 0; walk < LANES; walk++) {                                        /* (K.12) */
            double extra = bank->extra[walk] / unit / unit;
            bank->h[walk] += extra < bank->limits->max_distance ? extra : bank->limits->max_distance;
        }
}

/* Let the walks from `lane` on, whose observation is missing, drift. */
static inline void pass_walks(Bank* bank, ptrdiff_t lane)
{
    store(bank->walk_consecutive_outliers + lane, fill(0.0));
    covariance_of(bank)->drift(bank, lane);
    if (any_differenced(bank, lane)) pass_newest(bank, lane);
}

/* Let every walk learn from y, in standard units, after its filters were weighed. */
static void learn_walks(Bank* bank, double y)
{
    for (ptrdiff_t lane = 0; lane < LANES; lane += WIDTH) match_moments(bank, lane);
    covariance_of(bank)->learn(bank, y);
}

#endif
