"""Spec 03, Body: a request whose framing is ambiguous is refused and its connection closed (A14).

Each of these is read in two ways by some pair of servers. What is glued on behind would be somebody
else's request at one of them; here it is never seen by any upstream.
"""

import pytest

from tests.support.browsers import H1Browser
from tests.support.certs import ORIGIN_HOST
from tests.support.pairings import JSON, Pairing
from tests.support.script import Fields, Whole

GLUED = b"GET /k8s/api/v1/smuggled HTTP/1.1\r\nHost: foyer.test\r\n\r\n"
CHUNKED = b"Transfer-Encoding: chunked\r\n"


@pytest.fixture(params=["h1"], ids=["browser-h1"])
def browser_version(request: pytest.FixtureRequest) -> str:
    """These are HTTP/1.1's bytes; HTTP/2 has frames (its own tests are at the end)."""
    return str(request.param)


def raw(pairing: Pairing, fields: bytes, content: bytes = b"", *, line: bytes | None = None) -> bytes:
    """A change of the signed-in person's with these field lines, and a request glued on behind it."""
    own = b"".join(b"%b: %b\r\n" % field for field in pairing.me.change)
    start = line or b"POST /k8s/api/v1/namespaces HTTP/1.1\r\n"
    return start + b"Host: foyer.test\r\n" + own + fields + b"\r\n" + content + GLUED


def assert_refused_and_closed(pairing: Pairing, data: bytes, statuses: tuple[int, ...] = (400,)) -> None:
    browser = pairing.browser
    assert isinstance(browser, H1Browser)
    exchange = browser.expect_answer("POST")
    browser.send_raw(data)
    assert exchange.read_head()[0] in statuses
    assert isinstance(exchange.read_until_end(), Whole)
    browser.read_connection_end()
    assert browser.surplus == b""
    assert len(pairing.logged("unreadable")) == 1


HEADS: dict[str, bytes] = {
    "a length and chunked": b"Content-Length: 2\r\n" + CHUNKED,
    "chunked and a length": CHUNKED + b"Content-Length: 2\r\n",
    "two differing lengths": b"Content-Length: 2\r\nContent-Length: 3\r\n",
    "a repeated length": b"Content-Length: 2\r\nContent-Length: 2\r\n",
    "a list of lengths": b"Content-Length: 2, 2\r\n",
    "a signed length": b"Content-Length: +2\r\n",
    "a negative length": b"Content-Length: -2\r\n",
    "a hexadecimal length": b"Content-Length: 0x2\r\n",
    "a length of no digits": b"Content-Length: \r\n",
    "a length with a blank within": b"Content-Length: 2 0\r\n",
    "a length beyond any": b"Content-Length: 99999999999999999999999999\r\n",
    "a folded field": b"X-A: b\r\n c\r\nContent-Length: 2\r\n",
    "a folded length": b"Content-Length:\r\n 2\r\n",
    "a folded coding": b"Transfer-Encoding:\r\n chunked\r\n",
    "a blank before the colon": b"Content-Length : 2\r\n",
    "a tab before the colon": b"Transfer-Encoding\t: chunked\r\n",
    "a blank before the name": b" Content-Length: 2\r\n",
    "a bare LF": b"X-A: b\nContent-Length: 2\r\n",
    "a bare CR": b"X-A: b\rContent-Length: 2\r\n",
    "a NUL in a value": b"X-A: b\0c\r\nContent-Length: 2\r\n",
    "no colon": b"Content-Length 2\r\n",
    "an empty name": b": 2\r\n",
    "a name that is no token": b"Content(Length): 2\r\n",
    "another coding": b"Transfer-Encoding: gzip\r\n",
    "another coding and chunked": b"Transfer-Encoding: gzip, chunked\r\n",
    "chunked twice": b"Transfer-Encoding: chunked, chunked\r\n",
    "chunked in two lines": CHUNKED + CHUNKED,
    "chunked with a parameter": b"Transfer-Encoding: chunked;a=b\r\n",
    "chunked by another spelling": b"Transfer-Encoding: xchunked\r\n",
    "chunked behind a vertical tab": b"Transfer-Encoding: \x0bchunked\r\n",
    "identity": b"Transfer-Encoding: identity\r\n",
    "an empty coding": b"Transfer-Encoding: \r\n",
}


