"""Who may read a shared watch: asked before anything is served, and again (spec 05, Shared watches)."""

import gc
import sys
from collections.abc import Iterator

import pytest

from foyer.exchange.endings import Complete
from foyer.exchange.ports import HIGH_WATER, Answer
from foyer.protocol.events import Failure
from foyer.session.seal import IdToken
from foyer.streams.errors import Code
from foyer.streams.subscriber import State
from tests.streams.following import COMPLETE, CONFIGMAPS, added, config_map, error, modified
from tests.streams.sharing import MAY, SHARED_TOKEN, WHO, Stage, Visitor, refused, said
from tests.streams.staged import JSON

SNAPSHOT = added(config_map()) + b"\n" + COMPLETE + b"\n"
NOTES = b"group=notes.example.com&version=v1alpha1&resource=notes"
SELECTED = b"version=v1&resource=configmaps&namespace=app&name=one&labelSelector=a%3Db"


@pytest.fixture
def stage() -> Iterator[Stage]:
    stage = Stage()
    yield stage
    stage.close()


def live(stage: Stage, *who: str) -> list[Visitor]:
    """Streams of these people, behind their snapshots."""
    visitors = [stage.open(who=each) for each in who]
    stage.respond(SNAPSHOT)
    assert [visitor.types for visitor in visitors] == [["reset", "added", "synced"]] * len(who)
    return visitors


def counted(stage: Stage) -> dict[tuple[str, str], int]:
    return {labels: count for labels, count in stage.measures.access_checks.items() if count}


# What is asked.


def test_who_is_asked_once_as_a_stream_opens_with_the_persons_own_token(stage: Stage) -> None:
    live(stage, "ada", "bob", "ada")
    stage.wait(300)
    assert [each.token for each in stage.reviewer.of(WHO)] == [b"ada", b"bob", b"ada"]
    assert stage.measures.subject_reviews == {"resolved": 3, "refused": 0, "error": 0}


def test_whether_they_may_is_asked_of_the_whole_subject_and_the_scope_without_its_selector(
    stage: Stage,
) -> None:
    user_info = {
        "username": "ada",
        "uid": "7",
        "groups": ["editors", "ä"],
        "extra": {"example.com/k": ["v", "w"]},
    }
    stage.reviewer.answers[WHO] = said({"userInfo": user_info})
    stage.open(SELECTED)
    list_, watch = stage.reviewer.of(MAY)
    assert list_.token == watch.token == SHARED_TOKEN
    assert (list_.verb, watch.verb) == ("list", "watch")
    assert list_.document == {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SubjectAccessReview",
        "spec": {
            "resourceAttributes": {
                "namespace": "app",
                "verb": "list",
                "version": "v1",
                "resource": "configmaps",
                "name": "one",
            },
            "user": "ada",
            "uid": "7",
            "groups": ["editors", "ä"],
            "extra": {"example.com/k": ["v", "w"]},
        },
    }


def test_so_is_a_group_and_all_namespaces(stage: Stage) -> None:
    stage.shared.resources = frozenset(("notes.notes.example.com",))
    stage.open(NOTES)
    assert stage.reviewer.of(MAY)[0].document["spec"] == {
        "resourceAttributes": {
            "verb": "list",
            "group": "notes.example.com",
            "version": "v1alpha1",
            "resource": "notes",
        },
        "user": "ada",
    }


def test_nothing_is_served_nor_asked_for_before_they_may(stage: Stage) -> None:
    [first] = live(stage, "bob")
    stage.reviewer.held = True
    cold, warm = stage.open(CONFIGMAPS + b"&name=one"), stage.open()
    for _ in range(2):
        assert cold.types == warm.types == []
        assert len(stage.places) == 1
        stage.reviewer.release()
        stage.settle()
    assert len(stage.places) == 2
    assert warm.types == first.types == ["reset", "added", "synced"]


# Decisions.


