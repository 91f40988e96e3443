"""What the scripted HTTP/2 peers do around the h2 library: sending within windows, and GOAWAY."""

import h2.connection

from tests.support.script import Fields


class Outbox:
    """Content queued on one stream, and whether END_STREAM follows it."""

    def __init__(self, connection: h2.connection.H2Connection, stream: int) -> None:
        self._connection = connection
        self._stream = stream
        self._content = bytearray()
        self._trailers: Fields | None = None
        self._ending = False
        self._closed = False

    def __len__(self) -> int:
        return len(self._content)

    def send(self, data: bytes) -> None:
        if not self._closed:
            self._content += data

    def end(self, trailers: Fields | None = None) -> None:
        self._ending = not self._closed
        self._trailers = trailers

    def close(self) -> None:
        """The stream was reset: nothing more may be sent on it."""
        self._content.clear()
        self._ending, self._closed = False, True

    def push(self) -> None:
        """Give the h2 library what the windows allow (RFC 9113 section 5.2)."""
        while self._content:
            window = self._connection.local_flow_control_window(self._stream)
            room = min(window, self._connection.max_outbound_frame_size)
            if room <= 0:
                return
            self._connection.send_data(self._stream, bytes(self._content[:room]))
            del self._content[:room]
        if self._ending:
            self._ending, self._closed = False, True
            if self._trailers is None:
                self._connection.end_stream(self._stream)
                return
            fields = [(name.lower(), value) for name, value in self._trailers]
            self._connection.send_headers(self._stream, fields, end_stream=True)


class Goodbyes:
    """Takes GOAWAY frames out of what is received: the h2 library takes one for the end of everything.

    RFC 9113 section 6.8: the streams that a GOAWAY covers go on.
    """

    _GOAWAY = 7

    def __init__(self, preface: int = 0) -> None:
        """`preface` bytes come before the first frame."""
        self._preface = preface
        self._buffer = bytearray()
        self.received: list[tuple[int, int]] = []

    def without(self, data: bytes) -> bytes:
        """The whole frames so far, less each GOAWAY, whose last stream and code go to `received`."""
        self._buffer += data
        passed = bytearray()
        if self._preface:
            if len(self._buffer) < self._preface:
                return b""
            passed += self._buffer[: self._preface]
            del self._buffer[: self._preface]
            self._preface = 0
        while len(self._buffer) >= 9:
            size = 9 + int.from_bytes(self._buffer[:3], "big")
            if len(self._buffer) < size:
                break
            frame = bytes(self._buffer[:size])
            del self._buffer[:size]
            if frame[3] == self._GOAWAY:
                last, code = frame[9:13], frame[13:17]
                self.received.append((int.from_bytes(last, "big"), int.from_bytes(code, "big")))
            else:
                passed += frame
        return bytes(passed)
