"""Spec 06, fleet reads over sockets: three API servers behind one route, in every pairing."""

import json
from collections.abc import Iterator, Mapping

import pytest

from foyer.exchange.endings import Cause
from tests.support.browsers import SMALL, Exchange
from tests.support.pairings import JSON, Entries, Pairing
from tests.support.remains import OF_EXCHANGES, left
from tests.support.script import Aborted, Whole
from tests.support.upstreams import H1Upstream, H2Upstream, Request

NOTES = "/fleet/v1/apis/notes.example.com/v1/notes"
PATH = b"/apis/notes.example.com/v1/notes"


@pytest.fixture
def targets() -> Entries:
    return {"eu": {}, "us": {}, "asia": {}}


@pytest.fixture
def flags() -> dict[str, str]:
    return {"max-target-answer-bytes": "100KiB", "max-fleet-items": "5", "memory-pool": "2MiB"}


def upstreams(pairing: Pairing) -> dict[str, H1Upstream | H2Upstream]:
    return {"eu": pairing.upstream, **pairing.others}


def expect(pairing: Pairing, *names: str) -> dict[str, Request]:
    """The request that each of these targets gets, all of them before one is answered.

    A list that nobody has read of late is looked at before: there is nothing to see.
    """
    found: dict[str, Request] = {}

    def asked() -> bool:
        for name in names or upstreams(pairing):
            arrived = upstreams(pairing)[name].arrived
            while arrived and name not in found:
                request = arrived.popleft()
                if b"limit=1" in request.target.split(b"?")[1].split(b"&"):
                    request.answer(200, JSON, page())
                else:
                    found[name] = request
        return len(found) == len(names or upstreams(pairing))

    pairing.script.until(asked, "each target to be asked")
    return {name: found[name] for name in names or upstreams(pairing)}


def note(name: str, day: int, **more: object) -> dict[str, object]:
    created = f"2026-01-{day:02}T00:00:00Z"
    return {"metadata": {"name": name, "namespace": "team", "creationTimestamp": created}, **more}


def page(*notes: dict[str, object], token: str = "") -> bytes:
    metadata = {"resourceVersion": "7", **({"continue": token} if token else {})}
    document = {
        "kind": "NoteList",
        "apiVersion": "notes.example.com/v1",
        "metadata": metadata,
        "items": notes,
    }
    return json.dumps(document).encode()


def answer(requests: Mapping[str, Request], **pages: bytes) -> None:
    """Each of these targets gives its page, and every other an empty one."""
    for name, request in requests.items():
        request.answer(200, JSON, pages.get(name, page()))


def read(exchange: Exchange) -> dict[str, object]:
    """The list that came."""
    assert isinstance(exchange.read_until_end(), Whole)
    assert exchange.status == 200
    document = json.loads(exchange.content)
    assert isinstance(document, dict)
    return document


def names(document: dict[str, object]) -> list[str]:
    items = document["items"]
    assert isinstance(items, list)
    return [f"{item['target']}/{item['object']['metadata']['name']}" for item in items]


def refusal(exchange: Exchange) -> tuple[int, str, list[tuple[str, str]]]:
    """Status, reason, and which targets failed how."""
    exchange.read_until_end()
    status = json.loads(exchange.content)
    assert exchange.all("krm-foyer-interruption") == [status["reason"].encode()]
    causes = status.get("details", {}).get("causes", [])
    return exchange.status, status["reason"], [(cause["field"], cause["reason"]) for cause in causes]


