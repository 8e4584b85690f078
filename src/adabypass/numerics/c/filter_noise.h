/* The noise of a bank's filters: its scale at the next observation, and what is learned of scale and shape: equations
   (H.21)-(H.30), (H.37), (H.38), (H.42) and (H.43). */

#ifndef ADABYPASS_FILTER_NOISE_H
#define ADABYPASS_FILTER_NOISE_H

#include "bank.h"
#include "noise.h"

static inline const double* setting(const Bank* bank, int which) { return bank->settings + which * bank->n_filters; }

/* Variance of a filter's noise, in units of its scale: that of the normals, or equation (A.7). */
static inline vec noise_var(const Bank* bank, ptrdiff_t k)
{
    vec var = load(setting(bank, NOISE_VAR) + k);
    mask shaped = equal(var, fill(0.0));
    if (!any(shaped)) return var;
    vec epsilon = load(bank->filter_epsilon + k);
    vec shaped_var = (epsilon * (epsilon * (epsilon * (1.0 / 3.0) + 1.0) + 2.0) + 2.0) / (1.0 + epsilon);
    return select(shaped, shaped_var, var);
}

/* Minimum noise scale that the newest observation supports, as its last digits are rounded: equation (H.43). */
static inline double min_scale(const Bank* bank)
{
    return bank->limits->resolution * fabs(bank->row[LAST_Y]) / bank->row[Y_SCALE];
}

/* Whether the noise has a season that is now to be seen. */
static inline bool has_season(const Bank* bank) { return bank->period > 1 && !bank->replays; }

/* What the step of the next observation adds to the log of the noise's scale, besides the season's wave. */
static inline double* season_log(const Bank* bank)
{
    double step = bank->row[SEASON_STEP];
    return bank->season_log + (step >= 0.0 && step < (double)bank->period ? (ptrdiff_t)step : 0);
}

/* The cosine and the sine of the season at the next observation. */
static inline void season_waves(const Bank* bank, double* wave)
{
    double angle = 2.0 * PI * bank->row[SEASON_STEP] / (double)bank->period;
    wave[0] = SQRT_2 * cos(angle);
    wave[1] = SQRT_2 * sin(angle);
}

/* What the season adds to the log of the noise's scale at the next observation: equation (H.37). */
static inline double season_effect(const Bank* bank)
{
    double wave[2];
    if (!has_season(bank)) return 0.0;
    season_waves(bank, wave);
    return *season_log(bank) + (bank->season_wave[0] * wave[0] + bank->season_wave[1] * wave[1]);
}

/* Which of the filters from k on have noise whose scale, not its log, is linear in the level. */
static inline mask is_linear(const Bank* bank, ptrdiff_t k)
{
    return equal(load(setting(bank, LEVEL_LAW) + k), fill(LEVEL_LAW_LINEAR));
}

/* The scale of such noise over that at level 0, squared, where slope times level is `along`: equation (H.30). */
static inline vec linear_square(const Bank* bank, vec along)
{
    double least = bank->constants[LEVEL_FLOOR];
    return ((1.0 + along) * (1.0 + along) + least * least) / (1.0 + least * least);
}

/* The noise of the filters from k on, when the levels of their forecasts are known. */
static inline void find_noise(Bank* bank, ptrdiff_t k, double least, double season)
{
    vec along = load(bank->filter_level_slope + k) * load(bank->level + k % LANES), times = fill(1.0);
    mask linear = is_linear(bank, k);
    if (any(linear)) {
        times = select(linear, root(linear_square(bank, along)), times);
        along = select(linear, fill(0.0), along);
    }
    vec log_scale = load(bank->filter_slow + k) + load(bank->filter_fast + k) + (along + season);   /* (H.30), (H.37) */
    store(bank->scale + k, larger(exponential(log_scale) * times, fill(least)));                /* (H.43) */
    store(bank->noise_var + k, noise_var(bank, k));
}

