"""A directive that shows the help of a command, as the library that is installed prints it."""

import subprocess
import sys
from typing import Any

from docutils import nodes
from sphinx.util.docutils import SphinxDirective


class CommandHelp(SphinxDirective):
    """`{command-help} forecast` shows `adabypass forecast --help`."""

    optional_arguments = 3

    def run(self) -> list[nodes.Node]:
        words = [*self.arguments, "--help"]
        environment = {"COLUMNS": "96", "NO_COLOR": "1", "TERM": "dumb", "PATH": ""}
        done = subprocess.run(
            [sys.executable, "-m", "adabypass", *words], capture_output=True, text=True, check=True, env=environment
        )
        shown = nodes.literal_block(done.stdout, done.stdout)
        shown["language"] = "text"
        return [shown]


def setup(app: Any) -> dict[str, bool]:
    """Register the directive."""
    app.add_directive("command-help", CommandHelp)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