def test_every_target_is_asked_at_once_as_the_person_and_there_is_one_list(pairing: Pairing) -> None:
    exchange = pairing.get(NOTES + "?labelSelector=a%3Db", [(b"Accept", b"application/yaml")])
    requests = expect(pairing)
    for request in requests.values():
        assert (request.method, request.target) == (b"GET", PATH + b"?limit=500&labelSelector=a%3Db")
        assert request.all("authorization") == [b"Bearer " + pairing.me.token]
        assert request.all("accept") == [b"application/json"]
        assert request.all("cookie") == []
    answer(requests, eu=page(note("old", 1), note("new", 9)), us=page(note("two", 2)))
    document = read(exchange)
    first = {"kind": "Note", "apiVersion": "notes.example.com/v1", **note("old", 1)}
    assert document == {
        "kind": "FleetList",
        "apiVersion": "foyer/v1",
        "complete": True,
        "metadata": {},
        "items": [{"target": "eu", "object": first}, *document["items"][1:]],  # type: ignore[index]
        "targets": [
            {"name": "eu", "outcome": "ok", "status": 200, "items": 2},
            {"name": "us", "outcome": "ok", "status": 200, "items": 1},
            {"name": "asia", "outcome": "ok", "status": 200, "items": 0},
        ],
    }
    assert names(document) == ["eu/old", "us/two", "eu/new"]
    assert exchange.all("content-type") == [b"application/json"]
    assert exchange.all("content-length") == [b"%d" % len(exchange.content)]
    assert exchange.all("cache-control") == [b"no-store"]
    assert exchange.all("krm-foyer-truncated") == []


def test_pages_follow_each_other_at_each_target_by_itself(pairing: Pairing) -> None:
    exchange = pairing.get(NOTES)
    first = expect(pairing)
    first["us"].answer(200, JSON, page(note("one", 1), token="a/b"))
    [second] = expect(pairing, "us").values()
    assert second.target == PATH + b"?limit=500&continue=a%2Fb"
    second.answer(200, JSON, page(note("two", 2)))
    answer({name: first[name] for name in ("eu", "asia")})
    assert names(read(exchange)) == ["us/one", "us/two"]


def test_head_is_the_same_without_the_content(pairing: Pairing) -> None:
    lengths = []
    for method in ("GET", "HEAD"):
        exchange = pairing.get(NOTES + "?targets=us", method=method)
        [request] = expect(pairing, "us").values()
        assert request.method == b"GET"
        answer({"us": request}, us=page(note("one", 1)))
        whole = exchange.read_until_end()
        assert isinstance(whole, Whole)
        assert (whole.content == b"") == (method == "HEAD")
        lengths += exchange.all("content-length")
    assert lengths[0] == lengths[1] != b"0"


@pytest.mark.parametrize("query", ["targets=asia,us", "targets=us,asia"])
def test_only_the_targets_that_were_named_are_asked(pairing: Pairing, query: str) -> None:
    exchange = pairing.get(f"{NOTES}?{query}")
    answer(expect(pairing, "us", "asia"))
    document = read(exchange)
    assert [target["name"] for target in document["targets"]] == ["us", "asia"]  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("query", "status", "reason"),
    [
        ("limit=1&limit=1", 400, "BadRequest"),
        ("limit=0", 400, "BadRequest"),
        ("continue=made-up", 400, "BadRequest"),
        ("watch=1", 400, "BadRequest"),
        ("targets=mars", 404, "NotFound"),
    ],
)
def test_a_malformed_read_asks_nobody_anything(
    pairing: Pairing, query: str, status: int, reason: str
) -> None:
    exchange = pairing.get(f"{NOTES}?{query}")
    assert refusal(exchange) == (status, reason, [])
    for upstream in upstreams(pairing).values():
        upstream.expect_nothing()


def test_a_change_is_not_a_read_and_nobody_reads_without_a_session(pairing: Pairing) -> None:
    exchange = pairing.post(NOTES, body=b"")
    assert refusal(exchange)[:2] == (405, "MethodNotAllowed")
    assert exchange.all("allow") == [b"GET, HEAD"]
    assert refusal(pairing.browser.request("GET", NOTES))[:2] == (401, "Unauthorized")


