"""The fuzz targets' properties on what is known: their seeds, and every input that once broke one."""

import pytest

from tests.fuzz.targets import FOUND, TARGETS


@pytest.mark.parametrize("name", TARGETS)
def test_a_property_holds_on_its_seeds_and_on_what_once_broke_it(name: str) -> None:
    target = TARGETS[name]
    for data in target.corpus(20, seed=1):
        target.check(data)
    for path in sorted((FOUND / name).glob("*")):
        target.check(path.read_bytes())
