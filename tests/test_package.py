"""The package as a whole: light to import, typed, versioned, its stubs true."""

import ast
import subprocess
import sys
from importlib import import_module, metadata
from importlib.resources import files
from pathlib import Path

import pytest

import adabypass

COMPILED = (
    "adabypass.numerics.special",
    *(f"adabypass.distributions.{name}" for name in ("families", "evaluate")),
    *(
        f"adabypass.kernels.{name}"
        for name in ("step", "passive_aggressive", "kalman", "bypass", "evidence", "bank", "transformed")
    ),
)


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
    module = import_module(name)
    room, _, file = name.rpartition(".")
    stub = ast.parse(Path(str(files(room).joinpath(f"{file}.pyi"))).read_text())
    declared = {node.name for node in stub.body if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    declared |= {n.target.id for n in stub.body if isinstance(n, ast.AnnAssign) and isinstance(n.target, ast.Name)}
    own = {
        name
        for name, value in vars(module).items()
        if not name.startswith("_") and getattr(value, "__module__", module.__name__) in (module.__name__, None)
    }
    imported = {"np", "limits", "Kernel"} - declared
    assert {name for name in own if type(vars(module)[name]).__name__ != "module"} - imported == declared


def test_plots_are_there_without_an_import_of_their_own() -> None:
    code = "import sys, adabypass; assert 'matplotlib' not in sys.modules; print(adabypass.plots.fan.__name__)"
    assert run(code).strip() == "fan"


def test_nothing_that_was_compiled_is_installed_as_a_source() -> None:
    root = Path(str(files("adabypass")))
    assert [each.name for each in root.rglob("*") if each.suffix in (".c", ".h", ".pxd", ".pyx", ".build")] == []
