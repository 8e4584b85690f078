/* One symmetric matrix, kept as its lower triangle, row after row: its product with a vector, and its updates.

   Rows are taken in blocks of LANES, and several of them at once, so that a vector of x or of the result is loaded once
   for all. Vectors are loaded from where they stand, aligned or not: the triangle has no gaps, and from a few hundred rows
   on memory is what takes the time. The last rows, fewer than LANES, are taken one by one; so are all of a small matrix.

   Every sum is taken in an order that depends neither on the width of a vector nor on the number of rows at once:
   element j of a product is the sum over the rows below j, one after the other, and over row j, in LANES lanes. */

#ifndef ADABYPASS_TRIANGLE_H
#define ADABYPASS_TRIANGLE_H

#include "lanes.h"

#if WIDTH >= 4
#define ROWS 4      /* at once: as many as the registers hold */
#elif WIDTH == 2
#define ROWS 2
#else
#define ROWS 1
#endif

/* Keep a vector in a register: loading it again for its second use takes longer. */
#if WIDTH > 1 && defined(__SSE2__)
#define KEEP(a) __asm__("" : "+x"(a))
#else
#define KEEP(a) (void)0
#endif

static inline ptrdiff_t row_start(ptrdiff_t i) { return i * (i + 1) / 2; }

/* a, but 0 in all lanes of a block from `count` on; `part` says which vector of the block it is */
static inline vec first_lanes(int count, int part, vec a)
{
    static const double index[LANES] = {0, 1, 2, 3, 4, 5, 6, 7};
    return zero_unless(less(load(index + part * WIDTH), fill(count)), a);
}

/* Take rows [i, i + rows), columns [0, block), into a product: out[:block] += rows.T @ x[i:i + rows]; the products of the
   rows with x are added to `total`. */
INLINE void multiply_rows(
    const int rows, ptrdiff_t i, ptrdiff_t block, const double* A, const double* x, double* out, vec total[ROWS][PARTS]
)
{
    const double* row[ROWS];
    vec own[ROWS];
    for (int r = 0; r < rows; r++) {
        row[r] = A + row_start(i + r);
        own[r] = fill(x[i + r]);
        for (int p = 0; p < PARTS; p++) total[r][p] = fill(0.0);
    }
    for (ptrdiff_t j = 0; j < block; j += LANES)
        for (int p = 0; p < PARTS; p++) {
            ptrdiff_t k = j + p * WIDTH;
            vec across = load(x + k), down = load(out + k);
            for (int r = 0; r < rows; r++) {
                vec a = load(row[r] + k);
                KEEP(a);
                total[r][p] += a * across;
                down += a * own[r];
            }
            store(out + k, down);
        }
}

/* The same for the rows' part of the square on the diagonal that begins at `block`; rows start at number `first` of it.
   What stands beyond a row's end is read, since it belongs to the rows below it, and left out. */
INLINE void multiply_corner(
    const int first, ptrdiff_t block, const double* A, const double* x, double* out, vec total[ROWS][PARTS]
)
{
    for (int p = 0; p < PARTS; p++) {
        ptrdiff_t k = block + p * WIDTH;
        vec across = load(x + k), down = first == 0 ? fill(0.0) : load(out + k);
        for (int r = 0; r < ROWS; r++) {
            vec a = load(A + row_start(block + first + r) + k);
            total[r][p] += first_lanes(first + r + 1, p, a) * across;
            down += first_lanes(first + r, p, a) * x[block + first + r];
        }
        store(out + k, down);
    }
}

/* The last rows: those from `block` on. */
INLINE void multiply_rest(ptrdiff_t n, ptrdiff_t block, const double* A, const double* x, double* out)
{
    vec total[ROWS][PARTS];
    for (ptrdiff_t i = block; i < n; i++) {
        const double* row = A + row_start(i);
        double across = 0.0;
        if (block > 0) multiply_rows(1, i, block, A, x, out, total);
        for (ptrdiff_t j = block; j < i; j++) {
            across += row[j] * x[j];
            out[j] += row[j] * x[i];
        }
        across += row[i] * x[i];
        out[i] = block > 0 ? sum_parts(total[0]) + across : across;
    }
}

