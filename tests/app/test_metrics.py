"""The metrics listener of a foyer that runs: beside the origin, never on it, and without sign-in as well."""

import re
import socket
import subprocess
import sys
from pathlib import Path
from signal import SIGHUP, SIGTERM

import httpx
import pytest

from tests.app.processes import ENVIRONMENT, Connect, Served, Setting

BARE = ["-listen", "127.0.0.1:0", "-metrics-listen", "127.0.0.1:0"]


def address(foyer: Served) -> str:
    return str(foyer.logged("metrics listening")["address"])


def get(address: str, path: str = "/metrics", *, http2: bool = False, method: str = "GET") -> httpx.Response:
    with httpx.Client(trust_env=False, http1=not http2, http2=http2) as client:
        return client.request(method, f"http://{address}{path}")


def value(text: str, series: str) -> float:
    (found,) = re.findall(rf"^{re.escape(series)} (.*)$", text, re.MULTILINE)
    return float(found)


NOT_FOUND = 'krm_foyer_interruptions_total{reason="NotFound"}'
UNAUTHORIZED = 'krm_foyer_interruptions_total{reason="Unauthorized"}'


@pytest.mark.parametrize("http2", [False, True], ids=["h1", "h2"])
def test_metrics_are_served_where_nobody_can_sign_in(http2: bool) -> None:
    with Served(BARE) as foyer:
        assert get(f"127.0.0.1:{foyer.port}", "/no-such-page").status_code == 404
        answer = get(address(foyer), http2=http2)
        assert answer.status_code == 200
        assert answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
        assert value(answer.text, NOT_FOUND) == 1
        assert value(answer.text, "process_resident_memory_bytes") > 1e6
        assert get(address(foyer), "/healthz", http2=http2).status_code == 404
        assert get(address(foyer), method="POST", http2=http2).status_code == 405
        assert foyer.stop() == 0
        assert foyer.said("refused") == ["refused"], "for the page that is not there, and no scrape"


@pytest.mark.parametrize("version", ["h1", "h2"])
def test_scrapes_count_nowhere_and_the_origin_has_no_metrics(
    version: str, setting: Setting, connect: Connect
) -> None:
    with setting.serve(metrics_listen="127.0.0.1:0") as foyer:
        browser = connect(foyer, version)
        browser.request("GET", "/k8s/version").read_until_end()
        code, fields = browser.request("GET", "/metrics").read_head()
        assert (code, (b"krm-foyer-interruption", b"NotFound") in fields) == (404, True)
        for _ in range(3):
            text = get(address(foyer)).text
            assert get(address(foyer), "/other").status_code == 404
            assert (value(text, NOT_FOUND), value(text, UNAUTHORIZED)) == (1, 1)
            assert value(text, "krm_foyer_requests_in_flight") == 0
        browser.close()
        assert foyer.stop() == 0


def test_an_empty_value_serves_no_metrics() -> None:
    with Served(["-listen", "127.0.0.1:0", "-metrics-listen", ""]) as foyer:
        assert foyer.port
        assert foyer.stop() == 0
        assert foyer.said("metrics listening") == []


def test_without_the_listener_the_client_is_not_even_loaded() -> None:
    script = "import sys, foyer.app; print('prometheus_client' in sys.modules)"
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert result.stdout == "False\n"


@pytest.mark.parametrize("flag", ["-listen", "-metrics-listen"])
def test_either_listener_that_cannot_be_had_is_named_and_exits_1(flag: str) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        at = f"127.0.0.1:{taken.getsockname()[1]}"
        arguments = dict(zip(BARE[::2], BARE[1::2], strict=True)) | {flag: at}
        with Served([word for pair in arguments.items() for word in pair]) as foyer:
            assert foyer.exit_code() == 1
            line = foyer.log[-1]
    assert foyer.said("listening") == []
    assert (line["level"], line["msg"]) == ("error", "cannot start")
    assert (line["flag"], line["address"], line["reason"]) == (flag, at, "address already in use")


def test_one_address_for_both_is_refused_as_taken() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        at = f"127.0.0.1:{free.getsockname()[1]}"
    with Served(["-listen", at, "-metrics-listen", at]) as foyer:
        assert foyer.exit_code() == 1
        assert foyer.log[-1]["flag"] == "-listen"


@pytest.mark.parametrize("changed", ["", "127.0.0.1:1"], ids=["to none", "to another"])
def test_a_changed_listener_keeps_its_address_and_needs_a_restart(
    changed: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(ENVIRONMENT, "FOYER_METRICS_LISTEN")  # it would win over the file
    file = tmp_path / "foyer.yaml"
    file.write_text('listen: 127.0.0.1:0\nmetrics-listen: "127.0.0.1:0"\n')
    with Served(["-config-file", str(file)]) as foyer:
        assert get(address(foyer)).status_code == 200
        file.write_text(f'listen: 127.0.0.1:0\nmetrics-listen: "{changed}"\n')
        foyer.signal(SIGHUP)
        foyer.logged("configuration reloaded")
        assert foyer.logged("restart needed")["flag"] == "-metrics-listen"
        assert get(address(foyer)).status_code == 200
        assert foyer.stop() == 0


def test_a_drain_can_be_scraped_and_a_scraper_that_stays_connected_does_not_hold_up_the_end(
    setting: Setting, connect: Connect
) -> None:
    with (
        setting.serve(metrics_listen="127.0.0.1:0") as foyer,
        httpx.Client(trust_env=False, base_url=f"http://{address(foyer)}") as scraper,
    ):
        browser = connect(foyer, "h1")
        watch = "/k8s/api/v1/namespaces/demo/configmaps?watch=1"
        browser.request("GET", watch, setting.session()).read_head()
        foyer.signal(SIGTERM)
        foyer.logged("draining")
        assert value(scraper.get("/metrics").text, "krm_foyer_requests_in_flight") == 1
        browser.close()
        assert foyer.exit_code() == 0
