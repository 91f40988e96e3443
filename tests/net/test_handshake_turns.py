"""A newcomer's handshake is work that waits for its turn, as a flood's is: it cannot be sliced (A17)."""

import ssl
from typing import Any, cast

import pytest

from foyer.net.listener import server_context
from foyer.net.tls import TLSWire
from foyer.net.turn import Turn
from tests.net.offline import Offline, Transport
from tests.support.certs import ORIGIN_HOST, browser_context, write_certificate

HELLO = b"GET / HTTP/1.1\r\n\r\n"


class Heard:
    """What the owner of a wire is told."""

    def __init__(self) -> None:
        self.told: list[object] = []

    def opened(self, protocol: str | None) -> None:
        self.told.append(protocol)

    def has_read(self, size: int) -> None: ...

    def received(self, data: bytes) -> None:
        self.told.append(data)

    def ended(self, clean: bool) -> None:
        self.told.append(clean)

    def lost(self, reason: Exception | None) -> None:
        self.told.append("lost")

    def writable(self) -> None: ...


class Newcomer:
    """A browser's end of TLS, and foyer's."""

    def __init__(self, offline: Offline, context: ssl.SSLContext) -> None:
        self.heard = Heard()
        self.wire = TLSWire(self.heard, context, turn=offline.turn)
        self.transport = Transport(offline.loop, self.wire)
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        tls = browser_context("http/1.1")
        self._tls = tls.wrap_bio(self._incoming, self._outgoing, server_hostname=ORIGIN_HOST)

    def shake(self) -> bool:
        """Its next step, as far as it has heard foyer's; whether it is done."""
        self._incoming.write(self.transport.take())
        try:
            self._tls.do_handshake()
        except ssl.SSLWantReadError:
            return False
        return True

    def say(self, data: bytes = b"") -> None:
        """What it has to say leaves, with `data` behind."""
        if data:
            self._tls.write(data)
        self.transport.bring(self._outgoing.read())

    @property
    def answered(self) -> bool:
        """foyer has taken a step of its own."""
        return bool(self.transport.sent)


class Waiting:
    """Another one's work, in the same line."""

    def __init__(self, turn: Turn, *, upstream: bool = False) -> None:
        self._turn = turn
        self._upstream = upstream
        self.times = 0

    def go_on(self) -> None:
        self.times += 1
        if self._upstream:
            self._turn.later(self, upstream=True)
        else:
            self._turn.line_up(self)

    def failed(self) -> None:
        raise AssertionError


class Queued:
    """Another one's bytes, to leave at the end of the turn."""

    def __init__(self) -> None:
        self.left = False

    def flush(self) -> None:
        self.left = True

    def failed(self) -> None:
        raise AssertionError


@pytest.fixture(scope="module")
def context(tmp_path_factory: pytest.TempPathFactory) -> ssl.SSLContext:
    certificate, key = write_certificate(tmp_path_factory.mktemp("certificates"), ORIGIN_HOST)
    return server_context(str(certificate), str(key))


def turn(offline: Offline) -> None:
    """One turn of the loop."""
    soon, offline.loop._soon = offline.loop._soon, []
    for call in soon:
        call()
    assert not offline.loop.faults


class Nothing:
    """A step that does nothing."""

    def go_on(self) -> None: ...

    def failed(self) -> None:
        raise AssertionError


def spent(*, server: bool = False) -> Offline:
    """A loop within a turn in which a line has done its work."""
    offline = Offline()
    offline.turn.shake_hands(Nothing(), server=server, ahead=False)
    return offline


def test_where_nobody_waits_a_newcomers_step_is_taken_at_once(context: ssl.SSLContext) -> None:
    offline = Offline()
    newcomer, other = Newcomer(offline, context), Newcomer(offline, context)
    for each in (newcomer, other):
        each.shake()
        each.say()
    assert (newcomer.answered, other.answered) == (True, False)
    assert newcomer.transport.reads
    offline.run()
    assert newcomer.shake()
    newcomer.say(HELLO)
    assert newcomer.heard.told == ["http/1.1", HELLO]


def test_of_all_newcomers_one_takes_a_step_a_turn(context: ssl.SSLContext) -> None:
    offline = spent()
    newcomers = [Newcomer(offline, context) for _ in range(5)]
    for newcomer in newcomers:
        assert not newcomer.shake()
        newcomer.say()
    for number in range(6):
        assert [newcomer.answered for newcomer in newcomers] == [at < number for at in range(5)]
        turn(offline)


class Begun:
    """The certificate's context, and how many handshakes were begun with it."""

    def __init__(self, context: ssl.SSLContext) -> None:
        self.handshakes = 0
        self._context = context

    def wrap_bio(self, *args: Any, **kwargs: Any) -> ssl.SSLObject:
        self.handshakes += 1
        return self._context.wrap_bio(*args, **kwargs)


def test_a_newcomer_costs_no_tls_before_its_turn(context: ssl.SSLContext) -> None:
    offline, begun = spent(), Begun(context)
    newcomers = [Newcomer(offline, cast(ssl.SSLContext, begun)) for _ in range(3)]
    assert begun.handshakes == 0
    for newcomer in newcomers:
        newcomer.shake()
        newcomer.say()
    for number in range(4):
        assert begun.handshakes == number
        turn(offline)
    assert begun.handshakes == 3


def test_a_handshake_waits_for_its_turn_among_floods_and_they_for_theirs(context: ssl.SSLContext) -> None:
    offline = Offline()
    flood = Waiting(offline.turn)
    offline.turn.line_up(flood)
    newcomer = Newcomer(offline, context)
    assert not newcomer.shake()
    newcomer.say()
    for times, answered in ((1, False), (1, True), (2, True), (3, True)):
        turn(offline)
        assert (flood.times, newcomer.answered) == (times, answered)


