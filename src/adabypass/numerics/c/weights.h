/* Weights of which one mean and one covariance are kept: how a forecast sees them, and how an observation moves them. */

#ifndef ADABYPASS_WEIGHTS_H
#define ADABYPASS_WEIGHTS_H

#include "simd_table.h"
#include "triangle.h"

/* Make an update of S, unless it is NULL; then p = S @ x, diagonal = np.diag(S) */
static Projection project(
    ptrdiff_t n, const double* m, const Update* by, double* S, const double* x, double* p, double* diagonal
)
{
    Projection seen;
    multiply(n, by, S, x, p, diagonal);
    seen.prior_var = dot_product(n, x, p);
    seen.prior_var = seen.prior_var > 0.0 ? seen.prior_var : 0.0;
    seen.square = dot_product(n, x, x);
    seen.product = dot_product(n, x, m);
    return seen;
}

/* Add `drift_var` to a covariance's diagonal, then room for the rounding of P - Px (Px)' / D, where one operation rounds
   by `rounding`; return the minimum D that it allows: equation (C.31). */
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

/* Condition the mean on one observation, and prepare the covariance for it: equations (C.28)-(C.31). On entry p and
   diagonal are as `project` left them; on exit p = P @ x, and the covariance has still to change, by its new diagonal
   and outer(p, p) times what is returned. */
static double condition(
    ptrdiff_t n, const Conditioning* by, const double* x, double* p, double* diagonal, double* m
)
{
    double floor = widen(n, by->drift_var, by->rounding, by->D, x, diagonal);       /* (C.28), (C.31) */
    move_mean(n, by->drift_var, x, by->move, by->bound, p, m);                      /* (C.29) */
    return -by->explained / (by->D > floor ? by->D : floor);                        /* (C.30) */
}

/* Carry the mean's gradient through an observation: equation (D.6). v = G @ x, where G is the covariance's gradient,
   which has still to change, by -(outer(g, a) + outer(a, g)). Returns f = x @ v. */
static double move_gradient(
    ptrdiff_t n, const GradientMove* by, const double* x, const double* p, const double* v, double* g, double* a,
    double* gradient
)
{
    ptrdiff_t whole = n / LANES * LANES;
    double along = dot_product(n, x, gradient), f = dot_product(n, x, v);
    for (ptrdiff_t i = 0; i < whole; i += WIDTH) {
        vec share = load(p + i) / by->D, own = load(v + i), moved;
        store(g + i, share);
        store(a + i, own - 0.5 * f * share);
        moved = load(gradient + i) - share * along + by->pull * (by->left * (own - f * share));
        moved = clamp(moved, -by->bound, by->bound);
        store(gradient + i, zero_unless(less(fill(by->negligible), absolute(moved)), moved));
    }
    for (ptrdiff_t i = whole; i < n; i++) {
        double moved;
        g[i] = p[i] / by->D;
        a[i] = v[i] - 0.5 * f * g[i];
        moved = gradient[i] - g[i] * along + by->pull * (by->left * (v[i] - f * g[i]));
        moved = moved > -by->bound ? moved : -by->bound;
        moved = moved < by->bound ? moved : by->bound;
        gradient[i] = fabs(moved) > by->negligible ? moved : 0.0;
    }
    return f;
}

#endif
