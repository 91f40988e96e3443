"""Spec 01, `/auth/whoami`: who the API server says the session is of."""

import json
from datetime import datetime

import pytest

from tests.support.browsers import Exchange
from tests.support.pairings import ISSUER, JSON, Pairing
from tests.support.script import Aborted, Fields, Whole
from tests.support.upstreams import Request

WHOAMI = "/auth/whoami"
ADA = {"username": "oidc:ada", "uid": "7", "groups": ["editors", "ä"], "extra": {"foyer.dev/issuer": ["i"]}}


def review(user_info: object) -> bytes:
    return json.dumps(
        {"kind": "SelfSubjectReview", "apiVersion": "authentication.k8s.io/v1", "metadata": {}}
        | {"status": {"userInfo": user_info}}
    ).encode()


def asked(pairing: Pairing) -> tuple[Exchange, Request]:
    exchange = pairing.get(WHOAMI)
    return exchange, pairing.upstream.expect()


def answered(pairing: Pairing, status: int, content: bytes, fields: Fields | None = None) -> Exchange:
    exchange, request = asked(pairing)
    request.answer(status, JSON if fields is None else fields, content)
    exchange.read_until_end()
    return exchange


def assert_unavailable(pairing: Pairing, exchange: Exchange, failure: str) -> None:
    outcome = exchange.read_until_end()
    assert exchange.status == 503
    assert exchange.all("krm-foyer-interruption") == [b"IdentityUnavailable"]
    status = json.loads(outcome.content)
    assert (status["kind"], status["code"], status["reason"]) == ("Status", 503, "IdentityUnavailable")
    [line] = pairing.logged("interruption")
    told = [line[name] for name in ("user", "route", "method", "path", "reason", "status", "failure")]
    assert told == ["ada@example.test", WHOAMI, "GET", WHOAMI, "IdentityUnavailable", 503, failure]


def test_it_is_the_api_servers_user_info_with_issuer_and_end(pairing: Pairing) -> None:
    exchange = answered(pairing, 201, review(ADA))
    shown = json.loads(exchange.content)
    assert exchange.status == 200
    assert set(shown) == {"userInfo", "issuer", "expiresAt"}
    assert shown["userInfo"] == ADA
    assert shown["issuer"] == ISSUER
    assert datetime.fromisoformat(shown["expiresAt"]).utcoffset() is not None
    assert exchange.all("content-type") == [b"application/json"]
    assert exchange.all("cache-control") == [b"no-store"]
    assert exchange.all("x-content-type-options") == [b"nosniff"]


