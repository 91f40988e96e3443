"""Shared watches over sockets, in each pairing (spec 05, Shared watches)."""

import json
import os
from pathlib import Path

import pytest

from tests.streams.following import config_map, error, page, status
from tests.streams.wires import Client
from tests.support.browsers import SMALL, H2Browser, H2Exchange
from tests.support.leaks import Leaks
from tests.support.pairings import JSON, Pairing, Products
from tests.support.remains import OF_EXCHANGES, left
from tests.support.script import Aborted, Whole
from tests.support.shared_streams import MAY, WHO, Reviews
from tests.support.streams import STREAM, STREAMING_LIST, SYNCED, Page, line
from tests.support.upstreams import Request

TOKEN = b"the.shared-watch.token"


@pytest.fixture(scope="session")
def token_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("shared") / "token"
    file.write_bytes(TOKEN + b"\n")
    return file


@pytest.fixture
def flags(token_file: Path) -> dict[str, str]:
    return {
        "shared-watch-resources": "configmaps,secrets,notes.notes.example.com",
        "shared-watch-token-file": str(token_file),
        "shared-watch-qps": "100000",
    }


@pytest.fixture
def reviews(pairing: Pairing) -> Reviews:
    pairing.leaks.secret(TOKEN, "the shared watch token")
    return Reviews(pairing, TOKEN)


def counts(pairing: Pairing) -> dict[str, int]:
    measures = pairing.product.measures
    return pairing.product.ask(
        lambda: {
            **measures.watches_open,
            "subscriptions": measures.shared_subscriptions_open,
            "overflows": measures.shared_overflows,
        }
    )


def changed(version: int, data: bytes | None = None) -> bytes:
    return line("MODIFIED", version=str(version), data=data or b'{"a":"%d"}' % version)


# One watch


def test_people_who_may_share_one_watch_and_each_is_asked_about(pairing: Pairing, reviews: Reviews) -> None:
    stream, request = reviews.first()
    assert (request.method, request.target) == (b"GET", STREAMING_LIST)
    assert request.all("authorization") == [b"Bearer " + TOKEN]
    assert request.all("accept-encoding") == [b"identity"]
    others = [reviews.joins(person=pairing.signed_in()) for _ in range(3)]
    assert counts(pairing) | {"overflows": 0} == {
        "user": 0,
        "shared": 1,
        "subscriptions": 4,
        "overflows": 0,
    }
    for version in range(11, 20):
        request.send(changed(version))
        for each in (stream, *others):
            each.expect("modified")
    assert [each.target for each in reviews.asked] == [WHO, MAY, MAY] * 4
    assert {tuple(each.all("authorization")) for each in reviews.asked if each.target == WHO} == {
        (b"Bearer " + token,) for token in reviews.names
    }
    for each in (stream, *others[:-1]):
        each.exchange.browser.close()
    request.send(changed(20))
    others[-1].expect("modified")
    others[-1].exchange.browser.close()
    request.expect_cancelled()
    pairing.script.until(lambda: counts(pairing)["subscriptions"] == 0, "nobody to be subscribed")
    assert counts(pairing)["shared"] == 0


def test_a_resource_that_is_not_shared_is_read_as_oneself(pairing: Pairing, reviews: Reviews) -> None:
    browser = pairing.connect()
    browser.request("GET", STREAM.replace("configmaps", "services"), pairing.me.fields)
    request = pairing.upstream.expect()
    assert request.all("authorization") == [b"Bearer " + pairing.me.token]
    assert reviews.asked == []