@pytest.mark.parametrize("fields", HEADS.values(), ids=HEADS)
def test_an_ambiguous_head_is_refused_and_its_connection_closed(pairing: Pairing, fields: bytes) -> None:
    # 501 is RFC 9112 section 6.1's word for a transfer coding that is not understood.
    statuses = (400, 501) if b"ncoding" in fields else (400,)
    assert_refused_and_closed(pairing, raw(pairing, fields, b"{}"), statuses)
    pairing.upstream.expect_nothing()


LINES: dict[str, bytes] = {
    "a bare LF": b"POST /k8s/api HTTP/1.1\n",
    "two blanks": b"POST  /k8s/api HTTP/1.1\r\n",
    "a tab": b"POST\t/k8s/api HTTP/1.1\r\n",
    "a blank behind": b"POST /k8s/api HTTP/1.1 \r\n",
    "no version": b"POST /k8s/api\r\n",
    "an old version": b"POST /k8s/api HTTP/0.9\r\n",
    "another version": b"POST /k8s/api HTTP/1.2\r\n",
    "HTTP/2's in text": b"POST /k8s/api HTTP/2.0\r\n",
    "a blank in the target": b"POST /k8s/a b HTTP/1.1\r\n",
    "a control in the target": b"POST /k8s/a\x01b HTTP/1.1\r\n",
    "a method that is no token": b"PO(ST /k8s/api HTTP/1.1\r\n",
    "a bare CR": b"POST /k8s/api\rHTTP/1.1\r\n",
}


@pytest.mark.parametrize("line", LINES.values(), ids=LINES)
def test_an_ambiguous_request_line_is_refused_and_its_connection_closed(
    pairing: Pairing, line: bytes
) -> None:
    data = raw(pairing, b"Content-Length: 2\r\n", b"{}", line=line)
    assert_refused_and_closed(pairing, data, (400, 505))
    pairing.upstream.expect_nothing()


HOSTS: dict[str, bytes] = {
    "none": b"",
    "two": b"Host: foyer.test\r\nHost: foyer.test\r\n",
    "two that differ": b"Host: foyer.test\r\nHost: evil.test\r\n",
}


@pytest.mark.parametrize("hosts", HOSTS.values(), ids=HOSTS)
def test_a_request_without_exactly_one_host_is_refused(pairing: Pairing, hosts: bytes) -> None:
    cookie = b"Cookie: " + pairing.me.cookie + b"\r\n"
    data = b"GET /k8s/api HTTP/1.1\r\n" + hosts + cookie + b"\r\n" + GLUED
    assert_refused_and_closed(pairing, data)
    pairing.upstream.expect_nothing()


CHUNKS: dict[str, bytes] = {
    "junk in the place of a chunk's CRLF": b"5\r\nhelloXX0\r\n\r\n",
    "nothing in the place of a chunk's CRLF": b"5\r\nhello0\r\n\r\n",
    "a bare LF behind a size": b"5\nhello\r\n0\r\n\r\n",
    "a bare CR behind a size": b"5\rhello\r\n0\r\n\r\n",
    "a bare LF behind a chunk": b"5\r\nhello\n0\r\n\r\n",
    "a bare LF behind the last chunk": b"5\r\nhello\r\n0\n\r\n",
    "an extension with a bare LF": b"5;a=\nb\r\nhello\r\n0\r\n\r\n",
    "a signed size": b"+5\r\nhello\r\n0\r\n\r\n",
    "a negative size": b"-5\r\nhello\r\n0\r\n\r\n",
    "a size with its base": b"0x5\r\nhello\r\n0\r\n\r\n",
    "a blank behind a size": b"5 \r\nhello\r\n0\r\n\r\n",
    "a blank before a size": b" 5\r\nhello\r\n0\r\n\r\n",
    "an underscore in a size": b"0_5\r\nhello\r\n0\r\n\r\n",
    "seventeen digits": b"00000000000000005\r\nhello\r\n0\r\n\r\n",
    "a size beyond any": b"FFFFFFFFFFFFFFFFF\r\nhello\r\n0\r\n\r\n",
    "no size": b"\r\nhello\r\n0\r\n\r\n",
    "a size of no digits": b"g\r\nhello\r\n0\r\n\r\n",
    "a trailer with a bare LF": b"5\r\nhello\r\n0\r\nX-A: b\n\r\n",
    "a folded trailer": b"5\r\nhello\r\n0\r\nX-A: b\r\n c\r\n\r\n",
    "a trailer without a colon": b"5\r\nhello\r\n0\r\nX-A\r\n\r\n",
}


