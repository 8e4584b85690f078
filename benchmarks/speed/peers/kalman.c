/* A Kalman filter for regression with drifting weights, as one writes it in C without a library, and a loop over BLAS.
 *
 * The covariance P is a full symmetric matrix of d x d numbers, stored by rows. P x is summed row by row, which equals
 * summing by columns because P is symmetric, and which the compiler can vectorise without reordering a sum.
 */

#include <stddef.h>

/* Let the weights drift and forecast: Px = P x, *var = x'Px + noise_var; return the mean x'm. */
double kalman_predict(ptrdiff_t d, const double *m, double *restrict P, const double *restrict x, double *restrict Px,
                      double drift_var, double noise_var, double *var)
{
    double mean = 0.0, spread = noise_var;
    for (ptrdiff_t i = 0; i < d; i++) Px[i] = 0.0;
    for (ptrdiff_t i = 0; i < d; i++) {
        const double *row = P + i * d;
        const double xi = x[i];
        P[i * d + i] += drift_var;
        for (ptrdiff_t j = 0; j < d; j++) Px[j] += xi * row[j];
    }
    for (ptrdiff_t i = 0; i < d; i++) {
        mean += x[i] * m[i];
        spread += x[i] * Px[i];
    }
    *var = spread;
    return mean;
}

/* Learn that y was seen where mean and var were forecast: m += Px (y - mean) / var, P -= Px Px' / var. */
void kalman_update(ptrdiff_t d, double *restrict m, double *restrict P, const double *restrict Px, double y, double mean,
                   double var)
{
    const double error = (y - mean) / var;
    for (ptrdiff_t i = 0; i < d; i++) {
        double *row = P + i * d;
        const double gain = Px[i] / var;
        m[i] += Px[i] * error;
        for (ptrdiff_t j = 0; j < d; j++) row[j] -= gain * Px[j];
    }
}

/* Forecast, then learn, for each of n rows. */
void kalman_run(ptrdiff_t n, ptrdiff_t d, const double *X, const double *y, double *m, double *P, double *Px,
                double drift_var, double noise_var, double *forecasts)
{
    for (ptrdiff_t t = 0; t < n; t++) {
        double var;
        forecasts[t] = kalman_predict(d, m, P, X + t * d, Px, drift_var, noise_var, &var);
        kalman_update(d, m, P, Px, y[t], forecasts[t], var);
    }
}

typedef void (*dspmv_function)(char *uplo, int *n, double *alpha, double *ap, double *x, int *incx, double *beta,
                               double *y, int *incy);
typedef void (*dspr_function)(char *uplo, int *n, double *alpha, double *x, int *incx, double *ap);

/* For each of n rows, and for each of k packed matrices of d x d: out = A x, then A += alpha x x'. */
void blas_run(dspmv_function dspmv, dspr_function dspr, ptrdiff_t n, int d, int k, double *X, double *packed,
              double *out, double alpha)
{
    char uplo = 'U';
    int one = 1;
    double unit = 1.0, zero = 0.0;
    const ptrdiff_t size = (ptrdiff_t)d * (d + 1) / 2;
    for (ptrdiff_t t = 0; t < n; t++)
        for (int i = 0; i < k; i++) {
            dspmv(&uplo, &d, &unit, packed + i * size, X + t * d, &one, &zero, out, &one);
            dspr(&uplo, &d, &alpha, X + t * d, &one, packed + i * size);
        }
}
