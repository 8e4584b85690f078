/* Vectors of any length: whole blocks of lanes, then what is left. */

#ifndef ADABYPASS_VECTORS_H
#define ADABYPASS_VECTORS_H

#include "lanes.h"

/* a @ b */
INLINE double dot_product(ptrdiff_t n, const double* a, const double* b)
{
    ptrdiff_t whole = n / LANES * LANES;
    double rest = 0.0;
    for (ptrdiff_t i = whole; i < n; i++) rest += a[i] * b[i];
    return whole > 0 ? dot(a, b, whole) + rest : rest;
}

/* np.max(np.abs(a)), of the numbers that are not nan; 0 if there is none */
INLINE double largest_size(ptrdiff_t n, const double* a)
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

#endif
