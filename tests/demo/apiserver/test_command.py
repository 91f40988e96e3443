"""The API server as a process of its own."""

import json
import signal
import ssl
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from foyer.demo.apiserver.__main__ import main, read_tokens
from foyer.demo.apiserver.rbac import User

CONFIG_MAPS = "/api/v1/namespaces/demo/configmaps"


@contextmanager
def process(*arguments: str) -> Iterator[dict[str, Any]]:
    """What the process says in its first line; it must end well."""
    command = [sys.executable, "-m", "foyer.demo.apiserver", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as running:
        assert running.stdout is not None
        try:
            yield json.loads(running.stdout.readline())
        finally:
            running.send_signal(signal.SIGTERM)
            assert running.wait(10) == 0


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


@pytest.mark.parametrize("http2", [False, True], ids=["HTTP/1.1", "HTTP/2"])
def test_over_tls_it_serves_what_it_was_filled_with(tmp_path: Path, http2: bool) -> None:
    tokens = tmp_path / "tokens.csv"
    tokens.write_text('tok-a,ada@example.com,uid-a,"demo-editors,team"\ntok-n,nobody,uid-n\n')
    arguments = ("--seed", "150", "--seed-bytes", "1000", "--token-auth-file", str(tokens))
    with process(*arguments, "--issuer-listen", "127.0.0.1:0", "--users", "2") as said:
        context = ssl.create_default_context(cafile=said["caFile"])
        with httpx.Client(verify=context, http2=http2, trust_env=False) as client:
            listed = client.get(said["url"] + CONFIG_MAPS, headers=bearer("tok-a"))
            assert listed.http_version == ("HTTP/2" if http2 else "HTTP/1.1")
            assert listed.headers["content-encoding"] == "gzip"
            assert len(listed.json()["items"]) == 152
            assert client.get(said["url"] + CONFIG_MAPS, headers=bearer("tok-n")).status_code == 403
            assert client.get(said["url"] + "/metrics", headers=bearer(said["adminToken"])).status_code == 404
            everywhere = client.get(
                said["url"] + "/api/v1/configmaps?limit=1", headers=bearer(said["watchToken"])
            )
            assert everywhere.status_code == 200
            found = client.get(f"{said['issuer']}/.well-known/openid-configuration").json()
            assert found["issuer"] == said["issuer"]


def test_in_plain_it_takes_http_1_and_http_2_by_prior_knowledge() -> None:
    with process("--plain", "--no-watch-list") as said:
        url = said["url"] + CONFIG_MAPS
        assert url.startswith("http://") and "caFile" not in said
        for http1, http2 in ((True, False), (False, True)):
            with httpx.Client(http1=http1, http2=http2, trust_env=False) as client:
                query = "?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"
                refused = client.get(url + query, headers=bearer(said["adminToken"]))
                assert refused.status_code == 422
                assert refused.http_version == ("HTTP/2" if http2 else "HTTP/1.1")


def test_a_token_file_is_kubernetes_own(tmp_path: Path) -> None:
    file = tmp_path / "tokens.csv"
    file.write_text('t1,ada,u1,"a,b"\nt2,bob,u2\nt3,eve,u3,""\n')
    assert read_tokens(str(file)) == {
        "t1": User("ada", ("a", "b", "system:authenticated"), "u1"),
        "t2": User("bob", ("system:authenticated",), "u2"),
        "t3": User("eve", ("system:authenticated",), "u3"),
    }


def test_what_it_cannot_begin_with_it_says(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    short = tmp_path / "tokens.csv"
    short.write_text("only-a-token\n")
    assert main(["--token-auth-file", str(short)]) == 1
    assert main(["--token-auth-file", str(tmp_path / "absent")]) == 1
    assert capsys.readouterr().err.count("cannot start") == 2
    with pytest.raises(SystemExit):
        main(["--tls-cert-file", "x"])
