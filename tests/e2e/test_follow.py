"""follow() of foyer.js in Chromium: what a page is told of a stream that its test writes."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Error, Page

from tests.e2e.harness.chromium import visitor
from tests.e2e.harness.followed import SCOPE, Followed
from tests.e2e.harness.gateway import Gateway, running_gateway
from tests.e2e.harness.helper import call


@pytest.fixture
def gateway() -> Iterator[Gateway]:
    with running_gateway() as gateway:
        yield gateway


@pytest.fixture
def page(gateway: Gateway, visits: Browser, tmp_path: Path) -> Iterator[Page]:
    """A page of that origin whose scripts raise nothing."""
    errors: list[str] = []
    with visitor(visits, tmp_path, "last") as page:
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.goto(f"{gateway.origin}/blank")
        yield page
    assert errors == []


def thing(uid: str, **data: str) -> dict[str, Any]:
    metadata = {"uid": uid, "name": f"named-{uid}", "resourceVersion": "7"}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


def identity(uid: str) -> dict[str, str]:
    return {"uid": uid, "apiVersion": "v1", "kind": "ConfigMap", "name": f"named-{uid}"}


# What is asked


def test_a_scope_is_asked_for_as_it_is_given_and_what_is_empty_is_left_out(
    page: Page, gateway: Gateway
) -> None:
    scope = {
        "group": "example.com",
        "version": "v1",
        "resource": "notes",
        "namespace": "demo",
        "name": "one",
        "labelSelector": "app in (a,b),c!=d & more",
        "target": "",
        "projection": "krm-spec/v1",
    }
    Followed(page, scope | {"group": None})
    opened = gateway.stream()
    assert opened.query == {name: scope[name] for name in scope if name not in ("group", "target")}
    assert opened.headers["Accept"] == "text/event-stream"
    assert opened.headers["Cache-Control"] == "no-cache"


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ("{ resource: 'pods' }, () => {}", "a scope has a version and a resource"),
        ("{ version: 'v1', resource: '' }, () => {}", "a scope has a version and a resource"),
        ("{ version: 'v1', resource: 'pods', namespce: 'a' }, () => {}", "a scope has no namespce"),
        ("{ version: 1, resource: 'pods' }, () => {}", "a scope's version is a string"),
        ("{ version: 'v1', resource: 'pods' }", "follow needs a function to call"),
    ],
)
def test_what_can_be_no_scope_is_thrown_at_once(
    page: Page, gateway: Gateway, arguments: str, why: str
) -> None:
    with pytest.raises(Error, match=f"TypeError: {why}"):
        call(page, f"follow({arguments})")
    assert gateway.nothing_opened()


# What is shown


def test_nothing_is_shown_before_the_first_snapshot_is_whole(page: Page, gateway: Gateway) -> None:
    followed = Followed(page)
    stream = gateway.stream().begin()
    stream.event("reset")
    stream.event("added", object=thing("a"), redacted=[])
    stream.event("deleted", identity=identity("b"))
    assert followed.now() == {"state": "connecting", "reason": "", "objects": []}
    stream.event("added", object=thing("b"), redacted=[])
    stream.event("synced")
    told = followed.until("live")
    assert followed.states() == ["connecting", "live"]
    assert told["objects"] == {"a": thing("a"), "b": thing("b")}
    assert sorted(told["changed"]) == ["a", "b"]


def test_changes_are_told_with_the_uids_of_what_changed(page: Page, gateway: Gateway) -> None:
    followed = Followed(page)
    stream = gateway.stream().begin()
    stream.snapshot(thing("a", text="1", gone="soon"), thing("b"))
    followed.shows("a", "b")
    stream.event("modified", object=thing("a", text="2"), redacted=[])
    page.wait_for_function("followed.calls.at(-1).objects.a.data.text === '2'")
    last = followed.calls()[-1]
    assert (last["changed"], last["objects"]["a"]) == (["a"], thing("a", text="2")), "replaced, not merged"
    stream.event("deleted", identity=identity("b"))
    followed.shows("a")
    assert followed.calls()[-1]["changed"] == ["b"]
    stream.event("deleted", identity=identity("never seen"))
    stream.event("added", object=thing("c"), redacted=[])
    followed.shows("a", "c")
    assert followed.calls()[-1]["changed"] == ["c"]


def test_what_comes_together_is_told_together(page: Page, gateway: Gateway) -> None:
    followed = Followed(page)
    stream = gateway.stream().begin()
    stream.snapshot()
    followed.until("live")
    before = len(followed.calls())
    frames = [stream.frame("added", object=thing(str(i)), redacted=[]) for i in range(50)]
    stream.send(b"".join(frames))
    followed.shows(*map(str, range(50)))
    assert len(followed.calls()) == before + 1
    assert len(followed.calls()[-1]["changed"]) == 50


def test_redactions_are_told_where_there_are_any(page: Page, gateway: Gateway) -> None:
    followed = Followed(page)
    stream = gateway.stream().begin()
    one, two = [{"path": "/data/password", "rev": 1}], [{"path": "/data/password", "rev": 2}]
    stream.event("reset")
    stream.event("added", object=thing("a"), redacted=one)
    stream.event("added", object=thing("b"), redacted=[])
    stream.event("synced")
    assert followed.until("live")["redacted"] == {"a": one}
    stream.event("modified", object=thing("a"), redacted=two)
    page.wait_for_function("followed.calls.at(-1).redacted.a[0].rev === 2")
    assert followed.calls()[-1]["changed"] == ["a"]
    stream.event("modified", object=thing("a"), redacted=[])
    page.wait_for_function("followed.calls.at(-1).redacted.a === undefined")
    stream.event("modified", object=thing("b"), redacted=one)
    page.wait_for_function("followed.calls.at(-1).redacted.b")
    stream.event("deleted", identity=identity("b"))
    followed.shows("a")
    assert followed.calls()[-1]["redacted"] == {}


def test_a_new_cycle_keeps_what_was_shown_until_it_is_whole_and_then_prunes(
    page: Page, gateway: Gateway
) -> None:
    followed = Followed(page)
    stream = gateway.stream().begin()
    stream.snapshot(thing("a"), thing("b"), thing("c", text="old"))
    followed.until("live")
    stream.event("error", code="RESYNC_REQUIRED", message="A new one.", terminal=False)
    stale = followed.until("stale")
    assert (stale["reason"], stale["message"]) == ("RESYNC_REQUIRED", "A new one.")
    stream.event("reset")
    for shown in (thing("a"), thing("c", text="new"), thing("d"), thing("e")):
        stream.event("added", object=shown, redacted=[])
    stream.event("deleted", identity=identity("e"))
    assert sorted(followed.now()["objects"]) == ["a", "b", "c"]
    page.evaluate("() => { self.a = followed.following.objects.get('a'); }")
    stream.event("synced")
    followed.shows("a", "c", "d")
    last = followed.calls()[-1]
    assert (last["state"], last["reason"], last["message"]) == ("live", "", "")
    assert sorted(last["changed"]) == ["b", "c", "d"], "and not what is as it was"
    assert last["objects"]["c"]["data"] == {"text": "new"}
    assert page.evaluate("a === followed.following.objects.get('a')"), "which is not kept twice"
    assert followed.states() == ["connecting", "live", "stale", "live"]


def test_a_value_left_out_that_changed_from_one_cycle_to_the_next_is_told(
    page: Page, gateway: Gateway
) -> None:
    followed = Followed(page)
    stream = gateway.stream().begin()
    for revision in (1, 2):
        stream.event("reset")
        stream.event("added", object=thing("a"), redacted=[{"path": "/data/a", "rev": revision}])
        stream.event("added", object=thing("b"), redacted=[{"path": "/data/b", "rev": 1}])
        stream.event("synced")
        page.wait_for_function(f"followed.calls.at(-1).redacted.a?.[0].rev === {revision}")
    assert followed.calls()[-1]["changed"] == ["a"]


def test_a_reset_without_a_word_is_a_new_cycle_too(page: Page, gateway: Gateway) -> None:
    followed = Followed(page)
    stream = gateway.stream().begin()
    stream.snapshot(thing("a"))
    followed.until("live")
    stream.event("reset")
    followed.until("stale")
    stream.event("reset")
    stream.event("added", object=thing("b"), redacted=[])
    stream.event("synced")
    followed.shows("b")
    assert followed.calls()[-1]["state"] == "live"


def test_what_is_of_a_type_to_come_is_passed_over(page: Page, gateway: Gateway) -> None:
    followed = Followed(page)
    stream = gateway.stream().begin()
    stream.event("reset")
    stream.event("progress", part=1)
    stream.event("synced")
    stream.event("constructor")
    stream.event("added", object=thing("a"), redacted=[])
    followed.shows("a")


IN_PIECES = """([content, size]) => {
    const bytes = Uint8Array.from(content);
    const pieces = new ReadableStream({
        start(controller) {
            for (let at = 0; at < bytes.length; at += size) controller.enqueue(bytes.slice(at, at + size));
        },
    });
    const headers = { "Content-Type": "text/event-stream", "X-KRM-Stream-Protocol": "1" };
    const { fetch } = self;
    self.fetch = async (url, init) =>
        url.pathname === "/stream/v1" ? new Response(pieces, { headers }) : fetch(url, init);
}"""
"""A stream that comes in pieces of just this size: between here and there a network joins them."""


@pytest.mark.parametrize("size", [1, 2, 3, 7, 10_000])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_bytes_may_be_cut_anywhere_and_lines_end_in_each_of_the_ways_that_they_may(
    page: Page, end: str, size: int
) -> None:
    data = {"text": "ümläut \U0001f600 \u2028"}
    events = [
        {"seq": 1, "type": "reset"},
        {"seq": 2, "type": "added", "object": thing("a", **data), "redacted": []},
        {"seq": 3, "type": "synced"},
        {"seq": 4, "type": "added", "object": thing("b"), "redacted": []},
    ]
    lines = ["\ufeff: hello"]
    for event in events:
        first, rest = json.dumps(event, ensure_ascii=False).split(",", 1)
        lines += ["event: message", "retry: 1", "id: 7", f"data:{first},", f"data: {rest}", "", ": beat", ""]
    page.evaluate(IN_PIECES, [list(end.join([*lines, ""]).encode()), size])
    followed = Followed(page)
    followed.shows("a", "b")
    assert followed.calls()[-1]["objects"]["a"]["data"] == data
    assert followed.states() == ["connecting", "live"]


def test_an_event_that_broke_off_is_none(page: Page, gateway: Gateway) -> None:
    followed = Followed(page)
    stream = gateway.stream().begin()
    stream.snapshot(thing("a"))
    followed.until("live")
    stream.send(stream.frame("added", object=thing("b"), redacted=[])[:-1])
    stream.end()
    assert list(followed.until("waiting")["objects"]) == ["a"]


def test_the_page_may_look_at_any_time_and_its_own_faults_end_nothing(page: Page, gateway: Gateway) -> None:
    page.evaluate(
        """async (scope) => {
            const { follow } = await import("/_foyer/foyer.js");
            self.faults = 0;
            addEventListener("error", (event) => { self.faults += 1; event.preventDefault(); });
            self.following = follow(scope, () => { throw new Error("the page's own"); });
            self.before = [following.state, following.objects.size, faults];
        }""",
        SCOPE,
    )
    assert page.evaluate("before") == ["connecting", 0, 0], "it is not called before it has what it is given"
    stream = gateway.stream().begin()
    stream.snapshot(thing("a"))
    page.wait_for_function("faults === 2")
    stream.event("added", object=thing("b"), redacted=[])
    page.wait_for_function("faults === 3")
    assert page.evaluate("[following.state, ...following.objects.keys()]") == ["live", "a", "b"]


def test_several_on_a_page_share_nothing(page: Page, gateway: Gateway) -> None:
    one, other = Followed(page, name="one"), Followed(page, SCOPE | {"namespace": "other"}, name="other")
    streams = {opened.query["namespace"]: opened.begin() for opened in (gateway.stream(), gateway.stream())}
    streams["demo"].snapshot(thing("a"))
    one.shows("a")
    assert other.states() == ["connecting"]
    streams["other"].snapshot(thing("b"))
    other.shows("b")
    one.do("following.stop()")
    streams["demo"].left()
    streams["other"].event("added", object=thing("c"), redacted=[])
    other.shows("b", "c")
    assert one.now()["state"] == "stopped"


# Stopping


@pytest.mark.parametrize("how", ["following.stop()", "controller.abort()"])
@pytest.mark.parametrize("when", ["connecting", "before the snapshot", "live"])
def test_stopping_leaves_the_stream_and_the_page_is_not_called_again(
    page: Page, gateway: Gateway, how: str, when: str
) -> None:
    followed = Followed(page)
    stream = gateway.stream()
    if when != "connecting":
        stream.begin().event("reset")
    if when == "live":
        stream.event("synced")
        followed.until("live")
    calls = len(followed.calls())
    followed.do(how)
    stream.left()
    followed.do("following.stop()")
    assert followed.now()["state"] == "stopped"
    assert len(followed.calls()) == calls
    assert gateway.nothing_opened()


def test_the_page_may_stop_it_as_it_is_told_something(page: Page, gateway: Gateway) -> None:
    page.evaluate(
        """async (scope) => {
            const { follow } = await import("/_foyer/foyer.js");
            self.states = [];
            self.following = follow(scope, ({ state, stop }) => {
                self.states.push(state);
                if (state === "live") stop();
            });
        }""",
        SCOPE,
    )
    stream = gateway.stream().begin()
    stream.snapshot(thing("a"))
    stream.left()
    assert page.evaluate("[states, following.state]") == [["connecting", "live"], "stopped"]


@pytest.mark.parametrize("how", ["following.stop()", "an error for good"])
def test_one_that_is_over_leaves_no_timer_and_nothing_that_listens(
    page: Page, gateway: Gateway, how: str
) -> None:
    """However often its stream was opened: a page may follow another scope at every click."""
    page.evaluate(
        """() => {
            const { setInterval, clearInterval } = self;
            self.intervals = new Set();
            self.setInterval = (...given) => {
                const id = setInterval(...given);
                intervals.add(id);
                return id;
            };
            self.clearInterval = (id) => clearInterval(id, intervals.delete(id));
        }"""
    )
    call(page, "session()")
    before = listening(page, "document", "self")
    followed = Followed(page)
    gateway.stream().begin().cut()
    followed.until("waiting")
    stream = gateway.stream().begin()
    stream.snapshot(thing("a"))
    followed.until("live")
    assert page.evaluate("intervals.size") == 1, "of the stream that is open"
    assert listening(page, "document", "self") == [before[0] + 2, before[1] + 2]
    assert listening(page, "followed.controller.signal") == [1]
    if how == "following.stop()":
        followed.do(how)
    else:
        stream.event("error", code="FORBIDDEN", message="No more.", terminal=True)
        followed.until("refused")
    stream.left()
    assert page.evaluate("intervals.size") == 0
    assert listening(page, "document", "self") == before
    assert listening(page, "followed.controller.signal") == [0]


WOKEN_BY = {"visibilitychange", "resume", "pageshow", "online", "abort"}


def listening(page: Page, *targets: str) -> list[int]:
    """How many listen to each of these for what a stream is woken or stopped by."""
    devtools = page.context.new_cdp_session(page)
    found = []
    for target in targets:
        asked = devtools.send("Runtime.evaluate", {"expression": target})["result"]
        heard = devtools.send("DOMDebugger.getEventListeners", {"objectId": asked["objectId"]})
        found.append(sum(listener["type"] in WOKEN_BY for listener in heard["listeners"]))
    devtools.detach()
    return found


def test_what_is_aborted_before_it_begins_asks_nothing(page: Page, gateway: Gateway) -> None:
    page.evaluate(
        """async (scope) => {
            const { follow } = await import("/_foyer/foyer.js");
            self.calls = 0;
            self.following = follow(scope, () => { self.calls += 1; }, { signal: AbortSignal.abort() });
            await new Promise((resolve) => setTimeout(resolve));
        }""",
        SCOPE,
    )
    assert page.evaluate("[calls, following.state]") == [0, "stopped"]
    assert gateway.asked == 0
    assert gateway.nothing_opened()
