"""A stream's unsent content at a scripted HTTP/2 peer: it leaves as flow control lets it."""

import h2.connection


class Outbox:
    """Content queued on one stream, and whether END_STREAM follows it."""

    def __init__(self, connection: h2.connection.H2Connection, stream: int) -> None:
        self._connection = connection
        self._stream = stream
        self._content = bytearray()
        self._ending = False
        self._closed = False

    def __len__(self) -> int:
        return len(self._content)

    def send(self, data: bytes) -> None:
        if not self._closed:
            self._content += data

    def end(self) -> None:
        self._ending = not self._closed

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
            self._connection.end_stream(self._stream)
