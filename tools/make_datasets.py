"""Write the two data sets that are simulated: a small shop, and a metric with an incident.

.venv/bin/python tools/make_datasets.py
"""

import gzip
from pathlib import Path

import numpy as np

FOLDER = Path(__file__).parents[1] / "src/adabypass/datasets"
WEEK = np.array([-4.0, -3.0, -1.0, 0.0, 4.0, 8.0, -4.0]) / 10
"""What each weekday adds to sales, as a share of the level, from Monday."""
HOLIDAYS = np.array(
    ["2024-03-29", "2024-04-01", "2024-05-01", "2024-12-25", "2024-12-26", "2025-01-01", "2025-04-18", "2025-04-21",
     "2025-05-01", "2025-12-25", "2025-12-26", "2026-01-01"], "datetime64[D]",
)  # fmt: skip
N_PRODUCTS, N_DAYS, AHEAD = 12, 728, 28
RARE = 4
"""Number of products that are sold on one day in five."""


def write(name: str, lines: list[str]) -> None:
    """Write lines to a compressed file, whose bytes depend on nothing else."""
    content = gzip.compress(("\n".join(lines) + "\n").encode(), mtime=0)
    (FOLDER / f"{name}.csv.gz").write_bytes(content)
    print(f"{name}: {len(lines) - 3} rows, {len(content)} bytes")


def retail() -> list[str]:
    """Return the sales of twelve products; those of the last 28 days are to come, and blank."""
    rng = np.random.default_rng(2024)
    days = np.datetime64("2024-01-01") + np.arange(N_DAYS + AHEAD)  # a Monday
    lines = [
        "# Daily sales of 12 products of a shop that does not exist; blank in the last 28 days, which are to come.",
        "# Simulated by tools/make_datasets.py, BSD-3-Clause.",
        "product,day,sold,promotion,holiday",
    ]
    for number in range(N_PRODUCTS):
        n = len(days)
        promotion = np.repeat(rng.uniform(size=n // 4 + 1) < 0.08, 4)[:n].astype(int)  # for four days
        holiday = np.isin(days, HOLIDAYS).astype(int)
        if number >= N_PRODUCTS - RARE:
            sold = np.where(rng.uniform(size=n) < 0.8 - 0.3 * promotion, 0, 1 + rng.poisson(2.0, size=n))
        else:
            level = rng.uniform(30, 90) * np.exp(np.cumsum(rng.normal(0.0, 0.006, size=n)))
            year = 0.15 * np.cos(2 * np.pi * (days - days[0]).astype(float) / 365.25)
            mean = level * (1 + year + 0.4 * WEEK[np.arange(n) % 7]) * np.exp(0.35 * promotion - 0.5 * holiday)
            sold = np.round(mean + rng.normal(0, 0.08, size=n) * mean).astype(int)
        for at, day in enumerate(days):
            seen = "" if at >= N_DAYS else str(sold[at])
            lines.append(f"product {number + 1:02d},{day},{seen},{promotion[at]},{holiday[at]}")
    return lines


def metric() -> list[str]:
    """Return the processor load of a machine: its day, a release that costs more, an incident, and a gap."""
    rng = np.random.default_rng(7)
    n = 21 * 144
    day = np.arange(n) / 144
    load = 34 + 11 * np.sin(2 * np.pi * (day - 0.35)) + 3 * np.sin(4 * np.pi * day)
    load += np.where(day >= 12.5, 6.0, 0.0)  # a release
    wave = np.zeros(n)
    for at in range(1, n):
        wave[at] = 0.8 * wave[at - 1] + rng.normal(0, 1.0)
    load += wave
    incident = (day >= 17.40) & (day < 17.47)
    load[incident] += np.linspace(18, 36, incident.sum())
    seen = [f"{min(max(value, 0), 100):.1f}" for value in load]
    for at in range(int(9.2 * 144), int(9.2 * 144) + 7):
        seen[at] = "nan"
    return [
        "# Processor load in percent every 10 minutes from 2026-03-02 00:00, of a machine that does not exist.",
        "# Simulated by tools/make_datasets.py, BSD-3-Clause: gap on day 9, release on day 12, incident on day 17.",
        "load_percent",
        *seen,
    ]


if __name__ == "__main__":
    write("retail", retail())
    write("metric", metric())
