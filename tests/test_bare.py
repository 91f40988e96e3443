"""foyer without the flags that signing in needs."""

import json

import pytest

from foyer.config import load
from foyer.front.bare import Bare
from foyer.measures import Measures
from foyer.observe import Log
from foyer.pages.assets import ASSETS
from foyer.pages.render import Pages
from foyer.protocol.events import RequestHead
from tests.exchange.sides import Browser

PAGES = Pages()


class Asked:
    """The answer to one request, and the log lines it left."""

    def __init__(self, target: str, method: str = "GET", *, ready: bool = True, **fields: str) -> None:
        self.lines: list[dict[str, object]] = []
        bare = Bare(PAGES, Log(self._write), Measures(), load([]).overload, lambda: ready)
        browser = Browser()
        named = [(name.encode(), value.encode()) for name, value in fields.items()]
        browser.receiver = bare.begin(
            browser, RequestHead(method.encode(), target.encode(), named, ended=True)
        )
        assert browser.head is not None
        self.head = browser.head
        self.status = browser.head.status
        browser.take(browser.queued)
        assert bare.open_exchanges == []

    def _write(self, line: bytes) -> bool:
        self.lines.append(json.loads(line))
        return True

    def field(self, name: str) -> list[bytes]:
        return self.head.all(name.encode())


@pytest.mark.parametrize("target", ["/", "/?a=b", "/healthz", "/readyz", *(path.decode() for path in ASSETS)])
@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_the_start_page_the_probes_and_the_assets_are_there(target: str, method: str) -> None:
    asked = Asked(target, method)
    assert (asked.status, asked.lines) == (200, [])


def test_it_is_ready_until_it_stops() -> None:
    assert Asked("/readyz").status == 200
    assert Asked("/readyz", ready=False).status == 503
    assert Asked("/healthz", ready=False).status == 200


@pytest.mark.parametrize(
    "target",
    [
        "/auth/login",
        "/auth/callback?code=a&state=b",
        "/auth/session",
        "/auth/check",
        "/auth/whoami",
        "/auth/logged-out",
        "/k8s/api/v1/pods",
        "/k8s/api//v1",
        "/k8s/api/v1/namespaces/a/pods/b/exec",
        "/k8s",
        "/_foyer",
        "/_foyer/access",
        "/_foyer/",
        "//",
        "/index.html",
        "/metrics",
    ],
)
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_every_other_route_is_a_404_interruption(target: str, method: str) -> None:
    asked = Asked(target, method)
    assert asked.status == 404
    assert asked.field("krm-foyer-interruption") == [b"NotFound"]
    assert [line["reason"] for line in asked.lines] == ["NotFound"]


@pytest.mark.parametrize("target", ["/", "/healthz", "/_foyer/style.css"])
def test_another_method_on_what_is_there_is_a_405(target: str) -> None:
    asked = Asked(target, "POST")
    assert (asked.status, asked.field("allow")) == (405, [b"GET, HEAD"])


def test_a_tunnel_is_refused_as_everywhere() -> None:
    assert Asked("/k8s/api", upgrade="websocket").status == 501
    assert Asked("foyer.test:443", "CONNECT").status == 501


def test_it_is_held_to_the_limit_of_the_whole_server() -> None:
    bare = Bare(
        PAGES, Log(lambda line: True), Measures(), load(["-max-server-requests=1"]).overload, lambda: True
    )

    def asked(target: bytes) -> Browser:
        browser = Browser()
        bare.begin(browser, RequestHead(b"GET", target, [], ended=True))
        return browser

    first, second, probe = asked(b"/"), asked(b"/"), asked(b"/healthz")
    assert [browser.head.status for browser in (first, second, probe) if browser.head] == [200, 503, 200]
    for browser in (first, probe):
        browser.take(1 << 20)
    third = asked(b"/")
    assert third.head is not None and third.head.status == 200
