"""foyer.js in Chromium, before the demo: `k8s`, each of its outcomes, and what it repeats."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Error, Page

from tests.e2e.harness.demo import ADA, BOB, NOTES, choose
from tests.e2e.harness.helper import Instead, Script, Scripted, Sent, Visit, call, outcome

CONFIGMAPS = "/api/v1/namespaces/demo/configmaps"


def note(name: str, text: str = "Something to do", **metadata: str) -> dict[str, Any]:
    return {
        "apiVersion": "example.com/v1",
        "kind": "Note",
        "metadata": {"name": name, **metadata},
        "spec": {"text": text},
    }


def status(code: int, reason: str, message: str = "Why it was.", **fields: str) -> Scripted:
    content = {"kind": "Status", "apiVersion": "v1", "code": code, "reason": reason, "message": message}
    return Scripted(code, json.dumps(content), fields=fields)


def interruption(code: int, reason: str, **fields: str) -> Scripted:
    return status(code, reason, **{"Krm-Foyer-Interruption": reason, **fields})


NO_PROOF = interruption(403, "CSRFProofRequired")


@pytest.fixture
def ada(visit: Visit) -> Iterator[Page]:
    """Her page; what its tests create is deleted again."""
    page = visit(ADA)
    yield page
    page.unroute_all()
    call(
        page,
        """k8s(it).then(({ content }) => Promise.all(content.items
            .map((note) => note.metadata.name)
            .filter((name) => !/^note-/.test(name))
            .map((name) => k8s(`${it}/${name}`, { method: "DELETE" }))))""",
        NOTES,
    )


# Answers as they are


def test_an_ok_answer_is_its_content_and_the_response_for_its_fields(ada: Page) -> None:
    answer = call(ada, "k8s(it)", CONFIGMAPS)
    assert answer["outcome"] == "ok"
    assert (answer["status"], answer["reason"], answer["message"]) == (200, "", "")
    assert (answer["interruption"], answer["retryAfter"]) == (None, None)
    assert answer["content"]["kind"] == "ConfigMapList"
    audit = call(ada, "k8s(it).then((answer) => answer.response.headers.get('Content-Type'))", CONFIGMAPS)
    assert audit == "application/json"


def test_an_object_is_created_changed_and_deleted_with_the_right_media_types(ada: Page) -> None:
    sent = Sent(ada)
    path = f"{NOTES}/mine"
    created = call(ada, "k8s(...it)", [NOTES, {"method": "POST", "body": note("mine")}])
    assert (created["outcome"], created["status"]) == ("ok", 201)
    changes: list[dict[str, Any]] = [
        {"method": "PUT", "body": created["content"] | {"spec": {"text": "Something else"}}},
        {"method": "PATCH", "body": {"spec": {"done": True}}},
        {"method": "patch", "body": [{"op": "test", "path": "/spec/done", "value": True}]},
        {
            "method": "PATCH",
            "body": '{"spec": {"text": "as it stands"}}',
            "headers": {"Content-Type": "application/merge-patch+json"},
        },
        {
            "method": "PATCH",
            "body": {"apiVersion": "example.com/v1", "kind": "Note", "spec": {"done": False}},
            "contentType": "application/merge-patch+json",
        },
        {"method": "delete"},
    ]
    for options in changes:
        assert outcome(ada, path, **options)[0] == "ok", options
    assert outcome(ada, path) == ("missing", 404, "NotFound")
    merge, operations = "application/merge-patch+json", "application/json-patch+json"
    assert [request.headers.get("content-type") for request in sent.requests if request.method != "GET"] == [
        *["application/json"] * 2,
        *[merge, operations, merge, merge],
        None,
    ]
    assert sent.lines("/auth") == ["GET /auth/session"], "one proof does for all"


def test_bytes_are_sent_as_they_are(ada: Page) -> None:
    body = json.dumps(note("bytes"))
    for made in (
        "new TextEncoder().encode(it[1])",
        "new TextEncoder().encode(it[1]).buffer",
        "new Blob([it[1]])",
    ):
        answer = call(ada, f"k8s(it[0], {{ method: 'POST', body: {made} }})", [f"{NOTES}?dryRun=All", body])
        assert (answer["outcome"], answer["content"]["metadata"]["name"]) == ("ok", "bytes")


def test_what_kubernetes_does_not_allow_is_refused_in_its_words(visit: Visit) -> None:
    answer = call(visit(BOB), "k8s(...it)", [NOTES, {"method": "POST", "body": note("bobs")}])
    assert (answer["outcome"], answer["status"], answer["reason"]) == ("refused", 403, "Forbidden")
    assert 'User "bob@example.com" cannot create resource "notes"' in answer["message"]
    assert answer["content"]["details"]["kind"] == "notes"
    assert answer["interruption"] is None, "it was Kubernetes"


def test_what_is_there_already_or_has_changed_is_a_conflict(ada: Page) -> None:
    assert outcome(ada, NOTES, method="POST", body=note("twice"))[0] == "ok"
    again = outcome(ada, NOTES, method="POST", body=note("twice"))
    assert again == ("conflict", 409, "AlreadyExists")
    stale = note("twice", "too late", resourceVersion="1")
    assert outcome(ada, f"{NOTES}/twice", method="PUT", body=stale) == ("conflict", 409, "Conflict")


def test_what_breaks_the_rules_of_its_kind_is_invalid(ada: Page) -> None:
    answer = call(ada, "k8s(...it)", [NOTES, {"method": "POST", "body": note("Not a name")}])
    assert (answer["outcome"], answer["status"], answer["reason"]) == ("invalid", 422, "Invalid")
    assert answer["content"]["details"]["causes"][0]["field"] == "metadata.name"


def test_what_is_not_there_is_missing_and_so_is_a_path_that_foyer_does_not_serve(ada: Page) -> None:
    assert outcome(ada, f"{NOTES}/never") == ("missing", 404, "NotFound")
    assert call(ada, "k8s(it)", f"{NOTES}/never")["interruption"] is None
    assert call(ada, "k8s(it)", "/healthz")["interruption"] == "NotFound"


def test_without_a_session_it_is_signed_out_and_a_change_is_not_sent(visit: Visit) -> None:
    page = visit()
    sent = Sent(page)
    read = call(page, "k8s(it)", NOTES)
    changed = call(page, "k8s(it, { method: 'DELETE' })", f"{NOTES}/note-1")
    for answer in (read, changed):
        assert (answer["outcome"], answer["status"], answer["reason"]) == ("signed-out", 401, "Unauthorized")
        assert answer["interruption"] == "Unauthorized"
        assert answer["message"] == "You are not signed in, or your session has ended."
    assert sent.lines() == [f"GET /k8s{NOTES}", "GET /auth/session"]


@pytest.mark.parametrize(
    ("answer", "outcome_", "reason"),
    [
        (interruption(401, "Unauthorized"), "signed-out", "Unauthorized"),
        (status(401, "Unauthorized"), "refused", "Unauthorized"),
        (status(403, "Forbidden"), "refused", "Forbidden"),
        (status(403, "CSRFProofRequired"), "refused", "CSRFProofRequired"),
        (interruption(403, "CrossOriginRequest"), "refused", "CrossOriginRequest"),
        (status(404, "NotFound"), "missing", "NotFound"),
        (status(409, "AlreadyExists"), "conflict", "AlreadyExists"),
        (status(410, "Expired"), "error", "Expired"),
        (status(422, "Invalid"), "invalid", "Invalid"),
        (interruption(422, "ReadTooLarge"), "error", "ReadTooLarge"),
        (interruption(400, "NonCanonicalPath"), "error", "NonCanonicalPath"),
        (interruption(502, "UpstreamUnavailable"), "error", "UpstreamUnavailable"),
        (status(500, "InternalError"), "error", "InternalError"),
        (status(504, "Timeout"), "error", "Timeout"),
    ],
)
def test_the_outcome_is_by_the_code_and_by_who_answered(
    visit: Visit, answer: Scripted, outcome_: str, reason: str
) -> None:
    page = visit(ADA)
    Script(page, "**/k8s/**", answer)
    told = call(page, "k8s('/api/v1/pods')")
    assert [told[name] for name in ("outcome", "status", "reason")] == [outcome_, answer.status, reason]
    assert told["message"] == "Why it was."
    assert told["interruption"] == answer.fields.get("Krm-Foyer-Interruption")


@pytest.mark.parametrize(
    ("answer", "seconds"),
    [
        (interruption(429, "RequestRateExceeded", **{"Retry-After": "7"}), 7),
        (
            Scripted(429, "Too many requests, please try again later.\n", "text/plain", {"Retry-After": "1"}),
            1,
        ),
        (Scripted(503, '{"kind": "Status", "details": {"retryAfterSeconds": 3}}'), 3),
        (interruption(429, "TooManyStreams"), None),
        (Scripted(503, "", fields={"Retry-After": "Wed, 21 Oct 2026 07:28:00 GMT"}), None),
        (Scripted(503, "", fields={"Retry-After": "-1"}), None),
    ],
)
def test_how_long_to_wait_is_told_where_the_answer_tells_it(
    visit: Visit, answer: Scripted, seconds: int | None
) -> None:
    page = visit(ADA)
    script = Script(page, "**/k8s/**", answer)
    told = call(page, "k8s('/api/v1/pods')")
    assert (told["outcome"], told["retryAfter"]) == ("error", seconds)
    assert len(script.requests) == 1, "and nothing is tried again by itself"


@pytest.mark.parametrize(
    ("answer", "reason", "message"),
    [
        (Scripted(429, " Too many requests.\n", "text/plain; charset=utf-8"), "", "Too many requests."),
        (Scripted(500, "x" * 5000, "text/plain"), "", "x" * 1000),
        (Scripted(502, ""), "", "The answer was a bare 502."),
        (Scripted(500, "{"), "", "The answer was a bare 500."),
        (Scripted(500, '{"kind": "Pod", "reason": "Other"}'), "", "The answer was a bare 500."),
        (Scripted(500, '{"kind": "Status"}'), "", "The answer was a bare 500."),
        (Scripted(500, "null"), "", "The answer was a bare 500."),
    ],
)
def test_a_refusal_without_a_status_still_says_something(
    visit: Visit, answer: Scripted, reason: str, message: str
) -> None:
    page = visit(ADA)
    Script(page, "**/k8s/**", answer)
    told = call(page, "k8s('/api/v1/pods')")
    assert (told["outcome"], told["reason"], told["message"]) == ("error", reason, message)


@pytest.mark.parametrize("code", [200, 201, 401, 403, 404, 502])
def test_a_page_of_somebody_elses_is_no_answer_whatever_its_code(visit: Visit, code: int) -> None:
    """An application that serves its own page for every path, a firewall, an ingress that is not routed."""
    page = visit(ADA)
    Script(page, "**/k8s/**", Scripted(code, "<!doctype html><h1>Hello</h1>", "text/html; charset=utf-8"))
    assert outcome(page, "/api/v1/pods") == ("error", code, "Unreadable")


def test_a_redirect_is_no_answer_and_is_not_followed(visit: Visit) -> None:
    page = visit(ADA)
    elsewhere = Scripted(302, "", fields={"Location": "/somebody/elses/sign-in"})
    Script(page, "**/k8s/**", elsewhere)
    sent = Sent(page)
    assert outcome(page, "/api/v1/pods") == ("error", 0, "Unreadable")
    assert sent.lines() == ["GET /k8s/api/v1/pods"]


def test_broken_json_is_no_answer(visit: Visit) -> None:
    page = visit(ADA)
    Script(page, "**/k8s/**", Scripted(200, '{"items": ['))
    assert outcome(page, "/api/v1/pods") == ("error", 200, "Unreadable")


def test_no_answer_at_all_is_an_error_and_a_change_is_not_sent_again(visit: Visit) -> None:
    page = visit(ADA)
    script = Script(page, "**/k8s/**", Instead.NOBODY)
    assert outcome(page, "/api/v1/pods") == ("error", 0, "Unreachable")
    assert outcome(page, "/api/v1/pods", method="POST", body={}) == ("error", 0, "Unreachable")
    assert [request.method for request in script.requests] == ["GET", "POST"]


@pytest.mark.parametrize(
    ("answer", "content"),
    [
        (Scripted(200, "a line\nof a log\n", "text/plain"), "a line\nof a log\n"),
        (Scripted(200, "kind: List\n", "application/yaml"), "kind: List\n"),
        (Scripted(200, '{"a": 1}', "application/merge-patch+json"), {"a": 1}),
        (Scripted(200, "", "application/json"), None),
        (Scripted(204), None),
    ],
)
def test_json_is_parsed_and_other_content_is_a_string(
    visit: Visit, answer: Scripted, content: object
) -> None:
    page = visit(ADA)
    Script(page, "**/k8s/**", answer)
    told = call(page, "k8s('/api/v1/pods')")
    assert (told["outcome"], told["content"]) == ("ok", content)


# Streams and aborts


def test_a_watch_is_a_response_that_the_page_reads_as_it_arrives(ada: Page) -> None:
    call(
        ada,
        """k8s(`${it}?watch=1&fieldSelector=metadata.name%3Dwatched`).then(async ({ outcome, response }) => {
            window.reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
        })""",
        NOTES,
    )
    assert outcome(ada, NOTES, method="POST", body=note("watched"))[0] == "ok"
    event = json.loads(ada.evaluate("window.reader.read().then(({ value }) => value)"))
    assert (event["type"], event["object"]["metadata"]["name"]) == ("ADDED", "watched")


def test_a_refused_watch_is_an_answer_like_any_other(visit: Visit) -> None:
    page = visit(BOB)
    secrets = "/api/v1/namespaces/demo/secrets?watch=1"
    assert outcome(page, secrets) == ("refused", 403, "Forbidden")


@pytest.mark.parametrize(
    ("query", "stream", "content"),
    [
        ("", None, "{}"),
        ("?watch=0", None, "{}"),
        ("?watch=False&labelSelector=watch%3D1", None, "{}"),
        ("?limit=1&watch=true", None, None),
        ("?watch", None, None),
        ("?follow=true", None, None),
        ("?watch=1", False, "{}"),
        ("", True, None),
    ],
)
def test_content_is_read_unless_it_has_no_end_or_the_page_wants_to(
    visit: Visit, query: str, stream: bool | None, content: str | None
) -> None:
    page = visit(ADA)
    Script(page, "**/k8s/**", Scripted(200, "{}", "text/plain"))
    options = {} if stream is None else {"stream": stream}
    told = call(
        page,
        """k8s(...it).then(async ({ content, response }) =>
            [content, response.bodyUsed, response.bodyUsed ? null : await response.text()])""",
        [f"/api/v1/pods{query}", options],
    )
    assert told == ([content, True, None] if content else [None, False, "{}"])


ABORTED = ".catch((error) => [error.name, error === controller.signal.reason])"


@pytest.mark.parametrize("reason", ["undefined", "new RangeError('enough')"])
def test_an_abort_ends_a_request_with_the_signals_own_reason(visit: Visit, reason: str) -> None:
    page = visit(ADA)
    name = "AbortError" if reason == "undefined" else "RangeError"
    for path in (f"{NOTES}?watch=1", NOTES):
        told = call(
            page,
            f"""(async () => {{
                const controller = new AbortController();
                const answer = k8s(it, {{ signal: controller.signal, stream: false }}){ABORTED};
                controller.abort({reason});
                return answer;
            }})()""",
            path,
        )
        assert told == [name, True]


def test_an_abort_while_content_arrives_is_not_taken_for_a_cut(visit: Visit) -> None:
    page = visit(ADA)
    with page.expect_response("**/notes?watch=1"):
        call(
            page,
            f"""void (window.controller = new AbortController(),
                window.answer = k8s(it, {{ signal: controller.signal, stream: false }}){ABORTED})""",
            f"{NOTES}?watch=1",
        )
    assert page.evaluate("(controller.abort(), answer)") == ["AbortError", True]


@pytest.mark.parametrize("when", ["before", "meanwhile"])
def test_a_change_aborted_before_its_proof_is_there_is_never_sent(visit: Visit, when: str) -> None:
    page = visit(ADA)
    sent = Sent(page)
    told = call(
        page,
        f"""(async () => {{
            const controller = new AbortController();
            if ({json.dumps(when)} === "before") controller.abort();
            const answer = k8s(it, {{ method: "DELETE", signal: controller.signal }}){ABORTED};
            controller.abort();
            const told = await answer;
            await session();
            return told;
        }})()""",
        f"{NOTES}/note-1",
    )
    assert told == ["AbortError", True]
    assert not sent.lines("/k8s")


# Paths


@pytest.mark.parametrize(
    "path",
    [
        "api/v1/pods",
        "",
        "/api/v1/../../auth/logout",
        "/../auth/logout",
        "/api/v1/namespaces/a/./pods",
        "/api/v1/namespaces/%2e%2e/pods",
        "/api/v1/namespaces/.%2E/pods",
        "/api/v1/pods/\\..\\x",
        "/api/v1/na\tme",
        "/api/v1/name\n",
        "/api/v1/a name",
        "/api/v1/ünter",
        "/api/v1/namespaces/a#/pods/b",
        "/api/v1/pods?limit=1#",
    ],
)
def test_a_path_that_a_browser_would_rewrite_is_sent_nowhere(visit: Visit, path: str) -> None:
    page = visit(ADA)
    sent = Sent(page)
    for method in ("GET", "DELETE"):
        with pytest.raises(Error, match="TypeError: k8s takes the API server's own path"):
            call(page, "k8s(...it)", [path, {"method": method}])
    assert sent.lines() == []


@pytest.mark.parametrize(
    "options", [{"method": "TRACE"}, {"method": "not one"}, {"body": {}}, {"headers": {"no name": "x"}}]
)
def test_what_can_never_be_sent_is_the_callers_mistake(visit: Visit, options: dict[str, Any]) -> None:
    page = visit(ADA)
    with pytest.raises(Error, match="TypeError"):
        call(page, "k8s(...it)", ["/api/v1/pods", options])


def test_a_query_is_written_as_a_person_would(ada: Page) -> None:
    sent = Sent(ada)
    assert outcome(ada, f"{CONFIGMAPS}?labelSelector=app in (a, b)")[0] == "ok"
    assert sent.lines("/k8s") == [f"GET /k8s{CONFIGMAPS}?labelSelector=app%20in%20(a,%20b)"]


def test_names_encoded_as_they_should_be_reach_the_api_server(ada: Page) -> None:
    answer = call(ada, "k8s(`${it}/${encodeURIComponent('a name?')}`)", NOTES)
    assert (answer["outcome"], answer["interruption"]) == ("missing", None)
    assert answer["content"]["details"]["name"] == "a name?"


# The one thing that is repeated


def sign_in_in_another_tab(page: Page, demo: str, person: str) -> None:
    other = page.context.new_page()
    other.goto(f"{demo}/auth/login?return_to=/blank")
    choose(other, person)
    other.wait_for_url(f"{demo}/blank")
    other.close()


def test_a_change_with_an_old_proof_is_sent_once_more_with_the_new_one(demo: str, ada: Page) -> None:
    call(ada, "session()")
    sign_in_in_another_tab(ada, demo, ADA)
    sent = Sent(ada)
    assert outcome(ada, NOTES, method="POST", body=note("once"))[:2] == ("ok", 201)
    assert sent.lines() == [f"POST /k8s{NOTES}", "GET /auth/session", f"POST /k8s{NOTES}"]
    first, _, second = sent.requests
    assert first.post_data == second.post_data
    assert first.headers["x-csrf-token"] != second.headers["x-csrf-token"]
    assert outcome(ada, f"{NOTES}/once", method="DELETE")[0] == "ok"
    assert len(sent.requests) == 4, "the new proof is kept"


def test_many_changes_with_an_old_proof_ask_for_the_new_one_together(demo: str, ada: Page) -> None:
    call(ada, "session()")
    sign_in_in_another_tab(ada, demo, ADA)
    sent = Sent(ada)
    created = call(
        ada,
        """Promise.all([1, 2, 3, 4, 5].map((n) => k8s(it[0], {
            method: "POST",
            body: { ...it[1], metadata: { name: `together-${n}` } },
        }))).then((answers) => answers.map((answer) => answer.outcome))""",
        [NOTES, note("together")],
    )
    assert created == ["ok"] * 5
    assert len(sent.lines("/k8s")) == 10
    assert 1 <= len(sent.lines("/auth")) <= 5


def test_a_second_refusal_is_the_answer(visit: Visit) -> None:
    page = visit(ADA)
    script = Script(page, "**/k8s/**", NO_PROOF)
    answer = call(page, "k8s('/api/v1/pods', { method: 'POST', body: {} })")
    assert (answer["outcome"], answer["reason"]) == ("refused", "CSRFProofRequired")
    assert answer["interruption"] == "CSRFProofRequired"
    assert len(script.requests) == 2


@pytest.mark.parametrize(
    "answer",
    [
        status(403, "CSRFProofRequired"),
        interruption(403, "CrossOriginRequest"),
        status(403, "CSRFProofRequired", **{"Krm-Foyer-Interruption": "CrossOriginRequest"}),
        interruption(502, "UpstreamUnavailable"),
        interruption(429, "RequestRateExceeded", **{"Retry-After": "0"}),
        interruption(401, "Unauthorized"),
        status(409, "Conflict"),
        status(503, "ServiceUnavailable"),
        Instead.NOBODY,
        Scripted(200, "<p>", "text/html"),
    ],
)
def test_no_other_change_is_repeated(visit: Visit, answer: Scripted | Instead) -> None:
    page = visit(ADA)
    script = Script(page, "**/k8s/**", answer)
    call(page, "k8s('/api/v1/pods', { method: 'POST', body: {} })")
    assert len(script.requests) == 1


@pytest.mark.parametrize("answer", [NO_PROOF, status(503, "ServiceUnavailable"), Instead.NOBODY])
def test_no_read_is_repeated(visit: Visit, answer: Scripted | Instead) -> None:
    page = visit(ADA)
    script = Script(page, "**/k8s/**", answer)
    call(page, "k8s('/api/v1/pods')")
    assert len(script.requests) == 1


def test_a_change_is_sent_as_the_person_that_the_page_was_given_or_not_at_all(
    demo: str, visit: Visit
) -> None:
    page = visit(BOB)
    call(page, "session()")
    sign_in_in_another_tab(page, demo, ADA)
    sent = Sent(page)
    for times in (1, 2):
        answer = call(page, "k8s(...it)", [NOTES, {"method": "POST", "body": note("whose")}])
        assert (answer["outcome"], answer["interruption"]) == ("refused", "CSRFProofRequired")
        assert answer["message"].startswith("Somebody else has signed in")
        assert sent.lines("/k8s") == [f"POST /k8s{NOTES}"] * times, (
            "once each, with the proof that is not hers"
        )
    assert call(page, "session()")["email"] == ADA
    assert outcome(page, f"{NOTES}?dryRun=All", method="POST", body=note("whose"))[0] == "ok"


def test_a_change_whose_session_ended_is_not_sent_again(demo: str, visit: Visit) -> None:
    page = visit(ADA)
    call(page, "session()")
    page.context.clear_cookies()
    sent = Sent(page)
    assert outcome(page, f"{NOTES}/note-1", method="DELETE") == ("signed-out", 401, "Unauthorized")
    assert sent.lines() == [f"DELETE /k8s{NOTES}/note-1"]


@pytest.mark.parametrize(
    ("session", "told"),
    [
        (Scripted(401, '{"authenticated": false}'), ("signed-out", 401, "Unauthorized")),
        (interruption(503, "Overloaded"), ("error", 503, "Overloaded")),
        (Instead.NOBODY, ("error", 0, "Unreachable")),
    ],
)
def test_where_no_new_proof_is_to_be_had_that_is_the_answer(
    visit: Visit, session: Scripted | Instead, told: tuple[str, int, str]
) -> None:
    page = visit(ADA)
    Script(page, "**/auth/session", Instead.SERVER, session)
    script = Script(page, "**/k8s/**", NO_PROOF)
    assert outcome(page, "/api/v1/pods", method="POST", body={}) == told
    assert len(script.requests) == 1


def test_a_change_says_its_origin_on_a_page_without_referrers_too(demo: str, ada: Page) -> None:
    """By the Fetch standard it is `null` there in any mode but `cors` ("append a request Origin header")."""
    ada.goto(f"{demo}/notes.js")
    policy = ada.evaluate("fetch(location).then((answer) => answer.headers.get('Referrer-Policy'))")
    assert policy == "no-referrer"
    with ada.expect_request("**/notes?dryRun=All") as sent:
        assert outcome(ada, f"{NOTES}?dryRun=All", method="POST", body=note("quiet"))[0] == "ok"
    headers = sent.value.all_headers()
    assert (headers["sec-fetch-mode"], headers["origin"]) == ("cors", demo)


def test_the_proof_is_foyers_whatever_the_page_sets(ada: Page) -> None:
    headers = {"X-CSRF-Token": "the page's own"}
    assert outcome(ada, f"{NOTES}?dryRun=All", method="POST", body=note("own"), headers=headers)[0] == "ok"
