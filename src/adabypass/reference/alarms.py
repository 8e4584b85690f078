"""A monitor of alarms, in NumPy and SciPy: equations (P.2)-(P.15)."""

from math import exp, floor, inf, isfinite, isnan, log, log1p, nan, pi

import numpy as np
from scipy.special import log_ndtr, ndtr, ndtri

from adabypass.state import alarms as design

LEVEL, NOISE, SLOPE = 1, 2, 3


class Bet:
    """One bet against calibrated forecasts: equation (P.8)."""

    def __init__(self, parameter: float, share: float, *, is_level: bool) -> None:
        self.parameter, self.share, self.is_level = parameter, share, is_level
        self.uses_own_scale = not is_level and parameter < 1.0
        self.restart(0.0)

    def restart(self, row: float) -> None:
        """Begin again at a row, without evidence."""
        self.evidence, self.onset, self.deviates = 0.0, row, list[float]()

    def gain(self, v: float) -> float:
        """Return the log ratio of two densities at `v`."""
        p = self.parameter
        if self.is_level:
            return p * v - 0.5 * p * p  # (P.8)
        return 0.5 * v * v * (1.0 - 1.0 / p**2) - log(p)  # (P.8)

    def middle_gain(self, share: float) -> float:
        """Return the log ratio of two probabilities of an interval about 0 that has this probability."""
        p, edge = self.parameter, ndtri(0.5 + 0.5 * share)
        probability = ndtr(edge - p) - ndtr(-edge - p) if self.is_level else 2.0 * ndtr(edge / p) - 1.0
        return float(min(0.0, log(probability / share)))  # (P.10)


class Newest:
    """The newest change, which is named again when enough was learned since."""

    def __init__(self, row: float, bet: Bet, scale: float, drift: float) -> None:
        n, deviates = row - bet.onset + 1.0, np.array(bet.deviates)
        square = float((deviates**2).sum())
        self.row, self.onset, self.kind = row, bet.onset, LEVEL if bet.is_level else NOISE
        self.mean = float(deviates.sum() / n)
        self.spread = 0.5 * log(square / n) if square > 0.0 else log(design.NOISE_RATIOS[-1])
        self.scale, self.drift, self.errors, self.drift_rises = scale, drift, list[float](), list[float]()
        self.is_final = bet.uses_own_scale  # only quieter noise makes deviates small

    @property
    def size(self) -> float:
        """Mean deviate of a level, log scale of the deviates otherwise."""
        return self.mean if self.kind == LEVEL else self.spread

    def review(self, row: float, error: float, log_scale: float, log_drift: float) -> None:
        """Learn how wrong the model is a row later, and name the change again after the last one."""
        age = row - self.row
        if self.is_final:
            return
        if age <= design.REVIEW_DRIFT_ROWS and isfinite(log_drift) and isfinite(self.drift):
            self.drift_rises.append(log_drift - self.drift)
        if age > design.REVIEW_ROWS - design.REVIEW_ERROR_ROWS:
            factor, bound = exp(min(log_scale - self.scale, design.MAX_LOG_FACTOR)), design.MAX_REVIEW_ERROR
            self.errors.append(float(np.clip(error * factor, -bound, bound)))
        if age < design.REVIEW_ROWS:
            return
        is_level = self.kind == LEVEL
        if self.drift_rises:
            bound = design.MIN_DRIFT_LOG_OF_LEVEL if is_level else design.MIN_DRIFT_LOG
            is_level = sum(self.drift_rises) > bound * len(self.drift_rises)  # (P.15)
        errors = np.array(self.errors)
        size, squares = float(np.abs(errors).sum()), float((errors**2).sum())
        bias = abs(float(errors.sum())) / squares**0.5 if squares > 0.0 else 0.0  # (P.15)
        if size > design.MIN_NOISE_ERROR * len(errors) and bias <= design.MAX_NOISE_BIAS:  # (P.15)
            self.kind, self.spread = NOISE, log(size / len(errors) * (pi / 2.0) ** 0.5)
        else:
            self.kind = LEVEL if is_level and bias <= design.MAX_LEVEL_BIAS else SLOPE  # (P.15)
        self.is_final = True


class Side:
    """The deviates on one side of 0: their number, and the sums of their surprisals in both units."""

    def __init__(self) -> None:
        self.count, self.total, self.own_total = 0.0, 0.0, 0.0

    def recalibrate(self, e: float, total: float, n: float) -> float:
        """Return the size of the deviate that the past gives a surprisal: below 0 for a frequent one."""
        a = design.TAIL_PRIOR
        log_tail = log((self.count + 1.0) / (n + 2.0)) - (a + self.count) * log1p(e / (a + total))  # (P.5)
        return -float(ndtri(exp(min(log_tail, -1e-9))))  # (P.7)


