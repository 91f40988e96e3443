"""Starts that fail, and what they say (spec 01, Process): exit code 1 at run time, 2 for configuration."""

import os
import pty
import signal
import socket
from pathlib import Path

import pytest
import trustme
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    PrivateFormat,
    load_pem_private_key,
)

from tests.app.processes import LogLine, Served

UNRESOLVABLE = ".".join(["a" * 63] * 5)
"""A name that no resolver is asked for: longer than DNS has them (RFC 1035 section 2.3.4)."""


def encrypted(key: bytes) -> bytes:
    """A private key that needs a password."""
    private = load_pem_private_key(key, None)
    return private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"password"))


def last_line(foyer: Served) -> LogLine:
    assert foyer.said("listening") == []
    return foyer.log[-1]


def test_an_address_that_is_taken_is_named_with_its_flag_and_exits_1() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        with Served(["-listen", address]) as foyer:
            assert foyer.exit_code() == 1
            line = last_line(foyer)
    assert (line["level"], line["msg"]) == ("error", "cannot start")
    assert (line["flag"], line["address"]) == ("-listen", address)
    assert line["reason"] == "address already in use"


@pytest.mark.parametrize(
    ("host", "reason"),
    [(UNRESOLVABLE, "not known"), ("192.0.2.1", "cannot assign requested address")],
    ids=["unknown", "another machine's"],
)
def test_a_host_that_cannot_be_had_is_named_with_its_flag_and_exits_1(host: str, reason: str) -> None:
    with Served(["-listen", f"{host}:0"]) as foyer:
        assert foyer.exit_code() == 1
        line = last_line(foyer)
    assert (line["msg"], line["flag"], line["address"]) == ("cannot start", "-listen", f"{host}:0")
    assert reason in line["reason"]


@pytest.mark.parametrize(
    ("arguments", "flag"),
    [
        (["-lisen", "127.0.0.1:0"], "-lisen"),
        (["-listen", "127.0.0.1:s3cret"], "-listen"),
        (["-listen", "127.0.0.1:0", "-public-url", "http://s3cret.test"], "-oidc-issuer"),
        (["-listen", "127.0.0.1:0", "-tls-cert-file", "s3cret"], "-tls-key-file"),
    ],
    ids=["unknown", "unparsable", "missing", "half a pair"],
)
def test_a_bad_flag_is_named_and_exits_2_before_anything_listens(arguments: list[str], flag: str) -> None:
    with Served(arguments) as foyer:
        assert foyer.exit_code() == 2
        (line,) = foyer.log
    assert (line["level"], line["msg"]) == ("error", "configuration refused")
    assert flag in line["flag"].split(", ")
    assert "s3cret" not in str(line)


def test_an_encrypted_key_is_refused_and_nobody_is_asked_for_its_password(tmp_path: Path) -> None:
    leaf = trustme.CA().issue_cert("foyer.test")
    (tmp_path / "crt").write_bytes(leaf.cert_chain_pems[0].bytes())
    (tmp_path / "key").write_bytes(encrypted(leaf.private_key_pem.bytes()))
    files = ["-tls-cert-file", str(tmp_path / "crt"), "-tls-key-file", str(tmp_path / "key")]
    screen, terminal = pty.openpty()
    try:
        with Served(["-listen", "127.0.0.1:0", *files], terminal=terminal) as foyer:
            assert foyer.exit_code() == 2
            (line,) = foyer.log
        assert line["flag"] == "-tls-key-file"
        assert "not encrypted" in line["reason"]
        os.set_blocking(screen, False)
        with pytest.raises(BlockingIOError):
            print(os.read(screen, 1024))  # nothing was written to it
    finally:
        os.close(screen)
        os.close(terminal)


def limited(soft: int, hard: int) -> list[str]:
    return ["sh", "-c", f'ulimit -Sn {soft} && ulimit -Hn {hard} && exec "$@"', "sh"]


def test_it_takes_all_the_files_that_it_may_have_open() -> None:
    with Served(["-listen", "127.0.0.1:0"], before=limited(64, 256)) as foyer:
        assert foyer.port
        assert foyer.files == (256, 256)
        foyer.signal(signal.SIGTERM)
        assert foyer.exit_code() == 0


@pytest.mark.parametrize(("served", "said"), [(256, []), (257, ["few files"])])
def test_it_says_so_when_it_may_serve_more_than_that(served: int, said: list[str]) -> None:
    arguments = ["-listen", "127.0.0.1:0", "-max-server-requests", str(served)]
    with Served(arguments, before=limited(256, 256)) as foyer:
        assert foyer.port
        assert foyer.said("few files") == said
        if said:
            line = foyer.logged("few files")
            assert (line["level"], line["limit"], line["wanted"]) == ("warn", 256, 257)
        foyer.signal(signal.SIGTERM)
        assert foyer.exit_code() == 0
