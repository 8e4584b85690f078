/* The distribution function of a mixture of normals and of smoothed insensitive noise: equation (G.13). */

#ifndef ADABYPASS_TAILS_H
#define ADABYPASS_TAILS_H

#include "functions.h"
#include "simd_table.h"

/* What lies below a point, the density there, and its slope: sums over all components, lane by lane. */
typedef struct {
    vec below, density, slope;
} TailSums;

/* Normals: `side` is 1, or -1 for what lies above. */
static inline void add_normals(const MixtureLanes* mix, ptrdiff_t k, double y, double side, TailSums* sums)
{
    vec weight = load(mix->weight + k), inverse = load(mix->inverse_sd + k);
    vec d = clamp(side * (y - load(mix->mean + k)) * inverse, -1e100, 1e100);
    vec bell = INV_SQRT_2PI * exponential(-0.5 * d * d), outside = bell * tail_mass(absolute(d));
    vec density = weight * bell * inverse;
    sums->below += weight * select(less(d, fill(0.0)), outside, 1.0 - outside);
    sums->density += density;
    sums->slope -= density * (d * inverse);
}

/* Insensitive noise plus a normal of standard deviation s. With G(x) = xΦ(x) + φ(x), Φ(-x) = φ(x) M(x) and
   G(-x) = φ(x) M(x) T(x), where M and T are mass and mean of the tail beyond x, nothing cancels far out. */
static inline void add_shaped(const MixtureLanes* mix, ptrdiff_t k, double y, double side, TailSums* sums)
{
    vec zero = fill(0.0), weight = load(mix->shaped_weight + k), inverse = load(mix->shaped_inverse_scale + k);
    vec epsilon = load(mix->shaped_epsilon + k), s = load(mix->shaped_signal_sd + k), over_s = 1.0 / s;
    vec d = clamp(side * (y - load(mix->shaped_mean + k)) * inverse, -1e100, 1e100), distance = absolute(d);
    vec near_at = (epsilon - distance) * over_s, far_at = (epsilon + distance) * over_s, b = -near_at - s;
    mask far_out = less(zero, b);       /* beyond the smoothed end of the flat top */

    vec bell = INV_SQRT_2PI * exponential(-0.5 * near_at * near_at);
    Tail near = tail_beyond(absolute(near_at));
    vec outside = bell * near.mass, rise = outside * near.mean;
    vec top = select(less(near_at, zero), outside, 1.0 - outside);
    vec total = s * (larger(near_at, zero) + rise) + top, smoothed = bell * tail_mass(absolute(b));
    if (any(far_out)) smoothed = select(far_out, exponential(epsilon - distance + 0.5 * s * s) - smoothed, smoothed);
    total += smoothed;
    vec density = top + smoothed, slope = smoothed;

    vec far_bell = INV_SQRT_2PI * exponential(-0.5 * far_at * far_at);
    if (any(less(zero, far_bell))) {
        Tail far = tail_beyond(far_at);
        vec far_top = far_bell * far.mass, far_smoothed = far_bell * tail_mass(far_at + s);
        total += far_top - s * (far_top * far.mean) - far_smoothed;
        density += far_smoothed - far_top;
        slope -= far_smoothed;
    }
    vec unit = 0.5 / (1.0 + epsilon), below = larger(unit * total, zero);
    density = weight * unit * inverse * larger(density, zero);
    sums->below += weight * select(less(d, zero), below, 1.0 - below);
    sums->density += density;
    sums->slope += times_sign_of(weight * unit * inverse * inverse * slope, -d);
}

/* P(Y < y) if side is 1, P(Y > y) if it is -1; the density at y, and its slope towards that side. */
static TailValues mixture_tail(const MixtureLanes* mix, double y, double side)
{
    TailSums part[PARTS];
    double lane[3][LANES];
    for (int each = 0; each < PARTS; each++) part[each] = (TailSums){fill(0.0), fill(0.0), fill(0.0)};
    for (ptrdiff_t k = 0; k < mix->n_normals; k += LANES)
        for (int each = 0; each < PARTS; each++) add_normals(mix, k + each * WIDTH, y, side, &part[each]);
    for (ptrdiff_t k = 0; k < mix->n_shaped; k += LANES)
        for (int each = 0; each < PARTS; each++) add_shaped(mix, k + each * WIDTH, y, side, &part[each]);
    for (int each = 0; each < PARTS; each++) {
        store(lane[0] + each * WIDTH, part[each].below);
        store(lane[1] + each * WIDTH, part[each].density);
        store(lane[2] + each * WIDTH, part[each].slope);
    }
    return (TailValues){sum_lanes(lane[0]), sum_lanes(lane[1]), sum_lanes(lane[2])};
}

#endif
