"""Everything a gate hands out, at any time and in any order: never above a limit, at the end back at zero.

The real gate, wheel and registry, held to a list of what is open (spec 04: a property test drives random
endings and finds the counters back at zero).
"""

from collections import Counter
from typing import NamedTuple

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, initialize, invariant, multiple, rule

from foyer.bound import Bound
from foyer.gate.admission import Admission
from foyer.gate.gate import Kind
from foyer.gate.limits import Limits
from foyer.interruption import Interruption, Reason
from foyer.session.seal import Session, SessionID
from tests.gate.gates import Open, World
from tests.session.sessions import ALICE

NAMES = [SessionID(name) for name in ("ada", "bob", "eve")]

REFUSALS = {
    Bound.SESSION_REQUEST_BURST: Reason.REQUEST_RATE_EXCEEDED,
    Bound.SESSION_CONCURRENT_REQUESTS: Reason.TOO_MANY_CONCURRENT_REQUESTS,
    Bound.CONCURRENT_REQUESTS: Reason.TOO_MANY_CONCURRENT_REQUESTS,
    Bound.SESSION_STREAMS: Reason.TOO_MANY_STREAMS,
    Bound.STREAMS: Reason.TOO_MANY_STREAMS,
}

LIMITS = Limits(
    session_request_rate=1.0,
    session_request_burst=8,
    max_session_concurrent_requests=3,
    max_concurrent_requests=5,
    max_session_streams=2,
    max_streams=3,
    max_response_duration=20.0,
    session_check_interval=4.0,
)


class Admitted(NamedTuple):
    """What is open, as a test remembers it."""

    exchange: Open
    session: Session
    kind: Kind
    at: float

    @property
    def open(self) -> bool:
        return not self.exchange.told


class Life(RuleBasedStateMachine):
    """A replica's day: pages that load and leave, logouts, expiry, clocks and timeouts that change."""

    held = Bundle("held")

    @initialize()
    def begins(self) -> None:
        self.world = World(LIMITS, absolute_timeout=1000.0)
        self.open: list[Admitted] = []
        self.tokens = dict.fromkeys(NAMES, 8.0)
        self.refilled = self.world.monotonic

    def _refill(self) -> None:
        passed = self.world.monotonic - self.refilled
        self.tokens = {name: min(8.0, left + passed) for name, left in self.tokens.items()}
        self.refilled = self.world.monotonic

    def _expected(self, name: SessionID, kind: Kind) -> Bound | None:
        """Which bound it meets, by the list."""
        if self.tokens[name] < 1 - 1e-9:
            return Bound.SESSION_REQUEST_BURST
        those = [each for each in self.open if each.kind is kind]
        mine = [each for each in those if each.session.session_id == name]
        if kind is Kind.REQUEST:
            most, everybodys = 3, 5
            bounds = Bound.SESSION_CONCURRENT_REQUESTS, Bound.CONCURRENT_REQUESTS
        else:
            most, everybodys = 2, 3
            bounds = Bound.SESSION_STREAMS, Bound.STREAMS
        if len(mine) >= most:
            return bounds[0]
        return bounds[1] if len(those) >= everybodys else None

    @rule(
        target=held,
        name=st.sampled_from(NAMES),
        kind=st.sampled_from(list(Kind)),
        lasts=st.sampled_from([2, 7, 900]),
    )
    def one_asks(self, name: SessionID, kind: Kind, lasts: int) -> object:
        self._refill()
        expected = self._expected(name, kind)
        session = ALICE._replace(
            session_id=name, issued_at=int(self.world.wall), ends_at=int(self.world.wall) + lasts
        )
        exchange = Open()
        admission = self.world.gate.admit(session, exchange, kind)
        if expected is not Bound.SESSION_REQUEST_BURST:
            self.tokens[name] -= 1
        if isinstance(admission, Interruption):
            assert admission.bound is not None and admission.bound is expected
            assert admission.reason is REFUSALS[admission.bound]
            assert (admission.retry_after is not None) is (expected is Bound.SESSION_REQUEST_BURST)
            return multiple()
        assert expected is None
        assert isinstance(admission, Admission)
        exchange.admission = admission
        found = Admitted(exchange, session, kind, self.world.monotonic)
        self.open.append(found)
        return found

    @rule(which=held)
    def one_ends(self, which: Admitted) -> None:
        """By itself, whether it was over already or not: it stays in the bundle, to end again."""
        assert which.exchange.admission is not None
        which.exchange.admission.close()
        self.open = [each for each in self.open if each is not which]

    @rule(which=consumes(held))
    def one_is_cut_by_another_bound(self, which: Admitted) -> None:
        which.exchange.duration_reached()
        self.open = [each for each in self.open if each is not which]

    @rule(name=st.sampled_from(NAMES))
    def one_logs_out(self, name: SessionID) -> None:
        mine = [each for each in self.open if each.session.session_id == name]
        assert self.world.gate.registry.end(name) == len(mine)
        assert all(each.exchange.told[-1] == "session ended" for each in mine)
        self.open = [each for each in self.open if each not in mine]

    @rule(seconds=st.sampled_from([0.1, 1.0, 3.0, 6.0, 25.0]))
    def time_passes(self, seconds: float) -> None:
        self.world.pass_time(seconds)
        for each in self.open:
            over = self.world.monotonic - each.at - LIMITS.max_response_duration
            past = self.world.wall - each.session.ends_at
            if not each.open:
                assert max(over, past) >= 0 or self.world.gate.absolute_timeout < 1000, "cut for nothing"
            else:
                assert over < 1 and past < 1, "still open"
        self.open = [each for each in self.open if each.open]

    @rule(timeout=st.sampled_from([5.0, 30.0, 1000.0]))
    def the_timeout_is_changed(self, timeout: float) -> None:
        self.world.gate.absolute_timeout = timeout

    @invariant()
    def the_counters_are_those_of_what_is_open(self) -> None:
        gate = self.world.gate
        for kind, slots in ((Kind.REQUEST, gate.requests), (Kind.STREAM, gate.streams)):
            those = [each.session.session_id for each in self.open if each.kind is kind]
            assert slots.per_replica == len(those) <= slots.replica_limit
            assert slots.per_session == Counter(those)
            assert all(count <= slots.session_limit for count in slots.per_session.values())
        assert len(gate.registry) == len(self.world.wheel) == len(self.open)

    def teardown(self) -> None:
        """Half an hour later everything has been cut, and nothing is left."""
        if not hasattr(self, "world"):
            return
        self.world.pass_time(LIMITS.max_response_duration + 1)
        gate = self.world.gate
        assert len(gate.registry) == len(self.world.wheel) == 0
        for slots in (gate.requests, gate.streams):
            assert (slots.per_session, slots.per_replica) == ({}, 0)


TestLife = Life.TestCase
TestLife.settings = settings(max_examples=150, stateful_step_count=40, deadline=None)
