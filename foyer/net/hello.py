"""How long a ClientHello says that it is, before OpenSSL makes room for it (spec 03, Transport).

OpenSSL takes one of 128 KiB, and has that memory, filled with zeros, as soon as the four octets that say so
have come: 2,000 newcomers that sent nine octets each and nothing more cost 260 MiB for as long as a handshake
may take. A browser's is 2 KiB, with keys that are safe from quantum computers.

All that a client says up to our ServerHello is in the clear, also the second ClientHello that follows a
HelloRetryRequest (RFC 8446 section 4.1.4). Behind it is nothing that OpenSSL has no closer limit for.
"""

MOST = 16 * 1024
"""Octets of a ClientHello: what one record holds."""

_RECORD_HEADER = 5
_HANDSHAKE = 22  # a record's type (RFC 8446 section 5.1)

_MESSAGE_HEADER = 4

_RANDOM = slice(11, 43)
"""Where a first record has the random of its ServerHello: behind the headers and a version of two octets."""

_RETRY = bytes.fromhex("cf21ad74e59a6111be1d8c021e65b891c2a211167abb8c5e079e09e2c8a8339c")
"""The random that makes a ServerHello a HelloRetryRequest (RFC 8446 section 4.1.3)."""


class Hello:
    """What one client says before it has its answer, as it comes: `fits` is asked of each piece in turn."""

    __slots__ = ("_answered", "_begun", "_header", "_is_handshake", "_record_left", "_rest")

    def __init__(self) -> None:
        self._answered = False
        self._header = b""  # as much of a record's as has come
        self._is_handshake = False
        self._record_left = 0  # octets of that record still to come
        self._begun = b""  # as much of a message's header as has come
        self._rest = 0  # octets of that message still to come

    def answered(self, said: bytes) -> None:
        """We have said this in a step of the handshake. Only to ask again for a hello leaves more to come."""
        if said and said[_RANDOM] != _RETRY:
            self._answered = True

    def fits(self, data: bytes | memoryview) -> bool:
        """Whether every message that begins in `data` may be as long as it says."""
        at = 0
        while at < len(data) and not self._answered:
            if not self._record_left:
                at += self._take_header(data[at : at + _RECORD_HEADER])
                continue
            piece = data[at : at + self._record_left]
            at += len(piece)
            self._record_left -= len(piece)
            if self._is_handshake and not self._messages_fit(piece):
                return False
        return True

    def _take_header(self, data: bytes | memoryview) -> int:
        """Goes on with a record's header; how many octets of it there are."""
        taken = data[: _RECORD_HEADER - len(self._header)]
        self._header += taken
        if len(self._header) == _RECORD_HEADER:
            self._is_handshake = self._header[0] == _HANDSHAKE
            self._record_left = self._header[3] << 8 | self._header[4]
            self._header = b""
        return len(taken)

    def _messages_fit(self, piece: bytes | memoryview) -> bool:
        while piece:
            if self._rest:
                passed = min(self._rest, len(piece))
                self._rest -= passed
            else:
                passed = min(_MESSAGE_HEADER - len(self._begun), len(piece))
                self._begun += piece[:passed]
                if len(self._begun) == _MESSAGE_HEADER:
                    self._rest = int.from_bytes(self._begun[1:], "big")
                    self._begun = b""
                    if self._rest > MOST:
                        return False
            piece = piece[passed:]
        return True
