"""Handlers over HTTP: content collected, answers sent, outflows paced."""

from collections.abc import Callable

import pytest

from foyer.demo.handler import Ending, Request, Streaming
from foyer.demo.server import Limit, Server, plain
from foyer.exchange.ports import HIGH_WATER, Answer, BrowserReceiver
from foyer.protocol.events import Field, RequestHead
from tests.demo.fakes import CONFIG_MAPS, Cluster, FakeSide
from tests.support.clock import Clock


class Echo:
    """A handler that answers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[Request] = []

    def __call__(self, request: Request, now: float) -> Answer:
        self.asked.append(request)
        return Answer(200, [(b"content-type", b"text/plain")], request.content or b"nothing")


class Flow:
    """An outflow whose pieces a test gives it."""

    def __init__(self) -> None:
        self.ending: Ending | None = None
        self.pieces: list[bytes] = []
        self.ticks: list[float] = []
        self.closed = 0
        self.wake: Callable[[], None] = lambda: None

    def open(self, wake: Callable[[], None], now: float) -> None:
        self.wake = wake

    def take(self) -> bytes | None:
        return self.pieces.pop(0) if self.pieces else None

    def tick(self, now: float) -> None:
        self.ticks.append(now)

    def close(self) -> None:
        self.closed += 1

    def give(self, *pieces: bytes) -> None:
        self.pieces += pieces
        self.wake()


def head(
    method: bytes = b"GET", target: bytes = b"/a?b=c", *fields: Field, ended: bool = True
) -> RequestHead:
    return RequestHead(method, target, list(fields), ended=ended)


def begin(server: Server, request: RequestHead) -> tuple[FakeSide, BrowserReceiver]:
    side = FakeSide()
    return side, server.begin(side, request)


@pytest.fixture
def flow() -> Flow:
    return Flow()


@pytest.fixture
def flowing(flow: Flow) -> Server:
    return Server(lambda request, now: Streaming(200, [], flow), Clock())


def test_a_request_without_content_is_answered_at_once_with_its_length() -> None:
    echo = Echo()
    side, _ = begin(Server(echo, Clock()), head())
    assert (side.status, side.sent, side.finished) == (200, b"nothing", True)
    assert side.field(b"content-length") == b"7"
    (request,) = echo.asked
    assert (request.method, request.path, request.query) == ("GET", "/a", "b=c")


def test_content_is_collected_until_it_is_whole() -> None:
    side, receiver = begin(Server(Echo(), Clock()), head(b"POST", ended=False))
    receiver.request_body(b"ab")
    receiver.request_body(b"cd")
    assert side.head is None
    receiver.request_end()
    assert side.sent == b"abcd"


def test_who_waits_for_a_100_gets_one_unless_the_content_is_too_large() -> None:
    server = Server(Echo(), Clock(), Limit(10, plain(413, "too much")))
    expecting = (b"expect", b"100-continue")
    side, _ = begin(server, head(b"POST", b"/", expecting, (b"content-length", b"10"), ended=False))
    assert side.informational == [100]
    side, _ = begin(server, head(b"POST", b"/", expecting, (b"content-length", b"11"), ended=False))
    assert (side.informational, side.status) == ([], 413)


def test_content_past_the_limit_is_refused_as_it_arrives_and_the_rest_dropped() -> None:
    echo = Echo()
    side, receiver = begin(
        Server(echo, Clock(), Limit(10, plain(413, "too much"))), head(b"POST", ended=False)
    )
    receiver.request_body(b"x" * 11)
    assert (side.status, side.finished) == (413, True)
    receiver.request_body(b"x" * 100)
    receiver.request_end()
    assert echo.asked == []


def test_head_is_answered_without_content_and_with_its_length() -> None:
    side, _ = begin(Server(Echo(), Clock()), head(b"HEAD"))
    assert side.head is not None and side.head.ended
    assert (side.sent, side.field(b"content-length")) == (b"", b"7")


@pytest.mark.parametrize("status", [204, 304])
def test_an_answer_that_never_has_content_has_no_length(status: int) -> None:
    side, _ = begin(Server(lambda request, now: Answer(status, []), Clock()), head())
    assert side.head is not None and side.head.ended
    assert side.field(b"content-length") is None


def test_a_fault_of_a_handler_ends_its_own_exchange_without_a_word_of_it(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def broken(request: Request, now: float) -> Answer:
        raise RuntimeError("secret")

    side, _ = begin(Server(broken, Clock()), head())
    assert (side.status, side.sent) == (500, b"Internal Server Error\n")
    assert "RuntimeError" in caplog.text


def test_pieces_are_sent_as_they_come(flow: Flow, flowing: Server) -> None:
    side, _ = begin(flowing, head())
    assert side.status == 200 and side.head is not None and not side.head.ended
    assert side.sent == b""
    flow.give(b"one", b"two")
    assert (side.sent, side.open, flowing.open_flows) == (b"onetwo", True, 1)


def test_a_browser_that_does_not_read_is_not_sent_more_until_it_has(flow: Flow, flowing: Server) -> None:
    side, receiver = begin(flowing, head())
    side.stalled = True
    flow.give(*[b"x" * 1000] * 100)
    assert HIGH_WATER < len(side.sent) <= HIGH_WATER + 1000
    flow.give(b"y")
    assert b"y" not in side.sent
    side.stalled, side.queued = False, 0
    receiver.browser_drained()
    assert len(side.sent) == 100_001


def test_an_outflow_that_completes_ends_the_response_after_its_last_piece(
    flow: Flow, flowing: Server
) -> None:
    side, _ = begin(flowing, head())
    flow.ending = Ending.COMPLETE
    flow.give(b"last")
    assert (side.sent, side.finished, side.aborted) == (b"last", True, False)
    assert (flow.closed, flowing.open_flows) == (1, 0)


def test_an_outflow_that_is_aborted_aborts_the_response_and_sends_no_more(
    flow: Flow, flowing: Server
) -> None:
    side, _ = begin(flowing, head())
    flow.ending = Ending.ABORTED
    flow.give(b"never")
    assert (side.sent, side.finished, side.aborted) == (b"", False, True)
    assert (flow.closed, flowing.open_flows) == (1, 0)


def test_a_browser_that_goes_closes_its_outflow(flow: Flow, flowing: Server) -> None:
    side, receiver = begin(flowing, head())
    receiver.browser_gone()
    receiver.browser_drained()
    flow.wake()
    assert (flow.closed, side.sent, flowing.open_flows) == (1, b"", 0)


def test_a_browser_that_goes_while_sending_gets_no_answer() -> None:
    echo = Echo()
    _, receiver = begin(Server(echo, Clock()), head(b"POST", ended=False))
    receiver.request_body(b"x")
    receiver.browser_gone()
    receiver.request_end()
    assert echo.asked == []


def test_head_of_an_outflow_opens_nothing(flow: Flow, flowing: Server) -> None:
    side, _ = begin(flowing, head(b"HEAD"))
    assert side.head is not None and side.head.ended
    assert flowing.open_flows == 0


def test_time_passes_for_whatever_flows() -> None:
    clock, flow = Clock(5.0), Flow()
    server = Server(lambda request, now: Streaming(200, [], flow), clock)
    _, receiver = begin(server, head())
    clock.advance(1)
    server.tick()
    receiver.browser_gone()
    server.tick()
    assert flow.ticks == [6.0]


def test_a_watch_flows_through_a_server_to_its_end(cluster: Cluster) -> None:
    server = Server(cluster.api, cluster.clock)
    fields = (b"authorization", b"Bearer ada")
    target = f"{CONFIG_MAPS}?watch=1&timeoutSeconds=30&allowWatchBookmarks=1".encode()
    side, _ = begin(server, head(b"GET", target, fields))
    cluster.config_map("m")
    assert [line[:15] for line in side.sent.splitlines()] == [b'{"type":"BOOKMA', b'{"type":"ADDED"']
    cluster.clock.advance(31)
    server.tick()
    assert (side.finished, cluster.store.subscribers()) == (True, 0)


def test_a_watcher_that_does_not_read_is_aborted_and_forgotten(cluster: Cluster) -> None:
    server = Server(cluster.api, cluster.clock)
    side, _ = begin(
        server, head(b"GET", f"{CONFIG_MAPS}?watch=1".encode(), (b"authorization", b"Bearer ada"))
    )
    side.stalled = True
    for number in range(13):
        cluster.config_map(f"m{number}", k="x" * 100_000)
    assert (side.aborted, server.open_flows, cluster.store.subscribers()) == (True, 0, 0)
