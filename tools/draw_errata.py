"""Draw docs/images/errata.png: how epsilon answers to noise that changes, by the paper's gradient and right ones."""

from pathlib import Path

from adabypass import plots
from adabypass.experiments import errata, errata_picture

if __name__ == "__main__":
    out = Path(__file__).parents[1] / "docs/images/errata.png"
    plots.save(errata_picture.epsilon_over_time(errata.run()), out)
    print(f"The picture is in {out}")
