"""What changes under a running foyer, with connections open: watched files, and SIGHUP (spec 01)."""

import base64
import json
import os
import ssl
import time
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import NamedTuple
from urllib.parse import parse_qsl, unquote_plus, urlsplit

import pytest

from foyer.session.keys import Keyring
from tests.support.certs import (
    ORIGIN_HOST,
    authority,
    stranger,
    write_authority,
    write_certificate,
)
from tests.support.leaks import Leaks
from tests.support.pairings import CLIENT_SECRET, JSON, Pairing, Products
from tests.support.script import Whole
from tests.support.upstreams import Request

PODS = "/k8s/api/v1/pods"


@pytest.fixture
def browser_version() -> str:
    """What is reloaded does not depend on it; the certificate's test connects with both."""
    return "h2"


@pytest.fixture
def pairing(browser_version: str, upstream_version: str, products: Products) -> Iterator[Pairing]:
    """As everywhere, on a foyer of its own."""
    product = products.start(upstream_version, True, {})
    pairing = Pairing(browser_version, products.upstream(upstream_version), product, Leaks(), tls=True)
    yield pairing
    pairing.leave()
    product.stop()
    pairing.check_leaks()


def works(pairing: Pairing) -> None:
    exchange = pairing.get(PODS)
    pairing.upstream.expect().answer(200, JSON, b"{}")
    assert exchange.read_until_end() == Whole(b"{}")


def said(pairing: Pairing, *messages: str) -> list[dict[str, object]]:
    """The lines of the log with these messages: so many, and in this order."""
    lines = [line for line in pairing.log if line["msg"] in messages]
    assert [line["msg"] for line in lines] == list(messages)
    return lines


def settled(pairing: Pairing, path: Path, content: bytes) -> None:
    """A file is replaced, as a mounted Secret's is, and foyer looks."""
    new = path.with_name(path.name + ".new")
    new.write_bytes(content)
    new.replace(path)
    pairing.product.poll()
    pairing.product.poll()  # and again: what is wrong is said once


# Roots


def test_new_roots_verify_new_connections_while_a_watch_goes_on_over_the_old_one(pairing: Pairing) -> None:
    file = pairing.product.folder / "ca.crt"
    watch = pairing.get(PODS + "?watch=1")
    opened = pairing.upstream.expect()
    opened.respond(200, JSON)
    opened.send(b"1")
    assert watch.read_exactly(1) == b"1"

    settled(pairing, file, stranger().cert_pem.bytes())
    refused = pairing.get(PODS)  # the server's certificate is the old authority's
    assert refused.read_head()[0] == 502
    assert pairing.logged("interruption")[0]["failure"] == "tls"

    settled(pairing, file, stranger().cert_pem.bytes() + authority().cert_pem.bytes())
    works(pairing)
    opened.send(b"2")
    opened.end()
    assert watch.read_until_end() == Whole(b"12")
    opened.connection.expect_closed()
    lines = said(pairing, "roots reloaded", "interruption", "roots reloaded")
    assert lines[0]["flag"] == "-kubernetes-ca-file"


def test_an_unused_connection_is_closed_when_its_roots_change_and_the_next_request_opens_another(
    pairing: Pairing,
) -> None:
    works(pairing)
    (connection,) = pairing.upstream.connections
    settled(pairing, pairing.product.folder / "ca.crt", authority().cert_pem.bytes() + b"# newer\n")
    connection.expect_closed()
    works(pairing)
    assert len(pairing.upstream.connections) == 2


def test_a_connection_that_was_being_opened_when_roots_change_takes_nothing(pairing: Pairing) -> None:
    upstream = pairing.upstream
    upstream.silent = True  # TCP's handshake succeeds, and TLS waits
    exchange = pairing.get(PODS)
    pairing.script.until(lambda: pairing.product.open_exchanges == 1, "the request to come in")
    settled(pairing, pairing.product.folder / "ca.crt", authority().cert_pem.bytes() + b"# newer\n")
    upstream.silent = False
    request = upstream.expect()
    old, new = upstream.connections
    assert request.connection is new
    old.expect_closed()
    request.answer(200, JSON, b"{}")
    assert exchange.read_until_end() == Whole(b"{}")


