"""The gate: its checks in the spec's order, and what each answers (spec 04, Order of checks, 3 to 6)."""

from dataclasses import replace

import pytest

from foyer.bound import MEASURED, Bound
from foyer.gate.gate import Kind
from foyer.gate.limits import Limits
from foyer.interruption import Interruption, Reason, StatusCause
from foyer.protocol.events import Fields, RequestHead
from foyer.session.seal import COOKIE, SessionID, seal
from tests.gate.gates import BOB, ORIGIN, Open, World
from tests.session.sessions import ALICE, KEYRING

COOKIE_FIELD = (b"cookie", f"{COOKIE}={seal(ALICE, KEYRING)}".encode())
PROOFS: Fields = [(b"x-csrf-token", ALICE.csrf_token.encode()), (b"origin", ORIGIN.encode())]

SMALL = Limits(
    session_request_rate=2.0,
    session_request_burst=5,
    max_session_concurrent_requests=3,
    max_concurrent_requests=4,
    max_session_streams=1,
    max_streams=2,
)


def head(method: bytes = b"GET", *, fields: Fields) -> RequestHead:
    return RequestHead(method, b"/k8s/api", fields)


def refused(world: World, session: object = ALICE, kind: Kind = Kind.REQUEST) -> Interruption:
    refusal = world.gate.admit(session, Open(), kind)  # type: ignore[arg-type]
    assert isinstance(refusal, Interruption)
    return refusal


# The session and the proofs


def test_a_request_with_its_sessions_cookie_has_the_session() -> None:
    assert World().gate.session(head(fields=[COOKIE_FIELD])) == ALICE


@pytest.mark.parametrize("fields", [[], [(b"cookie", b"a=b")], [(b"cookie", COOKIE_FIELD[1][:-4])]])
def test_a_request_without_one_has_none(fields: Fields) -> None:
    assert World().gate.session(head(fields=fields)) is None


def test_a_session_that_has_ended_is_none() -> None:
    request = head(fields=[COOKIE_FIELD])
    ended = World()
    ended.wall = float(ALICE.ends_at)
    assert ended.gate.session(request) is None
    assert World(absolute_timeout=59.0).gate.session(request) is None


def test_there_are_no_proofs_to_look_at_without_a_session() -> None:
    """The order of spec 04: a change without a session is 401, whatever proof it lacks."""
    gate = World().gate
    assert gate.session(head(b"POST", fields=PROOFS)) is None
    assert gate.session(head(b"POST", fields=[COOKIE_FIELD])) == ALICE


def test_a_change_needs_its_proofs_and_reading_none() -> None:
    gate = World().gate
    lacking = gate.proofs(head(b"POST", fields=[COOKIE_FIELD]), ALICE)
    assert lacking is not None
    assert lacking.reason is Reason.CSRF_PROOF_REQUIRED
    elsewhere = gate.proofs(head(b"POST", fields=[PROOFS[0], (b"origin", b"https://evil.test")]), ALICE)
    assert elsewhere is not None
    assert elsewhere.reason is Reason.CROSS_ORIGIN_REQUEST
    assert gate.proofs(head(b"POST", fields=PROOFS), ALICE) is None
    assert gate.proofs(head(b"GET", fields=[]), ALICE) is None


def test_neither_a_look_at_the_session_nor_a_failed_proof_holds_or_spends_anything() -> None:
    world = World()
    for _ in range(1000):
        world.gate.session(head(fields=[COOKIE_FIELD]))
        world.gate.proofs(head(b"POST", fields=[]), ALICE)
    world.admit()
    assert world.observed(Bound.SESSION_REQUEST_BURST) == [0.01]


# The rate


def test_past_the_burst_a_session_is_refused_with_the_time_to_wait_and_nobody_else_is() -> None:
    world = World(SMALL)
    for _ in range(5):
        world.admit().admission.close()  # type: ignore[union-attr]
    refusal = refused(world)
    assert refusal.reason is Reason.REQUEST_RATE_EXCEEDED
    assert refusal.causes == (StatusCause("BoundReached", "session_request_burst", "5"),)
    assert refusal.bound is Bound.SESSION_REQUEST_BURST
    assert refusal.retry_after == 1
    world.admit(BOB)
    world.pass_time(1)
    world.admit()


def test_requests_and_streams_draw_on_one_rate() -> None:
    world = World(replace(SMALL, max_session_streams=10, max_streams=10))
    for kind in (Kind.REQUEST, Kind.STREAM, Kind.STREAM, Kind.REQUEST, Kind.STREAM):
        world.admit(kind=kind)
    assert refused(world).reason is Reason.REQUEST_RATE_EXCEEDED
    assert refused(world, kind=Kind.STREAM).reason is Reason.REQUEST_RATE_EXCEEDED


def test_a_token_that_was_spent_on_a_refusal_stays_spent() -> None:
    """So a loop of requests that find no place meets the rate too, and is told when to come back."""
    world = World(SMALL)
    for _ in range(3):
        world.admit()
    reasons = [refused(world).reason for _ in range(3)]
    assert reasons == [
        Reason.TOO_MANY_CONCURRENT_REQUESTS,
        Reason.TOO_MANY_CONCURRENT_REQUESTS,
        Reason.REQUEST_RATE_EXCEEDED,
    ]


def test_the_rate_is_asked_before_the_slots() -> None:
    """A session that is past both is told of the one that it can wait for."""
    world = World(replace(SMALL, session_request_burst=3))
    for _ in range(3):
        world.admit()
    assert refused(world).reason is Reason.REQUEST_RATE_EXCEEDED


