/* The `SimdTable` of one instruction set: compiled once for each, with SET its name. */

#include "impulse.h"
#include "simd_table.h"
#include "mixing.h"
#include "noise.h"
#include "weights.h"
#include "tails.h"

static Evidence first_lane(EvidenceLanes seen)
{
    double lane[5][WIDTH];
    store(lane[0], seen.log_unit + logarithm(seen.mass));
    store(lane[1], seen.shift);
    store(lane[2], seen.var);
    store(lane[3], seen.scale_slope);
    store(lane[4], seen.epsilon_slope);
    return (Evidence){lane[0][0], lane[1][0], lane[2][0], lane[3][0], lane[4][0]};
}

static Evidence evidence(const Normals* normals, double d, double v, double epsilon)
{
    return first_lane(family_evidence(normals, normals->n, fill(d), fill(v), fill(epsilon)));
}

static Evidence flexible_evidence(const FlexibleNormals* normals, const double* share, double d, double v)
{
    vec weight[N_FLEXIBLE_NORMALS];
    double mean = flexible_mean(normals->center, share);
    return first_lane(evidence_of_flexible(normals, share, mean, fill(d), fill(v), weight));
}

static void inverse_roots(double* a, ptrdiff_t n)
{
    for (ptrdiff_t k = 0; k < n; k += WIDTH) store(a + k, 1.0 / root(larger(load(a + k), fill(1e-300))));
}

static vec call(int function, vec a)
{
    switch (function) {
    case EXPONENTIAL: return exponential(a);
    case LOGARITHM: return logarithm(a);
    case TAIL_MASS: return tail_mass(a);
    case TAIL_MEAN: return tail_beyond(a).mean;
    default: return tail_var(tail_beyond(a));
    }
}

static void apply(int function, const double* a, double* out, ptrdiff_t n)
{
    for (ptrdiff_t i = 0; i < n; i++) {
        double lane[WIDTH];
        store(lane, call(function, fill(a[i])));
        out[i] = lane[0];
    }
}

#define TEXT_OF(name) #name
#define TEXT(name) TEXT_OF(name)
#define TABLE_OF(name) adabypass_##name
#define TABLE(name) TABLE_OF(name)

const SimdTable TABLE(SET) = {
    .name = TEXT(SET),
    .evidence = evidence,
    .flexible_evidence = flexible_evidence,
    .bank_forecast = bank_forecast,
    .bank_describe = bank_describe,
    .bank_learn = bank_learn,
    .inverse_roots = inverse_roots,
    .mixture_tail = mixture_tail,
    .follow_impulse = follow_impulse,
    .dot = dot_product,
    .max_abs = max_abs,
    .update = update,
    .multiply = multiply,
    .project = project,
    .condition = condition,
    .move_gradient = move_gradient,
    .apply = apply,
};
