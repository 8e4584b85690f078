"""Draw the pictures of the guides and concepts from the data that come with the library.

.venv/bin/python tools/draw_guides.py              # all of them: some ten seconds
.venv/bin/python tools/draw_guides.py sales bank   # or some
"""

import sys
import tempfile
import time
import tomllib
import warnings
from collections.abc import Callable
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from adabypass import (
    AdaBypass,
    AutoBypass,
    Forecaster,
    evaluate,
    forecast,
    load,
    load_dataset,
    plots,
)

ROOT = Path(__file__).parents[1]
IMAGES = ROOT / "docs/images"
RED, BLUE, GREY = "#c8102e", "#3b6ea5", "0.55"


def axes(height: float = 3.6, columns: int = 1) -> Any:
    """Return Axes of the width that all pictures have."""
    return Figure(figsize=(9, height), layout="constrained").subplots(1, columns)


def save(name: str, picture: Any) -> None:
    """Write a picture."""
    plots.save(picture, IMAGES / f"{name}.png")


def sales() -> None:
    shop = load_dataset("retail").to_frame()
    shown = ["product 01", "product 02", "product 03", "product 09"]
    shop = shop[shop["unique_id"].isin(shown)]
    save("sales", plots.fan(forecast(shop, horizon=28, exog=["promotion", "holiday"]), shop, history=120))


def many_series() -> None:
    shop = load_dataset("retail").to_frame()
    shop = shop[shop["unique_id"] < "product 09"][["unique_id", "ds", "y"]]
    shop = shop[shop["y"].notna()]
    save("many-series", plots.fan(forecast(shop, horizon=28), shop, history=60))


def intermittent() -> None:
    shop = load_dataset("retail").to_frame()
    rare = shop[(shop["unique_id"] == "product 11") & shop["y"].notna()]
    forecaster = Forecaster(support="positive")
    trace = forecaster.run(rare["y"].to_numpy())
    when, newest = rare["ds"].to_numpy(), slice(-120, None)
    ax = axes()
    at = when[trace.first :][newest]
    stock = trace.predictive[np.arange(len(trace))[newest]].quantile(0.95)
    ax.fill_between(at, 0, stock, color="#f7dfe3", step="mid", label="pieces that suffice on 19 days of 20")
    ax.bar(at, trace.y[newest], color=BLUE, width=0.8, label="sold")
    plots.label(ax, y="pieces a day")
    plots.canvas.tidy(ax, at)
    ax.set_ylim(0, 9)
    plots.canvas.legend(ax)
    save("intermittent", ax)


def lower_bound() -> None:
    wind = load_dataset("wind")
    calm = slice(11_000, 12_000)
    both = axes(columns=2)
    for ax, support, title in zip(both, (None, "positive"), ("without a bound", 'support="positive"'), strict=True):
        forecaster = Forecaster(support=support)
        forecaster.learn(wind.y[calm])
        forecaster.forecast(36).plot(wind.y[calm], wind.time[calm], ax=ax, history=100, title=title)
        ax.axhline(0, color="black", linewidth=0.8)
        ax.set_ylim(-3, 10)
        plots.label(ax, y="wind speed, m/s", title=title)
        ax.get_legend().remove()
    plots.canvas.legend(both[0], columns=2)
    save("lower-bound", both)


def saving() -> None:
    nile = load_dataset("nile")
    forecaster = Forecaster()
    trace = forecaster.run(nile.y[:600])
    with tempfile.TemporaryDirectory() as folder:
        forecaster.save(folder + "/nile.safetensors")
        again = load(folder + "/nile.safetensors")
    after = again.run(nile.y[600:])
    ax = axes()
    for part, first in ((trace, 1), (after, 600)):
        when = nile.time[first : first + len(part)]
        newest = slice(-60, None) if first == 1 else slice(None)
        low, high = part.predictive[np.arange(len(part))[newest]].interval(0.9)
        ax.fill_between(
            when[newest], low, high, color="#f7dfe3" if first == 1 else "#dbe6f3", linewidth=0,
            label="90 % interval, before it was saved" if first == 1 else "after it was loaded",
        )  # fmt: skip
        ax.plot(when[newest], part.y[newest], "o", color="black", markersize=2.5)
    ax.axvline(nile.time[599] + 0.5, color="black", linewidth=1, linestyle=(0, (4, 3)))
    ax.annotate("save, load", xy=(nile.time[599] + 1, 14.1), fontsize=9)
    plots.label(ax, y="metres")
    plots.canvas.tidy(ax, nile.time)
    ax.set_ylim(8.5, 14.9)
    plots.canvas.legend(ax, columns=2)
    save("saving", ax)