@pytest.mark.parametrize("verb", ["list", "watch"])
def test_a_denial_is_that_streams_alone_with_the_api_servers_reason(
    stage: Stage, verb: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    [ada] = live(stage, "ada")
    create = stage.reviewer._answer

    def answer(path: str, document: dict[str, object], token: object) -> Answer:
        spec: object = document.get("spec")
        if isinstance(spec, dict) and spec["user"] == "bob" and spec["resourceAttributes"]["verb"] == verb:
            return said({"allowed": False, "reason": "no RBAC policy matched"})
        return create(path, document, token)  # type: ignore[arg-type]

    monkeypatch.setattr(stage.reviewer, "_answer", answer)
    bob = stage.open(who="bob")
    [event] = bob.events
    assert (event["code"], event["message"], event["terminal"]) == (
        "FORBIDDEN",
        "no RBAC policy matched",
        True,
    )
    assert bob.services.endings == [Complete(200)]
    stage.send(modified(config_map(version="11", data=b"{}")) + b"\n")
    assert ada.types[-1] == "modified"
    assert stage.clocked.ended[-1][1].code is Code.FORBIDDEN
    assert counted(stage) == {("api_server", "allowed"): 1, ("api_server", "denied"): 1}


@pytest.mark.parametrize(
    ("status", "message"),
    [
        ({"allowed": True, "denied": True, "reason": "a webhook denies it"}, "a webhook denies it"),
        ({"allowed": False, "denied": True}, "The API server does not let you list and watch this."),
        ({"allowed": False, "reason": ""}, "The API server does not let you list and watch this."),
        ({"allowed": False, "evaluationError": "role not found"}, "role not found"),
        ({"allowed": False, "reason": "x" * 5000}, "x" * 1024),
    ],
)
def test_denied_wins_over_allowed_and_what_is_no_allow_is_a_refusal(
    stage: Stage, status: dict[str, object], message: str
) -> None:
    stage.reviewer.answers[MAY] = said(status)
    visitor = stage.open()
    [event] = visitor.events
    assert (event["code"], event["message"]) == ("FORBIDDEN", message)
    assert stage.places == []
    stage.assert_nothing_is_left()


NO_ANSWERS: list[Answer | Failure] = [
    Failure.CONNECTION,
    Failure.TIMEOUT,
    said({"allowed": "yes"}),
    said({"allowed": True, "denied": "no"}),
    said({}),
    said(None),
    Answer(201, list(JSON), b"nonsense"),
    refused(404),
    refused(422),
    refused(429),
    refused(500),
    Answer(302, [(b"location", b"https://elsewhere.test/")]),
]


@pytest.mark.parametrize("answer", NO_ANSWERS, ids=str)
def test_a_review_without_an_answer_is_no_allow_and_is_never_used_again(
    stage: Stage, answer: Answer | Failure
) -> None:
    stage.reviewer.answers[MAY] = answer
    for asked in (2, 4):
        visitor = stage.open()
        assert visitor.types == ["UPSTREAM_UNAVAILABLE"]
        assert visitor.whole
        assert len(stage.reviewer.of(MAY)) == asked
    assert counted(stage) == {("api_server", "error"): 2}
    del stage.reviewer.answers[MAY]
    stage.open()
    assert len(stage.places) == 1


@pytest.mark.parametrize("answer", NO_ANSWERS, ids=str)
def test_nor_is_one_without_which_nobody_knows_who_they_are(stage: Stage, answer: Answer | Failure) -> None:
    stage.reviewer.answers[WHO] = answer
    visitor = stage.open()
    assert visitor.types == ["UPSTREAM_UNAVAILABLE"]
    assert stage.reviewer.of(MAY) == []
    assert stage.measures.subject_reviews == {"resolved": 0, "refused": 0, "error": 1}
    stage.assert_nothing_is_left()


def test_a_review_has_ten_seconds_for_both_its_halves(stage: Stage) -> None:
    stage.reviewer.held = True
    visitor = stage.open()
    stage.reviewer.release()
    stage.settle()
    stage.reviewer.release(1)
    stage.wait(9)
    assert visitor.types == []
    stage.wait(2)
    assert visitor.types == ["UPSTREAM_UNAVAILABLE"]
    assert stage.reviewer.cancelled == 1
    assert counted(stage) == {("api_server", "error"): 1}
    assert stage.measures.access_check_duration.sum == pytest.approx(10, abs=1.1)
    stage.assert_nothing_is_left()


def test_a_half_that_denies_wins_over_one_that_says_nothing(stage: Stage) -> None:
    stage.reviewer.denied["bob"] = "no RBAC policy matched"
    stage.reviewer.held = True
    bob = stage.open(who="bob")
    stage.reviewer.release()
    stage.settle()
    stage.reviewer.release(1)
    stage.wait(11)
    assert bob.types == ["FORBIDDEN"]
    assert stage.reviewer.cancelled == 1
    stage.assert_nothing_is_left()


@pytest.mark.parametrize(("code", "word", "counts"), [(401, "UNAUTHENTICATED", 1), (403, "FORBIDDEN", 1)])
def test_a_persons_token_that_is_refused_is_theirs(stage: Stage, code: int, word: str, counts: int) -> None:
    stage.reviewer.answers[WHO] = refused(code, "said of you")
    visitor = stage.open()
    [event] = visitor.events
    assert (event["code"], event["terminal"]) == (word, True)
    assert (event["message"] == "said of you") is (code == 403)
    assert stage.measures.subject_reviews["refused"] == counts
    stage.assert_nothing_is_left()


@pytest.mark.parametrize("code", [401, 403])
def test_foyers_own_identity_refused_is_internal_without_the_servers_words(stage: Stage, code: int) -> None:
    stage.reviewer.answers[MAY] = refused(code)
    visitor = stage.open()
    [event] = visitor.events
    assert (event["code"], event["terminal"]) == ("INTERNAL", True)
    assert "own words" not in event["message"]
    assert counted(stage) == {("api_server", "error"): 1}
    stage.assert_nothing_is_left()


def test_who_is_more_than_foyer_takes_is_nobody(stage: Stage) -> None:
    groups = [f"group-{number}" for number in range(10_000)]
    stage.reviewer.answers[WHO] = said({"userInfo": {"username": "ada", "groups": groups}})
    visitor = stage.open()
    assert visitor.types == ["INTERNAL"]
    stage.assert_nothing_is_left()


# Decisions that are used again.


def test_a_decision_is_used_again_for_its_ttl_from_when_it_was_asked_for(stage: Stage) -> None:
    live(stage, "ada")
    stage.open()
    stage.open(CONFIGMAPS + b"&labelSelector=a%3Db")
    assert len(stage.reviewer.of(MAY)) == 2
    assert counted(stage) == {("api_server", "allowed"): 1, ("cache", "allowed"): 2}
    stage.clocked.now += 9.9
    stage.open()
    assert len(stage.reviewer.of(MAY)) == 2
    stage.clocked.now += 0.2
    stage.open()
    assert len(stage.reviewer.of(MAY)) == 4


def test_that_its_answer_was_slow_makes_it_no_younger(stage: Stage) -> None:
    stage.reviewer.held = True
    ada = stage.open()
    stage.reviewer.release()
    stage.settle()
    stage.wait(6)
    stage.reviewer.held = False
    stage.reviewer.release()
    stage.settle()
    stage.wait(3.9)
    stage.open().browser.leave()
    assert len(stage.reviewer.of(MAY)) == 2
    stage.wait(0.2)
    stage.respond(SNAPSHOT)
    assert len(stage.reviewer.of(MAY)) == 4, "before the snapshot is served"
    assert ada.types == ["reset", "added", "synced"]


@pytest.mark.parametrize(
    "query",
    [
        b"version=v1&resource=configmaps",
        b"version=v1&resource=configmaps&namespace=other",
        b"version=v1&resource=configmaps&namespace=app&name=one",
        b"version=v1&resource=configmaps&namespace=app&target=prod",
        b"version=v1&resource=secrets&namespace=app",
        b"version=v2&resource=configmaps&namespace=app",
        b"version=v1&resource=notes&group=example.com&namespace=app",
    ],
)
def test_only_for_exactly_the_same_question(stage: Stage, query: bytes) -> None:
    stage.open()
    stage.open(query)
    assert len(stage.reviewer.of(MAY)) == 4


@pytest.mark.parametrize(
    "more", [{"uid": "8"}, {"groups": ["b"]}, {"extra": {"k": ["w"]}}, {"username": "b"}]
)
def test_and_of_exactly_the_same_subject(stage: Stage, more: dict[str, object]) -> None:
    whole = {"username": "a", "uid": "7", "groups": ["a"], "extra": {"k": ["v"]}}
    for user_info in (whole, whole | more, whole):
        stage.reviewer.answers[WHO] = said({"userInfo": user_info})
        stage.open()
    assert len(stage.reviewer.of(MAY)) == 4


def test_a_denial_is_used_again_as_well(stage: Stage) -> None:
    stage.reviewer.denied["ada"] = "no"
    assert [stage.open().types for _ in range(3)] == [["FORBIDDEN"]] * 3
    assert counted(stage) == {("api_server", "denied"): 1, ("cache", "denied"): 2}
    del stage.reviewer.denied["ada"]
    stage.clocked.now += 10
    stage.open()
    assert len(stage.places) == 1


def test_the_same_asked_at_once_waits_for_one_answer_which_the_first_ones_leaving_does_not_cancel(
    stage: Stage,
) -> None:
    stage.reviewer.held = True
    visitors = [stage.open() for _ in range(5)]
    stage.reviewer.release()
    stage.settle()
    assert len(stage.reviewer.of(MAY)) == 2
    visitors[0].browser.leave()
    stage.settle()
    assert stage.reviewer.cancelled == 0
    stage.reviewer.release()
    stage.settle()
    assert len(stage.places) == 1
    assert counted(stage) == {("api_server", "allowed"): 1, ("cache", "allowed"): 3}
    assert stage.measures.access_check_duration.count == 1


def test_a_question_that_nobody_waits_for_is_given_up(stage: Stage) -> None:
    stage.reviewer.held = True
    visitors = [stage.open() for _ in range(2)]
    stage.reviewer.release()
    stage.settle()
    for visitor in visitors:
        visitor.browser.leave()
    stage.settle()
    assert stage.reviewer.cancelled == 2
    stage.assert_nothing_is_left()
    stage.reviewer.held = False
    live(stage, "ada")


# Again and again.


def test_every_stream_is_asked_about_each_interval_and_those_with_one_question_together(
    stage: Stage,
) -> None:
    live(stage, *["ada"] * 9, *["bob"] * 9)
    assert len(stage.reviewer.of(MAY)) == 4
    stage.wait(30)
    stage.measures.access_checks = dict.fromkeys(stage.measures.access_checks, 0)
    for interval in range(1, 6):
        before = len(stage.reviewer.of(MAY))
        stage.wait(30)
        assert len(stage.reviewer.of(MAY)) - before in (4, 6)
        asked = stage.measures.access_checks["api_server", "allowed"]
        assert stage.measures.access_checks["cache", "allowed"] == 8 * asked
        assert asked >= 2 * interval


def test_people_who_come_together_are_not_asked_about_together(stage: Stage) -> None:
    live(stage, *[f"person-{number}" for number in range(200)])
    stage.wait(35)
    most = 0
    before = len(stage.reviewer.of(MAY))
    for _ in range(30):
        now = len(stage.reviewer.of(MAY))
        stage.wait(1)
        most = max(most, len(stage.reviewer.of(MAY)) - now)
    assert len(stage.reviewer.of(MAY)) - before in range(390, 425)
    assert most <= 2 * 200 / 30 * 2


def test_a_revoked_grant_ends_the_streams_that_are_open_by_it_and_no_others(stage: Stage) -> None:
    ada, also, bob = live(stage, "ada", "ada", "bob")
    stage.reviewer.denied["ada"] = "revoked"
    stage.wait(40)
    for visitor in (ada, also):
        assert visitor.events[-1]["code"] == "FORBIDDEN"
        assert visitor.events[-1]["message"] == "revoked"
        assert visitor.whole
    stage.send(modified(config_map(version="11", data=b"{}")) + b"\n")
    assert bob.types[-1] == "modified"
    bob.browser.leave()
    stage.assert_nothing_is_left()


@pytest.mark.parametrize("offset", range(0, 40, 3))
def test_it_takes_no_longer_than_the_interval_the_ttl_and_a_check(stage: Stage, offset: int) -> None:
    """Revoked at any time, with streams that come and go and keep decisions warm."""
    [ada] = live(stage, "ada")
    for second in range(offset):
        stage.wait(1)
        if second % 4 == 0:
            stage.open().browser.leave()
    stage.reviewer.denied["ada"] = "revoked"
    for second in range(30 + 10 + 1):
        stage.wait(1)
        if second % 4 == 0:
            stage.open().browser.leave()
    assert ada.types[-1] == "FORBIDDEN"


def test_what_waits_for_a_slow_browser_is_not_shown_behind_a_denial(stage: Stage) -> None:
    [ada] = live(stage, "ada")
    ada.fast = False
    ada.stream.write(b": ", b"x" * (HIGH_WATER + 1) + b"\n\n")
    stage.reviewer.denied["ada"] = "revoked"
    stage.send(modified(config_map(version="11", data=b'{"secret":"1"}')) + b"\n")
    stage.wait(41)
    ada.browser.take(1 << 40)
    assert b'"FORBIDDEN"' in ada.browser.taken
    assert b'"secret"' not in ada.browser.taken
    assert ada.whole
    stage.assert_nothing_is_left()


@pytest.mark.parametrize("answer", [Failure.TIMEOUT, refused(500)], ids=str)
def test_an_open_stream_ends_as_well_without_an_answer(stage: Stage, answer: Answer | Failure) -> None:
    [ada] = live(stage, "ada")
    stage.reviewer.answers[MAY] = answer
    stage.wait(40)
    assert ada.types[-1] == "UPSTREAM_UNAVAILABLE"
    assert ada.whole
    stage.assert_nothing_is_left()


def test_an_answer_that_is_long_in_coming_is_not_asked_for_twice(stage: Stage) -> None:
    stage = Stage(recheck=1.0, ttl=1.0)
    live(stage, "ada")
    stage.reviewer.held = True
    stage.wait(5)
    asked = len(stage.reviewer.of(MAY))
    stage.wait(4)
    assert len(stage.reviewer.of(MAY)) == asked
    stage.close()


# Before each snapshot.


def test_a_denial_that_is_known_already_ends_them_at_their_turn_and_leaves_none(stage: Stage) -> None:
    [ada] = live(stage, "ada")
    stage.wait(15)
    stage.reviewer.denied["ada"] = "revoked"
    assert stage.open().types == ["FORBIDDEN"]
    assert ada.types[-1] == "synced"
    stage.wait(5)
    assert ada.types[-1] == "FORBIDDEN"
    assert len(stage.reviewer.of(MAY)) == 4
    stage.assert_nothing_is_left()


def test_who_leaves_while_asked_about_again_takes_the_question_along(stage: Stage) -> None:
    [ada] = live(stage, "ada")
    stage.reviewer.held = True
    stage.wait(20)  # the first time is within the interval
    assert len(stage.reviewer.of(MAY)) == 4
    ada.browser.leave()
    stage.settle()
    assert stage.reviewer.cancelled == 2
    assert counted(stage) == {("api_server", "allowed"): 1}
    stage.assert_nothing_is_left()


def test_every_new_snapshot_is_asked_about_before_it_is_served(stage: Stage) -> None:
    ada, bob = live(stage, "ada", "bob")
    stage.wait(12)
    stage.reviewer.asked.clear()
    stage.reviewer.held = True
    stage.send(error(410) + b"\n")
    stage.respond(SNAPSHOT)
    assert (ada.types[-1], bob.types[-1]) == ("RESYNC_REQUIRED", "RESYNC_REQUIRED")
    assert {each.document["spec"]["user"] for each in stage.reviewer.of(MAY)} == {"ada", "bob"}
    stage.reviewer.denied["bob"] = "revoked"
    stage.reviewer.release()
    stage.settle()
    assert ada.types[-3:] == ["reset", "added", "synced"]
    assert bob.types[-2:] == ["RESYNC_REQUIRED", "FORBIDDEN"]


def test_what_was_decided_within_the_ttl_holds_for_it(stage: Stage) -> None:
    [ada] = live(stage, "ada")
    stage.wait(5)
    asked, counts = len(stage.reviewer.of(MAY)), counted(stage)
    stage.send(error(410) + b"\n")
    stage.respond(SNAPSHOT)
    assert ada.types[-3:] == ["reset", "added", "synced"]
    assert len(stage.reviewer.of(MAY)) == asked
    assert counted(stage) == counts


def test_so_is_a_snapshot_that_was_long_in_coming(stage: Stage) -> None:
    ada = stage.open()
    stage.respond()
    stage.wait(12)
    stage.reviewer.denied["ada"] = "revoked"
    stage.send(SNAPSHOT)
    assert ada.types == ["FORBIDDEN"]


def test_and_the_one_behind_an_overflow(stage: Stage) -> None:
    ada, _ = live(stage, "ada", "bob")
    stage.wait(12)
    ada.fast = False
    ada.stream.write(b": ", b"x" * (HIGH_WATER + 1) + b"\n\n")
    versions = range(11, 11 + 300)
    stage.send(
        *[modified(config_map(version=str(each), data=b'{"n":%d}' % each)) + b"\n" for each in versions]
    )
    stage.reviewer.denied["ada"] = "revoked"
    ada.browser.take(1 << 40)
    ada.fast = True
    stage.settle()
    content = bytes(ada.browser.taken)
    assert content.count(b"RESYNC_REQUIRED") == content.count(b"FORBIDDEN") == 1
    assert b'"n":' not in content
    assert stage.measures.shared_overflows == 1


def test_answers_slower_than_their_ttl_serve_all_the_same(stage: Stage) -> None:
    stage = Stage(recheck=2.0, ttl=0.5)
    stage.reviewer.held = True
    ada = stage.open()
    for _ in range(3):
        stage.reviewer.release()
        stage.settle()
        stage.wait(1)
    stage.respond(SNAPSHOT)
    assert ada.subscriber.state is State.ASKING
    stage.wait(1)
    stage.reviewer.release()
    stage.settle()
    assert ada.types == ["reset", "added", "synced"]
    stage.close()


def test_a_watch_that_ends_while_it_is_asked_ends_the_stream_too(stage: Stage) -> None:
    ada, _ = live(stage, "ada", "bob")
    stage.wait(12)
    stage.reviewer.held = True
    stage.send(error(410) + b"\n")
    stage.respond(SNAPSHOT)
    assert ada.subscriber.state is State.ASKING
    stage.send(error(500) + b"\n")
    stage.reviewer.release()
    stage.settle()
    assert ada.types[-2:] == ["RESYNC_REQUIRED", "UPSTREAM_UNAVAILABLE"]
    assert ada.whole
    stage.assert_nothing_is_left()


# Bounds.


def test_what_is_kept_of_decisions_has_a_bound(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("foyer.streams.access.MAX_DECISIONS", 5)
    for number in range(20):
        stage.reviewer.denied[f"person-{number}"] = "no"
        stage.open(who=f"person-{number}")
    assert len(stage.access) == 5
    stage.open(who="person-19")
    assert len(stage.reviewer.of(MAY)) == 40
    stage.clocked.now += 10
    stage.open(who="person-0")
    assert len(stage.access) == 1, "what is too old goes with the next that comes"


def test_no_persons_token_is_kept_while_a_stream_is_open(stage: Stage) -> None:
    token = IdToken(b"a token")
    visitor = Visitor(stage, CONFIGMAPS, token)
    stage.visitors.append(visitor)
    stage.settle()
    stage.respond(SNAPSHOT)
    assert visitor.types[-1] == "synced"
    stage.reviewer.asked.clear()
    gc.collect()
    holders = [each for each in gc.get_referrers(token) if each is not sys._getframe()]
    assert holders == []
