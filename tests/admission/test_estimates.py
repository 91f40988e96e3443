"""Spec 06, Memory: what a scope takes, by what it last took, else by one look at a time."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from foyer.admission.estimates import KEEP, MOST, Estimates
from tests.admission.worlds import World


class Scopes:
    """Estimates, and whoever asked for some."""

    def __init__(self) -> None:
        self.world = World()
        self.estimates = Estimates(now=self.world.clock, soon=self.world.soon)
        self.told: list[str] = []

    def ask(self, name: str, scope: str = "pods") -> Asker:
        asker = Asker(self, name, scope)
        self.estimates.ask(scope, asker)
        return asker


class Asker:
    """Notes what it is told."""

    def __init__(self, scopes: Scopes, name: str, scope: str) -> None:
        self.scopes = scopes
        self.name = name
        self.scope = scope

    def look(self) -> None:
        self.scopes.told.append(f"{self.name} looks")

    def estimated(self, size: int | None) -> None:
        self.scopes.told.append(f"{self.name} {size}")

    def looked(self, size: int | None) -> None:
        self.scopes.estimates.looked(self.scope, self, size)
        self.scopes.world.turn()

    def leave(self) -> None:
        self.scopes.estimates.leave(self.scope, self)
        self.scopes.world.turn()


def test_a_scope_is_expected_to_take_what_it_last_took() -> None:
    scopes = Scopes()
    assert scopes.estimates.known("pods") is None
    for size in (10, 7):
        scopes.estimates.took("pods", size)
        assert scopes.estimates.known("pods") == size
    assert scopes.estimates.known("nodes") is None


def test_what_it_took_is_kept_for_ten_minutes() -> None:
    scopes = Scopes()
    scopes.estimates.took("pods", 10)
    scopes.world.clock.advance(600)
    assert scopes.estimates.known("pods") == 10
    scopes.world.clock.advance(0.1)
    assert scopes.estimates.known("pods") is None


def test_what_is_too_old_is_forgotten_as_others_are_read() -> None:
    scopes = Scopes()
    for number in range(100):
        scopes.estimates.took(str(number), 1)
    scopes.world.clock.advance(KEEP + 1)
    scopes.estimates.took("pods", 1)
    assert len(scopes.estimates) == 1


def test_what_was_read_again_is_not_forgotten_with_what_is_as_old_as_its_first_time() -> None:
    scopes = Scopes()
    for scope in ("pods", "nodes"):
        scopes.estimates.took(scope, 1)
    scopes.world.clock.advance(KEEP - 1)
    scopes.estimates.took("pods", 2)
    scopes.world.clock.advance(2)
    scopes.estimates.took("events", 1)
    assert len(scopes.estimates) == 2
    assert scopes.estimates.known("pods") == 2


def test_so_many_scopes_are_remembered_and_those_that_were_read_of_late() -> None:
    scopes = Scopes()
    for number in range(MOST + 10):
        scopes.estimates.took(str(number), number)
        scopes.estimates.took("pods", 1)
    assert len(scopes.estimates) == MOST
    assert scopes.estimates.known("pods") == 1
    assert scopes.estimates.known("5") is None


def test_a_selector_as_long_as_anybody_likes_is_remembered_in_no_more_memory() -> None:
    scopes = Scopes()
    scopes.estimates.took("x" * 8000 + "\ud800", 3)
    assert scopes.estimates.known("x" * 8000 + "\ud800") == 3
    assert scopes.estimates.known("x" * 8000) is None
    assert {len(key) for key in scopes.estimates._took} == {16}


def test_one_looks_at_a_scope_at_a_time_for_all_who_wait_to_read_it() -> None:
    scopes = Scopes()
    ada, *_ = [scopes.ask(name) for name in ("ada", "bob", "eve")]
    assert scopes.told == ["ada looks"]
    ada.looked(5)
    assert scopes.told == ["ada looks", "ada 5", "bob 5", "eve 5"]


def test_another_scope_is_looked_at_meanwhile() -> None:
    scopes = Scopes()
    scopes.ask("ada", "pods")
    scopes.ask("bob", "nodes")
    assert scopes.told == ["ada looks", "bob looks"]


def test_who_finds_nothing_is_told_so_and_the_next_looks_as_itself() -> None:
    """It may have been one who may not list: that is nothing about what the others may."""
    scopes = Scopes()
    ada, bob, _ = (scopes.ask(name) for name in ("ada", "bob", "eve"))
    ada.looked(None)
    assert scopes.told == ["ada looks", "ada None", "bob looks"]
    bob.looked(5)
    assert scopes.told[3:] == ["bob 5", "eve 5"]


def test_what_somebody_has_read_meanwhile_is_told_to_all_who_wait_and_nobody_looks_any_more() -> None:
    scopes = Scopes()
    first, _ = scopes.ask("first"), scopes.ask("second")
    scopes.estimates.took("pods", 7)
    scopes.world.turn()
    assert scopes.told == ["first looks", "first 7", "second 7"]
    first.looked(9)
    assert scopes.told == ["first looks", "first 7", "second 7"]
    assert scopes.estimates.known("pods") == 7


def test_who_leaves_while_it_looks_leaves_that_to_the_next() -> None:
    scopes = Scopes()
    ada, *_ = [scopes.ask(name) for name in ("ada", "bob")]
    ada.leave()
    assert scopes.told == ["ada looks", "bob looks"]
    ada.looked(5)
    assert scopes.told == ["ada looks", "bob looks"]


def test_who_leaves_while_another_looks_is_told_nothing() -> None:
    scopes = Scopes()
    ada, bob = scopes.ask("ada"), scopes.ask("bob")
    bob.leave()
    ada.looked(5)
    assert scopes.told == ["ada looks", "ada 5"]


def test_where_the_next_leaves_before_it_looks_the_one_after_it_does_and_once() -> None:
    scopes = Scopes()
    ada, bob, _, dan = (scopes.ask(name) for name in ("ada", "bob", "eve", "dan"))
    scopes.estimates.leave("pods", ada)
    scopes.estimates.leave("pods", bob)
    dan.leave()
    assert scopes.told == ["ada looks", "eve looks"]


def test_who_looks_because_all_before_have_left_is_not_asked_to_look_again() -> None:
    scopes = Scopes()
    ada, bob = scopes.ask("ada"), scopes.ask("bob")
    for asker in (ada, bob):
        scopes.estimates.leave("pods", asker)
    scopes.ask("dan")
    scopes.world.turn()
    assert scopes.told == ["ada looks", "dan looks"]


def test_where_all_have_left_the_next_to_come_looks() -> None:
    scopes = Scopes()
    for name in ("ada", "bob"):
        scopes.ask(name).leave()
    assert scopes.told == ["ada looks", "bob looks"]


STEPS = st.lists(
    st.tuples(st.sampled_from(["ask", "leave", "found", "nothing", "turn"]), st.integers(0, 9)), max_size=80
)


@given(STEPS)
def test_never_do_two_look_at_once_and_nobody_is_left_waiting(steps: list[tuple[str, int]]) -> None:
    scopes = Scopes()
    askers: list[Asker] = []
    left: set[str] = set()

    def looking() -> list[Asker]:
        done = {line.split()[0] for line in scopes.told if not line.endswith("looks")} | left
        return [who for who in askers if f"{who.name} looks" in scopes.told and who.name not in done]

    for number, (step, value) in enumerate(steps):
        match step:
            case "ask":
                askers.append(scopes.ask(str(number)))
            case "leave" if askers:
                left.add(askers[value % len(askers)].name)
                scopes.estimates.leave("pods", askers[value % len(askers)])
            case "found" | "nothing" if looking():
                looking()[0].looked(5 if step == "found" else None)
            case "turn":
                scopes.world.turn()
        assert len(looking()) <= 1
    scopes.world.turn()
    while looking():
        looking()[0].looked(None)
    told = {line.split()[0] for line in scopes.told if not line.endswith("looks")}
    assert told | left == {asker.name for asker in askers}
    assert sorted(set(scopes.told)) == sorted(scopes.told), "told twice"
    assert not scopes.estimates._looks
