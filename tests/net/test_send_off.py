"""What one stream alone is sent is ready as it is said, and leaves with the others' of that turn."""

import ssl
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from foyer.net.browser import BrowserConnection
from foyer.net.connection import QUANTUM
from foyer.net.listener import server_context
from foyer.net.side import BrowserSide as Place
from foyer.net.side import Sending
from foyer.net.tls import TLSWire
from foyer.net.wire import RECORD
from foyer.protocol.events import ResponseHead
from tests.net.test_turns import ONE, WIDE, Greedy, World
from tests.support.certs import ORIGIN_HOST, browser_context, write_certificate
from tests.support.raw_frames import GET, PREFACE, Kind, frames, headers

KINDS = pytest.mark.parametrize("kind", ["h1", "h2", "h1 over TLS", "h2 over TLS"])


@pytest.fixture(scope="module")
def context(tmp_path_factory: pytest.TempPathFactory) -> ssl.SSLContext:
    folder: Path = tmp_path_factory.mktemp("certificates")
    certificate, key = write_certificate(folder, ORIGIN_HOST)
    return server_context(str(certificate), str(key))


class Encrypted(Greedy):
    """A browser over TLS: what it has taken is what it could decrypt."""

    told_goodbye = False

    def __init__(self, world: World, wire: TLSWire, alpn: str) -> None:
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = browser_context(alpn).wrap_bio(
            self._incoming, self._outgoing, server_hostname=ORIGIN_HOST
        )
        super().__init__(world, wire)
        for _ in range(3):
            self._read()
            self.bring(self._outgoing.read())

    def write(self, data: bytes) -> None:
        clear, self.taken = self.taken, bytearray()
        super().write(data)
        self._incoming.write(bytes(self.taken))
        self.taken = clear
        self._read()

    def _read(self) -> None:
        try:
            while piece := self._tls.read(1 << 16):
                self.taken += piece
            self.told_goodbye = True
        except ssl.SSLError:  # nothing more yet, or an alert
            pass

    def say(self, data: bytes) -> None:
        self._tls.write(data)
        self.bring(self._outgoing.read())

    def tampers(self) -> bytes:
        """A record that is none."""
        self._tls.write(b"x")
        record = bytearray(self._outgoing.read())
        record[-1] ^= 1
        return bytes(record)

    def alerts(self) -> bytes:
        """What it says when it is sent such a one."""
        self._incoming.write(b"\x17\x03\x03\x00\x40" + bytes(64))
        self._read()
        return self._outgoing.read()


def answering(world: World, kind: str, context: ssl.SSLContext, asked: bytes = ONE) -> tuple[Place, Greedy]:
    """A side whose head has left, and the browser that has it."""
    version, *over_tls = kind.split(" over ")
    if over_tls:
        connection = BrowserConnection(world, world.offline.turn, world.offline.wheel, lambda _: None)
        wire = TLSWire(connection, context)
        connection.attach(wire)
        browser: Greedy = Encrypted(world, wire, "h2" if version == "h2" else "http/1.1")
        world.offline.run()
        assert isinstance(browser, Encrypted)
        browser.say(asked if version == "h1" else PREFACE + WIDE + headers(1, GET))
        world.offline.run()
    else:
        browser = world.connect(version)
    side = world.sides[-1]
    assert isinstance(side, Place)
    side.send_head(ResponseHead(200, []))
    world.turns()
    browser.taken.clear()
    return side, browser


def content(kind: str, taken: bytes) -> bytes:
    """What was framed in `taken`."""
    if kind.startswith("h2"):
        return b"".join(frame.payload for frame in frames(taken) if frame.kind == Kind.DATA)
    found = b""
    while taken:
        size, _, rest = taken.partition(b"\r\n")
        assert rest[int(size, 16) :].startswith(b"\r\n")
        found, taken = found + rest[: int(size, 16)], rest[int(size, 16) + 2 :]
    return found


def test_over_http1_it_is_ready_at_once_and_nobody_is_come_back_to(context: ssl.SSLContext) -> None:
    """Over TLS they leave when all are ready, one behind the other, and the connections are left alone."""
    world = World()
    streams = [answering(world, "h1 over TLS", context) for _ in range(5)]
    for number, (side, _) in enumerate(streams):
        side.send_alone(b"change %d" % number)
        assert side.framed == len(b"change 0")
        connection = side.connection
        assert isinstance(connection, BrowserConnection) and not connection._touched
    assert not any(browser.taken for _, browser in streams)
    [turn] = world.turns()
    assert [browser for browser, _ in turn] == [browser for _, browser in streams]
    for number, (_, browser) in enumerate(streams):
        assert content("h1", bytes(browser.taken)) == b"change %d" % number


