"""Exchanges between scripted peers, many at once, each step of which may be anything that either side does.

    traffic = Traffic(pairing)
    ongoing = traffic.ask("GET")
    traffic.settle()
    ongoing.respond(200)

Whatever is done is done whole: `settle` returns when nobody has anything more to do. `look` compares what
each side has with what the other sent.
"""

import asyncio
import traceback
import zlib
from dataclasses import dataclass, field
from typing import Any

from foyer.app import Foyer
from tests.support.browsers import SMALL, Exchange, H1Browser, H1Exchange, H2Browser, H2Exchange
from tests.support.pairings import JSON, Pairing
from tests.support.script import Fields, Whole
from tests.support.upstreams import H1Request, H2Request, Request

STILL = 3
"""Looks in a row at which nothing has moved, after which nothing will."""

TURNS = 3
"""Turns of foyer's loop between two looks: what has come is read in one and flushed in the next."""

NOISE = bytes(range(256)) * 400


def content(number: int, at: int, size: int) -> bytes:
    """A piece of a content that is like no other's, and whose bytes say where in it they are."""
    start = (number * 37 + at * 5) % 256
    return (NOISE[start : start + size] * (size // len(NOISE) + 2))[:size]


@dataclass(eq=False)
class Ongoing:
    """One exchange: what the browser sent of it, what the upstream did, and whether it may still go well."""

    number: int
    method: str
    exchange: Exchange
    upload: bytearray = field(default_factory=bytearray)
    uploaded: bool = False
    length: int | None = None  # declared of the request
    request: Request | None = None
    answered: bool = False
    whole: bool = False  # the upstream's answer is
    abandoned: bool = False  # by the upstream
    sent: bytearray = field(default_factory=bytearray)  # of its content, as the browser shall have it
    due: int | None = None  # declared of the answer
    disturbed: bool = False
    deflate: "zlib._Compress | None" = None

    # What may still be done.

    @property
    def browser_lives(self) -> bool:
        browser = self.exchange.browser
        return self.exchange.outcome is None and browser.closed is None and not browser.wire.finishing

    @property
    def upstream_lives(self) -> bool:
        request = self.request
        return (
            request is not None
            and not self.abandoned
            and request.cancelled is None
            and request.connection.closed is None
            and not request.connection.wire.finishing
        )

    @property
    def may_upload(self) -> bool:
        return not self.uploaded and self.browser_lives

    @property
    def may_answer(self) -> bool:
        return self.upstream_lives and not self.answered

    @property
    def may_send(self) -> bool:
        return self.upstream_lives and self.answered and not self.whole

    @property
    def interrupted(self) -> bool:
        """foyer has answered it by itself."""
        return bool(self.exchange.all("krm-foyer-interruption"))

    # The browser.

    def send_up(self, size: int) -> None:
        piece = content(self.number, len(self.upload), size)
        if self.length is not None:
            piece = piece[: self.length - len(self.upload)]
        self.upload += piece
        self.exchange.send_body(piece)

    def finish_upload(self) -> None:
        if self.length is not None:
            self.send_up(self.length)
        self.uploaded = True
        self.exchange.end()

    # The upstream.

    def respond(self, *, length: int | None, gzip: bool) -> None:
        assert self.request is not None
        self.answered = True
        fields: Fields = [*JSON]
        bare = self.method == "HEAD"
        if gzip and not bare:
            self.deflate = zlib.compressobj(1, wbits=zlib.MAX_WBITS + 16)
            fields.append((b"content-encoding", b"gzip"))
        elif length is not None:
            self.due = length
            fields.append((b"content-length", b"%d" % length))
        self.whole = bare
        self.request.respond(200, fields, end=bare)
        self._finish_if_all()

    def send_down(self, size: int) -> None:
        assert self.request is not None
        piece = content(self.number + 1, len(self.sent), size)
        if self.due is not None:
            piece = piece[: self.due - len(self.sent)]
        if not piece:
            return
        self.sent += piece
        if self.deflate is None:
            self.request.send(piece)
        else:
            self.request.send(self.deflate.compress(piece) + self.deflate.flush(zlib.Z_SYNC_FLUSH))
        self._finish_if_all()

    def _finish_if_all(self) -> None:
        """Over HTTP/1.1 the last byte of a declared length is the end; and nothing is all of nothing."""
        if (
            self.due == len(self.sent)
            and not self.whole
            and (not self.due or isinstance(self.request, H1Request))
        ):
            self.finish_answer()

    def finish_answer(self) -> None:
        assert self.request is not None
        if self.due is not None and len(self.sent) < self.due:
            self.send_down(self.due)
        if self.whole:
            return
        if self.deflate is not None:
            self.request.send(self.deflate.flush())
        self.whole = True
        self.request.end()


class Traffic:
    """Everything that is going on in one pairing."""

    def __init__(self, pairing: Pairing) -> None:
        self.pairing = pairing
        self.browsers: list[H1Browser | H2Browser] = []
        self.leaving: set[H1Browser | H2Browser] = set()  # they take no more requests
        self.noisy: set[H1Browser | H2Browser] = set()  # they sent what is no request
        self.all: list[Ongoing] = []
        self.faults: list[str] = []  # that nobody has caught
        self._jumped = 0.0
        pairing.product._loop.set_exception_handler(self._uncaught)

    def _uncaught(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        self.faults.append("".join(traceback.format_exception(context["exception"])))

    @property
    def foyer(self) -> Foyer:
        return self.pairing.product._foyer

    def turn(self) -> bool:
        """Moves everything along once; whether anything has moved."""
        moved = self.pairing.script.turn()
        for _ in range(TURNS):
            self.pairing.product.ask(lambda: None)
        return moved

    def settle(self) -> None:
        """Moves everything along until nobody has anything to do, and finds whose each new request is."""
        still = 0
        while still < STILL:
            still = 0 if self.turn() else still + 1
        arrived = self.pairing.upstream.arrived
        while arrived:
            request = arrived.popleft()
            ongoing = self.all[int(request.target.rpartition(b"/")[2])]
            assert ongoing.request is None, "a request was sent up twice"
            ongoing.request = request

    # The browsers.

    def connect(self) -> None:
        self.browsers.append(self.pairing.connect(receive_buffer=SMALL))

    def living(self) -> list[H1Browser | H2Browser]:
        """The browsers that neither side has left."""
        return [x for x in self.browsers if x.closed is None and not x.wire.finishing]

    def free(self) -> list[H1Browser | H2Browser]:
        """The browsers that may send another request: over HTTP/1.1 one after the other."""
        busy = {
            x.exchange.browser for x in self.all if isinstance(x.exchange, H1Exchange) and x.browser_lives
        }
        return [browser for browser in self.living() if browser not in self.leaving | busy]

    def ask(self, browser: H1Browser | H2Browser, method: str, length: int | None) -> Ongoing:
        """A request; a POST's content follows, of `length` or with no other end than its own."""
        number = len(self.all)
        me = self.pairing.me
        fields: Fields = [*(me.change if method == "POST" else me.fields)]
        if method == "POST" and length is not None:
            fields.append((b"content-length", b"%d" % length))
        uploads = method == "POST"
        exchange = browser.request(method, f"/k8s/api/v1/things/{number}", fields, end=not uploads)
        ongoing = Ongoing(number, method, exchange, uploaded=not uploads, length=length if uploads else None)
        self.all.append(ongoing)
        return ongoing

    def disturb(self, those: list[Ongoing]) -> None:
        """They need not go well any more."""
        for ongoing in those:
            ongoing.disturbed = True

    def of_browser(self, browser: H1Browser | H2Browser) -> list[Ongoing]:
        return [x for x in self.all if x.exchange.browser is browser]

    def of_connection(self, ongoing: Ongoing) -> list[Ongoing]:
        """Whoever shares a connection upstream with it, and those that may be on their way to it."""
        assert ongoing.request is not None
        connection = ongoing.request.connection
        return [x for x in self.all if x.request is None or x.request.connection is connection]

    # What goes wrong.

    def give_up(self, ongoing: Ongoing) -> None:
        """The browser resets it."""
        self.disturb([ongoing])
        ongoing.exchange.reset()

    def abandon(self, ongoing: Ongoing) -> None:
        """The upstream resets it: over HTTP/1.1 with its connection."""
        assert ongoing.request is not None
        self.disturb([ongoing] if isinstance(ongoing.request, H2Request) else self.of_connection(ongoing))
        ongoing.abandoned = True
        ongoing.request.reset()

    def say_goodbye(self, ongoing: Ongoing) -> None:
        """GOAWAY from the upstream, after this request's stream; HTTP/1.1 has none."""
        if isinstance(ongoing.request, H2Request):
            self.disturb([x for x in self.of_connection(ongoing) if x is not ongoing])
            ongoing.request.connection.goaway(ongoing.request)

    # foyer.

    def pass_time(self, seconds: float) -> None:
        """The deadlines of so many seconds come at once; whatever is open is as old as that."""
        self._jumped += seconds
        foyer, jumped = self.foyer, self._jumped
        self.disturb(self.all)
        self.leaving |= {*self.browsers}
        self.pairing.product.ask(lambda: foyer._wheel.turn(foyer._turn.now() + jumped))

    def drain(self) -> None:
        """As at a shutdown's beginning: what is open goes on, and its connections take nothing more."""
        foyer = self.foyer
        self.leaving |= {*self.browsers}

        def go_away() -> None:
            for connection in [*foyer._listener._connections]:
                connection.go_away()

        self.pairing.product.ask(go_away)

    # What is seen.

    def look(self) -> None:
        """Nobody has what was not sent, or what was cut off for whole."""
        for ongoing in self.all:
            self._look_down(ongoing)
            self._look_up(ongoing)
        for browser in self.browsers:
            answered = all(x.exchange.outcome is not None for x in self.of_browser(browser))
            if isinstance(browser, H1Browser) and browser not in self.noisy and answered:
                assert browser.surplus == b"", "bytes behind an answer"
        assert not self.faults, self.faults[0]
        assert not any(b'"internal error"' in line for line in self.pairing.product.lines)

    def _look_down(self, ongoing: Ongoing) -> None:
        exchange = ongoing.exchange
        if ongoing.interrupted or (exchange.status == 400 and exchange.browser in self.noisy):
            return  # foyer's own answer
        got = bytes(exchange.content)
        assert bytes(ongoing.sent[: len(got)]) == got, "what the browser has is no prefix of what was sent"
        if exchange.status:
            assert ongoing.answered
        if isinstance(exchange.outcome, Whole):
            assert exchange.status == 200
            assert ongoing.whole, "a part passes for the whole"
            assert got == ongoing.sent

    def _look_up(self, ongoing: Ongoing) -> None:
        request = ongoing.request
        if request is None:
            return
        got = bytes(request.content)
        assert bytes(ongoing.upload[: len(got)]) == got, "what went up is no prefix of the upload"
        if request.ended:
            assert ongoing.uploaded or len(ongoing.upload) == ongoing.length, "a part of an upload as a whole"
            assert got == ongoing.upload

    # The end.

    def finish(self) -> None:
        """Everybody does what they can, and what nothing has disturbed comes to its whole end."""
        self.pairing.upstream.silent = False
        for browser in self.browsers:
            browser.go_on_reading()
        for ongoing in self.all:
            if isinstance(ongoing.exchange, H2Exchange):
                ongoing.exchange.go_on_reading()
            if ongoing.request is not None and ongoing.upstream_lives:
                ongoing.request.go_on_reading()
        self.settle()
        for ongoing in self.all:
            if ongoing.may_upload:
                ongoing.finish_upload()
        self.settle()
        for ongoing in self.all:
            if ongoing.may_answer:
                ongoing.respond(length=3, gzip=False)
            if ongoing.may_send:
                ongoing.finish_answer()
        calm = [ongoing for ongoing in self.all if not ongoing.disturbed]
        # The kernel has clocks of its own, where a window had been full.
        self.pairing.script.until(
            lambda: all(ongoing.exchange.outcome is not None for ongoing in calm),
            "every exchange that nothing has disturbed to come to its end",
        )
        self.settle()
        self.look()
        for ongoing in calm:
            assert not ongoing.interrupted, f"{ongoing.number} was answered by foyer"
            assert isinstance(ongoing.exchange.outcome, Whole), f"{ongoing.number} was cut off"

    def give_everything_up(self) -> None:
        """Whatever is still open is reset: over HTTP/1.1 with its connection."""
        for ongoing in self.all:
            if ongoing.browser_lives:
                ongoing.exchange.reset()
        self.settle()

    def close(self) -> None:
        """Every connection is closed from outside."""
        for browser in self.browsers:
            browser.close()
        self.settle()
        self.pairing.upstream.retire()
        self.settle()
