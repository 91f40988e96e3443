"""A codec, the sink that hears what it makes of bytes, and what it says in return: a dialogue.

    talk = Talk(H1Server)
    assert talk.hears(b"GET /a HTTP/1.1\\r\\nHost: f\\r\\n\\r\\n") == ["1 GET /a ended"]
    talk.codec.send_head(1, ResponseHead(204, [], ended=True))
    assert talk.says() == b"HTTP/1.1 204 No Content\\r\\n\\r\\n"

What is heard is a line an event: `1 POST /a`, `1 200`, `1 content hello`, `1 end`, `1 reset truncated`,
`window 1`, `ready`, `going away`. `at_once` is what the sink does within an event, as exchanges do.
"""

from collections.abc import Callable, Iterable
from typing import Generic, TypeVar

import pytest

from foyer.protocol.events import Failure, Fields, RequestHead, ResponseHead, Sink
from foyer.protocol.fault import ProtocolFault
from foyer.protocol.h1 import H1Client, H1Server
from foyer.protocol.h2 import H2Client, H2Server

C = TypeVar("C", bound=H1Client | H1Server | H2Client | H2Server)


class Talk(Generic[C]):
    """The sink of one codec."""

    def __init__(self, codec: Callable[[Sink], C]) -> None:
        self.heard: list[str] = []
        self.heads: dict[int, RequestHead | ResponseHead] = {}
        self.flow: dict[int, int] = {}
        self.at_once: Callable[[str, int], None] = lambda event, stream: None
        self.codec = codec(self)

    def hears(self, *pieces: bytes) -> list[str]:
        """The events that these bytes, a read each, bring."""
        before = len(self.heard)
        for piece in pieces:
            self.codec.receive(piece)
        return self.heard[before:]

    def refuses(self, data: bytes, *, status: int = 400) -> list[str]:
        """The events before the fault that these bytes bring. After it, nothing is heard any more."""
        before = len(self.heard)
        with pytest.raises(ProtocolFault) as raised:
            self.codec.receive(data)
        assert raised.value.status == status
        heard = self.heard[before:]
        self.codec.receive(data)
        assert self.heard[before:] == heard, "something was heard after a fault"
        return heard

    def says(self) -> bytes:
        """What the codec has to write since it was last asked."""
        return self.codec.take()

    # The sink.

    def head(self, stream: int, head: RequestHead | ResponseHead) -> None:
        self.heads[stream] = head
        ended = " ended" if head.ended else ""
        if isinstance(head, RequestHead):
            self._tell(f"{stream} {head.method.decode()} {head.target.decode()}{ended}", stream)
        else:
            self._tell(f"{stream} {head.status}{ended}", stream)

    def content(self, stream: int, data: bytes, flow: int) -> None:
        self.flow[stream] = self.flow.get(stream, 0) + flow
        self._tell(f"{stream} content {data.decode('latin-1')}", stream)

    def end(self, stream: int) -> None:
        self._tell(f"{stream} end", stream)

    def reset(self, stream: int, failure: Failure) -> None:
        self._tell(f"{stream} reset {failure.value}", stream)

    def window(self, stream: int) -> None:
        self._tell(f"window {stream}", stream)

    def ready(self) -> None:
        self._tell("ready", 0)

    def going_away(self) -> None:
        self._tell("going away", 0)

    def _tell(self, event: str, stream: int) -> None:
        self.heard.append(event)
        self.at_once(event, stream)


def joined(events: Iterable[str]) -> list[str]:
    """The same events with each stream's neighbouring content as one: how it was cut says nothing."""
    found: list[str] = []
    for event in events:
        stream, _, content = event.partition(" content ")
        if content and found and found[-1].startswith(f"{stream} content "):
            found[-1] += content
        elif not event.endswith(" content "):
            found.append(event)
    return found


def answer(
    codec: H1Server | H2Server,
    stream: int,
    content: bytes = b"ok",
    *,
    status: int = 200,
    fields: Fields | None = None,
) -> None:
    """A whole response with its length."""
    length = (b"content-length", b"%d" % len(content))
    codec.send_head(stream, ResponseHead(status, [*(fields or []), length]))
    codec.send_data(stream, content, True)
