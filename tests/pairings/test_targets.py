"""Several API servers behind one foyer, over sockets (spec 06, Targets)."""

import json
import os
import re
from pathlib import Path

import pytest

from tests.streams.following import status
from tests.support.browsers import Exchange
from tests.support.pairings import JSON, Entries, Pairing
from tests.support.script import Fields, Whole
from tests.support.shared_streams import MAY, WHO
from tests.support.streams import STREAM, STREAMING_LIST, SYNCED, Page, line, opened
from tests.support.upstreams import H1Upstream, H2Upstream, Request

PODS = "/k8s/api/v1/pods"
AT_US = "/targets/us/k8s/api/v1/pods"
NOWHERE = "/targets/nowhere/k8s/api/v1/pods"
DOCUMENT: Fields = [(b"Sec-Fetch-Dest", b"document")]


@pytest.fixture(scope="session")
def token_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("targets") / "token"
    file.write_bytes(b"the.us.token\n")
    return file


@pytest.fixture
def targets(token_file: Path) -> Entries:
    return {"eu": {}, "us": {"sharedWatchTokenFile": str(token_file)}}


@pytest.fixture
def flags() -> dict[str, str]:
    return {"shared-watch-resources": "configmaps", "shared-watch-qps": "100000"}


def us(pairing: Pairing) -> H1Upstream | H2Upstream:
    return pairing.others["us"]


def assert_unknown(exchange: Exchange) -> None:
    exchange.read_until_end()
    assert exchange.status == 404
    assert exchange.all("krm-foyer-interruption") == [b"NotFound"]


# Requests


def test_a_request_goes_to_the_first_and_one_behind_a_name_to_that_one(pairing: Pairing) -> None:
    for path, upstream, other in (
        (PODS, pairing.upstream, us(pairing)),
        ("/targets/eu" + PODS, pairing.upstream, us(pairing)),
        (AT_US, us(pairing), pairing.upstream),
    ):
        exchange = pairing.get(path + "?limit=5&labelSelector=a%3Db")
        request = upstream.expect()
        assert (request.method, request.target) == (b"GET", b"/api/v1/pods?limit=5&labelSelector=a%3Db")
        assert request.all("authorization") == [b"Bearer " + pairing.me.token]
        assert request.authority == upstream.url.removeprefix("https://").encode()
        request.answer(200, JSON, b"{}")
        assert exchange.read_until_end() == Whole(b"{}")
        other.expect_nothing()


def test_what_holds_of_k8s_holds_behind_a_name(pairing: Pairing) -> None:
    exchange = pairing.post(AT_US, JSON, b'{"a":1}')
    request = us(pairing).expect()
    assert request.read_until_end() == b'{"a":1}'
    request.answer(409, JSON, b"{}")
    assert exchange.read_until_end() == Whole(b"{}")
    logged = pairing.logged("refused")[0]
    assert (logged["route"], logged["target"], logged["reason"]) == ("/targets", "us", "Conflict")

    unproved = pairing.browser.request("POST", AT_US, pairing.me.fields, b"{}")
    assert unproved.read_head()[0] == 403
    assert pairing.connect().request("GET", AT_US).read_head()[0] == 401
    exec_ = AT_US.replace("pods", "namespaces/a/pods/b/exec")
    assert pairing.connect().request("GET", exec_, pairing.me.fields).read_head()[0] == 501
    redirected = pairing.connect().request("GET", AT_US, pairing.me.fields)
    us(pairing).expect().answer(302, [(b"location", b"https://elsewhere.test/")])
    assert redirected.read_head()[0] == 502
    logged = pairing.logged("interruption")[-1]
    assert (logged["route"], logged["target"], logged["failure"]) == ("/targets", "us", "redirect")


def test_a_name_that_nobody_has_is_not_found_by_who_signed_in_and_by_nobody_else(pairing: Pairing) -> None:
    assert_unknown(pairing.get(NOWHERE))
    page = pairing.get(NOWHERE, DOCUMENT)
    assert_unknown(page)
    assert page.all("content-type") == [b"text/html; charset=utf-8"]
    stranger = pairing.connect().request("GET", NOWHERE)
    assert stranger.read_head()[0] == pairing.connect().request("GET", AT_US).read_head()[0] == 401
    assert [each.get("target") for each in pairing.logged("refused")] == [None] * 4


