"""The simulation of the guide shows which gradients follow the data."""

from pathlib import Path

import numpy as np
import pytest

from adabypass.experiments import errata, errata_picture

GUIDE = Path(__file__).parents[2] / "docs/guides/nile.md"
LINES = errata.run()


def test_the_paper_s_gradient_stands_still_and_the_right_one_follows() -> None:
    paper, right = (
        next(line.trace.history["epsilon"] for line in LINES if (line.name, line.aggressiveness) == wanted)
        for wanted in (("ADA-BYPASS", 1e-3), ("E5 and E8", 0.1))
    )
    calm, noisy, end = 499, 999, 1499
    assert abs(paper[end] - paper[calm]) < 1e-3
    assert right[noisy] > right[calm] + 1.0
    assert right[end] < right[noisy] - 1.0


@pytest.mark.parametrize("line", LINES, ids=[f"{line.name}, {line.aggressiveness:g}" for line in LINES])
def test_the_guide_has_the_figures(line: errata.Line) -> None:
    scores, history = line.trace.scores(skip=20), line.trace.history
    ends = [", ".join(f"{history[name][at]:.2f}" for at in (499, 999, 1499)) for name in ("epsilon", "b")]
    held = np.abs(line.trace.y - line.trace.mean) < 1.645 * line.trace.sd
    coverage = ", ".join(f"{100 * np.mean(held[at : at + 500]):.0f} %" for at in (0, 500, 1000))
    figures = f"{scores['rmse']:.3f} | {scores['log_likelihood']:.0f} | {coverage} |"
    assert f"| {line.aggressiveness:g} | {ends[0]} | {ends[1]} | {figures}" in GUIDE.read_text()


def test_the_picture_has_three_curves_and_the_noisy_span() -> None:
    ax = errata_picture.epsilon_over_time(LINES)
    assert len([curve for curve in ax.lines if len(np.asarray(curve.get_xdata())) == errata.LENGTH]) == 3
    assert ax.get_xlabel() == "observation"
