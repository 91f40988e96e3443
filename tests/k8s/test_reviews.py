"""The three self-reviews: what is asked, and what of an answer is believed."""

import json
from collections.abc import Coroutine, Mapping
from typing import Any, TypeVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foyer.exchange.ports import Answer
from foyer.k8s import reviews
from foyer.k8s.reviews import Decision, Question, Refused, Rule, Rules, Unusable
from foyer.protocol.events import Failure, Fields
from foyer.session.seal import IdToken

TOKEN = IdToken(b"a.b.c")
JSON: Fields = [(b"content-type", b"application/json")]


class Server:
    """The API server as far as reviews know it: one outcome, and what was created."""

    def __init__(self, outcome: Answer | Failure) -> None:
        self._outcome = outcome
        self.created: list[tuple[str, Mapping[str, object], IdToken]] = []

    async def create(self, path: str, document: Mapping[str, object], token: IdToken) -> Answer | Failure:
        self.created.append((path, document, token))
        return self._outcome


def server(outcome: object, status: int = 201) -> Any:
    """A server that answers this, as the status of a review."""
    return Server(Answer(status, list(JSON), json.dumps({"status": outcome}).encode()))


T = TypeVar("T")


def done(asking: Coroutine[Any, Any, T]) -> T:
    """The outcome of asking a server that answers at once."""
    try:
        asking.send(None)
    except StopIteration as stopped:
        outcome: T = stopped.value
        return outcome
    raise AssertionError("it waits for something else than the server")


def who(outcome: object) -> object:
    return done(reviews.who(server(outcome), TOKEN))


def rules(outcome: object) -> object:
    return done(reviews.rules(server(outcome), TOKEN, "demo"))


def may(outcome: object, question: Question | None = None) -> object:
    return done(reviews.may(server(outcome), TOKEN, question or Question("get", "pods")))


# -- who


def test_who_asks_for_a_self_subject_review() -> None:
    asked = server({"userInfo": {"username": "ada"}})
    assert done(reviews.who(asked, TOKEN)) == {"username": "ada"}
    assert asked.created == [
        (
            "/apis/authentication.k8s.io/v1/selfsubjectreviews",
            {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"},
            TOKEN,
        )
    ]


@pytest.mark.parametrize("status", [200, 201])
def test_a_created_review_and_one_that_is_only_given_are_both_answers(status: int) -> None:
    answer = server({"userInfo": {"username": "ada"}}, status)
    assert done(reviews.who(answer, TOKEN)) == {"username": "ada"}


@pytest.mark.parametrize(
    ("given", "read"),
    [
        ({"username": "ada", "uid": "", "groups": [], "extra": {}}, {"username": "ada"}),
        ({"username": "ada", "uid": None, "groups": None, "extra": None}, {"username": "ada"}),
        (
            {"username": "ä", "uid": "7", "groups": ["a", ""], "extra": {"k": ["v", "w"], "l": None}},
            {"username": "ä", "uid": "7", "groups": ["a", ""], "extra": {"k": ["v", "w"], "l": []}},
        ),
        ({"username": "ada", "token": "secret", "later": {}}, {"username": "ada"}),
    ],
)
def test_user_info_is_read_field_by_field(given: object, read: object) -> None:
    assert who({"userInfo": given}) == read


@pytest.mark.parametrize(
    "status", [{}, {"userInfo": None}, {"userInfo": []}, {"userInfo": {}}, {"userInfo": {"username": ""}}]
)
def test_an_answer_can_name_nobody(status: object) -> None:
    assert who(status) == Unusable("nobody")


def test_the_anonymous_user_is_nobody() -> None:
    assert who({"userInfo": {"username": "system:anonymous"}}) == Unusable("nobody")


@pytest.mark.parametrize(
    "more",
    [
        {"uid": 7},
        {"groups": "editors"},
        {"groups": ["editors", 7]},
        {"groups": {"a": 1}},
        {"extra": ["a"]},
        {"extra": "a"},
        {"extra": {"a": "b"}},
        {"extra": {"a": [1]}},
        {"groups": ["\ud800"]},
        {"extra": {"\ud800": []}},
    ],
    ids=ascii,
)
def test_a_field_of_the_wrong_type_spoils_the_answer(more: Mapping[str, object]) -> None:
    assert who({"userInfo": {"username": "ada", **more}}) == Unusable("document")


# -- rules


def test_rules_are_asked_for_in_one_namespace() -> None:
    asked = server({"incomplete": False})
    assert done(reviews.rules(asked, TOKEN, "demo")) == Rules((), False, "")
    [(path, document, token)] = asked.created
    assert path == "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews"
    assert document["spec"] == {"namespace": "demo"}
    assert token is TOKEN


def test_rules_of_resources_come_before_those_of_urls() -> None:
    found = rules(
        {
            "nonResourceRules": [{"verbs": ["get"], "nonResourceURLs": ["/version"]}],
            "resourceRules": [
                {"verbs": ["*"], "apiGroups": ["", "apps"], "resources": ["pods"], "resourceNames": ["a"]}
            ],
            "incomplete": False,
        }
    )
    assert found == Rules(
        (
            Rule(("*",), ("", "apps"), ("pods",), ("a",), ()),
            Rule(("get",), (), (), (), ("/version",)),
        ),
        False,
        "",
    )


@pytest.mark.parametrize("value", [True, None, "false", 0])
def test_only_a_clear_no_makes_a_list_complete(value: object) -> None:
    found = rules({"resourceRules": None, "incomplete": value, "evaluationError": "why"})
    assert found == Rules((), True, "why")


@pytest.mark.parametrize("listed", ["resourceRules", "nonResourceRules"])
@pytest.mark.parametrize("value", ["x", {"a": 1}, ["x"], [None], [{"verbs": "get"}], [{"resources": [1]}]])
def test_a_rule_that_cannot_be_read_spoils_the_list(listed: str, value: object) -> None:
    assert rules({listed: value, "incomplete": False}) == Unusable("document")


# -- may


@pytest.mark.parametrize(
    ("question", "spec"),
    [
        (Question("get", "pods"), {"resourceAttributes": {"verb": "get", "resource": "pods"}}),
        (
            Question("create", "pods/log", "apps", "demo", "one"),
            {
                "resourceAttributes": {
                    "verb": "create",
                    "resource": "pods",
                    "subresource": "log",
                    "group": "apps",
                    "namespace": "demo",
                    "name": "one",
                }
            },
        ),
        (
            Question("get", "/version", "apps", "demo", "one"),
            {"nonResourceAttributes": {"verb": "get", "path": "/version"}},
        ),
    ],
)
def test_a_question_is_put_in_the_api_servers_words(question: Question, spec: object) -> None:
    asked = server({"allowed": True})
    done(reviews.may(asked, TOKEN, question))
    [(path, document, _)] = asked.created
    assert path == "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
    assert document["spec"] == spec


@pytest.mark.parametrize("allowed", [True, False])
def test_a_decision_is_a_boolean_with_what_was_said(allowed: bool) -> None:
    found = may({"allowed": allowed, "reason": "because", "evaluationError": 7})
    assert found == Decision(allowed, "because", "")


@pytest.mark.parametrize("status", [{}, {"allowed": "true"}, {"allowed": 1}, {"allowed": None}])
def test_anything_but_a_boolean_is_no_decision(status: object) -> None:
    assert may(status) == Unusable("document")


# -- every review


@pytest.mark.parametrize("failure", Failure)
def test_no_answer_is_unusable_and_says_why(failure: Failure) -> None:
    gone: Any = Server(failure)
    assert done(reviews.who(gone, TOKEN)) == Unusable(failure.value)


@pytest.mark.parametrize(
    ("status", "failure"),
    [
        (202, "status_202"),
        (204, "status_204"),
        (301, "redirect"),
        (304, "redirect"),
        (500, "status_500"),
        (504, "status_504"),
        (100, "protocol"),
        (600, "protocol"),
        (999, "protocol"),
    ],
)
def test_a_status_that_is_no_answer_is_named(status: int, failure: str) -> None:
    answer = server({"userInfo": {"username": "ada"}}, status)
    assert done(reviews.who(answer, TOKEN)) == Unusable(failure)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"[]",
        b"null",
        b"{}",
        b'{"status":[]}',
        b'{"status":{}',
        b"\xff{}",
        b"[" * 100_000,
        b'{"status":{"allowed":true,"allowed":false}}',
        b'{"status":{"allowed":NaN}}',
    ],
    ids=lambda content: content[:20],
)
def test_what_is_no_review_is_unusable(content: bytes) -> None:
    answer: Any = Server(Answer(201, list(JSON), content))
    assert done(reviews.may(answer, TOKEN, Question("get", "pods"))) == Unusable("document")


