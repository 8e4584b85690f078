"""One file that holds a whole page: its code, its style and its data. It needs no server and asks for nothing."""

import base64
import hashlib
import json
import re
from typing import Any

from adabypass.files import FilePath, replace_file
from adabypass.page import asset

MODULES = ("text.js", "small.js", "chart.js", "live.js", "app.js")
"""In the order in which each needs those before it; no two of them have the same name at their top."""
STYLES = ("uPlot.css", "page.css")


def write_page(path: FilePath, data: dict[str, Any]) -> None:
    """Write a page to a file, which appears when it is complete.

    Parameters
    ----------
    path : str or path
    data : dict
        `title`, `answers`, `forecast` and `learned`, as the service has them.
    """
    replace_file(self_contained(data).encode(), path)


def self_contained(data: dict[str, Any]) -> str:
    """Return the page as HTML. Nothing but its own code can run in it."""
    scripts = [_text("uPlot.min.js"), "\n".join(map(_without_modules, MODULES))]
    styles = [_text(name) for name in STYLES]
    policy = (
        f"default-src 'none'; script-src {_hashes(scripts)}; style-src {_hashes(styles)}; base-uri 'none'; "
        "form-action 'none'"
    )
    head = "".join(
        [
            f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n',
            *(f"<style>{style}</style>\n" for style in styles),
        ]
    )
    tail = (
        f'<script type="application/json" id="data">{_as_json(data)}</script>\n'
        f'<script>{scripts[0]}</script>\n<script type="module">{scripts[1]}</script>\n'
    )
    page = re.sub(r"<(link|script) [^>]*>(</script>)?\n", "", _text("index.html"))
    return page.replace("</head>", f"{head}</head>", 1).replace("</body>", f"{tail}</body>", 1)


def _text(name: str) -> str:
    return asset(name)[0].decode()


def _without_modules(name: str) -> str:
    """Return a module as a part of one script."""
    return re.sub(r"^(import .*\n|export )", "", _text(name), flags=re.M)


def _hashes(texts: list[str]) -> str:
    digests = (base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in texts)
    return " ".join(f"'sha256-{digest}'" for digest in digests)


def _as_json(data: dict[str, Any]) -> str:
    """Return JSON that ends no element of HTML."""
    return json.dumps(data, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c").replace("&", "\\u0026")