# The slots


@pytest.mark.parametrize(
    ("kind", "most", "reason", "bound"),
    [
        (Kind.REQUEST, 3, Reason.TOO_MANY_CONCURRENT_REQUESTS, Bound.SESSION_CONCURRENT_REQUESTS),
        (Kind.STREAM, 1, Reason.TOO_MANY_STREAMS, Bound.SESSION_STREAMS),
    ],
)
def test_a_sessions_limit_th_passes_and_the_next_does_not_until_one_has_closed(
    kind: Kind, most: int, reason: Reason, bound: Bound
) -> None:
    world = World(SMALL)
    opened = [world.admit(kind=kind) for _ in range(most)]
    refusal = refused(world, kind=kind)
    assert (refusal.reason, refusal.bound) == (reason, bound)
    assert refusal.causes == (StatusCause("BoundReached", bound.value, str(most)),)
    assert refusal.retry_after is None, "nobody knows when one will end"
    assert "this session" in refusal.message
    assert opened[0].admission is not None
    opened[0].admission.close()
    world.admit(kind=kind)


@pytest.mark.parametrize(
    ("kind", "most", "reason", "bound"),
    [
        (Kind.REQUEST, 4, Reason.TOO_MANY_CONCURRENT_REQUESTS, Bound.CONCURRENT_REQUESTS),
        (Kind.STREAM, 2, Reason.TOO_MANY_STREAMS, Bound.STREAMS),
    ],
)
def test_a_replicas_limit_is_everybodys(kind: Kind, most: int, reason: Reason, bound: Bound) -> None:
    world = World(SMALL)
    people = [ALICE._replace(session_id=SessionID(str(number))) for number in range(most + 1)]
    opened = [world.admit(person, kind) for person in people[:most]]
    refusal = refused(world, people[-1], kind)
    assert (refusal.reason, refusal.bound) == (reason, bound)
    assert refusal.causes == (StatusCause("BoundReached", bound.value, str(most)),)
    assert refusal.retry_after is None
    assert "this session" not in refusal.message
    assert opened[0].admission is not None
    opened[0].admission.close()
    world.admit(people[-1], kind)


def test_requests_and_streams_have_slots_of_their_own() -> None:
    world = World(replace(SMALL, session_request_burst=100))
    for _ in range(3):
        world.admit()
    world.admit(kind=Kind.STREAM)
    assert refused(world).reason is Reason.TOO_MANY_CONCURRENT_REQUESTS
    assert refused(world, kind=Kind.STREAM).reason is Reason.TOO_MANY_STREAMS
    assert (world.gate.requests.per_replica, world.gate.streams.per_replica) == (3, 1)


def test_a_refused_request_holds_nothing() -> None:
    world = World(SMALL)
    for _ in range(3):
        world.admit()
    held = len(world.gate.registry), len(world.wheel), world.gate.requests.per_replica
    for _ in range(10):
        refused(world)
    assert (len(world.gate.registry), len(world.wheel), world.gate.requests.per_replica) == held


# What is observed


def test_the_shares_used_are_those_of_what_was_let_through_and_count_itself() -> None:
    world = World(SMALL)
    for session in (ALICE, ALICE, BOB, BOB):
        world.admit(session)
    world.admit(BOB, Kind.STREAM)
    assert world.observed(Bound.SESSION_REQUEST_BURST) == [0.2, 0.4, 0.2, 0.4, 0.6]
    assert world.observed(Bound.SESSION_CONCURRENT_REQUESTS) == [1 / 3, 2 / 3, 1 / 3, 2 / 3]
    assert world.observed(Bound.CONCURRENT_REQUESTS) == [0.25, 0.5, 0.75, 1.0]
    assert world.observed(Bound.SESSION_STREAMS) == [1.0]
    assert world.observed(Bound.STREAMS) == [0.5]


@pytest.mark.parametrize("kind", list(Kind))
@pytest.mark.parametrize(
    "limits", [replace(SMALL, session_request_burst=1), replace(SMALL, max_session_concurrent_requests=1)]
)
def test_a_refusal_is_in_no_share_not_even_of_the_checks_it_had_passed(limits: Limits, kind: Kind) -> None:
    world = World(limits)
    world.admit(kind=kind)
    before = {bound: list(world.observed(bound)) for bound in MEASURED}
    refused(world, kind=kind)
    assert {bound: world.observed(bound) for bound in MEASURED} == before


def test_the_end_of_a_response_says_how_long_it_was_open_and_how_long_it_is() -> None:
    world = World(Limits(max_response_duration=100.0, max_response_bytes=1000))
    first, second = world.admit(), world.admit()
    assert first.admission is not None and second.admission is not None
    world.pass_time(25)
    world.gate.observe_end(first.admission, 1000)
    world.pass_time(50)
    world.gate.observe_end(second.admission, None)
    assert world.observed(Bound.RESPONSE_DURATION) == pytest.approx([0.25, 0.75])
    assert world.observed(Bound.RESPONSE_BYTES) == [1.0], "one that has no such bound is not in it"


def test_one_that_was_cut_a_tick_after_its_duration_used_all_of_it_and_no_more() -> None:
    world = World(Limits(max_response_duration=10.0))
    exchange = world.admit()
    assert exchange.admission is not None
    world.pass_time(11)
    assert exchange.told == ["duration reached"]
    world.gate.observe_end(exchange.admission, 0)
    assert world.observed(Bound.RESPONSE_DURATION) == [1.0]