def test_who_has_begun_a_handshake_ends_it_before_others_begin(context: ssl.SSLContext) -> None:
    offline = spent()
    first, second, third = newcomers = [Newcomer(offline, context) for _ in range(3)]
    for newcomer in newcomers:
        newcomer.shake()
        newcomer.say()
    turn(offline)
    assert first.shake()
    first.say()
    turn(offline)
    assert second.answered, "it was about to go on"
    assert first.heard.told == []
    turn(offline)
    assert first.heard.told == ["http/1.1"]
    assert not third.answered


def test_but_who_comes_in_crumbs_is_ahead_of_others_once(context: ssl.SSLContext) -> None:
    offline = Offline()
    newcomer, other, third = Newcomer(offline, context), Waiting(offline.turn), Waiting(offline.turn)
    newcomer.shake()
    said = newcomer._outgoing.read()
    newcomer.transport.bring(said[:1])
    turn(offline)
    offline.turn.line_up(other)
    offline.turn.line_up(third)
    waited = []
    for at in range(1, 4):
        newcomer.transport.bring(said[at : at + 1])
        before = other.times + third.times
        while not newcomer.transport.reads:  # until its step has been taken
            turn(offline)
        waited.append(other.times + third.times - before)
    assert waited == [1, 2, 2]


def test_nothing_more_is_read_of_a_newcomer_whose_step_waits(context: ssl.SSLContext) -> None:
    offline = spent()
    newcomer = Newcomer(offline, context)
    assert not newcomer.shake()
    newcomer.say()
    assert not newcomer.transport.reads
    turn(offline)
    assert newcomer.transport.reads


def test_what_comes_with_the_last_step_is_heard_with_it(context: ssl.SSLContext) -> None:
    offline = Offline()
    newcomer = Newcomer(offline, context)
    newcomer.shake()
    newcomer.say()
    offline.run()
    assert newcomer.shake()
    offline.turn.shake_hands(Nothing(), server=False, ahead=False)
    newcomer.say(HELLO)
    assert newcomer.heard.told == [], "not before its turn"
    offline.run()
    assert newcomer.heard.told == ["http/1.1", HELLO]
    newcomer.say(HELLO)
    assert newcomer.heard.told[2:] == [HELLO], "once it is established it waits for nothing"


def test_a_handshake_in_crumbs_is_taken_in_order(context: ssl.SSLContext) -> None:
    offline = Offline()
    newcomer = Newcomer(offline, context)
    newcomer.shake()
    said = newcomer._outgoing.read()
    for at in range(0, len(said), 7):
        newcomer.transport.bring(said[at : at + 7])
        offline.run()
    assert newcomer.shake()


@pytest.mark.parametrize("leave", ["drop", "abort"])
def test_a_newcomer_who_has_left_takes_no_step(context: ssl.SSLContext, leave: str) -> None:
    offline = Offline()
    newcomer = Newcomer(offline, context)
    newcomer.shake()
    newcomer.say()
    newcomer.transport.drop() if leave == "drop" else newcomer.wire.abort()
    offline.run()
    offline.run()
    assert newcomer.heard.told == ["lost"]
    assert not newcomer.answered


def test_a_newcomer_whose_step_is_none_is_ended_alone(context: ssl.SSLContext) -> None:
    offline = Offline()
    newcomer, other = Newcomer(offline, context), Newcomer(offline, context)
    newcomer.transport.bring(b"GET / HTTP/1.1\r\n\r\n")
    other.shake()
    other.say()
    offline.run()
    assert newcomer.heard.told == ["lost"]
    assert other.answered


def test_what_others_have_queued_leaves_before_the_turns_work() -> None:
    """An API server is at work on it meanwhile."""
    offline = Offline()
    queued = Queued()

    class Looking(Waiting):
        def go_on(self) -> None:
            assert queued.left
            self.times += 1

    work = Looking(offline.turn)
    offline.turn.line_up(work)
    offline.turn.touch(queued)
    turn(offline)
    assert work.times == 1


class Server:
    """A server's end of TLS, and foyer's, which opens the connection."""

    def __init__(self, offline: Offline, roots: ssl.SSLContext, context: ssl.SSLContext) -> None:
        self.heard = Heard()
        wire = TLSWire(self.heard, roots, hostname=ORIGIN_HOST, turn=offline.turn)
        self.transport = Transport(offline.loop, wire)
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._incoming, self._outgoing, server_side=True)

    def answer(self) -> None:
        """Its certificate, and what goes with it."""
        self._incoming.write(self.transport.take())
        with pytest.raises(ssl.SSLWantReadError):
            self._tls.do_handshake()
        self.transport.bring(self._outgoing.read())


def test_of_all_handshakes_with_servers_one_takes_a_step_a_turn_and_no_turn_of_others(
    context: ssl.SSLContext,
) -> None:
    """One person may cause thousands, with reads of many targets."""
    offline = spent(server=True)
    flood, answer = Waiting(offline.turn), Waiting(offline.turn, upstream=True)
    offline.turn.line_up(flood)
    offline.turn.later(answer, upstream=True)
    servers = [Server(offline, browser_context("http/1.1"), context) for _ in range(5)]
    for server in servers:
        server.answer()
    for number in range(6):
        assert [server.heard.told for server in servers] == [["http/1.1"] * (at < number) for at in range(5)]
        assert (flood.times, answer.times) == (number, number)
        turn(offline)


def test_nothing_more_is_read_of_a_server_whose_step_waits(context: ssl.SSLContext) -> None:
    offline = spent(server=True)
    server = Server(offline, browser_context("http/1.1"), context)
    server.answer()
    assert not server.transport.reads
    turn(offline)
    assert server.transport.reads
