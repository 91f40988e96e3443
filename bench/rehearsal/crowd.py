"""Everybody's browsers, as a process of their own: `python -m bench.rehearsal.crowd PORT VERSION TARGET`.

Over HTTP/2 each person has one connection for all that they watch, over HTTP/1.1 one for each watch.
It is told what to do in lines on stdin, and answers each with a line. Times are in nanoseconds of the
machine's monotonic clock, which all processes share; `within` is in seconds:

    {"do": "come", "people": [[cookie, CSRF token], …], "origin": "https://…"}    → null
    {"do": "open", "each", "mark", "within"}    all at once, to each one's snapshot → {"began", "seen": [ns]}
    {"do": "await", "mark": "…"}                a change that is about to be made → null
    {"do": "saw", "within"}                     → {"seen": [ns, …]}
    {"do": "log out", "within"}                 everybody → {"answered", "cut": [seconds, …], "clean", "open"}
    {"do": "ends", "within"}                    what the server ends by itself → {"clean", "open"}
    {"do": "leave"}                             closes everything → null
"""

import gc
import socket
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import hpack

from bench.browsers import client_context
from bench.limits import raise_file_limit
from bench.messages import (
    ACK,
    AUTHORITY,
    END_HEADERS,
    END_STREAM,
    H2,
    SETTINGS_ACK,
    Requests,
    Type,
    browser_fields,
    frame,
    requests,
)
from bench.rehearsal.frames import Frames
from bench.rehearsal.loop import Loop, Peer, answer
from bench.rehearsal.watching import Awaited, Chunks, Watch
from foyer.protocol.events import Fields

_OK, _NO_CONTENT = 0x88, 0x89
"""`:status` 200 and 204 as HPACK's static table has them (RFC 7541 appendix A)."""


class Person:
    """Somebody who has signed in."""

    def __init__(self, number: int, cookie: str, csrf: str) -> None:
        self.number = number
        self.cookie = cookie.encode()
        self.csrf = csrf.encode()
        self.page: Page | None = None
        self.out = 0
        """When they asked to be logged out, and"""
        self.answered = 0
        """when that was answered; 0 while it was not."""


class Page(Peer):
    """A connection of somebody's, which can log them out."""

    def __init__(self, crowd: "Crowd", person: Person) -> None:
        self.person = person
        self.crowd = crowd
        self.usable = False
        plain = socket.socket()
        plain.setblocking(False)
        plain.connect_ex(("127.0.0.1", crowd.port))
        super().__init__(crowd.loop, plain, crowd.context, server=False)

    def opened(self) -> None:
        self.usable = True

    def log_out(self) -> None:
        """Asks for it."""
        raise NotImplementedError  # each version has its own

    def _proof(self) -> Fields:
        mine = [
            (b"x-csrf-token", self.person.csrf),
            (b"origin", self.crowd.origin),
            (b"content-length", b"0"),
        ]
        return [*browser_fields(self.person.cookie), *mine]


class H1Page(Page):
    """HTTP/1.1: a watch on a connection, or a logout."""

    def __init__(self, crowd: "Crowd", person: Person, watch: Watch | None) -> None:
        super().__init__(crowd, person)
        self._watch = watch
        self._head = b""
        self._chunks: Chunks | None = None

    def opened(self) -> None:
        super().opened()
        if self._watch:
            self.send(self.crowd.asked[self.person.number].head)

    def received(self, data: bytes, now: int) -> None:
        if self._chunks is None:
            self._head += data
            head, blank, data = self._head.partition(b"\r\n\r\n")
            if not blank:
                return
            self._chunks = Chunks()
            if self._watch is None:
                assert head.startswith(b"HTTP/1.1 204 "), head
                self.person.answered = now
                return
            assert head.startswith(b"HTTP/1.1 200 "), head
        content = self._chunks.read(data)
        if self._watch and content:
            self._watch.took(content, now)

    def gone(self, now: int) -> None:
        if self._watch:
            self._watch.over(now, clean=self._chunks is not None and self._chunks.ended)

    def log_out(self) -> None:
        lines = b"".join(b"%s: %s\r\n" % field for field in [(b"host", AUTHORITY), *self._proof()])
        self.send(b"POST /auth/logout HTTP/1.1\r\n%s\r\n" % lines)


