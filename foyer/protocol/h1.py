"""HTTP/1.1 in both roles: the framing guard, then h11 (RFC 9112).

The guard buffers a head to its blank line and walks the content, so h11 is handed exactly one
message at a time, each byte of which has one reading. Pipelined requests wait in `_held` until
the response before them has been sent, so they are answered in order. A codec is done with its
connection when `closing`: whoever drives it then closes. Work can stop at any head or chunk, to go on
in another turn.

A message with a length is whole as its last octet leaves, while HTTP/2's is only when it has ended, and
until then may turn out malformed (RFC 9113 section 8.1.1) or be given up. So that octet, be it of the
content or of the head of a message without any, waits for the end.
"""

import re
from collections.abc import Callable
from http import HTTPStatus

import h11
from h11._headers import Headers

from foyer.protocol.events import Failure, Fields, RequestHead, ResponseHead, Sink
from foyer.protocol.fault import ProtocolFault
from foyer.protocol.floods import ALL, HEAD_WORK, MAX_INFORMATIONAL, Flood, Floods
from foyer.protocol.framing import MAX_HEAD, Content, ContentWalk, head_end, request_content, response_content

_CHUNK = b"%x\r\n%b\r\n"
"""Of a length and its content (RFC 9112 section 7.1), as h11's writer would: it keeps no state in between."""

_REASONS = {status.value: status.phrase.encode() for status in HTTPStatus}
_NO_CONTENT = (204, 304)
_VALUE_OCTETS = b"\t" + bytes(range(0x20, 0x7F)) + bytes(range(0x80, 0x100))
_WHOLE = ContentWalk(Content.LENGTH, 0)
_SAYS_CLOSE = re.compile(rb"\r\nconnection:(?![\t ]*keep-alive[\t ]*\r)", re.IGNORECASE)
"""Whether a head has a `Connection` that may ask for something else than HTTP/1.1's own: for its end, say."""

_FAULT_FIELDS: Fields = [
    (b"content-type", b"text/plain; charset=utf-8"),
    (b"cache-control", b"no-store"),
    (b"x-content-type-options", b"nosniff"),
    (b"connection", b"close"),
]

Unread = Callable[[bytes], bytes]
"""Is told the target of a request that is not read yet: the whole answer to it, or none, and it is read."""


def whole_response(status: int, fields: Fields, content: bytes) -> bytes:
    """A response from its first byte to its last."""
    lines = [b"%b: %b\r\n" % field for field in [(b"content-length", b"%d" % len(content)), *fields]]
    reason = _REASONS.get(status, b"Unknown")
    return b"HTTP/1.1 %d %b\r\n%b\r\n%b" % (status, reason, b"".join(lines), content)


