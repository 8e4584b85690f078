"""Files that a command writes: checked before the work begins, so that none of it is lost.

The results come first, then the picture, each complete or not at all.
"""

import os
import stat
import sys
import tempfile
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click
import numpy as np

from adabypass.cli import terminal
from adabypass.data import write_table
from adabypass.data.reading import ending
from adabypass.data.text import printable
from adabypass.errors import MissingExtraError

PICTURES = (".png", ".pdf", ".svg")
STANDARD = "-"
"""Name of standard output, as of standard input."""


def out_option(what: str, default: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return the option that names the file of a command's results."""
    return click.option(
        "--out",
        metavar="FILE",
        callback=check_table,
        help=f"Write {what} to this file: .csv, .tsv, .jsonl (each also with .gz) or .parquet; - is standard output.  "
        f"[default: {default}]",
    )


def plot_option(
    what: str, name: str = "--plot", default: str = ""
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return the option that names the file of a picture."""
    return click.option(
        name,
        type=click.Path(path_type=Path),
        metavar="FILE",
        callback=_check_picture,
        help=f"Draw {what} into this file: .png, .pdf or .svg." + (f"  [default: {default}]" if default else ""),
    )


def check_table(context: click.Context, parameter: click.Parameter, out: str | None) -> str | None:
    """Check that a table can be written to `out`."""
    if out is None or out == STANDARD:
        return out
    if ending(out) == ".parquet" and find_spec("pyarrow") is None:
        raise MissingExtraError(f"{out} needs pyarrow; install it with: pip install 'adabypass[parquet]'")
    check_writable(Path(out))
    return out


def _check_picture(context: click.Context, parameter: click.Parameter, path: Path | None) -> Path | None:
    """Check that a picture can be drawn into `path`."""
    if path is None:
        return None
    if path.suffix.lower() not in PICTURES:
        raise click.BadParameter(f"{str(path)!r} must end in one of {', '.join(PICTURES)}.", context, parameter)
    check_writable(path)
    if not path.absolute().parent.exists():  # more likely misspelt than meant
        raise click.BadParameter(f"the folder {str(path.parent)!r} does not exist; make it first.", context, parameter)
    import adabypass.plots  # noqa: PLC0415, F401  (raises an error that names the extra where matplotlib is absent)

    return path


def check_writable(path: Path) -> None:
    """Check that a file can be put at `path`, by making one that is gone at once."""
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder; name a file in it.")
    if path.exists():
        if not os.access(path, os.W_OK):
            raise PermissionError(f"{path} may not be written to; choose another file, or change its permissions.")
        if not path.is_file():  # a device or a pipe
            return
    folder = next(parent for parent in path.absolute().parents if parent.exists())  # the others are made later
    if not folder.is_dir():
        raise NotADirectoryError(f"{path} cannot be written: {folder} is not a folder.")
    try:
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise OSError(f"{path} cannot be written: {error.strerror} in {folder}.") from error


def check_stdout() -> None:
    """Check that there is a standard output to print results to."""
    if isinstance(sys.stdout, terminal.ClosedStream):
        sys.stdout.write("")


def check_not_input(out: str | None) -> None:
    """Refuse a file of answers that is standard input itself: every answer would be a row again."""
    try:
        given = os.fstat(sys.stdin.fileno())
        written = os.fstat(sys.stdout.fileno()) if out in (None, STANDARD) else os.stat(str(out))
    except (OSError, ValueError, AttributeError):  # a stream in memory, or a file that is to be made
        return
    if stat.S_ISREG(given.st_mode) and os.path.samestat(given, written):
        what = "standard output" if out in (None, STANDARD) else f"--out {out}"
        raise click.UsageError(f"{what} is the file of standard input: every answer would be a row again.")


def write_columns(columns: dict[str, Any], out: str) -> None:
    """Write columns to a file or, as CSV, to standard output; on a terminal, without characters that it would obey."""
    if out == STANDARD and sys.stdout.isatty():
        columns = {printable(name): _shown_column(column) for name, column in columns.items()}
    write_table(columns, out)


def _shown_column(column: Any) -> Any:
    return [printable(cell) for cell in column] if np.asarray(column).dtype.kind in "UO" else column


def draw_default(draw: Callable[[Path], None], out: Path | None, default: str) -> None:
    """Draw a study's figure; where matplotlib is absent, and no figure was asked for, say so and go on."""
    path = out or Path(default)
    try:
        draw(path)
    except MissingExtraError as missing:
        if out is not None:
            raise
        terminal.note(f"There is no figure: {missing}")
    else:
        terminal.console().print(f"\nThe figure is in {printable(path)}", soft_wrap=True)
