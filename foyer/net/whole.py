"""A whole answer from a server, for a coroutine: what foyer asks on its own account.

The issuer's documents (spec 02, Login) and the API server's reviews (spec 01, `/auth/whoami`) are
read this one way: over the pool and the codecs that everything else uses, bounded in bytes and in
time, in no content coding, with no redirect followed and nothing sent twice.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from foyer.exchange.ports import (
    Answer,
    Cancellable,
    Expirable,
    FetchFailed,
    UpstreamReceiver,
    UpstreamSide,
)
from foyer.protocol.events import Failure, RequestHead, ResponseHead


async def whole_answer(
    open_side: Callable[[UpstreamReceiver], Cancellable],
    head: RequestHead,
    content: bytes = b"",
    *,
    limit: int,
    timeout: float,
) -> Answer:
    """The answer to `head` and `content`, on the place that `open_side` finds.

    What frames the content and refuses a coding is added to the head here. `limit` bounds the
    answer's content in bytes, `timeout` everything in seconds, the wait for a connection included: it
    fails by `Failure.TIMEOUT`, or by what it waited for all that time before it was asked.
    Raises `FetchFailed`; cancelled, it gives the request up.
    """
    fields = [*head.fields, (b"accept-encoding", b"identity")]
    if content:
        fields.append((b"content-length", b"%d" % len(content)))
    head = RequestHead(head.method, head.target, fields, authority=head.authority, ended=not content)
    call = _Call(head, content, limit)
    call.waiting = open_side(call)
    try:
        async with asyncio.timeout(timeout):
            return await call.answer
    except TimeoutError:
        raise FetchFailed(call.late()) from None
    finally:
        call.leave()
        # A failure's traceback has this frame, which by way of it would hold the failure: freed at once too.
        del call


class _Call:
    """One question, as the upstream's side sees it."""

    __slots__ = (
        "_content",
        "_failure",
        "_head",
        "_limit",
        "_received",
        "_response",
        "_side",
        "answer",
        "waiting",
    )

    def __init__(self, head: RequestHead, content: bytes, limit: int) -> None:
        self.answer: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self.waiting: Cancellable | None = None
        self._head = head
        self._content = content
        self._limit = limit
        self._side: UpstreamSide | None = None
        self._response: ResponseHead | None = None
        self._received = bytearray()  # pieces of two bytes would take fifty each in a list
        self._failure = Failure.TIMEOUT

    def leave(self) -> None:
        """Whatever is still going on is given up."""
        side, self._side = self._side, None
        if side is not None:
            side.cancel()
        # It holds this as well: without their cycle both are freed at once, not at a collection.
        waiting, self.waiting = self.waiting, None
        if waiting is not None:
            waiting.cancel()

    def late(self) -> Failure:
        """Why it is: its time is over."""
        waiting = self.waiting
        if self._side is None and isinstance(waiting, Expirable):
            waiting.expire()
        return self._failure

    def _fail(self, failure: Failure) -> None:
        self._failure = failure
        if not self.answer.done():
            self.answer.set_exception(FetchFailed(failure))
        self.leave()

    def upstream_open(self, side: UpstreamSide) -> None:
        """The request goes up, content and all."""
        self._side = side
        side.send_head(self._head)
        if self._content:
            side.send(self._content)
            side.finish()

    def response_head(self, head: ResponseHead) -> None:
        """The head: too long an answer is dropped before it is read."""
        self._response = head
        if head.declares_more_than(self._limit):
            self._fail(Failure.TOO_LARGE)
        elif any(coding.lower() != b"identity" for coding in head.all(b"content-encoding")):
            self._fail(Failure.PROTOCOL)  # not asked for, so not decoded
        elif head.ended:
            self._whole()

    def response_body(self, data: bytes) -> None:
        """Content, up to the limit."""
        if len(self._received) + len(data) > self._limit:
            self._fail(Failure.TOO_LARGE)
        else:
            self._received += data

    def response_end(self) -> None:
        """The answer is whole."""
        self._whole()

    def _whole(self) -> None:
        self._side = None
        response = self._response
        if response is not None and not self.answer.done():
            self.answer.set_result(Answer(response.status, response.fields, bytes(self._received)))

    def upstream_gone(self, failure: Failure) -> None:
        """No whole answer will come."""
        self._side = None
        self._fail(failure)

    def upstream_drained(self) -> None:
        """The content went up at once: nothing waits."""
