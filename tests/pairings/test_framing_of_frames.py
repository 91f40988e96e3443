"""HTTP/2's part of Body: content and length agree, and malformed heads never go up (RFC 9113 section 8)."""

import pytest

from tests.support.browsers import H2Browser, H2Exchange
from tests.support.certs import ORIGIN_HOST
from tests.support.pairings import Pairing
from tests.support.script import Fields

PODS = b"/k8s/api/v1/pods"


@pytest.fixture(params=["h2"], ids=["browser-h2"])
def browser_version(request: pytest.FixtureRequest) -> str:
    """These are HTTP/2's messages."""
    return str(request.param)


def opened(pairing: Pairing, fields: Fields, *, end: bool = True) -> H2Exchange:
    browser = pairing.browser
    assert isinstance(browser, H2Browser)
    return browser.open(fields, end=end)


def pseudo(method: bytes = b"POST", path: bytes = PODS) -> dict[bytes, bytes]:
    return {b":method": method, b":scheme": b"https", b":authority": ORIGIN_HOST.encode(), b":path": path}


def mine(pairing: Pairing) -> Fields:
    return [(name.lower(), value) for name, value in pairing.me.change]


def assert_never_goes_up(pairing: Pairing, exchange: H2Exchange) -> None:
    """Refused with an answer of 4xx, a reset or the connection's end, before anything was sent."""
    exchange.read_until_end()
    assert exchange.status == 0 or 400 <= exchange.status < 500
    pairing.upstream.expect_nothing()


MALFORMED: dict[str, Fields] = {
    "a connection field": [(b"connection", b"keep-alive")],
    "keep-alive": [(b"keep-alive", b"timeout=5")],
    "proxy-connection": [(b"proxy-connection", b"close")],
    "transfer-encoding": [(b"transfer-encoding", b"chunked")],
    "upgrade": [(b"upgrade", b"websocket")],
    "te other than trailers": [(b"te", b"gzip")],
    "an upper-case name": [(b"X-Upper", b"1")],
    "a blank in a name": [(b"x y", b"1")],
    "a colon in a name": [(b"x:y", b"1")],
    "CRLF in a value": [(b"x-a", b"b\r\nimpersonate-user: root")],
    "LF in a value": [(b"x-a", b"b\nc")],
    "NUL in a value": [(b"x-a", b"b\0c")],
    "two lengths": [(b"content-length", b"2"), (b"content-length", b"3")],
    "a signed length": [(b"content-length", b"+2")],
    "another pseudo-header behind a field": [(b":path", b"/k8s/api")],
    "an unknown pseudo-header": [(b":unknown", b"1")],
}


@pytest.mark.parametrize("fields", MALFORMED.values(), ids=MALFORMED)
def test_a_malformed_head_never_goes_up(pairing: Pairing, fields: Fields) -> None:
    exchange = opened(pairing, [*pseudo().items(), *mine(pairing), *fields], end=False)
    # 501 for an Upgrade is spec 01's word, and as good as RFC 9113's reset.
    exchange.read_until_end()
    assert exchange.status in (0, 501) or 400 <= exchange.status < 500
    pairing.upstream.expect_nothing()


@pytest.mark.parametrize("missing", [b":method", b":path", b":scheme"])
def test_a_head_without_a_pseudo_header_never_goes_up(pairing: Pairing, missing: bytes) -> None:
    present = {name: value for name, value in pseudo().items() if name != missing}
    assert_never_goes_up(pairing, opened(pairing, [*present.items(), *mine(pairing)]))


@pytest.mark.parametrize(
    "path", [b"", b"*", b"k8s/api", b"https://foyer.test/k8s/api", b"/k8s/a b", b"/k8s/a\tb"]
)
def test_a_path_that_is_none_never_goes_up(pairing: Pairing, path: bytes) -> None:
    assert_never_goes_up(pairing, opened(pairing, [*pseudo(path=path).items(), *mine(pairing)]))


@pytest.mark.parametrize("method", [b"", b"GET /k8s/api/v1/secrets HTTP/1.1\r\nx:", b"G T", b"GET\r\n"])
def test_a_method_that_is_no_token_never_goes_up(pairing: Pairing, method: bytes) -> None:
    assert_never_goes_up(pairing, opened(pairing, [*pseudo(method=method).items(), *mine(pairing)]))


@pytest.mark.parametrize(("length", "sent"), [(10, 5), (5, 10), (0, 1), (1, 0)])
def test_content_that_differs_from_its_length_never_passes_for_whole(
    pairing: Pairing, length: int, sent: int
) -> None:
    fields = [*pseudo().items(), *mine(pairing), (b"content-length", b"%d" % length)]
    exchange = opened(pairing, fields, end=False)
    exchange.send_body(bytes(sent))
    exchange.end()
    exchange.read_until_end()
    assert exchange.status == 0 or 400 <= exchange.status < 600
    while pairing.script.turn():
        pass
    while pairing.upstream.arrived:
        request = pairing.upstream.expect()
        request.expect_cancelled()
        assert not request.ended


def test_a_header_list_beyond_the_limit_never_goes_up(pairing: Pairing) -> None:
    fields: Fields = [(b"x-%d" % number, b"y" * 1000) for number in range(40)]
    exchange = opened(pairing, [*pseudo(b"GET").items(), *mine(pairing), *fields])
    assert_never_goes_up(pairing, exchange)


def test_the_limit_of_a_header_list_is_advertised(pairing: Pairing) -> None:
    browser = pairing.browser
    assert isinstance(browser, H2Browser)
    pairing.script.until(
        lambda: browser.h2.remote_settings.max_header_list_size is not None, "the SETTINGS of foyer"
    )
    assert browser.h2.remote_settings.max_header_list_size == 32 * 1024
