/* Vectors of any length, as models of one symmetric matrix need them: whole blocks of lanes, then what is left. */

#ifndef ADABYPASS_VECTORS_H
#define ADABYPASS_VECTORS_H

#include "lanes.h"

/* a @ b */
static double dot_product(ptrdiff_t n, const double* a, const double* b)
{
    ptrdiff_t whole = n / LANES * LANES;
    double rest = 0.0;
    for (ptrdiff_t i = whole; i < n; i++) rest += a[i] * b[i];
    return whole > 0 ? dot(a, b, whole) + rest : rest;
}

/* np.max(np.abs(a)), of the numbers that are not nan; 0 if there is none */
static double largest_size(ptrdiff_t n, const double* a)
{
    ptrdiff_t whole = n / LANES * LANES;
    vec top = fill(0.0);
    double lane[WIDTH], result = 0.0;
    for (ptrdiff_t i = 0; i < whole; i += WIDTH) top = larger(absolute(load(a + i)), top);
    store(lane, top);
    for (int l = 0; l < WIDTH; l++) result = lane[l] > result ? lane[l] : result;
    for (ptrdiff_t i = whole; i < n; i++) result = fabs(a[i]) > result ? fabs(a[i]) : result;
    return result;
}

/* Add `drift_var` to a covariance's diagonal, then room for the rounding of P - Px (Px)' / D, where one operation rounds
   by `rounding`; return the least D that it lets through: equation (28). */
static double widen(ptrdiff_t n, double drift_var, double rounding, double D, const double* x, double* diagonal)
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
    reach = sum_parts(total) + rest;
    growth = 1.0 + rounding * (1.0 + reach / sqrt(D));
    for (ptrdiff_t i = 0; i < n; i++) diagonal[i] *= growth;
    return rounding * reach * reach;
}

/* p += drift_var * x, the covariance's own product having been p; then m += move * p, within -bound and bound */
static void move_mean(ptrdiff_t n, double drift_var, const double* x, double move, double bound, double* p, double* m)
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

#endif
