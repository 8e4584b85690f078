"""Files give their columns; what is no table is refused, and a bad cell is named by row, column and line."""

import gzip
import io
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from adabypass.data import read_table
from adabypass.errors import (
    BadCellError,
    TableError,
)
from tests.data import NAN, same, saved


def test_a_csv_file_gives_numbers_times_and_text(tmp_path: Path) -> None:
    table = read_table(saved(tmp_path, "date,y,id\n2014-01-01,1.5,a\n2014-01-02,-2e3,b\n"))
    assert table.names == ["date", "y", "id"]
    assert len(table) == 2
    assert same(table.numbers("y"), [1.5, -2000.0])
    assert table.times("date").tolist() == np.array(["2014-01-01", "2014-01-02"], "M8[D]").tolist()
    assert table.text("id") == ["a", "b"]
    assert "y" in table
    assert "z" not in table


@pytest.mark.parametrize("blank", ["", "  ", "NA", "N/A", "NaN", "nan", "null", "None", '""'])
def test_a_blank_cell_is_nan(tmp_path: Path, blank: str) -> None:
    table = read_table(saved(tmp_path, f"t,y\n1,2.5\n2,{blank}\n3,4\n"))
    assert same(table.numbers("y"), [2.5, NAN, 4.0])


def test_spreadsheet_files_are_read(tmp_path: Path) -> None:
    """With a byte-order mark, CRLF, quotes, a comma and a line break within cells, and empty lines at the end."""
    content = '\ufeff"t", y ,"note"\r\n1,2.5,"a, b"\r\n2,"3.5","two\r\nlines"\r\n\r\n\r\n'
    table = read_table(saved(tmp_path, content))
    assert table.names == ["t", "y", "note"]
    assert same(table.numbers("y"), [2.5, 3.5])
    assert table.text("note") == ["a, b", "two\r\nlines"]


def test_empty_lines_are_skipped_unless_there_is_but_one_column(tmp_path: Path) -> None:
    assert same(read_table(saved(tmp_path, "\nt,y\n\n1,5\n\n2,6\n\n")).numbers("y"), [5, 6])
    assert same(read_table(saved(tmp_path, "y\n5\n\n6\n\n")).numbers("y"), [5, NAN, 6])


def test_packed_and_tab_separated_files_are_read(tmp_path: Path) -> None:
    assert same(read_table(saved(tmp_path, gzip.compress(b"y\n1\n"), "a.csv.gz")).numbers("y"), [1])
    assert same(read_table(saved(tmp_path, "x\ty\n1,1\t2\n", "a.TSV")).numbers("y"), [2])
    assert same(read_table(saved(tmp_path, gzip.compress(b'{"y": 3}\n'), "a.jsonl.gz")).numbers("y"), [3])


def test_json_lines_may_leave_keys_out(tmp_path: Path) -> None:
    content = '{"t": 1, "y": 1.5}\n\n{"t": 2}\r\n{"y": null, "t": 3, "x": "7"}\n{"t": 4, "y": NaN}\n'
    table = read_table(saved(tmp_path, content, "a.ndjson"))
    assert table.names == ["t", "y", "x"]
    assert same(table.numbers("y"), [1.5, NAN, NAN, NAN])
    assert same(table.numbers("x"), [NAN, NAN, 7, NAN])
    assert table.times("t").tolist() == [1, 2, 3, 4]
    assert table.text("x") == ["", "", "7", ""]


@pytest.mark.parametrize(("content", "y"), [("y\n1\n2\n", [1, 2]), ('\n  {"y": 1}\n{"y": 2}\n', [1, 2])])
def test_standard_input_is_csv_or_json_lines(monkeypatch: pytest.MonkeyPatch, content: str, y: list[float]) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content.encode())))
    assert same(read_table("-").numbers("y"), y)


def test_a_json_array_on_standard_input_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b'[{"y": 1}]')))
    with pytest.raises(TableError, match="standard input is a JSON array; write one object a line"):
        read_table("-")


