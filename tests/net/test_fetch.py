"""Fetches over real sockets: which server, over which connection, and who is believed (spec 02, Login)."""

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from foyer.exchange.ports import FetchFailed
from foyer.gate.wheel import Wheel
from foyer.net import upstream
from foyer.net.fetch import MAX_SERVERS, Fetcher
from foyer.net.turn import Turn
from foyer.net.upstream import client_context
from foyer.protocol.events import Failure
from tests.net.sockets import descriptors, on_a_loop, until
from tests.support.certs import UPSTREAM_HOST, server_context, stranger, write_authority

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


class Issuer:
    """A server that gives the same answer to everything, over HTTP/1.1."""

    def __init__(self, answer: bytes) -> None:
        self.answer = answer
        self.asked: list[bytes] = []
        self.connections = 0
        self.open = 0
        self.port = 0

    @property
    def url(self) -> str:
        return f"https://{UPSTREAM_HOST}:{self.port}"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self.open += 1
        try:
            while True:
                self.asked.append(await reader.readuntil(b"\r\n\r\n"))
                writer.write(self.answer)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            self.open -= 1
            writer.close()


@asynccontextmanager
async def issuer(answer: bytes = OK, tls: ssl.SSLContext | None = None) -> AsyncIterator[Issuer]:
    issuer = Issuer(answer)
    server = await asyncio.start_server(issuer.serve, "127.0.0.1", 0, ssl=tls or server_context("http/1.1"))
    issuer.port = server.sockets[0].getsockname()[1]
    yield issuer
    server.close()
    await until(lambda: not issuer.open)


@pytest.fixture(scope="module")
def roots(tmp_path_factory: pytest.TempPathFactory) -> ssl.SSLContext:
    return client_context(str(write_authority(tmp_path_factory.mktemp("roots"))), extra=False)


@asynccontextmanager
async def fetching(roots: ssl.SSLContext) -> AsyncIterator[Fetcher]:
    turn = Turn(asyncio.get_running_loop())
    before = descriptors()
    fetcher = Fetcher(roots, turn, Wheel(turn.now()))
    yield fetcher
    fetcher.close()
    await until(lambda: descriptors() <= before)


async def ask(fetcher: Fetcher, url: str, timeout: float = 10.0) -> bytes:
    return (await fetcher(b"GET", url, [], limit=1000, timeout=timeout)).content


@on_a_loop
async def test_one_fetch_after_another_reuses_the_connection(roots: ssl.SSLContext) -> None:
    async with issuer() as server, fetching(roots) as fetcher:
        for number in range(5):
            assert await ask(fetcher, f"{server.url}/keys?page={number}") == b"ok"
        assert server.connections == 1
        assert [request.split(b"\r\n")[0] for request in server.asked] == [
            b"GET /keys?page=%d HTTP/1.1" % number for number in range(5)
        ]
        fetcher.close()


@on_a_loop
async def test_the_authority_is_the_urls_without_its_user(roots: ssl.SSLContext) -> None:
    async with issuer() as server, fetching(roots) as fetcher:
        await ask(fetcher, server.url.replace("//", "//ada:secret@"))
        assert b"\r\nhost: 127.0.0.1:%d\r\n" % server.port in server.asked[0].lower()
        assert b"secret" not in server.asked[0]
        fetcher.close()


@on_a_loop
async def test_fetches_at_once_each_get_an_answer(roots: ssl.SSLContext) -> None:
    async with issuer() as server, fetching(roots) as fetcher:
        answers = await asyncio.gather(*(ask(fetcher, server.url) for _ in range(10)))
        assert answers == [b"ok"] * 10
        fetcher.close()


@on_a_loop
async def test_a_redirect_is_an_answer_like_any_and_is_not_followed(roots: ssl.SSLContext) -> None:
    async with issuer() as elsewhere, fetching(roots) as fetcher:
        moved = b"HTTP/1.1 302 Found\r\nLocation: %b/\r\nContent-Length: 0\r\n\r\n" % elsewhere.url.encode()
        async with issuer(moved) as server:
            answer = await fetcher(b"GET", server.url, [], limit=1000, timeout=10)
            assert answer.status == 302
            assert not elsewhere.connections
            fetcher.close()