class Monitor:
    """The monitor, whose memory is spread over names."""

    def __init__(self, rate: float) -> None:
        self.rate, self.n_rows = rate, 0.0
        self.n_errors, self.largest = 0.0, [0.0] * design.N_LARGEST
        shifts = [Bet(p, design.LEVEL_SHARE, is_level=True) for p in design.LEVEL_SHIFTS]
        self.bets = shifts + [Bet(p, design.NOISE_SHARE, is_level=False) for p in design.NOISE_RATIOS]
        self.newest: Newest | None = None
        self.start_afresh()

    def start_afresh(self) -> None:
        """Forget all but the largest errors."""
        self.n_fresh, self.usual_scale = 0.0, nan
        self.n_drift, self.usual_drift = 0.0, nan
        self.above, self.below, self.n_middle = Side(), Side(), 0.0
        for bet in self.bets:
            bet.restart(self.n_rows)

    def update(self, deviate: float, error: float, sd: float, drift: float) -> tuple[bool, bool]:
        """Learn a row; return whether something changed, and whether its value is an anomaly."""
        is_changed = is_flagged = False
        log_drift = log(drift) if drift > 0.0 else nan
        if not isnan(deviate) and not isnan(error):
            is_flagged = self.is_anomaly(deviate, abs(error))
            self.remember(abs(error))
            if 0.0 < sd < inf:
                if self.newest is not None:
                    self.newest.review(self.n_rows, error, log(sd), log_drift)
                self.bet(deviate, self.in_usual_scale(deviate, log(sd)))
                is_changed = self.is_raised()
                if isfinite(log_drift) and not is_changed:
                    self.watch_drift(log_drift)
        self.n_rows += 1.0
        return is_changed, is_flagged

    def is_anomaly(self, deviate: float, error: float) -> bool:
        """Return whether a value is beyond its forecast, and beyond the past errors."""
        n = self.n_errors + 1.0
        k = int(min(design.N_LARGEST, 2 + floor(n * self.rate)))
        bound = self.largest[k - 1]
        beyond = (bound / error) ** design.TAIL_POWER if error > bound > 0.0 else 1.0
        is_early = n * self.rate < design.MIN_EXPECTED
        is_likely = 2.0 * ndtr(-abs(deviate)) > self.rate
        return not is_early and not is_likely and (k - 1) / n * beyond <= self.rate  # (P.13)

    def remember(self, error: float) -> None:
        """Put an error among the largest, and let the past count half where they are too few."""
        self.n_errors += 1.0
        self.largest = sorted([*self.largest, error], reverse=True)[: design.N_LARGEST]
        if self.n_errors * self.rate >= design.N_LARGEST - 1:  # (P.14)
            self.n_errors = float(floor(self.n_errors / 2))
            half = self.largest[1::2]
            self.largest = half + half[-1:] * (design.N_LARGEST - len(half))

    def in_usual_scale(self, deviate: float, log_scale: float) -> float:
        """Return the deviate in units of the usual scale, and update that."""
        if self.n_fresh == 0.0:
            self.usual_scale = log_scale
        bound = design.MAX_LOG_RATIO
        u = deviate * exp(float(np.clip(log_scale - self.usual_scale, -bound, bound)))  # (P.2)
        self.n_fresh += 1.0
        if self.n_fresh <= design.N_WARM_UP:
            self.usual_scale = max(self.usual_scale, log_scale)  # (P.3)
        else:
            self.usual_scale += (log_scale - self.usual_scale) / min(self.n_fresh + 1.0, design.SCALE_MEMORY)  # (P.3)
        return u

    def watch_drift(self, log_drift: float) -> None:
        """Update the usual log drift."""
        self.n_drift += 1.0
        if self.n_drift == 1.0:
            self.usual_drift = log_drift
        self.usual_drift += (log_drift - self.usual_drift) / min(self.n_drift + 1.0, design.SCALE_MEMORY)  # (P.3)

    def bet(self, deviate: float, u: float) -> None:
        """Update the evidence of every bet, then the past of the deviates."""
        n, sign = self.above.count + self.below.count + self.n_middle, 1.0 if deviate > 0.0 else -1.0
        side = self.above if deviate > 0.0 else self.below
        e, own_e = surprisal(u), surprisal(deviate)
        r = sign * side.recalibrate(e, side.total, n)
        own_r = sign * side.recalibrate(own_e, side.own_total, n)
        for bet in self.bets:
            pair = (deviate, own_r) if bet.uses_own_scale else (u, r)
            if deviate == 0.0:
                gain = bet.middle_gain((self.n_middle + 1.0) / (n + 3.0))  # (P.10)
            else:
                gain = min(bet.gain(clipped(v)) for v in pair)  # (P.9)
            if bet.evidence <= 0.0:
                bet.restart(self.n_rows)
            bet.evidence += gain  # (P.11)
            bet.deviates.append(clipped(u))
        if deviate == 0.0:
            self.n_middle += 1.0
        else:
            side.count += 1.0  # (P.6)
            side.total += min(e, design.MAX_SURPRISAL)  # (P.6)
            side.own_total += min(own_e, design.MAX_SURPRISAL)  # (P.6)

    def is_raised(self) -> bool:
        """Return whether the evidence suffices; if so, describe the change, and start afresh."""
        if sum(bet.share * exp(bet.evidence) for bet in self.bets) * self.rate < 1.0:  # (P.12)
            return False
        best = max(self.bets, key=lambda bet: log(bet.share) + bet.evidence)
        self.newest = Newest(self.n_rows, best, self.usual_scale, self.usual_drift)
        self.start_afresh()
        return True


def surprisal(v: float) -> float:
    """Return the negative log of the two-sided tail probability of a standard normal deviate."""
    return max(0.0, -float(log_ndtr(-abs(v))) - log(2.0))  # (P.4)


def clipped(v: float) -> float:
    """Limit what a single deviate can tell."""
    return float(np.clip(v, -design.MAX_EVIDENCE_DEVIATE, design.MAX_EVIDENCE_DEVIATE))
