"""The two forms of an answer, and what each says and carries."""

import json
from urllib.parse import parse_qs, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foyer.exchange.ports import Answer
from foyer.interruption import Interruption, Reason, StatusCause
from foyer.k8s.incoming import SECURITY_FIELDS, incoming
from foyer.login.refusal import LoginReason, RefusedLogin
from foyer.pages.render import Pages
from foyer.protocol.events import Field, Fields, RequestHead, ResponseHead
from tests.pages.documents import Document, assert_is_page, values

PAGES = Pages()
DOCUMENT = (b"sec-fetch-dest", b"document")


def navigation(target: bytes = b"/k8s/api/v1/pods") -> RequestHead:
    return RequestHead(b"GET", target, [DOCUMENT])


def script(target: bytes = b"/k8s/api/v1/pods") -> RequestHead:
    return RequestHead(b"GET", target, [(b"sec-fetch-dest", b"empty")])


def assert_is_status(answer: Answer) -> dict[str, object]:
    assert values(answer, b"content-type") == [b"application/json"]
    assert set(SECURITY_FIELDS) <= set(answer.fields)
    status = json.loads(answer.content)
    assert isinstance(status, dict)
    assert (status["kind"], status["code"]) == ("Status", answer.status)
    return status


@pytest.mark.parametrize("reason", Reason)
def test_both_forms_have_one_status_code_and_name_the_reason(reason: Reason) -> None:
    interruption = Interruption(reason, "Why it was.")
    page, status = PAGES.interruption(interruption, navigation()), PAGES.interruption(interruption, script())
    assert page.status == status.status == reason.status
    for answer in (page, status):
        assert values(answer, b"krm-foyer-interruption") == [reason.word.encode()]
    document = assert_is_page(page)
    assert reason.word in document.text
    assert "Why it was." in document.text
    assert assert_is_status(status)["reason"] == reason.word


@pytest.mark.parametrize(
    ("method", "fields"),
    [
        (b"GET", []),
        (b"GET", [(b"accept", b"text/html")]),
        (b"GET", [(b"sec-fetch-dest", b"empty")]),
        (b"GET", [(b"sec-fetch-dest", b"iframe")]),
        (b"GET", [(b"sec-fetch-dest", b"Document")]),
        (b"GET", [(b"sec-fetch-dest", b"document, document")]),
        (b"GET", [DOCUMENT, DOCUMENT]),
        (b"GET", [DOCUMENT, (b"sec-fetch-dest", b"empty")]),
        (b"GET", [(b"sec_fetch_dest", b"document")]),
        (b"GET", [(b"sec-fetch-mode", b"navigate")]),
        (b"HEAD", [DOCUMENT]),
        (b"POST", [DOCUMENT]),
        (b"get", [DOCUMENT]),
    ],
)
def test_only_a_navigation_gets_the_page(method: bytes, fields: Fields) -> None:
    head = RequestHead(method, b"/k8s/api", fields)
    assert_is_status(PAGES.interruption(Interruption(Reason.NOT_FOUND, "…"), head))
    assert_is_status(PAGES.refused_login(RefusedLogin(LoginReason.STATE_MISMATCH, "…"), head))


@pytest.mark.parametrize("head", [navigation(), script()])
def test_allow_and_retry_after_are_fields_where_they_are_known(head: RequestHead) -> None:
    plain = PAGES.interruption(Interruption(Reason.NOT_FOUND, "…"), head)
    assert not values(plain, b"allow")
    assert not values(plain, b"retry-after")
    told = PAGES.interruption(
        Interruption(Reason.METHOD_NOT_ALLOWED, "…", allow="GET, HEAD", retry_after=7), head
    )
    assert values(told, b"allow") == [b"GET, HEAD"]
    assert values(told, b"retry-after") == [b"7"]