/* out = A @ x; and diagonal = np.diag(A), unless it is NULL */
INLINE void multiply(ptrdiff_t n, const double* A, const double* x, double* out, double* diagonal)
{
    ptrdiff_t block = 0;
    for (; block + LANES <= n; block += LANES) {
        double across[LANES];
        UNROLLED
        for (int first = 0; first < LANES; first += ROWS) {
            vec total[ROWS][PARTS];
            multiply_rows(ROWS, block + first, block, A, x, out, total);
            multiply_corner(first, block, A, x, out, total);
            for (int r = 0; r < ROWS; r++) across[first + r] = sum_parts(total[r]);
        }
        for (int p = 0; p < LANES; p += WIDTH) store(out + block + p, load(out + block + p) + load(across + p));
        if (diagonal != NULL)
            for (ptrdiff_t i = block; i < block + LANES; i++) diagonal[i] = A[row_start(i) + i];
    }
    multiply_rest(n, block, A, x, out);
    if (diagonal != NULL)
        for (ptrdiff_t i = block; i < n; i++) diagonal[i] = A[row_start(i) + i];
}

/* Terms factor * outer(left, right), of which the lower triangle is added to A. */
typedef struct {
    double factor;
    const double* left[2];
    const double* right[2];
    const double* diagonal;     /* what A's diagonal is first set to; or NULL */
    double negligible;          /* of two terms: what is not above it in size afterwards becomes 0; below 0 if all stays */
} Update;

/* The terms added to element (i, k) of A, which is a, and to those after it in the row. */
INLINE vec updated(const int terms, const Update* by, vec a, const vec* left, ptrdiff_t k)
{
    for (int t = 0; t < terms; t++) a += left[t] * load(by->right[t] + k);
    return terms < 2 ? a : zero_unless(less(fill(by->negligible), absolute(a)), a);
}

INLINE double updated_one(const int terms, const Update* by, double a, ptrdiff_t i, ptrdiff_t k)
{
    for (int t = 0; t < terms; t++) a += by->factor * by->left[t][i] * by->right[t][k];
    return terms < 2 || fabs(a) > by->negligible ? a : 0.0;
}

/* Update columns [0, block) of rows [i, i + rows). */
INLINE void update_rows(const int rows, const int terms, const Update* by, ptrdiff_t i, ptrdiff_t block, double* A)
{
    double* row[ROWS];
    vec left[ROWS][2];
    for (int r = 0; r < rows; r++) {
        row[r] = A + row_start(i + r);
        for (int t = 0; t < terms; t++) left[r][t] = fill(by->factor * by->left[t][i + r]);
    }
    for (ptrdiff_t k = 0; k < block; k += WIDTH) {
        vec a[ROWS];        /* all are loaded before one is stored: so the compiler loads a term's vector once */
        for (int r = 0; r < rows; r++) a[r] = updated(terms, by, load(row[r] + k), left[r], k);
        for (int r = 0; r < rows; r++) store(row[r] + k, a[r]);
    }
}

/* Update the first `rows` rows of the square on the diagonal that begins at `block`. */
INLINE void update_corner(const int rows, const int terms, const Update* by, ptrdiff_t block, double* A)
{
    UNROLLED
    for (int r = 0; r < rows; r++) {
        double* row = A + row_start(block + r) + block;
        vec left[2];
        int c = 0;
        for (int t = 0; t < terms; t++) left[t] = fill(by->factor * by->left[t][block + r]);
        UNROLLED
        for (; c + WIDTH <= r; c += WIDTH) store(row + c, updated(terms, by, load(row + c), left, block + c));
        UNROLLED
        for (; c < r; c++) row[c] = updated_one(terms, by, row[c], block + r, block + c);
        if (by->diagonal != NULL) row[r] = by->diagonal[block + r];
        row[r] = updated_one(terms, by, row[r], block + r, block + r);
    }
}

/* From the last rows to the first: a product has just ended with the last, and the next one begins with the first, so
   these are still near the processor. */
INLINE void update(const int terms, const Update* by, ptrdiff_t n, double* A)
{
    ptrdiff_t block = n / LANES * LANES;
    if (block > 0)
        for (ptrdiff_t i = block; i < n; i++) update_rows(1, terms, by, i, block, A);
    update_corner((int)(n - block), terms, by, block, A);
    while (block > 0) {
        block -= LANES;
        for (ptrdiff_t i = block; i < block + LANES; i += ROWS) update_rows(ROWS, terms, by, i, block, A);
        update_corner(LANES, terms, by, block, A);
    }
}

/* A += factor * outer(a, a), where A's diagonal is first set to `diagonal` */
INLINE void add_outer(ptrdiff_t n, double factor, const double* a, const double* diagonal, double* A)
{
    const Update by = {factor, {a}, {a}, diagonal, -1.0};
    update(1, &by, n, A);
}

/* A += factor * (outer(a, b) + outer(b, a)); then what is not above `negligible` in size becomes 0 */
static void add_outer_pair(
    ptrdiff_t n, double factor, const double* a, const double* b, double negligible, double* A
)
{
    const Update by = {factor, {a, b}, {b, a}, NULL, negligible};
    update(2, &by, n, A);
}

#endif