def test_the_review_goes_up_with_the_sessions_token_and_nothing_of_the_browsers(pairing: Pairing) -> None:
    exchange = pairing.get(
        WHOAMI,
        [
            (b"Authorization", b"Bearer mine"),
            (b"Impersonate-User", b"root"),
            (b"Impersonate_User", b"root"),
            (b"X-Remote_Group", b"system:masters"),
            (b"User-Agent", b"a browser"),
            (b"Accept-Encoding", b"gzip"),
            (b"traceparent", b"00-1-2-01"),
        ],
    )
    request = pairing.upstream.expect()
    assert (request.method, request.target) == (
        b"POST",
        b"/apis/authentication.k8s.io/v1/selfsubjectreviews",
    )
    content = request.read_until_end()
    assert json.loads(content) == {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
    sent = sorted((name.lower(), value) for name, value in request.fields if name.lower() != b"host")
    assert sent == [
        (b"accept", b"application/json"),
        (b"accept-encoding", b"identity"),
        (b"authorization", b"Bearer " + pairing.me.token),
        (b"content-length", b"%d" % len(content)),
        (b"content-type", b"application/json"),
        (b"user-agent", b"foyer"),
    ]
    request.answer(201, JSON, review(ADA))
    exchange.read_until_end()


def test_each_is_asked_anew(pairing: Pairing) -> None:
    for name in ("one", "other"):
        exchange = answered(pairing, 201, review({"username": name}))
        assert json.loads(exchange.content)["userInfo"] == {"username": name}


def test_a_head_has_no_content(pairing: Pairing) -> None:
    exchange = pairing.get(WHOAMI, method="HEAD")
    pairing.upstream.expect().answer(201, JSON, review(ADA))
    assert exchange.read_until_end() == Whole(b"")
    assert exchange.status == 200


def test_without_a_session_the_api_server_is_not_asked(pairing: Pairing) -> None:
    exchange = pairing.browser.request("GET", WHOAMI)
    exchange.read_until_end()
    assert (exchange.status, exchange.all("krm-foyer-interruption")) == (401, [b"Unauthorized"])
    pairing.upstream.expect_nothing()


@pytest.mark.parametrize("status", [400, 401, 403, 404, 409, 422, 429])
def test_a_4xx_of_the_api_servers_passes_as_its_own_answers_do(pairing: Pairing, status: int) -> None:
    content = json.dumps({"kind": "Status", "code": status, "message": "upstream's words"}).encode()
    fields = [*JSON, (b"retry-after", b"1"), (b"audit-id", b"a"), (b"set-cookie", b"a=b"), (b"x-own", b"1")]
    exchange = answered(pairing, status, content, fields)
    assert exchange.status == status
    assert exchange.content == content
    assert exchange.all("krm-foyer-interruption") == []
    assert exchange.all("content-type") == [b"application/json"]
    assert (exchange.all("retry-after"), exchange.all("audit-id")) == ([b"1"], [b"a"])
    assert (exchange.all("set-cookie"), exchange.all("x-own")) == ([], [])
    assert exchange.all("cache-control") == [b"no-store"]
    if status in (401, 403, 409, 422):
        [line] = pairing.logged("refused")
        assert (line["by"], line["status"], line["route"]) == ("kubernetes", status, WHOAMI)
    assert "upstream's words" not in json.dumps(pairing.log)


def test_a_refusal_of_priority_and_fairness_passes_as_text(pairing: Pairing) -> None:
    text: Fields = [(b"content-type", b"text/plain; charset=utf-8"), (b"retry-after", b"1")]
    exchange = answered(pairing, 429, b"Too many requests\n", text)
    assert (exchange.status, bytes(exchange.content)) == (429, b"Too many requests\n")


@pytest.mark.parametrize(
    ("status", "failure"),
    [(500, "status_500"), (503, "status_503"), (204, "status_204"), (302, "redirect"), (304, "redirect")],
)
def test_any_other_status_is_no_answer(pairing: Pairing, status: int, failure: str) -> None:
    location = [(b"location", b"https://elsewhere.test/")]
    exchange = answered(pairing, status, b"" if status in (204, 304) else b"{}", JSON + location)
    assert_unavailable(pairing, exchange, failure)
    pairing.upstream.expect_nothing()


@pytest.mark.parametrize(
    ("content", "failure"),
    [
        (review({"username": ""}), "nobody"),
        (review({"groups": ["system:authenticated"]}), "nobody"),
        (review({"username": None}), "nobody"),
        (review({"username": 7}), "nobody"),
        (review({"username": "system:anonymous"}), "nobody"),
        (review(None), "nobody"),
        (review({"username": "a", "groups": "editors"}), "document"),
        (b'{"status":null}', "document"),
        (b'{"status":{"userInfo":{"username":"a","username":"root"}}}', "document"),
        (b'{"status":{"userInfo":{"username":"a"}', "document"),
        (b"[]", "document"),
        (b"\xff", "document"),
        (b"", "document"),
    ],
    ids=str,
)
def test_an_answer_that_names_nobody_or_cannot_be_read_is_none(
    pairing: Pairing, content: bytes, failure: str
) -> None:
    assert_unavailable(pairing, answered(pairing, 201, content), failure)


def test_a_4xx_that_may_not_pass_is_no_answer(pairing: Pairing) -> None:
    exchange = answered(pairing, 403, b"<p>", [(b"content-type", b"text/html")])
    assert_unavailable(pairing, exchange, "content_type")


def test_a_coding_that_was_not_asked_for_is_no_answer(pairing: Pairing) -> None:
    exchange, request = asked(pairing)
    request.respond(201, [*JSON, (b"content-encoding", b"gzip"), (b"content-length", b"1000")])
    assert_unavailable(pairing, exchange, "protocol")
    request.expect_cancelled()


def test_an_answer_past_the_bound_is_dropped_unread(pairing: Pairing) -> None:
    exchange, request = asked(pairing)
    request.respond(201, [*JSON, (b"content-length", b"%d" % (16 * 1024 * 1024 + 1))])
    assert_unavailable(pairing, exchange, "too_large")
    request.expect_cancelled()


def test_a_lost_connection_is_no_answer_and_nothing_is_sent_again(pairing: Pairing) -> None:
    exchange, request = asked(pairing)
    request.close()
    assert_unavailable(pairing, exchange, "connection")
    pairing.upstream.expect_nothing()


def test_half_an_answer_is_none(pairing: Pairing) -> None:
    exchange, request = asked(pairing)
    request.respond(201, JSON)
    request.send(review(ADA)[:-1])
    request.reset()
    exchange.read_until_end()
    assert exchange.all("krm-foyer-interruption") == [b"IdentityUnavailable"]


def test_a_browser_that_leaves_takes_its_question_along(pairing: Pairing) -> None:
    exchange, request = asked(pairing)
    exchange.reset()
    request.expect_cancelled()


def test_a_logout_ends_it_as_any_open_response_of_the_session(pairing: Pairing) -> None:
    exchange, request = asked(pairing)
    logout = pairing.connect().request("POST", "/auth/logout", pairing.me.change)
    logout.read_until_end()
    assert logout.status == 204
    assert isinstance(exchange.read_until_end(), Aborted)
    request.expect_cancelled()
    [line] = pairing.logged("response cut short")
    assert (line["cause"], line["route"]) == ("session_ended", WHOAMI)


def test_a_page_load_that_gets_no_answer_gets_a_page(pairing: Pairing) -> None:
    exchange = pairing.get(WHOAMI, [(b"Sec-Fetch-Dest", b"document")])
    pairing.upstream.expect().answer(500, JSON, b"{}")
    page = exchange.read_until_end().content
    assert (exchange.status, exchange.all("content-type")) == (503, [b"text/html; charset=utf-8"])
    assert b"IdentityUnavailable" in page
    assert f'href="{WHOAMI}"'.encode() in page
