/* Evidence of one observation under each noise family: equations (G.1)-(G.10), and (H.31)-(H.35) of flexible noise.

   Everything is about η = (y - x'w)/σ, which is N(d, v) before y is seen. */

#ifndef ADABYPASS_NOISE_H
#define ADABYPASS_NOISE_H

#include "functions.h"
#include "simd_table.h"

/* `Evidence` for one vector of observations. The density of y is mass exp(log_unit)/σ, in two factors since most callers
   need no logarithm. */
typedef struct {
    vec mass, log_unit;
    vec shift;              /* posterior less prior mean of η */
    vec var;                /* posterior variance of η */
    vec scale_slope;        /* d log density / d log σ, of the density of y itself */
    vec epsilon_slope;      /* d log density / d ε */
} EvidenceLanes;

/* Noise that is a mixture of n normals of mean 0: equations (G.7), (G.9) and (G.10). */
static inline EvidenceLanes evidence_of_normals(const Normals* normals, const int n, vec d, vec v)
{
    EvidenceLanes seen;
    vec weight[MAX_NORMALS], inverse[MAX_NORMALS], square = d * d, total = fill(0.0);
    double widest_sq = normals->sq[n - 1];
    UNROLLED for (int j = n - 1; j >= 0; j--) {
        inverse[j] = 1.0 / (normals->sq[j] + v);
        /* the densities, over that of the widest, so that no exponent is positive */
        weight[j] = normals->share[j] * root(inverse[j]);
        if (j < n - 1)
            weight[j] *= exponential_beside_one(
                -0.5 * (d * inverse[n - 1]) * (d * inverse[j]) * (widest_sq - normals->sq[j]));
        total += weight[j];
    }
    seen.mass = total * INV_SQRT_2PI;
    seen.log_unit = -0.5 * (d * (d * inverse[n - 1]));
    /* averages over the normals: of their precisions, of the noise's share in their variances, and of the product */
    vec prec = fill(0.0), noise = fill(0.0), both = fill(0.0), apart = fill(0.0), part[MAX_NORMALS];
    total = 1.0 / total;
    UNROLLED for (int j = 0; j < n; j++) {
        weight[j] *= total;
        part[j] = normals->sq[j] * inverse[j];
        vec weighted = weight[j] * inverse[j];
        prec += weighted;
        both += weighted * part[j];
        noise += weight[j] * part[j];
    }
    UNROLLED for (int j = 0; j < n; j++) apart += weight[j] * ((part[j] - noise) * (part[j] - noise));
    vec signal = v * prec;
    seen.shift = -(d * signal);
    seen.var = v * noise + square * apart;
    seen.scale_slope = square * both + signal - 1.0;
    seen.epsilon_slope = fill(0.0);
    return seen;
}

/* Mean of a mixture of the normals of flexible noise, or of what stands in place of their centres. */
static inline double flexible_mean(const double* center, const double* share)
{
    double mean = 0.0;
    for (int j = 0; j < N_FLEXIBLE_NORMALS; j++) mean += share[j] * center[j];
    return mean;
}

/* Variance of flexible noise. */
static inline double flexible_var(const FlexibleNormals* normals, const double* share)
{
    double mean = flexible_mean(normals->center, share), var = 0.0;
    for (int j = 0; j < N_FLEXIBLE_NORMALS; j++) {
        double apart = normals->center[j] - mean;
        var += share[j] * (normals->sq[j] + apart * apart);
    }
    return var;
}

/* Flexible noise, of shares whose normals have mean `mean`: equations (H.32)-(H.35). In `weight` the probability that
   the observation came from each normal. */