/* An observation, and quantities derived from it that all filters use. */
typedef struct {
    double y;               /* in standard units; nan if it is missing */
    double observed;        /* in the user's */
    double rounded;         /* so narrow a noise shows the rounding of y */
    double min_log_scale;       /* of the noise's scale: (H.43) */
    double slope_rate;      /* of the mean squares of slopes */
    double slow_rate;       /* minimum learning rate of the noise scale */
    bool repeats;           /* whether its value has been repeated for long */
} Observation;

static inline Observation observe(const Bank* bank, double y, double observed)
{
    const double* constants = bank->constants;
    double n = bank->row[N_SEEN], unit = bank->row[Y_SCALE], least = min_scale(bank), rate = 1.0 / (n + 2.0);
    Observation seen = {y, observed, 1048576.0 * bank->limits->resolution * fabs(observed) / unit};
    seen.min_log_scale = -bank->limits->max_log_noise_scale;
    if (least > 1e-40) seen.min_log_scale = logarithm_of(least);        /* above exp(-92) */
    seen.slope_rate = rate > constants[SLOPE_RATE] ? rate : constants[SLOPE_RATE];
    seen.slow_rate = 1.0 / (n + 3.0);
    seen.repeats = bank->row[N_REPEATS] > constants[MAX_REPEATS];
    return seen;
}

/* The slopes over their running root mean square: equation (H.21). */
static inline vec normalised(vec slope, double* mean_square, double rate)
{
    vec square = load(mean_square);
    square += rate * (slope * slope - square);
    store(mean_square, square);
    return slope / root(square + 1e-12);
}

/* Move a learned quantity along the slope of the log evidence, whose information is `information`: (H.24). */
static inline void learn(
    const Bank* bank, double* value, double* prec, vec slope, vec information, double low, double high)
{
    vec known = load(prec);
    known += information - bank->constants[PREC_DECAY] * (known - bank->constants[PRIOR_PREC]);
    store(prec, known);
    store(value, clamp(load(value) + slope / known, low, high));
}

/* A number that every noise model learns, how much was seen of it, and how `filter_fast` of each of its filters depends on
   it: equation (H.24). There is room for LANES noise models. */
typedef struct {
    double* value;
    double* prec;
    double* effect;
} Learned;

/* How fast the fast part of each noise model's scale moves and fades, and how it leans. */
typedef struct {
    double rate[LANES], decay[LANES], lean[LANES];
} Volatility;

/* What was learned of it: equation (H.26). */
static inline Volatility volatility(const Bank* bank)
{
    Volatility is = {{0.0}, {0.0}, {0.0}};
    const double* constants = bank->constants;
    double most = constants[MAX_LEVERAGE];
    for (ptrdiff_t k = 0; k < bank->n_filters; k += LANES) {
        is.rate[k / LANES] = setting(bank, FAST_RATE)[k];
        is.decay[k / LANES] = setting(bank, FAST_DECAY)[k];
    }
    for (ptrdiff_t j = 0; j < LANES; j += WIDTH) {
        vec fast_log = clamp(load(bank->noise_fast_log + j), constants[MIN_FAST_LOG], constants[MAX_FAST_LOG]);
        vec log_decay_ratio =
            clamp(load(bank->noise_log_decay_ratio + j), constants[MIN_LOG_DECAY_RATIO],
                constants[MAX_LOG_DECAY_RATIO]);
        vec fading = (1.0 - load(is.decay + j)) * exponential_within(log_decay_ratio);
        store(is.rate + j, load(is.rate + j) * exponential_within(fast_log));
        store(is.decay + j, clamp(1.0 - fading, 0.0, constants[MAX_FAST_DECAY]));
        store(is.lean + j, clamp(load(bank->noise_leverage + j), -most, most));
    }
    return is;
}

/* Let what each noise model learns of the fast part move along the slopes of its filters: equation (H.24), of means
   over the filters. */
