"""A folder holds regular files of its own: what a name in it leads to elsewhere is neither read nor changed."""

import os
import subprocess
from pathlib import Path

import pytest

from adabypass.errors import StateError
from tests.cli.in_process import run, stream
from tests.cli.test_forecasting import COMMAND

ROWS = "y\n1\n2\n3\n"


def command(name: str, *arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run the command, in no more than 1.5 GB and 60 seconds."""
    limited = f"ulimit -v 1500000; exec {' '.join([*COMMAND, name, *arguments])}"
    return subprocess.run(
        limited, shell=True, input=ROWS, capture_output=True, text=True, cwd=cwd, timeout=60, check=False
    )


def put(kind: str, place: Path, precious: Path) -> None:
    """Let a name lead to another file."""
    place.unlink(missing_ok=True)
    if kind == "pipe":
        os.mkfifo(place)
    elif kind == "hard link":
        os.link(precious, place)
    else:
        place.symlink_to("/dev/zero" if kind == "device" else precious)


NAMES = ["lock", "journal", "next journal", "snapshot.safetensors", ".snapshot.safetensors.part"]


@pytest.mark.parametrize(
    ("kind", "name"),
    [(kind, name) for kind in ("link", "hard link") for name in NAMES]
    + [("pipe", "journal"), ("pipe", "lock"), ("device", "journal")],
)
def test_what_a_name_leads_to_is_left_alone(kind: str, name: str, tmp_path: Path) -> None:
    precious, folder = tmp_path / "precious.txt", tmp_path / "s"
    precious.write_text("precious")
    assert stream("--state", folder, given=ROWS).code == 0
    number = int(next(folder.glob("journal-*")).name[-10:])
    files = {"journal": f"journal-{number:010d}", "next journal": f"journal-{number + 1:010d}"}
    put(kind, folder / files.get(name, name), precious)
    if kind in ("pipe", "device"):  # they might be waited for, or fill all memory
        for arguments in (["inspect", "s"], ["stream", "--state", "s"]):
            ended = command(*arguments, cwd=tmp_path)
            assert ended.returncode in (0, 2), ended.stderr
            assert "Traceback" not in ended.stderr
    else:
        for done in (run("inspect", folder), stream("--state", folder, given=ROWS)):
            assert done.error is None or isinstance(done.error, StateError | OSError), done.error
    assert precious.read_text() == "precious"


def test_a_new_folder_with_a_link_for_a_snapshot_makes_nothing_elsewhere(tmp_path: Path) -> None:
    (tmp_path / "s").mkdir()
    (tmp_path / "s" / "snapshot.safetensors").symlink_to(tmp_path / "elsewhere")
    refused = stream("--state", tmp_path / "s", given=ROWS)
    assert isinstance(refused.error, StateError)
    assert "snapshot.safetensors is a link" in str(refused.error)
    assert not (tmp_path / "elsewhere").exists()


def test_a_folder_copied_by_hard_links_goes_on_and_leaves_the_copy(tmp_path: Path) -> None:
    assert stream("--state", tmp_path / "s", given=ROWS).code == 0
    subprocess.run(["cp", "-al", "s", "copy"], cwd=tmp_path, check=True)
    before = {each.name: each.read_bytes() for each in (tmp_path / "copy").iterdir()}
    assert stream("--state", tmp_path / "s", given=ROWS).code == 0
    assert {each.name: each.read_bytes() for each in (tmp_path / "copy").iterdir()} == before
