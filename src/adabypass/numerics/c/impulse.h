/* The response of autoregressions to an impulse. */

#ifndef ADABYPASS_IMPULSE_H
#define ADABYPASS_IMPULSE_H

#include "lanes.h"

/* Follow m autoregressions side by side: m is 1, or a multiple of LANES. `weights` is (n_lags, m), `response`
   (n_steps, m). Writes the largest responses, in absolute value: of the first half of the steps to `early`, of the second
   to `late`. */
static void follow_impulse(
    ptrdiff_t m, ptrdiff_t n_lags, const ptrdiff_t* lags, const double* weights, ptrdiff_t n_steps, double bound,
    double* response, double* late, double* early)
{
    for (ptrdiff_t k = 0; k < m; k++) {
        response[k] = early[k] = 1.0;
        late[k] = 0.0;
    }
    for (ptrdiff_t step = 1; step < n_steps; step++) {
        double* now = response + step * m;
        double* top = step < n_steps / 2 ? early : late;
        ptrdiff_t k = 0;
        for (; k + WIDTH <= m; k += WIDTH) {
            vec total = fill(0.0);
            for (ptrdiff_t i = 0; i < n_lags && lags[i] <= step; i++)
                total += load(weights + i * m + k) * load(now - lags[i] * m + k);
            total = clamp(total, -bound, bound);
            store(now + k, total);
            store(top + k, larger(absolute(total), load(top + k)));
        }
        for (; k < m; k++) {
            double total = 0.0;
            for (ptrdiff_t i = 0; i < n_lags && lags[i] <= step; i++) total += weights[i * m + k] * now[k - lags[i] * m];
            total = total > -bound ? total : -bound;
            now[k] = total < bound ? total : bound;
            top[k] = fabs(now[k]) > top[k] ? fabs(now[k]) : top[k];
        }
    }
}

#endif
