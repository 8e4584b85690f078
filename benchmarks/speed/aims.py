"""The aims: what must be how fast beside what. Every threshold is here, and every side of it is measured."""

import math
from enum import StrEnum
from typing import NamedTuple

from benchmarks.speed.builds import BASELINE, CURRENT, SIMD_VARIABLE
from benchmarks.speed.models import MODELS
from benchmarks.speed.results import Results

FEATURES = (1, 5, 20, 50, 200)
NOISE = 1.03
"""Margin where two times may be equal; on a busy machine those of equal tasks differ by more, 16 % in a quick run."""


class Kind(StrEnum):
    """How an aim is judged."""

    FASTER = "faster by at least"
    """Their time over ours is at least the bound."""
    WITHIN = "within"
    """Our value over theirs is at most the bound."""
    AT_LEAST = "at least"
    """Our value is at least the bound."""
    AT_MOST = "at most"
    """Our value is at most the bound."""


class Aim(NamedTuple):
    """Something to reach."""

    what: str
    kind: Kind
    bound: float
    pairs: tuple[tuple[str, str], ...]
    """Keys of our measurement and of theirs (empty where only ours counts); the worst pair decides."""


class Verdict(NamedTuple):
    """Whether an aim was met."""

    aim: Aim
    is_met: bool | None
    """None if it was not measured."""
    ours: float | None = None
    theirs: float | None = None
    reached: float | None = None
    """What is compared with the bound."""
    unit: str = ""
    note: str = ""
    """Which pair was the worst of several, or why nothing was measured."""


def faster(what: str, bound: float, ours: str, theirs: str) -> Aim:
    """Aim at a time shorter by a factor."""
    return Aim(what, Kind.FASTER, bound, ((ours, theirs),))


def _against_old(build: str, bounds: dict[int, float]) -> list[Aim]:
    return [
        faster(
            f"AutoBypass().run, {features(d)}, {build}: baseline commit", bound,
            f"build/{build}/AutoBypass.run/{d}", f"build/{BASELINE}/AutoBypass.run/{d}",
        )
        for d, bound in bounds.items()
    ]  # fmt: skip


def features(d: int) -> str:
    """Return a number of features in words."""
    return f"{d:,} feature{'s' if d > 1 else ''}"


def _against_blas(model: str, n_matrices: int) -> list[Aim]:
    return [
        faster(
            f"{model}().run, {features(d)}: {n_matrices} x (dspmv + dspr), called from C", bound,
            f"matrix/{model}.run/{d}", f"matrix/BLAS from C, {n_matrices} x (dspmv + dspr)/{d}",
        )
        for d, bound in ((200, 1.8), (1000, 1.3))
    ]  # fmt: skip


def _step(model: str) -> Aim:
    pairs = tuple((f"row by row/{model} step/{d}", f"row by row/{model}/{d}") for d in FEATURES)
    return Aim(f"{model}().step, any number of features: predict and update", Kind.FASTER, 1 / NOISE, pairs)


def _within(what: str, ours: str, theirs: str, bound: float) -> Aim:
    return Aim(what, Kind.WITHIN, bound, ((ours, theirs),))