class _H1:
    """What both roles share: held bytes, the walk over content, and h11's events."""

    multiplexed = False

    __slots__ = (
        "_chunked",
        "_h11",
        "_held",
        "_kept",
        "_out",
        "_searched",
        "_sink",
        "_unsent",
        "_walk",
        "closing",
        "stream",
        "unfinished",
        "work",
    )

    def __init__(self, sink: Sink, role: type[h11.CLIENT] | type[h11.SERVER]) -> None:
        self._sink = sink
        self._h11 = h11.Connection(role, max_incomplete_event_size=MAX_HEAD)
        self._held = b""
        self._searched = 0
        self._walk = _WHOLE
        self._out: list[bytes] = []
        self._chunked = False  # what is being sent is in chunks
        self._unsent: int | None = None  # octets of the length that was declared, if one was
        self._kept = b""  # the last octet of them, until the end is known
        self.stream = 0
        self.closing = False
        self.unfinished = False  # heads or content have come, and wait for `proceed`
        self.work = ALL  # how much may be done, in chunks: whoever has others sets it

    # What came in.

    def _take_head(self) -> bytes:
        """The next whole head, cut from what is held, or nothing yet."""
        end = head_end(self._held, self._searched)
        self._searched = 0 if end else len(self._held)
        head, self._held = self._held[:end], self._held[end:]
        return head

    def _take_content(self) -> None:
        """Content, as far as the work goes."""
        before = self._walk.chunks
        taken = self._walk.walk(self._held, self.work)
        piece, self._held = self._held[:taken], self._held[taken:]
        self._feed(piece)
        self.work -= 1 + self._walk.chunks - before

    def _feed(self, piece: bytes) -> None:
        """Gives h11 what the guard has passed, and passes on what it makes of it."""
        try:
            self._h11.receive_data(piece)
            while (event := self._h11.next_event()) is not h11.NEED_DATA and event is not h11.PAUSED:
                self._received(event)
                if self.closing:
                    return
        except h11.RemoteProtocolError as error:
            raise ProtocolFault("not HTTP/1.1 that can be read", error.error_status_hint) from None

    def _received(self, event: h11.Event | type[h11.NEED_DATA] | type[h11.PAUSED]) -> None:
        if isinstance(event, h11.Data):
            self._sink.content(self.stream, bytes(event.data), len(event.data))
        elif isinstance(event, h11.EndOfMessage):
            self._ended()
        elif isinstance(event, h11.Request | h11.Response):
            self._headed(event)

    def _headed(self, event: h11.Request | h11.Response) -> None:
        raise NotImplementedError  # pragma: no cover - each role has its own

    def _ended(self) -> None:
        # A head that was passed on as ended says so already.
        if not self._walk_was_empty():
            self._sink.end(self.stream)

    def _walk_was_empty(self) -> bool:
        return self._walk is _WHOLE

    # What goes out.

    def _headers(self, fields: Fields) -> Headers:
        """Fields to send, in one look: h11 would take two regular expressions for each, 23 µs a request."""
        if b"".join([value for _, value in fields]).translate(None, _VALUE_OCTETS):
            raise AssertionError("a field that would end a line")
        return Headers([(name, name, value) for name, value in fields])

    def _send(self, event: h11.Event) -> None:
        data = self._h11.send(event)
        if data:
            self._out.append(data)

    def _declare(self, lengths: list[bytes]) -> None:
        """A head was framed that more may follow, with these lengths in it."""
        self._kept = b""
        self._unsent = int(lengths[0]) if lengths else None
        self._keep_the_last()

    def _keep_the_last(self) -> None:
        if self._unsent == 0:
            last = self._out[-1]
            self._out[-1], self._kept = last[:-1], last[-1:]

    def _frame(self, data: bytes, end: bool) -> None:
        """Frames content, and the message's end with it."""
        if self._chunked and data:
            self._out.append(_CHUNK % (len(data), data))
        elif data:
            self._send(h11.Data(data=data))
            if self._unsent is not None and not end:
                self._unsent -= len(data)
                self._keep_the_last()
        if end:
            if self._kept:
                self._out.append(self._kept)
                self._kept = b""
            self._send(h11.EndOfMessage())

    def window(self, stream: int) -> int:
        """Bytes that may be framed now: HTTP/1.1 has no window, the transport alone holds back."""
        return 1 << 20

    def acknowledge(self, stream: int, flow: int) -> None:
        """Nothing to say: the transport's pause is HTTP/1.1's flow control."""

    def take(self) -> bytes:
        """What is to be written."""
        data = self._out[0] if len(self._out) == 1 else b"".join(self._out)
        self._out.clear()
        return data


