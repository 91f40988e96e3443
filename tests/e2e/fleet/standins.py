"""API servers that are none: each does one thing, whatever it is asked, over HTTP/1.1 and TLS.

What a real one cannot be brought to do is done here: a request that is taken and never answered, an answer
that never ends, one that comes by the octet, one that says that it will be too long.
"""

import asyncio
import ssl
from asyncio import StreamReader, StreamWriter
from collections.abc import Awaitable, Callable
from contextlib import suppress

from tests.e2e.harness.loop import LoopThread

Answers = Callable[["StandIn", StreamWriter], Awaitable[None]]
"""One answer, once the head of a request has come."""

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
BEGINNING = b'{"kind":"ConfigMapList","apiVersion":"v1","metadata":{},"items":['
PIECE = b" " * 64 * 1024


async def silent(stand_in: "StandIn", writer: StreamWriter) -> None:
    """Accepts, and never answers."""
    await asyncio.Event().wait()


async def endless(stand_in: "StandIn", writer: StreamWriter) -> None:
    """Answers without end, and without a length."""
    writer.write(HEAD + b"Transfer-Encoding: chunked\r\n\r\n")
    chunk = b"%x\r\n%b\r\n" % (len(PIECE), PIECE)
    writer.write(b"%x\r\n%b\r\n" % (len(BEGINNING), BEGINNING))
    while True:
        writer.write(chunk)
        await writer.drain()
        await asyncio.sleep(0)  # else a connection that has just been lost would never be heard of
        stand_in.sent += len(PIECE)


async def huge(stand_in: "StandIn", writer: StreamWriter) -> None:
    """Says that its answer will be a gigabyte, and sends none of it."""
    writer.write(HEAD + b"Content-Length: 1073741824\r\n\r\n")
    await writer.drain()
    await asyncio.Event().wait()


async def dripping(stand_in: "StandIn", writer: StreamWriter) -> None:
    """A list that would be whole in an hour, and always moves."""
    writer.write(HEAD + b"Content-Length: 100000\r\n\r\n" + BEGINNING)
    while True:
        writer.write(b" ")
        await writer.drain()
        await asyncio.sleep(0.05)


async def _end_of(reader: StreamReader) -> None:
    """Until nothing more comes."""
    while await reader.read(65536):
        pass


class StandIn:
    """One of them."""

    def __init__(self, loop: LoopThread, context: ssl.SSLContext, answers: Answers) -> None:
        self.sent = 0
        """Bytes of its answers that the kernel has taken, all together."""
        self.asked = 0
        self.left = 0
        """Requests, and those of them whose asker has closed the connection."""
        self._loop = loop
        self._answers = answers
        self._server = loop.run(asyncio.start_server(self._serve, "127.0.0.1", 0, ssl=context))
        self.port: int = self._server.sockets[0].getsockname()[1]
        self._serving: set[asyncio.Task[None]] = set()

    async def _serve(self, reader: StreamReader, writer: StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._serving.add(task)
        try:
            with suppress(ConnectionError, asyncio.IncompleteReadError, ssl.SSLError):
                await self._dialogue(reader, writer)
        finally:
            self._serving.discard(task)
            writer.close()

    async def _dialogue(self, reader: StreamReader, writer: StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        self.asked += 1
        answer = asyncio.ensure_future(self._answers(self, writer))
        leaving = asyncio.ensure_future(_end_of(reader))
        try:
            await asyncio.wait([answer, leaving], return_when=asyncio.FIRST_COMPLETED)
        finally:
            answer.cancel()
            leaving.cancel()
            await asyncio.gather(answer, leaving, return_exceptions=True)
            self.left += 1

    def close(self) -> None:
        """Listens no more, and leaves every connection."""
        self._loop.run(self._close())

    async def _close(self) -> None:
        self._server.close()
        for task in self._serving:
            task.cancel()
        await asyncio.gather(*self._serving, return_exceptions=True)
