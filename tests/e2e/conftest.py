"""What the end-to-end tests share: one control plane, one foyer before it, and browsers.

`make e2e` runs these, through `run`, which installs what they need and says in `FOYER_CLUSTER`
where the cluster's scripts are. Without those only what needs no cluster runs.
"""

import base64
import os
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from playwright.sync_api import Browser as Chromium
from playwright.sync_api import Page, StorageState

from tests.e2e.harness.browser import SESSION, Browser, OpenBrowser, Web
from tests.e2e.harness.chromium import chromium, visitor
from tests.e2e.harness.cluster import Cluster
from tests.e2e.harness.demo import choose, running_demo
from tests.e2e.harness.helper import Visit
from tests.e2e.harness.leaks import Leaks
from tests.e2e.harness.loop import LoopThread
from tests.e2e.harness.sealing import Sealing
from tests.e2e.harness.serving import FOYER, Foyer


@pytest.fixture(scope="session")
def leaks() -> Iterator[Leaks]:
    leaks = Leaks()
    yield leaks
    assert leaks.found() == []


@pytest.fixture(autouse=True)
def no_secret_leaves_foyer(leaks: Leaks) -> Iterator[None]:
    """Around every test: nothing that foyer sent or logged meanwhile has a secret in it."""
    yield
    assert leaks.found_since_last_time() == []


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    scripts = os.environ.get("FOYER_CLUSTER")
    if not scripts:
        pytest.skip("no cluster: FOYER_CLUSTER names no folder with the scripts that start one")
    cluster = Cluster(Path(scripts), tmp_path_factory.mktemp("cluster"))
    yield cluster
    cluster.close()


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory, leaks: Leaks) -> Iterator[str]:
    """The address of a `foyer demo`, which needs no cluster."""
    with running_demo(tmp_path_factory.mktemp("demo") / "log", leaks) as address:
        yield address


@pytest.fixture(scope="module")
def visits() -> Iterator[Chromium]:
    """A Chromium for the tests of one module, which share no page and no cookie."""
    with chromium() as browser:
        yield browser


@pytest.fixture(scope="session")
def signed_in_at_the_demo() -> dict[str, StorageState]:
    """The cookies of the demo's people: a sign-in each, not one a test."""
    return {}


@pytest.fixture
def visit(
    demo: str, visits: Chromium, signed_in_at_the_demo: dict[str, StorageState], tmp_path: Path
) -> Iterator[Visit]:
    """Opens a page of the demo's origin that is nobody's application, in a profile of its own."""
    with ExitStack() as pages:

        def visit(person: str | None = None) -> Page:
            if person is not None and person not in signed_in_at_the_demo:
                with visitor(visits, tmp_path, f"sign-in-{person}") as page:
                    page.goto(f"{demo}/auth/login?return_to=/blank")
                    choose(page, person)
                    page.wait_for_url(f"{demo}/blank")
                    signed_in_at_the_demo[person] = page.context.storage_state()
            cookies = None if person is None else signed_in_at_the_demo[person]
            page = pages.enter_context(visitor(visits, tmp_path, person or "nobody", cookies=cookies))
            page.goto(f"{demo}/blank")
            return page

        yield visit


@pytest.fixture(scope="session")
def keys_file(tmp_path_factory: pytest.TempPathFactory, leaks: Leaks) -> Path:
    """A session key as `foyer keys` prints it."""
    printed = subprocess.run([FOYER, "keys"], capture_output=True, text=True, check=True, timeout=30).stdout
    leaks.learn("a session key", printed.strip())
    file = tmp_path_factory.mktemp("keys") / "session-keys"
    file.write_text(printed)
    return file


