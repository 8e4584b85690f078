"""A session on this machine."""

import pytest

from adabypass.adapters.spark import local_session
from adabypass.errors import MissingExtraError, ParameterError


def test_without_java_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    with pytest.raises(MissingExtraError, match="there is no java on the PATH; install Java 17 or newer"):
        local_session()


def test_the_number_of_cores_is_checked() -> None:
    with pytest.raises(ParameterError, match="cores"):
        local_session(cores=0)