def test_many_of_one_page_share_its_connection_too(pairing: Pairing, reviews: Reviews) -> None:
    if pairing.browser_version == "h1":
        pytest.skip("several exchanges share a connection on HTTP/2 alone")
    browser = pairing.browser
    assert isinstance(browser, H2Browser)
    streams = [Page(browser.request("GET", STREAM, pairing.me.fields)) for _ in range(9)]
    request = reviews.until_watched()
    request.respond(200, JSON)
    request.send(line("ADDED") + SYNCED)
    for stream in streams:
        reviews.until_shown(stream, "reset", "added", "synced")
    assert len([each for each in reviews.asked if each.target == MAY]) == 2
    request.send(b"".join(changed(version) for version in range(11, 61)))
    for stream in streams:
        stream.expect(*["modified"] * 50)
    for stream in streams:
        stream.exchange.reset()
    request.expect_cancelled()


def test_where_there_are_no_streaming_lists_it_is_a_list_and_a_watch(
    pairing: Pairing, reviews: Reviews
) -> None:
    target = "/stream/v1?group=notes.example.com&version=v1&resource=notes"
    stream = reviews.open(target)
    listed = reviews.until_watched()
    if b"sendInitialEvents" in listed.target:  # this foyer has not been told yet, in a test before this one
        listed.answer(422, JSON, status(422, "sendInitialEvents is not here", "Invalid"))
        listed = reviews.until_watched()
    assert listed.target.endswith(b"/notes?limit=500")
    listed.answer(200, JSON, page([config_map(f"u{number}") for number in range(300)], kind="NoteList"))
    watch = reviews.until_watched()
    watch.respond(200, JSON)
    stream.expect("reset", *["added"] * 300, "synced")
    late = reviews.open(target, pairing.signed_in())
    reviews.until_shown(late, "reset", *["added"] * 300, "synced")
    watch.send(changed(101))
    stream.expect("modified")
    late.expect("modified")


def test_a_watch_that_ends_begins_all_of_them_again(pairing: Pairing, reviews: Reviews) -> None:
    stream, request = reviews.first()
    other = reviews.joins(person=pairing.signed_in())
    reviews.pass_time(3)
    request.send(changed(11))
    request.end()
    again = reviews.until_watched()
    for each in (stream, other):
        each.expect("modified", "RESYNC_REQUIRED")
    again.respond(200, JSON)
    again.send(line("ADDED", "u2", "20") + SYNCED)
    for each in (stream, other):
        reviews.until_shown(each, "reset", "added", "synced")
        client = Client()
        client.take(each.events)
        assert client.objects.keys() == {"u2"}
    assert counts(pairing)["shared"] == 1


# Who may


def test_a_denial_is_that_persons_alone_and_a_line_in_the_log(pairing: Pairing, reviews: Reviews) -> None:
    stream, request = reviews.first()
    reviews.denied[reviews.person(1)] = "no policy matched"
    refused = reviews.open(person=pairing.signed_in(email="bob@example.test"))
    reviews.until_shown(refused, "FORBIDDEN")
    assert refused.events[0]["message"] == "no policy matched"
    assert isinstance(refused.end(), Whole)
    [logged] = pairing.logged("refused")
    assert (logged["by"], logged["reason"], logged["user"]) == ("kubernetes", "FORBIDDEN", "bob@example.test")
    assert "no policy matched" not in json.dumps(pairing.log)
    request.send(changed(11))
    stream.expect("modified")


@pytest.mark.parametrize(
    ("path", "code", "word"),
    [
        (WHO, 401, "UNAUTHENTICATED"),
        (WHO, 403, "FORBIDDEN"),
        (WHO, 500, "UPSTREAM_UNAVAILABLE"),
        (MAY, 401, "INTERNAL"),
        (MAY, 403, "INTERNAL"),
        (MAY, 429, "UPSTREAM_UNAVAILABLE"),
        (MAY, 500, "UPSTREAM_UNAVAILABLE"),
    ],
)
def test_reviews_that_are_refused_or_fail_are_the_only_event(
    pairing: Pairing, reviews: Reviews, path: bytes, code: int, word: str
) -> None:
    reviews.statuses[path] = code
    stream = reviews.open()
    reviews.until_shown(stream, word)
    assert isinstance(stream.end(), Whole)
    if word == "INTERNAL":
        assert b"own words" not in stream.wire
    pairing.upstream.expect_nothing()


