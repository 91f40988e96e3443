"""Which streams are opened: the scope, and the gate's own refusals (spec 05, Scope; spec 04, the gate)."""

import pytest

from tests.pairings.counts import Counted
from tests.support.leaks import Leaks
from tests.support.pairings import JSON, Pairing, Products, SignedIn
from tests.support.script import Whole
from tests.support.streams import SCOPE, STREAM, Page, line, live

# What is no scope.

INVALID = [
    ("version=v1&resource=configmaps&token=", "version=v1&resource=configmaps"),
    ("version=v1&resource=ConfigMap", "version=v1"),
    (
        "version=v1&resource=configmaps&namespace=a&namespace=b",
        "version=v1&resource=configmaps&namespace=a",
    ),
    ("resource=configmaps", "resource=configmaps"),
    (f"{SCOPE}&target=elsewhere", SCOPE),
    (f"{SCOPE}&projection=krm-none/v1", SCOPE),
    ("", ""),
]


@pytest.mark.parametrize(("query", "shown"), INVALID)
def test_a_scope_that_cannot_be_read_is_an_event_and_asks_nothing(
    pairing: Pairing, query: str, shown: str
) -> None:
    secret = "eyJhbGciOi.sRtK.Xy"
    query = query + secret if query.endswith("token=") else query
    stream = Page(pairing.get(f"/stream/v1?{query}"))
    [event] = stream.expect("SCOPE_INVALID")
    assert event["terminal"] is True
    assert isinstance(stream.end(), Whole)
    assert stream.exchange.all("content-type") == [b"text/event-stream"]
    assert stream.exchange.all("x-krm-stream-protocol") == [b"1"]
    pairing.upstream.expect_nothing()
    [logged] = pairing.logged("refused")
    assert (logged["by"], logged["reason"], logged["scope"]) == ("foyer", "SCOPE_INVALID", shown)
    assert secret not in str(pairing.log)


# Versions without an order.


def without_order(pairing: Pairing) -> str:
    """What becomes of a live event whose version is no number."""
    stream, request = live(pairing)
    request.send(line("MODIFIED", version="abc", data=b"{}"))
    event = stream.next()
    if event["type"] == "error":
        assert isinstance(stream.end(), Whole)
    return str(event.get("code", event["type"]))


def test_a_version_that_is_no_number_ends_a_stream_unless_its_resource_may_have_one(
    browser_version: str, products: Products
) -> None:
    product = products.start("h2", True, {"stream-lenient-ordering": "notes.example.com"})
    pairing = Pairing(browser_version, products.upstream("h2"), product, Leaks(), tls=True)
    assert without_order(pairing) == "INTERNAL"
    product.flags["stream-lenient-ordering"] = "notes.example.com,configmaps"
    product.reload()
    assert without_order(pairing) == "modified"
    pairing.leave()
    product.stop()


# The gate's refusals are interruptions.


def asked_as(
    pairing: Pairing, person: SignedIn | None, method: str = "GET"
) -> tuple[int, list[bytes], list[bytes]]:
    exchange = pairing.connect().request(method, STREAM, person.fields if person else [])
    exchange.read_until_end()
    assert exchange.all("content-type") in ([b"application/json"], [])
    return exchange.status, exchange.all("krm-foyer-interruption"), exchange.all("allow")


def test_without_a_session_and_by_another_method_there_is_no_stream(pairing: Pairing) -> None:
    assert asked_as(pairing, None) == (401, [b"Unauthorized"], [])
    for method in ("HEAD", "POST", "OPTIONS"):
        assert asked_as(pairing, pairing.me, method) == (405, [b"MethodNotAllowed"], [b"GET"])
    pairing.upstream.expect_nothing()


@pytest.mark.parametrize("flags", [{"max-session-streams": "2", "max-streams": "3"}], ids=["few streams"])
def test_streams_have_limits_of_their_own_in_a_session_and_in_the_replica(pairing: Pairing) -> None:
    counted = Counted(pairing)
    mine = [live(pairing), live(pairing)]
    assert asked_as(pairing, pairing.me) == (429, [b"TooManyStreams"], [])
    someone = pairing.signed_in()
    live(pairing, person=someone)
    assert asked_as(pairing, someone) == (429, [b"TooManyStreams"], [])
    assert counted.moved("reached") == {("reached", "session_streams"): 1, ("reached", "streams"): 1}
    assert pairing.product.ask(lambda: pairing.product.measures.streams_open()) == 3
    pairing.connect().request("GET", "/k8s/api/v1/pods", pairing.me.fields)
    pairing.upstream.expect().answer(200, JSON, b"{}")
    mine[0][0].exchange.reset()
    mine[0][1].expect_cancelled()
    live(pairing, person=someone)


@pytest.mark.parametrize(
    "flags", [{"session-request-rate": "0.5", "session-request-burst": "2"}], ids=["slow"]
)
def test_a_stream_and_a_request_draw_on_one_rate(pairing: Pairing) -> None:
    live(pairing)
    pairing.connect().request("GET", "/k8s/api/v1/pods", pairing.me.fields)
    pairing.upstream.expect().answer(200, JSON, b"{}")
    assert asked_as(pairing, pairing.me) == (429, [b"RequestRateExceeded"], [])