@pytest.fixture(scope="session")
def flags(cluster: Cluster, keys_file: Path, leaks: Leaks) -> dict[str, str]:
    """The documented flags for this control plane."""
    env = cluster.env
    secret = env["OIDC_CLIENT_SECRET"]
    leaks.learn("the client secret", secret)
    basic = base64.b64encode(f"{env['OIDC_CLIENT_ID']}:{secret}".encode()).decode()
    leaks.learn("the client's basic credentials", basic)
    return {
        "-listen": env["PUBLIC_URL"].removeprefix("https://"),
        "-tls-cert-file": env["SERVER_CERT_FILE"],
        "-tls-key-file": env["SERVER_KEY_FILE"],
        "-public-url": env["PUBLIC_URL"],
        "-oidc-issuer": env["OIDC_ISSUER"],
        "-oidc-client-id": env["OIDC_CLIENT_ID"],
        "-oidc-client-secret-file": env["OIDC_CLIENT_SECRET_FILE"],
        "-oidc-ca-file": env["CA_FILE"],
        "-oidc-scopes": "openid,email,profile,groups",
        "-kubernetes-server": env["KUBE_URL"],
        "-kubernetes-ca-file": env["CA_FILE"],
        "-session-keys-file": str(keys_file),
    }


@pytest.fixture(scope="session")
def foyer(flags: dict[str, str], cluster: Cluster, leaks: Leaks) -> Iterator[Foyer]:
    foyer = Foyer(flags, flags["-public-url"], cluster.env["CA_FILE"], leaks)
    foyer.wait_until(200)
    yield foyer
    assert foyer.stop() == 0
    assert [line for line in foyer.log if line["msg"] == "not JSON"] == []


@pytest.fixture(params=["HTTP/1.1", "HTTP/2"])
def http_version(request: pytest.FixtureRequest) -> str:
    """The version between the browser and foyer."""
    return str(request.param)


@pytest.fixture(scope="session")
def web(cluster: Cluster, keys_file: Path, leaks: Leaks) -> Iterator[Web]:
    loop = LoopThread()
    yield Web(cluster.env["CA_FILE"], loop, leaks, Sealing(keys_file, leaks))
    loop.close()


@pytest.fixture
def open_browser(foyer: Foyer, web: Web) -> Iterator[OpenBrowser]:
    """Opens browsers at foyer's origin (or another), and closes them after the test."""
    opened: list[Browser] = []

    def open_browser(
        http_version: str, cookies: dict[str, str] | None = None, origin: str = foyer.origin
    ) -> Browser:
        opened.append(Browser(web, origin, http_version, cookies))
        return opened[-1]

    yield open_browser
    for browser in opened:
        browser.close()


@pytest.fixture
def browser(open_browser: OpenBrowser, http_version: str) -> Browser:
    """Nobody signed in."""
    return open_browser(http_version)


@pytest.fixture(scope="session")
def sign_ins() -> dict[tuple[str, str], str]:
    """Session cookies by person and HTTP version: a sign-in each, not one a test."""
    return {}


@pytest.fixture
def signed_in(
    open_browser: OpenBrowser, http_version: str, sign_ins: dict[tuple[str, str], str]
) -> Callable[[str], Browser]:
    """Opens the browser of someone who has signed in through Dex's form."""

    def signed_in(email: str) -> Browser:
        if (email, http_version) not in sign_ins:
            first = open_browser(http_version)
            first.sign_in(email)
            sign_ins[email, http_version] = first.jar.cookies[SESSION]
        return open_browser(http_version, {SESSION: sign_ins[email, http_version]})

    return signed_in


@pytest.fixture
def alice(signed_in: Callable[[str], Browser]) -> Browser:
    """She edits."""
    return signed_in("alice@example.com")


@pytest.fixture
def bob(signed_in: Callable[[str], Browser]) -> Browser:
    """He reads, but no Secrets."""
    return signed_in("bob@example.com")


@pytest.fixture
def carol(signed_in: Callable[[str], Browser]) -> Browser:
    """She may nothing."""
    return signed_in("carol@example.com")


@pytest.fixture
def open_sealed(open_browser: OpenBrowser, http_version: str, web: Web) -> Callable[[str, float], Browser]:
    """Opens the browser of a session with this ID token and this end, which no login made."""

    def open_sealed(token: str, ends_at: float) -> Browser:
        return open_browser(http_version, {SESSION: web.sealing.seal(token, ends_at)})

    return open_sealed


@pytest.fixture
def eve(open_sealed: Callable[[str, float], Browser], cluster: Cluster) -> Browser:
    """She edits, one request at a time: Priority and Fairness refuses her a second."""
    token = cluster.mint("eve@example.com", groups="throttled,demo-editors")
    return open_sealed(token, time.time() + 600)