@pytest.mark.parametrize("content", [b"", b"no certificate"])
def test_roots_that_cannot_be_used_leave_the_old_ones_and_are_said_once(
    pairing: Pairing, content: bytes
) -> None:
    works(pairing)
    settled(pairing, pairing.product.folder / "ca.crt", content)
    works(pairing)
    (line,) = said(pairing, "roots refused")
    assert (line["level"], line["flag"]) == ("error", "-kubernetes-ca-file")
    assert len(pairing.upstream.connections) == 1


# Certificate and session keys


def test_a_new_certificate_serves_new_connections_and_open_ones_go_on(pairing: Pairing) -> None:
    folder = pairing.product.folder
    works(pairing)
    first = pairing.browser
    before = _shown(pairing)
    # On foyer's loop, so that it does not look between the two files: that is refused, and then mended.
    pair = pairing.product.ask(lambda: write_certificate(folder, ORIGIN_HOST))
    pairing.product.poll()
    assert _shown(pairing) != before
    works(pairing)
    assert pairing.browser is first
    for version in ("h1", "h2"):
        exchange = pairing.connect(version).request("GET", PODS, pairing.me.fields)
        pairing.upstream.expect().answer(200, JSON, b"{}")
        assert exchange.read_until_end() == Whole(b"{}")
    after = _shown(pairing)
    settled(pairing, pair[1], b"no key")
    assert _shown(pairing) == after
    works(pairing)
    said(pairing, "certificate reloaded", "certificate refused")


def _shown(pairing: Pairing) -> str:
    """The certificate that a new connection gets."""
    return ssl.get_server_certificate(("127.0.0.1", pairing.product.port), timeout=5)


def test_a_rotated_key_opens_and_seals_and_one_taken_out_ends_its_sessions(pairing: Pairing) -> None:
    file = pairing.product.folder / "session-keys-file"
    old, new = pairing.product.key, os.urandom(32)
    lines = [base64.b64encode(key) for key in (new, old)]
    works(pairing)
    settled(pairing, file, b"\n".join(lines))
    works(pairing)
    pairing.product.keyring = Keyring([new])
    newer = pairing.signed_in()
    settled(pairing, file, lines[0])
    assert pairing.get(PODS).read_head()[0] == 401
    exchange = pairing.browser.request("GET", PODS, newer.fields)
    pairing.upstream.expect().answer(200, JSON, b"{}")
    assert exchange.read_until_end() == Whole(b"{}")
    settled(pairing, file, b"")
    assert pairing.get(PODS).read_head()[0] == 401
    said(pairing, "session keys reloaded", "session keys reloaded", "session keys refused")


# SIGHUP


def reload(pairing: Pairing, **flags: str | Path) -> None:
    """The configuration has other values, and foyer is told."""
    pairing.product.flags |= {name.replace("_", "-"): str(value) for name, value in flags.items()}
    pairing.product.reload()


def status(pairing: Pairing, fields: list[tuple[bytes, bytes]]) -> int:
    """What `/auth/session` answers."""
    return pairing.browser.request("GET", "/auth/session", fields).read_head()[0]


def test_a_lowered_timeout_holds_for_the_sessions_that_are_out_there(pairing: Pairing) -> None:
    now = int(time.time())
    older = pairing.signed_in(issued_at=now - 7000, ends_at=now + 3600).fields
    assert status(pairing, older) == 200
    reload(pairing, session_absolute_timeout="1h")
    assert status(pairing, older) == 401
    assert pairing.browser.request("GET", PODS, older).read_head()[0] == 401
    works(pairing)
    shown = pairing.get("/auth/session").read_until_end()
    assert isinstance(shown, Whole)
    ends = datetime.fromisoformat(json.loads(shown.content)["expiresAt"])
    assert ends.timestamp() - now < 3700  # the session itself was sealed for longer
    reload(pairing, session_absolute_timeout="8h")
    assert status(pairing, older) == 200
    said(pairing, "configuration reloaded", "configuration reloaded")