static inline EvidenceLanes evidence_of_flexible(
    const FlexibleNormals* normals, const double* share, double mean, vec d, vec v, vec* weight)
{
    EvidenceLanes seen;
    const int last = N_FLEXIBLE_NORMALS - 1;
    const double* center = normals->center;
    const double* sq = normals->sq;
    vec inverse[N_FLEXIBLE_NORMALS], rooted[N_FLEXIBLE_NORMALS], error[N_FLEXIBLE_NORMALS], at = d + mean,
        total = fill(0.0);
    for (int j = last; j >= 0; j--) {
        int twin = normals->twin[j];
        inverse[j] = twin == j ? 1.0 / (sq[j] + v) : inverse[twin];
        rooted[j] = twin == j ? root(inverse[j]) : rooted[twin];
        error[j] = at - center[j];
        /* the densities, over that of the widest, so that no exponent is above 0.1 */
        weight[j] = share[j] * rooted[j];
        if (j < last) {
            vec narrower = (sq[last] - sq[j]) * (error[j] * inverse[j]) * (error[j] * inverse[last]);
            vec nearer = center[j] * ((2.0 * at - center[j]) * inverse[last]);
            weight[j] *= exponential_beside_one(-0.5 * (narrower - nearer));
        }
        total += weight[j];
    }
    seen.mass = total * INV_SQRT_2PI;
    seen.log_unit = -0.5 * (at * (at * inverse[last]));
    vec pull = fill(0.0), noise = fill(0.0), eta = fill(0.0), slope = fill(0.0), apart = fill(0.0),
        own[N_FLEXIBLE_NORMALS];
    total = 1.0 / total;
    for (int j = 0; j < N_FLEXIBLE_NORMALS; j++) {
        vec part = sq[j] * inverse[j], precise = error[j] * inverse[j];
        weight[j] *= total;
        own[j] = center[j] - mean + error[j] * part;        /* of η, under this normal */
        pull += weight[j] * precise;
        noise += weight[j] * part;
        eta += weight[j] * own[j];
        slope += weight[j] * (own[j] * precise + v * inverse[j]);
    }
    for (int j = 0; j < N_FLEXIBLE_NORMALS; j++) apart += weight[j] * ((own[j] - eta) * (own[j] - eta));
    seen.shift = -(v * pull);
    seen.var = v * noise + apart;
    seen.scale_slope = slope - 1.0;
    seen.epsilon_slope = fill(0.0);
    return seen;
}

#define NEGLIGIBLE_SHARE 1e-20      /* a share that no digit of the sum shows */
#define FLAT 0.05       /* fall of the log density over an interval, below which a short series is exact */

/* The standard normal on [near, far], near + far >= 0. */
typedef struct {
    vec mass;       /* over its density at the interval's point nearest to 0 */
    vec mean;       /* less that point */
    vec var;
} Interval;

/* What stands between the noise's flat top and N(d, v), in standard deviations s of the latter. */
typedef struct {
    vec near, far, width;       /* ends of the flat top, seen from |d| */
    vec right_at, left_at;      /* where the normal is cut that is the right tail's product with N(d, v), or the left's */
    vec damping;                /* density at the far end beside that at the near one */
    vec density;                /* exp(-t²/2) at t = near if that is negative, at right_at if that is; else 1 */
    mask inside, beyond;        /* whether near < 0, right_at < 0: never both */
    mask has_far;               /* whether what lies beyond the far end shows */
    mask narrow;                /* whether the density hardly falls over the flat top */
    vec s;                      /* the unit */
} Geometry;

static inline Geometry geometry(vec distance, vec s, vec epsilon)
{
    Geometry at;
    vec inverse = 1.0 / s, zero = fill(0.0);
    at.near = (distance - epsilon) * inverse;
    at.far = (distance + epsilon) * inverse;
    at.width = 2.0 * epsilon * inverse;
    at.right_at = s - at.near;
    at.left_at = at.far + s;
    at.inside = less(at.near, zero);
    at.beyond = less(at.right_at, zero);
    at.damping = exponential(-2.0 * (distance * inverse) * (epsilon * inverse));
    vec cut = select(at.beyond, at.right_at, smaller(at.near, zero));
    at.density = exponential(-0.5 * cut * cut);
    at.has_far = less(fill(NEGLIGIBLE_SHARE), at.damping);
    at.narrow = less(at.width * (larger(at.near, zero) + 0.5 * at.width), fill(FLAT));
    at.s = s;
    return at;
}

