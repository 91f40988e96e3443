"""What each layer costs of a small signed-in GET, in memory: codecs, net, exchange, front.

The same prepared bytes go in on both sides, and the same bytes come out (checked), through

    codecs     the two codecs, joined by the shortest relay there could be
    net        and foyer's connections, sides, pool and turn, around the same relay
    exchange   and foyer's exchange in the relay's place, with services that decide nothing
    front      and everything above: route, session, gate, rules both ways, record

so a layer costs what its row has more than the row above it. Codecs are what foyer.protocol is:
h11 and h2, and foyer's own guard and walk around them. Sockets, TLS and the loop are in none of
them. A relay at the codecs' level must do what the codecs ask for, too: it acknowledges content,
and gives it with its end in one call.
"""

import asyncio
import os
import ssl
import time
from collections.abc import Callable, Iterator
from typing import Never, TypeAlias, cast

from bench.messages import (
    AUTHORITY,
    H1,
    SMALL_PATH,
    answer_fields,
    answers,
    audit_ids,
    browser_fields,
    requests,
    small_object,
)
from bench.rounds import Work
from bench.sessions import ISSUED_AT, session
from foyer.admission.cap import Cap
from foyer.config import load
from foyer.exchange.exchange import Exchange, Services
from foyer.exchange.ports import Answer, Application, BrowserSide, ResponseBounds, UpstreamSide
from foyer.fleet.pace import Pace
from foyer.fleet.reading import Common
from foyer.front.dependencies import Dependencies
from foyer.front.fleeting import Fleeting
from foyer.front.front import Front
from foyer.front.identified import Identified
from foyer.front.local import Local
from foyer.front.redemptions import Redemptions
from foyer.front.streaming import Streaming
from foyer.front.targets import Target
from foyer.gate.gate import Gate
from foyer.gate.limits import Limits
from foyer.gate.wheel import Wheel
from foyer.interruption import Interruption
from foyer.k8s.incoming import Passed, incoming
from foyer.k8s.outgoing import request_head
from foyer.login.flow import Login, LoginSettings
from foyer.login.issuer import Issuer
from foyer.measures import Measures, TargetMeasures
from foyer.net.browser import BrowserConnection
from foyer.net.health import Health
from foyer.net.turn import Turn
from foyer.net.upstream import Upstream, UpstreamConnection
from foyer.net.wire import Owner, Wire
from foyer.observe import Log
from foyer.pages.render import Pages
from foyer.protocol import prefer
from foyer.protocol.events import Failure, RequestHead, ResponseHead
from foyer.protocol.h1 import H1Client, H1Server
from foyer.protocol.h2 import H2Client, H2Server
from foyer.service import IssuerAsked
from foyer.session.keys import Keyring
from foyer.session.seal import COOKIE, seal
from foyer.streams import scope
from foyer.streams.budget import OpenSide
from foyer.target import Leases

KUBERNETES = b"kubernetes.example.test:6443"

WARM = 20
"""Requests of a connection before the timed ones: indexing and caches settle within a few."""

LAYERS = ("codecs", "net", "exchange", "front")

_ALPN = {"h1": "http/1.1", "h2": "h2"}


class Dialogue:
    """The bytes of one pairing's connections, and what foyer makes of them where it does not look itself."""

    def __init__(self, browser: str, upstream: str, count: int) -> None:
        """`count` requests, the warming ones among them."""
        self.browser, self.upstream = browser, upstream
        self.keyring = Keyring([os.urandom(32)])
        signed_in = session(1)
        cookie = f"{COOKIE}={seal(signed_in, self.keyring)}".encode()
        asked = requests(browser, b"/k8s" + SMALL_PATH, AUTHORITY, cookie)
        each = asked.each()
        self.asked = [next(each) for _ in range(count)]
        content = small_object()
        ids = audit_ids(count)
        self.opening = asked.opening
        self.server_opening, self.answered = answers(upstream, content, ids)
        asking = RequestHead(b"GET", b"", browser_fields(b""))
        self.up = request_head(asking, SMALL_PATH, signed_in.id_token, KUBERNETES)
        self.down: list[Passed] = []
        for one in ids:
            passed = incoming(ResponseHead(200, answer_fields(len(content), one)), b"GET")
            assert isinstance(passed, Passed)
            self.down.append(passed)


