"""The store: damage is found and named, foreign folders are refused, and nothing is cut in silence."""

import os
import shutil
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from adabypass import Forecaster, Stream, load
from adabypass.errors import AdabypassError, StateError
from adabypass.streaming import folder, store_reader
from adabypass.streaming.batches import InputChecksum, pack, unpack
from adabypass.streaming.inspection import inspect
from adabypass.streaming.maintenance import backup, check
from adabypass.streaming.repair import repair
from adabypass.streaming.rows import Row
from adabypass.streaming.view import forecast_folder
from tests.streaming.judge import OneByOne, judged, row_of, rows

OPTIONS: dict[str, Any] = {"key": "k", "time": "t", "checkpoint_every": 50}


def opened(path: Path) -> Stream:
    return Stream(path, Forecaster(lags=1), **OPTIONS)


def killed(path: Path, n: int = 120) -> Path:
    """Leave the folder of a stream that was killed after `n` rows, in batches of 7."""
    work = path.with_name(f"{path.name}-work")
    with opened(work) as stream:
        given = rows(n)
        for at in range(0, n, 7):
            stream.learn(given[at : at + 7])
        shutil.copytree(work, path)
    return path


def changed(path: Path, at: int, *, bit: int = 3) -> None:
    content = bytearray(path.read_bytes())
    content[at] ^= 1 << bit
    path.write_bytes(content)


def test_a_killed_stream_has_all_its_rows(tmp_path: Path) -> None:
    with opened(killed(tmp_path / "s")) as stream:
        assert stream.n_learned == 120
        found = [answer.to_dict() for answer in stream.learn(rows(160)[120:])]
    assert found == judged(rows(160), OneByOne(Forecaster(lags=1)))[120:]