def test_but_over_http2_with_what_its_neighbours_are_sent(context: ssl.SSLContext) -> None:
    world = World()
    side, browser = answering(world, "h2", context)
    side.send_alone(b"a change")
    assert not side.framed
    world.turns()
    assert content("h2", bytes(browser.taken)) == b"a change"


@pytest.mark.parametrize("kind", ["h1", "h1 over TLS"])
def test_and_not_before_what_waits_or_when_the_browser_takes_nothing(
    kind: str, context: ssl.SSLContext
) -> None:
    world = World()
    side, browser = answering(world, kind, context)
    connection = side.connection
    assert isinstance(connection, BrowserConnection)
    side.send(b"one")
    side.send_alone(b"two")
    assert not side.framed
    world.turns()
    browser.taken.clear()
    connection.wire.congested = True
    side.send_alone(b"three")
    world.turns()
    assert not browser.taken and side.waits
    side.send_alone(b"four")
    connection.wire.resume_writing()
    world.turns()
    assert content("h1", bytes(browser.taken)) == b"threefour"


@KINDS
@given(
    said=st.lists(
        st.tuples(
            st.sampled_from(["send", "alone", "turn", "finish", "cut", "deliver and cut"]),
            st.integers(1, 50) | st.integers(1, 3 * QUANTUM),
        )
    )
)
def test_in_whatever_order_it_comes_it_leaves(
    kind: str, context: ssl.SSLContext, said: list[tuple[str, int]]
) -> None:
    world = World()
    side, browser = answering(world, kind, context)
    sent, cut = b"", False
    for number, (what, size) in enumerate(said):
        piece = bytes([65 + number % 26]) * size
        match what:
            case "turn":
                world.turns()
            case "finish":
                side.finish()
            case "cut":
                side.abort()
                cut = True
            case "deliver and cut":
                cut = cut or side.sending is not Sending.OPEN
                side.abort(deliver_first=True)
            case _:
                sent += piece if side.sending is Sending.OPEN else b""
                side.send_alone(piece) if what == "alone" else side.send(piece)
    world.turns()
    taken = content(kind, bytes(browser.taken))
    assert sent.startswith(taken) if cut else taken == sent


class Working:
    """A line's work: a line flushes before it, and may have been called for before."""

    def go_on(self) -> None: ...

    def failed(self) -> None:
        raise AssertionError


@pytest.mark.parametrize(
    "asked", [ONE, ONE.replace(b"HTTP/1.1", b"HTTP/1.0")], ids=["chunked", "until close"]
)
def test_what_is_ready_leaves_before_its_connection_ends_whoever_flushes_first(
    context: ssl.SSLContext, asked: bytes
) -> None:
    """Where only the close would end it, that is a reset, and nothing is handed on with it."""
    world = World()
    side, browser = answering(world, "h1 over TLS", context, asked)
    world.offline.turn.later(Working())
    side.send_alone(b"the last change")
    side.abort(deliver_first=True)
    world.turns()
    assert b"the last change" in browser.taken
    assert browser.closing


def test_it_waits_behind_what_a_turn_had_no_room_for(context: ssl.SSLContext) -> None:
    world = World()
    side, browser = answering(world, "h1 over TLS", context)
    before = [b"a", *[bytes([65 + number]) * QUANTUM for number in range(12)]]
    side.send(before[0])
    world.offline.loop.call_soon(lambda: side.send_alone(b"a change"))
    for piece in before[1:]:
        side.send(piece)
    world.turns()
    assert content("h1", bytes(browser.taken)) == b"".join(before) + b"a change"


def test_changes_of_one_turn_after_the_other_leave_each_in_its_own(context: ssl.SSLContext) -> None:
    world = World()
    side, browser = answering(world, "h1 over TLS", context)
    for number in range(3):
        side.send_alone(b"change %d" % number)
        assert len(world.turns()) == 1
        assert content("h1", bytes(browser.taken)) == b"".join(b"change %d" % at for at in range(number + 1))
    assert not world.offline.turn._prepared


def test_two_of_one_turn_are_never_two_records_in_a_bio(context: ssl.SSLContext) -> None:
    """One never gives back what it grew to: 21 KiB of each of 1,800 connections."""
    world = World()
    side, browser = answering(world, "h1 over TLS", context)
    world.written.clear()
    for piece in (b"a" * (RECORD - 100), b"b" * (RECORD - 100)):
        side.send_alone(piece)
    written = [*world.written, *(each for turn in world.turns() for each in turn)]
    assert len(content("h1", bytes(browser.taken))) == 2 * (RECORD - 100)
    assert max(size for _, size in written) < RECORD


@pytest.mark.parametrize(("kind", "most"), [("h1", QUANTUM), ("h1 over TLS", RECORD)])
def test_what_is_large_leaves_as_any_that_is(kind: str, most: int, context: ssl.SSLContext) -> None:
    """In writes between which a browser that takes nothing holds up the rest."""
    world = World()
    side, browser = answering(world, kind, context)
    for size in (RECORD + 8000, 20 * QUANTUM):
        browser.taken.clear()
        world.written.clear()
        side.send_alone(bytes(size))
        written = [*world.written, *(each for turn in world.turns() for each in turn)]
        assert content("h1", bytes(browser.taken)) == bytes(size)
        assert max(length for _, length in written) <= most + 100