def test_one_that_is_not_there_takes_nothing_from_the_others(pairing: Pairing) -> None:
    with us(pairing).not_listening():
        exchange = pairing.get(AT_US)
        assert exchange.read_head()[0] == 502
        other = pairing.connect().request("GET", PODS, pairing.me.fields)
        pairing.upstream.expect().answer(200, JSON, b"{}")
        assert other.read_until_end() == Whole(b"{}")
    [logged] = pairing.logged("interruption")
    assert (logged["target"], logged["failure"]) == ("us", "connection")


# Streams


def test_a_stream_is_its_targets_and_without_one_the_firsts(pairing: Pairing) -> None:
    for query, asked in (("", ""), ("&target=eu", "eu")):
        page, request = opened(pairing, STREAM.replace("configmaps", "services") + query)
        assert request.all("authorization") == [b"Bearer " + pairing.me.token]
        request.respond(200, JSON)
        request.send(line("ADDED") + SYNCED)
        [reset, _, _] = page.expect("reset", "added", "synced")
        assert reset["scope"]["target"] == asked
        page.exchange.browser.close()
        request.expect_cancelled()
    page = Page(pairing.connect().request("GET", STREAM + "&target=us-west", pairing.me.fields))
    page.expect("SCOPE_INVALID")
    assert isinstance(page.end(), Whole)


def until_watched(upstream: H1Upstream | H2Upstream) -> tuple[Request, list[Request]]:
    """What is asked for that is no review, and the reviews before it, which say that somebody may."""
    who = {"userInfo": {"username": os.urandom(6).hex()}}
    reviews = []
    while (request := upstream.expect()).target in (WHO, MAY):
        reviews.append(request)
        request.read_until_end()
        said = who if request.target == WHO else {"allowed": True}
        request.answer(201, JSON, json.dumps({"status": said}).encode())
    return request, reviews


def test_with_a_token_of_its_own_a_target_shares_and_without_one_each_stream_is_read_as_its_person(
    pairing: Pairing,
) -> None:
    page, request = opened(pairing)
    assert request.all("authorization") == [b"Bearer " + pairing.me.token]
    request.respond(200, JSON)
    request.send(SYNCED)
    page.expect("reset", "synced")

    shared = Page(pairing.connect().request("GET", STREAM + "&target=us", pairing.me.fields))
    watch, reviews = until_watched(us(pairing))
    assert [review.target for review in reviews] == [WHO, MAY, MAY]
    assert watch.target == STREAMING_LIST
    assert watch.all("authorization") == [b"Bearer the.us.token"]
    watch.respond(200, JSON)
    watch.send(line("ADDED") + SYNCED)
    shared.expect("reset", "added", "synced")
    measures = pairing.product.measures
    assert pairing.product.ask(lambda: dict(measures.watches_open)) == {"user": 1, "shared": 1}
    assert pairing.product.ask(lambda: measures.shared_subscriptions_open) == 1


def test_an_identity_that_is_refused_is_said_of_its_target(pairing: Pairing) -> None:
    pairing.product.pass_time(61)  # it is said once a minute, and may have been, in a test before this one
    page = Page(pairing.connect().request("GET", STREAM + "&target=us", pairing.me.fields))
    watch, _ = until_watched(us(pairing))
    watch.answer(403, JSON, status(403, "no", "Forbidden"))
    page.expect("INTERNAL")
    [logged] = pairing.logged("shared watch identity refused")
    assert logged["target"] == "us"


# Who somebody is


def test_whoami_asks_the_one_that_is_named(pairing: Pairing) -> None:
    for query, upstream in (
        ("", pairing.upstream),
        ("?target=eu", pairing.upstream),
        ("?target=us", us(pairing)),
    ):
        exchange = pairing.get("/auth/whoami" + query)
        name = f"ada-at{query}"
        upstream.expect().answer(201, JSON, json.dumps({"status": {"userInfo": {"username": name}}}).encode())
        exchange.read_until_end()
        assert json.loads(exchange.content)["userInfo"] == {"username": name}
    for unknown in ("?target=nowhere", "?target=EU", "?target=%ff"):
        assert_unknown(pairing.get("/auth/whoami" + unknown))
    twice = pairing.get("/auth/whoami?target=eu&target=us")
    assert twice.read_head()[0] == 400


