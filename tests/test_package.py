"""The package as a whole: light to import, typed, versioned, its stubs true."""

import ast
import inspect
import subprocess
import sys
from enum import Enum
from importlib import import_module, metadata
from importlib.resources import files
from pathlib import Path

import pytest

import adabypass

PACKAGE = Path(str(files("adabypass")))
COMPILED = sorted(f"adabypass.{stub.parent.name}.{stub.stem}" for stub in PACKAGE.glob("*/*.pyi"))
"""Every module that has a stub."""


def run(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout


def test_importing_it_imports_nothing_else() -> None:
    """Not even NumPy: names are imported when they are first asked for."""
    loaded = ast.literal_eval(run("import sys, adabypass; print(list(sys.modules))"))
    ours = [name for name in loaded if name.partition(".")[0] not in sys.stdlib_module_names]
    assert [name for name in ours if name.startswith("adabypass")] == ["adabypass"]
    assert not {"numpy", "scipy", "pandas", "matplotlib", "polars", "pyarrow", "narwhals", "click"} & set(ours)


@pytest.mark.parametrize(
    ("name", "not_needed"),
    [
        ("AutoBypass", ("narwhals", "sqlite3", "adabypass.panel", "adabypass.forecasting", "adabypass.streaming")),
        ("Forecaster", ("narwhals", "sqlite3", "adabypass.panel", "adabypass.streaming")),
        ("Panel", ("narwhals", "sqlite3", "adabypass.streaming")),
        ("*", ("narwhals",)),
    ],
)
def test_a_name_brings_only_what_it_needs(name: str, not_needed: tuple[str, ...]) -> None:
    never = (
        "matplotlib",
        "pandas",
        "polars",
        "pyarrow",
        "rich",
        "click",
        "scipy.stats",
        "scipy.optimize",
    )
    loaded = run(f"import sys; from adabypass import {name}; print(*sys.modules)").split()
    assert not {*never, *not_needed} & set(loaded)


def test_all_of_it_imports_little_more_than_numpy_and_scipy() -> None:
    """A count of modules stands in for time, which no test can trust here; `make bench` measures the time."""
    base = int(run("import sys, numpy, scipy.special; print(len(sys.modules))"))
    others = "[name for name in sys.modules if not name.startswith('adabypass')]"
    assert int(run(f"import sys; from adabypass import *; print(len({others}))")) < 1.15 * base


def test_the_command_prints_its_help_without_numpy() -> None:
    code = "import sys; from adabypass.cli import run; sys.argv[1:] = ['--help']; run(); print(*sys.modules)"
    loaded = run(code).splitlines()[-1].split()
    assert "click" in loaded
    assert not {"numpy", "scipy", "rich", "adabypass.data"} & set(loaded)


def test_type_checkers_and_python_find_each_name_in_the_same_place() -> None:
    tree = ast.parse((PACKAGE / "__init__.py").read_text())
    imported = {
        alias.name: (node.module or "").removeprefix("adabypass.")
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("adabypass.")
        for alias in node.names
    }
    assert imported == adabypass._PLACES
    assert sorted(imported) == sorted(adabypass.__all__)


def test_completion_finds_names_that_were_not_imported_yet() -> None:
    """IPython and Python's own prompt ask `dir`."""
    code = "import rlcompleter, adabypass; print(rlcompleter.Completer(vars()).complete('adabypass.AutoB', 0))"
    assert run(code).startswith("adabypass.AutoBypass(")
    listed = ast.literal_eval(run("import adabypass; print(dir(adabypass))"))
    assert {*adabypass.__all__, "plots", "__version__"} <= set(listed)


def test_packages_are_there_without_an_import_of_their_own() -> None:
    assert run("import adabypass; print(adabypass.errors.StateError.__name__)").strip() == "StateError"


def test_its_version_is_that_of_the_distribution() -> None:
    assert adabypass.__version__ == metadata.version("adabypass")


def test_it_is_typed() -> None:
    assert files("adabypass").joinpath("py.typed").is_file()


def test_every_public_name_is_there() -> None:
    assert all(hasattr(adabypass, name) for name in adabypass.__all__)
    with pytest.raises(AttributeError, match="has no attribute 'nonsense'"):
        getattr(adabypass, "nonsense")  # noqa: B009  (a type checker knows that it is not there)
    with pytest.raises(ImportError, match="cannot import name 'nonsense' from 'adabypass'"):
        exec("from adabypass import nonsense")


@pytest.mark.parametrize("name", COMPILED)
def test_stubs_name_what_the_compiled_module_has(name: str) -> None:
    """Whatever a stub declares is there, and every public function is declared; classes may be private to it."""
    module = import_module(name)
    room, _, file = name.rpartition(".")
    stub = ast.parse(Path(str(files(room).joinpath(f"{file}.pyi"))).read_text())
    functions = {node.name for node in stub.body if isinstance(node, ast.FunctionDef)}
    values = {n.target.id for n in stub.body if isinstance(n, ast.AnnAssign) and isinstance(n.target, ast.Name)}
    assert functions | values <= set(vars(module))
    for node in stub.body:
        if isinstance(node, ast.ClassDef):
            methods = {each.name for each in node.body if isinstance(each, ast.FunctionDef)}
            fields = {n.target.id for n in node.body if isinstance(n, ast.AnnAssign) and isinstance(n.target, ast.Name)}
            assert methods | fields <= set(dir(getattr(module, node.name)))
    compiled = {key for key, value in vars(module).items() if type(value).__name__ == "cython_function_or_method"}
    assert {key for key in compiled if not key.startswith("_") and vars(module)[key].__module__ == name} <= functions


def test_plots_are_there_without_an_import_of_their_own() -> None:
    code = "import sys, adabypass; assert 'matplotlib' not in sys.modules; print(adabypass.plots.fan.__name__)"
    assert run(code).strip() == "fan"


def test_nothing_that_was_compiled_is_installed_as_a_source() -> None:
    root = Path(str(files("adabypass")))
    assert [each.name for each in root.rglob("*") if each.suffix in (".c", ".h", ".pxd", ".pyx", ".build")] == []


PROTOCOLS = {"Predictive"}  # are never called
CLASSES = sorted({name for name in adabypass.__all__ if isinstance(getattr(adabypass, name), type)} - PROTOCOLS)


@pytest.mark.parametrize("name", CLASSES)
def test_the_signature_of_a_public_class_names_its_arguments(name: str) -> None:
    """As `help`, IPython and editors show it."""
    made = getattr(adabypass, name)
    if issubclass(made, (BaseException, Enum)):  # whose values are chosen, not made
        return
    kinds = {each.kind for each in inspect.signature(made).parameters.values()}
    assert not kinds & {inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD}
