/* The hottest functions, compiled once for each instruction set: one `SimdTable` for each set, of which the fastest
   that the machine can run is chosen at import. Cython sees it as `SIMD`; numerics/dispatch.pxd mirrors this file. */

#ifndef ADABYPASS_SIMD_TABLE_H
#define ADABYPASS_SIMD_TABLE_H

#include <stddef.h>

#define OPENED 104          /* size of the memory for a Bank, in doubles */
#define LANES 8             /* number of walks in a bank, of noise models at most, and of components in a block */
#define MAX_NORMALS 8       /* of a mixture of normals of mean 0: `NORMALS` of numerics/noise.py */

/* Noise that is a mixture of normals of mean 0. */
typedef struct {
    int n;                          /* number of normals; 0 for insensitive noise, which is no such mixture */
    double share[MAX_NORMALS];
    double sq[MAX_NORMALS];        /* their variances, in ascending order */
} Normals;

#define N_FLEXIBLE_NORMALS 12

/* The normals of which flexible noise is a mixture, less its mean: the last is the widest, so wide that nowhere it lies
   far below another, and its centre is 0. */
typedef struct {
    double center[N_FLEXIBLE_NORMALS];
    double sq[N_FLEXIBLE_NORMALS];       /* their variances */
    int twin[N_FLEXIBLE_NORMALS];        /* index of the last normal with the same variance */
} FlexibleNormals;

/* The range of every number that a bank keeps: numerics/limits.py. */
typedef struct {
    double max_value, max_weight, max_distance, min_signal, max_log_noise_scale, resolution, rounding;
    double max_explained, max_spread;
} Limits;

/* Evidence of one observation about η = (y - x'w)/σ, whose prior is N(d, v). */
typedef struct {
    double log_density;     /* of y, times σ */
    double shift;           /* posterior less prior mean of η */
    double var;             /* posterior variance of η */
    double scale_slope;     /* d log density / d log σ, of the density of y itself */
    double epsilon_slope;   /* d log density / d ε */
} Evidence;

/* The components of a mixture: normals, and insensitive noise plus a normal. Their numbers are multiples of LANES. */
typedef struct {
    ptrdiff_t n_normals, n_shaped;
    double* weight;
    double* mean;
    double* inverse_sd;
    double* shaped_weight;
    double* shaped_mean;
    double* shaped_inverse_scale;
    double* shaped_epsilon;
    double* shaped_signal_sd;       /* in units of the noise's scale */
} MixtureLanes;

typedef struct {
    double tail, density, slope;
} TailValues;

/* Functions of functions.h, for tests. */
enum { EXPONENTIAL, LOGARITHM, TAIL_MASS, TAIL_MEAN, TAIL_VAR };

/* How a symmetric matrix A changes: its diagonal is set to `diagonal`, unless that is NULL; then
   A += factor * outer(a, a) if b is NULL, else A += factor * (outer(a, b) + outer(b, a)), and what is not above
   `negligible` in size becomes 0. */
typedef struct {
    double factor;
    double negligible;      /* below 0 if all stays */
    const double* a;
    const double* b;
    const double* diagonal;
} Update;

/* Weights of mean m and covariance S, seen from features x. */
typedef struct {
    double prior_var;       /* x @ S @ x */
    double square;          /* x @ x */
    double product;         /* x @ m */
} Projection;

/* How an observation changes the weights. */
typedef struct {
    double drift_var;       /* P = S + drift_var * eye(n) */
    double rounding;        /* relative, of one operation on P */
    double D;               /* variance by which the update divides */
    double move;            /* m += move * P @ x */
    double bound;           /* of a weight's size */
    double explained;       /* P -= explained * P @ x (P @ x)' / D */
} Conditioning;

/* How an observation changes the gradients of the weights' mean and covariance. */
typedef struct {
    double D;               /* g = p / D */
    double left;            /* 1 - x @ g */
    double pull;
    double bound;           /* of a gradient's size */
    double negligible;      /* what is not above it in size becomes 0 */
} GradientMove;

/* Where the forecasts of a bank's filters are written. */
typedef struct {
    double* weight;         /* share of each filter in the mixture */
    double* mean;           /* of each walk */
    double* signal_var;     /* of x'w */
    double* noise_scale;    /* of each filter */
    double* epsilon;        /* of each whose noise is insensitive */
} FilterForecasts;

struct Bank;

typedef struct {
    const char* name;
    /* noise.h */
    Evidence (*evidence)(const Normals* normals, double d, double v, double epsilon);
    Evidence (*flexible_evidence)(const FlexibleNormals* normals, const double* share, double d, double v);
    /* mixing.h */
    void (*bank_forecast)(struct Bank* bank, double* mean, double* var);
    void (*bank_describe)(const struct Bank* bank, double base, const FilterForecasts* out);
    void (*bank_learn)(struct Bank* bank, double y);
    /* simd_table.c */
    void (*inverse_roots)(double* a, ptrdiff_t n);      /* a <- 1/sqrt(a); n is a multiple of LANES */
    /* tails.h */
    TailValues (*mixture_tail)(const MixtureLanes* mix, double y, double side);
    /* impulse.h */
    void (*follow_impulse)(
        ptrdiff_t m, ptrdiff_t n_lags, const ptrdiff_t* lags, const double* weights, ptrdiff_t n_steps, double bound,
        double* response, double* late, double* early);
    /* lanes.h */
    double (*dot)(ptrdiff_t n, const double* a, const double* b);
    double (*max_abs)(ptrdiff_t n, const double* a);
    /* triangle.h */
    void (*update)(ptrdiff_t n, const Update* by, double* A);
    void (*multiply)(ptrdiff_t n, const Update* by, double* A, const double* x, double* out, double* diagonal);
    /* weights.h */
    Projection (*project)(
        ptrdiff_t n, const double* m, const Update* by, double* S, const double* x, double* p, double* diagonal);
    double (*condition)(
        ptrdiff_t n, const Conditioning* by, const double* x, double* p, double* diagonal, double* m);
    double (*move_gradient)(
        ptrdiff_t n, const GradientMove* by, const double* x, const double* p, const double* v, double* g, double* a,
        double* gradient);
    /* functions.h, for tests */
    void (*apply)(int function, const double* a, double* out, ptrdiff_t n);
} SimdTable;

extern const SimdTable adabypass_plain, adabypass_baseline, adabypass_avx2, adabypass_avx512;

/* The tables that were built, from the slowest to the fastest; NULL for one that this machine cannot run. */
int adabypass_count(void);
const SimdTable* adabypass_table(int index);

#endif
