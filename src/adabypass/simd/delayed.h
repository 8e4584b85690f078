/* Updates of one symmetric matrix that wait until there are many of them, and its product with many vectors, in one pass.

   The matrix is kept as its lower triangle, row after row. A pass takes it in squares of TILE rows and columns, which
   stay in the processor's cache: each is copied, updated, written back, and multiplied with all vectors, on both sides
   of the diagonal. What stands beyond the matrix's end is 0.

   Every sum is taken one term after the other, whatever the width of a vector: so every instruction set gives the same
   bits. */

#ifndef ADABYPASS_DELAYED_H
#define ADABYPASS_DELAYED_H

#include "kernels.h"
#include "lanes.h"
#include "triangle.h"
#include "vectors.h"

#define AT_ONCE 4       /* waiting updates, or rows of a product, that are taken together */
#define FALL 4.0        /* by what a variance may fall within a block: updates that wait round as what it was before */

#if defined(__GNUC__)
#define PREFETCH(place) __builtin_prefetch(place, 1)
#else
#define PREFETCH(place) (void)0
#endif

/* Vectors of at most four numbers: eight took a quarter longer on Zen 4, as products and sums are two operations. */
#if WIDTH == 8
#define QUAD 4
typedef double quad __attribute__((vector_size(32)));
typedef double unaligned_quad __attribute__((vector_size(32), aligned(8)));
static inline quad load_quad(const double* from) { return *(const unaligned_quad*)from; }
static inline void store_quad(double* to, quad a) { *(unaligned_quad*)to = a; }
static inline quad fill_quad(double a) { return a - (quad){0}; }
#else
#define QUAD WIDTH
typedef vec quad;
static inline quad load_quad(const double* from) { return load(from); }
static inline void store_quad(double* to, quad a) { store(to, a); }
static inline quad fill_quad(double a) { return fill(a); }
#endif

/* out += a @ b; a has TILE rows and `inner` columns, which stand `row` and `column` numbers apart, b has rows of SLAB
   numbers, and rows of the result stand `out_row` apart. */
INLINE void add_product(
    ptrdiff_t inner, const double* a, ptrdiff_t row, ptrdiff_t column, const double* b, double* out, ptrdiff_t out_row
)
{
    for (ptrdiff_t i = 0; i < TILE; i += AT_ONCE)
        for (ptrdiff_t j = 0; j < SLAB; j += 2 * QUAD) {
            const double* own = a + i * row;
            const double* other = b + j;
            double* place = out + i * out_row + j;
            quad total[AT_ONCE][2];
            UNROLLED
            for (int r = 0; r < AT_ONCE; r++)
                for (int p = 0; p < 2; p++) total[r][p] = load_quad(place + r * out_row + p * QUAD);
            for (ptrdiff_t k = 0; k < inner; k++, own += column, other += SLAB) {
                quad first = load_quad(other), second = load_quad(other + QUAD);
                UNROLLED
                for (int r = 0; r < AT_ONCE; r++) {
                    quad factor = fill_quad(own[r * row]);
                    total[r][0] += factor * first;
                    total[r][1] += factor * second;
                }
            }
            UNROLLED
            for (int r = 0; r < AT_ONCE; r++)
                for (int p = 0; p < 2; p++) store_quad(place + r * out_row + p * QUAD, total[r][p]);
        }
}

/* How many numbers of row i stand in columns [j, j + TILE) of the triangle. */
INLINE ptrdiff_t n_inside(ptrdiff_t n, ptrdiff_t i, ptrdiff_t j)
{
    ptrdiff_t count = i < n ? i + 1 - j : 0;
    return count < TILE ? count : TILE;
}

/* Copy `count` numbers, up to TILE. */
INLINE void copy_part(ptrdiff_t count, const double* from, double* to)
{
    if (count == TILE)      /* known when it is compiled, so that whole vectors are moved */
        memcpy(to, from, TILE * sizeof(double));
    else
        memcpy(to, from, count * sizeof(double));
}

/* Copy a tile, and ask for the next one to its right. */
INLINE void read_tile(ptrdiff_t n, const double* A, ptrdiff_t i, ptrdiff_t j, double* tile)
{
    for (ptrdiff_t r = 0; r < TILE; r++) {
        ptrdiff_t count = n_inside(n, i + r, j);
        const double* row = A + row_start(i + r) + j;
        if (count > 0) copy_part(count, row, tile + r * TILE);
        for (ptrdiff_t k = count; k < TILE; k++) tile[r * TILE + k] = 0.0;
        if (count == TILE)
            for (ptrdiff_t k = 0; k < TILE; k += LANES) PREFETCH(row + TILE + k);
    }
}

