"""Targets that come, change and go on a reload, and what is open on them (spec 06, Targets)."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.browsers import Exchange
from tests.support.certs import authority, stranger
from tests.support.pairings import JSON, Entries, Products
from tests.support.remains import OF_CONNECTIONS, OF_EXCHANGES, left
from tests.support.script import Whole
from tests.support.shared_streams import MAY, WHO
from tests.support.streams import STREAM, SYNCED, Page, line
from tests.support.upstreams import H1Upstream, H2Upstream, Request

Upstream = H1Upstream | H2Upstream

EU, US = "/targets/eu/k8s/api/v1/pods", "/targets/us/k8s/api/v1/pods"


class World:
    """A foyer with `eu` and `us`, of which tests make others."""

    def __init__(self, products: Products, browser_version: str, upstream_version: str) -> None:
        named: Entries = {"eu": {}, "us": {}}
        flags = {"shared-watch-resources": "configmaps", "shared-watch-qps": "100000"}
        self.product = products.start(upstream_version, True, flags, named)
        self.pairing = products.pairing(browser_version, upstream_version, self.product, targets=named)
        self.eu, self.us = self.pairing.upstream, self.pairing.others["us"]
        self.other = products.upstream(upstream_version, "other")
        self.pairing.others["other"] = self.other

    def reload(self, **targets: Upstream | dict[str, str]) -> None:
        """The file has these now, and foyer is told."""
        entries = {
            name: target if isinstance(target, dict) else {"server": target.url}
            for name, target in targets.items()
        }
        self.product.write_targets(entries)
        self.product.reload()

    def get(self, target: str) -> Exchange:
        return self.pairing.connect().request("GET", target, self.pairing.me.fields)

    def works(self, target: str, upstream: Upstream) -> None:
        exchange = self.get(target)
        upstream.expect().answer(200, JSON, b"{}")
        assert exchange.read_until_end() == Whole(b"{}")

    def status(self, target: str) -> int:
        return self.get(target).read_head()[0]

    def stream(self, query: str, upstream: Upstream) -> tuple[Page, Request]:
        """A stream of somebody's own behind its snapshot."""
        page = Page(self.get(STREAM.replace("configmaps", "services") + query))
        request = upstream.expect()
        shows(page, request)
        return page, request

    def in_flight(self, name: str) -> int:
        return self.product.ask(self.product.measures.targets[name].in_flight)

    def retired(self) -> int:
        service = self.product._foyer._service
        assert service is not None
        targets = service._targets
        return self.product.ask(lambda: len(targets._retired))

    def until_retired(self, count: int) -> None:
        self.pairing.script.until(lambda: self.retired() == count, f"{count} retired targets")


def shows(page: Page, request: Request) -> None:
    request.respond(200, JSON)
    request.send(line("ADDED") + SYNCED)
    page.expect("reset", "added", "synced")


def answer_reviews(upstream: Upstream) -> Request:
    """What is asked for behind the reviews, which say that somebody may."""
    while (request := upstream.expect()).target in (WHO, MAY):
        request.read_until_end()
        said = {"userInfo": {"username": "ada"}} if request.target == WHO else {"allowed": True}
        request.answer(201, JSON, json.dumps({"status": said}).encode())
    return request


@pytest.fixture
def world(products: Products, browser_version: str, upstream_version: str) -> Iterator[World]:
    world = World(products, browser_version, upstream_version)
    yield world
    pairing, foyer = world.pairing, world.product._foyer
    pairing.leave()
    pairing.script.until(
        lambda: world.product.ask(lambda: left(foyer, OF_EXCHANGES | OF_CONNECTIONS)) == {},
        "nothing to be left",
    )
    world.product.stop()
    pairing.check_leaks()


def test_new_ones_are_asked_and_one_that_is_left_out_is_not_found(world: World) -> None:
    world.works(US, world.us)
    world.reload(eu=world.eu, other=world.other)
    assert world.status(US) == 404
    world.works("/targets/other/k8s/api/v1/pods", world.other)
    page = Page(world.get(STREAM + "&target=us"))
    page.expect("SCOPE_INVALID")
    world.reload(us=world.us, eu=world.eu)
    world.works("/k8s/api/v1/pods", world.us)
    world.works(US, world.us)
    assert [line["msg"] for line in world.pairing.log][-1] == "configuration reloaded"


def test_one_that_nobody_asks_closes_its_connections_at_once_and_leaves_nothing(world: World) -> None:
    world.works(US, world.us)
    [connection] = world.us.connections
    world.reload(eu=world.eu)
    connection.expect_closed()
    assert (world.retired(), world.in_flight("us")) == (0, 0)


