"""Count false alarms by age, and how soon changes are found: `make bench-changes`. Writes tables and a picture."""

from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import click
import numpy as np
from matplotlib.figure import Figure

from adabypass import ChangeMonitor, Forecaster
from adabypass.validation import Floats
from benchmarks.changes import detectors, series
from benchmarks.changes.series import CHANGE_AT, JUMPS, UNCHANGED

Each = Callable[..., Iterable[Any]]
"""Calls a function for each of some seeds."""
Show = Callable[[str], None]
RATE = 0.001
AGES = (4, 10, 20, 50, 200, 1000)
LENGTHS = (20, 100, 1000)
YOUNG = 50
"""Rows of most new series; the others have as many as the last age."""
WITHIN = 100
"""Rows after a jump within which it is to be found."""
BEFORE, AFTER = 5, 20
"""Rows about an annotated change within which an alarm finds it."""


def new_series(kind: str, n: int, seed: int) -> tuple[list[int], list[int], list[int]]:
    """Return the rows (from 1) with a surprise beyond the rate, those with a flag, and those with an alarm."""
    trace = Forecaster().run(series.unchanged(kind, n, seed))
    first = n - len(trace) + 1
    found = ChangeMonitor(false_alarms=RATE).run(trace.predictive, trace.y)
    beyond = np.flatnonzero(np.abs(trace.surprise()) > 3.2905)
    return (
        (beyond + first).tolist(), (found.anomalies + first).tolist(),
        [change.found_at + first for change in found.changes],
    )  # fmt: skip


