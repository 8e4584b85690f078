"""Draw the stream of the guide "A metric stream with alarms": its incident, the forecasts before it, and the alarms."""

import doctest
import re
import sys
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.dates
import matplotlib.pyplot as plt
import numpy as np

ROOT = Path(__file__).parents[1]
GUIDE, PICTURE = ROOT / "docs/guides/metric-stream.md", ROOT / "docs/images/metric-stream.png"
HOST, FIRST = "web-2", "2026-03-07T12:00:00"


def session() -> dict[str, Any]:
    """Run the guide's examples; return what they have defined."""
    blocks = re.findall(r"^```python\n(.*?)^```", GUIDE.read_text(), flags=re.M | re.S)
    test = doctest.DocTestParser().get_doctest("\n".join(blocks), {}, GUIDE.name, str(GUIDE), 0)
    if doctest.DocTestRunner().run(test, clear_globs=False).failed:
        sys.exit(f"{GUIDE} does not print what it says; correct it first.")
    return test.globs


def main() -> None:
    """Draw the picture."""
    fields = "mean,interval,anomaly"
    answers, _ = session()["run"]("whole", "--fields", fields)
    shown = [each for each in answers if each["labels.host"] == HOST and each["ts"] >= FIRST]
    time = np.array([each["ts"] for each in shown], "datetime64[s]")
    figure, axes = plt.subplots(figsize=(9, 3.6), layout="constrained")
    axes.fill_between(
        time, [each["lower_90"] for each in shown], [each["upper_90"] for each in shown], color="#cfe0f3",
        label="90 % interval, before the value was seen", linewidth=0,
    )  # fmt: skip
    axes.plot(time, [each["mean"] for each in shown], color="#2f6db5", linewidth=1, label="forecast")
    axes.plot(time, [each["y"] for each in shown], ".", color="#22303c", markersize=2.5, label=f"cpu of {HOST}, %")
    alarms = [(when, each["y"]) for when, each in zip(time, shown, strict=True) if each["anomaly"]]
    axes.plot(*zip(*alarms, strict=True), "o", color="#b3261e", markersize=7, fillstyle="none", label="alarm")
    locator = axes.xaxis.get_major_locator()
    axes.xaxis.set_major_formatter(matplotlib.dates.ConciseDateFormatter(locator))  # type: ignore[no-untyped-call]
    axes.legend(loc="upper left", frameon=False, fontsize=8)
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(PICTURE, dpi=110)


if __name__ == "__main__":
    main()
