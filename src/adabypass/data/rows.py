"""One reader of rows, for files and for streams: CSV with a header or JSON lines, one row at a time."""

import csv
import io
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import chain
from operator import itemgetter
from typing import Any, BinaryIO, TypeAlias

from adabypass.data.table import check_names, no_such_column
from adabypass.errors import TableError, UnknownNameError

CLOSE_QUOTE = 'close it, and write a quote within a cell twice ("").'
OnBadRow: TypeAlias = Callable[[TableError], None]
"""What is done about a row that is none: it raises the error, or returns, and the row is left out."""
OnAbsent: TypeAlias = Callable[[str], None]
"""Takes what is to be said of a row that leaves a column out."""
SEPARATORS = ",;\t|"
"""Characters that separate the cells of most files."""
UTF16 = (b"\xff\xfe", b"\xfe\xff")


class CsvRows:
    """Rows of text below a header, their cells separated by commas or another character.

    Parameters
    ----------
    lines : iterable of str
        Lines of text, read as rows are asked for: one line for each row, unless a quoted cell goes on in the next.
    source : str
        What errors call the text.
    sep : str
        The character between two cells.
    max_lines : int, optional
        A row that goes on over more lines, in a quoted cell, is refused. On a stream this finds a quote that is never
        closed, which would take every row that follows as a part of its cell.
    on_bad_row : function, optional
        What is done about a row that is none; by default the error is raised.

    Attributes
    ----------
    names : list of str
        The columns' names.
    row, line : int
        The number of the row that was read last, counted from 1 below the header, and of the line on which it ends.
    last_filled : int
        The number of the last row that was not an empty line.
    record : str
        The line that was read last, as it came, if `max_lines` is given.
    """

    def __init__(
        self,
        lines: Iterable[str],
        source: str,
        sep: str = ",",
        max_lines: int | None = None,
        on_bad_row: OnBadRow | None = None,
    ) -> None:
        self.source, self.row, self.last_filled = source, -1, 0  # the header is row 0
        self.record = ""
        self._on_bad_row = on_bad_row or _raise
        self._newest: list[str] = []
        self._selected: Sequence[str] = ()
        self._choose: Callable[[list[str]], Sequence[Any]] = list
        limited = lines if max_lines is None else self._limited(lines, max_lines)
        self._reader = csv.reader(limited, delimiter=sep, strict=True)
        self.names = self._header()
        self.row = 0
        check_names(self.names, source)
        if len(self.names) == 1:
            _check_sep(self.names[0], sep, source)

    @property
    def line(self) -> int:
        """Number of the line on which the newest row ends."""
        return self._reader.line_num

    def __iter__(self) -> Iterator[list[str]]:
        """Yield the cells of each row; an empty line is an empty cell if there is one column, and no row otherwise."""
        while True:
            try:
                for cells in self._reader:
                    if len(cells) == len(self.names):
                        self.row += 1
                        self.last_filled = self.row
                        self._newest = cells
                        yield cells
                    elif cells:
                        self.row += 1
                        self._newest = cells
                        wrong = self._wrong_width(len(cells))
                        self._on_bad_row(self._with_record(self.header_again() or wrong))
                    elif len(self.names) == 1:
                        self.row += 1
                        yield [""]
                return
            except csv.Error as error:  # the reader goes on with the line after it
                self._on_bad_row(self._with_record(self._bad_line(error)))
                self.row += 1

    def select(self, names: Sequence[str], on_absent: OnAbsent | None = None) -> Iterator[Sequence[Any]]:
        """Yield the cells of these columns, for each row; a row of CSV has them all."""
        self._selected = names
        self._choose = self._chooser()
        return self._chosen()

    def _chosen(self) -> Iterator[Sequence[Any]]:
        for cells in self:
            yield self._choose(cells)

    def _chooser(self) -> Callable[[list[str]], Sequence[Any]]:
        """Return the function that picks the selected cells of a row."""
        for name in self._selected:
            if name not in self.names:
                raise UnknownNameError(f"{self.source}: {no_such_column(name, self.names)}")
        at = [self.names.index(name) for name in self._selected]
        # A slice, since an itemgetter of one index gives the cell itself and not a sequence of one.
        return itemgetter(slice(at[0], at[0] + 1)) if len(at) == 1 else itemgetter(*at)

    def is_header_again(self) -> bool:
        """Return whether the newest row, which could not be read, is a header: two of its cells name columns."""
        cells = {cell.strip() for cell in self._newest}
        return len(cells & set(self.names)) >= 2 or (bool(self._selected) and cells >= set(self._selected))

    def header_again(self) -> TableError | None:
        """Return the error about the newest row if it is a header; from here on, columns are in the order of this one.

        One that lacks a column that is read ends the reading with an `UnknownNameError`.
        """
        if not self.is_header_again():
            return None
        names = [cell.strip() for cell in self._newest]
        where = f"{self.source}: row {self.row} is a header again"
        for name in self._selected:
            if name not in names:
                raise UnknownNameError(f"{where}: {no_such_column(name, names)} (line {self.line})")
        check_names(names, self.source)
        is_same, self.names = names == self.names, names
        self._choose = self._chooser()
        return TableError(f"{where}{'' if is_same else ', with other columns or another order'} (line {self.line}).")

    def _with_record(self, error: TableError) -> TableError:
        error.record = self.record
        return error

    def _wrong_width(self, n_cells: int) -> TableError:
        return TableError(
            f"{self.source}: row {self.row} has {n_cells} cell{'s' * (n_cells != 1)}, but the header has "
            f"{len(self.names)} (line {self.line})."
        )

    def _header(self) -> list[str]:
        try:
            header = next((cells for cells in self._reader if cells), None)
        except csv.Error as error:
            raise self._bad_line(error) from error
        if header is None:
            raise TableError(f"{self.source} is empty; a header with the columns' names was expected.")
        return [name.strip() for name in header]

    def _limited(self, lines: Iterable[str], max_lines: int) -> Iterator[str]:
        """Yield the lines; refuse more than `max_lines` of them for one row."""
        first, row = 0, -1  # the line with a quote, and the row that was complete before it
        for number, line in enumerate(lines, 1):
            if first and self.row != row:
                first = 0
            if first and number - first >= max_lines:
                raise TableError(
                    f"{self.source}: row {row + 1}, which begins on line {first}, has a quote that is not closed "
                    f"within {max_lines} lines; {CLOSE_QUOTE}"
                )
            if not first and '"' in line:
                first, row = number, self.row
            self.record = line
            yield line

    def _bad_line(self, error: csv.Error) -> TableError:
        if "unexpected end" in str(error):
            return TableError(
                f"{self.source}: row {self.row + 1} has a quote that is not closed up to the end, line {self.line}; "
                f"{CLOSE_QUOTE}"
            )
        return TableError(f"{self.source}: line {self.line}: {error}.")