static inline void learn_common(Bank* bank, const double* inverse_share, const Learned* learned, double low, double high)
{
    double slope[LANES] = {0.0}, information[LANES] = {0.0};
    for (ptrdiff_t block = 0; block < bank->n_filters; block += LANES) {
        vec along[PARTS], square[PARTS];
        if (setting(bank, FAST_RATE)[block] == 0.0) continue;
        for (int part = 0; part < PARTS; part++) {
            ptrdiff_t k = block + part * WIDTH;
            vec effect = load(learned->effect + k), weighted = load(bank->filter_share + k) * effect;
            along[part] = weighted * load(bank->term + k);
            square[part] = weighted * effect;
        }
        slope[block / LANES] = sum_parts(along);
        information[block / LANES] = sum_parts(square);
    }
    for (ptrdiff_t j = 0; j < LANES; j += WIDTH) {
        vec inverse = load(inverse_share + j);
        learn(bank, learned->value + j, learned->prec + j, load(slope + j) * inverse, load(information + j) * inverse, low,
            high);
    }
}

/* Let the fast part of the noise's scale fade, and move by `news` at a rate of `rate`: equations (H.27) and (H.28). */
static inline void move_fast(Bank* bank, ptrdiff_t k, double decay, double rate, vec news, vec error)
{
    double kept = decay > rate ? decay - rate : 0.0;
    vec fast = load(bank->filter_fast + k), moved = rate * news;
    store(bank->filter_decay_effect + k, kept * load(bank->filter_decay_effect + k) - (1.0 - decay) * fast);
    store(bank->filter_leverage_effect + k, kept * load(bank->filter_leverage_effect + k) + rate * error);
    store(bank->filter_fast_effect + k, kept * load(bank->filter_fast_effect + k) + moved);
    store(bank->filter_fast + k, decay * fast + moved);
}

/* Let the fast part of every noise's scale follow the slopes, which are in `term`, and errors of one sign more than of the
   other; learn how much: equations (H.24)-(H.28). */
static inline void learn_volatility(Bank* bank)
{
    const double* constants = bank->constants;
    double most = constants[MAX_ERROR], leverage = constants[MAX_LEVERAGE], inverse_share[LANES] = {0.0};
    for (ptrdiff_t block = 0; block < bank->n_filters; block += LANES)
        inverse_share[block / LANES] = 1.0 / (sum(bank->filter_share + block, LANES) + MIN_SHARE);
    Learned leaning = {bank->noise_leverage, bank->noise_leverage_prec, bank->filter_leverage_effect};
    Learned moving = {bank->noise_fast_log, bank->noise_fast_prec, bank->filter_fast_effect};
    Learned fading = {bank->noise_log_decay_ratio, bank->noise_decay_prec, bank->filter_decay_effect};
    learn_common(bank, inverse_share, &leaning, -leverage, leverage);
    learn_common(bank, inverse_share, &moving, constants[MIN_FAST_LOG], constants[MAX_FAST_LOG]);
    learn_common(bank, inverse_share, &fading, constants[MIN_LOG_DECAY_RATIO], constants[MAX_LOG_DECAY_RATIO]);
    Volatility is = volatility(bank);
    for (ptrdiff_t k = 0; k < bank->n_filters; k += WIDTH) {
        double rate = is.rate[k / LANES], lean = is.lean[k / LANES];
        if (rate == 0.0) continue;
        vec sd = root(load(bank->v + k) + load(bank->noise_var + k));
        vec error = clamp(-load(bank->d + k) / sd, -most, most);                                /* (H.25) */
        move_fast(bank, k, is.decay[k / LANES], rate, load(bank->term + k) + lean * error, error);
    }
}

/* Let the fast part of every noise's scale fade, as its observation is missing. */
static inline void fade(Bank* bank)
{
    Volatility is = volatility(bank);
    for (ptrdiff_t k = 0; k < bank->n_filters; k += WIDTH)
        move_fast(bank, k, is.decay[k / LANES], 0.0, fill(0.0), fill(0.0));
}

