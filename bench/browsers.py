"""Light browsers, as a process of their own: `python -m bench.browsers '<what to do, as JSON>'`.

    {"port", "version", "target", "cookie", "connections", "streams", "gets", "status"}

opens so many connections with so many requests on each at once. With `gets` each answer is
followed by the next request until so many are whole; without, what is open stays open, for it is a
watch. An answer of another status than that is the end of it all. A line on stdout says that all
answers are whole, or that every watch has got one more event. It holds everything until stdin ends.

They parse as little as they can, so that most of the machine is the server's.
"""

import json
import selectors
import socket
import ssl
import sys
from collections.abc import Callable
from dataclasses import dataclass

import hpack

from bench.limits import raise_file_limit
from bench.messages import ACK, AUTHORITY, END_STREAM, H2, SETTINGS_ACK, Type, requests

_BUFFER = memoryview(bytearray(256 * 1024))


@dataclass(frozen=True, slots=True)
class Task:
    """What these browsers do."""

    port: int
    version: str
    target: str
    cookie: str
    connections: int
    streams: int = 1
    gets: int = 0
    """0: a watch on each."""
    status: int = 200
    """Of every answer."""


def client_context(version: str) -> ssl.SSLContext:
    """TLS that offers one HTTP version, to a server that this process was told of."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    context.set_alpn_protocols(["h2" if version == H2 else "http/1.1"])
    return context


class Browser:
    """One connection."""

    def __init__(self, task: Task, context: ssl.SSLContext, told: Callable[["Browser", int], None]) -> None:
        """`told` hears of answers that became whole, or of events."""
        self._told = told
        self._watching = not task.gets
        self._status = task.status
        self.asked = requests(task.version, task.target.encode(), AUTHORITY, task.cookie.encode())
        plain = socket.create_connection(("127.0.0.1", task.port))
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket = context.wrap_socket(plain, server_hostname="127.0.0.1")
        self.socket.setblocking(False)
        self.send(self.asked.opening)
        self._each = self.asked.each()

    def ask(self, count: int) -> None:
        """So many more requests."""
        self.send(b"".join(next(self._each) for _ in range(count)))

    def send(self, data: bytes) -> None:
        """What a browser of small requests sends is always taken."""
        if data:
            sent = self.socket.send(data)
            assert sent == len(data), "a loopback socket that is full"

    def readable(self) -> int:
        """Takes what has come; the bytes, or -1 at the end."""
        total = 0
        while True:
            try:
                count = self.socket.recv_into(_BUFFER)
            except ssl.SSLWantReadError:
                return total
            if not count:
                return -1
            total += count
            done = self.took(bytes(_BUFFER[:count]))
            if done:
                self._told(self, done)

    def took(self, data: bytes) -> int:
        """Answers that `data` made whole, or events in it."""
        raise NotImplementedError  # each version has its own

    def answered(self, status: bytes) -> None:
        """Looks at the status of an answer whose head has come."""
        assert status == b"%d" % self._status, status


class H1Browser(Browser):
    """HTTP/1.1: answers with a length, or chunked."""

    _head = b""
    _left = 0
    _chunked = False
    _tail = b""

    def took(self, data: bytes) -> int:
        if self._watching:
            # A line is an event, however it was cut into chunks; those of the framing end in CR LF.
            data, self._tail = self._tail + data, b"\r" if data.endswith(b"\r") else b""
            return data.count(b"\n") - data.count(b"\r\n")
        done = 0
        while data:
            if not self._left and not self._chunked:
                data, whole = self._begin(self._head + data)
                done += whole
            elif self._left:
                taken = min(self._left, len(data))
                self._left -= taken
                data = data[taken:]
                done += not self._left
            else:
                self._tail = (self._tail + data[-7:])[-7:]
                self._chunked = self._tail != b"\r\n0\r\n\r\n"
                done += not self._chunked
                data = b""
        return done

    def _begin(self, data: bytes) -> tuple[bytes, bool]:
        """What is behind the head, if that is whole, and whether it was all there is."""
        head, blank, rest = data.partition(b"\r\n\r\n")
        self._head = b"" if blank else data
        if blank:
            self.answered(head[9:12])
            fields = head.lower()
            self._chunked = b"transfer-encoding" in fields
            if not self._chunked:
                length = fields.partition(b"content-length: ")[2]
                self._left = int(length.partition(b"\r\n")[0])
        return rest, bool(blank) and not self._left and not self._chunked


_OK = 0x88
"""How a header block begins whose status is 200 (RFC 7541 appendix A, index 8)."""


class H2Browser(Browser):
    """HTTP/2: counts frames that end a stream, and decodes the first header block alone, or each.

    Where answers are to be 200, all others must begin as one: a refusal is quicker than what is measured.
    """

    each_head = False
    _decoder: hpack.Decoder | None = None
    _held = b""

    def took(self, data: bytes) -> int:
        data = self._held + data
        at = done = 0
        while len(data) - at >= 9:
            length = int.from_bytes(data[at : at + 3], "big")
            if len(data) - at < 9 + length:
                break
            kind, flags = data[at + 3], data[at + 4]
            if kind in (Type.DATA, Type.HEADERS):
                if kind == Type.HEADERS:
                    if self.each_head or self._decoder is None:
                        self._look(data[at + 9 : at + 9 + length])
                    elif self._status == 200:
                        assert data[at + 9] == _OK, "an answer that is no 200"
                if not self._watching:
                    done += flags & END_STREAM
                elif kind == Type.DATA:
                    done += data.count(b"\n", at + 9, at + 9 + length)
            elif kind == Type.SETTINGS and not flags & ACK:
                self.send(SETTINGS_ACK)
            elif kind not in (Type.SETTINGS, Type.WINDOW_UPDATE):
                raise AssertionError(f"a frame of type {kind}: {data[at : at + 9 + length]!r}")
            at += 9 + length
        self._held = data[at:]
        return done

    def _look(self, block: bytes) -> None:
        self._decoder = self._decoder or hpack.Decoder()
        (_, status), *_ = self._decoder.decode(block, raw=True)
        self.answered(status)


class Browsers:
    """All of them, and what is counted."""

    def __init__(self, task: Task) -> None:
        self._task = task
        self._unasked = 0
        self._done = 0
        self.bytes = 0
        self._selector = selectors.DefaultSelector()
        self._browsers: list[Browser] = []
        self._context = client_context(task.version)

    def open(self) -> None:
        """Connects, one after the other, and asks for the first time."""
        task = self._task
        kind = H2Browser if task.version == H2 else H1Browser
        at_once = task.connections * task.streams
        self._unasked = max(0, task.gets - at_once)
        for _ in range(task.connections):
            browser = kind(task, self._context, self._told)
            self._selector.register(browser.socket, selectors.EVENT_READ, browser)
            self._browsers.append(browser)
            browser.ask(task.streams)
            self._turn(0)
        self._wait(task.gets or at_once)

    def _told(self, browser: Browser, count: int) -> None:
        self._done += count
        more = min(count, self._unasked)
        if more:
            self._unasked -= more
            browser.ask(more)

    def _turn(self, seconds: float | None) -> None:
        for key, _ in self._selector.select(seconds):
            if key.fileobj is sys.stdin:
                raise SystemExit(0)
            count = key.data.readable()
            if count < 0:
                raise AssertionError("the server ended a connection")
            self.bytes += count

    def _wait(self, count: int) -> None:
        while self._done < count:
            self._turn(None)
        print(json.dumps({"done": self._done, "bytes": self.bytes}), flush=True)

    def hold(self) -> None:
        """Keeps everything open, and counts events, until stdin ends."""
        self._selector.register(sys.stdin, selectors.EVENT_READ)
        round_ = self._task.connections * self._task.streams
        while True:
            self._wait(self._done + round_)


if __name__ == "__main__":
    raise_file_limit()
    browsers = Browsers(Task(**json.loads(sys.argv[1])))
    browsers.open()
    browsers.hold()