/* The interval by powers of its half-width h, where the density hardly falls: with u = -1 at the near end and 1 at the
   far one, exp(-α u - β u²/2) = Σ c_n u^n, α = (near + far)/2 h, β = h². */
static inline Interval narrow_interval(const Geometry* at)
{
    Interval part;
    vec half = 0.5 * at->width, alpha = 0.5 * (at->near + at->far) * half, beta = half * half;
    vec even = fill(1.0), odd = -alpha, mass = fill(1.0), first = odd * (1.0 / 3.0), second = fill(1.0 / 3.0);
    for (int n = 2; n <= 8; n += 2) {
        even = -(alpha * odd + beta * even) * (1.0 / n);
        odd = -(alpha * even + beta * odd) * (1.0 / (n + 1));
        mass += even * (1.0 / (n + 1));
        first += odd * (1.0 / (n + 3));
        second += even * (1.0 / (n + 3));
    }
    vec fall = alpha - 0.5 * beta, density = 1.0 - fall * (1.0 / 7.0);      /* exp(-fall): the middle's, over the near end's */
    for (int n = 6; n >= 1; n--) density = 1.0 - fall * density * (1.0 / n);
    vec inverse = 1.0 / mass;
    first *= inverse;
    part.mass = at->width * (mass * density) * select(at->inside, at->density, fill(1.0));
    part.mean = smaller(at->near, fill(0.0)) + half * (1.0 + first);
    part.var = beta * (second * inverse - first * first);
    return part;
}

/* The interval as what its ends leave of the whole normal, or of the tail beyond `near`. */
static inline Interval wide_interval(const Geometry* at, Tail near, Tail far)
{
    Interval part;
    mask has_far = at->has_far;
    vec far_mass = fill(0.0), far_first = fill(0.0), far_second = fill(0.0);
    if (any(has_far)) {
        far_mass = zero_unless(has_far, at->damping * far.mass);
        far_first = zero_unless(has_far, far_mass * (far.mean + at->width));
        far_second = far_mass * (far.mean * far.square + at->width * (2.0 * far.mean + at->width));
        far_second = zero_unless(has_far, far_second);
    }
    vec near_first = near.mass * near.mean;
    part.mass = near.mass - far_mass;
    vec inverse = 1.0 / part.mass;
    part.mean = (near_first - far_first) * inverse;
    part.var = (near_first * near.square - far_second) * inverse - part.mean * part.mean;
    if (any(at->inside)) {
        vec far_density = zero_unless(has_far, at->density * at->damping);
        vec mass = SQRT_2PI - at->density * (near.mass + far_mass);
        inverse = 1.0 / mass;
        vec mean = (at->density - far_density) * inverse;
        vec rise = zero_unless(has_far, at->far * far_density);
        vec var = 1.0 + (at->near * at->density - rise) * inverse - mean * mean;
        part.mass = select(at->inside, mass, part.mass);
        part.mean = select(at->inside, mean, part.mean);
        part.var = select(at->inside, var, part.var);
    }
    part.var = larger(part.var, fill(0.0));
    return part;
}

static inline Interval flat_interval(const Geometry* at, Tail near, Tail far)
{
    if (!any(at->narrow)) return wide_interval(at, near, far);
    Interval part = narrow_interval(at);
    if (!any(~at->narrow)) return part;
    Interval wide = wide_interval(at, near, far);
    part.mass = select(at->narrow, part.mass, wide.mass);
    part.mean = select(at->narrow, part.mean, wide.mean);
    part.var = select(at->narrow, part.var, wide.var);
    return part;
}

