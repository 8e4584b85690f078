/* One symmetric matrix, kept as its lower triangle, row after row: its update, and its product with a vector, in one pass.

   From a few dozen rows on, memory is what takes the time. So an update may wait until the next product, and be made on
   the way: each number is read, updated, written and multiplied, in this order, whether in one pass or in two.

   Rows are taken in blocks of LANES, and several of them at once, so that a vector of x or of the result is loaded once
   for all. Vectors are loaded from where they stand, aligned or not: the triangle has no gaps. The last rows, fewer than
   LANES, are taken one by one; so are all of a small matrix.

   Every sum is taken in an order that depends neither on the width of a vector nor on the number of rows at once:
   element j of a product is the sum over the rows below j, one after the other, and over row j, in LANES lanes. */

#ifndef ADABYPASS_TRIANGLE_H
#define ADABYPASS_TRIANGLE_H

#include "simd_table.h"
#include "lanes.h"

#if WIDTH == 8
#define ROWS 8      /* number of rows that fit into the registers at once */
#elif WIDTH == 4
#define ROWS 4
#elif WIDTH == 2
#define ROWS 2
#else
#define ROWS 1
#endif

/* Keep a vector in a register: loading it again for its second use takes longer. */
#if WIDTH == 8
#define KEEP(a) __asm__("" : "+v"(a))
#elif WIDTH > 1 && defined(__SSE2__)
#define KEEP(a) __asm__("" : "+x"(a))
#else
#define KEEP(a) (void)0
#endif

/* What a pass does, known when it is compiled: how many terms it adds, whether tiny sums become 0, whether it multiplies. */
typedef struct {
    int n_terms;
    bool clears;
    bool multiplies;
} Work;

/* What it does that with. */
typedef struct {
    const double* left[2];      /* terms factor * outer(left, right) are added to the matrix */
    const double* right[2];
    double factor;
    double negligible;          /* a sum not above it in size becomes 0 */
    const double* new_diagonal; /* what the matrix's diagonal is first set to; or NULL */
    const double* x;            /* the matrix is multiplied with it */
    double* out;                /* the product */
    double* diagonal;           /* the matrix's, once it is updated; or NULL */
} Operands;

static inline ptrdiff_t row_start(ptrdiff_t i) { return i * (i + 1) / 2; }

/* Which lanes of a vector are among the first `count` of a block; `part` says which vector of the block it is. */
static inline mask first_lanes(int count, int part)
{
#if WIDTH == 8
    (void)part;         /* a block is one vector */
    return (mask)((1 << count) - 1);
#else
    static const int64_t edge[2 * LANES] = {-1, -1, -1, -1, -1, -1, -1, -1};
    mask lanes;
    memcpy(&lanes, edge + LANES - count + part * WIDTH, sizeof lanes);
    return lanes;
#endif
}

INLINE vec updated(const Work does, double negligible, vec a, const vec* left, const vec* right)
{
    for (int t = 0; t < does.n_terms; t++) a += left[t] * right[t];
    return does.clears ? zero_unless(less(fill(negligible), absolute(a)), a) : a;
}

INLINE double updated_one(const Work does, const Operands* with, double a, ptrdiff_t i, ptrdiff_t k)
{
    for (int t = 0; t < does.n_terms; t++) a += with->factor * with->left[t][i] * with->right[t][k];
    return does.clears && !(fabs(a) > with->negligible) ? 0.0 : a;
}

/* Take rows [i, i + rows), columns [0, block): out[:block] += rows.T @ x[i:i + rows]; the products of the rows with x are
   written to `total`. */
INLINE void pass_rows(
    const Work does, const int rows, const Operands* with, ptrdiff_t i, ptrdiff_t block, double* A, vec total[ROWS][PARTS]
)
{
    const double* x = with->x;
    const double* term[2] = {with->right[0], with->right[1]};
    double* out = with->out;
    const double negligible = with->negligible;
    double* row[ROWS];
    vec own[ROWS], left[ROWS][2];
    for (int r = 0; r < rows; r++) {
        row[r] = A + row_start(i + r);
        if (does.multiplies) own[r] = fill(x[i + r]);
        for (int t = 0; t < does.n_terms; t++) left[r][t] = fill(with->factor * with->left[t][i + r]);
        for (int p = 0; p < PARTS; p++) total[r][p] = fill(0.0);
    }
    for (ptrdiff_t j = 0; j < block; j += LANES)
        for (int p = 0; p < PARTS; p++) {
            ptrdiff_t k = j + p * WIDTH;
            vec across, down, right[2];
            for (int t = 0; t < does.n_terms; t++) right[t] = load(term[t] + k);
            if (does.multiplies) across = load(x + k), down = load(out + k);
            for (int r = 0; r < rows; r++) {
                vec a = updated(does, negligible, load(row[r] + k), left[r], right);
                KEEP(a);
                if (does.multiplies) {
                    total[r][p] += a * across;
                    down += a * own[r];
                }
                if (does.n_terms > 0) store(row[r] + k, a);
            }
            if (does.multiplies) store(out + k, down);
        }
}

/* Update the rows' part of the square on the diagonal that begins at `block`; rows start at number `first` of it. What
   stands beyond a row's end belongs to the rows below it: it is read, and written as it was. */
