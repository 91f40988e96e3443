"""Spec 03: redirects are held back, and nobody follows one with the user's token (A24)."""

import json

import pytest

from tests.support.pairings import Pairing
from tests.support.script import Fields

DOCUMENT: Fields = [(b"Sec-Fetch-Dest", b"document")]

LOCATIONS: dict[str, list[bytes]] = {
    "absolute": [b"https://elsewhere.test/api?x=1"],
    "plain": [b"http://elsewhere.test/"],
    "relative": [b"/api/v1/elsewhere"],
    "schemeless": [b"//elsewhere.test/"],
    "script": [b"javascript:alert(1)"],
    "data": [b"data:text/html,<script>alert(1)</script>"],
    "markup": [b'https://elsewhere.test/"><script>alert(1)</script>'],
    "missing": [],
    "doubled": [b"https://one.test/", b"https://two.test/"],
}


@pytest.mark.parametrize("locations", LOCATIONS.values(), ids=LOCATIONS)
@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_a_redirect_is_held_back_and_its_target_named(
    pairing: Pairing, status: int, locations: list[bytes]
) -> None:
    exchange = pairing.get("/k8s/api/v1/pods")
    pairing.upstream.expect().answer(status, [(b"location", target) for target in locations])
    assert exchange.read_head()[0] == 502
    assert exchange.all("krm-foyer-interruption") == [b"UpstreamRedirect"]
    assert exchange.all("location") == []
    answer = json.loads(exchange.read_until_end().content)
    assert answer["reason"] == "UpstreamRedirect"
    causes = answer["details"]["causes"]
    assert {(cause["reason"], cause["field"]) for cause in causes} == {("Redirect", "Location")}
    if locations:
        assert causes[0]["message"] == locations[0].decode()
    pairing.upstream.expect_nothing()


@pytest.mark.parametrize("status", [300, 303, 305, 306, 399])
def test_any_other_3xx_but_304_is_a_redirect_too(pairing: Pairing, status: int) -> None:
    exchange = pairing.get("/k8s/api/v1/pods")
    pairing.upstream.expect().answer(status, [(b"location", b"https://elsewhere.test/")])
    assert exchange.read_head()[0] == 502
    assert exchange.all("krm-foyer-interruption") == [b"UpstreamRedirect"]
    exchange.read_until_end()


@pytest.mark.parametrize(
    ("name", "linked"),
    [
        ("absolute", True),
        ("plain", True),
        ("relative", False),
        ("schemeless", False),
        ("script", False),
        ("data", False),
    ],
)
def test_the_page_links_a_target_only_when_it_is_an_absolute_http_url(
    pairing: Pairing, name: str, linked: bool
) -> None:
    exchange = pairing.get("/k8s/api/v1/pods", DOCUMENT)
    [target] = LOCATIONS[name]
    pairing.upstream.expect().answer(302, [(b"location", target)])
    assert exchange.read_head()[0] == 502
    page = exchange.read_until_end().content
    assert (b'href="' + target.replace(b"&", b"&amp;") + b'"' in page) is linked
    assert b"<script" not in page


def test_markup_in_a_target_is_text_on_the_page(pairing: Pairing) -> None:
    exchange = pairing.get("/k8s/api/v1/pods", DOCUMENT)
    pairing.upstream.expect().answer(302, [(b"location", LOCATIONS["markup"][0])])
    page = exchange.read_until_end().content
    assert b"<script" not in page
    assert b"elsewhere.test" in page


def test_a_304_is_no_redirect(pairing: Pairing) -> None:
    exchange = pairing.get("/k8s/api/v1/pods")
    pairing.upstream.expect().answer(304, [(b"location", b"https://elsewhere.test/")])
    assert exchange.read_head()[0] == 304
    assert exchange.all("location") == []
    exchange.read_until_end()