@pytest.mark.parametrize("content", CHUNKS.values(), ids=CHUNKS)
def test_a_trick_with_chunks_is_refused_and_nothing_behind_it_is_seen(
    pairing: Pairing, content: bytes
) -> None:
    """The request's head may have gone up by then: what goes up behind it is an abort."""
    assert_refused_and_closed(pairing, raw(pairing, CHUNKED, content))
    # Whatever reached the upstream of this request did so before the answer was read.
    while pairing.script.turn():
        pass
    assert all(request.target == b"/api/v1/namespaces" for request in pairing.upstream.arrived)
    while pairing.upstream.arrived:
        request = pairing.upstream.expect()
        request.expect_cancelled()
        assert not request.ended


def test_a_trick_that_comes_after_the_head_went_up_is_an_abort_upstream(pairing: Pairing) -> None:
    browser = pairing.browser
    assert isinstance(browser, H1Browser)
    exchange = pairing.post("/k8s/api/v1/namespaces", end=False)
    request = pairing.upstream.expect()
    exchange.send_body(b"hello")
    assert request.read_exactly(5) == b"hello"
    browser.send_raw(b"5\nhello\r\n0\r\n\r\n" + GLUED)
    request.expect_cancelled()
    assert not request.ended
    browser.read_connection_end()
    pairing.upstream.expect_nothing()


@pytest.mark.parametrize("content", [b"5;a=b\r\nhello\r\n0\r\n\r\n", b'5;a="b;c"\r\nhello\r\n0;x\r\n\r\n'])
def test_a_chunk_extension_never_goes_up(pairing: Pairing, content: bytes) -> None:
    """RFC 9112 section 7.1.1 would have it dropped, but readers disagree on where one ends."""
    browser = pairing.browser
    assert isinstance(browser, H1Browser)
    exchange = browser.expect_answer("POST")
    browser.send_raw(raw(pairing, CHUNKED, content).removesuffix(GLUED))
    assert exchange.read_head()[0] == 400
    exchange.read_until_end()
    pairing.upstream.expect_nothing()


@pytest.mark.parametrize("size", [1, 7, 4096])
def test_an_unambiguous_request_split_anywhere_is_read_the_same(pairing: Pairing, size: int) -> None:
    browser = pairing.browser
    assert isinstance(browser, H1Browser)
    exchange = browser.expect_answer("POST")
    content = b"2\r\nhe\r\n00003\r\nllo\r\n0\r\nX-Trailer: dropped\r\n\r\n"
    data = raw(pairing, CHUNKED, content).removesuffix(GLUED)
    for start in range(0, len(data), size):
        browser.send_raw(data[start : start + size])
        pairing.script.turn()
    request = pairing.upstream.expect()
    assert request.read_until_end() == b"hello"
    request.answer(201, JSON, b"{}")
    assert exchange.read_until_end() == Whole(b"{}")


def test_a_head_beyond_the_limit_is_431(pairing: Pairing) -> None:
    exchange = pairing.get("/k8s/api", [(b"X-Large", b"x" * 70_000)])
    assert exchange.read_head()[0] == 431
    pairing.browser.read_connection_end()
    pairing.upstream.expect_nothing()


def test_more_fields_than_the_limit_are_431(pairing: Pairing) -> None:
    exchange = pairing.get("/k8s/api", [(b"X-%d" % number, b"y") for number in range(101)])
    assert exchange.read_head()[0] == 431
    pairing.browser.read_connection_end()
    pairing.upstream.expect_nothing()


def test_a_head_within_the_limits_is_read(pairing: Pairing) -> None:
    fields: Fields = [(b"X-%d" % number, b"y" * 500) for number in range(90)]
    exchange = pairing.get("/k8s/api", fields)
    pairing.upstream.expect().answer(200, JSON, b"{}")
    assert exchange.read_until_end() == Whole(b"{}")


@pytest.mark.parametrize("target", [b"https://foyer.test/k8s/api", b"*", b"k8s/api", b"foyer.test/k8s/api"])
def test_a_target_in_another_form_never_goes_up(pairing: Pairing, target: bytes) -> None:
    browser = pairing.browser
    exchange = browser.request("GET", target, pairing.me.fields)
    assert exchange.read_head()[0] in (400, 404)
    pairing.upstream.expect_nothing()


def test_the_host_decides_nothing(pairing: Pairing) -> None:
    exchange = pairing.get("/k8s/api", [(b"Host", b"evil.test")])
    request = pairing.upstream.expect()
    assert b"evil" not in request.authority
    assert ORIGIN_HOST.encode() not in request.authority
    request.answer(200, JSON, b"{}")
    assert exchange.read_until_end() == Whole(b"{}")