def test_that_foyers_own_identity_is_refused_is_said_once_in_a_minute(
    browser_version: str, upstream_version: str, flags: dict[str, str], products: Products
) -> None:
    product = products.start(upstream_version, True, flags)
    pairing = Pairing(browser_version, products.upstream(upstream_version), product, Leaks(), tls=True)
    reviews = Reviews(pairing, TOKEN)
    for _ in range(3):
        stream = reviews.open()
        reviews.until_watched().answer(403, JSON, status(403, "foyer may not"))
        stream.expect("INTERNAL")
        assert b"foyer may not" not in stream.wire
    assert len(pairing.logged("shared watch identity refused")) == 1
    product.pass_time(61)
    stream = reviews.open()
    reviews.until_watched().answer(401, JSON, status(401, "Unauthorized"))
    stream.expect("INTERNAL")
    assert len(pairing.logged("shared watch identity refused")) == 2
    pairing.leave()
    product.stop()


def test_a_revoked_grant_ends_an_open_stream_within_the_interval_and_the_ttl(
    pairing: Pairing, reviews: Reviews
) -> None:
    stream, request = reviews.first()
    other = reviews.joins(person=pairing.signed_in())
    reviews.denied[reviews.person(0)] = "revoked"
    reviews.pass_time(41)
    stream.expect("FORBIDDEN")
    assert isinstance(stream.end(), Whole)
    request.send(changed(11))
    other.expect("modified")


def test_a_revoked_grant_ends_one_whose_browser_reads_nothing_too(pairing: Pairing, reviews: Reviews) -> None:
    stream, request = reviews.first(receive_buffer=SMALL)
    other = reviews.joins(person=pairing.signed_in())
    stalled(pairing, stream, other, request)
    reviews.denied[reviews.person(0)] = "revoked"
    reviews.pass_time(60)
    pairing.script.until(lambda: counts(pairing)["subscriptions"] == 1, "the stream to be over")
    request.send(changed(100_000))
    seen(pairing, other, 100_000)


# Slow browsers


def big(version: int) -> bytes:
    """An event of twenty kilobytes."""
    return changed(version, b'{"%d":"%b"}' % (version, b"x" * 20_000))


def stalled(pairing: Pairing, stream: Page, other: Page, request: Request) -> int:
    """`stream` takes nothing any more, and events have filled all that is between; how many there were."""
    stream.exchange.browser.stop_reading()
    version = 11
    while not pairing.product.ask(lambda: _slow(pairing)):
        assert version < 2000, "it takes all there is"
        request.send(big(version))
        seen(pairing, other, version)
        version += 1
    return version - 11


def seen(pairing: Pairing, stream: Page, version: int) -> None:
    """Waits for the event of this version, where it is the last that was sent."""
    word, content = b'"resourceVersion":"%d"' % version, stream.exchange.content
    pairing.script.until(lambda: word in content[-30_000:], f"version {version}")


def _slow(pairing: Pairing) -> int:
    shared = pairing.product.target().shared
    readers = [reader for watch in shared._watches.values() for reader in watch.cache.readers]
    return sum(not reader.reads for reader in readers)


def test_one_that_stops_reading_is_ended_by_the_write_timeout_and_nobody_else_is_any_slower(
    pairing: Pairing, reviews: Reviews
) -> None:
    stream, request = reviews.first(receive_buffer=SMALL)
    other = reviews.joins(person=pairing.signed_in())
    sent = stalled(pairing, stream, other, request)
    for version in range(20_000, 20_300):
        request.send(changed(version))
        seen(pairing, other, version)
    for version in range(20_300, 20_315):
        reviews.pass_time(1)
        request.send(changed(version))
        seen(pairing, other, version)
    assert {each["cause"] for each in pairing.logged("response cut short")} == {"write_timeout"}
    assert counts(pairing)["subscriptions"] == 1
    stream.exchange.browser.go_on_reading()
    assert isinstance(stream.exchange.read_until_end(), Aborted)
    assert stream.wire.count(b'"modified"') <= sent


