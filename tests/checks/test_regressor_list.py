"""The checklist is run on every regressor there is."""

from collections.abc import Iterator

from adabypass import Regressor
from tests.checks.regressors import REGRESSORS


def concrete(kind: type[Regressor]) -> Iterator[type[Regressor]]:
    """Find every class of the library that derives from `kind` and has no class below it."""
    below = [each for each in kind.__subclasses__() if each.__module__.startswith("adabypass.")]
    if not below:
        yield kind
    for each in below:
        yield from concrete(each)


def test_every_subclass_of_regressor_is_on_the_checklist() -> None:
    checked = {type(make()) for make in REGRESSORS.values()}
    assert checked == set(concrete(Regressor))
