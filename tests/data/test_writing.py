"""What is written is read back to the last bit, and nothing half-written is left."""

import io
import os
import stat
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from adabypass.data import read_table, write_table
from adabypass.errors import (
    MissingExtraError,
    NotFiniteError,
    ShapeError,
    TableError,
)
from tests.data import NAN, same, saved

FLOATS = st.floats(allow_infinity=False) | st.sampled_from([1e-300, 5e-324, -0.0, 1.7976931348623157e308, NAN, 0.1])
EVERY_KIND = pytest.mark.parametrize("kind", ["csv", "csv.gz", "tsv", "jsonl", "ndjson", "parquet"])
READABLE = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=8)
NAMES = READABLE.map(str.strip).filter(lambda name: name not in ("", "number"))


@EVERY_KIND
@given(
    y=arrays(float, st.shared(st.integers(1, 9), key="n"), elements=FLOATS),
    k=arrays(np.int64, st.shared(st.integers(1, 9), key="n"), elements=st.integers(-(2**53), 2**53)),
)
def test_what_is_written_is_read_to_the_last_bit(
    tmp_path_factory: pytest.TempPathFactory, kind: str, y: Any, k: Any
) -> None:
    path = tmp_path_factory.mktemp("round") / f"trip.{kind}"
    write_table({"y": y, "k": k}, path)
    table = read_table(path)
    assert same(table.numbers("y"), y)
    assert same(table.numbers("k"), k)


@EVERY_KIND
@given(texts=st.lists(READABLE, min_size=1, max_size=5), name=NAMES)
def test_text_and_names_survive(
    tmp_path_factory: pytest.TempPathFactory, kind: str, texts: list[str], name: str
) -> None:
    path = tmp_path_factory.mktemp("round") / f"trip.{kind}"
    write_table({name: np.array(texts, dtype=object), "number": np.arange(len(texts))}, path)
    table = read_table(path)
    assert table.names == [name, "number"]
    assert table.text(name) == texts


@EVERY_KIND
@pytest.mark.parametrize("unit", ["M", "D", "h", "m", "s", "ms", "us", "ns"])
def test_times_survive(tmp_path: Path, kind: str, unit: str) -> None:
    times = np.array([0, 1, 12345], dtype=f"M8[{unit}]")
    write_table({"t": times}, tmp_path / f"a.{kind}")
    assert (read_table(tmp_path / f"a.{kind}").times("t") == times).all()


def test_a_single_column_keeps_its_blanks(tmp_path: Path) -> None:
    write_table({"y": np.array([NAN, 1.0, NAN])}, tmp_path / "a.csv")
    assert same(read_table(tmp_path / "a.csv").numbers("y"), [NAN, 1, NAN])


def test_files_look_as_one_would_write_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    columns = {"t": np.array(["2014-01-01", "2014-01-02"], "M8[D]"), "y": np.array([0.1, NAN]), "k": np.array([1, 2])}
    write_table(columns, "-")
    assert capsys.readouterr().out == "t,y,k\n2014-01-01,0.1,1\n2014-01-02,,2\n"
    write_table(columns, tmp_path / "a.jsonl")
    assert (tmp_path / "a.jsonl").read_text() == (
        '{"t": "2014-01-01", "y": 0.1, "k": 1}\n{"t": "2014-01-02", "y": null, "k": 2}\n'
    )
    write_table(columns, tmp_path / "new" / "a.parquet")
    assert pa.parquet.read_table(tmp_path / "new" / "a.parquet")["y"].null_count == 1


def test_nothing_half_written_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = saved(tmp_path, "old")

    def full_disk(descriptor: int, content: bytes) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "write", full_disk)
    with pytest.raises(OSError, match=r"No space left.*/data\.csv'$"):
        write_table({"y": np.zeros(3)}, path)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_replaced_file_keeps_its_place_and_its_mode(tmp_path: Path) -> None:
    path = saved(tmp_path, "old")
    path.chmod(0o640)
    link = tmp_path / "link.csv"
    link.symlink_to(path)
    write_table({"y": np.zeros(1)}, link)
    assert link.is_symlink()
    assert path.read_text() == "y\n0.0\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


@pytest.mark.parametrize(
    ("columns", "error", "words"),
    [
        ({"y": np.array([1.0, np.inf])}, NotFiniteError, 'row 2, column "y" is inf'),
        ({"y": np.zeros(2), "x": np.zeros(3)}, ShapeError, "must be vectors of one length"),
        ({"y": np.zeros((2, 2))}, ShapeError, "must be vectors of one length"),
        ({}, TableError, "has no columns"),
        ({" ": np.zeros(1)}, TableError, "column 1 has no name"),
    ],
)
def test_what_cannot_be_written_is_refused(tmp_path: Path, columns: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        write_table(columns, tmp_path / "a.csv")
    with pytest.raises(TableError, match=r"a.txt must end in one of"):
        write_table({"y": np.zeros(1)}, tmp_path / "a.txt")
    assert list(tmp_path.iterdir()) == []


def test_without_pyarrow_parquet_names_its_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'adabypass\[parquet\]'"):
        read_table(saved(tmp_path, "", "a.parquet"))
    with pytest.raises(MissingExtraError, match=r"pip install 'adabypass\[parquet\]'"):
        write_table({"y": np.zeros(1)}, tmp_path / "b.parquet")


def test_text_that_looks_like_a_formula_is_written_as_it_is(tmp_path: Path) -> None:
    """A guard would change the data: an id that was read must be found again in what is written."""
    ids = np.array(["=1+1", "+a", "-b", "@c", "=cmd|' /C calc'!A0", "\t=x"])
    for kind in ("csv", "tsv", "jsonl", "parquet"):
        write_table({"id": ids}, tmp_path / f"a.{kind}")
        assert read_table(tmp_path / f"a.{kind}").text("id") == ids.tolist()
    assert (tmp_path / "a.csv").read_text().splitlines()[1:5] == ["=1+1", "+a", "-b", "@c"]


def test_standard_output_gets_utf_8_in_any_locale(monkeypatch: pytest.MonkeyPatch) -> None:
    out = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(out, encoding="ascii"))
    write_table({"y": np.array(["ä"])}, "-")
    assert out.getvalue().decode() == "y\nä\n"
    monkeypatch.setattr(sys, "stdout", None)
    with pytest.raises(OSError, match="standard output is closed"):
        write_table({"y": np.zeros(1)}, "-")


def test_half_a_surrogate_pair_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TableError, match="half of a surrogate pair"):
        write_table({"y": np.array(["a\ud800"])}, tmp_path / "a.csv")


def test_ids_of_mixed_types_do_not_go_into_parquet(tmp_path: Path) -> None:
    with pytest.raises(TableError, match='column "id" cannot be written to Parquet'):
        write_table({"id": np.array([1, "a"], dtype=object)}, tmp_path / "a.parquet")