def test_a_refused_value_changes_nothing_not_even_the_values_beside_it(pairing: Pairing) -> None:
    now = int(time.time())
    older = pairing.signed_in(issued_at=now - 7000, ends_at=now + 3600).fields
    reload(pairing, session_absolute_timeout="1h", oidc_scopes="s3cret")
    assert status(pairing, older) == 200
    (line,) = said(pairing, "configuration refused")
    assert (line["level"], line["flag"]) == ("error", "-oidc-scopes")
    assert "s3cret" not in json.dumps(line)
    reload(pairing, oidc_scopes="openid")
    assert status(pairing, older) == 401
    said(pairing, "configuration refused", "configuration reloaded")


def test_what_needs_a_restart_keeps_its_value_and_is_named_beside_what_changes(pairing: Pairing) -> None:
    now = int(time.time())
    older = pairing.signed_in(issued_at=now - 7000, ends_at=now + 3600).fields
    reload(
        pairing,
        listen="127.0.0.1:1",
        public_url="https://other.test",
        kubernetes_server="https://127.0.0.1:1",
        session_absolute_timeout="1h",
    )
    lines = said(pairing, *["restart needed"] * 3, "configuration reloaded")
    assert [line.get("flag") for line in lines] == ["-listen", "-public-url", "-kubernetes-server", None]
    assert status(pairing, older) == 401
    exchange = pairing.connect("h1").request("POST", PODS, pairing.me.change, b"{}")
    pairing.upstream.expect().answer(200, JSON, b"{}")
    assert exchange.read_until_end() == Whole(b"{}")


def test_other_files_are_used_and_watched_from_then_on(pairing: Pairing, tmp_path: Path) -> None:
    works(pairing)
    key = os.urandom(32)
    keys, roots = tmp_path / "keys", tmp_path / "roots"
    keys.write_bytes(base64.b64encode(key))
    roots.write_bytes(stranger().cert_pem.bytes())
    reload(pairing, session_keys_file=keys, kubernetes_ca_file=roots)
    assert status(pairing, pairing.me.fields) == 401
    pairing.product.keyring = Keyring([key])
    pairing.me = pairing.signed_in()
    assert pairing.get(PODS).read_head()[0] == 502
    settled(pairing, roots, authority().cert_pem.bytes())
    works(pairing)
    # The old ones are nobody's any more.
    settled(pairing, pairing.product.folder / "ca.crt", b"")
    settled(pairing, pairing.product.folder / "session-keys-file", b"")
    works(pairing)
    settled(pairing, keys, b"")
    works(pairing)
    said(pairing, "configuration reloaded", "interruption", "roots reloaded", "session keys refused")


def test_a_file_that_cannot_be_used_refuses_the_whole_reload(pairing: Pairing, tmp_path: Path) -> None:
    keys = tmp_path / "keys"
    keys.write_bytes(base64.b64encode(os.urandom(32)))
    reload(pairing, session_keys_file=keys, kubernetes_ca_file=tmp_path / "missing")
    works(pairing)
    (line,) = said(pairing, "configuration refused")
    assert line["flag"] == "-kubernetes-ca-file"


def test_the_same_again_changes_nothing_and_closes_nothing(pairing: Pairing) -> None:
    works(pairing)
    pairing.product.reload()
    works(pairing)
    assert len(pairing.upstream.connections) == 1
    said(pairing, "configuration reloaded")


# Signing in