/* What the three pieces of the posterior, on the flat top and both tails of the noise, say together: (G.1)-(G.6). */
static inline EvidenceLanes join_pieces(
    const Geometry* at, Interval flat, Tail right, Tail left, vec d, vec v, vec epsilon)
{
    EvidenceLanes seen;
    vec distance = absolute(d), s = at->s, base = smaller(distance, epsilon);

    /* the right tail, also where most of the normal lies in it */
    vec whole = SQRT_2PI - at->density * right.mass, hazard = at->density / whole;
    vec right_mean = select(at->beyond, hazard - at->right_at, right.mean);
    vec right_var = select(at->beyond, 1.0 - hazard * right_mean, tail_var(right));

    /* masses, in units of the density at ε, or of what lies nearest to |d|: (G.2) */
    vec unit = at->density * select(at->beyond, fill(INV_SQRT_2PI), fill(1.0));
    vec flat_share = flat.mass * select(at->inside, fill(1.0), unit);
    vec right_share = select(at->beyond, whole * INV_SQRT_2PI, unit * right.mass);
    vec left_share = zero_unless(at->has_far, unit * (at->damping * left.mass));
    vec outside = larger(at->near, fill(0.0));
    seen.log_unit = select(at->beyond, epsilon - distance + 0.5 * v, -HALF_LOG_2PI - 0.5 * (outside * outside));
    vec total = left_share + (flat_share + right_share), inverse = 1.0 / total, height = 1.0 / (1.0 + epsilon);
    left_share *= inverse;
    flat_share *= inverse;
    right_share *= inverse;

    vec beyond_right = s * right_mean, beyond_left = s * left.mean;
    vec to_flat = -s * flat.mean, to_right = epsilon - base + beyond_right, to_left = -(epsilon + base) - beyond_left;
    vec mean = flat_share * to_flat + right_share * to_right + left_share * to_left;    /* seen from `base` */
    to_flat -= mean;
    to_right -= mean;
    to_left -= mean;
    vec apart = left_share - right_share;
    mask one_sided = less(v, fill(1.0)) | less(apart, fill(-0.5));
    vec shift = select(one_sided, v * apart, base - distance + mean);                   /* (G.3) */
    seen.mass = total * (0.5 * height);                                                 /* (G.1) */
    seen.shift = times_sign_of(shift, d);
    seen.var = flat_share * (v * flat.var + to_flat * to_flat)                          /* (G.4) */
        + right_share * (v * right_var + to_right * to_right)
        + left_share * (v * tail_var(left) + to_left * to_left);
    seen.scale_slope = right_share * (epsilon + beyond_right) + left_share * (epsilon + beyond_left) - 1.0;  /* (G.5) */
    seen.epsilon_slope = right_share + left_share - height;                             /* (G.6) */
    return seen;
}

/* Noise with a flat top and Laplace tails: equations (G.1)-(G.6). */
static inline EvidenceLanes insensitive_evidence(vec d, vec v, vec epsilon)
{
    Tail none = {fill(0.0), fill(0.0), fill(0.0)};
    Geometry at = geometry(absolute(d), root(v), epsilon);
    bool has_far = any(at.has_far), wide = any(~at.narrow);
    Tail right = tail_beyond(absolute(at.right_at)), left = has_far ? tail_beyond(at.left_at) : none;
    Tail near = wide ? tail_beyond(absolute(at.near)) : none, far = wide && has_far ? tail_beyond(at.far) : none;
    return join_pieces(&at, flat_interval(&at, near, far), right, left, d, v, epsilon);
}

/* The evidence of whichever family of noise this is; n is the number of its normals. */
static inline EvidenceLanes family_evidence(const Normals* normals, const int n, vec d, vec v, vec epsilon)
{
    return n > 0 ? evidence_of_normals(normals, n, d, v) : insensitive_evidence(d, v, epsilon);
}

#endif