AIMS: tuple[Aim, ...] = (
    *_against_old(f"{SIMD_VARIABLE}=avx2", {1: 5.0, 5: 5.0, 20: 4.0, 50: 3.3}),
    *_against_old(f"{SIMD_VARIABLE}=baseline", {1: 2.5, 5: 2.5, 20: 2.2, 50: 2.0}),
    *(
        faster(f"{what}: baseline commit", 6.0, f"build/{CURRENT}/{name}", f"build/{BASELINE}/{name}")
        for what, name in (
            ("interval(0.9) of a forecast", "AutoBypass.interval"),
            ("interval(0.9), its search started at the last", "AutoBypass.interval from the last"),
        )
    ),
    Aim(
        "AutoBypass().run: largest difference from the baseline commit", Kind.AT_MOST, 1e-9,
        ((f"agreement/{BASELINE}", ""),),
    ),
    Aim(
        "AutoBypass().run: largest difference between instruction sets", Kind.AT_MOST, 0.0,
        tuple((f"agreement/{SIMD_VARIABLE}={name}", "") for name in ("baseline", "avx2", "avx512", "neon")),
    ),
    faster(
        "AutoBypass().step, 5 features: River LinearRegression", 1.0,
        "row by row/AutoBypass step/5", "row by row/River LinearRegression/5",
    ),
    faster(
        "AdaBypass, predict and update, 5 features: River LinearRegression", 1.0,
        "row by row/AdaBypass/5", "row by row/River LinearRegression/5",
    ),
    faster(
        "Bypass, predict and update, 5 features: River LinearRegression", 1.0,
        "row by row/Bypass/5", "row by row/River LinearRegression/5",
    ),
    faster(
        "AutoBypass in River, predict_one and learn_one, 5 features: River BayesianLinearRegression", 1.0,
        "row by row/AutoBypass in River/5", "row by row/River BayesianLinearRegression/5",
    ),
    *(_step(model) for model in MODELS),
    *(
        _within(f"AdaBypass, predict and update, {features(d)}: its run", f"row by row/AdaBypass/{d}",
                f"in bulk/AdaBypass/{d}", 1.2)
        for d in (5, 200)
    ),
    *_against_blas("Bypass", 1),
    *_against_blas("AdaBypass", 2),
    Aim("adabypass stream: rows a second on one core", Kind.AT_LEAST, 50_000.0, (("stream/rows a second", ""),)),
    _within("adabypass stream: peak memory at 10 times the rows", "stream/peak at 10x rows", "stream/peak at 1x rows",
            1.05),
    *(
        faster(f"AdaBypass().run, {d} features: its NumPy reference", 60.0,
               f"library/AdaBypass.run/{d}", f"library/NumPy reference of AdaBypass/{d}")
        for d in (2, 5)
    ),
    faster("EvidenceBypass().run, 2 features: its NumPy reference", 60.0,
           "library/EvidenceBypass.run/2", "library/NumPy reference of EvidenceBypass/2"),
    *(
        faster(f"{model}().run, 200 features: a Kalman filter in NumPy", 1.0,
               f"library/{model}.run/200", "library/Kalman filter in NumPy/200")
        for model in ("AdaBypass", "Bypass", "SequentialKalman")
    ),
    faster("scores of Normal forecasts: a loop over scipy.stats", 20.0,
           "library/scores of Normal forecasts/1", "library/scores by scipy.stats/1"),
    _within("from adabypass import *: import numpy, scipy.special", "library/from adabypass import */1",
            "library/import numpy, scipy.special/1", 2.0),
)  # fmt: skip


def judge(aim: Aim, results: Results) -> Verdict:
    """Return whether an aim was met, by the worst of its pairs that were measured."""
    verdicts = [each for each in (_judge_pair(aim, ours, theirs, results) for ours, theirs in aim.pairs) if each]
    if not verdicts:
        return Verdict(aim, None, note=_why_not(aim, results))
    sign = 1.0 if aim.kind in {Kind.FASTER, Kind.AT_LEAST} else -1.0
    return min(verdicts, key=lambda each: -math.inf if each.reached is None else sign * each.reached)


def _judge_pair(aim: Aim, ours_key: str, theirs_key: str, results: Results) -> Verdict | None:
    ours = results.value(ours_key)
    theirs = results.value(theirs_key) if theirs_key else None
    if ours is None or (theirs_key and theirs is None):
        return None
    reached = ours if theirs is None else theirs / ours if aim.kind is Kind.FASTER else ours / theirs
    is_met = reached >= aim.bound if aim.kind in {Kind.FASTER, Kind.AT_LEAST} else reached <= aim.bound
    where = f"worst: {ours_key.split('/', 1)[1]}" if len(aim.pairs) > 1 else ""
    return Verdict(aim, is_met, ours, theirs, reached, results.measurements[ours_key].unit, where)


def _why_not(aim: Aim, results: Results) -> str:
    for key in (key for pair in aim.pairs for key in pair if key):
        if results.value(key) is None:
            found = results.measurements.get(key)
            if found is not None and found.note:
                return found.note
            if BASELINE in key:
                return "needs --baseline COMMIT"
    return "not measured"
