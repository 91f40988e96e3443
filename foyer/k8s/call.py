"""What foyer asks the API server on its own account, always with the signed-in person's token.

One pinned server, one whole answer, sent once (spec 03, What goes up: no redirect, no service
account, never anonymous). Whoever asks decides what an answer is worth; here it is only fetched.
"""

import json
from collections.abc import Mapping
from typing import Protocol

from foyer.exchange.ports import Answer, FetchFailed
from foyer.protocol.events import Failure, Fields, RequestHead
from foyer.session.seal import IdToken

MAX_ANSWER_BYTES = 16 * 1024 * 1024
"""Of an answer that is read whole: what one can cost in memory. Configured as `-max-target-answer-bytes`."""

ANSWER_TIME = 10.0
"""Seconds for the whole of one, the wait for a connection included (spec 01, `/auth/whoami`): a person
is waiting, and so is an ingress for each of theirs that it checks."""


class Ask(Protocol):
    """A whole answer from the API server: `foyer.net.whole.whole_answer` over its pool."""

    async def __call__(self, head: RequestHead, content: bytes, *, limit: int, timeout: float) -> Answer:
        """`limit` bounds the answer's content in bytes, `timeout` it all in seconds. Raises `FetchFailed`."""


class ApiServer:
    """The API server, as whoever creates a review sees it."""

    def __init__(self, ask: Ask, authority: bytes, max_answer_bytes: int = MAX_ANSWER_BYTES) -> None:
        self._ask = ask
        self._authority = authority
        self._max_answer_bytes = max_answer_bytes

    async def create(self, path: str, document: Mapping[str, object], token: IdToken) -> Answer | Failure:
        """POSTs `document` to `path` as the token's owner: the answer, of any status, or why there is none.

        Raises `AssertionError` for an empty token: a request without one would be sent as anonymous.
        """
        if not token:
            raise AssertionError("a request is never sent without its user's token")
        content = json.dumps(document, separators=(",", ":")).encode("ascii")
        fields: Fields = [
            (b"authorization", b"Bearer " + token),
            (b"accept", b"application/json"),
            (b"content-type", b"application/json"),
            (b"user-agent", b"foyer"),  # in the API server's audit log these are not the browser's own
        ]
        head = RequestHead(b"POST", path.encode("ascii"), fields, authority=self._authority, ended=False)
        try:
            return await self._ask(head, content, limit=self._max_answer_bytes, timeout=ANSWER_TIME)
        except FetchFailed as failed:
            return failed.failure