def long_series(n: int, job: tuple[str, str, int]) -> tuple[int, int]:
    """Return the numbers of flags and alarms in a long series, learned in parts."""
    kind, model, seed = job
    y, n_flags, n_alarms = series.unchanged(kind, n, seed), 0, 0
    forecaster, monitor = Forecaster(lags=None if model == "auto" else 1), ChangeMonitor(false_alarms=RATE)
    for part in np.array_split(y, max(1, n // 5000)):
        trace = forecaster.run(part)
        found = monitor.run(trace.predictive, trace.y, trace.history.get("drift"))
        n_flags, n_alarms = n_flags + len(found.anomalies), n_alarms + len(found.changes)
    return n_flags, n_alarms


def false_alarms(each: Each, n_series: int, n_old: int, n_long: int, show: Show) -> None:
    """Tabulate false alarms by age, and by length of stream."""
    show(
        f"\nNew series, {n_series} up to row {YOUNG} and {n_old} of them further: flagged rows per 1,000, at a rate of "
        "1 (in brackets, surprises beyond 3.29)\n"
    )
    show(f"| series | {' | '.join(f'row {age}' for age in AGES)} | rows 20 to 1,000 |\n|---" + "|--:" * 7 + "|")
    lines = []
    for kind in UNCHANGED:
        old = list(each(partial(new_series, kind, AGES[-1]), range(n_old)))
        found = old + list(each(partial(new_series, kind, YOUNG), range(n_old, n_series)))
        cells = []
        for age in AGES:
            n = n_series if age <= YOUNG else n_old
            beyond, flags = (sum(age in one[which] for one in found[:n]) for which in (0, 1))
            cells.append(f"{1000 * flags / n:.1f} ({1000 * beyond / n:.1f})")
        n_rows = n_old * (AGES[-1] - 20) / 1000
        beyond, flags = (sum(row > 20 for one in old for row in one[which]) / n_rows for which in (0, 1))
        show(f"| {kind} | {' | '.join(cells)} | {flags:.2f} ({beyond:.1f}) |")
        rates = []
        for length in LENGTHS:
            some = found if length <= YOUNG else old
            rates.append(f"{1000 * sum(row <= length for one in some for row in one[2]) / len(some) / length:.2f}")
        share = np.mean([any(row <= 200 for row in one[2]) for one in old])
        lines.append((kind, [*rates, f"{100 * share:.1f} %"]))
    show("\nFalse alarms of change per 1,000 rows, at a rate of at most 1\n")
    lengths = " | ".join(f"first {length} rows" for length in LENGTHS)
    models = " | ".join(f"100,000 rows, {model} | flags" for model in ("Forecaster()", "lags=1"))
    show(f"| series | {lengths} | series with one in 200 rows | {models} |")
    show("|---" + "|--:" * 8 + "|")
    jobs = [(kind, model, seed) for kind in UNCHANGED for model in ("auto", "lags") for seed in range(n_long)]
    long = dict(zip(jobs, each(partial(long_series, 100_000), jobs), strict=True))
    for kind, cells in lines:
        for model in ("auto", "lags"):
            some = [long[job] for job in jobs if job[:2] == (kind, model)]
            cells += [f"{sum(one[which] for one in some) / (100 * n_long):.2f}" for which in (1, 0)]
        show(f"| {kind} | " + " | ".join(cells) + " |")


def one_jump(kind: str, seed: int) -> dict[tuple[str, str, str], list[tuple[int, str]]]:
    """Return the alarms of every detector, with each setting and on each input, in a series that jumps."""
    y, feature = series.with_jump(kind, seed)
    found: dict[tuple[str, str, str], list[tuple[int, str]]] = {}
    inputs = {"values": (y - y[:50].mean()) / y[:50].std()}
    models = ["the regression"] if kind.startswith("slope") else list(detectors.MODELS)
    for model in models:
        series_y = y if model == "the regression" else y - feature  # without its feature for those that have none
        trace, errors = detectors.run(model, series_y, feature)
        for rate in (0.01, RATE, 0.0001):
            found["ChangeMonitor", f"false_alarms={rate:g}", model] = detectors.ours(trace, len(y), rate)
        if model == models[0]:
            inputs |= {"errors": errors, "sizes of errors": np.abs(errors)}
    for name, setting, detect in detectors.rivals():
        for given, x in inputs.items():
            found[name, setting, given] = [(row, "") for row in detect(x)]
    return found


def delays(each: Each, n_series: int, show: Show) -> dict[str, dict[str, Floats]]:
    """Tabulate how soon jumps are found; return the delays by jump and detector, inf where it was not."""
    every = {kind: list(each(partial(one_jump, kind), range(n_series))) for kind in JUMPS}
    calm = every["none"]
    rates = {key: 1000 * sum(row > 20 for one in calm for row, _ in one[key]) / (n_series * (series.N_ROWS - 20))
             for key in calm[0]}  # fmt: skip
    curves: dict[str, dict[str, Floats]] = {}
    show(f"\nJumps found within {WITHIN} rows, of {n_series}: share, median delay in rows; setting with the most found "
         "among those with at most one false alarm in 1,000 rows\n")  # fmt: skip
    show("| jump | detector | input | setting | found | median delay | false alarms per 1,000 rows | kind named |")
    show("|---" * 4 + "|--:" * 4 + "|")
    for kind in [kind for kind in JUMPS if kind != "none"]:
        curves[kind] = {}
        keys = list(every[kind][0])
        for name in ("ChangeMonitor", "ADWIN", "KSWIN", "PageHinkley"):
            inputs = list(dict.fromkeys(key[2] for key in keys if key[0] == name))
            best: dict[str, tuple[float, Floats, tuple[str, str, str]]] = {}
            for key in [key for key in keys if key[0] == name and rates[key] <= 1.0]:
                if name == "ChangeMonitor" and key[1] != f"false_alarms={RATE:g}":
                    continue
                late = np.array([min([row - CHANGE_AT for row, _ in one[key] if row >= CHANGE_AT] or [np.inf])
                                 for one in every[kind]])  # fmt: skip
                share = float(np.mean(late < WITHIN))
                if key[2] not in best or share > best[key[2]][0]:
                    best[key[2]] = share, late, key
            chosen = [best[each] for each in inputs if each in best]
            for share, late, key in chosen if name == "ChangeMonitor" else sorted(chosen, key=lambda one: -one[0])[:1]:
                named = ""
                if name == "ChangeMonitor":
                    firsts = [next((k for row, k in one[key] if row >= CHANGE_AT), None) for one in every[kind]]
                    told = [k for k, delay in zip(firsts, late, strict=True) if delay < WITHIN]
                    counts = sorted({(told.count(k), k) for k in told if k}, reverse=True)
                    named = ", ".join(f"{k} {100 * n / len(told):.0f} %" for n, k in counts)
                median = f"{np.median(late[late < WITHIN]):.0f}" if share else "-"
                cells = (kind, name, key[2], key[1], f"{100 * share:.0f} %", median, f"{rates[key]:.2f}", named)
                show("| " + " | ".join(cells) + " |")
                label = name if name != "ChangeMonitor" else f"ChangeMonitor, {key[2]}"
                curves[kind][label] = late
    return curves


def annotated(show: Show) -> None:
    """Tabulate how well alarms agree with annotations of River's series."""
    show(f"\nRiver's annotated series: alarms within {BEFORE} rows before and {AFTER} after an annotated change\n")
    show("| series | rows | " + " | ".join(("ChangeMonitor, Forecaster()", "ADWIN", "KSWIN", "PageHinkley")) + " |")
    show("|---|--:|" + "--:|" * 4)
    totals: dict[tuple[str, str], list[float]] = {}
    records = []
    for one in series.annotated():
        marks: dict[tuple[str, str], list[int]] = {}
        for y in one.columns:
            unit = (y - y[:20].mean()) / (y[:20].std() or 1.0)
            trace, errors = detectors.run("Forecaster()", y, y)
            for rate in (0.01, RATE):
                rows = [row for row, _ in detectors.ours(trace, len(y), rate)]
                marks.setdefault(("ChangeMonitor", f"{rate:g}"), []).extend(rows)
            for name, setting, detect in detectors.rivals():
                for given, x in (("values", unit), ("errors", errors), ("sizes of errors", np.abs(errors))):
                    marks.setdefault((name, f"{setting}, {given}"), []).extend(detect(x))
        scores = {key: agreement(sorted(rows), one.changes) for key, rows in marks.items()}
        records.append((one, scores))
        for key, score in scores.items():
            totals.setdefault(key, []).append(score[2])
    best = {name: max((key for key in totals if key[0] == name), key=lambda key: float(np.mean(totals[key])))
            for name in ("ChangeMonitor", "ADWIN", "KSWIN", "PageHinkley")}  # fmt: skip
    for one, scores in records:
        cells = [" / ".join(f"{each:.2f}" for each in scores[best[name]]) for name in best]
        show(f"| {one.name} | {len(one.columns[0])} | " + " | ".join(cells) + " |")
    show("| mean F1 | | " + " | ".join(f"{np.mean(totals[best[name]]):.2f}" for name in best) + " |")
    show("\nprecision / recall / F1; settings with the best mean F1 of all: "
         + "; ".join(f"{name} {best[name][1]}" for name in best if name != "ChangeMonitor"))  # fmt: skip


def agreement(rows: list[int], changes: list[list[int]]) -> tuple[float, float, float]:
    """Return precision, mean recall over the annotators that saw a change, and F1."""

    def is_near(row: int, at: int) -> bool:
        return at - BEFORE <= row <= at + AFTER

    every = [at for one in changes for at in one]
    merged = [row for before, row in zip([-1000, *rows], rows, strict=False) if row - before > 2]
    precision = float(np.mean([any(is_near(row, at) for at in every) for row in merged])) if merged else 0.0
    recalls = [np.mean([any(is_near(row, at) for row in rows) for at in one]) for one in changes if one]
    recall = float(np.mean(recalls)) if recalls else 1.0
    return precision, recall, 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def draw(curves: dict[str, dict[str, Floats]], path: Path) -> None:
    """Draw the share of jumps found against the rows since the jump."""
    kinds = [kind for kind in JUMPS if kind in curves]
    figure = Figure(figsize=(10, 5.6), layout="constrained")
    axes = np.ravel(figure.subplots(2, 3, sharex=True, sharey=True))
    colours = {"ChangeMonitor": "#0072b2", "ADWIN": "#d55e00", "KSWIN": "#009e73", "PageHinkley": "#cc79a7"}
    styles = {"the regression": "-", "Forecaster(lags=1)": "--", "Forecaster()": ":"}
    at = np.arange(WITHIN)
    for ax, kind in zip(axes, kinds, strict=True):
        for label, late in curves[kind].items():
            name, _, model = label.partition(", ")
            share = [100 * float(np.mean(late <= row)) for row in at]
            ax.plot(at, share, color=colours[name], linestyle=styles.get(model, "-"), linewidth=1.3, label=label)
        ax.set_title(kind, loc="left", fontsize=10)
        ax.spines[["top", "right"]].set_visible(False)
    axes[0].set_ylabel("found, %")
    axes[3].set_ylabel("found, %")
    for ax in axes[3:]:
        ax.set_xlabel("rows since the jump")
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False, fontsize=9)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120)


