"""The passengers of an airline: one number for the same thing in Python, over arrays and frames, and by the command."""

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from river import datasets

from adabypass import Forecaster, compare, evaluate
from tests.cli.in_process import run

Y = np.array([y for _, y in datasets.AirlinePassengers()], dtype=np.float64)
FRAME = pd.DataFrame({"month": pd.date_range("1949-01-01", periods=len(Y), freq="MS"), "y": Y})
ASKED: dict[str, Any] = {"horizon": 6, "every": 3, "skip": 40}


def test_evaluate_compare_and_the_command_agree(tmp_path: Path) -> None:
    expected = evaluate(FRAME, Forecaster(), time="month", **ASKED).scores(6)
    beside = compare(FRAME, [Forecaster()], time="month", **ASKED).lines[0].scores
    told = evaluate(Y, Forecaster(period=12), **ASKED).scores(6)
    FRAME.to_csv(tmp_path / "air.csv", index=False)
    out = tmp_path / "scores.csv"
    options = [f"--{name}={value}" for name, value in ASKED.items()]
    run("evaluate", str(tmp_path / "air.csv"), "--time", "month", *options, "--out", str(out))
    line = next(each for each in csv.DictReader(out.read_text().splitlines()) if each["model"] == "auto")
    for name in ("rmse", "mae", "crps"):
        assert beside[name] == told[name] == expected[name]
        assert float(line[name]) == pytest.approx(expected[name], rel=1e-12)