# The codecs alone.


class _Ear:
    """A sink that hears what there is to relay."""

    def __init__(self, relay: "Codecs") -> None:
        self.relay = relay

    def head(self, stream: int, head: RequestHead | ResponseHead) -> None: ...
    def content(self, stream: int, data: bytes, flow: int) -> None: ...
    def end(self, stream: int) -> None: ...
    def reset(self, stream: int, failure: Failure) -> None:
        raise AssertionError(failure)

    def window(self, stream: int) -> None: ...
    def ready(self) -> None: ...
    def going_away(self) -> None: ...


class _BrowserEar(_Ear):
    def head(self, stream: int, head: RequestHead | ResponseHead) -> None:
        relay = self.relay
        relay.stream = stream
        relay.back.send_head(relay.back.open(), relay.dialogue.up)


class _ServerEar(_Ear):
    def head(self, stream: int, head: RequestHead | ResponseHead) -> None:
        relay = self.relay
        relay.front.send_head(relay.stream, next(relay.down).head)

    def content(self, stream: int, data: bytes, flow: int) -> None:
        self.relay.content = data
        self.relay.back.acknowledge(stream, flow)

    def end(self, stream: int) -> None:
        relay = self.relay
        relay.front.send_data(relay.stream, relay.content, True)
        relay.back.settle()


class Codecs:
    """Both codecs, each event a call of the other."""

    def __init__(self, dialogue: Dialogue) -> None:
        self.dialogue = dialogue
        self.down = iter(dialogue.down)
        self.stream = 0
        self.content = b""
        self.front = (H1Server if dialogue.browser == H1 else H2Server)(_BrowserEar(self))
        self.back = (H1Client if dialogue.upstream == H1 else H2Client)(_ServerEar(self))

    def browser(self, data: bytes) -> tuple[bytes, bytes]:
        """The browser sent `data`: what goes out to it, and up."""
        self.front.receive(data)
        return self.front.take(), self.back.take()

    def api_server(self, data: bytes) -> tuple[bytes, bytes]:
        """The API server sent `data`: what goes out to the browser, and up."""
        self.back.receive(data)
        return self.front.take(), self.back.take()


# foyer's connections.


class _Loop:
    """As much of an event loop as a turn needs."""

    def __init__(self) -> None:
        self.soon: list[Callable[[], None]] = []

    def call_soon(self, call: Callable[[], None]) -> None:
        self.soon.append(call)

    def time(self) -> float:
        return 1000.0

    def call_exception_handler(self, context: dict[str, object]) -> None:
        raise cast(Exception, context["exception"])

    def run(self) -> None:
        while self.soon:
            soon, self.soon = self.soon, []
            for call in soon:
                call()


class _FakeWire(Wire):
    """A wire without a transport: it takes everything at once."""

    def __init__(self, owner: Owner) -> None:
        super().__init__(owner)
        self.untaken: list[bytes] = []

    def write(self, data: bytes) -> None:
        self.untaken.append(data)

    def take(self) -> bytes:
        data = self.untaken[0] if len(self.untaken) == 1 else b"".join(self.untaken)
        self.untaken.clear()
        return data


Composed: TypeAlias = Callable[[Dialogue, Upstream], Application]


