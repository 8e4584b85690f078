/* Covariances of the weights of LANES walks: full, as the lower triangle row after row with LANES numbers for an element,
   or as diagonals alone: equations (M.4)-(M.6). */

#ifndef ADABYPASS_WALK_COVARIANCES_H
#define ADABYPASS_WALK_COVARIANCES_H

#include "filter_noise.h"

/* p = S @ z, for a block of filters: two rows of the triangle at a time, so that p is read and written half as often */
INLINE void product(const ptrdiff_t size, const double* restrict S, const double* restrict z, double* restrict p)
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

/* S = (S with its diagonal times growth) - factor * outer(p, p), for a block of filters; `growth` and `factor` are of
   each filter. Two rows at a time, as above. */
INLINE void subtract_outer(
    const ptrdiff_t size, const vec* growth, const vec* factor, const double* restrict p, double* restrict S)
{
    ptrdiff_t i = 0;
    for (; i + 1 < size; i += 2) {
        double* below = S + (i + 1) * LANES;
        vec scaled[PARTS], next[PARTS];
        for (int part = 0; part < PARTS; part++) {
            scaled[part] = factor[part] * load(p + i * LANES + part * WIDTH);
            next[part] = factor[part] * load(p + (i + 1) * LANES + part * WIDTH);
        }
        for (ptrdiff_t j = 0; j < i; j++)
            for (int part = 0; part < PARTS; part++) {
                ptrdiff_t at = j * LANES + part * WIDTH;
                vec along = load(p + at);
                store(S + at, load(S + at) - scaled[part] * along);
                store(below + at, load(below + at) - next[part] * along);
            }
        for (int part = 0; part < PARTS; part++) {
            ptrdiff_t at = i * LANES + part * WIDTH;
            vec along = load(p + at);
            store(S + at, load(S + at) * growth[part] - scaled[part] * along);
            store(below + at, load(below + at) - next[part] * along);
            at += LANES;
            store(below + at, load(below + at) * growth[part] - next[part] * load(p + at));
        }
        S = below + (i + 2) * LANES;
    }
    if (i == size) return;
    for (int part = 0; part < PARTS; part++) {
        ptrdiff_t last = i * LANES + part * WIDTH;
        vec scaled = factor[part] * load(p + last);
        for (ptrdiff_t j = 0; j < i; j++) {
            ptrdiff_t at = j * LANES + part * WIDTH;
            store(S + at, load(S + at) - scaled * load(p + at));
        }
        store(S + last, load(S + last) * growth[part] - scaled * load(p + last));
    }
}

/* Diagonal covariances. */

/* p = S @ z, for every walk */
INLINE void product_diagonal(ptrdiff_t size, const double* restrict S, const double* restrict z, double* restrict p)
{
    for (ptrdiff_t i = 0; i < size; i++)
        for (int part = 0; part < PARTS; part++) {
            ptrdiff_t at = i * LANES + part * WIDTH;
            store(p + at, load(S + at) * z[i]);
        }
}

/* What a step of time adds to the variance of a weight: of the first one, and of the others, anchored and not. */
typedef struct {
    vec first, fixed, anchored;
} DiagonalDrift;

/* That of the walks from `lane` on: equation (M.5). */
INLINE DiagonalDrift diagonal_drift(const Bank* bank, ptrdiff_t lane)
{
    vec q = load(bank->drift_var + lane);
    DiagonalDrift by;
    by.anchored = q * load(setting(bank, ANCHORED) + lane);
    by.fixed = q - by.anchored;
    by.first = by.fixed + by.anchored * bank->anchored_diagonal[0];
    by.fixed *= load(setting(bank, SLOPES_DRIFT) + lane);
    return by;
}

/* S += diagonal of Q, for the walks from `lane` on, whose observation is missing. */
INLINE void let_drift_diagonal(Bank* bank, ptrdiff_t lane)
{
    double* S = bank->walk_cov + lane;
    DiagonalDrift by = diagonal_drift(bank, lane);
    store(S, load(S) + by.first);
    for (ptrdiff_t i = 1; i < bank->n_weights; i++) {
        double* var = S + i * LANES;
        store(var, load(var) + (by.fixed + by.anchored * bank->anchored_diagonal[i]));
    }
}

/* Let every walk learn; it gets the posterior mean and variance of z @ w: equations (G.11) and (M.6). */
INLINE void learn_walks_diagonal(Bank* bank)
{
    const Limits* limits = bank->limits;
    const double* z = bank->z;
    const double* drift = bank->anchored_diagonal;
    double most = limits->max_weight, least = 1.0 - limits->max_explained;
    for (ptrdiff_t lane = 0; lane < LANES; lane += WIDTH) {
        vec h = load(bank->h + lane);
        vec inverse_h = zero_unless(less(fill(limits->min_signal), h), 1.0 / h);
        vec step = clamp(load(bank->move + lane) * inverse_h, -limits->max_value, limits->max_value);
        vec left = clamp(load(bank->left + lane) * inverse_h, least, 1.0);
        vec prec = (1.0 - left) * inverse_h / left;
        DiagonalDrift by = diagonal_drift(bank, lane);
        for (ptrdiff_t i = 0; i < bank->n_weights; i++) {
            double* weight = bank->walk_mean + i * LANES + lane;
            double* own = bank->walk_cov + i * LANES + lane;
            vec p = load(bank->p + i * LANES + lane), var = load(own);
            var += i == 0 ? by.first : by.fixed + by.anchored * drift[i];
            store(weight, clamp(load(weight) + step * p, -most, most));                         /* (G.11) */
            store(own, var / (1.0 + prec * (p * z[i])));                                        /* (M.6) */
        }
    }
}

#endif