/* Move the noise's scale along the evidence: equations (H.21), (H.22), (H.42) and (H.43). */
static inline void learn_scale(Bank* bank, ptrdiff_t k, const Observation* seen)
{
    vec slope = smaller(load(bank->scale_slope + k), fill(bank->limits->max_distance));
    vec slow = load(bank->filter_slow + k), bound = load(setting(bank, MAX_SLOPE) + k);
    double steepest = bank->constants[MAX_LEVEL_SLOPE];
    slope = normalised(slope, bank->filter_scale_slope_sq + k, seen->slope_rate);
    slope = smaller(larger(slope, -bound), bound);
    if (seen->repeats) slope = larger(slope, fill(0.0));                                        /* (H.42) */
    store(bank->term + k, slope);
    slow += larger(load(setting(bank, SLOW_RATE) + k), fill(seen->slow_rate)) * slope;          /* (H.22) */
    store(bank->filter_slow + k, clamp(slow, seen->min_log_scale, bank->limits->max_log_noise_scale));
    vec level = zero_unless(less(fill(LEVEL_LAW_NONE), load(setting(bank, LEVEL_LAW) + k)), load(bank->level + k % LANES));
    mask linear = is_linear(bank, k);
    if (any(linear)) {
        vec here = 1.0 + load(bank->filter_level_slope + k) * level;
        double least = bank->constants[LEVEL_FLOOR];
        level = select(linear, level * here / (here * here + least * least), level);            /* slope of (H.30) */
    }
    learn(bank, bank->filter_level_slope + k, bank->filter_level_prec + k, slope * level, level * level, -steepest,
        steepest);
}

/* Move the shape of insensitive noise along the evidence: equations (H.21) and (H.23). */
static inline void learn_epsilon(Bank* bank, ptrdiff_t k, const Observation* seen)
{
    const double* constants = bank->constants;
    mask shaped = equal(load(setting(bank, NOISE_VAR) + k), fill(0.0));
    if (!any(shaped)) return;
    vec epsilon = load(bank->filter_epsilon + k), slope = load(bank->epsilon_slope + k);
    vec square = load(bank->filter_epsilon_slope_sq + k);
    double bound = constants[MAX_EPSILON_SLOPE];
    slope = clamp(normalised(slope, bank->filter_epsilon_slope_sq + k, seen->slope_rate), -bound, bound);
    store(bank->filter_epsilon_slope_sq + k, select(shaped, load(bank->filter_epsilon_slope_sq + k), square));
    vec moved = epsilon * exponential_within(constants[EPSILON_RATE] * slope);                         /* (H.23) */
    moved = clamp(moved, constants[MIN_EPSILON], constants[MAX_EPSILON]);
    store(bank->filter_epsilon + k, select(shaped, moved, epsilon));
}

/* Move what the season adds to the log of the noise's scale along the slopes of the filters: (H.24) and (H.38). */
static inline void learn_season(Bank* bank)
{
    const double* constants = bank->constants;
    double rate = 1.0 / (1.0 + constants[SEASON_PRIOR] + bank->row[N_SEEN] / (double)bank->period), wave[2];
    double most = constants[MAX_SEASON_LOG], *value = season_log(bank), moved;
    double slope = dot(bank->filter_share, bank->term, bank->n_filters);
    rate = rate > constants[SEASON_RATE] ? rate : constants[SEASON_RATE];
    moved = *value + rate * slope;
    *value = moved > most ? most : moved < -most ? -most : moved;
    season_waves(bank, wave);
    for (int i = 0; i < 2; i++) {
        double* known = bank->season_wave_prec + i;
        *known += wave[i] * wave[i] - constants[PREC_DECAY] * (*known - constants[PRIOR_PREC]);
        moved = bank->season_wave[i] + slope * wave[i] / *known;
        bank->season_wave[i] = moved > most ? most : moved < -most ? -most : moved;
    }
}

#endif