@pytest.mark.parametrize(
    ("cell", "words"),
    [
        ("abc", '"abc" is not a number'),
        ("1_000", '"1_000" is not a number'),
        ('"1,5"', '"1,5" is not a number; if the comma is its decimal sign, pass --decimal'),
        ("inf", '"inf" is infinite'),
        ("1e400", '"1e400" is infinite or too large'),
        ("2014-01-01", '"2014-01-01" is not a number'),
        ("x" * 200, '"xxx.*xx..." is not a number'),
    ],
)
@pytest.mark.parametrize("other", ["1", ""])
def test_a_bad_number_is_named_by_row_and_line(tmp_path: Path, cell: str, words: str, other: str) -> None:
    path = saved(tmp_path, "t,y\n" + "".join(f"{i},{other}\n" for i in range(1, 17)) + f"17,{cell}\n")
    with pytest.raises(BadCellError, match=rf'data.csv: row 17, column "y": {words}.* \(line 18\)$'):
        read_table(path).numbers("y")


def test_the_line_is_told_where_cells_span_lines(tmp_path: Path) -> None:
    path = saved(tmp_path, 'note,y\n"a\nb",1\n\nc,x\n')
    with pytest.raises(BadCellError, match=r'row 2, column "y": "x" is not a number \(line 5\)$'):
        read_table(path).numbers("y")


GERMAN = "tag;absatz;laden\n2014-01-01;1,5;Nord, West\n2014-01-02;;Nord, West\n2014-01-03;-2;Nord, West\n"


@pytest.mark.parametrize("name", ["data.csv", "data.tsv"])
def test_semicolons_and_decimal_commas_are_read(tmp_path: Path, name: str) -> None:
    table = read_table(saved(tmp_path, GERMAN, name), sep=";", decimal=",")
    assert same(table.numbers("absatz"), [1.5, NAN, -2])
    assert table.text("laden") == ["Nord, West"] * 3
    assert [str(time) for time in table.times("tag")] == ["2014-01-01", "2014-01-02", "2014-01-03"]
    hours = read_table(saved(tmp_path, "t|y\n0,25|1\n0,5|2\n", name), sep="|", decimal=",")
    assert hours.times("t").tolist() == [0.25, 0.5]


@pytest.mark.parametrize(
    ("content", "options", "words"),
    [
        ("a;b;c;d\n1;2;3;4\n", {}, "the first line has no ',' but 3 ';': pass --sep ';'."),
        ("a\tb\n1\t2\n", {}, "the first line has no ',' but 1 tab: pass --sep tab."),
        ("a,b\n1,2\n", {"sep": ";"}, "the first line has no ';' but 1 ',': pass --sep ','."),
        ("a;b\n1,5;2\n", {"sep": ";"}, '"1,5" is not a number; if the comma is its decimal sign, pass --decimal ","'),
        ("a;b\n1.234,5;2\n", {"sep": ";"}, '"1.234,5" is not a number; write a decimal point, and no separators'),
        ("a;b\n1.5;2\n", {"sep": ";", "decimal": ","}, '"1.5" is not a number with a decimal comma; leave --decimal'),
        ("a;b\n1,5x;2\n", {"sep": ";", "decimal": ","}, '"1,5x" is not a number'),
        ("a;b\n1,5,5;2\n", {"sep": ";", "decimal": ","}, '"1,5,5" is not a number'),
    ],
)
def test_a_wrong_separator_or_decimal_sign_is_told_which_to_pass(
    tmp_path: Path, content: str, options: Any, words: str
) -> None:
    with pytest.raises(TableError, match=re.escape(words)):
        read_table(saved(tmp_path, content), **options).numbers("a")


def test_json_lines_have_no_separator(tmp_path: Path) -> None:
    with pytest.raises(TableError, match=r"is JSON lines, in which nothing separates cells; leave --sep out"):
        read_table(saved(tmp_path, '{"y": 1}\n', "data.jsonl"), sep=";")