class H1Server(_H1):
    """A browser's connection. One exchange at a time, counted from 1 in `stream`."""

    __slots__ = (
        "_answered",
        "_closed",
        "_draining",
        "_method",
        "_now",
        "_refused",
        "_unread",
        "cut",
        "floods",
        "until_close",
    )

    def __init__(self, sink: Sink, unread: Unread | None = None) -> None:
        super().__init__(sink, h11.SERVER)
        self._unread = unread
        self._answered = True  # nothing is being answered
        self._draining = False  # say `Connection: close` with the next head
        self._closed = False  # it was said
        self._method = b""  # what is being answered
        self._refused = False
        self._now = 0.0
        self.floods = Floods()
        self.cut = False  # the response is to end short of its end
        self.until_close = False  # the response has no other end than the connection's (HTTP/1.0)

    @property
    def unread(self) -> bool:
        """The browser may still be sending: closing at once could lose it the answer.

        It may where we said the close: the next request can have been on its way.
        """
        return self._refused or self._closed or not self._walk.done or bool(self._held)

    @property
    def held(self) -> int:
        """Bytes of pipelined requests, or of an unfinished head, that wait."""
        return len(self._held)

    def receive(self, data: bytes, now: float = 0.0) -> None:
        """Takes what the browser sent. Raises `ProtocolFault`.

        `now` is in seconds, and the same clock's as ever. What is beyond `work` waits for `proceed`.
        """
        if self.closing:
            return
        before = self._held
        self._held = before + data if before else data
        if not self.unfinished:
            self._advance(now, pipelined=bool(before))

    def proceed(self, now: float = 0.0) -> None:
        """Goes on with what waits: a pipelined request once the response before it is framed, or content.

        Raises `ProtocolFault`.
        """
        if self._held and not self.closing:
            self._advance(now, pipelined=True)

    def _advance(self, now: float, *, pipelined: bool) -> None:
        self._now = now
        try:
            while self._held and not self.closing:
                if self.work <= 0:
                    self.unfinished = not self._walk.done or self._answered
                    return
                if not self._walk.done:
                    self._take_content()
                elif not self._answered or not self._begin(pipelined):
                    break
                else:
                    self.work -= HEAD_WORK
                    pipelined = True
        except ProtocolFault:
            self.closing = True
            raise
        self.unfinished = False

    def _begin(self, pipelined: bool) -> bool:
        head = self._take_head()
        if not head:
            return False
        if pipelined:
            self.floods.count(Flood.PIPELINE, self._now)
        framing, length = request_content(head)
        if framing is Content.CHUNKED and self._held:
            # What came with the head is walked before anything goes up: a trick in it goes nowhere.
            ContentWalk(framing, length).check(self._held)
        self._walk = ContentWalk(framing, length) if length or framing is not Content.LENGTH else _WHOLE
        if self._walk is _WHOLE and (answer := self._unread_answer(head)):
            self._out.append(answer)
            return True
        self._answered = False
        self.stream += 1
        self._feed(head)
        return True

    def _unread_answer(self, head: bytes) -> bytes:
        """The answer to a request that is not worth reading: without h11, which would be half of its cost.

        The guard has passed it. Of what it could ask for about its answer, HTTP/1.0, a HEAD or another
        `Connection` than the usual, h11 knows more.
        """
        if self._unread is None or self._draining:
            return b""
        method, target, version = head[: head.index(b"\r\n")].split(b" ")
        if method == b"HEAD" or version != b"HTTP/1.1" or _SAYS_CLOSE.search(head):
            return b""
        return self._unread(target)

    def _headed(self, event: h11.Request | h11.Response) -> None:
        assert isinstance(event, h11.Request)
        self._method = event.method
        fields: Fields = []
        authority = b""
        for field in event.headers:
            fields.append(field)
            if field[0] == b"host":
                authority = field[1]
        ended = self._walk_was_empty()
        if ended:
            self._h11.next_event()  # EndOfMessage: h11 is through with the request when it is answered
        head = RequestHead(event.method, event.target, fields, authority=authority, ended=ended)
        self._sink.head(self.stream, head)

    def _received(self, event: h11.Event | type[h11.NEED_DATA] | type[h11.PAUSED]) -> None:
        if isinstance(event, h11.Data):
            self.floods.content(len(event.data), self._now)
        super()._received(event)

    def _ended(self) -> None:
        super()._ended()
        if self._h11.our_state is h11.DONE:
            self._turn_over()  # answered while the last of it was being read

    def _is_open(self, stream: int) -> bool:
        """Whether `stream` is being answered: an exchange may speak after its response, or the connection."""
        return stream == self.stream and not self._answered and not self.closing

    def send_informational(self, stream: int, status: int) -> None:
        """A 1xx head; 100 only ever where the browser waits for it."""
        if self._is_open(stream) and self._h11.they_are_waiting_for_100_continue:
            self._send(h11.InformationalResponse(status_code=status, headers=[], reason=_REASONS[status]))

    def send_head(self, stream: int, head: ResponseHead) -> None:
        """The final head. With `ended`, the whole response.

        CONNECT may be refused and nothing else: behind its 2xx no content is framed, there is a tunnel (RFC
        9110 section 9.3.6).
        """
        if not self._is_open(stream):
            return
        if self._method == b"CONNECT" and 200 <= head.status < 300:
            raise AssertionError("foyer opens no tunnels")
        fields = head.fields
        head_only = self._method == b"HEAD"  # the length it has is the GET's
        empty = head.ended and not head_only and head.status not in _NO_CONTENT
        if empty and not head.all(b"content-length"):
            fields = [*fields, (b"content-length", b"0")]
        if self._draining or not self._walk.done:
            # An answer before the upload's end: what follows on this connection is not a request.
            fields = [*fields, (b"connection", b"close")]
            self._closed = True
        self._chunked = not (
            head.ended
            or head_only
            or head.status in _NO_CONTENT
            or self._h11.their_http_version == b"1.0"
            or head.all(b"content-length")
        )
        self.until_close = self._h11.their_http_version == b"1.0" and not head.all(b"content-length")
        self._send(
            h11.Response(
                status_code=head.status,
                headers=self._headers(fields),
                reason=_REASONS.get(head.status, b"Unknown"),
            )
        )
        if head.ended:
            self.send_data(stream, b"", True)
        else:
            self._declare(head.all(b"content-length"))

    def send_data(self, stream: int, data: bytes, end: bool) -> None:
        """Frames content. After the response's end the connection is ready again, or `closing`."""
        if not self._is_open(stream):
            return
        self._frame(data, end)
        if end:
            self._answered = True
            self._turn_over()

    def take_alone(self, stream: int, data: bytes) -> bytes:
        """`send_data` of content that more may follow, and `take`."""
        if data and self._chunked and not self._out and self._is_open(stream):
            return _CHUNK % (len(data), data)
        self.send_data(stream, data, False)
        return self.take()

    def _turn_over(self) -> None:
        """The response has ended: ready for the next request once this one has, or done with."""
        if self._h11.our_state is not h11.DONE or not self._walk.done:
            self.closing = True
        elif self._h11.their_state is h11.DONE:
            self._h11.start_next_cycle()
            self.unfinished = bool(self._held)

    def reset(self, stream: int, *, no_error: bool = False) -> None:
        """Ends the response so that it cannot pass for whole: the connection closes as it stands."""
        if self._is_open(stream):
            self.closing = True
            self.cut = True

    def refuse(self, fault: ProtocolFault) -> None:
        """Answers a request that cannot be read, where no response has begun (RFC 9112 section 2.2)."""
        self.closing = True
        self._refused = True
        if self._h11.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            self._out.append(whole_response(fault.status, _FAULT_FIELDS, fault.message.encode() + b"\n"))
        elif self._h11.our_state is h11.SEND_BODY:
            self.cut = True  # a response was going on: it ends, and must not look whole

    def go_away(self) -> None:
        """No more requests after the one in progress."""
        self._draining = True


