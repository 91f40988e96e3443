"""What goes up when foyer asks on its own account, and what it makes of no answer."""

import asyncio
import json

import pytest

from foyer.exchange.ports import Answer, FetchFailed
from foyer.k8s.call import ANSWER_TIME, MAX_ANSWER_BYTES, ApiServer
from foyer.protocol.events import Failure, RequestHead
from foyer.session.seal import IdToken


class Asked:
    """An `Ask` that keeps what it was asked, and answers or fails as told."""

    def __init__(self, outcome: Answer | Failure) -> None:
        self.outcome = outcome
        self.head: RequestHead
        self.content: bytes
        self.bounds: tuple[int, float]

    async def __call__(self, head: RequestHead, content: bytes, *, limit: int, timeout: float) -> Answer:
        self.head, self.content, self.bounds = head, content, (limit, timeout)
        if isinstance(self.outcome, Failure):
            raise FetchFailed(self.outcome)
        return self.outcome


def test_a_document_is_created_with_the_persons_token_alone() -> None:
    ask = Asked(Answer(201, [], b"{}"))
    created = asyncio.run(
        ApiServer(ask, b"kubernetes:6443").create("/apis/a/v1/reviews", {"ä": 1}, IdToken(b"a.b.c"))
    )
    assert created == Answer(201, [], b"{}")
    assert (ask.head.method, ask.head.target) == (b"POST", b"/apis/a/v1/reviews")
    assert ask.head.authority == b"kubernetes:6443"
    assert ask.head.all(b"authorization") == [b"Bearer a.b.c"]
    assert ask.head.all(b"content-type") == [b"application/json"]
    assert json.loads(ask.content) == {"ä": 1}


def test_it_has_ten_seconds_and_sixteen_mebibytes() -> None:
    ask = Asked(Answer(201, [], b""))
    asyncio.run(ApiServer(ask, b"k").create("/", {}, IdToken(b"t")))
    assert ask.bounds == (MAX_ANSWER_BYTES, ANSWER_TIME) == (16 * 1024 * 1024, 10.0)


@pytest.mark.parametrize("failure", Failure)
def test_a_failure_is_a_value(failure: Failure) -> None:
    server = ApiServer(Asked(failure), b"k")
    assert asyncio.run(server.create("/", {}, IdToken(b"t"))) is failure


def test_without_a_token_nothing_is_sent() -> None:
    ask = Asked(Answer(201, [], b""))
    with pytest.raises(AssertionError, match="token"):
        asyncio.run(ApiServer(ask, b"k").create("/", {}, IdToken(b"")))
    assert not hasattr(ask, "head")
