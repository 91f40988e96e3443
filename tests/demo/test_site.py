"""The application's files."""

import re
from urllib.parse import urljoin

import pytest

from foyer.demo.site import Site
from foyer.exchange.ports import Answer
from tests.demo.fakes import ask


def get(path: str, method: str = "GET") -> Answer:
    answer = ask(Site(), method, path, 0.0)
    assert isinstance(answer, Answer)
    return answer


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/", b"text/html"),
        ("/notes.js", b"text/javascript"),
        ("/notes.css", b"text/css"),
        ("/notes.svg", b"image/svg"),
        ("/hello/", b"text/html"),
        ("/hello/hello.js", b"text/javascript"),
    ],
)
def test_each_file_is_there_with_its_type_and_policy(path: str, kind: bytes) -> None:
    fields = dict(get(path).fields)
    assert fields[b"content-type"].startswith(kind)
    assert fields[b"content-security-policy"].startswith(b"default-src 'none'; script-src 'self';")
    assert fields[b"x-content-type-options"] == b"nosniff"


@pytest.mark.parametrize("at", ["/", "/hello/"])
def test_a_page_needs_nothing_that_its_policy_forbids(at: str) -> None:
    page = get(at).content.decode()
    assert not re.search(r"<style|style=|<script(?![^>]*src=)|\son\w+=|javascript:", page)
    for url in re.findall(r'(?:src|href)="([^"]*)"', page):
        assert url.startswith(("/auth/", "/k8s/", "/_foyer/")) or get(urljoin(at, url)).status == 200


@pytest.mark.parametrize("path", ["/notes.js", "/hello/hello.js"])
def test_a_script_writes_what_others_wrote_as_text_alone(path: str) -> None:
    script = get(path).content.decode()
    assert not re.search(
        r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|new Function", script
    )


def test_anything_else_is_not_there_and_nothing_can_be_changed() -> None:
    assert [get(path).status for path in ("/index.html", "/../site.py", "/notes.js/")] == [404] * 3
    refused = get("/", "POST")
    assert (refused.status, dict(refused.fields)[b"allow"]) == (405, b"GET, HEAD")
    assert get("/", "HEAD").status == 200
