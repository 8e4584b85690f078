/* The covariances of a block of filters: the lower triangle, row after row, LANES numbers for an element. */

#ifndef ADABYPASS_BLOCKS_H
#define ADABYPASS_BLOCKS_H

#include "lanes.h"

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

#endif