class SignIns(NamedTuple):
    """A foyer whose issuer is the scripted upstream, over a browser that signs in at it."""

    pairing: Pairing
    roots: Path

    def discover(self) -> None:
        """The issuer's document and its keys, as foyer asks for them at start."""
        url = self.pairing.upstream.url
        names = {"authorization_endpoint": "/auth", "token_endpoint": "/token", "jwks_uri": "/keys"}
        document = {"issuer": url, **{name: url + path for name, path in names.items()}}
        self.answer(b"/.well-known/openid-configuration", document)
        self.answer(b"/keys", {"keys": []})
        self.pairing.logged("ready")

    def answer(self, target: bytes, content: object, status: int = 200) -> Request:
        request = self.pairing.upstream.expect()
        assert request.target == target
        request.read_until_end()
        request.answer(status, JSON, json.dumps(content).encode())
        return request

    def start(self, query: str = "") -> tuple[dict[str, str], bytes]:
        """What the issuer is asked for, and the login's cookie."""
        exchange = self.pairing.browser.request("GET", "/auth/login" + query)
        assert exchange.read_head()[0] == 302
        (location,), (cookie,) = exchange.all("location"), exchange.all("set-cookie")
        return dict(parse_qsl(urlsplit(location.decode()).query)), cookie.partition(b";")[0]

    def secret(self) -> str:
        """The client secret that a sign-in brings to the issuer, which then refuses it."""
        asked, cookie = self.start()
        callback = f"/auth/callback?code=c&state={asked['state']}"
        exchange = self.pairing.browser.request("GET", callback, [(b"Cookie", cookie)])
        request = self.answer(b"/token", {"error": "invalid_client"}, 401)
        assert exchange.read_head()[0] == 502
        (basic,) = request.all("authorization")
        _, _, secret = base64.b64decode(basic.removeprefix(b"Basic ")).decode().partition(":")
        return unquote_plus(secret)


@pytest.fixture
def sign_ins(upstream_version: str, products: Products, tmp_path: Path) -> Iterator[SignIns]:
    upstream = products.upstream(upstream_version)
    roots = write_authority(tmp_path)
    product = products.start(
        upstream_version, True, {"oidc-issuer": upstream.url, "oidc-ca-file": str(roots)}
    )
    pairing = Pairing("h2", upstream, product, Leaks(), tls=True)
    found = SignIns(pairing, roots)
    found.discover()
    yield found
    pairing.leave()
    product.stop()
    pairing.check_leaks()


def test_a_new_client_secret_is_used_by_sign_ins_that_end_later(sign_ins: SignIns) -> None:
    pairing = sign_ins.pairing
    file = pairing.product.folder / "oidc-client-secret-file"
    assert sign_ins.secret() == CLIENT_SECRET.decode()
    settled(pairing, file, b"another one\n")
    assert sign_ins.secret() == "another one"
    settled(pairing, file, b"two\nlines\n")
    assert sign_ins.secret() == "another one"
    said(pairing, "client secret reloaded", "client secret refused")


def test_the_issuers_roots_change_apart_from_the_api_servers(sign_ins: SignIns) -> None:
    pairing = sign_ins.pairing
    works(pairing)
    settled(pairing, sign_ins.roots, stranger().cert_pem.bytes())
    works(pairing)
    asked, cookie = sign_ins.start()
    callback = f"/auth/callback?code=c&state={asked['state']}"
    exchange = pairing.browser.request("GET", callback, [(b"Cookie", cookie)])
    assert exchange.read_head()[0] == 502
    (line,) = said(pairing, "login refused")
    assert (line["reason"], line["cause"]) == ("token-exchange-failed", "tls")
    settled(pairing, sign_ins.roots, authority().cert_pem.bytes())
    sign_ins.secret()


def test_scopes_and_login_parameters_change_for_sign_ins_that_begin_later(
    sign_ins: SignIns, tmp_path: Path
) -> None:
    pairing = sign_ins.pairing
    asked, _ = sign_ins.start()
    assert asked["scope"] == "openid email profile"
    login = tmp_path / "login.yaml"
    login.write_text("authorizationParameters: {prompt: {default: login}}\n")
    reload(pairing, oidc_scopes="openid,groups", login_config_file=login)
    asked, _ = sign_ins.start()
    assert (asked["scope"], asked["prompt"]) == ("openid groups", "login")
    # The file is read again although no flag has changed.
    login.write_text("authorizationParameters: {prompt: {default: none, allowFromRequest: true}}\n")
    pairing.product.reload()
    assert sign_ins.start()[0]["prompt"] == "none"
    assert sign_ins.start("?oidc.prompt=consent")[0]["prompt"] == "consent"
    login.write_text("authorizationParameters: {state: {default: mine}}\n")
    pairing.product.reload()
    assert sign_ins.start()[0]["prompt"] == "none"
    lines = said(pairing, "configuration reloaded", "configuration reloaded", "configuration refused")
    assert "authorizationParameters.state" in str(lines[-1]["reason"])