INLINE void write_tile(ptrdiff_t n, const double* tile, ptrdiff_t i, ptrdiff_t j, double* A)
{
    for (ptrdiff_t r = 0; r < TILE && i + r < n; r++)
        copy_part(n_inside(n, i + r, j), tile + r * TILE, A + row_start(i + r) + j);
}

/* Make a tile on the diagonal, of which the lower triangle is known, symmetric, with the diagonal that is given. */
INLINE void complete_tile(ptrdiff_t n, ptrdiff_t i, const double* diagonal, double* tile)
{
    for (ptrdiff_t r = 0; r < TILE; r++) {
        for (ptrdiff_t k = 0; k < r; k++) tile[k * TILE + r] = tile[r * TILE + k];
        tile[r * TILE + r] = i + r < n ? diagonal[i + r] : 0.0;
    }
}

/* Lay the waiting vectors out for the pass: rows of factor * vector, and slabs of columns. */
static void lay_out(const Delayed* by)
{
    for (ptrdiff_t j = 0; j < by->padded; j += SLAB)
        for (ptrdiff_t s = 0; s < by->n_updates; s++) {
            const double* vector = by->vectors + s * by->padded + j;
            memcpy(by->right + j * by->most + s * SLAB, vector, SLAB * sizeof(double));
            for (ptrdiff_t k = 0; k < SLAB; k++) by->left[(j + k) * by->most + s] = by->factors[s] * vector[k];
        }
}

/* Make all updates that wait, and set the matrix's diagonal; then products = A @ features, unless there are none. */
static void delayed_pass(const Delayed* by, double* A)
{
    _Alignas(64) double tile[TILE * TILE];
    ptrdiff_t most = by->most, slab_size = by->padded * SLAB, end = (by->n_rows + SLAB - 1) / SLAB * slab_size;
    lay_out(by);
    memset(by->products, 0, end * sizeof(double));
    for (ptrdiff_t i = 0; i < by->padded; i += TILE)
        for (ptrdiff_t j = 0; j <= i; j += TILE) {
            read_tile(by->n, A, i, j, tile);
            for (ptrdiff_t k = 0; k < TILE; k += SLAB)
                add_product(by->n_updates, by->left + i * most, most, 1, by->right + (j + k) * most, tile + k, TILE);
            if (i == j) complete_tile(by->n, i, by->diagonal, tile);
            write_tile(by->n, tile, i, j, A);
            for (ptrdiff_t at = 0; at < end; at += slab_size) {
                const double* features = by->features + at;
                double* products = by->products + at;
                add_product(TILE, tile, TILE, 1, features + j * SLAB, products + i * SLAB, SLAB);
                if (i > j) add_product(TILE, tile, 1, TILE, features + i * SLAB, products + j * SLAB, SLAB);
            }
        }
}

/* p = A @ x, with all updates that wait; `row` says which of the features x is */
static void delayed_product(const Delayed* by, ptrdiff_t row, const double* x, double* p)
{
    ptrdiff_t n = by->n, s = 0;
    double along[MOST_DELAYED];
    const double* products = by->products + row / SLAB * SLAB * by->padded + row % SLAB;
    for (ptrdiff_t i = 0; i < n; i++) p[i] = products[i * SLAB] + by->added[i] * x[i];
    for (ptrdiff_t k = 0; k < by->n_updates; k++)
        along[k] = by->factors[k] * dot_product(n, by->vectors + k * by->padded, x);
    for (; s + AT_ONCE <= by->n_updates; s += AT_ONCE) {
        const double* vector = by->vectors + s * by->padded;
        for (ptrdiff_t i = 0; i < n; i++) {
            double total = p[i];
            for (int k = 0; k < AT_ONCE; k++) total += along[s + k] * vector[k * by->padded + i];
            p[i] = total;
        }
    }
    for (; s < by->n_updates; s++)
        for (ptrdiff_t i = 0; i < n; i++) p[i] += along[s] * by->vectors[s * by->padded + i];
}

/* Let the update wait that adds factor * outer(p, p), once the diagonal has been set to `widened`; return whether the
   diagonal has stayed above 1/FALL of what it would be without the updates that wait. */
static bool delay(Delayed* by, double factor, const double* p, const double* widened)
{
    bool is_high = true;
    double* vector = by->vectors + by->n_updates * by->padded;
    for (ptrdiff_t i = 0; i < by->n; i++) {
        double left = widened[i] + factor * p[i] * p[i];
        by->added[i] += widened[i] - by->diagonal[i];
        is_high &= FALL * left >= by->first[i] + by->added[i];
        by->diagonal[i] = left;
        vector[i] = p[i];
    }
    by->factors[by->n_updates] = factor;
    by->n_updates++;
    return is_high;
}

#endif
