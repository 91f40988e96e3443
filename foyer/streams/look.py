"""A look at the first item of a scope, for how many bytes there are (spec 06, Memory).

A `limit=1` list as somebody who may see it. What comes of it is a number and nothing else, and anything but
the beginning of a list is no number: a refusal is theirs who looked, and is told to nobody.
"""

from __future__ import annotations

from collections.abc import Callable

from foyer.admission.cap import Until
from foyer.admission.reads import Read
from foyer.exchange.contained import contained
from foyer.exchange.ports import Cancellable, UpstreamSide
from foyer.protocol.events import Failure, ResponseHead
from foyer.session.seal import IdToken
from foyer.streams import lists
from foyer.streams.request import get, is_plain_json


class Look:
    """One of a read's: a `foyer.streams.snapshot.Look`. How long it may take, its read's gate says."""

    __slots__ = (
        "_authority",
        "_fault",
        "_found",
        "_most",
        "_pending",
        "_pieces",
        "_read",
        "_side",
        "_target",
        "_token",
    )

    def __init__(
        self,
        read: Read,
        target: bytes,
        authority: bytes,
        most: int,
        found: Callable[[int | None], None],
        fault: Callable[[Exception], None],
    ) -> None:
        """`target` is asked for, and `most` bytes of an answer are read. `found` is called once.

        `fault` is told where foyer's own code fails.
        """
        self._read = read
        self._target = target
        self._authority = authority
        self._most = most
        self._found: Callable[[int | None], None] | None = found
        self._fault = fault
        self._token = IdToken(b"")
        self._pending: Cancellable | None = None
        self._side: UpstreamSide | None = None
        self._pieces: list[bytes] = []

    def start(self, token: IdToken) -> None:
        """Asks, as whose `token` it is."""
        self._token = token
        pending = self._read.open(self, until=Until.WHOLE)
        if self._found is not None and self._side is None:
            self._pending = pending

    def cancel(self) -> None:
        """Whoever looked has left."""
        self._find(None)

    def _find(self, size: int | None) -> None:
        pending, self._pending = self._pending, None
        if pending is not None:
            pending.cancel()
        side, self._side = self._side, None
        if side is not None:
            side.cancel()
        self._pieces = []
        found, self._found = self._found, None
        if found is not None:
            found(size)

    def failed(self, error: Exception) -> None:
        """foyer's own code failed."""
        self._fault(error)
        self._find(None)

    # What the upstream's side tells.

    @contained
    def upstream_open(self, side: UpstreamSide) -> None:
        """A place was found."""
        self._pending = None
        self._side = side
        side.send_head(get(self._target, self._token, self._authority))

    @contained
    def response_head(self, head: ResponseHead) -> None:
        """The API server has answered."""
        if head.ended:
            self._side = None
        if head.ended or head.status != 200 or not is_plain_json(head) or head.declares_more_than(self._most):
            self._find(None)

    @contained
    def response_body(self, data: bytes) -> None:
        """Content, up to the bound."""
        if self._side is None:
            return
        self._pieces.append(data)
        self._most -= len(data)
        if self._most < 0:
            self._find(None)

    @contained
    def response_end(self) -> None:
        """The answer is whole."""
        self._side = None
        self._find(size(b"".join(self._pieces)))

    @contained
    def upstream_gone(self, failure: Failure) -> None:
        """It never will be."""
        self._side = self._pending = None
        self._find(None)

    def upstream_drained(self) -> None:
        """The request is all head: nothing waits."""


def size(content: bytes) -> int | None:
    """Bytes of a whole list whose beginning `content` is: its item's, times all there are; None if unsaid."""
    listed = lists.read(content)
    if listed is None:
        return None
    shown = sum(end - begin for begin, end in listed.spans)
    if not listed.token:
        return shown
    # With a selector a server does not say how many remain.
    remaining = listed.remaining
    return None if remaining is None or not listed.spans else shown + shown * remaining // len(listed.spans)