class H1Client(_H1):
    """A connection to the API server. One request at a time; reused only when both halves ended cleanly."""

    __slots__ = ("_busy", "_informed", "_method", "_requested")

    def __init__(self, sink: Sink) -> None:
        super().__init__(sink, h11.CLIENT)
        self._method = b""
        self._busy = False  # a request is out, its response not whole
        self._requested = True  # the request's own end was framed
        self._informed = 0  # 1xx heads that came before the response's

    @property
    def capacity(self) -> int:
        """Exchanges that may be on this connection at once."""
        return 0 if self.closing else 1

    def open(self) -> int:
        """The next exchange's stream."""
        self.stream += 1
        return self.stream

    def receive(self, data: bytes, now: float = 0.0) -> None:
        """Takes what the API server sent. Raises `ProtocolFault`. Beyond `work` it waits for `proceed`."""
        if self.closing:
            return
        self._held = self._held + data if self._held else data
        if not self.unfinished:
            self.proceed(now)

    def proceed(self, now: float = 0.0) -> None:
        """Goes on with what waits. Raises `ProtocolFault`."""
        self.unfinished = False
        try:
            while self._held and not self.closing and not self.unfinished:
                if not self._advance():
                    return
        except ProtocolFault:
            self.closing = True
            raise

    def _advance(self) -> bool:
        """One step through what is held. False where it needs more to come."""
        if not self._busy:
            # Nothing was asked: bytes now would be read as the next person's answer.
            raise ProtocolFault("a response that nobody asked for")
        if self.work <= 0:
            self.unfinished = True
        elif not self._walk.done:
            self._take_content()
        else:
            head = self._take_head()
            if not head:
                return False
            self.work -= HEAD_WORK + len(head) // 1024
            self._walk = ContentWalk(*response_content(head, self._method))
            self._feed(head)
        return True

    def _received(self, event: h11.Event | type[h11.NEED_DATA] | type[h11.PAUSED]) -> None:
        if isinstance(event, h11.InformationalResponse):
            self._informed += 1
            if self._informed > MAX_INFORMATIONAL:
                raise ProtocolFault("1xx heads without end")
        super()._received(event)

    def _headed(self, event: h11.Request | h11.Response) -> None:
        assert isinstance(event, h11.Response)
        ended = self._walk.done
        if ended:
            self._walk = _WHOLE
            self._h11.next_event()  # EndOfMessage: h11 is whole before the connection is pooled again
        head = ResponseHead(event.status_code, list(event.headers), ended=ended)
        if ended:
            self._finished()
        self._sink.head(self.stream, head)

    def _ended(self) -> None:
        if not self._walk_was_empty():
            self._finished()
            self._sink.end(self.stream)

    def _finished(self) -> None:
        self._busy = False
        # After an early answer the rest of the request will never be sent; and bytes behind the answer
        # would be read as the next person's.
        if not self._requested or self._held:
            self.closing = True

    def settle(self) -> None:
        """Called when the exchange has left: the connection may be pooled unless it is `closing`."""
        if self.closing or self._h11.our_state is h11.IDLE:
            return
        if self._h11.our_state is h11.DONE and self._h11.their_state is h11.DONE:
            self._h11.start_next_cycle()
        else:
            self.closing = True

    def eof(self, clean: bool) -> None:
        """The API server's end of the connection, `clean` when TLS said close_notify or there is no TLS."""
        self.closing = True
        if not self._busy:
            return
        self._busy = False
        if self._walk.until_close and not self._walk.done and clean:
            self._sink.end(self.stream)
        else:
            self._sink.reset(self.stream, Failure.CONNECTION if self._walk.done else Failure.TRUNCATED)

    def send_head(self, stream: int, head: RequestHead) -> None:
        """The request's head, with `Host` and the framing its content needs."""
        if stream != self.stream or self.closing:
            return
        self._busy = True
        self._informed = 0
        self._method = head.method
        self._walk = _WHOLE
        fields = [(b"host", head.authority), *head.fields]
        if not head.ended and not head.all(b"content-length"):
            fields.append((b"transfer-encoding", b"chunked"))
        self._send(h11.Request(method=head.method, target=head.target, headers=self._headers(fields)))
        self._requested = head.ended
        if head.ended:
            self._send(h11.EndOfMessage())
        else:
            self._declare(head.all(b"content-length"))

    def send_data(self, stream: int, data: bytes, end: bool) -> None:
        """Frames request content."""
        if stream != self.stream or self.closing or self._requested:
            return
        self._frame(data, end)
        self._requested = end

    def reset(self, stream: int, *, no_error: bool = False) -> None:
        """Gives the exchange up: the connection is out of step, so it closes."""
        if stream == self.stream and (self._busy or not self._requested):
            self._busy = False
            self.closing = True

    def go_away(self) -> None:
        """No more exchanges."""
        if not self._busy:
            self.closing = True