class Connections:
    """foyer's two connections around an application."""

    def __init__(self, dialogue: Dialogue, application: Composed) -> None:
        self.loop = _Loop()
        turn = Turn(cast(asyncio.AbstractEventLoop, self.loop))
        wheel = Wheel(self.loop.time())
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        pool = Upstream("", 0, context, turn, wheel)
        self.front = BrowserConnection(application(dialogue, pool), turn, wheel, lambda connection: None)
        self.front_wire = _FakeWire(self.front)
        self.front.attach(self.front_wire)
        self.front.opened(_ALPN[dialogue.browser])
        self.back = UpstreamConnection(pool, turn, context)
        self.back_wire = _FakeWire(self.back)
        self.back.wire = self.back_wire
        self.back.opened(_ALPN[dialogue.upstream])
        self.loop.run()

    def browser(self, data: bytes) -> tuple[bytes, bytes]:
        """As for the codecs alone, through a turn of the loop."""
        self.front.received(data)
        self.loop.run()
        return self.front_wire.take(), self.back_wire.take()

    def api_server(self, data: bytes) -> tuple[bytes, bytes]:
        """As for the codecs alone, through a turn of the loop."""
        self.back.received(data)
        self.loop.run()
        return self.front_wire.take(), self.back_wire.take()


class _Direct:
    """The shortest relay between two sides: what an exchange costs is what it costs more than this."""

    def __init__(self, side: BrowserSide, dialogue: Dialogue, down: Iterator[Passed]) -> None:
        side.receiver = self
        self.side = side
        self.dialogue = dialogue
        self.down = down

    def upstream_open(self, side: UpstreamSide) -> None:
        side.send_head(self.dialogue.up)

    def response_head(self, head: ResponseHead) -> None:
        self.side.send_head(next(self.down).head)

    def response_body(self, data: bytes) -> None:
        self.side.send(data)

    def response_end(self) -> None:
        self.side.finish()

    def request_body(self, data: bytes) -> None: ...
    def request_end(self) -> None: ...
    def browser_gone(self) -> None: ...
    def browser_drained(self) -> None: ...
    def browser_stalled(self) -> None: ...
    def browser_sent(self) -> None: ...
    def upstream_drained(self) -> None: ...
    def upstream_gone(self, failure: Failure) -> None:
        raise AssertionError(failure)


class _Relays(Application):
    def __init__(self, dialogue: Dialogue, pool: Upstream) -> None:
        self.dialogue, self.pool = dialogue, pool
        self.down = iter(dialogue.down)

    def begin(self, side: BrowserSide, head: RequestHead) -> _Direct:
        direct = _Direct(side, self.dialogue, self.down)
        self.pool.open(direct)
        return direct


class _Undeciding(Application, Services):
    """Exchanges whose services decide nothing."""

    def __init__(self, dialogue: Dialogue, pool: Upstream) -> None:
        self.dialogue, self.pool = dialogue, pool
        self.down = iter(dialogue.down)

    def begin(self, side: BrowserSide, head: RequestHead) -> Exchange:
        exchange = Exchange(self, side, head)
        exchange.forward(self.dialogue.up, self.pool.open, ResponseBounds(1 << 30, 60.0))
        return exchange

    def interrupted(self, interruption: Interruption, head: RequestHead) -> Answer:
        raise AssertionError(interruption)

    def incoming(self, head: ResponseHead, method: bytes) -> Passed:
        return next(self.down)

    def closed(self, exchange: Exchange) -> None: ...

    def fault(self, exchange: Exchange, error: Exception) -> None:
        raise error


async def _unfetched(
    method: bytes, url: str, fields: object, content: bytes = b"", *, limit: int, timeout: float
) -> Answer:
    raise AssertionError("nobody signs in here")


def _never_soon(call: object) -> None:
    raise AssertionError("nobody waits for a slot here")


class _Target:
    """The one API server, as far as a small GET has to do with it."""

    shown = None
    authority = KUBERNETES

    def __init__(self, pool: Upstream) -> None:
        self._leases = Leases()
        self._cap = Cap(
            64,
            pool.open,
            timeout=30.0,
            wheel=pool.wheel,
            now=time.monotonic,
            soon=_never_soon,
            counts=TargetMeasures(),
        )

    def way(self, head: RequestHead) -> OpenSide:
        assert prefer.wait(head.fields) is None
        return self._cap.open

    def lease(self) -> Leases:
        return self._leases.take()


