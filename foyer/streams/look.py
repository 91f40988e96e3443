"""A look at the first item of a scope, for how many bytes there are (spec 06, Memory).

A `limit=1` list as somebody who may see it. What comes of it is a number and nothing else, and anything but
the beginning of a list is no number: a refusal is theirs who looked, and is told to nobody.

One item may be a thousand times as large as the others. Where its word would be a refusal, and so the last
word, as what is never read is never known better, the next item speaks for the rest.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from foyer.admission.cap import Until
from foyer.admission.reads import Read
from foyer.exchange.contained import contained
from foyer.exchange.ports import Cancellable, UpstreamSide
from foyer.protocol.events import Failure, RequestHead, ResponseHead
from foyer.session.seal import IdToken
from foyer.streams import lists
from foyer.streams.request import is_plain_json

MOST = 4 * 1024 * 1024
"""Bytes of an answer that are read, and that nothing is reserved for: an object of etcd has 1.5 MiB, and as
JSON up to half as much again. Looks have as many at once as a target has slots."""


class Look:
    """One of a read's: a `foyer.streams.snapshot.Look`. How long it may take, its read's gate says."""

    __slots__ = (
        "_content",
        "_fault",
        "_first",
        "_fits",
        "_found",
        "_left",
        "_most",
        "_pending",
        "_read",
        "_request",
        "_side",
        "_size",
        "_token",
    )

    def __init__(
        self,
        read: Read,
        request: Callable[[str, IdToken], RequestHead],
        most: int,
        fits: Callable[[int], bool],
        found: Callable[[int | None], None],
        fault: Callable[[Exception], None],
    ) -> None:
        """`request` is for a list of one item: what it continues with, and whose it is. Of an answer `most`
        bytes are read. A size that `fits` needs no second look. `found` is called once, and `fault` is told
        where foyer's own code fails.
        """
        self._read = read
        self._request = request
        self._most = most
        self._fits = fits
        self._found: Callable[[int | None], None] | None = found
        self._fault = fault
        self._token = IdToken(b"")
        self._pending: Cancellable | None = None
        self._side: UpstreamSide | None = None
        self._content = bytearray()
        self._left = 0  # bytes of an answer that are still read
        self._size: int | None = None  # as far as it is known
        self._first: Seen | None = None  # once the second is looked at

    def start(self, token: IdToken) -> None:
        """Asks, as whose `token` it is."""
        self._token = token
        self._ask()

    def _ask(self) -> None:
        self._content, self._left = bytearray(), self._most
        pending = self._read.open(self, until=Until.WHOLE)
        if self._found is not None and self._side is None:
            self._pending = pending

    def cancel(self) -> None:
        """Whoever looked has left, or its time is over: what has been found by now is what there is."""
        self._end()

    def _see(self, seen: Seen | None) -> None:
        """What has been answered, or that nothing has."""
        self._leave()
        if seen is not None and seen.size is not None:
            self._size = seen.size + (0 if self._first is None else self._first.shown)
            if self._first is None and seen.token and not self._fits(seen.size):
                self._first = seen
                self._ask()
                return
        self._end()

    def _leave(self) -> None:
        pending, self._pending = self._pending, None
        if pending is not None:
            pending.cancel()
        side, self._side = self._side, None
        if side is not None:
            side.cancel()
        self._content = bytearray()

    def _end(self) -> None:
        self._leave()
        found, self._found = self._found, None
        if found is not None:
            found(self._size)

    def failed(self, error: Exception) -> None:
        """foyer's own code failed."""
        self._fault(error)
        self._end()

    # What the upstream's side tells.

    @contained
    def upstream_open(self, side: UpstreamSide) -> None:
        """A place was found."""
        self._pending = None
        self._side = side
        side.send_head(self._request("" if self._first is None else self._first.token, self._token))

    @contained
    def response_head(self, head: ResponseHead) -> None:
        """The API server has answered."""
        if head.ended:
            self._side = None
        if head.ended or head.status != 200 or not is_plain_json(head) or head.declares_more_than(self._most):
            self._see(None)

    @contained
    def response_body(self, data: bytes) -> None:
        """Content, up to the bound."""
        if self._side is None:
            return
        self._content += data
        self._left -= len(data)
        if self._left < 0:
            self._see(None)

    @contained
    def response_end(self) -> None:
        """The answer is whole."""
        self._side = None
        self._see(seen(bytes(self._content)))

    @contained
    def upstream_gone(self, failure: Failure) -> None:
        """It never will be."""
        self._side = self._pending = None
        self._see(None)

    def upstream_drained(self) -> None:
        """The request is all head: nothing waits."""


class Seen(NamedTuple):
    """What the beginning of a list says."""

    shown: int
    """Bytes of the items that it has."""
    size: int | None
    """Bytes of all from there on: times all there are; None if unsaid how many."""
    token: str
    """What comes behind them is asked for with this; "" where nothing does, or could."""


def seen(content: bytes) -> Seen | None:
    """The beginning of a list that `content` is, or None."""
    listed = lists.read(content)
    if listed is None:
        return None
    items, shown = listed.measure()
    if not listed.token:
        return Seen(shown, shown, "")
    # With a selector a server does not say how many remain.
    remaining = listed.remaining
    size = None if remaining is None or not items else shown + shown * remaining // items
    return Seen(shown, size, listed.token if listed.goes_on("") else "")
