"""How TLS ends, and what that makes of a message (RFC 8446 section 6.1; RFC 9112 section 9.8).

Only a close_notify says that a connection's last message is whole. Whoever is on the way can make a FIN.
"""

import ssl
from collections.abc import Callable, Iterator

import pytest

from tests.support.browsers import Exchange
from tests.support.certs import authority, server_context
from tests.support.pairings import JSON, TEXT, Pairing
from tests.support.script import Aborted, Fields, Whole
from tests.support.upstreams import Request
from tests.support.wire import Wire

PODS = "/k8s/api/v1/namespaces/n/pods"

NO_RECORD = b"\x17\x03\x03\x00\x30" + bytes(48)


def tampered(wire: Wire) -> None:
    """A record that nobody sealed, as from somebody on the way."""
    wire.socket.sendall(NO_RECORD)


ENDS: dict[str, Callable[[Wire], None]] = {
    "close_notify": Wire.finish,
    "FIN alone": Wire.cut,
    "RST": Wire.drop,
    "a record that nobody sealed": tampered,
}


# From the API server.


@pytest.mark.parametrize("end", ENDS.values(), ids=ENDS)
def test_content_that_only_the_close_ends_is_whole_by_a_close_notify_alone(
    pairing: Pairing, end: Callable[[Wire], None]
) -> None:
    if pairing.upstream_version == "h2":
        pytest.skip("RFC 9113 section 8.1: HTTP/2's content ends by END_STREAM alone")
    exchange = pairing.get(PODS)
    request = pairing.upstream.expect()
    request.respond(200, TEXT, until_close=True)
    request.send(b"a line\n")
    assert exchange.read_exactly(7) == b"a line\n"
    end(request.connection.wire)
    outcome = exchange.read_until_end()
    assert outcome.content == b"a line\n"
    if end is Wire.finish:
        assert outcome == Whole(b"a line\n")
        return
    assert isinstance(outcome, Aborted) and outcome.cut_short
    (line,) = pairing.logged("response cut short")
    kinds = {Wire.cut: "truncated", Wire.drop: "connection", tampered: "tls"}
    assert (line["cause"], line["failure"]) == ("upstream", kinds[end])


@pytest.mark.parametrize(
    "fields", [JSON, [*JSON, (b"content-length", b"1000")]], ids=["streamed", "of length"]
)
@pytest.mark.parametrize("end", ENDS.values(), ids=ENDS)
def test_a_part_is_never_whole_however_its_connection_ends(
    pairing: Pairing, fields: Fields, end: Callable[[Wire], None]
) -> None:
    exchange = pairing.get(PODS)
    request = pairing.upstream.expect()
    request.respond(200, fields)
    request.send(b'{"items":[')
    assert exchange.read_exactly(10) == b'{"items":['
    end(request.connection.wire)
    outcome = exchange.read_until_end()
    assert isinstance(outcome, Aborted) and outcome.cut_short
    assert outcome.content == b'{"items":['


@pytest.mark.parametrize("end", ENDS.values(), ids=ENDS)
def test_a_whole_response_is_whole_however_its_connection_ends(
    pairing: Pairing, end: Callable[[Wire], None]
) -> None:
    exchange = pairing.get(PODS)
    request = pairing.upstream.expect()
    request.answer(200, JSON, b"{}")
    if end is Wire.drop:
        assert exchange.read_until_end() == Whole(b"{}")  # a reset may overtake it (RFC 9293 section 3.10.7)
    end(request.connection.wire)
    assert exchange.read_until_end() == Whole(b"{}")


# From the browser, in the midst of an upload.


@pytest.mark.parametrize("length", [None, b"1000"], ids=["of unknown length", "of length"])
@pytest.mark.parametrize("end", ENDS.values(), ids=ENDS)
def test_a_part_of_an_upload_is_never_whole_however_its_connection_ends(
    pairing: Pairing, length: bytes | None, end: Callable[[Wire], None]
) -> None:
    fields = [] if length is None else [(b"Content-Length", length)]
    exchange = pairing.post(PODS, fields, end=False)
    request = pairing.upstream.expect()
    exchange.send_body(b'{"kind":')
    assert request.read_exactly(8) == b'{"kind":'
    end(pairing.browser.wire)
    request.expect_cancelled()
    assert not request.ended and request.content == b'{"kind":'
    pairing.upstream.expect_nothing()


# A certificate that the API server asks for.


@pytest.fixture(params=[ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3], ids=["1.2", "1.3"])
def asking(pairing: Pairing, request: pytest.FixtureRequest) -> Iterator[ssl.SSLContext]:
    """What the upstream speaks from now on: it asks for a certificate."""
    pairing.upstream.retire()
    context = server_context(pairing.upstream.alpn)
    context.minimum_version = context.maximum_version = request.param
    authority().configure_trust(context)
    with pairing.upstream.certified(context):
        yield context
        pairing.upstream.retire()


def test_a_server_that_would_like_a_certificate_goes_on_without(
    pairing: Pairing, asking: ssl.SSLContext
) -> None:
    """As Kubernetes does: people are known by their token."""
    asking.verify_mode = ssl.CERT_OPTIONAL
    exchange: Exchange = pairing.get(PODS)
    request: Request = pairing.upstream.expect()
    assert request.all("authorization") == [b"Bearer " + pairing.me.token]
    request.answer(200, JSON, b"{}")
    assert exchange.read_until_end() == Whole(b"{}")


def test_a_server_that_insists_on_one_is_unavailable_by_tls(pairing: Pairing, asking: ssl.SSLContext) -> None:
    asking.verify_mode = ssl.CERT_REQUIRED
    exchange = pairing.get(PODS)
    assert exchange.read_head()[0] == 502
    assert exchange.all("krm-foyer-interruption") == [b"UpstreamUnavailable"]
    exchange.read_until_end()
    assert pairing.logged("interruption")[0]["failure"] == "tls"
    pairing.upstream.expect_nothing()
