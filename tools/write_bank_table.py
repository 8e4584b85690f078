"""Write what C and Cython need to know of AutoBypass's bank, from its tables in `state/bank_table.py`.

The build runs it: `python tools/write_bank_table.py bank_table.py bank_table.h bank_table.pxd`. The tables are read as
text, because nothing of the library can be imported before it is built.
"""

import ast
import re
import sys
from itertools import zip_longest
from pathlib import Path
from typing import NamedTuple

ENUMS = ("Phase", "SeasonSum", "LevelLaw")


class Entry(NamedTuple):
    """One entry of a table."""

    name: str
    value: str
    """Source text of the value, without quotes; empty if there is none."""
    meaning: str


class Function(NamedTuple):
    """A function of the header."""

    signature: str
    meaning: str
    body: list[str]


Tables = dict[str, list[Entry]]


def read_tables(source: str) -> Tables:
    """Return the entries of every class: each is an assignment, or an annotation, with a text below it."""
    tables = {}
    for table in ast.parse(source).body:
        if isinstance(table, ast.ClassDef):
            statements = table.body[1:]  # the first is the text of the class
            pairs = zip_longest(statements[::2], statements[1::2], fillvalue=ast.Pass())
            tables[table.name] = [read_entry(each, below, table.name) for each, below in pairs]
    return tables


def read_entry(each: ast.stmt, below: ast.stmt, table: str) -> Entry:
    """Return the entry of one statement and the text below it."""
    match each, below:
        case (
            (ast.Assign([ast.Name(name)], value) | ast.AnnAssign(ast.Name(name), _, value)),
            ast.Expr(ast.Constant(str(meaning))),
        ):
            text = ast.unparse(value).strip("'") if value else ""
            return Entry(name, text, " ".join(meaning.split()))
    raise SystemExit(f"bank_table.py, line {each.lineno}: an entry of {table} must be a name with a text below it.")


def fields(tables: Tables) -> list[Entry]:
    """Return the fields of the row that are no scalars."""
    return [each for each in tables["Row"] if each.value != "1"]


def enums(tables: Tables) -> dict[str, list[Entry]]:
    """Return the enums, each by its title; entries without a value are counted from 0."""
    scalars = [each for each in tables["Row"] if each.value == "1"]
    constants = [*tables["Dimensions"], *tables["Constants"], *tables["Links"]]
    return {
        "Positions of the row's scalars.": positions(scalars, "N_SCALARS"),
        "Positions of dimensions and constants; sequences and settings follow.": positions(constants, "N_CONSTANTS"),
        "Positions of the filters' settings.": positions(tables["Setting"], "N_SETTINGS"),
        **{f"{name}.": enumerators(name, tables[name]) for name in ENUMS},
        "Number of the row's fields that are no scalars.": [Entry("N_FIELDS", str(len(fields(tables))), "")],
    }


def positions(listed: list[Entry], count: str) -> list[Entry]:
    """Return an enum of positions, which ends with their count."""
    return [*(Entry(each.name.upper(), "", each.meaning) for each in listed), Entry(count, "", "")]


def enumerators(name: str, listed: list[Entry]) -> list[Entry]:
    """Return an enum of Python for C, where the names begin with its own; it ends with their count."""
    prefix = re.sub("(?<!^)([A-Z])", r"_\1", name).upper()
    return [*(each._replace(name=f"{prefix}_{each.name}") for each in listed), Entry(f"N_{prefix}S", "", "")]


def members(tables: Tables) -> list[Entry]:
    """Return the members of the struct; their values are their types."""
    return [
        *(each._replace(value="ptrdiff_t") for each in (*tables["Dimensions"], *tables["Links"])),
        *tables["Opened"],
        *(each._replace(value="const double*") for each in tables["Sequences"]),
        *(each._replace(value="double*") for each in (*fields(tables), *tables["Scratch"])),
    ]


def size_in_c(size: str) -> str:
    """Return a size as an expression of the struct's members."""
    return " * ".join(each if each.isdigit() else f"bank->{each}" for each in size.split(" * "))


def lay(parts: list[Entry], start: str) -> list[str]:
    """Return statements that point at parts of memory, one after the other."""
    lines = [f"double* at = {start};"]
    for each in parts:
        lines += [f"bank->{each.name} = at;", f"at += {size_in_c(each.value)};"]
    return lines


