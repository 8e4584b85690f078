/* The table of one instruction set: compiled once for each, with SET its name. */

#include "kernels.h"
#include "noise.h"
#include "weights.h"

static Evidence first_lane(EvidenceLanes seen)
{
    double lane[5][WIDTH];
    store(lane[0], seen.log_density);
    store(lane[1], seen.shift);
    store(lane[2], seen.var);
    store(lane[3], seen.scale_slope);
    store(lane[4], seen.epsilon_slope);
    return (Evidence){lane[0][0], lane[1][0], lane[2][0], lane[3][0], lane[4][0]};
}

static Evidence one_normals_evidence(const Normals* normals, double d, double v)
{
    return first_lane(normals_evidence(normals, fill(d), fill(v)));
}

static Evidence one_insensitive_evidence(double d, double v, double epsilon)
{
    return first_lane(insensitive_evidence(fill(d), fill(v), fill(epsilon)));
}

static vec call(int function, vec a)
{
    switch (function) {
    case EXPONENTIAL: return exponential(a);
    case LOGARITHM: return logarithm(a);
    case TAIL_MASS: return tail_beyond(a).mass;
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

const Kernels TABLE(SET) = {
    .name = TEXT(SET),
    .width = WIDTH,
    .normals_evidence = one_normals_evidence,
    .insensitive_evidence = one_insensitive_evidence,
    .dot = dot_product,
    .largest_size = largest_size,
    .multiply = multiply,
    .add_outer_pair = add_outer_pair,
    .project = project,
    .condition = condition,
    .apply = apply,
};