@pytest.mark.parametrize("cell", ["[1]", '{"a": 1}', "1" + "0" * 400, "Infinity"])
def test_json_that_is_no_number_is_refused(tmp_path: Path, cell: str) -> None:
    path = saved(tmp_path, f'{{"y": 1}}\n{{"y": {cell}}}\n', "a.jsonl")
    with pytest.raises(BadCellError, match=r'a.jsonl: row 2, column "y": '):
        read_table(path).numbers("y")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("", "data.csv is empty"),
        ("\n \n\n", "column 1 has no name"),
        ("a,b\n", 'data.csv has the columns "a", "b", but no rows'),
        ("a,b,c\n1,2,3\n1,2,3,4\n", r"row 2 has 4 cells, but the header has 3 \(line 3\)"),
        ("a,b,c\n1\n", "row 1 has 1 cell, but the header has 3"),
        ("a,b, a\n1,2,3\n", 'columns 1 and 3 are both named "a"'),
        ("a,,c\n1,2,3\n", "column 2 has no name"),
        ("a;b\n1;2\n", "data.csv: the first line has no ',' but 1 ';': pass --sep ';'."),
        ('a,b\n1,"2\n3,4\n', "row 1 has a quote that is not closed up to the end, line 3; close it"),
        (b"a,b\n1,2\n\xe9,3\n", "line 3 holds the byte 0xe9, which is not UTF-8"),
        (b"\xff\xfea\x00", "data.csv is UTF-16 text; save it as UTF-8"),
    ],
)
def test_what_is_no_table_is_refused(tmp_path: Path, content: str | bytes, words: str) -> None:
    with pytest.raises(TableError, match=words):
        read_table(saved(tmp_path, content))


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("a.jsonl", "", "a.jsonl is empty"),
        ("a.jsonl", '{"y": 1}\nhello\n', "a.jsonl: line 2 is not JSON"),
        ("a.jsonl", "1\n", "line 1 is not a JSON object"),
        ("a.jsonl", '{"y": 1, "y": 2}\n', 'line 1 has two values for "y"'),
        ("a.jsonl", "{}\n", "has no columns"),
        pytest.param("a.jsonl", '{"y": ' + "9" * 5000 + "}", "line 1 holds an integer of thousands", id="digits"),
        pytest.param("a.jsonl", '{"y": 1}\n{"y": ' + "[" * 100_000, "line 2 is nested too deeply", id="nested"),
        ("a.csv", b"a,y\n1,2\n1,\x002\n", "line 3 holds a NUL character"),
        ("a.csv", "a,y\n1,2\n".encode("utf-16"), "is UTF-16 text; save it as UTF-8"),
        ("a.csv", "y\n1\nä\n".encode("latin-1"), "line 3 holds the byte 0xe4, which is not UTF-8"),
        ("a.csv.gz", "not packed", "cannot be unpacked"),
        ("a.csv.gz", gzip.compress(b"y\n1\n", mtime=0)[:-9], "cannot be unpacked"),
        ("a.parquet", "not parquet", "is not a Parquet file"),
        ("a.xlsx", "", "must end in one of .csv, .tsv, .jsonl, .ndjson, .parquet"),
        ("a", "", "must end in one of"),
    ],
)
def test_files_of_other_kinds_are_refused(tmp_path: Path, name: str, content: str | bytes, words: str) -> None:
    with pytest.raises(TableError, match=words):
        read_table(saved(tmp_path, content, name))


@pytest.mark.parametrize("name", ["a.csv", "a.jsonl", "a.parquet"])
def test_a_missing_file_is_the_systems_error(tmp_path: Path, name: str) -> None:
    with pytest.raises(FileNotFoundError):
        read_table(tmp_path / name)


def test_closed_standard_input_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(TableError, match="standard input is closed"):
        read_table("-")


def test_a_parquet_file_with_two_columns_of_one_name_is_said_to_be_that(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "twice.parquet"
    parquet.write_table(pyarrow.Table.from_arrays([[1.0], [2.0]], names=["y", "y"]), path)
    with pytest.raises(TableError, match=r'twice.parquet: columns 1 and 2 are both named "y"; rename one of them'):
        read_table(path)


def test_a_row_of_a_file_may_go_on_over_many_lines(tmp_path: Path) -> None:
    note = "\n".join(str(line) for line in range(500))
    table = read_table(saved(tmp_path, f'y,note\n1,"{note}"\n2,short\n'))
    assert table.text("note") == [note, "short"]