@pytest.mark.parametrize(
    "target",
    [
        b"/",
        b"/k8s/api/v1/pods",
        b"/k8s/api/v1/pods?limit=1&labelSelector=a%3Db+c;d#",
        b"/k8s/api/v1/things/a%20b?x=%26%2B&&=\"'<>",
        b"/a?next=https://e/",
        b"/" + b"a" * 2047,
    ],
)
def test_a_signed_out_page_links_to_sign_in_and_back(target: bytes) -> None:
    answer = PAGES.interruption(Interruption(Reason.UNAUTHORIZED, "…"), navigation(target))
    (link,) = assert_is_page(answer).links
    assert link is not None
    parts = urlsplit(link)
    assert (parts.scheme, parts.netloc, parts.path, parts.fragment) == ("", "", "/auth/login", "")
    assert parse_qs(parts.query, strict_parsing=True) == {"return_to": [target.decode()]}


@pytest.mark.parametrize(
    "target", [b"//evil/x", b"/\\evil", b"/\t/evil", b"/\xe9", b"*", b"https://evil/", b"/" + b"a" * 2048]
)
def test_a_signed_out_page_offers_no_way_back_that_login_would_refuse(target: bytes) -> None:
    answer = PAGES.interruption(Interruption(Reason.UNAUTHORIZED, "…"), navigation(target))
    document = assert_is_page(answer)
    assert document.links == ["/auth/login"]
    assert "come back" not in document.text


def test_what_may_pass_can_be_tried_again() -> None:
    target = b'/k8s/api/v1/pods?a=1&b="2"'
    unavailable = Interruption(Reason.UPSTREAM_UNAVAILABLE, "…")
    assert assert_is_page(PAGES.interruption(unavailable, navigation(target))).links == [target.decode()]
    assert assert_is_page(PAGES.interruption(unavailable, navigation(b"//evil/"))).links == []
    told = Interruption(Reason.IDENTITY_UNAVAILABLE, "…", retry_after=5)
    assert "in 5 seconds" in assert_is_page(PAGES.interruption(told, navigation(target))).text
    refused = Interruption(Reason.CROSS_ORIGIN_REQUEST, "…")
    assert assert_is_page(PAGES.interruption(refused, navigation(target))).links == []


def redirect(*targets: bytes) -> Interruption:
    locations: list[Field] = [(b"location", target) for target in targets]
    interruption = incoming(ResponseHead(302, locations), b"GET")
    assert isinstance(interruption, Interruption)
    return interruption


@pytest.mark.parametrize(
    "target", ["https://a.example/", "http://a.example", "HTTPS://a/?b=c&d=%22#e", "https://[::1]:1/'\"<b>"]
)
def test_a_redirect_links_an_absolute_http_url(target: str) -> None:
    document = assert_is_page(PAGES.interruption(redirect(target.encode()), navigation()))
    if "[" in target or "<" in target:
        assert target in document.text
    assert document.links == [target]


@pytest.mark.parametrize(
    "target",
    [
        b"/relative",
        b"//a.example/",
        b"javascript:alert(1)",
        b"JavaScript://a.example/%0Aalert(1)",
        b"data:text/html,<script>",
        b"https:a.example",
        b"https:///a.example",
        b"https://",
        b"https://?a",
        b"https://a.example\\@b.example/",
        b"https://a.example/ b",
        b"https://a.example/\t",
        b"https://\xe2\x80\xaea.example/",
        b" https://a.example/",
        b"ftp://a.example/",
        b"https://a.example/" + b"a" * 2048,
    ],
)
def test_a_redirect_links_nothing_else_and_shows_it(target: bytes) -> None:
    document = assert_is_page(PAGES.interruption(redirect(target), navigation()))
    assert document.links == []
    assert redirect(target).causes[0].message in document.text


def test_a_redirect_without_a_target_says_so() -> None:
    assert "none" in assert_is_page(PAGES.interruption(redirect(), navigation())).text


