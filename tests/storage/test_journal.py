"""Records are read as they were written, up to the first that is not whole; folders never lose what was committed."""

import os
from pathlib import Path
from time import monotonic

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adabypass.errors import LockedError, StateError
from adabypass.snapshots.versions import base_header
from adabypass.storage import folder, journal
from adabypass.storage.folder import StateFolder
from adabypass.storage.journal import Journal, Record

RECORDS = [
    Record(1, "", "", (1.5,)),
    Record(2, '"é\ud800"', '"2024-01-01"', (float("nan"), 2.0, -0.0)),
    Record(2**63, "5", "7", (5e-324,)),
]


def written(path: Path, *, checksum: int = 9) -> bytes:
    log = Journal(path, 3, checksum, always=True)
    for row, key, time, (y, *exog) in RECORDS:
        log.append(journal.pack(row, key, time, y, exog))
    log.commit()
    log.close()
    return path.read_bytes()


@given(
    row=st.integers(0, 2**64 - 1),
    key=st.text(),
    time=st.text(st.characters(codec="utf-8")),
    values=st.lists(st.floats(), min_size=1, max_size=5),
)
def test_a_record_is_unpacked_as_it_was_packed(row: int, key: str, time: str, values: list[float]) -> None:
    found = journal.unpack(journal.pack(row, key, time, values[0], values[1:]))
    assert found is not None
    assert found[:3] == (row, key, time)
    assert np.array(found.values).tobytes() == np.array(values).tobytes()


def records(found: journal.JournalContents) -> list[Record]:
    return [record for record, _ in found.records()]


def test_every_cut_leaves_the_whole_records_before_it(tmp_path: Path) -> None:
    content = written(tmp_path / "journal")
    whole = journal.read(tmp_path / "journal", 3, 9)
    assert repr(records(whole)) == repr(RECORDS)
    assert repr(whole.last) == repr(RECORDS[-1])
    assert whole.n_torn == 0
    for size in range(len(content)):
        (tmp_path / "journal").write_bytes(content[:size])
        found = journal.read(tmp_path / "journal", 3, 9)
        assert repr(records(found)) == repr(RECORDS[: found.n_records])
        assert found.n_records < len(RECORDS)


def test_every_bit_that_flips_is_refused_or_tears_the_last_record(tmp_path: Path) -> None:
    content = written(tmp_path / "journal")
    last = len(content) - len(journal.pack(*RECORDS[-1][:3], RECORDS[-1].values[0], RECORDS[-1].values[1:])) - 8
    for at in range(8 * len(content)):
        damaged = bytearray(content)
        damaged[at // 8] ^= 1 << at % 8
        (tmp_path / "journal").write_bytes(damaged)
        try:
            found = journal.read(tmp_path / "journal", 3, 9)
        except StateError:
            assert at < 8 * last
            continue
        assert at >= 8 * last
        assert found.n_records == len(RECORDS) - 1
        assert repr(records(found)) == repr(RECORDS[: found.n_records])
        assert found.n_torn > 0


def test_a_journal_of_another_snapshot_is_not_applied(tmp_path: Path) -> None:
    written(tmp_path / "journal")
    with pytest.raises(StateError, match="goes on from snapshot 3, but the folder's snapshot is number 4"):
        journal.read(tmp_path / "journal", 4, 9)
    with pytest.raises(StateError, match="is damaged: record 1, at byte 24 of"):
        journal.read(tmp_path / "journal", 3, 10)  # of another stream
    (tmp_path / "journal").write_bytes(b"y\n1\n2\n3\n" * 10)
    with pytest.raises(StateError, match="is not a journal of adabypass"):
        journal.read(tmp_path / "journal", 3, 9)


def test_a_journal_is_flushed_always_or_once_a_second(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    flushed: list[int] = []
    now = monotonic()
    monkeypatch.setattr(os, "fsync", flushed.append)
    monkeypatch.setattr(journal, "monotonic", lambda: now)
    for always, expected in ((True, 5), (False, 0)):
        log = Journal(tmp_path / "journal", 1, 0, always=always)
        flushed.clear()
        for _ in range(5):
            log.append(b"x" * 24)
            log.commit()
        assert len(flushed) == expected
        assert log.sync_due() == (float("inf") if always else 1.0)
        if not always:
            now += 1.5
            log.append(b"x" * 24)
            log.commit()
            assert len(flushed) == 1
            assert log.sync_due() == float("inf")
        log.close()


def test_what_was_not_committed_is_not_written(tmp_path: Path) -> None:
    log = Journal(tmp_path / "journal", 1, 0, always=False)
    log.append(journal.pack(1, "", "", 1.0, None))
    log.close()
    assert (tmp_path / "journal").stat().st_size == 24


def test_a_folder_has_one_owner_and_one_journal(tmp_path: Path) -> None:
    first = StateFolder(tmp_path / "s", always=False)
    assert first.read() is None
    with pytest.raises(LockedError, match="is in use by another process"):
        StateFolder(tmp_path / "s", always=False)
    header = base_header("Stream")
    for _ in range(3):
        first.save(header, {}, 7)
    assert sorted(os.listdir(tmp_path / "s")) == ["journal-0000000003", "lock", "snapshot.safetensors"]
    first.close()
    second = StateFolder(tmp_path / "s", always=False)
    found = second.read()
    assert found is not None
    assert folder.place_of(found.snapshot) == (3, 7)
    second.close()


def test_a_journal_without_its_snapshot_is_an_error(tmp_path: Path) -> None:
    written(tmp_path / "journal-0000000003")
    with pytest.raises(StateError, match=r"holds the journal journal-0000000003, but no snapshot\.safetensors"):
        folder.read(tmp_path)
