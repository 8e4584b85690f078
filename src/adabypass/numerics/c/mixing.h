/* What the filters of a bank forecast and learn together: their mixture and its weights, the running means of features
   and y, the shape of flexible noise, shocks: equations (H.6), (H.29), (H.36), (H.44)-(H.47) and (J.6). */

#ifndef ADABYPASS_MIXING_H
#define ADABYPASS_MIXING_H

#include "filters.h"

static inline double saturate(const Bank* bank, double a)
{
    double most = bank->limits->max_value, low = a > -most ? a : -most;
    return low < most ? low : most;
}

/* Which of n shares is the largest. */
static ptrdiff_t best_of(const double* share, ptrdiff_t n)
{
    double top = largest(share, n);
    ptrdiff_t k = 0;
    while (k < n - WIDTH && !any(equal(load(share + k), fill(top)))) k += WIDTH;
    while (k < n - 1 && share[k] != top) k++;
    return k;
}

/* Mean and variance of the mixture, in the user's units, after `bank->z` is set. No walk, however
   small its share, counts as farther from the likeliest one, or as wider, than (J.6) says. The square of a tiny unit is
   0, but no variance is. */
static void bank_forecast(Bank* bank, double* mean, double* var)
{
    double unit = bank->row[Y_SCALE], most = bank->limits->max_value, center, spread, middle;
    ptrdiff_t best;
    forecast_filters(bank);
    best = best_of(bank->walk_share, LANES);
    center = bank->mean[best];
    spread = bank->limits->max_spread * sqrt(bank->h[best] + bank->walk_noise[best]);
    for (ptrdiff_t lane = 0; lane < LANES; lane += WIDTH)
        store(bank->term + lane, clamp(load(bank->mean + lane), center - spread, center + spread));
    middle = dot(bank->walk_share, bank->term, LANES);
    for (ptrdiff_t lane = 0; lane < LANES; lane += WIDTH) {
        vec apart = load(bank->term + lane) - middle;
        vec own = load(bank->h + lane) + load(bank->walk_noise + lane);
        store(bank->term + lane, smaller(own, fill(spread * spread)) + apart * apart);
    }
    *mean = saturate(bank, bank->row[Y_CENTER] + unit * middle);
    *var = saturate(bank, unit * (unit * dot(bank->walk_share, bank->term, LANES)));
    *var = *var * most >= 1.0 ? *var : 1.0 / most;
}

/* Write the filters' forecasts in the user's units, with `base` added to them, after `bank_forecast`. */
static void bank_describe(const Bank* bank, double base, const FilterForecasts* out)
{
    double center = bank->row[Y_CENTER], unit = bank->row[Y_SCALE], most = bank->limits->max_value,
        *epsilon = out->epsilon;
    ptrdiff_t n = bank->n_filters;
    memcpy(out->weight, bank->filter_share, (size_t)n * sizeof(double));
    for (ptrdiff_t lane = 0; lane < LANES; lane += WIDTH) {
        vec mean = clamp(center + unit * load(bank->mean + lane), -most, most);
        store(out->mean + lane, clamp(mean + base, -most, most));
        store(out->signal_var + lane, smaller(unit * (unit * load(bank->h + lane)), fill(most)));
    }
    for (ptrdiff_t k = 0; k < n; k += WIDTH) store(out->noise_scale + k, smaller(unit * load(bank->scale + k), fill(most)));
    for (ptrdiff_t block = 0; block < n; block += LANES)
        if (setting(bank, NOISE_VAR)[block] == 0.0) {
            memcpy(epsilon, bank->filter_epsilon + block, LANES * sizeof(double));
            epsilon += LANES;
        }
}

/* Densities of the filters, in place of `mass`, in units of exp(top); return top. No logarithm is needed: the power of
   two of a mass goes into its exponent. */
