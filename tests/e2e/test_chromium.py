"""A real browser before foyer and the real cluster behind it, in both HTTP versions."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page

from tests.e2e.harness.browser import SESSION, Web
from tests.e2e.harness.chromium import chromium, visitor
from tests.e2e.harness.cluster import CORE, Cluster
from tests.e2e.harness.serving import Foyer

CONFIGMAPS = f"/k8s{CORE}/configmaps"

WATCH = """async (path) => {
  window.events = [];
  window.ended = null;
  const answer = await fetch(path);
  const read = async () => {
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    for (let rest = "";;) {
      const { value, done } = await reader.read();
      if (done) return "clean";
      const lines = (rest + value).split("\\n");
      rest = lines.pop();
      window.events.push(...lines.map((line) => JSON.parse(line)));
    }
  };
  read().catch(() => "aborted").then((ending) => { window.ended = ending; });
  return answer.status;
}"""

CHANGE = """async ([method, path, headers, body]) => {
  const answer = await fetch(path, { method, headers, body });
  return [answer.status, answer.headers.get("Krm-Foyer-Interruption")];
}"""


@pytest.fixture
def page(foyer: Foyer, http_version: str, tmp_path: Path) -> Iterator[Page]:
    arguments = ["--disable-http2"] if http_version == "HTTP/1.1" else []
    with (
        chromium(*arguments) as browser,
        visitor(browser, tmp_path, "last", scripted=True) as page,
    ):
        yield page


def sign_in_at_dex(page: Page, name: str) -> None:
    page.locator("input[name=login]").fill(f"{name}@example.com")
    page.locator("input[name=password]").fill("password")
    page.locator("button[type=submit]").click()


def cookie(page: Page, web: Web) -> str:
    """The session cookie that Chromium kept, whose secrets are searched for from now on."""
    (value,) = [kept["value"] for kept in page.context.cookies() if kept["name"] == SESSION]
    web.sealing.open(value)
    return value


def test_a_person_opens_a_kubernetes_url_signs_in_and_is_back_at_it(
    page: Page, foyer: Foyer, web: Web, http_version: str
) -> None:
    url = f"{foyer.origin}{CONFIGMAPS}/settings-1?pretty=1"
    answer = page.goto(url)
    assert answer is not None
    assert answer.status == 401
    page.locator("a[href^='/auth/login']").first.click()
    sign_in_at_dex(page, "bob")
    page.wait_for_url(url)
    assert '"name": "settings-1"' in page.locator("body").inner_text()
    cookie(page, web)
    web.leaks.saw("the page", page.content().encode())
    protocol = page.evaluate("performance.getEntriesByType('navigation')[0].nextHopProtocol")
    assert protocol == {"HTTP/1.1": "http/1.1", "HTTP/2": "h2"}[http_version]


def test_a_page_reads_changes_and_watches_until_logout_breaks_its_watch(
    page: Page, foyer: Foyer, web: Web, cluster: Cluster
) -> None:
    page.goto(f"{foyer.origin}/auth/login?return_to=/")
    sign_in_at_dex(page, "alice")
    page.wait_for_url(f"{foyer.origin}/")
    cookie(page, web)
    assert page.evaluate("document.cookie") == "", "no script sees the session"

    listed = page.evaluate(f"fetch('{CONFIGMAPS}').then((answer) => answer.json())")
    assert "settings-1" in [item["metadata"]["name"] for item in listed["items"]]

    one = f"{CONFIGMAPS}?watch=1&fieldSelector=metadata.name%3Dsettings-1"
    assert page.evaluate(WATCH, one) == 200
    patch = {"Content-Type": "application/merge-patch+json"}
    change = ["PATCH", f"{CONFIGMAPS}/settings-1", patch, '{"data":{"by":"page"}}']
    assert page.evaluate(CHANGE, change) == [403, "CSRFProofRequired"]
    session = page.evaluate("fetch('/auth/session').then((answer) => answer.json())")
    patch[session["csrfHeader"]] = session["csrfToken"]
    assert page.evaluate(CHANGE, change) == [200, None]
    page.wait_for_function("window.events.at(-1)?.object.data.by === 'page'")
    cluster.set_data("settings-1", by="elsewhere")
    page.wait_for_function("window.events.at(-1)?.object.data.by === 'elsewhere'")

    logout = ["POST", "/auth/logout", {session["csrfHeader"]: session["csrfToken"]}, None]
    assert page.evaluate(CHANGE, logout) == [204, None]
    page.wait_for_function("window.ended === 'aborted'")
    assert SESSION not in {kept["name"] for kept in page.context.cookies()}
    assert page.evaluate(f"fetch('{CONFIGMAPS}').then((answer) => answer.status)") == 401


def test_an_answer_that_comes_before_an_upload_ends_reaches_the_page_whole(
    page: Page, foyer: Foyer, web: Web
) -> None:
    """kube-apiserver reads 3 MiB of a document and then refuses it; the page sends twelve."""
    page.goto(f"{foyer.origin}/auth/login?return_to=/")
    sign_in_at_dex(page, "alice")
    page.wait_for_url(f"{foyer.origin}/")
    cookie(page, web)
    session = page.evaluate("fetch('/auth/session').then((answer) => answer.json())")
    headers = {"Content-Type": "application/json", session["csrfHeader"]: session["csrfToken"]}
    for _ in range(3):
        answer = page.evaluate(
            """([path, headers]) => fetch(path, { method: "POST", headers, body: "a".repeat(12e6) })
                .then(async (answer) => [answer.status, (await answer.json()).reason])""",
            [CONFIGMAPS, headers],
        )
        assert answer == [413, "RequestEntityTooLarge"]
        assert page.evaluate(f"fetch('{CONFIGMAPS}').then((answer) => answer.status)") == 200