@pytest.mark.parametrize("what", ["a tampered record", "no TLS", "an alert", "a close_notify", "an end"])
def test_one_that_is_broken_meanwhile_ends_alone_and_in_order(what: str, context: ssl.SSLContext) -> None:
    world = World()
    side, browser = answering(world, "h1 over TLS", context)
    assert isinstance(browser, Encrypted)
    side.send_alone(b"a change")
    match what:
        case "a tampered record":
            browser.bring(browser.tampers())
        case "no TLS":
            browser.bring(b"\x17\x03\x03\x00\x40" + bytes(64))
        case "an alert":
            browser.bring(browser.alerts())
        case "a close_notify":
            with pytest.raises(ssl.SSLWantReadError):
                browser._tls.unwrap()
            browser.bring(browser._outgoing.read())
        case _:
            browser.end()
    world.turns()
    assert browser.closing and side.sending is Sending.OVER


class Noted:
    """A wire that notes what it is told, and fails at a step."""

    def __init__(self, name: str, notes: list[str], fails: str = "") -> None:
        self.name, self.notes, self.fails = name, notes, fails

    def _told(self, what: str) -> None:
        self.notes.append(f"{what} {self.name}")
        if what == self.fails:
            raise RuntimeError

    def encrypt(self) -> None:
        self._told("encrypt")

    def send_off(self) -> None:
        self._told("send")

    def failed(self) -> None:
        self.notes.append(f"failed {self.name}")


@pytest.mark.parametrize("fails", ["", "encrypt", "send"])
def test_all_is_encrypted_before_the_first_is_sent_and_a_fault_is_ones_own(fails: str) -> None:
    world, notes = World(), list[str]()
    for wire in (Noted("a", notes, fails), Noted("b", notes)):
        world.offline.turn.send_off(wire)
    world.offline.loop.run()
    told = ["encrypt a", "encrypt b", "send a", "send b"]
    if fails:
        told.insert(told.index(f"{fails} a") + 1, "failed a")
    assert notes == told
    assert len(world.offline.loop.faults) == bool(fails)


ENDINGS = ["nothing", "close", "cut off", "finish", "finish without goodbye", "abort", "reset"]


@pytest.mark.parametrize("ending", ENDINGS)
@given(
    said=st.lists(
        st.tuples(
            st.sampled_from(["write", "prepare", "prepare", "turn"]),
            st.integers(1, 50) | st.integers(1, 3 * RECORD),
        )
    )
)
@example(said=[("prepare", 1)])
def test_a_wire_sends_what_was_prepared_in_its_order_and_before_it_ends(
    context: ssl.SSLContext, said: list[tuple[str, int]], ending: str
) -> None:
    world = World()
    side, browser = answering(world, "h1 over TLS", context)
    connection = side.connection
    assert isinstance(connection, BrowserConnection) and isinstance(browser, Encrypted)
    wire, sent = connection.wire, b""
    for number, (what, size) in enumerate(said):
        piece = bytes([65 + number % 26]) * size
        match what:
            case "turn":
                world.turns()
            case "write":
                sent += piece
                wire.write(piece)
            case _:
                sent += piece
                wire.prepare(piece, world.offline.turn)
    match ending:
        case "close":
            wire.close()
        case "cut off":
            wire.cut_off()
        case "finish":
            wire.finish()
        case "finish without goodbye":
            wire.finish(goodbye=False)
        case "abort" | "reset":
            wire.abort(reset=ending == "reset")
    wire.prepare(b"", world.offline.turn)
    if ending != "nothing":
        wire.prepare(b"too late", world.offline.turn)
    world.turns()
    aborted = ending in ("abort", "reset")
    assert sent.startswith(browser.taken) if aborted else bytes(browser.taken) == sent
    assert browser.told_goodbye == (ending in ("close", "finish"))
    assert browser.closing == (ending in ("close", "cut off") or aborted)
    assert not wire._prepared and not world.offline.turn._prepared


def test_one_whose_write_fails_is_ended_alone(context: ssl.SSLContext) -> None:
    world = World()
    (broken, refusing), (side, browser) = [answering(world, "h1 over TLS", context) for _ in range(2)]

    def fail(data: bytes) -> None:
        raise RuntimeError

    refusing.write = fail  # type: ignore[method-assign]
    broken.send_alone(b"a change")
    side.send_alone(b"a change")
    world.offline.loop.run()
    assert content("h1", bytes(browser.taken)) == b"a change"
    assert refusing.aborted and len(world.offline.loop.faults) == 1