def test_more_than_a_list_may_have_is_cut_to_the_oldest_says_so_and_goes_on(pairing: Pairing) -> None:
    before = pairing.product.measures.fleet_truncated
    notes = {
        "eu": page(*(note(f"e{day}", day) for day in (1, 4, 7))),
        "us": page(*(note(f"u{day}", day) for day in (2, 3, 8))),
    }
    exchange = pairing.get(NOTES)
    answer(expect(pairing), **notes)
    first = read(exchange)
    assert names(first) == ["eu/e1", "us/u2", "us/u3", "eu/e4", "eu/e7"]
    assert (first["complete"], exchange.all("krm-foyer-truncated")) == (False, [b"true"])
    assert pairing.product.measures.fleet_truncated == before + 1
    exchange = pairing.get(f"{NOTES}?continue={first['metadata']['continue']}")  # type: ignore[index]
    answer(expect(pairing), **notes)
    second = read(exchange)
    assert (names(second), second["complete"], second["metadata"]) == (["us/u8"], True, {})
    assert exchange.all("krm-foyer-truncated") == []


def test_more_than_the_memory_pool_holds_is_cut_as_well(pairing: Pairing) -> None:
    exchange = pairing.get(NOTES)
    requests = expect(pairing)
    large = "x" * 90_000
    for day in range(1, 15):
        requests["eu"].answer(200, JSON, page(note(f"e{day}", 15 - day, text=large), token=f"{day}"))
        requests |= expect(pairing, "eu")
    answer(requests)
    document = read(exchange)
    assert names(document) == [f"eu/e{day}" for day in range(14, 9, -1)]
    assert exchange.all("krm-foyer-truncated") == [b"true"]


def test_an_answer_longer_than_the_bound_is_a_node_error_that_names_it(pairing: Pairing) -> None:
    exchange = pairing.get(NOTES + "?partial=true")
    requests = expect(pairing)
    requests["eu"].respond(200, [*JSON, (b"content-length", b"102401")])  # dropped unread
    requests["us"].respond(200, JSON)
    requests["us"].send(bytes(102_401))  # and at the bound
    answer({"asia": requests["asia"]}, asia=page(note("one", 1)))
    document = read(exchange)
    assert (names(document), document["complete"]) == (["asia/one"], False)
    for target in document["targets"][:2]:  # type: ignore[index]
        assert (target["outcome"], "status" in target, target["items"]) == ("node-error", False, 0)
        assert "-max-target-answer-bytes" in target["error"]
    for name in ("eu", "us"):
        requests[name].expect_cancelled()


def test_a_target_that_refuses_fails_all_of_it_with_its_status_as_a_cause(pairing: Pairing) -> None:
    exchange = pairing.get(NOTES)
    requests = expect(pairing)
    status = {"kind": "Status", "code": 403, "message": 'notes is forbidden: User "ada" cannot list'}
    requests["us"].answer(403, JSON, json.dumps(status).encode())
    answer({name: requests[name] for name in ("eu", "asia")})
    assert refusal(exchange) == (424, "TargetError", [("us", "node-error")])
    assert b"cannot list" in exchange.content
    [line] = pairing.logged("refused")
    assert (line["by"], line["reason"], line["route"]) == ("foyer", "TargetError", "/fleet/v1")
    assert "forbidden" not in json.dumps(pairing.log)


def test_a_target_that_is_not_there_is_a_node_error_and_the_others_are_given_when_asked_for(
    pairing: Pairing,
) -> None:
    exchange = pairing.get(NOTES + "?partial=true")
    requests = expect(pairing)
    requests["us"].reset()
    answer({name: requests[name] for name in ("eu", "asia")}, eu=page(note("one", 1)))
    document = read(exchange)
    assert (names(document), document["complete"]) == (["eu/one"], False)
    assert [target["outcome"] for target in document["targets"]] == ["ok", "node-error", "ok"]  # type: ignore[attr-defined]