class JsonRows:
    """Rows of JSON lines: one object a line. Empty lines are left out.

    Parameters
    ----------
    lines : iterable of str
    source : str
        What errors call the text.
    on_bad_row : function, optional
        What is done about a line that is no row; by default the error is raised.

    Attributes
    ----------
    row, line : int
        The number of the row that was read last, counted from 1, and of its line.
    record : str
        That line.
    """

    def __init__(self, lines: Iterable[str], source: str, on_bad_row: OnBadRow | None = None) -> None:
        self.source, self.row, self.line, self.record = source, 0, 0, ""
        self._on_bad_row = on_bad_row or _raise
        self._source_lines = lines

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Yield the object of each line."""
        for line in self._source_lines:
            self.line += 1
            if line.strip():
                self.row += 1
                self.record = line
                try:
                    found = parse_object(line, f"{self.source}: line {self.line}")
                except TableError as error:
                    error.record = line
                    self._on_bad_row(error)
                else:
                    yield found

    def select(self, names: Sequence[str], on_absent: OnAbsent | None = None) -> Iterator[Sequence[Any]]:
        """Yield the cells of these columns, for each row.

        Parameters
        ----------
        names
        on_absent : function, optional
            What is done about a row that leaves a column out: its cell is None then. By default the row is none. The
            first row must have all columns.
        """
        is_first, choose = True, chooser(names)
        for row in self:
            try:
                cells = choose(row)
            except KeyError as absent:
                what = f"{self.source}: row {self.row}: {no_such_column(absent.args[0], list(row))}"
                if is_first:
                    raise UnknownNameError(what) from None
                if on_absent is None:
                    error = TableError(f"{what} Write null where a value is missing.")
                    error.record = self.record
                    self._on_bad_row(error)
                    continue
                on_absent(what)
                cells = choose_present(row, names)
            is_first = False
            yield cells

    def is_header_again(self) -> bool:
        """Return False: JSON lines have no header."""
        return False

    def header_again(self) -> TableError | None:
        """Return None: JSON lines have no header."""
        return None


def chooser(names: Sequence[str]) -> Callable[[dict[str, Any]], list[Any]]:
    """Return the function that picks the values of these names out of an object; it raises a KeyError of an absent one.

    A name with dots that is no key of the object leads into objects within it: metrics.cpu to {"metrics": {"cpu": 5}}.
    """
    if any("." in name for name in names):
        return lambda row: [_nested(row, name, name) for name in names]
    return lambda row: [row[name] for name in names]


def choose_present(row: dict[str, Any], names: Sequence[str]) -> list[Any]:
    """Return the values of these names, None where one is absent."""
    found = []
    for name in names:
        try:
            found.append(_nested(row, name, name))
        except KeyError:
            found.append(None)
    return found


def _nested(row: dict[str, Any], name: str, whole: str) -> Any:
    """Return the value of a name; the keys that it leads through may hold dots themselves."""
    if name in row:
        return row[name]
    at = name.find(".")
    while at >= 0:
        inner = row.get(name[:at])
        if isinstance(inner, dict):
            with suppress(KeyError):
                return _nested(inner, name[at + 1 :], whole)
        at = name.find(".", at + 1)
    raise KeyError(whole)


def parse_object(text: str, where: str) -> dict[str, Any]:
    """Return a row that is a JSON object; `where` is what errors call it."""
    try:
        found = _decode(text)
    except json.JSONDecodeError as error:
        raise TableError(f"{where} is not JSON: {error.msg} at character {error.pos + 1}.") from None
    except RecursionError:
        raise TableError(f'{where} is nested too deeply; write each row as in {{"y": 1.5}}.') from None
    except TableError as error:
        raise TableError(f"{where} {error}") from None
    except ValueError:  # Python reads no integer of more than some 4300 digits
        raise TableError(f"{where} holds an integer of thousands of digits, too large for a number.") from None
    if not isinstance(found, dict):
        raise TableError(f'{where} is not a JSON object; write each row as in {{"y": 1.5}}.')
    return found


Rows: TypeAlias = CsvRows | JsonRows


def open_rows(
    file: BinaryIO,
    source: str,
    kind: str | None = None,
    *,
    sep: str | None = None,
    max_lines: int | None = None,
    on_bad_row: OnBadRow | None = None,
) -> Rows:
    """Return a reader of the rows of a file of UTF-8 text.

    Parameters
    ----------
    file : binary file
        Read line by line, no farther than the rows that were asked for.
    source : str
        What errors call it.
    kind : ".csv", ".tsv", ".jsonl" or ".ndjson", optional
        If not given, text that begins with a brace is JSON lines, and other text CSV.
    sep : str, optional
        The character between two cells of CSV; by default a comma, or a tab in a ".tsv".
    max_lines : int, optional
        Over how many lines a row of CSV may go on, in quoted cells; by default over any number.
    on_bad_row : function, optional
        What is done about a row that is none; by default the error is raised.
    """
    lines = _text_lines(file, source, on_bad_row or _raise)
    if kind is None:
        lines, start = _peek(lines)
        if start == "[":
            raise TableError(f"{source} is a JSON array; write one object a line, or CSV with a header.")
        kind = ".jsonl" if start == "{" else ".csv"
    if kind in (".jsonl", ".ndjson"):
        if sep is not None:
            raise TableError(f"{source} is JSON lines, in which nothing separates cells; leave --sep out.")
        return JsonRows(lines, source, on_bad_row)
    return CsvRows(lines, source, sep or ("\t" if kind == ".tsv" else ","), max_lines, on_bad_row)


def _check_sep(header: str, sep: str, source: str) -> None:
    """Refuse a header of one column that would be several with another separator."""
    counts = {other: header.count(other) for other in SEPARATORS if other != sep}
    other = max(counts, key=lambda each: counts[each])
    if counts[other]:
        raise TableError(
            f"{source}: the first line has no {_named(sep)} but {counts[other]} {_named(other)}: pass --sep "
            f"{_named(other)}."
        )


def _named(sep: str) -> str:
    """Return a separator as it is given on the command line."""
    return "tab" if sep == "\t" else f"'{sep}'"


def _peek(lines: Iterator[str]) -> tuple[Iterator[str], str]:
    """Return the lines, all of them, and the first character that is no space."""
    read: list[str] = []
    for line in lines:
        read.append(line)
        if line.strip():
            break
    return chain(read, lines), "".join(read).lstrip()[:1]


def _text_lines(file: BinaryIO, source: str, on_bad_row: OnBadRow) -> Iterator[str]:
    """Yield lines of text, each when it has come; the first that is not UTF-8, or holds a NUL, is named."""
    # What is not UTF-8 is let through as surrogates and found line by line: the lines before it are answered.
    text = io.TextIOWrapper(file, encoding="utf-8-sig", errors="surrogateescape", newline="")
    try:
        for number, line in enumerate(text, 1):
            if "\0" in line or not line.isascii():
                error = _bad_text(line, number, source)
                if error is not None:
                    error.record = line.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
                    on_bad_row(error)
                    continue
            yield line
    finally:
        with suppress(ValueError):  # the file is closed already
            text.detach()


def _bad_text(line: str, number: int, source: str) -> TableError | None:
    """Return the error about a line that is not UTF-8, or holds a NUL; None if it is text."""
    if number == 1 and line.encode("utf-8", "surrogateescape").startswith(UTF16):
        return TableError(f"{source} is UTF-16 text; save it as UTF-8.")
    odd = next((char for char in line if "\udc80" <= char <= "\udcff"), None)
    if odd is not None:
        return TableError(
            f"{source}: line {number} holds the byte 0x{ord(odd) & 0xFF:02x}, which is not UTF-8; save it as UTF-8."
        )
    if "\0" in line:
        return TableError(f"{source}: line {number} holds a NUL character, which is not text; save it as UTF-8 text.")
    return None


def _raise(error: TableError) -> None:
    raise error


def _once_each(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        twice = Counter(name for name, _ in pairs).most_common(1)[0][0]
        raise TableError(f'has two values for "{twice}"; keep one.')
    return found


_decode = json.JSONDecoder(object_pairs_hook=_once_each).decode