INLINE void update_corner(const Work does, const int first, const Operands* with, ptrdiff_t block, double* A)
{
    for (int p = 0; p < PARTS; p++) {
        ptrdiff_t k = block + p * WIDTH;
        vec right[2];
        for (int t = 0; t < does.n_terms; t++) right[t] = load(with->right[t] + k);
        UNROLLED
        for (int r = 0; r < ROWS; r++) {
            const int at = first + r;       /* on the diagonal */
            const bool has_end = at < (p + 1) * WIDTH;
            double* place = A + row_start(block + at) + k;
            vec left[2], old, a;
            if (at < p * WIDTH) continue;
            for (int t = 0; t < does.n_terms; t++) left[t] = fill(with->factor * with->left[t][block + at]);
            a = old = load(place);
            if (has_end && with->new_diagonal != NULL)
                a = select(first_lanes(at, p), a, load(with->new_diagonal + k));
            a = updated(does, with->negligible, a, left, right);
            store(place, has_end ? select(first_lanes(at + 1, p), a, old) : a);
        }
    }
}

/* Multiply that part of the square: as `pass_rows` does. */
INLINE void multiply_corner(
    const int first, const Operands* with, ptrdiff_t block, const double* A, vec total[ROWS][PARTS]
)
{
    for (int p = 0; p < PARTS; p++) {
        ptrdiff_t k = block + p * WIDTH;
        vec across = load(with->x + k), down = first == 0 ? fill(0.0) : load(with->out + k);
        UNROLLED
        for (int r = 0; r < ROWS; r++) {
            const int at = first + r;
            vec a;
            if (at < p * WIDTH) continue;
            a = load(A + row_start(block + at) + k);
            total[r][p] += zero_unless(first_lanes(at + 1, p), a) * across;
            down += zero_unless(first_lanes(at, p), a) * with->x[block + at];
        }
        store(with->out + k, down);
    }
}

/* The last rows: those from `block` on. */
INLINE void pass_rest(const Work does, const Operands* with, ptrdiff_t n, ptrdiff_t block, double* A)
{
    const double* x = with->x;
    vec total[ROWS][PARTS];
    for (ptrdiff_t i = block; i < n; i++) {
        double* row = A + row_start(i);
        double across = 0.0;
        if (block > 0) pass_rows(does, 1, with, i, block, A, total);
        if (does.n_terms > 0 && with->new_diagonal != NULL) row[i] = with->new_diagonal[i];
        for (ptrdiff_t j = block; j <= i; j++) {
            if (does.n_terms > 0) row[j] = updated_one(does, with, row[j], i, j);
            if (does.multiplies) {
                across += row[j] * x[j];
                if (j < i) with->out[j] += row[j] * x[i];
            }
        }
        if (does.multiplies) with->out[i] = block > 0 ? sum_parts(total[0]) + across : across;
        if (does.multiplies && with->diagonal != NULL) with->diagonal[i] = row[i];
    }
}

INLINE void pass(const Work does, const Operands* with, ptrdiff_t n, double* A)
{
    ptrdiff_t block = 0;
    for (; block + LANES <= n; block += LANES) {
        double across[LANES];
        UNROLLED
        for (int first = 0; first < LANES; first += ROWS) {
            vec total[ROWS][PARTS];
            pass_rows(does, ROWS, with, block + first, block, A, total);
            if (does.n_terms > 0) update_corner(does, first, with, block, A);
            if (!does.multiplies) continue;
            multiply_corner(first, with, block, A, total);
            for (int r = 0; r < ROWS; r++) across[first + r] = sum_parts(total[r]);
        }
        if (!does.multiplies) continue;
        for (int p = 0; p < LANES; p += WIDTH) {
            double* out = with->out + block + p;
            store(out, load(out) + load(across + p));
        }
        if (with->diagonal != NULL)
            for (ptrdiff_t i = block; i < block + LANES; i++) with->diagonal[i] = A[row_start(i) + i];
    }
    pass_rest(does, with, n, block, A);
}

static Operands operands_of(const Update* by)
{
    return (Operands){
        {by->a, by->b != NULL ? by->b : by->a}, {by->b != NULL ? by->b : by->a, by->a},
        by->factor, by->negligible, by->diagonal, NULL, NULL, NULL,
    };
}

/* Make an update. */
static void update(ptrdiff_t n, const Update* by, double* A)
{
    const Operands with = operands_of(by);
    if (by->b == NULL)
        pass((Work){1, false, false}, &with, n, A);
    else
        pass((Work){2, true, false}, &with, n, A);
}

/* Make an update, unless it is NULL; then out = A @ x, and diagonal = np.diag(A), unless that is NULL. */
static void multiply(ptrdiff_t n, const Update* by, double* A, const double* x, double* out, double* diagonal)
{
    Operands with = by != NULL ? operands_of(by) : (Operands){0};
    with.x = x;
    with.out = out;
    with.diagonal = diagonal;
    if (by == NULL)
        pass((Work){0, false, true}, &with, n, A);
    else if (by->b == NULL)
        pass((Work){1, false, true}, &with, n, A);
    else if (by->negligible < 0.0)
        pass((Work){2, false, true}, &with, n, A);
    else
        pass((Work){2, true, true}, &with, n, A);
}

#endif