@pytest.mark.parametrize("partial", [True, False])
def test_a_target_that_is_silent_is_a_time_out_at_the_deadline_and_is_asked_no_more(
    pairing: Pairing, partial: bool
) -> None:
    query = "&partial=true" if partial else ""
    exchange = pairing.get(f"{NOTES}?targets=eu,asia{query}", [(b"Prefer", b"respond-async, wait=1")])
    requests = expect(pairing, "eu", "asia")
    requests["asia"].respond(200, JSON)
    requests["asia"].send(page()[:20])  # a part of it is no answer either
    pairing.script.until_still(0.01)
    pairing.product.pass_time(1)
    if partial:
        document = read(exchange)
        for target in document["targets"]:  # type: ignore[attr-defined]
            assert target["outcome"] == "time-out"
            assert "1 s" in target["error"]
    else:
        assert refusal(exchange) == (504, "TargetTimeout", [("eu", "time-out"), ("asia", "time-out")])
    for request in requests.values():
        request.expect_cancelled()


@pytest.mark.parametrize("end", ["logout", "duration", "gone", "shutdown"])
def test_whatever_ends_it_cancels_what_is_asked(pairing: Pairing, end: str) -> None:
    exchange = pairing.get(NOTES)
    requests = expect(pairing)
    answer({"us": requests["us"]}, us=page(note("one", 1), token="more"))
    requests |= expect(pairing, "us")
    match end:
        case "logout":
            pairing.connect().request("POST", "/auth/logout", pairing.me.change).read_until_end()
        case "gone":
            pairing.browser.close()
        case "duration":
            pairing.product.cut(Cause.RESPONSE_DURATION)
        case "shutdown":
            pairing.product.cut(Cause.SHUTDOWN)
    if end != "gone":
        assert isinstance(exchange.read_until_end(), Aborted)
    for request in requests.values():
        request.expect_cancelled()


def test_it_is_one_request_for_the_gate_however_many_targets(pairing: Pairing) -> None:
    exchange = pairing.get(NOTES)
    requests = expect(pairing)
    assert pairing.product.ask(pairing.product.measures.requests_in_flight) == 1
    answer(requests)
    read(exchange)
    pairing.script.until(
        lambda: pairing.product.ask(pairing.product.measures.requests_in_flight) == 0, "the slot given back"
    )


def known(pairing: Pairing) -> None:
    """The list has been read of late, so that nobody need look at it."""
    exchange = pairing.connect().request("GET", NOTES, pairing.me.fields)
    answer(expect(pairing))
    read(exchange)


class TestAFullCap:
    """One slot a target, which another request has."""

    @pytest.fixture
    def flags(self) -> dict[str, str]:
        return {"max-target-in-flight": "1"}

    def test_it_is_a_time_out_that_says_so_and_nothing_was_sent(self, pairing: Pairing) -> None:
        before = pairing.product.measures.targets["us"].refused
        known(pairing)
        other = pairing.connect().request("GET", "/targets/us/k8s/api/v1/pods", pairing.me.fields)
        held = pairing.others["us"].expect()
        fields = [*pairing.me.fields, (b"Prefer", b"wait=1")]
        exchange = pairing.connect().request("GET", NOTES + "?partial=true", fields)
        answer(expect(pairing, "eu", "asia"), eu=page(note("one", 1)))
        cap = pairing.product.target("us")._cap
        pairing.script.until(lambda: pairing.product.ask(lambda: cap.waiting) == 1, "it to wait for the slot")
        pairing.product.pass_time(2)
        document = read(exchange)
        assert names(document) == ["eu/one"]
        [found] = [target for target in document["targets"] if target["name"] == "us"]  # type: ignore[attr-defined]
        assert (found["outcome"], found["items"]) == ("time-out", 0)
        assert "cap" in found["error"] and "nothing was sent" in found["error"]
        assert pairing.product.measures.targets["us"].refused == before + 1
        pairing.upstream.expect_nothing()
        held.answer(200, JSON, b"{}")
        other.read_until_end()

    def test_one_that_is_free_in_time_is_asked_then(self, pairing: Pairing) -> None:
        known(pairing)
        other = pairing.connect().request("GET", "/targets/us/k8s/api/v1/pods", pairing.me.fields)
        held = pairing.others["us"].expect()
        exchange = pairing.connect().request("GET", NOTES, pairing.me.fields)
        answer(expect(pairing, "eu", "asia"))
        held.answer(200, JSON, b"{}")
        other.read_until_end()
        answer(expect(pairing, "us"), us=page(note("one", 1)))
        assert names(read(exchange)) == ["us/one"]


