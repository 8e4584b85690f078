"""Write the golden files of the newest format: saved models that later versions must load.

    .venv/bin/python tools/make_golden.py

Run it when the number of the format goes up, or the checklist of regressors and forecasters grows, and commit what is
new; files of released formats never change. CONTRIBUTING.md says what raises the number. Each file is a model after the
first part of a stream, and the folder `stream` that of `adabypass stream --state`; `answers.json` has what they
forecast in the second part.
"""

import json
import shutil
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.snapshots import golden

from adabypass.snapshots.versions import FORMAT


def main() -> None:
    folder = golden.FOLDER / f"format-{FORMAT}"
    if f"{folder.name}/" in golden.FROZEN.read_text():
        raise SystemExit(f"format {FORMAT} is frozen: raise FORMAT in snapshots/versions.py, and write its upgrade.")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    answers: dict[str, object] = {}
    for name, model in golden.trained().items():
        model.save(folder / f"{golden.file_name(name)}.safetensors")
        answers[golden.file_name(name)] = golden.continued(name, model)
    golden.keep_stream(folder / "stream")
    with tempfile.TemporaryDirectory() as name:
        answers["stream"] = golden.resumed(Path(shutil.copytree(folder / "stream", Path(name) / "stream")))
    (folder / "answers.json").write_text(json.dumps(answers, indent=1) + "\n")
    print(f"{len(answers)} golden files are in {folder}")


if __name__ == "__main__":
    main()
