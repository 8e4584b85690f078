/* Weights of which one mean and one covariance are kept: how a forecast sees them, and how an observation moves them. */

#ifndef ADABYPASS_WEIGHTS_H
#define ADABYPASS_WEIGHTS_H

#include "kernels.h"
#include "triangle.h"
#include "vectors.h"

/* p = S @ x, diagonal = np.diag(S) */
static Projection project(
    ptrdiff_t n, const double* m, const double* S, const double* x, double* p, double* diagonal
)
{
    Projection seen;
    multiply(n, S, x, p, diagonal);
    seen.prior_var = dot_product(n, x, p);
    seen.prior_var = seen.prior_var > 0.0 ? seen.prior_var : 0.0;
    seen.square = dot_product(n, x, x);
    seen.product = dot_product(n, x, m);
    return seen;
}

/* Add `drift_var` to a covariance's diagonal, then room for the rounding of P - Px (Px)' / D, where one operation rounds
   by `rounding`; return the least D that it lets through: equation (28). */
INLINE double widen(ptrdiff_t n, double drift_var, double rounding, double D, const double* x, double* diagonal)
{
    ptrdiff_t whole = n / LANES * LANES;
    vec total[PARTS];
    double reach = 0.0, rest = 0.0, growth;
    for (int p = 0; p < PARTS; p++) total[p] = fill(0.0);
    for (ptrdiff_t i = 0; i < whole; i += LANES)
        for (int p = 0; p < PARTS; p++) {
            ptrdiff_t k = i + p * WIDTH;
            vec d = load(diagonal + k) + drift_var;
            total[p] += root(larger(d, fill(0.0))) * absolute(load(x + k));
            store(diagonal + k, d);
        }
    for (ptrdiff_t i = whole; i < n; i++) {
        diagonal[i] += drift_var;
        rest += sqrt(diagonal[i] > 0.0 ? diagonal[i] : 0.0) * fabs(x[i]);
    }
    reach = whole > 0 ? sum_parts(total) + rest : rest;
    growth = 1.0 + rounding * (1.0 + reach / sqrt(D));
    for (ptrdiff_t i = 0; i < n; i++) diagonal[i] *= growth;
    return rounding * reach * reach;
}

/* p += drift_var * x, the covariance's own product having been p; then m += move * p, within -bound and bound */
INLINE void move_mean(ptrdiff_t n, double drift_var, const double* x, double move, double bound, double* p, double* m)
{
    ptrdiff_t whole = n / LANES * LANES;
    for (ptrdiff_t i = 0; i < whole; i += WIDTH) {
        vec gain = load(p + i) + drift_var * load(x + i);
        store(p + i, gain);
        store(m + i, clamp(load(m + i) + move * gain, -bound, bound));
    }
    for (ptrdiff_t i = whole; i < n; i++) {
        double moved;
        p[i] += drift_var * x[i];
        moved = m[i] + move * p[i];
        moved = moved > -bound ? moved : -bound;
        m[i] = moved < bound ? moved : bound;
    }
}

/* Condition the weights on one observation: equations (25)-(28). On entry p and diagonal are as `project` left them; on
   exit p = P @ x. */
static void condition(
    ptrdiff_t n, const Conditioning* by, const double* x, double* p, double* diagonal, double* m, double* S
)
{
    double floor = widen(n, by->drift_var, by->rounding, by->D, x, diagonal);       /* (25), (28) */
    move_mean(n, by->drift_var, x, by->move, by->bound, p, m);                      /* (26) */
    add_outer(n, -by->explained / (by->D > floor ? by->D : floor), p, diagonal, S); /* (27) */
}

#endif