class TestAGateThatLetsNobodyIn:
    """At `us` there is one read and may be no other, or somebody has the whole pool."""

    @pytest.fixture
    def flags(self) -> dict[str, str]:
        return {"admission-wait": "2s", "overload-retry-after": "7s", "memory-pool": "2MiB"}

    @pytest.fixture
    def _shut(self, pairing: Pairing) -> Iterator[None]:
        line = pairing.product.target("us").reads.limit._line
        before = line.capacity

        def become(capacity: int) -> None:
            line.capacity = capacity

        exchange = pairing.connect().request("GET", "/targets/us/k8s/api/v1/pods", pairing.me.fields)
        held = pairing.others["us"].expect()
        pairing.product.ask(lambda: become(1))
        yield
        pairing.product.ask(lambda: become(before))
        held.answer(200, JSON, b"{}")
        exchange.read_until_end()

    def turned_away(self, pairing: Pairing, exchange: Exchange, gate: str, before: Mapping[str, int]) -> None:
        assert refusal(exchange) == (503, "AdmissionTimedOut", [])
        assert exchange.all("retry-after") == [b"7"]
        assert pairing.product.measures.admission_refusals == {**before, gate: before[gate] + 1}
        [line] = pairing.logged("limit reached")
        assert (line["reason"], line["limit"], line.get("path")) == ("AdmissionTimedOut", gate, None)

    def waits(self, pairing: Pairing) -> None:
        reads = pairing.product.target("us").reads.limit
        pairing.script.until(lambda: pairing.product.ask(lambda: reads.waiting) == 1, "it to wait at us")

    @pytest.mark.usefixtures("_shut")
    def test_without_a_place_at_one_target_none_is_asked(self, pairing: Pairing) -> None:
        before = dict(pairing.product.measures.admission_refusals)
        exchange = pairing.connect().request("GET", NOTES, pairing.me.fields)
        self.waits(pairing)
        pairing.product.pass_time(3)
        self.turned_away(pairing, exchange, "concurrency", before)
        for upstream in upstreams(pairing).values():
            upstream.expect_nothing()

    @pytest.mark.usefixtures("_shut")
    def test_who_wants_a_part_of_it_has_the_others_items(self, pairing: Pairing) -> None:
        exchange = pairing.connect().request("GET", NOTES + "?partial=true", pairing.me.fields)
        self.waits(pairing)
        pairing.product.pass_time(3)
        answer(expect(pairing, "eu", "asia"), eu=page(note("one", 1)))
        document = read(exchange)
        assert (names(document), document["complete"]) == (["eu/one"], False)
        [found] = [target for target in document["targets"] if target["name"] == "us"]  # type: ignore[attr-defined]
        assert found["outcome"] == "time-out" and "nothing was sent" in found["error"]
        pairing.others["us"].expect_nothing()

    def test_without_memory_nothing_but_a_look_is_asked(self, pairing: Pairing) -> None:
        before = dict(pairing.product.measures.admission_refusals)
        # Of lists that no other pairing's test has read.
        unheard_of = f"{NOTES}?labelSelector={pairing.browser_version}"
        pairing.upstream.expects_looks = pairing.others["us"].expects_looks = True
        large = pairing.connect().request("GET", unheard_of + "&targets=eu", pairing.me.fields)
        document = json.loads(page(note("one", 1), token="more"))
        document["metadata"]["remainingItemCount"] = 10**6
        pairing.upstream.expect().answer(200, JSON, json.dumps(document).encode())
        held = pairing.upstream.expect()
        assert pairing.product.ask(pairing.product.measures.memory_reserved) == 2 * 1024 * 1024
        exchange = pairing.connect().request("GET", unheard_of + "&targets=us", pairing.me.fields)
        look = pairing.others["us"].expect()
        assert look.target.startswith(PATH + b"?limit=1&")
        look.answer(200, JSON, page())
        reads = pairing.product.target("us").reads.limit
        pairing.script.until_still(0.05)
        assert pairing.product.ask(lambda: reads.admitted) == 1  # it keeps its place while it waits
        pairing.product.pass_time(3)
        self.turned_away(pairing, exchange, "memory", before)
        assert pairing.product.ask(lambda: reads.admitted) == 0
        pairing.others["us"].expect_nothing()
        held.answer(200, JSON, page(note("one", 1)))
        assert names(read(large)) == ["eu/one"]

    def test_an_object_that_alone_needs_more_than_the_pool_is_too_large(self, pairing: Pairing) -> None:
        before = dict(pairing.product.measures.admission_refusals)
        exchange = pairing.get(NOTES + "?targets=eu")
        answer(expect(pairing, "eu"), eu=page(note("one", 1, text="x" * 1_200_000)))
        assert refusal(exchange) == (422, "ReadTooLarge", [])
        assert "-memory-pool" in json.loads(exchange.content)["message"]
        assert pairing.product.measures.admission_refusals == {
            **before,
            "too-large": before["too-large"] + 1,
        }
        assert pairing.product.ask(pairing.product.measures.memory_reserved) == 0


