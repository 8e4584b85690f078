"""The instruction set is chosen at import, and every one gives the same bits."""

import os

import pytest

from adabypass import show_config
from adabypass.numerics import dispatch
from tests.numerics.learned import in_python, learned, one_worker


@one_worker
@pytest.mark.parametrize("name", dispatch.available())
def test_the_variable_forces_an_instruction_set(name: str) -> None:
    assert learned(name).in_use == [name]


def test_an_unknown_instruction_set_is_refused_with_those_there_are() -> None:
    done = in_python("from adabypass import AutoBypass", "mmx")
    assert "ADABYPASS_SIMD is 'mmx', but this machine supports plain, baseline" in done.stderr


def test_the_fastest_is_in_use_unless_another_is_asked_for() -> None:
    if dispatch.VARIABLE not in os.environ:
        assert dispatch.in_use() == dispatch.available()[-1]


def test_show_config_names_the_instruction_set(capsys: pytest.CaptureFixture[str]) -> None:
    show_config()
    assert f"instruction set  {dispatch.in_use()}" in capsys.readouterr().out
