/* A block of filters whose covariances are kept as their diagonals alone: equations (180)-(182). */

#ifndef ADABYPASS_DIAGONAL_BLOCKS_H
#define ADABYPASS_DIAGONAL_BLOCKS_H

#include "filter_noise.h"

/* p = S @ z, for a block of filters */
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

/* That of the filters from k on: equation (181). */
INLINE DiagonalDrift diagonal_drift(const Bank* bank, ptrdiff_t k)
{
    vec q = load(bank->drift_var + k);
    DiagonalDrift by;
    by.anchored = q * load(setting(bank, ANCHORED) + k);
    by.fixed = q - by.anchored;
    by.first = by.fixed + by.anchored * bank->anchored_diagonal[0];
    by.fixed *= load(setting(bank, SLOPES_DRIFT) + k);
    return by;
}

/* S += diagonal of Q, for the filters from k on, whose observation is missing. */
INLINE void let_drift_diagonal(Bank* bank, ptrdiff_t k)
{
    double* S = bank->S + k / LANES * bank->size * LANES + k % LANES;
    DiagonalDrift by = diagonal_drift(bank, k);
    store(S, load(S) + by.first);
    for (ptrdiff_t i = 1; i < bank->size; i++) {
        double* var = S + i * LANES;
        store(var, load(var) + (by.fixed + by.anchored * bank->anchored_diagonal[i]));
    }
}

/* Let a block of filters learn; it gets the posterior mean and variance of z'w: equations (45) and (182). */
INLINE void learn_diagonal_block(Bank* bank, ptrdiff_t block)
{
    const Limits* limits = bank->limits;
    const double* z = bank->z;
    const double* drift = bank->anchored_diagonal;
    double most = limits->largest_weight, least = 1.0 - limits->most_explained;
    for (int part = 0; part < PARTS; part++) {
        ptrdiff_t lane = part * WIDTH, k = block * LANES + lane, first = block * bank->size * LANES + lane;
        vec scale = load(bank->scale + k), h = load(bank->h + k);
        vec inverse_h = zero_unless(less(fill(limits->smallest_signal), h), 1.0 / h);
        vec step = clamp(load(bank->shift + k) * scale * inverse_h, -limits->largest, limits->largest);
        vec left = clamp(load(bank->posterior_var + k) * (scale * scale * inverse_h), least, 1.0);
        vec prec = (1.0 - left) * inverse_h / left;
        DiagonalDrift by = diagonal_drift(bank, k);
        for (ptrdiff_t i = 0; i < bank->size; i++) {
            double* weight = bank->m + first + i * LANES;
            double* own = bank->S + first + i * LANES;
            vec p = load(bank->p + first + i * LANES), var = load(own);
            var += i == 0 ? by.first : by.fixed + by.anchored * drift[i];
            store(weight, clamp(load(weight) - step * p, -most, most));                         /* (45) */
            store(own, var / (1.0 + prec * (p * z[i])));                                        /* (182) */
        }
    }
}

#endif