class _Targets:
    names = scope.Targets(frozenset(("default",)), "default")

    def __init__(self, pool: Upstream) -> None:
        self.by_name = {"default": cast(Target, _Target(pool))}


def _front(dialogue: Dialogue, pool: Upstream) -> Front:
    def keyring() -> Keyring:
        return dialogue.keyring

    origin = "https://" + AUTHORITY.decode()

    def clock() -> float:
        return ISSUED_AT + 1.0

    pages, log, measures = Pages(), Log(lambda line: True), Measures()
    limits = Limits(session_request_rate=1e6, session_request_burst=10**6)
    gate = Gate(
        keyring,
        origin,
        28_800.0,
        limits=limits,
        wheel=Wheel(0.0),
        now=time.monotonic,
        clock=clock,
        usage=measures.usage,
    )
    issuer = Issuer("https://issuer.test", "foyer", lambda: b"", _unfetched, lambda: 0.0, log)
    login = Login(LoginSettings(origin, ("openid",), 28_800.0), issuer, keyring)
    targets = _Targets(pool)
    redemptions = Redemptions(login, limits, time.monotonic, clock)
    return Front(
        gate=gate,
        local=Local(
            gate=gate,
            login=login,
            redemptions=redemptions,
            measures=measures,
            pages=pages,
            log=log,
            clock=clock,
            ready=lambda: True,
        ),
        identified=Identified(gate=gate, pages=pages, targets=targets, origin=origin),
        streaming=Streaming(gate=gate, targets=targets, log=log, lenient=frozenset()),
        fleeting=Fleeting(
            common=Common(
                _NoMemory(), time.monotonic, 0, 0, 0, measures.admission_refusals, Pace(lambda _: None)
            ),
            targets=dict,
            target_timeout=0.0,
            write_timeout=None,
            measures=measures,
        ),
        pages=pages,
        log=log,
        measures=measures,
        overload=load([]).overload,
        targets=targets,
        dependencies=Dependencies(IssuerAsked(Health(), redemptions), targets, time.monotonic, clock),
    )


class _NoMemory:
    """Nobody reads a list here."""

    pool = 0

    async def reserve(self, *asked: object) -> Never:
        raise AssertionError(asked)

    def took(self, scope: str, size: int) -> None:
        raise AssertionError(scope)


_COMPOSED: dict[str, Composed] = {"net": _Relays, "exchange": _Undeciding, "front": _front}


Layer: TypeAlias = Codecs | Connections


def make(layer: str, dialogue: Dialogue) -> Layer:
    """A fresh foyer up to `layer`, its connections opened."""
    made = Codecs(dialogue) if layer == "codecs" else Connections(dialogue, _COMPOSED[layer])
    made.browser(dialogue.opening)
    made.api_server(dialogue.server_opening)
    return made


def run(layer: Layer, dialogue: Dialogue, begin: int, end: int) -> None:
    """Some of the dialogue's requests, one after the other."""
    for asked, answered in zip(dialogue.asked[begin:end], dialogue.answered[begin:end], strict=True):
        layer.browser(asked)
        layer.api_server(answered)


def warmed(name: str, dialogue: Dialogue) -> Work:
    """The requests to be timed, on fresh connections that have had their first ones."""
    layer = make(name, dialogue)
    run(layer, dialogue, 0, WARM)
    return lambda: run(layer, dialogue, WARM, len(dialogue.asked))


def said(name: str, dialogue: Dialogue) -> tuple[bytes, bytes]:
    """Everything that a layer sends for the dialogue, down and up: every layer must send the same."""
    layer = make(name, dialogue)
    down = up = b""
    for asked, answered in zip(dialogue.asked, dialogue.answered, strict=True):
        first, second = layer.browser(asked), layer.api_server(answered)
        down += first[0] + second[0]
        up += first[1] + second[1]
    return down, up
