"""`adabypass reproduce`: the paper's studies, their tables and pictures."""

from pathlib import Path

import click
from rich.table import Table

from adabypass.cli import outputs, terminal
from adabypass.cli.reproduce_pairs import pairs
from adabypass.cli.reproduce_wind import wind
from adabypass.data.text import printable
from adabypass.experiments import nile as nile_study


@click.group()
def reproduce() -> None:
    """Run a study of the paper (arXiv:1509.02438) and print its table."""


reproduce.add_command(wind)
reproduce.add_command(pairs)


@reproduce.command()
@outputs.plot_option("the figure", "--out", default="nile.png")
@outputs.plot_option("the log likelihood over the unit", "--unit-plot")
def nile(out: Path | None, unit_plot: Path | None) -> None:
    """One-year-ahead forecasts of the Nile's yearly minimum, AD 622-1284."""
    outputs.check_stdout()
    study = nile_study.run()
    console = terminal.console(pipe_width=100)
    console.print("The Nile's yearly minima, one year ahead", style="bold")
    console.print(nile_study.SETTING + "\n")
    console.print(_table(study))
    console.print("\n" + nile_study.REMARK)
    outputs.draw_default(lambda path: _draw(study, path), out, "nile.png")
    if unit_plot is not None:
        _draw_units(unit_plot)
        console.print(f"The picture of the units is in {printable(unit_plot)}", soft_wrap=True)


@reproduce.command(name="all")
@click.pass_context
def all_studies(context: click.Context) -> None:
    """All three in turn, each with its picture: nile.png, wind.png and pairs.png."""
    for number, study in enumerate((nile, wind, pairs)):
        if number:
            click.echo("\n")
        context.invoke(study)


def _table(study: nile_study.Study) -> Table:
    table = Table("model", "reading", "what was done", box=None, pad_edge=False, header_style="bold")
    for heading in ("RMSE (m)", "MAD (m)", "MAE (m)", "log likelihood"):
        table.add_column(heading, justify="right")
    for result in study.results:
        from_paper = result.trace is None
        digits = 2 if from_paper else 4
        table.add_row(
            result.model,
            "the paper" if from_paper else result.reading,
            result.how,
            *(f"{value:.{digits}f}" for value in (result.rmse, result.mad, result.mae)),
            f"{result.log_likelihood:.{2 if from_paper else 1}f}",
            style="dim" if from_paper else None,
        )
    return table


def _draw(study: nile_study.Study, out: Path) -> None:
    from adabypass import plots  # noqa: PLC0415  (the table needs no matplotlib)
    from adabypass.experiments import nile_picture  # noqa: PLC0415

    plots.save(nile_picture.forecasts(study), out)


def _draw_units(out: Path) -> None:
    from adabypass import plots  # noqa: PLC0415
    from adabypass.experiments import nile_picture  # noqa: PLC0415

    plots.save(nile_picture.log_likelihood_over_unit(), out)
