/* The filters of a bank, each a walk with a noise model: their forecasts, with the variance (H.17) of a walk's noise,
   and their evidence from an observation, in standard units. The equations are in walks.h, filter_noise.h and noise.h. */

#ifndef ADABYPASS_FILTERS_H
#define ADABYPASS_FILTERS_H

#include "walks.h"

/* The forecasts of all walks, the noise of all filters, and the variance of a walk's noise over its filters. */
static void forecast_filters(Bank* bank)
{
    double least = min_scale(bank), season = season_effect(bank);
    forecast_walks(bank);
    for (ptrdiff_t k = 0; k < bank->n_filters; k += WIDTH) find_noise(bank, k, least, season);
    vec flexible = fill(flexible_var(bank->flexible, bank->normal_share));
    for (ptrdiff_t k = 0; k < bank->n_flexible; k += WIDTH) store(bank->noise_var + k, flexible);
    for (ptrdiff_t lane = 0; lane < LANES; lane += WIDTH) {
        vec noise = fill(0.0);
        for (ptrdiff_t k = lane; k < bank->n_filters; k += LANES) {
            vec scale = load(bank->scale + k);
            noise += load(bank->filter_share + k) * (scale * scale * load(bank->noise_var + k));
        }
        store(bank->walk_noise + lane, noise / load(bank->walk_share + lane));                  /* (H.17) */
    }
}

/* Distance of the observation from the forecasts of the filters from k on, and their signals' variance. */
static inline void measure(Bank* bank, ptrdiff_t k, const Observation* seen)
{
    const Limits* limits = bank->limits;
    double unit = bank->row[Y_SCALE];
    vec scale = load(bank->scale + k), inverse = 1.0 / scale, mean = load(bank->mean + k % LANES);
    vec d = (seen->y - mean) * inverse, v = load(bank->h + k % LANES) * inverse * inverse;
    mask shows = less(scale, fill(seen->rounded));
    if (any(shows))     /* then what is given counts: the mixture's weights go by its density */
        d = select(shows, (seen->observed - (bank->row[Y_CENTER] + unit * mean)) / (unit * scale), d);
    store(bank->inverse_scale + k, inverse);
    store(bank->d + k, clamp(d, -limits->max_distance, limits->max_distance));
    store(bank->v + k, clamp(v, limits->min_signal, 1.0 / limits->min_signal));
}

/* Store the evidence of the observation for the filters from k on. */
static inline void keep_evidence(Bank* bank, ptrdiff_t k, EvidenceLanes seen)
{
    store(bank->mass + k, seen.mass);
    store(bank->log_unit + k, seen.log_unit);
    store(bank->shift + k, seen.shift);
    store(bank->posterior_var + k, seen.var);
    store(bank->scale_slope + k, seen.scale_slope);
    store(bank->epsilon_slope + k, seen.epsilon_slope);
}

/* Evidence for the filters from `first` up to `stop`, whose noise is of one family: a mixture of n normals. */
INLINE void weigh_family(Bank* bank, ptrdiff_t first, ptrdiff_t stop, const Normals* normals, const int n)
{
    for (ptrdiff_t k = first; k < stop; k += WIDTH)
        keep_evidence(
            bank, k, family_evidence(normals, n, load(bank->d + k), load(bank->v + k), load(bank->filter_epsilon + k)));
}

/* Evidence for the filters of flexible noise, and the posterior shares of their normals. */
static inline void weigh_flexible(Bank* bank)
{
    const double* share = bank->normal_share;
    double mean = flexible_mean(bank->flexible->center, share);
    for (ptrdiff_t k = 0; k < bank->n_flexible; k += WIDTH) {
        vec weight[N_FLEXIBLE_NORMALS];
        keep_evidence(bank, k,
            evidence_of_flexible(bank->flexible, share, mean, load(bank->d + k), load(bank->v + k), weight));
        for (int j = 0; j < N_FLEXIBLE_NORMALS; j++) store(bank->responsibility + j * bank->n_flexible + k, weight[j]);
    }
}

/* Evidence for every filter, one noise family after the other: filters are grouped by family, flexible noise first. */
static inline void weigh_evidence(Bank* bank)
{
    const double* family = setting(bank, FAMILY);
    ptrdiff_t first = bank->n_flexible;
    weigh_flexible(bank);
    while (first < bank->n_filters) {
        ptrdiff_t stop = first;
        const Normals* normals = bank->normals + (int)family[first];
        while (stop < bank->n_filters && family[stop] == family[first]) stop += LANES;
        switch (normals->n) {       /* with the loops unrolled for the numbers that are in use */
        case 0: weigh_family(bank, first, stop, normals, 0); break;
        case 1: weigh_family(bank, first, stop, normals, 1); break;
        case 4: weigh_family(bank, first, stop, normals, 4); break;
        case 5: weigh_family(bank, first, stop, normals, 5); break;
        default: weigh_family(bank, first, stop, normals, normals->n);
        }
        first = stop;
    }
}

/* Let the noise of every filter learn from y, in standard units; `observed` is y in the user's units. nan lets
   time pass. The evidence for each filter is left for the mixture and for the walks. */
static void learn_filters(Bank* bank, double y, double observed)
{
    Observation seen = observe(bank, y, observed);
    if (isnan(y)) {
        for (ptrdiff_t lane = 0; lane < LANES; lane += WIDTH) pass_walks(bank, lane);
        fade(bank);
        return;
    }
    for (ptrdiff_t k = 0; k < bank->n_filters; k += WIDTH) measure(bank, k, &seen);
    weigh_evidence(bank);
    for (ptrdiff_t lane = 0; lane < LANES; lane += WIDTH) count_outliers(bank, lane, y);
    for (ptrdiff_t k = 0; k < bank->n_filters; k += WIDTH) learn_scale(bank, k, &seen);
    learn_volatility(bank);
    if (has_season(bank)) learn_season(bank);
    for (ptrdiff_t k = 0; k < bank->n_filters; k += WIDTH) learn_epsilon(bank, k, &seen);
}

#endif