def test_a_4xx_is_the_api_servers_own_and_passes_by_the_rules_of_what_comes_back() -> None:
    fields: Fields = [
        *JSON,
        (b"content-length", b"27"),
        (b"audit-id", b"a"),
        (b"set-cookie", b"a=b"),
        (b"www-authenticate", b"Bearer"),
    ]
    refused: Any = Server(Answer(401, fields, b'{"message":"Unauthorized "}'))
    found = done(reviews.who(refused, TOKEN))
    assert isinstance(found, Refused)
    assert (found.answer.status, found.answer.content) == (401, b'{"message":"Unauthorized "}')
    assert found.message == "Unauthorized "
    names = {name for name, _ in found.answer.fields}
    assert {b"content-type", b"audit-id", b"cache-control", b"x-content-type-options"} <= names
    assert not names & {b"content-length", b"set-cookie", b"www-authenticate"}


def test_a_4xx_may_have_no_content() -> None:
    refused: Any = Server(Answer(429, [(b"retry-after", b"1")], b""))
    found = done(reviews.who(refused, TOKEN))
    assert isinstance(found, Refused)
    assert (found.message, found.answer.content) == ("", b"")
    assert (b"retry-after", b"1") in found.answer.fields


@pytest.mark.parametrize(
    ("fields", "failure"),
    [
        ([(b"content-type", b"text/html")], "content_type"),
        ([], "content_type"),
        ([*JSON, *JSON], "content_type"),
        ([*JSON, (b"content-encoding", b"gzip"), (b"content-encoding", b"gzip")], "content_encoding"),
    ],
)
def test_a_4xx_that_may_not_reach_a_browser_is_unusable(fields: Fields, failure: str) -> None:
    refused: Any = Server(Answer(403, fields, b"<p>"))
    assert done(reviews.who(refused, TOKEN)) == Unusable(failure)


# Every name that is read, so that chance puts wrong types where they are looked for.
KEYS = st.sampled_from(
    (
        *("userInfo", "username", "groups", "uid", "extra"),
        *("resourceRules", "nonResourceRules", "incomplete"),
        *("verbs", "apiGroups", "resources", "resourceNames", "nonResourceURLs"),
        *("allowed", "reason"),
    )
)

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 2) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=5),
    max_leaves=12,
)


@given(VALUES)
def test_any_status_is_read_or_unusable(status: object) -> None:
    found = who(status)
    assert isinstance(found, Unusable) or (isinstance(found, dict) and found["username"])
    assert isinstance(rules(status), Unusable | Rules)
    assert isinstance(may(status), Unusable | Decision)