def test_over_http2_its_siblings_go_on(pairing: Pairing, reviews: Reviews) -> None:
    if pairing.browser_version == "h1":
        pytest.skip("several exchanges share a connection on HTTP/2 alone")
    browser = pairing.connect(window=16 * 1024)
    assert isinstance(browser, H2Browser)
    slow = Page(browser.request("GET", STREAM, pairing.me.fields))
    request = reviews.until_watched()
    request.respond(200, JSON)
    request.send(line("ADDED") + SYNCED)
    reviews.until_shown(slow, "reset", "added", "synced")
    sibling = Page(browser.request("GET", STREAM, pairing.me.fields))
    reviews.until_shown(sibling, "reset", "added", "synced")
    assert isinstance(slow.exchange, H2Exchange)
    slow.exchange.stop_reading()
    for version in range(11, 31):
        request.send(big(version))
        sibling.expect("modified")
    reviews.pass_time(15)
    assert isinstance(slow.exchange.read_until_end(), Aborted)
    request.send(changed(100))
    sibling.expect("modified")


def test_one_that_was_slow_gets_a_fresh_snapshot_from_the_cache(
    browser_version: str, upstream_version: str, flags: dict[str, str], products: Products
) -> None:
    patient = flags | {"stream-write-timeout": "10m"}
    pairing = Pairing(
        browser_version,
        products.upstream(upstream_version),
        products.product(upstream_version, True, patient),
        Leaks(),
        tls=True,
    )
    reviews = Reviews(pairing, TOKEN)
    before = counts(pairing)["overflows"]
    stream, request = reviews.first(receive_buffer=SMALL)
    other = reviews.joins(person=pairing.signed_in())
    stalled(pairing, stream, other, request)
    for version in range(20_000, 20_300):
        request.send(changed(version))
        seen(pairing, other, version)
    request.send(line("ADDED", "u2", "30000"))
    seen(pairing, other, 30_000)
    stream.exchange.browser.go_on_reading()
    pairing.script.until(lambda: stream.wire.count(b'"synced"') == 2, "another snapshot", 30)
    client = Client()
    client.take(stream.events)
    assert client.objects.keys() == {"u1", "u2"}
    assert [event["code"] for event in stream.events if event["type"] == "error"] == ["RESYNC_REQUIRED"]
    assert counts(pairing)["overflows"] == before + 1
    pairing.leave()


# Ends


def test_a_logout_and_a_browser_that_leaves_take_only_their_own(pairing: Pairing, reviews: Reviews) -> None:
    someone = pairing.signed_in()
    mine, request = reviews.first()
    theirs = [reviews.joins(person=someone) for _ in range(2)]
    exchange = pairing.connect().request("POST", "/auth/logout", someone.change)
    assert exchange.read_head()[0] == 204
    for stream in theirs:
        assert isinstance(stream.exchange.read_until_end(), Aborted)
    request.send(changed(11))
    mine.expect("modified")
    mine.exchange.browser.close()
    request.expect_cancelled()
    foyer = pairing.product._foyer
    nothing = {what: count for what, count in OF_EXCHANGES.items() if what not in ("tasks", "deadlines")}
    pairing.script.until(lambda: not pairing.product.ask(lambda: left(foyer, nothing)), "nothing to be left")


