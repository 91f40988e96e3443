"""How long a target lives: as long as somebody asks it (spec 06, Targets)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foyer.config import ConfigError
from foyer.net.files import FileError
from foyer.target import Leases, moved_to


def test_what_nobody_holds_is_over_at_once() -> None:
    leases, ended = Leases(), []
    leases.over(lambda: ended.append(1))
    assert ended == [1]


def test_one_that_is_not_to_end_does_not_though_nobody_holds_it() -> None:
    leases = Leases()
    leases.take().close()
    assert leases.count == 0
    leases.take()
    assert leases.count == 1


@given(st.lists(st.booleans(), max_size=40), st.integers(0, 40))
def test_it_ends_once_as_the_last_is_given_back_and_not_before(taken: list[bool], at: int) -> None:
    leases, held, ended = Leases(), [], list[int]()
    for number, take in enumerate(taken):
        if number == at:
            leases.over(lambda: ended.append(leases.count))
            if ended:
                break
        if take:
            held.append(leases.take())
        elif held:
            held.pop().close()
        assert leases.count == len(held)
        if ended:
            break
    over = at < len(taken)
    while held:
        assert ended == []
        held.pop().close()
    assert ended == ([0] if over else [])


@pytest.mark.parametrize("error", [FileError("is empty"), OSError(5, "an error")])
def test_a_file_that_changed_since_it_was_checked_refuses_the_configuration_by_its_flag(
    error: Exception,
) -> None:
    def at(path: str) -> object:
        raise error

    with pytest.raises(ConfigError) as refused:
        moved_to("-targets-file", at, "somewhere")
    assert refused.value.flag == "-targets-file"
    assert "somewhere" not in refused.value.message
    assert moved_to("-targets-file", str.upper, "a") == "A"