def test_what_is_open_on_one_goes_on_and_its_connections_close_behind_the_last(world: World) -> None:
    watch = world.get(US + "?watch=1")
    request = world.us.expect()
    request.respond(200, JSON)
    asked = world.get(US)
    unanswered = world.us.expect()
    who = world.get("/auth/whoami?target=us")
    review = world.us.expect()
    world.reload(eu=world.eu)
    assert (world.retired(), world.in_flight("us")) == (1, 2)
    assert world.status(US) == 404

    request.send(b"1")
    assert watch.read_exactly(1) == b"1"
    unanswered.answer(200, JSON, b"{}")
    assert asked.read_until_end() == Whole(b"{}")
    review.answer(201, JSON, b'{"status":{"userInfo":{"username":"ada"}}}')
    assert who.read_head()[0] == 200
    assert (world.retired(), world.in_flight("us")) == (1, 0)
    connections = list(world.us.connections)
    request.end()
    assert watch.read_until_end() == Whole(b"1")
    world.until_retired(0)
    for connection in connections:
        connection.expect_closed()


def test_a_fleet_read_goes_on_there_with_all_of_its_later_pages(world: World) -> None:
    exchange = world.get("/fleet/v1/api/v1/pods?partial=true")
    of_eu, of_us = world.eu.expect(), world.us.expect()
    world.reload(eu=world.eu)
    for number in range(3):
        of_us.answer(200, JSON, pods(f"us-{number}", token=f"{number}"))
        of_us = world.us.expect()
        assert of_us.target.endswith(b"&continue=%d" % number)
    assert world.retired() == 1
    of_us.answer(200, JSON, pods("us-3"))
    of_eu.answer(200, JSON, pods("eu-0"))
    assert isinstance(exchange.read_until_end(), Whole)
    found = json.loads(exchange.content)
    names = [item["object"]["metadata"]["name"] for item in found["items"]]
    assert names == ["eu-0", *(f"us-{number}" for number in range(4))]
    assert found["complete"]
    world.until_retired(0)


def pods(*names: str, token: str = "") -> bytes:
    items = [{"metadata": {"name": name, "namespace": "team"}} for name in names]
    document = {"kind": "PodList", "apiVersion": "v1", "metadata": {"continue": token}, "items": items}
    return json.dumps(document).encode()


def test_a_stream_goes_on_there_with_all_of_its_later_cycles(world: World) -> None:
    page, request = world.stream("&target=us", world.us)
    world.reload(eu=world.eu)
    for _ in range(3):
        world.product.pass_time(3)
        request.end()
        page.expect("RESYNC_REQUIRED")
        request = world.us.expect()
        assert request.all("authorization") == [b"Bearer " + world.pairing.me.token]
        shows(page, request)
    assert world.retired() == 1
    page.exchange.browser.close()
    request.expect_cancelled()
    world.until_retired(0)


def test_a_stream_between_two_of_its_requests_keeps_its_target(world: World) -> None:
    page, _ = world.stream("&target=us", world.us)
    world.reload(eu=world.eu)
    with world.us.not_listening():
        world.product.pass_time(3)
        world.us.retire()
        page.expect("RESYNC_REQUIRED", "UPSTREAM_UNAVAILABLE")
    world.until_retired(0)


def test_one_whose_entry_is_the_same_stays_as_it_is(world: World) -> None:
    world.works(EU, world.eu)
    world.works(US, world.us)
    before = world.product.target("eu"), world.product.target("us")
    world.reload(us=world.us, eu=world.eu, other=world.other)
    assert (world.product.target("eu"), world.product.target("us")) == before
    world.works(EU, world.eu)
    world.works(US, world.us)
    assert (len(world.eu.connections), len(world.us.connections), world.retired()) == (1, 1, 0)


def test_another_server_under_a_name_is_another_target_and_the_gauges_have_both(world: World) -> None:
    held = world.get(US)
    old = world.us.expect()
    world.reload(eu=world.eu, us=world.other)
    newer = world.get(US)
    new = world.other.expect()
    assert (world.in_flight("us"), world.retired()) == (2, 1)
    old.answer(200, JSON, b"[]")
    assert held.read_until_end() == Whole(b"[]")
    world.until_retired(0)
    assert world.in_flight("us") == 1
    new.answer(200, JSON, b"{}")
    assert newer.read_until_end() == Whole(b"{}")


def test_what_waits_for_a_slot_of_one_that_is_retired_is_served_there(
    products: Products, browser_version: str, upstream_version: str
) -> None:
    named: Entries = {"eu": {}, "us": {}}
    product = products.start(upstream_version, True, {"max-target-in-flight": "1"}, named)
    pairing = products.pairing(browser_version, upstream_version, product, targets=named)
    upstream = pairing.others["us"]

    def asked() -> Exchange:
        return pairing.connect().request("DELETE", US, pairing.me.change)

    first, request = asked(), upstream.expect()
    second = asked()
    cap = product.target("us")._cap
    pairing.script.until(lambda: product.ask(lambda: cap.waiting) == 1, "one to wait")
    product.write_targets({"us": {"server": pairing.upstream.url}})
    product.reload()
    # New caps: that the old one is full is nothing to the new one.
    newer = asked()
    pairing.upstream.expect().answer(200, JSON, b"new")
    assert newer.read_until_end() == Whole(b"new")
    request.answer(200, JSON, b"1")
    assert first.read_until_end() == Whole(b"1")
    upstream.expect().answer(200, JSON, b"2")
    assert second.read_until_end() == Whole(b"2")
    pairing.leave()
    product.stop()