class H2Page(Page):
    """HTTP/2: all that a person watches, and their logout."""

    def __init__(self, crowd: "Crowd", person: Person, watches: list[Watch]) -> None:
        super().__init__(crowd, person)
        self._watches = dict(zip(range(1, 2 * len(watches), 2), watches, strict=True))
        self._logout = 2 * len(watches) + 1
        self._frames = Frames()

    def opened(self) -> None:
        super().opened()
        asked = self.crowd.asked[self.person.number]
        self.send(asked.opening + b"".join(map(asked.request, self._watches)))

    def received(self, data: bytes, now: int) -> None:
        for kind, flags, stream, content in self._frames.read(data):
            watch = self._watches.get(stream)
            if kind == Type.DATA and watch:
                watch.took(content, now)
                if flags & END_STREAM:
                    watch.over(now, clean=True)
            elif kind == Type.HEADERS:
                self._answered(stream, content, now)
            elif kind == Type.RST_STREAM and watch:
                watch.over(now, clean=False)
            elif kind == Type.SETTINGS and not flags & ACK:
                self.send(SETTINGS_ACK)
            elif kind == Type.PING and not flags & ACK:
                self.send(frame(Type.PING, ACK, 0, content))

    def gone(self, now: int) -> None:
        for watch in self._watches.values():
            watch.over(now, clean=False)

    def log_out(self) -> None:
        pseudo = [(b":method", b"POST"), (b":scheme", b"https"), (b":authority", AUTHORITY)]
        fields = [*pseudo, (b":path", b"/auth/logout"), *self._proof()]
        # Literals alone: what the requests before it put into the table is another encoder's knowledge.
        block = hpack.Encoder().encode([hpack.NeverIndexedHeaderTuple(*field) for field in fields])
        self.send(frame(Type.HEADERS, END_HEADERS | END_STREAM, self._logout, block))

    def _answered(self, stream: int, block: bytes, now: int) -> None:
        if stream == self._logout:
            assert block[0] == _NO_CONTENT, block
            self.person.answered = now
        else:
            assert block[0] == _OK, block


class Crowd:
    """Everybody."""

    def __init__(self, port: int, version: str, target: str) -> None:
        self.loop = Loop()
        self.port = port
        self.version = version
        self.context = client_context(version)
        self.origin = b""
        self.asked: list[Requests] = []
        self._target = target.encode()
        self._people: list[Person] = []
        self._pages: list[Page] = []
        self._watches: list[Watch] = []
        self._over: list[Watch] = []
        self._awaited: Awaited

    def run(self) -> None:
        """Until stdin ends."""
        doing: dict[str, Callable[..., object]] = {
            "come": self._come,
            "open": self._open,
            "await": self._await,
            "saw": self._saw,
            "log out": self._log_out,
            "ends": self._ends,
            "leave": self._leave,
        }
        while command := self.loop.command():
            answer(doing[command.pop("do")](**command))

    def _come(self, people: list[tuple[str, str]], origin: str) -> None:
        self.origin = origin.encode()
        self._people = [Person(number, *known) for number, known in enumerate(people)]
        self.asked = [requests(self.version, self._target, AUTHORITY, one.cookie) for one in self._people]

    def _open(self, each: int, mark: str, within: float) -> dict[str, Any]:
        self._awaited = Awaited(mark.encode())
        self._over = []
        people = self._people
        self._watches = [Watch(one.number, self._awaited, self._over) for one in people for _ in range(each)]
        gc.collect()
        began = time.monotonic_ns()
        self._pages = list(self._connected(each))
        return {"began": began, **self._saw(within)}

    def _connected(self, each: int) -> Iterator[Page]:
        if self.version == H2:
            for one in self._people:
                mine = self._watches[one.number * each : (one.number + 1) * each]
                one.page = H2Page(self, one, mine)
                yield one.page
        else:
            for watch in self._watches:
                yield H1Page(self, self._people[watch.person], watch)

    def _await(self, mark: str) -> None:
        self._awaited = Awaited(mark.encode())
        for watch in self._watches:
            watch.awaited = self._awaited
        gc.collect()  # not while it is read

    def _saw(self, within: float) -> dict[str, Any]:
        seen = self._awaited.seen
        self.loop.until(lambda: len(seen) == len(self._watches), within)
        return {"seen": seen}

    def _log_out(self, within: float) -> dict[str, Any]:
        if self.version != H2:  # the connection that a page has beside what it watches
            for one in self._people:
                one.page = H1Page(self, one, None)
                self._pages.append(one.page)
            self.loop.until(lambda: all(one.page and one.page.usable for one in self._people), within)
        people = self._people
        for one in people:
            assert one.page and one.page.usable
            one.out = time.monotonic_ns()
            one.page.log_out()
        self.loop.until(lambda: self._all_over() and all(one.answered for one in people), within)
        return {
            "answered": [(one.answered - one.out) / 1e9 for one in people if one.answered],
            "cut": [(each.ended - people[each.person].out) / 1e9 for each in self._over],
            **self._count(),
        }

    def _ends(self, within: float) -> dict[str, Any]:
        self.loop.until(self._all_over, within)
        return self._count()

    def _all_over(self) -> bool:
        return len(self._over) == len(self._watches)

    def _count(self) -> dict[str, int]:
        return {
            "clean": sum(watch.clean for watch in self._over),
            "open": len(self._watches) - len(self._over),
        }

    def _leave(self) -> None:
        for page in self._pages:
            page.close()
        self._pages.clear()


if __name__ == "__main__":
    raise_file_limit()
    gc.disable()
    port, version, target = sys.argv[1:]
    Crowd(int(port), version, target).run()
