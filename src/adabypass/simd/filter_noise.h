/* The noise of a bank's filters: its scale at the next observation, and what is learned of scale and shape: equations
   (54)-(56), (84), (85), (100)-(106), (113) and (114). */

#ifndef ADABYPASS_FILTER_NOISE_H
#define ADABYPASS_FILTER_NOISE_H

#include "bank.h"
#include "noise.h"

static inline const double* setting(const Bank* bank, int which) { return bank->settings + which * bank->n_filters; }

/* Variance of a filter's noise, in units of its scale: that of the normals, or equation (5). */
static inline vec noise_var(const Bank* bank, ptrdiff_t k)
{
    vec var = load(setting(bank, NOISE_VAR) + k);
    mask shaped = equal(var, fill(0.0));
    if (!any(shaped)) return var;
    vec epsilon = load(bank->epsilon + k);
    vec shaped_var = (epsilon * (epsilon * (epsilon * (1.0 / 3.0) + 1.0) + 2.0) + 2.0) / (1.0 + epsilon);
    return select(shaped, shaped_var, var);
}

/* The least noise scale that the newest observation lets through, whose last digits are rounded: equation (85). */
static inline double least_scale(const Bank* bank)
{
    return bank->limits->resolution * fabs(bank->row[LAST_Y]) / bank->row[Y_SCALE];
}

/* Whether the noise has a season that is now to be seen. */
static inline bool has_season(const Bank* bank) { return bank->period > 1 && !bank->replays; }

/* What the season adds to the log of the noise's scale at the next observation. */
static inline double* season_log(const Bank* bank)
{
    double step = bank->row[SEASON_STEP];
    return bank->season_log + (step >= 0.0 && step < (double)bank->period ? (ptrdiff_t)step : 0);
}

/* The noise of the filters from k on, when the levels of their forecasts are known. */
static inline void find_noise(Bank* bank, ptrdiff_t k, double least, double season)
{
    vec log_scale = load(bank->slow + k) + load(bank->fast + k);
    log_scale += load(bank->level_slope + k) * load(bank->level + k % LANES) + season;          /* (106), (113) */
    store(bank->scale + k, larger(exponential(log_scale), fill(least)));                        /* (85) */
    store(bank->noise_var + k, noise_var(bank, k));
}

/* An observation, and what all filters need to know of it. */
typedef struct {
    double y;               /* in standard units; nan if it is missing */
    double observed;        /* in the user's */
    double rounded;         /* so narrow a noise shows the rounding of y */
    double least_log;       /* of the noise's scale: (85) */
    double slope_rate;      /* of the mean squares of slopes */
    double slow_rate;       /* least rate of the noise's scale */
    bool repeats;           /* whether it has been the same for long */
} Observation;

static inline Observation describe(const Bank* bank, double y, double observed)
{
    const double* constants = bank->constants;
    double n = bank->row[N_SEEN], unit = bank->row[Y_SCALE], least = least_scale(bank), rate = 1.0 / (n + 2.0);
    Observation seen = {y, observed, 1048576.0 * bank->limits->resolution * fabs(observed) / unit};
    seen.least_log = -bank->limits->largest_log_scale;
    if (least > 1e-40) seen.least_log = logarithm_of(least);        /* above exp(-92) */
    seen.slope_rate = rate > constants[SLOPE_RATE] ? rate : constants[SLOPE_RATE];
    seen.slow_rate = 1.0 / (n + 3.0);
    seen.repeats = bank->row[N_REPEATS] > constants[MAX_REPEATS];
    return seen;
}

/* The slopes over their running root mean square: equation (54). */
static inline vec normalised(vec slope, double* mean_square, double rate)
{
    vec square = load(mean_square);
    square += rate * (slope * slope - square);
    store(mean_square, square);
    return slope / root(square + 1e-12);
}

/* Move what the filters from k on have learned along the evidence's slope, which depends on it by `effect`: (100). */
static inline vec learn(const Bank* bank, double* value, double* prec, vec slope, vec effect, double low, double high)
{
    vec known = load(prec), moved;
    known += effect * effect - bank->constants[PREC_DECAY] * (known - bank->constants[PRIOR_PREC]);
    moved = clamp(load(value) + slope * effect / known, low, high);
    store(prec, known);
    store(value, moved);
    return moved;
}

/* The share of the fast part that is left a step later: equation (102). `fading_log` is within its bounds. */
static inline vec fast_decay(const Bank* bank, ptrdiff_t k, vec fading_log)
{
    vec fading = (1.0 - load(setting(bank, FAST_DECAY) + k)) * exponential_within(fading_log);
    return clamp(1.0 - fading, 0.0, bank->constants[LARGEST_FAST_DECAY]);
}

/* What was learned of how it fades, within its bounds. */
static inline vec kept_fading_log(const Bank* bank, ptrdiff_t k)
{
    const double* constants = bank->constants;
    return clamp(load(bank->fading_log.value + k), constants[SMALLEST_FADING_LOG], constants[LARGEST_FADING_LOG]);
}