# Files


def settled(world: World, path: Path, content: bytes) -> None:
    path.write_bytes(content)
    world.product.poll()
    world.product.poll()


def test_each_ones_roots_are_read_again_as_they_change(world: World, tmp_path: Path) -> None:
    roots = tmp_path / "us.crt"
    roots.write_bytes(authority().cert_pem.bytes())
    world.reload(eu=world.eu, us={"server": world.us.url, "caFile": str(roots)})
    world.works(US, world.us)
    settled(world, roots, stranger().cert_pem.bytes())
    assert world.status(US) == 502
    world.works(EU, world.eu)
    settled(world, roots, b"")
    settled(world, roots, authority().cert_pem.bytes() + b"# newer\n")
    world.works(US, world.us)
    lines = [
        (line["msg"], line["flag"], line["target"])
        for line in world.pairing.log
        if str(line["msg"]).startswith("roots")
    ]
    assert lines == [
        (msg, "-targets-file", "us") for msg in ("roots reloaded", "roots refused", "roots reloaded")
    ]


def test_other_roots_for_the_same_server_hold_for_new_connections_and_nothing_is_cut(
    world: World, tmp_path: Path
) -> None:
    page, request = world.stream("&target=us", world.us)
    roots = tmp_path / "roots"
    roots.write_bytes(stranger().cert_pem.bytes())
    before = world.product.target("us")
    world.reload(eu=world.eu, us={"server": world.us.url, "caFile": str(roots)})
    assert world.product.target("us") is before
    assert world.status(US) == 502
    request.send(line("MODIFIED", version="11", data=b'{"a":"2"}'))
    page.expect("modified")


def test_a_retired_ones_files_are_looked_at_for_as_long_as_it_is_asked_and_no_longer(
    world: World, tmp_path: Path
) -> None:
    token = tmp_path / "token"
    token.write_bytes(b"first")
    world.reload(eu=world.eu, us={"server": world.us.url, "sharedWatchTokenFile": str(token)})
    page = Page(world.get(STREAM + "&target=us"))
    watch = answer_reviews(world.us)
    assert watch.all("authorization") == [b"Bearer first"]
    shows(page, watch)
    world.reload(eu=world.eu)
    settled(world, token, b"second")
    [logged] = world.pairing.logged("shared watch token reloaded")
    assert logged["target"] == "us"
    world.product.pass_time(3)
    watch.end()
    page.expect("RESYNC_REQUIRED")
    watch = answer_reviews(world.us)
    assert watch.all("authorization") == [b"Bearer second"]
    page.exchange.browser.close()
    watch.expect_cancelled()
    world.until_retired(0)
    settled(world, token, b"third")
    assert len(world.pairing.logged("shared watch token reloaded")) == 1


def test_a_token_that_comes_has_later_streams_share_and_one_that_goes_has_them_read_alone(
    world: World, tmp_path: Path
) -> None:
    mine = [b"Bearer " + world.pairing.me.token]
    alone = Page(world.get(STREAM + "&target=us"))
    request = world.us.expect()
    assert request.all("authorization") == mine
    shows(alone, request)
    token = tmp_path / "token"
    token.write_bytes(b"the.token")
    world.reload(eu=world.eu, us={"server": world.us.url, "sharedWatchTokenFile": str(token)})
    shared = Page(world.get(STREAM + "&target=us"))
    watch = answer_reviews(world.us)
    assert watch.all("authorization") == [b"Bearer the.token"]
    shows(shared, watch)
    world.reload(eu=world.eu, us=world.us)
    later = Page(world.get(STREAM + "&target=us"))
    request = world.us.expect()
    assert request.all("authorization") == mine
    shows(later, request)
    watch.send(line("MODIFIED", version="11", data=b'{"a":"2"}'))
    shared.expect("modified")


def test_a_file_that_is_refused_changes_nothing(world: World, tmp_path: Path) -> None:
    before = world.product.target("us")
    world.reload(eu=world.other, us={"server": world.us.url, "caFile": str(tmp_path / "missing")})
    assert world.product.target("us") is before
    world.works(EU, world.eu)
    world.reload()
    world.works(US, world.us)
    refused = world.pairing.logged("configuration refused")
    assert [line["flag"] for line in refused] == ["-targets-file"] * 2
