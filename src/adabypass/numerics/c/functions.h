/* Exponential, logarithm and the tail of a normal distribution, for vectors. tests/numerics pins each to mpmath. */

#ifndef ADABYPASS_FUNCTIONS_H
#define ADABYPASS_FUNCTIONS_H

#include "lanes.h"

#define PI 3.14159265358979323846
#define SQRT_2 1.41421356237309504880
#define SQRT_2PI 2.50662827463100050242
#define INV_SQRT_2PI 0.39894228040143267794
#define HALF_LOG_2PI 0.91893853320467274178

#define MIN_EXP_ARG -708.0     /* below it exp would lose digits: it is 0 there */
#define MAX_EXP_ARG 709.0

#define ROUNDER 6755399441055744.0      /* 1.5 * 2^52: adding it rounds to a whole number, in the last bits */
#define LOG2_E 1.44269504088896340736
#define LN2 0.69314718055994530942
#define LN2_HIGH 6.93145751953125e-1    /* its products with exponents are exact */
#define LN2_LOW 1.42860682030941723212e-6

/* exp(x), for x from MIN_EXP_ARG - 1 up to MAX_EXP_ARG */
static inline vec exponential_within(vec x)
{
    vec shifted = x * LOG2_E + ROUNDER;
    vec n = shifted - ROUNDER;
    vec r = (x - n * LN2_HIGH) - n * LN2_LOW;       /* |r| <= log(2) / 2 */
    vec s = r * r;
    /* (exp(r) - 1 - r)/r², fitted by tools/fit_exp_log.py; even and odd terms apart, which halves the wait */
    vec even = 2.4801521295954376e-05 + s * 2.7620088445409746e-07;
    even = 0.0013888888917213717 + s * even;
    even = 0.04166666666662413 + s * even;
    even = 0.5000000000000001 + s * even;
    vec odd = 2.7557268459997064e-06 + s * 2.510038549551032e-08;
    odd = 0.00019841269863053618 + s * odd;
    odd = 0.008333333333330062 + s * odd;
    odd = 0.16666666666666669 + s * odd;
    vec result = 1.0 + (r + s * (even + r * odd));
    vec power = of_words((words_of(shifted) << 52) + words_of(fill(1.0)));      /* 2^n */
    return result * power;
}

/* exp(a); 0 below MIN_EXP_ARG, and never infinite */
static inline vec exponential(vec a)
{
    vec x = clamp(a, MIN_EXP_ARG - 1.0, MAX_EXP_ARG);
    return zero_unless(at_most(fill(MIN_EXP_ARG), x), exponential_within(x));
}

/* exp(a), for a <= MAX_EXP_ARG, to be summed with a number near 1: what is less than 1e-280 need not be 0 */
static inline vec exponential_beside_one(vec a) { return exponential_within(larger(a, fill(-650.0))); }

/* log(a), for a normal number a > 0 */
static inline vec logarithm(vec a)
{
    words bits = words_of(a), exponent = (bits + UINT64_C(0x95f619980c433)) >> 52;      /* one more from sqrt(2) on */
    vec m = of_words(bits - (exponent << 52) + UINT64_C(0x3ff0000000000000));           /* in [sqrt(1/2), sqrt(2)) */
    vec n = of_words(exponent | UINT64_C(0x4330000000000000)) - (4503599627370496.0 + 1023.0);
    vec f = m - 1.0, t = f / (2.0 + f), s = t * t;
    /* log(1 + f) = 2 atanh(t) = f - t (f - 2 s/3 - 2 s²/5 ...), with the series fitted by tools/fit_exp_log.py; f is
       exact, so what is left need not be */
    vec rest = 0.1533171061820642 + s * 0.14616585424934123;
    rest = 0.18182889455675105 + s * rest;
    rest = 0.22222211130259875 + s * rest;
    rest = 0.2857142862600327 + s * rest;
    rest = 0.39999999999899444 + s * rest;
    rest = 0.666666666666667 + s * rest;
    return n * LN2_HIGH + (f - (t * (f - s * rest) - n * LN2_LOW));
}

/* The power of two n in a = f 2^n, 1 <= f < 2, for a normal number a > 0 */
static inline vec binary_exponent(vec a)
{
    return of_words(words_of(a) >> 52 | UINT64_C(0x4330000000000000)) - (4503599627370496.0 + 1023.0);
}