def nile_history() -> None:
    nile = load_dataset("nile")
    save("nile-history", Forecaster().run(nile.y).plot(nile.time, y_label="metres", ax=axes()))


def calibration() -> None:
    nile = load_dataset("nile")
    save("calibration", plots.calibration(Forecaster().run(nile.y), nile.time))


def scores() -> None:
    nile = load_dataset("nile")
    save("scores", evaluate(nile.y, Forecaster(), horizon=12, every=3).plot())


def predictive() -> None:
    air = load_dataset("air_passengers")
    forecaster = Forecaster(period=12)
    forecaster.learn(air.y[:-1])
    ahead = forecaster.predict()
    low, high = ahead.interval(0.9)
    at = np.linspace(ahead.quantile(0.001), ahead.quantile(0.999), 400)
    density = np.array([ahead.pdf(each) for each in at])
    within = (at >= low) & (at <= high)
    ax = axes(3.2)
    ax.fill_between(at[within], density[within], color="#f7b6c2", linewidth=0, label="90 % interval")
    ax.plot(at, density, color=RED, linewidth=1.5, label="predictive density")
    ax.axvline(ahead.mean, color=RED, linewidth=0.9, linestyle=(0, (4, 3)), label="mean")
    ax.plot([air.y[-1]], [0], "D", color="black", markersize=7, clip_on=False, label="the value that came")
    plots.label(ax, x="thousand passengers in December 1960", y="density")
    plots.canvas.tidy(ax)
    ax.set_ylim(0, 1.2 * density.max())
    plots.canvas.legend(ax)
    save("predictive", ax)


def bank() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(2000, 1))
    slope = np.where(np.arange(2000) < 1000, 1.0, 4.0)
    trace = AutoBypass().run(x, slope * x[:, 0] + rng.normal(0, 0.3, size=2000), keep_weights=True)
    both = Figure(figsize=(9, 4.6), layout="constrained").subplots(2, 1, sharex=True)
    plots.weights(trace, ["slope"], ax=both[0])
    both[0].set_ylim(0, 5.2)
    plots.parameters(trace, ["drift_shares"], ax=both[1:])
    plots.label(both[0], y="weight", title="the slope, which jumps from 1 to 4 after 1,000 rows")
    plots.label(both[1], x="rows seen", title="shares of filters, by how fast their weights drift")
    save("bank", both)


def components() -> None:
    air = load_dataset("air_passengers")
    forecaster = Forecaster(period=12)
    forecaster.learn(air.y)
    save("components", forecaster.explain(24, y=air.y, time=air.time).plot())


def online() -> None:
    rng = np.random.default_rng(0)
    forecaster, counts, spent = Forecaster(period=12), [], []
    for n in (100, 300, 1_000, 3_000, 10_000, 30_000, 100_000):
        forecaster.learn(rng.normal(size=n - forecaster.n_seen))
        part = rng.normal(size=200)
        best = np.inf
        for _ in range(5):
            twin, start = forecaster.copy(), time.perf_counter()
            for value in part:
                twin.update(value)
            best = min(best, (time.perf_counter() - start) / len(part))
        counts.append(n)
        spent.append(1e6 * best)
    ax = axes(3.0)
    ax.plot(counts, spent, "o-", color=BLUE)
    ax.set_xscale("log")
    ax.set_ylim(0, 1.5 * max(spent))
    plots.label(ax, x="values seen before", y="µs for an update")
    plots.canvas.tidy(ax)
    save("online", ax)


def many_features() -> None:
    rng = np.random.default_rng(0)
    n, n_features = 3000, 300
    x = (rng.uniform(size=(n, n_features)) < 0.05) * rng.normal(size=(n, n_features))
    truth = rng.normal(size=n_features)
    y = x @ truth + rng.normal(0, 0.3, size=n)
    ax = axes()
    for name, model, color in (
        ('covariance="full"', AutoBypass(covariance="full"), BLUE),
        ('covariance="diagonal"', AutoBypass(covariance="diagonal"), "#d55e00"),
    ):
        start = time.perf_counter()
        trace = model.run(x, y)
        each = 1e6 * (time.perf_counter() - start) / n
        error = np.abs(trace.y - trace.mean)
        mean = np.convolve(error, np.ones(200) / 200, "valid")[100:]
        ax.plot(300 + np.arange(len(mean)), mean, color=color, label=f"{name}: {each:.0f} µs a row")
    ax.axhline(0.3 * np.sqrt(2 / np.pi), color=GREY, linestyle=(0, (4, 3)), label="the noise alone")
    ax.set_ylim(0)
    plots.label(ax, x="rows seen", y="mean absolute error", title="300 features, 5 % of them not 0")
    plots.canvas.tidy(ax)
    ax.legend(frameon=False, loc="upper right", fontsize=9)
    save("many-features", ax)


