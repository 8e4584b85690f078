"""What an operator sees: few messages, every bad row, and counts."""

import json
import os
import re
from pathlib import Path

import pytest

from adabypass.errors import TableError
from adabypass.streaming import operations
from adabypass.streaming.intake import Counts
from adabypass.streaming.operations import BURST, BadRowsFile, LimitedNotes, Statistics, bad_row


def test_messages_are_limited_and_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    now, said = [0.0], list[str]()
    monkeypatch.setattr(operations, "monotonic", lambda: now[0])
    notes = LimitedNotes(said.append)
    for i in range(1000):
        notes(f"row {i}")
    assert said == [f"row {i}" for i in range(BURST)]
    now[0] = 61.0
    notes("later")
    assert said[BURST:] == [f"and {1000 - BURST} more such messages within a minute.", "later"]
    notes.report()
    assert said[-1] == "later"


def test_bad_rows_are_added_to_their_file(tmp_path: Path) -> None:
    path = tmp_path / "bad.jsonl"
    error = TableError('input: row 3, column "y": "oops" is not a number')
    error.record = "a,oops\ud800\n"
    for _ in range(2):
        letters = BadRowsFile(str(path))
        letters.add(bad_row(error, {"row": 3}))
        letters.close()
    found = [json.loads(line) for line in path.read_text().splitlines()]
    assert [each["row"] for each in found] == [3, 3]
    assert found[0]["record"] == error.record
    assert found[0]["error"] == str(error)


NUMBER = re.compile(r"[a-z_]+ -?[0-9.e+-]+")


def test_metrics_are_written_whole_in_the_format_of_prometheus(tmp_path: Path) -> None:
    counts, said = Counts(), list[str]()
    statistics = Statistics(counts, lambda: 12, 60.0, said.append, str(tmp_path / "stream.prom"))
    assert 59.0 < statistics.due() <= 60.0
    counts.new, counts.late, counts.bad, counts.anomalies = 1000, 3, 2, 1
    statistics.report()
    assert re.fullmatch(
        r"stats: rows=1000 series=12 us_per_row=[0-9.]+ anomalies=1 changes=0 late=3 bad=2 gap_steps=0", said[0]
    )
    lines = (tmp_path / "stream.prom").read_text().splitlines()
    names = {line.split()[2] for line in lines if line.startswith("# TYPE ")}
    values = [line for line in lines if not line.startswith("#")]
    assert all(NUMBER.fullmatch(line) for line in values)
    assert {line.split()[0] for line in values} == names
    assert "adabypass_stream_late_rows_total 3" in values
    assert "adabypass_stream_series 12" in values
    assert os.listdir(tmp_path) == ["stream.prom"]