/* Let the fast part of the noise's scale fade, and move by `news` at a rate of `rate`: equations (103) and (104). */
static inline void move_fast(Bank* bank, ptrdiff_t k, vec decay, vec rate, vec news, vec error)
{
    vec fast = load(bank->fast + k), kept = larger(decay - rate, fill(0.0)), moved = rate * news;
    store(bank->fading_log.effect + k, kept * load(bank->fading_log.effect + k) - (1.0 - decay) * fast);
    store(bank->leverage.effect + k, kept * load(bank->leverage.effect + k) + rate * error);
    store(bank->fast_log.effect + k, kept * load(bank->fast_log.effect + k) + moved);
    store(bank->fast + k, decay * fast + moved);
}

/* Let the fast part of the noise's scale follow the slope, and errors of one sign more than of the other; learn how
   much: equations (100)-(104). */
static inline void learn_volatility(Bank* bank, ptrdiff_t k, vec slope)
{
    const double* constants = bank->constants;
    double most = constants[LARGEST_ERROR], leverage = constants[LARGEST_LEVERAGE];
    vec start = load(setting(bank, FAST_RATE) + k), sd = root(load(bank->v + k) + load(bank->noise_var + k));
    if (!any(~equal(start, fill(0.0)))) return;
    vec error = clamp(-load(bank->d + k) / sd, -most, most);                                    /* (101) */
    vec lean = learn(bank, bank->leverage.value + k, bank->leverage.prec + k, slope, load(bank->leverage.effect + k),
        -leverage, leverage);
    vec rate = start * exponential_within(learn(bank, bank->fast_log.value + k, bank->fast_log.prec + k, slope,
        load(bank->fast_log.effect + k), constants[SMALLEST_FAST_LOG], constants[LARGEST_FAST_LOG]));
    vec fading = learn(bank, bank->fading_log.value + k, bank->fading_log.prec + k, slope,
        load(bank->fading_log.effect + k), constants[SMALLEST_FADING_LOG], constants[LARGEST_FADING_LOG]);
    move_fast(bank, k, fast_decay(bank, k, fading), rate, slope + lean * error, error);
}

/* Move the noise's scale along the evidence: equations (54), (55), (84) and (85). */
static inline void learn_scale(Bank* bank, ptrdiff_t k, const Observation* seen)
{
    vec slope = smaller(load(bank->scale_slope + k), fill(bank->limits->largest_distance)), slow = load(bank->slow + k);
    vec bound = load(setting(bank, LARGEST_SLOPE) + k);
    double steepest = bank->constants[LARGEST_LEVEL_SLOPE];
    slope = normalised(slope, bank->scale_slope_sq + k, seen->slope_rate);
    slope = smaller(larger(slope, -bound), bound);
    if (seen->repeats) slope = larger(slope, fill(0.0));                                        /* (84) */
    store(bank->term + k, slope);
    slow += larger(load(setting(bank, SLOW_RATE) + k), fill(seen->slow_rate)) * slope;          /* (55) */
    store(bank->slow + k, clamp(slow, seen->least_log, bank->limits->largest_log_scale));
    learn_volatility(bank, k, slope);
    vec level = load(bank->level + k % LANES) * load(setting(bank, FOLLOWS_LEVEL) + k);
    learn(bank, bank->level_slope + k, bank->level_prec + k, slope, level, -steepest, steepest);
}

/* Move the shape of insensitive noise along the evidence: equations (54) and (56). */
static inline void learn_epsilon(Bank* bank, ptrdiff_t k, const Observation* seen)
{
    const double* constants = bank->constants;
    mask shaped = equal(load(setting(bank, NOISE_VAR) + k), fill(0.0));
    if (!any(shaped)) return;
    vec epsilon = load(bank->epsilon + k), square = load(bank->epsilon_slope_sq + k), slope = load(bank->epsilon_slope + k);
    double bound = constants[LARGEST_EPSILON_SLOPE];
    slope = clamp(normalised(slope, bank->epsilon_slope_sq + k, seen->slope_rate), -bound, bound);
    store(bank->epsilon_slope_sq + k, select(shaped, load(bank->epsilon_slope_sq + k), square));
    vec moved = epsilon * exponential_within(constants[EPSILON_RATE] * slope);                         /* (56) */
    moved = clamp(moved, constants[SMALLEST_EPSILON], constants[LARGEST_EPSILON]);
    store(bank->epsilon + k, select(shaped, moved, epsilon));
}

/* Move what the season adds to the log of the noise's scale along the slopes of the filters: equation (114). */
static inline void learn_season(Bank* bank)
{
    const double* constants = bank->constants;
    double rate = 1.0 / (1.0 + constants[SEASON_PRIOR] + bank->row[N_SEEN] / (double)bank->period);
    double most = constants[LARGEST_SEASON_LOG], *value = season_log(bank), moved;
    rate = rate > constants[SEASON_RATE] ? rate : constants[SEASON_RATE];
    moved = *value + rate * dot(bank->share, bank->term, bank->n_filters);
    *value = moved > most ? most : moved < -most ? -most : moved;
}

#endif