def restart() -> None:
    """Draw the incident that a stream meets after its restart."""
    metric = load_dataset("metric")
    trace = Forecaster(period=144).run(metric.y)
    ax = trace.plot(metric.time, y_label="load, %", levels=(0.9,), ax=axes())
    stopped, started = np.datetime64("2026-03-17T06:00"), np.datetime64("2026-03-17T07:00")
    ax.axvspan(stopped, started, color="0.75", label="restart")
    found = trace.anomalies()
    when = metric.time[trace.first :]
    ax.plot(when[found], trace.y[found], "o", color=RED, markersize=8, fillstyle="none", label="alarm")
    ax.set_xlim(np.datetime64("2026-03-15"), np.datetime64("2026-03-21"))
    plots.canvas.legend(ax)
    save("restart", ax)


def anomalies() -> None:
    """Draw what a River detector sees: values with their limit."""
    metric = load_dataset("metric")
    trace = Forecaster(period=144).run(metric.y)
    score = np.abs(trace.surprise())
    when = metric.time[trace.first :]
    ax = axes()
    ax.plot(when, np.clip(score, 0, 8), ".", color=BLUE, markersize=2.5, label="surprise, in standard deviations")
    ax.axhline(3.29, color=RED, linewidth=0.9, linestyle=(0, (4, 3)), label="one in a thousand")
    plots.label(ax, y="surprise")
    plots.canvas.tidy(ax, when)
    ax.set_ylim(0, 9)
    plots.canvas.legend(ax)
    save("anomalies", ax)


def regression_intervals() -> None:
    """Draw a regression that knows how sure it is, for the guide to scikit-learn."""
    rng = np.random.default_rng(0)
    x = np.sort(rng.uniform(0, 10, size=200))
    y = 3 + 0.8 * x + (0.2 + 0.15 * x) * rng.normal(size=200)
    model = AutoBypass()
    order = rng.permutation(200)
    model.run(np.column_stack([np.ones(200), x])[order], y[order])
    grid = np.linspace(0, 10, 60)
    ahead = [model.predict([1.0, each]) for each in grid]
    ax = axes()
    for level, strength in ((0.9, "#f7dfe3"), (0.5, "#efb3bf")):
        bounds = np.array([each.interval(level) for each in ahead])
        ax.fill_between(grid, *bounds.T, color=strength, linewidth=0, label=f"{100 * level:g} % interval")
    ax.plot(grid, [each.mean for each in ahead], color=RED, label="mean")
    ax.plot(x, y, "o", color="black", markersize=2.5, label="observed")
    plots.label(ax, x="feature", y="target")
    plots.canvas.tidy(ax)
    plots.canvas.legend(ax)
    save("regression", ax)


def electricity() -> None:
    """Draw a series with two seasons, a day and a week, for the guide to sktime."""
    demand = load_dataset("electricity")
    forecaster = Forecaster(period=[24, 168])
    forecaster.learn(demand.y[:-168])
    ax = forecaster.forecast(168).plot(demand.y[:-168], demand.time[:-168], demand.time[-168:], ax=axes(), history=336)
    ax.plot(demand.time[-168:], demand.y[-168:], color="black", linewidth=0.9, label="what came")
    plots.label(ax, y="MW", title="electricity demand, a week ahead")
    plots.canvas.legend(ax, columns=3)
    save("electricity", ax)


def variant() -> None:
    """Draw what a variant of the algorithm is judged by: log scores."""
    nile = load_dataset("nile")
    x, y = nile.y[:-1, None] - nile.y.mean(), nile.y[1:] - nile.y.mean()
    ax = axes()
    for name, model, color in (("AdaBypass", AdaBypass(), "#d55e00"), ("AutoBypass", AutoBypass(), BLUE)):
        trace = model.run(x, y)
        ax.plot(nile.time[21:], np.cumsum(trace.log_score[20:]), color=color, label=name)
    plots.label(ax, y="log score, added up", title="higher is better: the Nile, in metres")
    plots.canvas.tidy(ax, nile.time[21:])
    plots.canvas.legend(ax)
    save("variant", ax)


BOX = (
    '<rect x="{x}" y="{y}" width="{w}" height="{h}" rx="6" fill="{fill}" stroke="#8894a0"/>'
    '<text x="{tx}" y="{ty}" text-anchor="middle" font-size="{size}" fill="#1c2530"{style}>{text}</text>'
)


def box(x: float, y: float, w: float, h: float, text: str, fill: str, size: int = 14, mono: bool = False) -> str:
    style = ' font-family="DejaVu Sans Mono, Menlo, Consolas, monospace"' if mono else ""
    return BOX.format(
        x=x, y=y, w=w, h=h, fill=fill, tx=x + w / 2, ty=y + h / 2 + size * 0.35, size=size, style=style,
        text=escape(text),
    )  # fmt: skip