class TestAnImpatientOperator:
    """Two seconds for all of it."""

    @pytest.fixture
    def flags(self) -> dict[str, str]:
        return {"target-timeout": "2s", "admission-wait": "1s"}

    def test_a_preference_makes_its_time_no_longer(self, pairing: Pairing) -> None:
        exchange = pairing.get(NOTES + "?targets=eu", [(b"Prefer", b"wait=1000")])
        request = expect(pairing, "eu")["eu"]
        pairing.product.pass_time(2)
        request.expect_cancelled()
        assert refusal(exchange) == (504, "TargetTimeout", [("eu", "time-out")])


class TestABrowserThatStopsReading:
    """What a fleet list holds is held until it has been taken, or nobody is there to take it."""

    @pytest.fixture
    def flags(self) -> dict[str, str]:
        return {"response-write-timeout": "5s", "memory-pool": "64MiB"}

    @pytest.mark.parametrize("end", ["write timeout", "logout", "gone", "reads on"])
    def test_its_list_is_held_until_its_end_and_no_longer(self, pairing: Pairing, end: str) -> None:
        pairing.connect(receive_buffer=SMALL)
        exchange = pairing.get(NOTES + "?targets=eu")
        answer(
            expect(pairing, "eu"), eu=page(*(note(f"n{day}", day, text="x" * 10**6) for day in range(1, 7)))
        )
        assert exchange.read_head()[0] == 200
        pairing.browser.stop_reading()
        pairing.script.until_still(0.05)
        reads, measures = pairing.product.target("eu").reads.limit, pairing.product.measures
        assert pairing.product.ask(lambda: (reads.admitted, reads.waiting)) == (1, 0)
        assert pairing.product.ask(measures.memory_reserved) > 12 * 10**6
        match end:
            case "write timeout":
                pairing.product.pass_time(8)
                assert pairing.logged("response cut short")[0]["cause"] == "write_timeout"
            case "logout":
                pairing.connect().request("POST", "/auth/logout", pairing.me.change).read_until_end()
            case "gone":
                pairing.browser.close()
            case _:
                pairing.browser.go_on_reading()
                outcome = exchange.read_until_end(seconds=30)
                assert isinstance(outcome, Whole) and len(json.loads(outcome.content)["items"]) == 6
        pairing.script.until(
            lambda: pairing.product.ask(lambda: (reads.admitted, measures.memory_reserved())) == (0, 0),
            "room",
        )
        if end in ("write timeout", "logout"):
            pairing.browser.go_on_reading()
            assert isinstance(exchange.read_until_end(seconds=30), Aborted)
        pairing.script.until(
            lambda: pairing.product.ask(lambda: left(pairing.product._foyer, OF_EXCHANGES)) == {}, "a rest"
        )
