"""Help in which the options of a command are grouped under headings."""

from collections.abc import Callable
from typing import Any

import click

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


class GroupedCommand(click.Command):
    """A command whose help lists options under headings: those of `grouped`, and the rest under "Options"."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options, group by group."""
        groups: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None:
                groups.setdefault(HEADINGS.get((self.name or "", parameter.name or ""), "Options"), []).append(record)
        for heading, records in groups.items():
            with formatter.section(heading):
                formatter.write_dl(records, col_max=24)


HEADINGS: dict[tuple[str, str], str] = {}
"""The heading of an option by the names of its command and its parameter."""


def grouped(command: str, heading: str, *options: Decorator) -> Decorator:
    """Return a decorator that adds options to a command, and lists them under a heading in its help."""

    def add(function: Callable[..., Any]) -> Callable[..., Any]:
        n_before = len(getattr(function, "__click_params__", []))
        for option in reversed(options):
            function = option(function)
        for parameter in getattr(function, "__click_params__", [])[n_before:]:
            HEADINGS[command, parameter.name] = heading
        return function

    return add
