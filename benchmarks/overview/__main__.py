"""Write docs/benchmarks.md from the pages of the other benchmarks: `make bench-overview`."""

from collections.abc import Iterator
from pathlib import Path

import click

from benchmarks.overview import picture
from benchmarks.overview.pages import Table, number
from benchmarks.overview.uses import USES, Column, Use, link, rows

TEXT = """# What one would take instead, side by side

Written by `make bench-overview` from the pages that the other benchmarks wrote; each table says which. Smaller is
better where nothing else is said; intervals of 90 % should hold 90 %. The best of each column is bold, without those
who *cheat*: they were fitted to what they then forecast. `Forecaster()` and `AutoBypass()` are as they come. What the
measures are, and how each rival was set up, is said on the pages.

![The loss of each rival over ours, one panel for each use](images/benchmarks.png)
"""

TREE = """```{toctree}
:hidden:

accuracy
forecasting
speed
```
"""


def shown(docs: Path) -> list[tuple[Use, Table]]:
    """Return the uses whose numbers are there."""
    found = [(use, rows(use, docs)) for use in USES]
    return [(use, table) for use, table in found if table]


def markdown(docs: Path) -> str:
    """Return the page."""
    parts = [TEXT.strip()]
    for use, table in shown(docs):
        parts.append(f"## {use.title}\n\n{use.text} From {link(use)}.\n\n" + "\n".join(_lines(use, table)))
    return "\n\n".join([*parts, TREE])


def _lines(use: Use, table: Table) -> Iterator[str]:
    best = {column.title: _best(column, table) for column in use.columns}
    yield f"|  | {' | '.join(column.title for column in use.columns)} |"
    yield f"| --- | {' | '.join(['---:'] * len(use.columns))} |"
    for name, cells in table.items():
        marked = (f"**{cell}**" if name in best[title] else cell for title, cell in cells.items())
        yield f"| {f'**{name}**' if name == use.ours else name} | {' | '.join(marked)} |"


def _best(column: Column, table: Table) -> list[str]:
    """Return who has the best number of a column."""
    if column.target is None:
        return []
    values = {name: number(cells[column.title]) for name, cells in table.items() if "(cheats)" not in name}
    away = {name: abs(value - column.target) for name, value in values.items() if value is not None}
    return [name for name, each in away.items() if each == min(away.values())]


@click.command()
@click.option("--docs", type=click.Path(path_type=Path, exists=True), default=Path("docs"), show_default=True)
def main(docs: Path) -> None:
    """Write benchmarks.md, and its picture, beside the pages whose numbers it shows."""
    (docs / "benchmarks.md").write_text(markdown(docs), encoding="utf-8")
    picture.draw(shown(docs), docs / "images" / "benchmarks.png")
    absent = [use.title for use in USES if not rows(use, docs)]
    if absent:
        click.echo(f"Left out, for their pages have no such table: {', '.join(absent)}.", err=True)
    click.echo(f"The page is {docs / 'benchmarks.md'}")


if __name__ == "__main__":
    main()
