"""Older formats are brought up to date step by step; newer ones are refused in a sentence."""

import pytest

from adabypass import AdaBypass, from_bytes
from adabypass.errors import StateError
from adabypass.snapshots import container, versions
from adabypass.snapshots.container import Snapshot


def saved(**changes: object) -> bytes:
    header, arrays = AdaBypass(n_features=2)._snapshot()
    return b"".join(container.encode(header | changes, arrays))


def test_a_newer_format_is_refused_by_name() -> None:
    with pytest.raises(StateError, match=r"format 99, of adabypass 7\.1, but this version, .* install a newer version"):
        from_bytes(saved(format=99, version="7.1"))


def test_a_format_before_the_first_release_is_refused() -> None:
    oldest = versions.OLDEST_FORMAT
    with pytest.raises(StateError, match=rf"is in format 3, but this version, .*, reads formats from {oldest} on"):
        from_bytes(saved(format=3))


@pytest.mark.parametrize("number", [None, "4", True, 4.0])
def test_a_format_that_is_no_number_is_refused(number: object) -> None:
    with pytest.raises(StateError, match="has no format number in its header"):
        from_bytes(saved(format=number))


def test_every_older_format_has_its_upgrade() -> None:
    assert set(versions.UPGRADES) == set(range(versions.OLDEST_FORMAT, versions.FORMAT))


def test_an_older_format_is_upgraded_step_by_step(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two formats that never were: in the older ones the hyperparameters had another name."""
    now = versions.FORMAT

    def rename(old: str, new: str, number: int) -> object:
        def upgrade(snapshot: Snapshot) -> Snapshot:
            header = dict(snapshot.header)
            header[new] = header.pop(old)
            return snapshot._replace(header=header | {"format": number})

        return upgrade

    upgrades = {now: rename("options", "settings", now + 1), now + 1: rename("settings", "hyperparameters", now + 2)}
    monkeypatch.setattr(versions, "FORMAT", now + 2)
    monkeypatch.setattr(versions, "UPGRADES", upgrades)
    model = AdaBypass(b=2.0, n_features=2)
    header, arrays = model._snapshot()
    header = header | {"format": now, "options": header["hyperparameters"]}
    del header["hyperparameters"]
    assert from_bytes(b"".join(container.encode(header, arrays))).to_bytes() == model.to_bytes()
