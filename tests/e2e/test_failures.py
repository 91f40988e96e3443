"""Things that break: tokens expire, the API server and Dex go and come back, foyer itself ends."""

import signal
import time
from collections.abc import Callable, Iterator

import pytest

from foyer.net.upstream import PING_TIME, QUIET_TIME
from tests.e2e.harness.answers import assert_interrupted, assert_passed, assert_refused_by_kubernetes
from tests.e2e.harness.browser import Browser, Ending, OpenBrowser, Watch
from tests.e2e.harness.cluster import CORE, Cluster
from tests.e2e.harness.leaks import Leaks
from tests.e2e.harness.serving import Foyer, free_port
from tests.e2e.harness.waiting import wait_for

ALICE = "alice@example.com"
CONFIGMAPS = f"/k8s{CORE}/configmaps"
STREAMING_LIST = "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"


def open_watches(browser: Browser) -> list[Watch]:
    """One plain and one compressed, past their initial events, and silent from here on."""
    version = browser.get(CONFIGMAPS).json()["metadata"]["resourceVersion"]
    one = "fieldSelector=metadata.name%3Dsettings-2"
    plain = browser.watch(f"{CONFIGMAPS}?watch=1&resourceVersion={version}&{one}")
    compressed = browser.watch(f"{CONFIGMAPS}?{STREAMING_LIST}&{one}")
    compressed.events_to("BOOKMARK")
    return [plain, compressed]


def assert_serves_again(browser: Browser, cluster: Cluster) -> None:
    assert_passed(browser.get(f"{CONFIGMAPS}/settings-2"))
    watches = open_watches(browser)
    tick = cluster.tick("settings-2")
    assert [watch.change()["object"]["data"]["tick"] for watch in watches] == [tick, tick]


@pytest.fixture
def breakable(cluster: Cluster) -> Iterator[Cluster]:
    """Whatever a test breaks, the next one finds whole."""
    yield cluster
    cluster.up()


# The API server


def test_an_api_server_that_is_killed_under_open_watches_aborts_them_and_serves_again_when_back(
    alice: Browser, breakable: Cluster, foyer: Foyer
) -> None:
    lines = len(foyer.log)
    watches = open_watches(alice)
    alice.proof()
    breakable.signal_apiserver(signal.SIGKILL)
    assert [watch.ending() for watch in watches] == [Ending.ABORTED, Ending.ABORTED]
    if alice.http_version == "HTTP/2":
        assert all("INTERNAL_ERROR" in watch.error for watch in watches)
    assert_interrupted(alice.get(CONFIGMAPS), 502, "UpstreamUnavailable")
    assert_interrupted(alice.change("DELETE", f"{CONFIGMAPS}/settings-2"), 502, "UpstreamUnavailable")
    assert alice.get("/auth/session").status_code == 200
    assert alice.get("/readyz").status_code == 200, "readiness is about the issuer"
    foyer.logged(
        "of a cut", lambda line: line["msg"] == "response cut short" and line["cause"] == "upstream", lines
    )
    foyer.logged("of the interruption", lambda line: line["msg"] == "interruption", lines)

    breakable.up()
    assert_serves_again(alice, breakable)


def test_an_api_server_that_is_stopped_in_its_tracks_is_found_dead_and_serves_again_when_it_goes_on(
    alice: Browser, breakable: Cluster, foyer: Foyer
) -> None:
    """Its kernel acknowledges everything: a PING alone finds it, 25 s after it was last heard."""
    lines = len(foyer.log)
    watches = open_watches(alice)
    stopped = time.monotonic()
    breakable.signal_apiserver(signal.SIGSTOP)
    assert_interrupted(alice.get(CONFIGMAPS), 502, "UpstreamUnavailable")
    assert [watch.ending(within=QUIET_TIME + PING_TIME) for watch in watches] == [Ending.ABORTED] * 2
    # A timer wheel's ticks are a second apart, and something may have been heard until just before.
    assert time.monotonic() - stopped <= QUIET_TIME + PING_TIME + 5
    foyer.logged(
        "of a cut", lambda line: line["msg"] == "response cut short" and line["cause"] == "upstream", lines
    )
    breakable.signal_apiserver(signal.SIGCONT)
    wait_for("it to answer", lambda: alice.get(f"{CONFIGMAPS}/settings-2").status_code == 200, 30)
    assert_serves_again(alice, breakable)


def test_an_api_server_that_ends_in_order_ends_its_watches_cleanly(
    alice: Browser, breakable: Cluster
) -> None:
    watches = open_watches(alice)
    breakable.down("apiserver")
    assert [watch.ending() for watch in watches] == [Ending.CLEAN, Ending.CLEAN]
    breakable.up()
    assert_serves_again(alice, breakable)


# Tokens


