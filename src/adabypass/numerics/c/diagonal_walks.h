/* Walks whose covariances are kept as their diagonals alone: equations (180)-(182). */

#ifndef ADABYPASS_DIAGONAL_WALKS_H
#define ADABYPASS_DIAGONAL_WALKS_H

#include "filter_noise.h"

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

/* That of the walks from `lane` on: equation (181). */
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

/* Let every walk learn; it gets the posterior mean and variance of z @ w: equations (45) and (182). */
INLINE void learn_walks_diagonal(Bank* bank)
{
    const Limits* limits = bank->limits;
    const double* z = bank->z;
    const double* drift = bank->anchored_diagonal;
    double most = limits->largest_weight, least = 1.0 - limits->most_explained;
    for (ptrdiff_t lane = 0; lane < LANES; lane += WIDTH) {
        vec h = load(bank->h + lane);
        vec inverse_h = zero_unless(less(fill(limits->smallest_signal), h), 1.0 / h);
        vec step = clamp(load(bank->move + lane) * inverse_h, -limits->largest, limits->largest);
        vec left = clamp(load(bank->left + lane) * inverse_h, least, 1.0);
        vec prec = (1.0 - left) * inverse_h / left;
        DiagonalDrift by = diagonal_drift(bank, lane);
        for (ptrdiff_t i = 0; i < bank->n_weights; i++) {
            double* weight = bank->walk_mean + i * LANES + lane;
            double* own = bank->walk_cov + i * LANES + lane;
            vec p = load(bank->p + i * LANES + lane), var = load(own);
            var += i == 0 ? by.first : by.fixed + by.anchored * drift[i];
            store(weight, clamp(load(weight) + step * p, -most, most));                         /* (45) */
            store(own, var / (1.0 + prec * (p * z[i])));                                        /* (182) */
        }
    }
}

#endif