def drawing(name: str, width: int, height: int, content: str, title: str) -> None:
    """Write an SVG, on white, so that it is readable on dark pages, too."""
    (IMAGES / f"{name}.svg").write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'font-family="DejaVu Sans, Helvetica, Arial, sans-serif" role="img" aria-label="{escape(title)}">'
        f'<rect width="{width}" height="{height}" fill="white"/>{content}</svg>\n'
    )


CHOICES = (
    ("What is to be forecast?", None, None),
    ("a data frame", "of one or many series", "forecast(frame, horizon)"),
    ("one series", "in memory", "Forecaster()"),
    ("many series", "that go on", "Panel(Forecaster())"),
    ("rows as they arrive", "through restarts", "Stream(folder, Forecaster())"),
    ("a number", "from some features", "AutoBypass()"),
    ("a number", "from hundreds, or sparse ones", 'AutoBypass(covariance="diagonal")'),
)


def choosing() -> None:
    width, row, top = 860, 62, 20
    n = len(CHOICES) - 1
    height = top + n * row + 10
    middle = top + n * row / 2
    parts = [box(15, middle - 32, 190, 64, CHOICES[0][0], "#fbe4e8", 14)]
    for at, (what, more, call) in enumerate(CHOICES[1:]):
        y = top + at * row
        line = y + 24
        parts.append(
            f'<path d="M205 {middle}C245 {middle} 235 {line} 275 {line}" fill="none" stroke="#8894a0" '
            'stroke-width="1.4"/>'
        )
        parts.append(box(275, y, 250, 48, "", "#f3f5f8"))
        parts.append(f'<text x="400" y="{y + 20}" text-anchor="middle" font-size="14" font-weight="bold" '
                     f'fill="#1c2530">{escape(what)}</text><text x="400" y="{y + 38}" text-anchor="middle" '
                     f'font-size="12" fill="#4a5664">{escape(str(more))}</text>')  # fmt: skip
        parts.append(f'<path d="M525 {line}H555" stroke="#8894a0" stroke-width="1.4"/>')
        parts.append(box(555, y, 290, 48, str(call), "#e3edf8", 13, mono=True))
    drawing("choosing", width, height, "".join(parts), "Which class for which data")


WORDS = {
    "__main__": None, "cli": "the commands", "adapters": "other libraries", "experiments": "the paper's studies",
    "saved": "load", "streaming": "Stream: rows as they arrive", "evaluation | plots": "how good, and how it looks",
    "panel": "many series", "forecasting": "one series", "regressors": "one model",
    "kernels | reference": "how belief moves, compiled and in NumPy", "results": "what runs return",
    "state": "what a row is", "distributions": "what a forecast is", "data": "tables and times",
    "numerics | datasets | snapshots | notebook": "functions, data sets, files", "files": None, "validation": None,
    "errors": "checks, errors, files",
}  # fmt: skip


def architecture() -> None:
    """Draw the layers that `make lint` checks, from where they are declared."""
    (contract,) = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    layers = [each for each in contract["layers"] if each not in ("__main__",)]
    row, width = 34, 820
    parts, y = [], 12
    for layer in layers:
        names = layer.split(" | ")
        each = 470 / len(names)
        for at, name in enumerate(names):
            fill = "#fbe4e8" if name in ("kernels", "numerics", "state") else "#e3edf8"
            parts.append(box(15 + at * each, y, each - 6, row - 6, name, fill, 13, mono=True))
        words = WORDS.get(layer) or ""
        parts.append(f'<text x="500" y="{y + 19}" font-size="13" fill="#4a5664">{escape(words)}</text>')
        y += row
    parts.append(f'<text x="15" y="{y + 16}" font-size="12" fill="#4a5664">A package imports only what stands below '
                 "it. Red: compiled code, and what it reads.</text>")  # fmt: skip
    drawing("architecture", width, y + 28, "".join(parts), "The packages, from below")


PICTURES: dict[str, Callable[[], None]] = {
    each.__name__: each
    for each in (
        sales, many_series, intermittent, lower_bound, saving, nile_history, calibration, scores, predictive, bank,
        components, online, many_features, restart, anomalies, regression_intervals, electricity, variant, choosing,
        architecture,
    )
}  # fmt: skip


def main() -> None:
    """Draw those named on the command line, or all."""
    warnings.simplefilter("ignore")
    for name in sys.argv[1:] or PICTURES:
        PICTURES[name]()
        print(name)


if __name__ == "__main__":
    main()