def test_a_short_token_ends_its_session_with_it(open_browser: OpenBrowser, breakable: Cluster) -> None:
    """Dex signs tokens of six seconds: requests pass until then, and none reaches Kubernetes after."""
    with breakable.id_token_ttl("6s"):
        browsers = [open_browser(version) for version in ("HTTP/1.1", "HTTP/2")]
        for browser in browsers:
            browser.sign_in(ALICE)
            assert_passed(browser.get(CONFIGMAPS))
    for browser in browsers:
        wait_for("the session's end", lambda: browser.get("/auth/session").status_code == 401)  # noqa: B023
    audit = breakable.audit()
    for browser in browsers:
        assert_interrupted(browser.get(f"{CONFIGMAPS}?too-late"), 401, "Unauthorized")
    assert browsers[0].sign_in(ALICE).status_code == 303
    witness = browsers[0].get(f"{CONFIGMAPS}?in-time")
    audit.of(witness.headers["audit-id"])
    assert [uri for uri in audit.uris() if "too-late" in uri] == []


def test_a_token_that_only_the_api_server_refuses_is_its_own_401(
    open_sealed: Callable[[str, float], Browser], cluster: Cluster
) -> None:
    token = cluster.mint("late@example.com", groups="demo-editors", ttl=-3600)
    browser = open_sealed(token, time.time() + 600)
    assert_refused_by_kubernetes(browser.get(CONFIGMAPS), 401, "Unauthorized")


def test_a_token_refused_for_one_person_leaves_what_others_have_open(
    open_sealed: Callable[[str, float], Browser], alice: Browser, cluster: Cluster
) -> None:
    """After an unauthenticated answer kube-apiserver sends GOAWAY on the connection that all share."""
    watches = open_watches(alice)
    token = cluster.mint("late@example.com", groups="demo-editors", ttl=-3600)
    late = open_sealed(token, time.time() + 600)
    for _ in range(3):
        assert late.get(CONFIGMAPS).status_code == 401
        tick = cluster.tick("settings-2")
        assert [watch.change()["object"]["data"]["tick"] for watch in watches] == [tick, tick]
        assert_passed(alice.get(f"{CONFIGMAPS}/settings-2"))
    assert all(watch.is_open() for watch in watches)


# Dex


def test_dex_being_down_stops_logins_and_no_session(
    alice: Browser, browser: Browser, breakable: Cluster
) -> None:
    callback = browser.at_issuer(browser.start_login(), ALICE)
    assert callback is not None
    breakable.down("dex")
    assert_passed(alice.get(CONFIGMAPS))
    answer = browser.get(callback)
    assert (answer.status_code, answer.json()["reason"]) == (502, "token-exchange-failed")
    breakable.up()
    assert browser.sign_in(ALICE).status_code == 303


@pytest.fixture
def second(flags: dict[str, str], cluster: Cluster, leaks: Leaks) -> Iterator[Callable[[], Foyer]]:
    """Starts another foyer with the same keys, at an origin of its own."""
    started: list[Foyer] = []

    def start() -> Foyer:
        listen = f"127.0.0.1:{free_port()}"
        own = {**flags, "-listen": listen, "-public-url": f"https://{listen}"}
        started.append(Foyer(own, f"https://{listen}", cluster.env["CA_FILE"], leaks))
        return started[-1]

    yield start
    for foyer in started:
        foyer.stop()


def test_foyer_starts_without_dex_and_is_ready_when_dex_is(
    second: Callable[[], Foyer], open_browser: OpenBrowser, breakable: Cluster, http_version: str
) -> None:
    breakable.down("dex")
    foyer = second()
    foyer.wait_until(503)
    browser = open_browser(http_version, origin=foyer.origin)
    answer = browser.get("/auth/login")
    assert (answer.status_code, answer.json()["reason"]) == (503, "issuer-unavailable")
    assert browser.get("/healthz").status_code == 200
    breakable.up()
    foyer.wait_until(200)
    assert browser.get("/auth/login").status_code == 302


# foyer


def test_foyer_told_twice_to_end_aborts_what_is_open_and_exits_0(
    second: Callable[[], Foyer], open_browser: OpenBrowser, alice: Browser, http_version: str
) -> None:
    foyer = second()
    foyer.wait_until(200)
    browser = open_browser(http_version, dict(alice.jar.cookies), foyer.origin)
    watches = open_watches(browser)
    foyer.signal(signal.SIGTERM)
    foyer.wait_until(0)
    assert all(watch.is_open() for watch in watches), "the first one lets what is open go on for a while"
    foyer.signal(signal.SIGTERM)
    assert [watch.ending() for watch in watches] == [Ending.ABORTED, Ending.ABORTED]
    assert foyer.exit_code() == 0
    foyer.logged("of a cut", lambda line: line["msg"] == "response cut short" and line["cause"] == "shutdown")
