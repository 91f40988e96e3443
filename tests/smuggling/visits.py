"""Sends a case on a connection of its own, and takes all that comes back.

A visit is over when the server ends the connection, when every request of an HTTP/2 one has its answer, or
when nothing has come for `IDLE` seconds: somebody waits for more of a request then, and the visitor leaves.
"""

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass, field

import h2.config
import h2.connection
import h2.events
import h2.exceptions

from tests.smuggling.person import Person
from tests.smuggling.streams import Stream
from tests.support import reference_http1 as reference
from tests.support.frames import Goodbyes

IDLE = 0.3


@dataclass(frozen=True)
class Answer:
    """One final answer. `serial` is the number of the request that an upstream says it answers."""

    status: int
    serial: int | None
    content: bytes = field(repr=False)

    @property
    def read(self) -> tuple[bytes, bytes, bytes]:
        """Method, target and content as the upstream read them."""
        echo = json.loads(self.content)
        method, target, content = (echo[name].encode("latin-1") for name in ("method", "target", "content"))
        return method, target, content


@dataclass
class Visit:
    """What a person sent and got. `left`: the visitor went first. `reset`: the server did, by a TCP reset."""

    name: str
    person: Person
    sent: bytes | tuple[Stream, ...]
    left: bool = False
    reset: bool = False
    answers: list[Answer | None] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        """What it was, as short as it can be told."""
        if isinstance(self.sent, bytes):
            sent = repr(self.sent.replace(self.person.lines, b"<me>"))
        else:
            sent = ", ".join(str(stream.told(self.person)) for stream in self.sent)
        return f"{sent} was answered {[answer and (answer.status, answer.serial) for answer in self.answers]}"


async def visit_h1(name: str, person: Person, data: bytes, port: int, cuts: Sequence[int] = ()) -> Visit:
    """Sends `data`, in pieces that end at `cuts`."""
    visit = Visit(name, person, data)
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    received = b""
    try:
        for start, end in zip([0, *cuts], [*cuts, len(data)], strict=True):
            writer.write(data[start:end])
            await writer.drain()
            await asyncio.sleep(0)
        while piece := await asyncio.wait_for(reader.read(65536), IDLE):
            received += piece
    except TimeoutError:
        visit.left = True
    except ConnectionError:
        visit.reset = True
    finally:
        writer.close()
    _read_answers(visit, received)
    return visit


def _read_answers(visit: Visit, received: bytes) -> None:
    assert isinstance(visit.sent, bytes)
    requests, behind = readings(visit.sent)
    methods = [request.start.split(b" ")[0] for request in requests] + [behind.split(b" ")[0]]
    while received:
        method = methods[min(len(visit.answers), len(methods) - 1)]
        message = reference.response(received, method)
        if received.startswith(b"<html>") and not visit.answers:
            # To what looks like HTTP/0.9 nginx gives an answer without a head.
            visit.answers.append(Answer(400, None, received))
            return
        if not isinstance(message, reference.Message):
            visit.faults.append(f"an answer that is {message.value}: {received!r}")
            return
        received = received[message.size :]
        if (status := int(message.start[-3:])) >= 200:
            serials = [int(value) for name, value in message.fields if name == b"audit-id"]
            visit.answers.append(Answer(status, serials[0] if serials else None, message.content))


def readings(data: bytes) -> tuple[list[reference.Message], bytes]:
    """The requests that a strict reader finds, and what is left that has no reading, or more than one."""
    found = []
    while data and isinstance(message := reference.request(data), reference.Message):
        found.append(message)
        data = data[message.size :]
    return found, data


async def visit_h2(name: str, person: Person, streams: tuple[Stream, ...], port: int) -> Visit:
    """Sends each of `streams` whole, one after another and without waiting."""
    visit = Visit(name, person, streams, answers=[None] * len(streams))
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    talk = _Talk(visit)
    try:
        for number, stream in enumerate(streams):
            talk.send(2 * number + 1, stream)
        writer.write(talk.h2.data_to_send())
        while not talk.over and (piece := await asyncio.wait_for(reader.read(65536), IDLE)):
            talk.receive(piece)
            writer.write(talk.h2.data_to_send())
    except TimeoutError:
        visit.left = True
    except ConnectionError:
        visit.reset = True
    except h2.exceptions.ProtocolError as error:
        visit.faults.append(f"answered by what is not HTTP/2: {error!r}")
    finally:
        writer.close()
    return visit


class _Talk:
    """An HTTP/2 client that checks what comes and nothing that goes."""

    def __init__(self, visit: Visit) -> None:
        config = h2.config.H2Configuration(
            header_encoding=None, validate_outbound_headers=False, normalize_outbound_headers=False
        )
        self.h2 = h2.connection.H2Connection(config)
        self.h2.initiate_connection()
        self._goodbyes = Goodbyes()
        self._visit = visit
        self._heads: dict[int, tuple[int, int | None]] = {}
        self._contents: dict[int, bytes] = {}
        self._ended: set[int] = set()

    @property
    def over(self) -> bool:
        return len(self._ended) == len(self._visit.answers)

    def send(self, number: int, stream: Stream) -> None:
        ends = stream.end and not stream.trailers
        self.h2.send_headers(number, stream.fields, end_stream=ends and not stream.content)
        for place, piece in enumerate(stream.content):
            self.h2.send_data(number, piece, end_stream=ends and place == len(stream.content) - 1)
        if stream.trailers:
            self.h2.send_headers(number, stream.trailers, end_stream=True)

    def receive(self, data: bytes) -> None:
        for event in self.h2.receive_data(self._goodbyes.without(data)):
            match event:
                case h2.events.ResponseReceived(stream_id=number, headers=headers):
                    fields = {bytes(name): bytes(value) for name, value in headers}
                    serial = fields.get(b"audit-id")
                    self._heads[number] = int(fields[b":status"]), None if serial is None else int(serial)
                    self._contents[number] = b""
                case h2.events.DataReceived(stream_id=number, data=content, flow_controlled_length=length):
                    self._contents[number] += content
                    self.h2.acknowledge_received_data(length, number)
                case h2.events.StreamEnded(stream_id=number):
                    self._ended.add(number)
                    answer = Answer(*self._heads[number], self._contents[number])
                    self._visit.answers[number // 2] = answer
                case h2.events.StreamReset(stream_id=number):
                    self._ended.add(number)
                case _:
                    pass