/* and f */
static inline vec binary_fraction(vec a)
{
    return of_words((words_of(a) & UINT64_C(0xfffffffffffff)) | UINT64_C(0x3ff0000000000000));
}

/* A standard normal beyond a point x >= 0. */
typedef struct {
    vec mass;       /* over its density at x: Mills' ratio */
    vec mean;       /* less x */
    vec square;     /* mean of the squared distance from x, over `mean` */
} Tail;

#define FAR 1e8     /* beyond it all three fall as 1/x, and the products below could overflow */

/* With U = 2/(x + 3/(x + ...)), mean T = 1/(x + U), mass 1/(x + T), variance T (U - T). U is a ratio of polynomials
   with positive coefficients, fitted by tools/fit_normal_tail.py, so that nothing cancels. */
typedef struct {
    vec above, below;       /* U is their ratio, */
    vec q, r;               /* T is below/q, and the mass q/r */
} TailRatio;

static inline TailRatio tail_ratio(vec near)
{
    vec above = 2.172022171624314e-05 + near * 7.65511381568309e-07;
    above = 0.00031263806451746576 + near * above;
    above = 0.002929565495304475 + near * above;
    above = 0.01949994404168253 + near * above;
    above = 0.09525659221848824 + near * above;
    above = 0.3418192302740894 + near * above;
    above = 0.8738770117658025 + near * above;
    above = 1.4623454679507395 + near * above;
    above = 1.2533141373154983 + near * above;
    vec below = 1.0860110858118752e-05 + near * 3.8275569078415547e-07;
    below = 0.00015746729933243072 + near * below;
    below = 0.001497363079978513 + near * below;
    below = 0.010214336073043452 + near * below;
    below = 0.05189232165355844 + near * below;
    below = 0.19832509275767396 + near * below;
    below = 0.5634174804569939 + near * below;
    below = 1.1433026751120596 + near * below;
    below = 1.509237855727951 + near * below;
    below = 1.0 + near * below;
    vec q = near * below + above;
    return (TailRatio){above, below, q, near * q + below};
}

static inline Tail tail_beyond(vec x)
{
    vec near = smaller(x, fill(FAR));
    TailRatio u = tail_ratio(near);
    vec qr = u.q * u.r, inverse = 1.0 / (u.below * qr);         /* one division for all three */
    Tail tail = {u.q * (u.q * u.below) * inverse, u.below * (u.below * u.r) * inverse, u.above * qr * inverse};
    if (any(less(fill(FAR), x))) {
        vec ratio = near / larger(x, fill(FAR));
        ratio = select(less(fill(FAR), x), ratio, fill(1.0));
        tail.mass *= ratio;
        tail.mean *= ratio;
        tail.square *= ratio;
    }
    return tail;
}

/* The mass alone. */
static inline vec tail_mass(vec x)
{
    vec near = smaller(x, fill(FAR));
    TailRatio u = tail_ratio(near);
    vec mass = u.q / u.r;
    if (any(less(fill(FAR), x))) mass *= FAR / larger(x, fill(FAR));        /* 1 where x is near */
    return mass;
}

/* Variance of what lies beyond x. */
static inline vec tail_var(Tail tail) { return tail.mean * (tail.square - tail.mean); }

/* The same functions of a few numbers, in place, by the same arithmetic. */
static inline void exponentials_of(double* a, int n)
{
    double lane[LANES] = {0.0};
    memcpy(lane, a, (size_t)n * sizeof *a);
    for (int k = 0; k < n; k += WIDTH) store(lane + k, exponential(load(lane + k)));
    memcpy(a, lane, (size_t)n * sizeof *a);
}

static inline void logarithms_of(double* a, int n)
{
    double lane[LANES] = {1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0};
    memcpy(lane, a, (size_t)n * sizeof *a);
    for (int k = 0; k < n; k += WIDTH) store(lane + k, logarithm(load(lane + k)));
    memcpy(a, lane, (size_t)n * sizeof *a);
}

static inline double logarithm_of(double a)
{
    double lane[WIDTH];
    store(lane, logarithm(fill(a)));
    return lane[0];
}

#endif
