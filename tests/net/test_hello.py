"""A ClientHello's length is looked at before OpenSSL makes room for it."""

import ssl
from contextlib import suppress
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foyer.net.hello import MOST, Hello
from foyer.net.listener import server_context
from foyer.net.tls import TLSWire
from tests.net.offline import Offline, Transport
from tests.net.sockets import Heard
from tests.support.certs import ORIGIN_HOST, authority, write_certificate

CHANGE_CIPHER_SPEC = b"\x14\x03\x03\x00\x01\x01"


def record(content: bytes, kind: int = 22) -> bytes:
    return bytes([kind, 3, 1]) + len(content).to_bytes(2, "big") + content


def begun(size: int) -> bytes:
    """As much of a ClientHello as says that it is so long."""
    return b"\x01" + size.to_bytes(3, "big")


@pytest.fixture(scope="module")
def context(tmp_path_factory: pytest.TempPathFactory) -> ssl.SSLContext:
    certificate, key = write_certificate(tmp_path_factory.mktemp("certificate"), ORIGIN_HOST)
    return server_context(str(certificate), str(key))


def test_a_hello_may_be_as_long_as_a_record_and_no_longer() -> None:
    assert Hello().fits(record(begun(MOST)))
    assert not Hello().fits(record(begun(MOST + 1)))
    assert not Hello().fits(record(begun(0xFFFFFF)))


@given(
    before=st.lists(st.sampled_from([CHANGE_CIPHER_SPEC, record(begun(3) + b"abc"), record(begun(0))])),
    size=st.integers(0, 0xFFFFFF),
    apart=st.integers(1, 3),
    cuts=st.lists(st.integers(0, 200)),
)
def test_however_it_comes_and_whatever_came_before_its_length_is_seen(
    before: list[bytes], size: int, apart: int, cuts: list[int]
) -> None:
    header = begun(size)
    said = b"".join(before) + record(header[:apart]) + record(header[apart:])
    ends = [0, *sorted(min(cut, len(said)) for cut in cuts), len(said)]
    hello = Hello()
    assert all(hello.fits(said[begin:end]) for begin, end in pairwise(ends)) == (size <= MOST)


def test_what_comes_behind_our_server_hello_is_not_looked_at() -> None:
    hello = Hello()
    hello.answered(b"")
    assert not hello.fits(record(begun(MOST + 1)))
    hello = Hello()
    hello.answered(record(b"\x02\x00\x00\x30\x03\x03" + bytes(32)))
    assert hello.fits(record(begun(MOST + 1)))


class Newcomer:
    """A browser's end of TLS, and foyer's."""

    def __init__(
        self,
        context: ssl.SSLContext,
        tls: ssl.SSLContext | None = None,
        session: ssl.SSLSession | None = None,
    ) -> None:
        self._offline = Offline()
        self.heard = Heard()
        self._transport = Transport(self._offline.loop, TLSWire(self.heard, context, turn=self._offline.turn))
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.tls = (tls or trusting()).wrap_bio(
            self._incoming, self._outgoing, server_hostname=ORIGIN_HOST, session=session
        )

    def step(self, behind: bytes = b"") -> None:
        """Its next one, as far as it has heard foyer's, with something `behind` it; and then foyer's."""
        self._incoming.write(self._transport.take())
        with suppress(ssl.SSLWantReadError):
            self.tls.do_handshake()
        self.say(self._outgoing.read() + behind)

    def say(self, data: bytes) -> None:
        self._transport.bring(data)
        self._offline.run()


def trusting() -> ssl.SSLContext:
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    authority().configure_trust(tls)
    return tls


@pytest.fixture
def asks_again(tmp_path: Path) -> ssl.SSLContext:
    """A server that has no use for the key that a client sends at first (RFC 8446 section 4.1.4)."""
    context = server_context(*map(str, write_certificate(tmp_path, ORIGIN_HOST)))
    context.set_ecdh_curve("secp384r1")
    return context


def test_nine_octets_that_announce_a_long_hello_end_the_connection(context: ssl.SSLContext) -> None:
    newcomer = Newcomer(context)
    newcomer.say(record(begun(131_000)))
    assert len(newcomer.heard.reasons) == 1


def test_a_second_hello_may_be_no_longer(asks_again: ssl.SSLContext) -> None:
    newcomer = Newcomer(asks_again)
    newcomer.step()
    assert not newcomer.heard.reasons
    newcomer.say(CHANGE_CIPHER_SPEC + record(begun(131_000)))
    assert len(newcomer.heard.reasons) == 1


def test_nor_may_one_that_comes_before_it_is_asked_for(asks_again: ssl.SSLContext) -> None:
    newcomer = Newcomer(asks_again)
    newcomer.step(behind=CHANGE_CIPHER_SPEC + record(begun(131_000)))
    assert len(newcomer.heard.reasons) == 1


def test_whoever_is_asked_for_a_second_hello_is_served(asks_again: ssl.SSLContext) -> None:
    newcomer = Newcomer(asks_again)
    newcomer.step()
    newcomer.step()
    assert not newcomer.heard.protocols, "it was asked again"
    newcomer.step()
    assert newcomer.heard.protocols == ["http/1.1"]


def test_a_tls_1_2_session_is_resumed_whatever_its_encrypted_finished_looks_like(
    context: ssl.SSLContext,
) -> None:
    tls = trusting()
    tls.maximum_version = ssl.TLSVersion.TLSv1_2
    first = Newcomer(context, tls)
    first.step()
    first.step()
    first.step()
    session = first.tls.session
    for _ in range(3):
        again = Newcomer(context, tls, session)
        again.step()
        again.step(behind=record(begun(131_000)))
        assert again.tls.session_reused
        assert again.heard.protocols == ["http/1.1"]
