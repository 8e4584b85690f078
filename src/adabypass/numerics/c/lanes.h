/* Vectors of doubles, as wide as the instruction set that this file is compiled for, and what is done with them.

   Filters and components stand in blocks of LANES numbers, whatever the width of a vector, and sums are taken in as
   many lanes, in a fixed order: so every instruction set gives the same bits. Nothing here relies on finite numbers:
   of a nan and a number, given in this order, `larger` and `smaller` return the number. */

#ifndef ADABYPASS_LANES_H
#define ADABYPASS_LANES_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "simd_table.h"

#if defined(ADABYPASS_PLAIN) || !defined(__GNUC__)
#define WIDTH 1         /* without vector extensions */
#elif defined(__AVX512F__)
#define WIDTH 8
#elif defined(__AVX2__)
#define WIDTH 4
#elif defined(__SSE2__) || defined(__aarch64__)
#define WIDTH 2
#else
#define WIDTH 1
#endif

#if defined(__GNUC__)
#define INLINE static inline __attribute__((always_inline))
#else
#define INLINE static inline
#endif

/* Before a loop over the few rows or columns of a block. */
#if WIDTH == 1
#define UNROLLED
#elif defined(__clang__)
#define UNROLLED _Pragma("clang loop unroll(full)")
#else
#define UNROLLED _Pragma("GCC unroll 8")
#endif

#if defined(__SSE2__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

#define PARTS (LANES / WIDTH)       /* vectors in a block */

#if WIDTH == 1

typedef double vec;
typedef int64_t bits;               /* of a double */
typedef int64_t mask;               /* which lanes: all bits of a lane set, or none */
typedef uint64_t words;             /* the bits of a double, to calculate with: overflow is defined */

static inline vec load(const double* from) { return *from; }
static inline void store(double* to, vec a) { *to = a; }
static inline vec fill(double a) { return a; }
static inline bits bits_of(vec a) { bits b; memcpy(&b, &a, sizeof b); return b; }
static inline vec of_bits(bits a) { vec b; memcpy(&b, &a, sizeof b); return b; }
static inline words words_of(vec a) { words b; memcpy(&b, &a, sizeof b); return b; }
static inline vec of_words(words a) { vec b; memcpy(&b, &a, sizeof b); return b; }
static inline mask less(vec a, vec b) { return -(mask)(a < b); }
static inline mask at_most(vec a, vec b) { return -(mask)(a <= b); }
static inline mask equal(vec a, vec b) { return -(mask)(a == b); }
static inline vec root(vec a) { return sqrt(a); }
static inline bool any(mask m) { return m != 0; }

#else

typedef double vec __attribute__((vector_size(8 * WIDTH)));
typedef int64_t bits __attribute__((vector_size(8 * WIDTH)));
typedef uint64_t words __attribute__((vector_size(8 * WIDTH)));
typedef double unaligned_vec __attribute__((vector_size(8 * WIDTH), aligned(8)));

static inline vec load(const double* from) { return *(const unaligned_vec*)from; }
static inline void store(double* to, vec a) { *(unaligned_vec*)to = a; }
static inline vec fill(double a) { return a - (vec){0}; }       /* -0.0 stays -0.0 */
static inline bits bits_of(vec a) { return (bits)a; }
static inline vec of_bits(bits a) { return (vec)a; }
static inline words words_of(vec a) { return (words)a; }
static inline vec of_words(words a) { return (vec)a; }

#if WIDTH == 8
typedef __mmask8 mask;              /* a bit for each lane */
static inline mask less(vec a, vec b) { return _mm512_cmp_pd_mask(a, b, _CMP_LT_OQ); }
static inline mask at_most(vec a, vec b) { return _mm512_cmp_pd_mask(a, b, _CMP_LE_OQ); }
static inline mask equal(vec a, vec b) { return _mm512_cmp_pd_mask(a, b, _CMP_EQ_OQ); }
#else
typedef bits mask;
static inline mask less(vec a, vec b) { return a < b; }
static inline mask at_most(vec a, vec b) { return a <= b; }
static inline mask equal(vec a, vec b) { return a == b; }
#endif

#if WIDTH == 8
static inline vec root(vec a) { return _mm512_sqrt_pd(a); }
static inline bool any(mask m) { return m != 0; }
#elif WIDTH == 4
static inline vec root(vec a) { return _mm256_sqrt_pd(a); }
static inline bool any(mask m) { return _mm256_movemask_pd((__m256d)m) != 0; }
#elif defined(__SSE2__)
static inline vec root(vec a) { return _mm_sqrt_pd(a); }
static inline bool any(mask m) { return _mm_movemask_pd((__m128d)m) != 0; }
#else
static inline vec root(vec a) { return vsqrtq_f64(a); }
static inline bool any(mask m) { return (m[0] | m[1]) != 0; }
#endif

#endif