static double find_densities(Bank* bank)
{
    ptrdiff_t K = bank->n_filters;
    double top;
    for (ptrdiff_t k = 0; k < K; k += WIDTH) {
        vec mass = load(bank->mass + k) * load(bank->inverse_scale + k);
        store(bank->mass + k, binary_fraction(mass));
        store(bank->log_unit + k, load(bank->log_unit + k) + LN2 * binary_exponent(mass));
    }
    top = largest(bank->log_unit, K);
    for (ptrdiff_t k = 0; k < K; k += WIDTH)
        store(bank->mass + k, load(bank->mass + k) * exponential(load(bank->log_unit + k) - top));
    return top;
}

/* Rate at which the best filter may give way to another: those of the settings, and one that falls. */
static inline double switching_rate(const Bank* bank, ptrdiff_t s)
{
    return s < bank->n_rates - 1 ? bank->switching_rates[s] : 1.0 / (bank->row[N_SEEN] + 2.0);
}

/* Move the shares of the normals of flexible noise to those that y came from, by the filters' posterior shares:
   (H.36). */
static void learn_shape(Bank* bank)
{
    const double* constants = bank->constants;
    double* share = bank->normal_share;
    ptrdiff_t n = bank->n_flexible;
    double seen = bank->row[N_SEEN], prior = constants[NORMAL_SHARE_PRIOR], speed = constants[NORMAL_SHARE_SPEED];
    double rate = speed / (seen + 1.0 + speed * prior), pull = prior / (seen + 1.0 + prior), total = 0.0, inverse;
    rate = rate > constants[NORMAL_SHARE_RATE] ? rate : constants[NORMAL_SHARE_RATE];
    pull = pull > constants[NORMAL_SHARE_PULL] ? pull : constants[NORMAL_SHARE_PULL];
    for (ptrdiff_t k = 0; k < n; k++) total += bank->term[k] = bank->filter_share[k] * bank->mass[k];
    if (!(total > 1e-280)) return;      /* no filter of flexible noise has any share in what was seen */
    inverse = 1.0 / total;
    for (int j = 0; j < N_FLEXIBLE_NORMALS; j++) {
        double here = dot(bank->term, bank->responsibility + j * n, n) * inverse;
        share[j] += rate * ((1.0 - pull) * here + pull * bank->flexible_start[j] - share[j]);
    }
}

/* Move the filters' shares to those that foresaw y, then a little to all of them: equations (H.44) and (H.45).
   Densities are in units of exp(top). */
static void reweigh(Bank* bank, double top)
{
    ptrdiff_t K = bank->n_filters;
    const double* prior = setting(bank, PRIOR_SHARE);
    const double* density = bank->mass;
    double total = dot(bank->filter_share, density, K), of_one[2] = {total, bank->row[Y_SCALE]};
    double hyper_rate = bank->constants[HYPER_SWITCHING_RATE], even = 1.0 / (double)bank->n_rates, inverse = 1.0 / total;
    logarithms_of(of_one, 2);
    learn_shape(bank);
    bank->row[LOG_SCORE] = top + of_one[0] - of_one[1];
    for (ptrdiff_t s = 0; s < bank->n_rates; s++) {
        double* rated = bank->rated_share + s * K;
        double rate = switching_rate(bank, s), subtotal = dot(rated, density, K), kept = (1.0 - rate) / subtotal;
        double weight = bank->rate_share[s] * (subtotal * inverse);                             /* (H.45) */
        bank->rate_share[s] = weight += hyper_rate * (even - weight);
        for (ptrdiff_t k = 0; k < K; k += WIDTH) {
            vec share = kept * (load(rated + k) * load(density + k)) + rate * load(prior + k);  /* (H.44) */
            store(rated + k, share);
            store(bank->filter_share + k, s == 0 ? weight * share : load(bank->filter_share + k) + weight * share);
        }
    }
}

/* Copy mean and covariance of a walk's weights to another. */
static void copy_weights(Bank* bank, ptrdiff_t from, ptrdiff_t to)
{
    for (ptrdiff_t i = 0; i < bank->n_weights; i++) bank->walk_mean[i * LANES + to] = bank->walk_mean[i * LANES + from];
    for (ptrdiff_t i = 0; i < bank->n_packed; i++) bank->walk_cov[i * LANES + to] = bank->walk_cov[i * LANES + from];
}