@click.command()
@click.option("--series", "n_series", default=2000, show_default=True, help="New series of each kind.")
@click.option("--old", "n_old", default=200, show_default=True, help="Those of them that reach row 1,000.")
@click.option("--long", "n_long", default=1, show_default=True, help="Series of 100,000 rows of each kind.")
@click.option("--jumps", "n_jumps", default=40, show_default=True, help="Series with a jump of each kind.")
@click.option("--out", default="build/changes", show_default=True, type=click.Path(path_type=Path))
@click.option("--docs", is_flag=True, help="Write the picture to docs/images too.")
def main(n_series: int, n_old: int, n_long: int, n_jumps: int, out: Path, docs: bool) -> None:
    """Count false alarms, and measure how soon changes are found."""
    out.mkdir(parents=True, exist_ok=True)
    with (out / "tables.md").open("w") as file, ProcessPoolExecutor(2) as pool:

        def show(line: str) -> None:
            print(line, flush=True)
            print(line, file=file, flush=True)

        each = partial(pool.map, chunksize=2)
        curves = delays(each, n_jumps, show)
        draw(curves, out / "changes.png")
        if docs:
            draw(curves, Path("docs/images/changes.png"))
        annotated(show)
        false_alarms(each, n_series, n_old, n_long, show)


if __name__ == "__main__":
    main()