/* yes where m is set, no elsewhere */
static inline vec select(mask m, vec yes, vec no)
{
#if WIDTH == 8
    return _mm512_mask_blend_pd(m, no, yes);
#elif WIDTH == 4
    return _mm256_blendv_pd(no, yes, (__m256d)m);
#else
    return of_bits((bits_of(yes) & m) | (bits_of(no) & ~m));
#endif
}

static inline vec larger(vec a, vec b)
{
#if WIDTH == 8
    return _mm512_max_pd(a, b);
#elif WIDTH == 4
    return _mm256_max_pd(a, b);
#elif WIDTH == 2 && defined(__SSE2__)
    return _mm_max_pd(a, b);
#else
    return select(less(b, a), a, b);
#endif
}

static inline vec smaller(vec a, vec b)
{
#if WIDTH == 8
    return _mm512_min_pd(a, b);
#elif WIDTH == 4
    return _mm256_min_pd(a, b);
#elif WIDTH == 2 && defined(__SSE2__)
    return _mm_min_pd(a, b);
#else
    return select(less(a, b), a, b);
#endif
}

static inline vec clamp(vec a, double low, double high) { return smaller(larger(a, fill(low)), fill(high)); }
static inline vec absolute(vec a) { return of_bits(bits_of(a) & INT64_MAX); }

static inline vec zero_unless(mask m, vec a)
{
#if WIDTH == 8
    return _mm512_maskz_mov_pd(m, a);
#else
    return of_bits(bits_of(a) & m);
#endif
}

/* a, or -a where b is negative */
static inline vec times_sign_of(vec a, vec b) { return of_bits(bits_of(a) ^ (bits_of(b) & INT64_MIN)); }

/* The sum of LANES lanes, in pairs. */
static inline double sum_lanes(const double* lane)
{
    return ((lane[0] + lane[4]) + (lane[2] + lane[6])) + ((lane[1] + lane[5]) + (lane[3] + lane[7]));
}

/* The same of lanes in vectors. */
static inline double sum_parts(const vec* part)
{
#if WIDTH >= 4
#if WIDTH == 8
    __m256d four = _mm256_add_pd(_mm512_castpd512_pd256(part[0]), _mm512_extractf64x4_pd(part[0], 1));
#else
    __m256d four = (__m256d)(part[0] + part[1]);
#endif
    __m128d two = _mm_add_pd(_mm256_castpd256_pd128(four), _mm256_extractf128_pd(four, 1));
    return _mm_cvtsd_f64(two) + _mm_cvtsd_f64(_mm_unpackhi_pd(two, two));
#elif WIDTH == 2
    vec two = (part[0] + part[2]) + (part[1] + part[3]);
    return two[0] + two[1];
#else
    double lane[LANES];
    for (int p = 0; p < PARTS; p++) store(lane + p * WIDTH, part[p]);
    return sum_lanes(lane);
#endif
}

/* The sum of n numbers, a multiple of LANES: lane by lane, then the lanes in pairs. */
static inline double sum(const double* a, ptrdiff_t n)
{
    vec total[PARTS];
    for (int part = 0; part < PARTS; part++) total[part] = load(a + part * WIDTH);
    for (ptrdiff_t k = LANES; k < n; k += LANES)
        for (int part = 0; part < PARTS; part++) total[part] += load(a + k + part * WIDTH);
    return sum_parts(total);
}

/* The sum of the products. */
static inline double dot(const double* a, const double* b, ptrdiff_t n)
{
    vec total[PARTS];
    for (int part = 0; part < PARTS; part++) total[part] = load(a + part * WIDTH) * load(b + part * WIDTH);
    for (ptrdiff_t k = LANES; k < n; k += LANES)
        for (int part = 0; part < PARTS; part++)
            total[part] += load(a + k + part * WIDTH) * load(b + k + part * WIDTH);
    return sum_parts(total);
}

static inline double largest(const double* a, ptrdiff_t n)
{
    vec top = load(a);
    double lane[WIDTH], result;
    for (ptrdiff_t k = WIDTH; k < n; k += WIDTH) top = larger(load(a + k), top);
    store(lane, top);
    result = lane[0];
    for (int l = 1; l < WIDTH; l++) result = lane[l] > result ? lane[l] : result;
    return result;
}

/* Vectors of any length: whole blocks of lanes, then the rest. */

/* a @ b */
INLINE double dot_product(ptrdiff_t n, const double* a, const double* b)
{
    ptrdiff_t whole = n / LANES * LANES;
    double rest = 0.0;
    for (ptrdiff_t i = whole; i < n; i++) rest += a[i] * b[i];
    return whole > 0 ? dot(a, b, whole) + rest : rest;
}

/* np.max(np.abs(a)), of the numbers that are not nan; 0 if there is none */
INLINE double max_abs(ptrdiff_t n, const double* a)
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