def test_the_check_asks_the_first(pairing: Pairing) -> None:
    exchange = pairing.get("/auth/check?identity=true")
    pairing.upstream.expect().answer(201, JSON, b'{"status":{"userInfo":{"username":"ada"}}}')
    assert exchange.read_head()[0] == 204


def test_the_access_page_names_the_one_it_asks_and_lets_one_choose(pairing: Pairing) -> None:
    for query, name, upstream in (("", "eu", pairing.upstream), ("?target=us", "us", us(pairing))):
        exchange = pairing.get("/_foyer/access" + query, DOCUMENT)
        upstream.expect().answer(201, JSON, b'{"status":{"incomplete":false}}')
        exchange.read_until_end()
        page = exchange.content.decode()
        assert f"those of <strong>{name}</strong>" in page
        assert re.findall(r"<option( selected)?>(\w+)</option>", page) == [
            (" selected" if each == name else "", each) for each in ("eu", "us")
        ]
    assert_unknown(pairing.get("/_foyer/access?target=nowhere", DOCUMENT))


# The dependencies


def dependencies(pairing: Pairing) -> dict[str, dict[str, object]]:
    exchange = pairing.connect().request("GET", "/_foyer/dependencies", pairing.me.fields)
    exchange.read_until_end()
    assert exchange.status == 200
    assert exchange.all("content-type") == [b"application/json"]
    assert exchange.all("cache-control") == [b"no-store"]
    shown = json.loads(exchange.content)
    assert set(shown) == {"issuer", "targets"}
    return {"issuer": shown["issuer"]} | {each.pop("name"): each for each in shown["targets"]}


def test_the_dependencies_are_as_traffic_has_shown_them(pairing: Pairing) -> None:
    held = pairing.connect().request("GET", PODS, pairing.me.fields)
    request = pairing.upstream.expect()
    shown = dependencies(pairing)
    assert list(shown) == ["issuer", "eu", "us"]
    assert shown["eu"]["slots"] == {"inUse": 1, "limit": 100000}
    assert shown["us"]["slots"] == {"inUse": 0, "limit": 100000}
    request.answer(200, JSON, b"{}")
    held.read_until_end()
    with us(pairing).not_listening():
        us(pairing).retire()  # so that nothing goes by a connection that is there
        assert pairing.get(AT_US).read_head()[0] == 502
        shown = dependencies(pairing)
    assert shown["eu"]["state"] == "up"
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", str(shown["eu"]["lastSuccess"]))
    assert shown["us"]["state"] == "down"
    failed = shown["us"]["lastFailure"]
    assert isinstance(failed, dict) and failed["kind"] == "connection"
    # Nobody can be asked at the issuer of these tests, and discovery goes on trying.
    assert shown["issuer"]["state"] == "down"
    assert shown["issuer"]["slots"] == {"inUse": 0, "limit": 16}
    again = pairing.connect().request("GET", AT_US, pairing.me.fields)
    us(pairing).expect().answer(503, JSON, b"{}")
    again.read_until_end()
    shown = dependencies(pairing)
    failed = shown["us"]["lastFailure"]
    assert isinstance(failed, dict)
    assert (shown["us"]["state"], failed["kind"]) == ("up", "status_503")


def test_they_are_for_who_has_signed_in_and_nothing_is_asked_for_them(pairing: Pairing) -> None:
    assert pairing.connect().request("GET", "/_foyer/dependencies").read_head()[0] == 401
    assert pairing.connect().request("POST", "/_foyer/dependencies", pairing.me.change).read_head()[0] == 405
    dependencies(pairing)
    exchange = pairing.connect().request("HEAD", "/_foyer/dependencies", pairing.me.fields)
    assert exchange.read_until_end() == Whole(b"")
    assert exchange.status == 200
    pairing.upstream.expect_nothing()
    us(pairing).expect_nothing()
