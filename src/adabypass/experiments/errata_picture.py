"""How the half-width of the noise's flat top answers to noise that changes."""

from adabypass.experiments import errata
from adabypass.plots.canvas import MARK, OBSERVED, PREDICTED, Axes, legend, mark_span, new_axes, tidy


def epsilon_over_time(lines: list[errata.Line]) -> Axes:
    """Draw epsilon after each observation, as the paper moves it and by the right gradients."""
    ax = new_axes((9, 4.2))
    styles = {("ADA-BYPASS", 1e-3): (OBSERVED, "-"), ("E5", 0.1): (MARK, "-"), ("E5 and E8", 0.1): (PREDICTED, "-")}
    for line in lines:
        if (style := styles.get((line.name, line.aggressiveness))) is not None:
            label = f"{line.name}, C = {line.aggressiveness:g}"
            label = label.replace("ADA-BYPASS", "the paper's gradient")
            ax.plot(line.trace.history["epsilon"], color=style[0], linestyle=style[1], linewidth=1.2, label=label)
    ax.set_ylim(bottom=0.0)
    mark_span(ax, *errata.NOISY, "noise of sd 4 instead of 0.5")
    ax.set(xlabel="observation", ylabel="epsilon (units of y)")
    ax.set_title("Do the hyperparameters follow the data?", loc="left", fontsize=11, pad=22)
    tidy(ax)
    legend(ax, columns=3)
    return ax
