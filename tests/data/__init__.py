"""Tests of tables, and what they share."""

from pathlib import Path
from typing import Any

import numpy as np

NAN = float("nan")


def saved(tmp_path: Path, content: str | bytes, name: str = "data.csv") -> Path:
    path = tmp_path / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def same(left: Any, right: Any) -> bool:
    """Equal to the last bit, the sign of zero included; a nan is a nan."""
    left, right = np.asarray(left, dtype=float), np.asarray(right, dtype=float)
    return np.array_equal(left, right, equal_nan=True) and bool(
        (np.signbit(left) == np.signbit(right))[~np.isnan(left)].all()
    )
