"""The package as a whole: light to import, typed, versioned, its stubs true."""

import ast
import inspect
import subprocess
import sys
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


def test_importing_it_brings_no_plots_frames_or_command_line() -> None:
    heavy = ("matplotlib", "pandas", "polars", "pyarrow", "narwhals", "rich", "click")
    loaded = run(f"import sys, adabypass; print([name for name in {heavy} if name in sys.modules])")
    assert loaded.strip() == "[]"


def test_importing_it_imports_little_more_than_numpy_and_scipy() -> None:
    """A count of modules stands in for time, which no test can trust here; `make bench` measures the time."""
    base = int(run("import sys, numpy, scipy.special; print(len(sys.modules))"))
    others = "[name for name in sys.modules if not name.startswith('adabypass')]"
    assert int(run(f"import sys, adabypass; print(len({others}))")) < 1.15 * base


def test_its_version_is_that_of_the_distribution() -> None:
    assert adabypass.__version__ == metadata.version("adabypass")


def test_it_is_typed() -> None:
    assert files("adabypass").joinpath("py.typed").is_file()


def test_every_public_name_is_there() -> None:
    assert all(hasattr(adabypass, name) for name in adabypass.__all__)
    with pytest.raises(AttributeError, match="has no attribute 'nonsense'"):
        _ = adabypass.nonsense


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
    if issubclass(made, BaseException):
        return
    kinds = {each.kind for each in inspect.signature(made).parameters.values()}
    assert not kinds & {inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD}
