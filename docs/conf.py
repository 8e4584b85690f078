"""How the site is built: `make docs`. Warnings are errors."""

import inspect
import sys
from importlib.metadata import version as version_of
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

project, author = "adabypass", "The adabypass developers"
copyright = f"{author}, BSD-3-Clause"
version = release = version_of("adabypass")

extensions = [
    "myst_nb",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_design",
    "command_help",
]
exclude_patterns = ["_build", "**.ipynb_checkpoints"]

# Pages are Markdown, as GitHub shows them; only the gallery and the notebooks run while the site is built. The
# examples of the others are run by tests/test_docs.py, with the site or without it.
source_suffix = {".rst": "restructuredtext", ".md": "myst-nb", ".ipynb": "myst-nb"}  # .rst: what autosummary writes
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 4
nb_execution_mode = "cache"
nb_execution_cache_path = str(Path(__file__).parents[1] / "build/docs-cache")
nb_execution_timeout = 300
nb_execution_raise_on_error = True
nb_merge_streams = True
# The gallery's cells are shown with what they draw.
nb_execution_excludepatterns: list[str] = []

autosummary_generate = True
autodoc_typehints = "none"  # signatures have the types, and numpydoc the meaning
autodoc_member_order = "bysource"
autodoc_default_options = {"show-inheritance": False}
numpydoc_show_class_members = True
numpydoc_show_inherited_class_members = True
numpydoc_class_members_toctree = False
numpydoc_attributes_as_param_list = False
numpydoc_xref_param_type = False
default_role = "code"  # `x` in a docstring
templates_path = ["_templates"]

html_theme = "pydata_sphinx_theme"
html_title = "adabypass"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_extra_path = ["llms.txt"]
html_favicon = "_static/favicon.svg"
html_show_sourcelink = False
html_copy_source = False
html_theme_options: dict[str, Any] = {
    "navbar_align": "left",
    "header_links_before_dropdown": 8,
    "show_prev_next": True,
    "secondary_sidebar_items": ["page-toc"],
    "navigation_with_keys": False,
    "back_to_top_button": True,
    "pygments_light_style": "default",
    "pygments_dark_style": "github-dark",
    "logo": {"text": "adabypass"},
    "footer_start": ["copyright"],
    "footer_end": [],
    "show_toc_level": 2,
}
html_context = {"default_mode": "auto"}
html_sidebars = {"index": [], "gallery/index": []}

linkcheck_ignore = [r"https?://.*"]  # what is elsewhere is not looked up while the site is built
suppress_warnings = ["myst.header"]  # some pages begin below the first level, as GitHub shows them well


def _own_signature(_app: Any, what: str, _name: str, obj: Any, _options: Any, signature: str, returns: str) -> Any:
    """Return the signature of a class as `help` shows it: that of `__init__`, where Sphinx takes `__new__`."""
    if what != "class" or "**__" not in (signature or ""):
        return signature, returns
    parameters = inspect.signature(obj).parameters.values()
    return str(inspect.Signature([each.replace(annotation=inspect.Parameter.empty) for each in parameters])), returns


def setup(app: Any) -> None:
    """Add what the extensions lack."""
    app.connect("autodoc-process-signature", _own_signature)
