"""One person's rate, over all of their sessions (spec 06, Per-user rate; the seed's per-caller rate)."""

from dataclasses import dataclass, field

import pytest

from foyer.bound import Bound
from foyer.gate.admission import Admission
from foyer.gate.callers import Callers
from foyer.gate.gate import Kind
from foyer.gate.limits import Limits
from foyer.gate.users import UserRate
from foyer.interruption import Interruption, Reason, StatusCause
from foyer.session.seal import Session, SessionID
from tests.gate.gates import Open, World
from tests.session.sessions import ALICE

RATE, BURST = 0.5, 3


@dataclass
class People:
    """A gate that holds people to `BURST` at once and `RATE` a second."""

    limits: Limits = field(default_factory=Limits)

    def __post_init__(self) -> None:
        self.refusals = {"caller-rate": 0}
        callers = Callers(UserRate(RATE, BURST), self.refusals)
        self.world = World(self.limits, callers=callers)

    def ask(self, session: Session = ALICE, kind: Kind = Kind.REQUEST) -> Admission | Interruption:
        exchange = Open()
        admission = self.world.gate.admit(session, exchange, kind)
        if isinstance(admission, Admission):
            exchange.admission = admission
        return admission

    def refusal(self, session: Session = ALICE, kind: Kind = Kind.REQUEST) -> Interruption:
        refused = self.ask(session, kind)
        assert isinstance(refused, Interruption)
        return refused

    def spend(self, session: Session = ALICE) -> None:
        for _ in range(BURST):
            assert isinstance(self.ask(session), Admission)


def another(**changes: object) -> Session:
    """A session of Alice's beside the first, or with `changes` somebody else's."""
    return ALICE._replace(**({"session_id": SessionID("another")} | changes))  # type: ignore[arg-type]


def test_past_an_empty_bucket_a_request_is_refused_with_the_seconds_until_it_holds_one_again() -> None:
    people = People()
    people.spend()
    refused = people.refusal()
    assert (refused.reason, refused.reason.status, refused.retry_after) == (Reason.USER_RATE_EXCEEDED, 429, 2)
    assert refused.causes == (StatusCause("LimitReached", "caller-rate", "0.5"),)
    assert (refused.limit, refused.bound) == ("caller-rate", None)
    people.world.pass_time(1.25)
    assert people.refusal().retry_after == 1, "whole seconds, rounded up"
    people.world.pass_time(0.75)
    assert isinstance(people.ask(), Admission)
    assert isinstance(people.ask(), Interruption)


def test_a_person_has_one_bucket_in_all_of_their_sessions() -> None:
    people = People()
    people.spend()
    assert people.refusal(another()).reason is Reason.USER_RATE_EXCEEDED


@pytest.mark.parametrize(
    "changes",
    [
        {"subject": "another"},
        {"issuer": "https://another.test"},
        {"issuer": ALICE.issuer + "/", "subject": ALICE.subject},
    ],
)
def test_another_issuer_or_subject_is_another_person(changes: dict[str, object]) -> None:
    people = People()
    people.spend()
    assert isinstance(people.ask(another(**changes)), Admission)


@pytest.mark.parametrize(
    "changes", [{"email": "a@b.test"}, {"display_name": "A"}, {"groups": ()}, {"connector": "ldap"}]
)
def test_nothing_else_makes_another_person(changes: dict[str, object]) -> None:
    people = People()
    people.spend()
    assert isinstance(people.ask(another(**changes)), Interruption)


def test_streams_are_charged_as_requests_are() -> None:
    people = People()
    for kind in (Kind.STREAM, Kind.REQUEST, Kind.STREAM):
        assert isinstance(people.ask(kind=kind), Admission)
    for kind in Kind:
        assert people.refusal(kind=kind).reason is Reason.USER_RATE_EXCEEDED


def test_the_sessions_own_rate_comes_first_and_what_it_refuses_is_not_charged() -> None:
    people = People(Limits(session_request_rate=0.001, session_request_burst=2))
    assert isinstance(people.ask(), Admission)
    assert isinstance(people.ask(), Admission)
    for _ in range(5):
        assert people.refusal().reason is Reason.REQUEST_RATE_EXCEEDED
    assert isinstance(people.ask(another()), Admission), "the third of the burst is still there"
    assert people.refusals == {"caller-rate": 0}


def test_a_refused_request_holds_nothing_and_uses_no_bound() -> None:
    people = People()
    people.spend()
    people.refusal()
    assert people.world.gate.requests.per_replica == BURST
    assert len(people.world.observed(Bound.SESSION_REQUEST_BURST)) == BURST


def test_each_refusal_is_counted_at_once() -> None:
    people = People()
    people.spend()
    for _ in range(4):
        people.refusal()
    assert people.refusals == {"caller-rate": 4}


def test_without_a_rate_nobody_is_held_to_one() -> None:
    world = World()
    for number in range(50):
        world.admit(another(session_id=SessionID(str(number))))
