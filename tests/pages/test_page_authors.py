"""docs/page-authors.md tells the truth where it can be held to it."""

import re
from pathlib import Path

from foyer.interruption import Reason
from foyer.pages.assets import ASSETS
from foyer.streams.sse import Type

TEXT = (Path(__file__).parents[2] / "docs" / "page-authors.md").read_text()


def rows(heading: str) -> list[list[str]]:
    """The table below a heading, without its own."""
    section = re.split(r"^##+ ", TEXT.split(f" {heading}\n", 1)[1], maxsplit=1, flags=re.MULTILINE)[0]
    lines = [line for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def test_every_interruption_has_its_word_and_status_there() -> None:
    told = set()
    for words, statuses, _ in rows("Interruptions"):
        names, codes = re.findall(r"`(\w+)`", words), re.findall(r"\d+", statuses)
        told |= set(zip(names, codes + codes[-1:] * (len(names) - len(codes)), strict=True))
    assert told == {(reason.word, str(reason.status)) for reason in Reason}


def test_every_outcome_is_there() -> None:
    declared = re.search(rb"type Outcome = (.*);", ASSETS[b"/_foyer/foyer.d.ts"].content)
    assert declared is not None
    outcomes = {"ok", *re.findall(r'"([\w-]+)"', declared[1].decode())}
    assert {row[0].strip("`") for row in rows("Requests and their outcomes")} == outcomes


def test_every_state_of_what_is_followed_is_there() -> None:
    declared = re.search(rb"type FollowState =(.*?);", ASSETS[b"/_foyer/foyer.d.ts"].content, re.DOTALL)
    assert declared is not None
    states = re.findall(r'"([\w-]+)"', declared[1].decode())
    assert [row[0].strip("`") for row in rows("States")] == states


def test_every_type_of_event_and_every_part_of_a_scope_is_there() -> None:
    types = {word for row in rows("The stream itself") for word in re.findall(r"`(\w+)`", row[0])}
    assert types == {kind.value for kind in Type}
    declared = re.search(rb"interface Scope \{(.*?)\n\}", ASSETS[b"/_foyer/foyer.d.ts"].content, re.DOTALL)
    assert declared is not None
    for name in re.findall(r"^  (\w+)\??:", declared[1].decode(), re.MULTILINE):
        assert f"`{name}`" in TEXT or f"`{name}: " in TEXT, name