def test_a_damaged_log_is_refused_and_not_cut(tmp_path: Path) -> None:
    """SQLite reads a log up to the first frame that does not fit: rows that were answered would be gone."""
    path = killed(tmp_path / "s")
    size = (path / folder.LOG).stat().st_size
    n_refused = 0
    for at in range(100, size, size // 40):
        copy = Path(shutil.copytree(path, tmp_path / "copy", dirs_exist_ok=True))
        (copy / folder.SHARED).unlink(missing_ok=True)
        changed(copy / folder.LOG, at)
        with suppress(StateError), opened(copy) as stream:
            assert stream.n_learned == 120  # it was in a frame that a later one has replaced
            continue
        n_refused += 1
    assert n_refused > 5


def files(path: Path) -> dict[str, bytes]:
    """Return what is in a folder, but for what a reader may make: its lock, and its index of the log."""
    return {each.name: each.read_bytes() for each in path.iterdir() if each.name not in (folder.SHARED, folder.LOCK)}


def rows_of(panel: Any) -> dict[Any, Any]:
    return {id: row_of(panel[id]).tolist() for id in panel.ids}


def reads(path: Path, backup_to: Path) -> Iterator[Callable[[], Any]]:
    """Yield what readers do with a folder; each returns what does not depend on the path."""
    yield lambda: rows_of(load(path))
    yield lambda: check(path)
    yield lambda: [*forecast_folder(path, 2, None, (0.9,), ())["mean"].tolist()]
    yield lambda: {key: value for key, value in inspect(path).items() if key not in ("file", "bytes")}
    yield lambda: (backup(path, backup_to), rows_of(load(backup_to)))[1]  # type: ignore[func-returns-value]


def outcome(read: Callable[[], Any]) -> tuple[Any, str | None]:
    """Return what was read, or the message of the refusal."""
    try:
        return read(), None
    except StateError as error:
        return None, str(error)


def test_a_reader_finds_a_damaged_log(tmp_path: Path) -> None:
    """Whatever byte is flipped: what is read is right, or it is refused; and nothing in the folder is changed."""
    path = killed(tmp_path / "s", n=49)
    (path / folder.SHARED).unlink()
    expected = [read() for read in reads(path, tmp_path / "backup")]
    size, n_refused = (path / folder.LOG).stat().st_size, 0
    for at in [3, *range(100, size, size // 25), size - 5]:
        copy = Path(shutil.copytree(path, tmp_path / f"copy {at}"))
        changed(copy / folder.LOG, at)
        before = files(copy)
        for read, right in zip(reads(copy, tmp_path / f"backup {at}"), expected, strict=True):
            found, refusal = outcome(read)
            assert repr(found) == repr(right) if refusal is None else "is damaged" in refusal
            n_refused += refusal is not None
            assert files(copy) == before
    assert n_refused > 20


def test_a_refused_open_changes_nothing_and_repair_keeps_all_that_can_be_read(tmp_path: Path) -> None:
    with opened(tmp_path / "work") as stream:
        stream.learn(rows(60, n_series=5))
        stream.checkpoint()
        for row in rows(80, n_series=5)[60:]:
            stream.learn(row)
        shutil.copytree(tmp_path / "work", path := tmp_path / "s")
        expected = rows_of(stream.panel())
    (path / folder.SHARED).unlink()
    changed(path / folder.LOG, 5000)
    before = files(path)
    for _ in range(2):
        with pytest.raises(StateError, match="is damaged"):
            opened(path)
        assert files(path) == before
    with pytest.raises(StateError, match="is damaged"):
        check(path)
    found = repair(path)
    assert (found.n_series, found.n_kept, found.n_lost) == (5, 20, 0)
    assert rows_of(load(path)) == expected
    assert (path / "stream.sqlite.damaged-wal").read_bytes() == before[folder.LOG]


def test_a_refusal_of_what_a_log_holds_leaves_the_log(tmp_path: Path) -> None:
    path = killed(tmp_path / "s")
    before = files(path)
    with pytest.raises(StateError, match="was made with"):
        Stream(path, Forecaster(lags=2), **OPTIONS)
    assert files(path) == before


def test_a_folder_without_its_file_is_not_begun_anew(tmp_path: Path) -> None:
    path = killed(tmp_path / "s")
    (path / folder.DATABASE).unlink()
    for _ in range(2):
        with pytest.raises(StateError, match="it is missing, after"):
            opened(path)
    assert not (path / folder.DATABASE).exists()


@pytest.mark.parametrize("size", [0, 1, 100, 511, 4095])
def test_a_file_without_its_first_page_is_refused_and_its_log_is_left(tmp_path: Path, size: int) -> None:
    """SQLite takes an empty file for a new one, and deletes a log that it finds beside it."""
    path = killed(tmp_path / "s")
    (path / folder.SHARED).unlink(missing_ok=True)
    os.truncate(path / folder.DATABASE, size)
    before = files(path)
    for use in (opened, load, check):
        with pytest.raises(StateError, match="less than its first page"):
            use(path)
        assert files(path) == before


def test_readers_of_a_stream_that_runs_are_never_refused(tmp_path: Path) -> None:
    given, n_read, errors = rows(3000), 0, list[Exception]()
    with opened(tmp_path) as stream:

        def write() -> None:
            try:
                for at in range(0, len(given), 3):
                    stream.learn(given[at : at + 3])
            except Exception as error:
                errors.append(error)

        writer = threading.Thread(target=write)
        writer.start()
        n_before = 0
        while writer.is_alive():
            found = check(tmp_path).n_learned
            assert found >= n_before
            n_before, n_read = found, n_read + 1
        writer.join()
    assert errors == []
    assert n_read > 10


@pytest.mark.parametrize("what", ["cut", "gone"])
def test_a_log_that_was_cut_is_refused(tmp_path: Path, what: str) -> None:
    path = killed(tmp_path / "s")
    (path / folder.SHARED).unlink()
    if what == "cut":
        os.truncate(path / folder.LOG, (path / folder.LOG).stat().st_size - 9000)
    else:
        (path / folder.LOG).unlink()
    with pytest.raises(StateError, match=r"commits were made, but it ends after|is damaged"):
        opened(path)


def test_a_log_that_a_power_cut_has_shortened_is_gone_on_from(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was not flushed may be lost when the system starts anew, and only that."""
    path = killed(tmp_path / "s")
    (path / folder.SHARED).unlink()
    os.truncate(path / folder.LOG, (path / folder.LOG).stat().st_size - 9000)
    monkeypatch.setattr(folder, "_boot_id", lambda: b"another start of the system".ljust(36, b"\0"))
    with opened(path) as stream:
        n = stream.n_learned
        assert 0 < n < 120
        found = [answer.to_dict() for answer in stream.learn(rows(160)[n:])]
    assert found == judged(rows(160), OneByOne(Forecaster(lags=1)))[n:]


@pytest.mark.parametrize("table", ["memory", "inputs", "meta"])
def test_a_changed_value_is_named(tmp_path: Path, table: str) -> None:
    path = killed(tmp_path / "s")
    connection = sqlite3.connect(path / folder.DATABASE)
    column = {"memory": "row", "inputs": "data", "meta": "value"}[table]
    for key, value in connection.execute(f"SELECT rowid, {column} FROM {table}").fetchall():
        other = value[:-1] + (bytes([value[-1] ^ 1]) if isinstance(value, bytes) else " }")
        connection.execute(f"UPDATE {table} SET {column} = ? WHERE rowid = ?", (other, key))
    connection.commit()
    connection.close()
    with pytest.raises(StateError, match=r"is damaged: the checksum of .* does not fit"), opened(path) as stream:
        stream.learn(rows(160)[120:])


def test_a_missing_batch_is_named(tmp_path: Path) -> None:
    path = killed(tmp_path / "s", n=103)
    connection = sqlite3.connect(path / folder.DATABASE)
    (first, n) = connection.execute("SELECT min(number), count(*) FROM inputs").fetchone()
    assert n > 2
    connection.execute("DELETE FROM inputs WHERE number = ?", (first + 1,))
    connection.commit()
    connection.close()
    with pytest.raises(StateError, match="batches are missing"):
        opened(path)


def test_foreign_files_are_refused(tmp_path: Path) -> None:
    for name, content in [("text", b"hello" * 100), ("other", b"SQLite format 3\0" + bytes(84))]:
        (tmp_path / name).mkdir()
        (tmp_path / name / folder.DATABASE).write_bytes(content)
        with pytest.raises(AdabypassError, match=r"damaged|not a store"):
            opened(tmp_path / name)
    (tmp_path / "own").mkdir()
    connection = sqlite3.connect(tmp_path / "own" / folder.DATABASE)
    connection.execute("CREATE TABLE mine (x)")
    connection.close()
    with pytest.raises(StateError, match="not a store of adabypass"):
        opened(tmp_path / "own")


def test_a_trigger_in_the_file_is_refused(tmp_path: Path) -> None:
    path = killed(tmp_path / "s")
    connection = sqlite3.connect(path / folder.DATABASE)
    connection.execute("CREATE TRIGGER t AFTER INSERT ON inputs BEGIN DELETE FROM series; END")
    connection.close()
    with pytest.raises(StateError, match="tables are not those"):
        opened(path)


def test_another_format_is_refused(tmp_path: Path) -> None:
    path = killed(tmp_path / "s")
    connection = sqlite3.connect(path / folder.DATABASE)
    connection.execute("PRAGMA user_version = 1000")
    connection.close()
    with pytest.raises(StateError, match="format 1000"):
        opened(path)


@pytest.mark.parametrize("name", ["snapshot.safetensors", "journal-0000000003"])
def test_folders_of_earlier_versions_are_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"x")
    for read in (opened, load):
        with pytest.raises(StateError, match="before the first release"):
            read(tmp_path)


@pytest.mark.parametrize("name", [folder.DATABASE, folder.LOG, folder.COMMITS, folder.LOCK])
def test_links_in_the_folder_are_refused_and_what_they_lead_to_is_left_alone(tmp_path: Path, name: str) -> None:
    (tmp_path / "mine").write_text("mine")
    (tmp_path / "s").mkdir()
    (tmp_path / "s" / name).symlink_to(tmp_path / "mine")
    with pytest.raises(StateError, match="is a link"):
        opened(tmp_path / "s")
    assert (tmp_path / "mine").read_text() == "mine"


def test_a_folder_without_a_store_is_no_stream(tmp_path: Path) -> None:
    with pytest.raises(StateError, match="no state of a stream"):
        load(tmp_path)


def test_rows_that_could_not_be_answered_are_taken_back(tmp_path: Path) -> None:
    stream = opened(tmp_path)
    given = [Row(i + 1, '"a"', str(i), float(i), None) for i in range(20)]
    stream._learn_rows(given[:7])
    stream._learn_rows(given[7:9])
    stream._take_back(4)
    with pytest.raises(StateError, match="write of this stream has failed"):
        stream.learn(rows(1))
    stream.close()
    with opened(tmp_path) as stream:
        assert stream.n_learned == 5
        stream._learn_rows(given[5:9])
    with opened(tmp_path) as stream:
        assert stream.n_learned == 9


def test_a_write_that_fails_ends_the_stream_and_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stream = opened(tmp_path)
    stream.learn(rows(30))
    stream._store._execute("PRAGMA max_page_count = 1")  # type: ignore[union-attr]
    given = [{"k": "b" * 900, "t": 1000 + i, "y": 1.0} for i in range(60)]
    with pytest.raises(OSError, match="No space left"):
        stream.learn(given)
    with pytest.raises(StateError, match="write of this stream has failed"):
        stream.learn(given)
    stream.close()
    with opened(tmp_path) as stream:
        assert stream.n_learned == 30
        assert len(stream.learn(given)) == 60


def test_a_checkpoint_writes_what_has_changed_only(tmp_path: Path) -> None:
    with Stream(tmp_path, Forecaster(lags=1), key="k", checkpoint_every=10**6) as stream:
        stream.learn([{"k": i, "y": 1.0} for i in range(500)])
        stream.checkpoint()
        before = os.stat(tmp_path / folder.LOG).st_size
        connection: Any = stream._store._connection  # type: ignore[union-attr]
        n_before = connection.total_changes
        stream.learn([{"k": i, "y": 2.0} for i in range(3)])
        stream.checkpoint()
        assert connection.total_changes - n_before < 20
        assert os.stat(tmp_path / folder.LOG).st_size < before + 500_000


def test_batches_of_rows_are_what_they_were() -> None:
    some = [Row(2**63 + i, f'"é{i}"', f"{i}", float(i), [1.0, float("nan")]) for i in range(5)]
    assert repr(unpack(pack(some, 2), 2)) == repr(some)
    plain = [Row(i, "", "", float(i), None) for i in range(5)]
    assert unpack(pack(plain, 0), 0) == plain
    assert unpack(pack([], 3), 3) == []
    for data in (b"", pack(plain, 0)[:-1], pack(some, 2)):
        with pytest.raises(StateError):
            unpack(data, 0)


def test_the_checksum_of_an_input_does_not_depend_on_its_batches() -> None:
    given = [Row(i, f'"{i % 3}"', "", float(i), None) for i in range(100)]
    whole, parts = InputChecksum(), InputChecksum()
    whole.add(given)
    for at in range(0, 100, 7):
        parts.add(given[at : at + 7])
    assert (whole.current, whole.milestones) == (parts.current, parts.milestones)
    assert list(whole.milestones) == [1, 2, 4, 8, 16, 32, 64]
    other = InputChecksum()
    other.add([given[0]._replace(y=5.0), *given[1:]])
    assert other.milestones[1] != whole.milestones[1]


def test_an_input_that_is_read_again_must_be_the_same(tmp_path: Path) -> None:
    given = [Row(i + 1, "", "", float(i), None) for i in range(50)]
    with Stream(tmp_path, Forecaster(lags=1)) as stream:
        stream._learn_rows(given)
    with Stream(tmp_path, Forecaster(lags=1)) as stream:
        known = InputChecksum()
        for at in range(0, 50, 7):
            stream._learner.check_known(given[at : at + 7], known, "the folder")
        other = [*given[:30], given[30]._replace(y=7.0), *given[31:]]
        with pytest.raises(StateError, match="up to row 50 is not that from which the folder has learned"):
            stream._learner.check_known(other, InputChecksum(), "the folder")
        with pytest.raises(StateError, match="up to row 1 is not"):
            stream._learner.check_known([given[0]._replace(y=9.0)], InputChecksum(), "the folder")


def test_positions_of_the_source_are_kept_with_the_rows(tmp_path: Path) -> None:
    given = [Row(i + 1, "", "", float(i), None) for i in range(9)]
    with Stream(tmp_path, Forecaster(lags=1)) as stream:
        stream._learn_rows(given[:3], {"0": 3})
        stream._learn_rows(given[3:6], {"0": 5, "1": 1})
        shutil.copytree(tmp_path, tmp_path.with_name("killed"))
    for path in (tmp_path, tmp_path.with_name("killed")):
        with Stream(path, Forecaster(lags=1)) as stream:
            assert stream._learner.positions == {"0": 5, "1": 1}


def test_large_files_are_checked_as_they_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = killed(tmp_path / "s")
    monkeypatch.setattr(store_reader, "SMALL_BYTES", 0)
    with opened(path) as stream:
        assert stream.n_learned == 120