def test_both_forms_of_a_redirect_carry_every_target() -> None:
    interruption = redirect(b"https://a.example/", b"javascript:b")
    page = assert_is_page(PAGES.interruption(interruption, navigation()))
    assert "https://a.example/" in page.text
    assert "javascript:b" in page.text
    details = assert_is_status(PAGES.interruption(interruption, script()))["details"]
    assert details == {
        "causes": [
            {"reason": "Redirect", "message": "https://a.example/", "field": "Location"},
            {"reason": "Redirect", "message": "javascript:b", "field": "Location"},
        ]
    }


@given(text=st.text(max_size=30), target=st.binary(max_size=30), cause=st.text(max_size=30))
def test_whatever_it_says_a_page_keeps_its_elements(text: str, target: bytes, cause: str) -> None:
    plain = Interruption(Reason.UNAUTHORIZED, "x", causes=(StatusCause("x", "x", "x"),))
    told = Interruption(Reason.UNAUTHORIZED, text, causes=(StatusCause("Redirect", text, cause),))
    expected = [tag for tag, _ in Document(PAGES.interruption(plain, navigation(b"/"))).elements]
    document = assert_is_page(PAGES.interruption(told, navigation(target)))
    tags = [tag for tag, _ in document.elements]
    assert len(tags) <= len(expected) + 1
    assert set(tags) <= set(expected)


@pytest.mark.parametrize("reason", LoginReason)
def test_a_refused_login_has_two_forms_too(reason: LoginReason) -> None:
    refused = RefusedLogin(reason, "Why it was.", retry="/auth/login?return_to=%2Fa&oidc.x=y")
    page, status = PAGES.refused_login(refused, navigation()), PAGES.refused_login(refused, script())
    assert page.status == status.status == reason.status
    document = assert_is_page(page)
    assert reason.word in document.text
    assert "Why it was." in document.text
    assert document.links == ["/auth/login?return_to=%2Fa&oidc.x=y"]
    assert assert_is_status(status)["reason"] == reason.word
    for answer in (page, status):
        assert not values(answer, b"krm-foyer-interruption")


def test_a_refused_login_shows_what_of_the_issuers_answer_may_be_shown() -> None:
    refused = RefusedLogin(
        LoginReason.ISSUER_REFUSED, "…", code="access_denied", issuer_status=403, cause="kind-for-the-log"
    )
    text = assert_is_page(PAGES.refused_login(refused, navigation())).text
    assert "access_denied" in text
    assert "403" in text
    assert "kind-for-the-log" not in text


def test_the_start_page_says_what_to_route_here() -> None:
    answer = PAGES.start()
    text = assert_is_page(answer).text
    assert answer.status == 200
    assert all(
        prefix in text for prefix in ("/auth/", "/k8s/", "/stream/", "/fleet/", "/targets/", "/_foyer/")
    )


def test_the_page_after_logout_links_to_sign_in_and_warns_of_the_issuer() -> None:
    answer = PAGES.logged_out()
    document = assert_is_page(answer)
    assert answer.status == 200
    assert document.links == ["/auth/login"]
    assert "may still know you" in document.text


def test_fields_added_to_one_answer_are_not_in_the_next() -> None:
    PAGES.start().fields.append((b"set-cookie", b"a"))
    PAGES.logged_out().fields.append((b"set-cookie", b"a"))
    for head in (navigation(), script()):
        PAGES.interruption(Interruption(Reason.NOT_FOUND, "…"), head).fields.append((b"set-cookie", b"a"))
        assert not values(PAGES.interruption(Interruption(Reason.NOT_FOUND, "…"), head), b"set-cookie")
    assert not values(PAGES.start(), b"set-cookie")
    assert not values(PAGES.logged_out(), b"set-cookie")


def test_an_asset_is_served_as_its_type_and_nothing_else_is() -> None:
    answer = PAGES.asset(b"/_foyer/style.css")
    assert answer is not None
    assert answer.status == 200
    assert values(answer, b"content-type") == [b"text/css; charset=utf-8"]
    assert values(answer, b"x-content-type-options") == [b"nosniff"]
    for path in (b"/_foyer/", b"/_foyer/none.css", b"/_foyer/../render.py", b"style.css", b""):
        assert PAGES.asset(path) is None