@on_a_loop
async def test_a_proxy_in_the_environment_is_not_asked(
    roots: ssl.SSLContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with issuer() as server, issuer() as proxy, fetching(roots) as fetcher:
        for name in ("https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY", "http_proxy"):
            monkeypatch.setenv(name, f"http://{UPSTREAM_HOST}:{proxy.port}")
        assert await ask(fetcher, server.url) == b"ok"
        assert (server.connections, proxy.connections) == (1, 0)
        fetcher.close()


@on_a_loop
async def test_no_more_than_a_few_servers_are_kept(roots: ssl.SSLContext) -> None:
    async with fetching(roots) as fetcher, issuer() as first, issuer() as last:
        assert await ask(fetcher, first.url) == b"ok"
        others = [issuer() for _ in range(MAX_SERVERS - 1)]
        for each in others:
            assert await ask(fetcher, (await each.__aenter__()).url) == b"ok"
        assert first.open == 1
        assert await ask(fetcher, last.url) == b"ok"
        await until(lambda: first.open == 0)
        fetcher.close()
        for each in others:
            await each.__aexit__(None, None, None)


# Who is not believed, and who is not there.


async def failure(fetcher: Fetcher, url: str, timeout: float = 10.0) -> Failure:
    with pytest.raises(FetchFailed) as caught:
        await ask(fetcher, url, timeout)
    return caught.value.failure


@on_a_loop
async def test_a_certificate_by_a_stranger_is_a_tls_failure(roots: ssl.SSLContext) -> None:
    shown = server_context("http/1.1", ca=stranger())
    async with issuer(tls=shown) as server, fetching(roots) as fetcher:
        assert await failure(fetcher, server.url) is Failure.TLS
        assert server.asked == []


@on_a_loop
async def test_a_certificate_for_another_host_is_a_tls_failure(roots: ssl.SSLContext) -> None:
    shown = server_context("http/1.1", "elsewhere.test")
    async with issuer(tls=shown) as server, fetching(roots) as fetcher:
        assert await failure(fetcher, server.url) is Failure.TLS
        assert server.asked == []


@on_a_loop
async def test_nobody_who_listens_is_a_connection_failure(roots: ssl.SSLContext) -> None:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        async with fetching(roots) as fetcher:
            port = bound.getsockname()[1]
            assert await failure(fetcher, f"https://127.0.0.1:{port}/") is Failure.CONNECTION


@pytest.mark.parametrize("host", ["a" * 64 + ".test", ".test", "a..test"])
@on_a_loop
async def test_a_host_that_is_none_is_a_connection_failure(roots: ssl.SSLContext, host: str) -> None:
    async with fetching(roots) as fetcher:
        assert await failure(fetcher, f"https://{host}/") is Failure.CONNECTION


@on_a_loop
async def test_a_server_that_takes_no_connection_is_a_timeout_of_the_fetch(roots: ssl.SSLContext) -> None:
    async with fetching(roots) as fetcher, full() as port:
        assert await failure(fetcher, f"https://127.0.0.1:{port}/", 0.1) is Failure.TIMEOUT


@on_a_loop
async def test_a_server_that_takes_no_connection_is_a_timeout_of_the_pool(
    roots: ssl.SSLContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(upstream, "CONNECT_TIME", 0.1)
    async with fetching(roots) as fetcher, full() as port:
        assert await failure(fetcher, f"https://127.0.0.1:{port}/") is Failure.TIMEOUT


@asynccontextmanager
async def full() -> AsyncIterator[int]:
    """A port whose queue of connections is full: the kernel answers nobody any more."""
    loop = asyncio.get_running_loop()
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        waiting = []
        while True:
            sock = socket.socket()
            sock.setblocking(False)
            waiting.append(sock)
            try:
                async with asyncio.timeout(0.1):
                    await loop.sock_connect(sock, listener.getsockname())
            except TimeoutError:
                break
        yield listener.getsockname()[1]
        for sock in waiting:
            sock.close()