def test_leaving_while_reviews_are_asked_leaves_the_api_server(pairing: Pairing) -> None:
    browser = pairing.connect()
    browser.request("GET", STREAM, pairing.me.fields)
    who = pairing.upstream.expect()
    assert who.target == WHO
    browser.close()
    who.expect_cancelled()
    browser = pairing.connect()
    browser.request("GET", STREAM, pairing.me.fields)
    who = pairing.upstream.expect()
    who.answer(201, JSON, json.dumps({"status": {"userInfo": {"username": os.urandom(6).hex()}}}).encode())
    asked = [pairing.upstream.expect() for _ in range(2)]
    browser.close()
    for request in asked:
        request.expect_cancelled()


def test_an_error_on_the_watch_ends_all_cleanly(pairing: Pairing, reviews: Reviews) -> None:
    stream, request = reviews.first()
    other = reviews.joins(person=pairing.signed_in())
    reviews.pass_time(2)
    request.send(changed(11) + error(500) + b"\n")
    for each in (stream, other):
        each.expect("modified", "UPSTREAM_UNAVAILABLE")
        assert isinstance(each.end(), Whole)


# The budget


def test_everything_that_is_asked_with_the_shared_token_draws_on_one_budget(
    browser_version: str, upstream_version: str, flags: dict[str, str], products: Products
) -> None:
    product = products.start(upstream_version, True, flags | {"shared-watch-qps": "1"})
    pairing = Pairing(browser_version, products.upstream(upstream_version), product, Leaks(), tls=True)
    reviews = Reviews(pairing, TOKEN)
    stream = reviews.open()
    reviews.until_asked(3)
    pairing.script.until_still()
    pairing.upstream.expect_nothing()
    product.pass_time(2)
    request = reviews.until_watched()
    request.respond(200, JSON)
    request.send(line("ADDED") + SYNCED)
    stream.expect("reset", "added", "synced")
    pairing.leave()
    product.stop()


# The token and the flags


def test_a_new_token_goes_with_the_next_request_and_one_that_is_none_does_not(
    browser_version: str, upstream_version: str, flags: dict[str, str], products: Products, tmp_path: Path
) -> None:
    file = tmp_path / "token"
    file.write_bytes(b"first")
    product = products.start(upstream_version, True, flags | {"shared-watch-token-file": str(file)})
    pairing = Pairing(browser_version, products.upstream(upstream_version), product, Leaks(), tls=True)
    reviews = Reviews(pairing, b"first")
    _, request = reviews.first()
    file.write_bytes(b"not a token\n")
    product.poll()
    [line_] = pairing.logged("shared watch token refused")
    assert "not a token" not in json.dumps(line_)
    file.write_bytes(b"second\n")
    product.poll()
    pairing.logged("shared watch token reloaded")
    reviews.token = b"second"
    reviews.pass_time(3)
    request.end()
    again = reviews.until_watched()
    assert again.all("authorization") == [b"Bearer second"]
    reviews.pass_time(14)
    pairing.leave()
    product.stop()


def test_what_is_shared_changes_on_a_reload_for_streams_that_open_after_it(
    browser_version: str, upstream_version: str, flags: dict[str, str], products: Products, tmp_path: Path
) -> None:
    product = products.start(upstream_version, True, {})
    pairing = Pairing(browser_version, products.upstream(upstream_version), product, Leaks(), tls=True)
    reviews = Reviews(pairing, TOKEN)
    own, own_request = reviews.first()
    assert own_request.all("authorization") == [b"Bearer " + pairing.me.token]
    product.flags |= flags
    product.reload()
    shared, request = reviews.first()
    assert request.all("authorization") == [b"Bearer " + TOKEN]
    for name in ("shared-watch-resources", "shared-watch-token-file"):
        del product.flags[name]
    product.reload()
    _, unshared = reviews.first()
    assert unshared.all("authorization") == [b"Bearer " + pairing.me.token]
    for stream, read in ((own, own_request), (shared, request)):
        read.send(changed(11))
        stream.expect("modified")
    assert {each["flag"] for each in pairing.logged("restart needed")} == {"-shared-watch-qps"}
    pairing.leave()
    product.stop()