def count(parts: list[Entry], start: str) -> list[str]:
    """Return statements that count the numbers of parts of memory."""
    return [f"ptrdiff_t size = {start};", *(f"size += {size_in_c(each.value)};" for each in parts), "return size;"]


def read_constants(tables: Tables) -> list[str]:
    """Return statements that read the dimensions, and point at everything that never changes."""
    lines = ["const double* at = constants + N_CONSTANTS;", "bank->constants = constants;"]
    for each in (*tables["Dimensions"], *tables["Links"]):
        lines.append(f"bank->{each.name} = (ptrdiff_t)constants[{each.name.upper()}];")
    for each in tables["Sequences"]:
        lines += [f"bank->{each.name} = at;", f"at += {len(ast.literal_eval(each.value))};"]
    return [*lines, "bank->settings = at;"]


def functions(tables: Tables) -> list[Function]:
    """Return the functions that find everything of a bank."""
    in_row, scratch = fields(tables), tables["Scratch"]
    return [
        Function(
            "void read_constants(Bank* bank, const double* constants)",
            "Read the dimensions, and point at constants, sequences and settings.",
            read_constants(tables),
        ),
        Function(
            "void lay_row(Bank* bank, double* row)",
            "Point at every field of the row.",
            ["bank->row = row;", *lay(in_row, "row + N_SCALARS")],
        ),
        Function(
            "void lay_scratch(Bank* bank, double* scratch)",
            "Point at every part of the scratch memory.",
            lay(scratch, "scratch"),
        ),
        Function(
            "ptrdiff_t row_size(const Bank* bank)",
            "Count the numbers of the row.",
            count(in_row, "N_SCALARS"),
        ),
        Function(
            "ptrdiff_t scratch_size(const Bank* bank)",
            "Count the numbers of the scratch memory.",
            count(scratch, "0"),
        ),
        Function(
            "void find_fields(const Bank* bank, ptrdiff_t* places)",
            "Write where in the row each of the N_FIELDS fields begins.",
            [f"places[{index}] = bank->{each.name} - bank->row;" for index, each in enumerate(in_row)],
        ),
    ]


def header(tables: Tables) -> str:
    """Return the header."""
    lines = ["/* Written by tools/write_bank_table.py from state/bank_table.py: change that. */"]
    for title, listed in enums(tables).items():
        lines += ["", f"/* {title} */", "enum {"]
        for each in listed:
            value = f" = {each.value}" if each.value else ""
            lines.append(f"    {each.name}{value}," + (f" /* {each.meaning} */" if each.meaning else ""))
        lines.append("};")
    lines += ["", "typedef struct Bank {"]
    lines += [f"    {each.value} {each.name}; /* {each.meaning} */" for each in members(tables)]
    lines += ["} Bank;"]
    for function in functions(tables):
        lines += ["", f"/* {function.meaning} */", f"static inline {function.signature}", "{"]
        lines += [*(f"    {line}" for line in function.body), "}"]
    return "\n".join(lines) + "\n"


def declarations(tables: Tables) -> str:
    """Return the header's declarations for Cython."""
    lines = ["# Written by tools/write_bank_table.py from state/bank_table.py: change that.", ""]
    lines += ["from adabypass.numerics.dispatch cimport FlexibleNormals, Limits, Normals", "", ""]
    lines += ['cdef extern from "bank.h" nogil:', "    enum:"]
    lines += [f"        {each.name}" for listed in enums(tables).values() for each in listed]
    lines += ["", "    struct Bank:", *(f"        {each.value} {each.name}" for each in members(tables)), ""]
    lines += [f"    {function.signature}" for function in functions(tables)]
    return "\n".join(lines) + "\n"


def write(path: Path, text: str) -> None:
    """Write a file, unless it says the same already: what uses it is then not compiled again."""
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def main(table: str, header_file: str, declarations_file: str) -> None:
    tables = read_tables(Path(table).read_text(encoding="utf-8"))
    write(Path(header_file), header(tables))
    write(Path(declarations_file), declarations(tables))


if __name__ == "__main__":
    main(*sys.argv[1:])
