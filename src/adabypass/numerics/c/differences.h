/* Drift of the weights about an anchor, and walks in differences, whose weights explain the newest observation:
   equations (H.8) and (H.14)-(H.19). */

#ifndef ADABYPASS_DIFFERENCES_H
#define ADABYPASS_DIFFERENCES_H

#include "bank.h"
#include "filter_noise.h"

/* What all walks need to know of drift about an anchor, Q = q A: the level by itself has the variance `level`. */
static inline void find_anchor(
    const Bank* bank, const double* centers, const double* vars, double level, double* slope, double* diagonal,
    double* cross)
{
    ptrdiff_t offset = bank->intercept;
    double square = level;
    for (ptrdiff_t i = 0; i < bank->n_features; i++) {
        double center = bank->is_diagonal ? 0.0 : centers[i];                                   /* (M.5) */
        double inverse = 1.0 / vars[i], along = (bank->z[offset + i] - center) * inverse;
        slope[offset + i] = along;                  /* (A z) of this feature */
        diagonal[offset + i] = inverse;
        cross[offset + i] = inverse * center;       /* A, beside the intercept, with its sign turned */
        level -= center * along;
        square += inverse * center * center;
    }
    if (!offset) return;
    slope[0] = level;
    diagonal[0] = square;
    cross[0] = 0.0;
}

/* How an error moves the weights that are to explain an observation: the level alone, or all slopes: (H.14). */
static inline void find_direction(Bank* bank)
{
    double* u = bank->direction;
    double total = 0.0, least = bank->constants[MIN_MEAN_SQUARE] * (double)bank->n_features;
    for (ptrdiff_t i = 0; i < bank->n_weights; i++) u[i] = 0.0;
    if (bank->intercept) {
        u[0] = 1.0;
        return;
    }
    for (ptrdiff_t i = 0; i < bank->n_features; i++) total += bank->z[i] * bank->anchored_slope[i];
    for (ptrdiff_t i = 0; i < bank->n_features; i++) u[i] = bank->anchored_slope[i] / (total > least ? total : least);
}

static inline void find_anchors(Bank* bank)
{
    find_anchor(bank, bank->anchor_center, bank->anchor_var, 1.0, bank->anchored_slope, bank->anchored_diagonal,
        bank->anchored_cross);                                                                  /* (H.8) */
    find_anchor(bank, bank->newest_center, bank->move_var, 0.0, bank->moved_slope, bank->moved_diagonal,
        bank->moved_cross);                                                                     /* (H.18) */
    find_direction(bank);
}

/* Whether any of the walks from `lane` on is in differences. */
static inline bool any_differenced(const Bank* bank, ptrdiff_t lane)
{
    return any(~equal(load(setting(bank, DIFFERENCED) + lane), fill(0.0)));
}

/* Number of weights that an error moves. */
static inline ptrdiff_t n_moved(const Bank* bank) { return bank->intercept ? 1 : bank->n_weights; }

/* Let the weights of walks in differences, from `lane` on, explain the observation y that they have learned from:
   (H.15). What was learned took `factor` outer(p, p) from the covariance; its rounding is at most `rounded` times
   u². */
INLINE void explain_newest(Bank* bank, ptrdiff_t lane, const ptrdiff_t size, double y, vec factor, vec rounded)
{
    double most = bank->limits->max_weight;
    const double* u = bank->direction;
    double* m = bank->walk_mean + lane;
    double* row = bank->walk_cov + lane;       /* of the triangle */
    const double* p = bank->p + lane;
    vec chosen = load(setting(bank, DIFFERENCED) + lane), var = fill(0.0), fitted = fill(0.0);
    for (ptrdiff_t i = 0; i < size; i++) {
        var += bank->z[i] * load(p + i * LANES);
        fitted += bank->z[i] * load(m + i * LANES);
    }
    vec left = chosen * larger(1.0 - factor * var, fill(0.0));      /* S z = left p */
    vec error = chosen * (y - fitted);
    for (ptrdiff_t i = 0; i < n_moved(bank); i++)
        store(m + i * LANES, clamp(load(m + i * LANES) + u[i] * error, -most, most));
    for (ptrdiff_t i = 0; i < size; row += ++i * LANES)
        for (ptrdiff_t j = 0; j <= i && j < n_moved(bank); j++) {
            vec old = load(row + j * LANES);
            vec moved = old - left * (u[i] * load(p + j * LANES) + u[j] * load(p + i * LANES) - u[i] * u[j] * var);
            if (i == j) moved = larger(moved, fill(0.0)) + chosen * (2.0 * u[i] * u[i] * rounded);
            store(row + j * LANES, moved);
        }
}

/* Let the weights of walks in differences, from `lane` on, follow an observation that is missing: equation (H.16). */
static inline void pass_newest(Bank* bank, ptrdiff_t lane)
{
    const double* u = bank->direction;
    double* row = bank->walk_cov + lane;
    vec var = load(setting(bank, DIFFERENCED) + lane) * load(bank->walk_noise + lane);
    for (ptrdiff_t i = 0; i < n_moved(bank); row += ++i * LANES)
        for (ptrdiff_t j = 0; j <= i; j++)
            store(row + j * LANES, load(row + j * LANES) + (u[i] * u[j]) * var);
}

/* Follow the moves of feature i, whose newest value is z: equation (H.19). */
static inline void follow_move(Bank* bank, ptrdiff_t i, double z, double rate, double least)
{
    double move = z - bank->newest_center[i], *var = bank->move_var + i;
    if (bank->row[N_SEEN] > 1.0) *var += rate * (move * move - *var);
    *var = *var > least ? *var : least;
    if (bank->intercept) bank->newest_center[i] = z;
}

#endif
