"""What cannot be written is found before the work begins; results come before pictures; old files are not lost."""

import resource
import subprocess
import sys
from pathlib import Path

import pytest

from adabypass import load_dataset
from adabypass.cli import outputs
from tests.cli.in_process import program as command

ROWS = "".join(f"{y}\n" for y in load_dataset("nile").y[:60])


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "series.csv").write_text("y\n" + ROWS)
    (tmp_path / "folder.csv").mkdir()
    (tmp_path / "folder.png").mkdir()
    return tmp_path / "series.csv"


@pytest.mark.parametrize(
    ("option", "value", "words"),
    [
        ("--out", "out.xyz", "must end in one of .csv"),
        ("--out", "series.csv/out.csv", "is not a folder"),
        ("--out", "folder.csv", "is a folder; name a file in it"),
        ("--out", "/proc/out.csv", "/proc/out.csv cannot be written"),
        ("--plot", "out.gif", "must end in one of .png"),
        ("--plot", "series.csv/out.png", "is not a folder"),
        ("--plot", "folder.png", "is a folder; name a file in it"),
        ("--plot", "no/such/out.png", "the folder 'no/such' does not exist; make it first"),
        ("--plot", "/proc/out.png", "/proc/out.png cannot be written"),
    ],
)
@pytest.mark.parametrize("name", ["forecast", "evaluate"])
def test_what_cannot_be_written_is_found_before_the_file_is_read(
    file: Path, name: str, option: str, value: str, words: str
) -> None:
    before = sorted(file.parent.iterdir())
    done = command(name, "no-such-file.csv", option, value, cwd=file.parent)
    assert done.returncode == 2
    assert words in done.stderr
    assert "no-such-file" not in done.stderr
    assert sorted(file.parent.iterdir()) == before


def test_a_file_that_may_not_be_written_to_is_refused(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.access", lambda path, mode: False)  # root may write to any file
    with pytest.raises(PermissionError, match="may not be written to"):
        outputs.check_writable(file)


@pytest.mark.parametrize("name", ["forecast", "evaluate"])
@pytest.mark.usefixtures("no_matplotlib")
def test_a_missing_matplotlib_is_found_before_the_file_is_read(file: Path, name: str) -> None:
    done = command(name, "none.csv", "--plot", "a.png", cwd=file.parent)
    assert done.returncode == 2
    assert (
        done.stderr == "adabypass: adabypass.plots needs matplotlib; install it with: pip install 'adabypass[plot]'\n"
    )


@pytest.mark.parametrize("name", ["forecast", "evaluate"])
def test_results_are_kept_and_an_old_picture_stays_when_the_new_one_cannot_be_written(file: Path, name: str) -> None:
    out, picture = file.with_name("out.csv"), file.with_name("out.png")
    picture.write_bytes(b"an older picture")
    program = Path(sys.executable).parent / "adabypass"
    done = subprocess.run(
        [program, name, file, "--out", out, "--plot", picture], capture_output=True, text=True, check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (8192, 8192)),
    )  # fmt: skip
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1] == f"adabypass: {picture}: File too large"
    assert "mean" in out.read_text() or "rmse" in out.read_text()
    assert picture.read_bytes() == b"an older picture"
    assert sorted(each.name for each in file.parent.glob("*out*")) == ["out.csv", "out.png"]


def test_a_target_that_looks_like_mathematics_can_be_drawn(tmp_path: Path) -> None:
    (tmp_path / "math.csv").write_text("t,$\\foo$\n" + "".join(f"{i},{i % 5}\n" for i in range(30)))
    done = command("forecast", "math.csv", "--target", "$\\foo$", "--time", "t", "--plot", "math.png", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "math.png").read_bytes().startswith(b"\x89PNG")
