"""The gate: who asks before what is asked, and what is taken given back once (spec 04, Order of checks)."""

from collections.abc import Callable

import pytest

from foyer.bound import MEASURED
from foyer.gate.admission import Admission
from foyer.gate.gate import Gate
from foyer.gate.limits import Limits
from foyer.gate.wheel import Wheel
from foyer.interruption import Reason
from foyer.protocol.events import Fields, RequestHead
from foyer.session.seal import COOKIE, seal
from tests.session.sessions import ALICE, KEYRING

ORIGIN = "https://app.example.test"
NOW = float(ALICE.issued_at + 60)
COOKIE_FIELD = (b"cookie", f"{COOKIE}={seal(ALICE, KEYRING)}".encode())
PROOFS: Fields = [(b"x-csrf-token", ALICE.csrf_token.encode()), (b"origin", ORIGIN.encode())]


class Unread:
    """Somebody who takes values and looks at none."""

    def observe(self, value: float) -> None:
        assert 0 <= value <= 1


def a_gate(absolute_timeout: float = 8 * 3600.0, now: float = NOW) -> Gate:
    return Gate(
        lambda: KEYRING,
        ORIGIN,
        absolute_timeout,
        limits=Limits(),
        wheel=Wheel(0.0),
        now=lambda: 0.0,
        clock=lambda: now,
        usage={bound: Unread() for bound in MEASURED},
    )


def admitted(gate: Gate, exchange: "Open") -> Admission:
    admission = gate.admit(ALICE, exchange)
    assert isinstance(admission, Admission)
    return admission


def head(method: bytes = b"GET", *, fields: Fields) -> RequestHead:
    return RequestHead(method, b"/k8s/api", fields)


class Open:
    """An open exchange, which a session's end cuts."""

    def __init__(self) -> None:
        self.cuts = 0
        self.on_cut: Callable[[], None] = lambda: None

    def session_ended(self) -> None:
        self.cuts += 1
        self.on_cut()

    def duration_reached(self) -> None:
        raise AssertionError("nothing in here is open for long")


def test_a_request_with_its_sessions_cookie_has_the_session() -> None:
    assert a_gate().session(head(fields=[COOKIE_FIELD])) == ALICE


@pytest.mark.parametrize("fields", [[], [(b"cookie", b"a=b")], [(b"cookie", COOKIE_FIELD[1][:-4])]])
def test_a_request_without_one_has_none(fields: Fields) -> None:
    assert a_gate().session(head(fields=fields)) is None


def test_a_session_that_has_ended_is_none() -> None:
    request = head(fields=[COOKIE_FIELD])
    assert a_gate(now=float(ALICE.ends_at)).session(request) is None
    assert a_gate(59.0).session(request) is None


def test_there_are_no_proofs_to_look_at_without_a_session() -> None:
    """The order of spec 04: a change without a session is 401, whatever proof it lacks."""
    gate = a_gate()
    assert gate.session(head(b"POST", fields=PROOFS)) is None
    assert gate.session(head(b"POST", fields=[COOKIE_FIELD])) == ALICE


def test_a_change_needs_its_proofs_and_reading_none() -> None:
    gate = a_gate()
    refused = gate.proofs(head(b"POST", fields=[COOKIE_FIELD]), ALICE)
    assert refused is not None
    assert refused.reason is Reason.CSRF_PROOF_REQUIRED
    elsewhere = gate.proofs(head(b"POST", fields=[PROOFS[0], (b"origin", b"https://evil.test")]), ALICE)
    assert elsewhere is not None
    assert elsewhere.reason is Reason.CROSS_ORIGIN_REQUEST
    assert gate.proofs(head(b"POST", fields=PROOFS), ALICE) is None
    assert gate.proofs(head(b"GET", fields=[]), ALICE) is None


def test_a_refused_request_holds_nothing() -> None:
    gate = a_gate()
    gate.session(head(fields=[COOKIE_FIELD]))
    gate.proofs(head(b"POST", fields=[]), ALICE)
    assert len(gate.registry) == 0


def test_an_admitted_request_is_cut_when_its_session_ends_and_no_later() -> None:
    gate = a_gate()
    exchange = Open()
    admission = admitted(gate, exchange)
    exchange.on_cut = admission.close
    assert gate.registry.end(ALICE.session_id) == 1
    assert exchange.cuts == 1
    assert len(gate.registry) == 0
    assert gate.registry.end(ALICE.session_id) == 0


def test_what_was_given_back_is_not_given_back_again() -> None:
    gate = a_gate()
    exchange = Open()
    first = admitted(gate, exchange)
    first.close()
    assert len(gate.registry) == 0
    second = admitted(gate, exchange)  # the same object, admitted anew
    first.close()
    assert len(gate.registry) == 1
    second.close()
    assert len(gate.registry) == 0