/* Let walks that keep failing go on from the weights of the best, which never fails: equation (H.46). */
static void restart_failing(Bank* bank)
{
    double margin = bank->constants[FAILURE_MARGIN], most = bank->constants[MAX_UNDERPERFORMANCE_COUNT], rate = 0.0;
    vec one = fill(1.0), zero = fill(0.0);
    mask too_often = less(one, zero);
    ptrdiff_t best;
    for (ptrdiff_t s = 0; s < bank->n_rates; s++) rate += bank->rate_share[s] * switching_rate(bank, s);
    for (ptrdiff_t lane = 0; lane < LANES; lane += WIDTH) {
        vec counts = load(bank->walk_underperformance_count + lane), share = zero, prior = zero;
        for (ptrdiff_t k = lane; k < bank->n_filters; k += LANES) {
            share += load(bank->filter_share + k);
            prior += load(setting(bank, PRIOR_SHARE) + k);
        }
        mask succeeds = less(margin * rate * prior, share);
        counts = select(succeeds, larger(counts - one, zero), counts + one);
        too_often |= at_most(fill(most), counts);
        store(bank->walk_underperformance_count + lane, counts);
        store(bank->walk_share + lane, share);
    }
    if (!any(too_often)) return;
    best = best_of(bank->walk_share, LANES);
    for (ptrdiff_t walk = 0; walk < LANES; walk++)
        if (bank->walk_underperformance_count[walk] >= most) {
            bank->walk_underperformance_count[walk] = 0.0;
            if (walk != best) copy_weights(bank, best, walk);
        }
}

/* Write into the row's head what the bank has learned, in the user's units, after `restart_failing`. */
static void summarise(Bank* bank)
{
    ptrdiff_t K = bank->n_filters;
    double* drift_share = bank->drift_share;
    const double* share = bank->filter_share;
    const double* index = setting(bank, DRIFT_INDEX);
    double learned[2], flexible_share = 0.0, flexible = flexible_var(bank->flexible, bank->normal_share);
    vec scale_log[PARTS], shaped_share[PARTS], epsilon[PARTS];
    for (int part = 0; part < PARTS; part++) scale_log[part] = shaped_share[part] = epsilon[part] = fill(0.0);
    for (ptrdiff_t block = 0; block < K; block += LANES)
        for (int part = 0; part < PARTS; part++) {
            ptrdiff_t k = block + part * WIDTH;
            mask shaped = equal(load(setting(bank, NOISE_VAR) + k), fill(0.0));
            vec weight = load(share + k), log_sd = load(setting(bank, NOISE_LOG_SD) + k);
            if (any(shaped)) {
                vec shaped_weight = zero_unless(shaped, weight);
                log_sd = select(shaped, 0.5 * logarithm(noise_var(bank, k)), log_sd);
                shaped_share[part] += shaped_weight;
                epsilon[part] += shaped_weight * load(bank->filter_epsilon + k);
            }
            vec along = load(bank->filter_level_slope + k) * load(bank->level + k % LANES);
            mask linear = is_linear(bank, k);
            if (any(linear)) along = select(linear, 0.5 * logarithm(linear_square(bank, along)), along);
            log_sd += load(bank->filter_slow + k) + load(bank->filter_fast + k) + along;
            scale_log[part] += weight * log_sd;
        }
    if (bank->n_flexible > 0) flexible_share = sum(share, bank->n_flexible);
    learned[0] = sum_parts(scale_log) + flexible_share * (0.5 * logarithm_of(flexible));
    learned[0] += season_effect(bank);
    learned[1] = dot(bank->walk_share, setting(bank, DRIFT_LOG), LANES);
    exponentials_of(learned, 2);
    for (ptrdiff_t i = 0; i < bank->n_drifts; i++) drift_share[i] = 0.0;
    for (ptrdiff_t walk = 0; walk < LANES; walk++) drift_share[(ptrdiff_t)index[walk]] += bank->walk_share[walk];
    bank->row[NOISE_SCALE] = saturate(bank, bank->row[Y_SCALE] * learned[0]);
    double shaped = sum_parts(shaped_share);
    bank->row[EPSILON] = shaped > 0.0 ? sum_parts(epsilon) / shaped : 0.0;     /* 0 without insensitive noise */
    bank->row[DRIFT] = learned[1];
}

