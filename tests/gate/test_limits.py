"""The bounds' page and their flags say the same, and every bound has its limit."""

import re
from pathlib import Path

from foyer.bound import MEASURED, Bound
from foyer.config.bounds import FLAGS, limits
from foyer.gate.limits import Limits
from foyer.interruption import Reason

PAGE = (Path(__file__).parents[2] / "docs" / "bounds.md").read_text()


def test_the_flags_defaults_are_those_that_a_gate_has_by_itself() -> None:
    assert limits({flag.name: flag.parse(flag.default) for flag in FLAGS if flag.default}) == Limits()


def test_every_bound_has_its_limit_and_each_of_them_another_flag() -> None:
    values = iter(range(1, 100))
    told = limits({flag.name: next(values) for flag in FLAGS}).by_bound()
    assert set(told) == set(Bound)
    assert len(set(told.values())) == len(Bound)
    assert set(MEASURED) < set(Bound)


def test_the_page_has_every_flag_of_the_bounds_with_its_default() -> None:
    rows = [row.split("|") for row in PAGE.split("\n## Each bound\n")[1].splitlines() if row.startswith("| ")]
    told = {flag: row[3] for row in rows for flag in re.findall(r"`-([\w-]+)`", row[2])}
    assert set(told) == {flag.name for flag in FLAGS}
    for flag in FLAGS:
        number = re.match(r"\d+", flag.default or "")
        assert number is not None and number[0] in re.findall(r"\d+", told[flag.name]), flag


def test_the_page_has_every_answer_of_a_bound() -> None:
    answers = {
        Reason.REQUEST_RATE_EXCEEDED,
        Reason.TOO_MANY_CONCURRENT_REQUESTS,
        Reason.TOO_MANY_STREAMS,
        Reason.RESPONSE_TOO_LARGE,
    }
    table = PAGE.split("| reason |")[1].split("\n\n")[0]
    assert set(re.findall(r"`(\w+)`", table)) == {reason.word for reason in answers}
