"""Series to be shown."""

from datetime import datetime, timedelta
from typing import Any

import numpy as np

START = datetime(2026, 3, 2)
DAY = 96


def load(n: int, id: str = "load", *, seed: int = 0, jump: float = 0.0, jump_at: int = 0) -> list[dict[str, Any]]:
    """Return observations with a daily season, a quarter of an hour apart."""
    rng = np.random.default_rng(seed)
    at = np.arange(n)
    values = 45.0 + 12.0 * np.sin(2.0 * np.pi * (at / DAY - 0.07 * seed)) + rng.normal(0.0, 1.5, n)
    values += jump * (at >= jump_at)
    return [
        {"id": id, "time": f"{(START + i * timedelta(minutes=15)).isoformat()}Z", "y": round(float(y), 2)}
        for i, y in enumerate(values)
    ]


def many(n_series: int, n: int) -> list[dict[str, Any]]:
    """Return observations of many series in turn; a few of them have just changed."""
    every = [
        load(n, f"web-{i + 1:03d}", seed=i, jump=24.0 if i % 37 == 3 else 0.0, jump_at=n - 4) for i in range(n_series)
    ]
    return [each[i] for i in range(n) for each in every]
