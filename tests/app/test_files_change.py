"""Files that are replaced under a process with connections open, and SIGHUP to it (spec 01, TLS, Process)."""

import base64
import os
import ssl
from pathlib import Path
from signal import SIGHUP

import pytest
import trustme

from tests.app.processes import Connect, Served, Setting
from tests.app.test_start import encrypted
from tests.support.browsers import H1Browser, H2Browser
from tests.support.certs import ORIGIN_HOST, authority
from tests.support.script import Fields, Whole

MISMATCH = "cannot be loaded: the key is not this certificate's; the old pair stays until both fit"
UNUSABLE = "cannot be loaded: should be a certificate chain and its private key, in PEM and not encrypted"


class Mounted:
    """A pair of TLS files as Kubernetes mounts a Secret: both change at once, by a symbolic link."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._version = 0
        for name in ("tls.crt", "tls.key"):
            (folder / name).symlink_to(f"..data/{name}")
        self.last = self.issue()

    def issue(self) -> bytes:
        """A new pair; its certificate in DER."""
        leaf = authority().issue_cert(ORIGIN_HOST)
        chain = b"".join(pem.bytes() for pem in leaf.cert_chain_pems)
        self.put(chain, leaf.private_key_pem.bytes())
        self.last = ssl.PEM_cert_to_DER_cert(leaf.cert_chain_pems[0].bytes().decode())
        return self.last

    def put(self, certificate: bytes, key: bytes) -> None:
        self._version += 1
        version = self._folder / f"..{self._version}"
        version.mkdir()
        (version / "tls.crt").write_bytes(certificate)
        (version / "tls.key").write_bytes(key)
        (self._folder / "..new").symlink_to(version.name)
        (self._folder / "..new").rename(self._folder / "..data")

    @property
    def flags(self) -> dict[str, str]:
        return {"tls_cert_file": str(self._folder / "tls.crt"), "tls_key_file": str(self._folder / "tls.key")}


def presented(foyer: Served) -> bytes:
    """The certificate that a new connection gets, in DER."""
    pem = ssl.get_server_certificate(("127.0.0.1", foyer.port), timeout=10)
    return ssl.PEM_cert_to_DER_cert(pem)


def write(path: Path, content: bytes) -> None:
    new = path.with_name(path.name + ".new")
    new.write_bytes(content)
    new.rename(path)


def lives(browser: H1Browser | H2Browser) -> bool:
    return isinstance(browser.request("GET", "/healthz").read_until_end(), Whole)


def status(browser: H1Browser | H2Browser, fields: Fields) -> int:
    exchange = browser.request("GET", "/auth/session", fields[:1])
    code, _ = exchange.read_head()
    exchange.read_until_end()
    return code


def test_a_new_certificate_is_for_new_connections_and_a_bad_pair_keeps_it(
    setting: Setting, tmp_path: Path, connect: Connect
) -> None:
    (tmp_path / "mount").mkdir()
    files = Mounted(tmp_path / "mount")
    with setting.serve(**files.flags) as foyer:
        first = presented(foyer)
        assert first == files.last
        browsers = [connect(foyer, version) for version in ("h1", "h2")]
        assert all(map(lives, browsers))

        files.issue()
        foyer.logged("certificate reloaded")
        assert presented(foyer) == files.last != first
        assert all(map(lives, browsers)), "a connection was dropped"

        leaf, other = trustme.CA().issue_cert(ORIGIN_HOST), trustme.CA().issue_cert(ORIGIN_HOST)
        certificate = leaf.cert_chain_pems[0].bytes()
        bad = {
            encrypted(leaf.private_key_pem.bytes()): UNUSABLE,
            other.private_key_pem.bytes(): MISMATCH,
        }
        for number, (key, reason) in enumerate(bad.items(), 1):
            files.put(certificate, key)
            line = foyer.logged("certificate refused", number)
            assert (line["level"], line["reason"]) == ("error", reason)
        assert presented(foyer) == files.last
        # A good one is seen by a later look at the files than the last bad one, which was said once.
        files.issue()
        foyer.logged("certificate reloaded", 2)
        assert foyer.said("certificate refused") == ["certificate refused"] * len(bad)
        assert presented(foyer) == files.last
        assert all(map(lives, browsers)), "a connection was dropped"
        for browser in browsers:
            browser.close()
        assert foyer.stop() == 0


def test_session_keys_are_replaced_under_an_open_connection(setting: Setting, connect: Connect) -> None:
    old, new = base64.b64encode(setting.key), os.urandom(32)
    with setting.serve() as foyer:
        browser = connect(foyer, "h2")
        before, after = setting.session(), setting.session(new)
        assert (status(browser, before), status(browser, after)) == (200, 401)
        write(setting.keys_file, base64.b64encode(new) + b"\n" + old + b"\n")
        foyer.logged("session keys reloaded")
        assert (status(browser, before), status(browser, after)) == (200, 200)
        write(setting.keys_file, b"s3cret")
        line = foyer.logged("session keys refused")
        assert line["level"] == "error" and "s3cret" not in str(line)
        assert (status(browser, before), status(browser, after)) == (200, 200)
        write(setting.keys_file, base64.b64encode(new))
        foyer.logged("session keys reloaded", 2)
        assert (status(browser, before), status(browser, after)) == (401, 200)
        browser.close()
        assert foyer.stop() == 0


@pytest.mark.parametrize("version", ["h1", "h2"])
def test_sighup_takes_what_can_change_refuses_what_is_wrong_and_drops_nobody(
    version: str, setting: Setting, tmp_path: Path, connect: Connect
) -> None:
    file = tmp_path / "foyer.yaml"
    del setting.flags["-listen"]
    file.write_text("listen: 127.0.0.1:0\nsession-absolute-timeout: 8h\n")
    with setting.serve(config_file=str(file)) as foyer:
        browser = connect(foyer, version)
        session = setting.session(issued=-7000)
        assert status(browser, session) == 200

        file.write_text("listen: 127.0.0.1:0\nsession-absolute-timeout: 0s\n")
        foyer.signal(SIGHUP)
        line = foyer.logged("configuration refused")
        assert line["flag"] == "-session-absolute-timeout"
        assert line["source"] == f"session-absolute-timeout in {file}"
        assert status(browser, session) == 200

        file.write_text("listen: 127.0.0.1:1\nsession-absolute-timeout: 1h\n")
        foyer.signal(SIGHUP)
        foyer.logged("configuration reloaded")
        assert foyer.logged("restart needed")["flag"] == "-listen"
        assert status(browser, session) == 401
        assert lives(connect(foyer, version)), "the listener stays where it was"
        assert lives(browser)