/* Follow the features' running mean and variance: equation (H.6). */
static void move_anchor(Bank* bank)
{
    double slowest = 1.0 / (bank->row[N_SEEN] + 2.0), rate = bank->constants[ANCHOR_RATE];
    double least = bank->constants[MIN_ANCHOR_VAR];
    const double* z = bank->z + bank->intercept;
    rate = rate > slowest ? rate : slowest;
    for (ptrdiff_t i = 0; i < bank->n_features; i++) {
        double* center = bank->anchor_center + i;
        double* var = bank->anchor_var + i;
        if (bank->x_scale[i] <= 0.0) continue;
        follow_move(bank, i, z[i], rate, least);
        if (bank->intercept) {
            double deviation = z[i] - *center;
            *center += rate * deviation;
            *var = (1.0 - rate) * (*var + rate * deviation * deviation);
        } else {
            *var += rate * (z[i] * z[i] - *var);
        }
        *var = *var > least ? *var : least;
    }
}

/* Follow the running mean and variance of y: equation (H.29). */
static void move_level(Bank* bank, double y)
{
    double slowest = 1.0 / (bank->row[N_SEEN] + 2.0), rate = bank->constants[LEVEL_RATE];
    double* mean = bank->row + Y_RUNNING_MEAN;
    double* var = bank->row + Y_RUNNING_VAR;
    double deviation = y - *mean, least = bank->constants[MIN_ANCHOR_VAR];
    rate = rate > slowest ? rate : slowest;
    *mean += rate * deviation;
    *var = (1.0 - rate) * (*var + rate * deviation * deviation);
    *var = *var > least ? *var : least;
}

/* If outliers persist, widen the noise of every filter to the observed errors: equation (H.47). */
static void widen_after_shocks(Bank* bank, double y)
{
    const double* constants = bank->constants;
    ptrdiff_t best = best_of(bank->filter_share, bank->n_filters), walk = best % LANES;
    double var = bank->h[walk] + bank->scale[best] * bank->scale[best] * bank->noise_var[best];
    double distance = fabs(y - bank->mean[walk]) / sqrt(var), widening;
    double* shocks = bank->row + SHOCKS;
    if (distance < constants[SHOCK_DISTANCE]) {
        *shocks = *shocks > constants[SHOCK_DECAY] ? *shocks - constants[SHOCK_DECAY] : 0.0;
        return;
    }
    *shocks += 1.0;
    if (*shocks < constants[MAX_SHOCKS]) return;
    *shocks = 0.0;
    widening = logarithm_of(distance / constants[DISTANCE_AFTER_SHOCKS]);
    for (ptrdiff_t k = 0; k < bank->n_filters; k += WIDTH) {
        vec wider = load(bank->filter_slow + k) + widening;
        store(bank->filter_slow + k, smaller(wider, fill(bank->limits->max_log_noise_scale)));
        store(bank->filter_fast + k, fill(0.0));
    }
}

/* Learn from one observation, in the user's units, after `bank_forecast`; nan lets time pass. */
static void bank_learn(Bank* bank, double y)
{
    double standard = (y - bank->row[Y_CENTER]) / bank->row[Y_SCALE], most = bank->limits->max_distance, top;
    if (isnan(y)) {
        learn_filters(bank, y, y);
        return;
    }
    standard = standard > most ? most : standard < -most ? -most : standard;
    bank->row[N_REPEATS] = y == bank->row[LAST_Y] ? bank->row[N_REPEATS] + 1.0 : 1.0;
    learn_filters(bank, standard, y);
    top = find_densities(bank);
    learn_walks(bank, standard);
    widen_after_shocks(bank, standard);
    reweigh(bank, top);
    restart_failing(bank);
    bank->row[LAST_Y] = y;
    bank->row[N_SEEN] += 1.0;
    move_anchor(bank);
    move_level(bank, standard);
    summarise(bank);
}

#endif
