"""The account finds what it is there for: each of these is a smuggled request, or the trace of one."""

import os

import pytest

from foyer.session.keys import Keyring
from tests.smuggling.account import Account, Logged
from tests.smuggling.person import Person, newcomer
from tests.smuggling.recorder import Recorder
from tests.smuggling.streams import HONEST, PSEUDO, Stream
from tests.smuggling.tricks import CHUNKED, ENDED_EARLY, LENGTH, Trick
from tests.smuggling.visits import Answer, Visit


@pytest.fixture
def person() -> Person:
    return newcomer(Keyring([os.urandom(32)]))


def went_up(
    recorder: Recorder, person: Person, name: str, method: bytes = b"GET", content: bytes = b""
) -> Answer:
    """The request of this name was recorded: the answer to it."""
    fields = [(b"authorization", b"Bearer " + person.token)]
    target = b"/api/v1/%b/%b" % (person.marker, name.encode())
    request = recorder.record(method, target, fields, content)
    return Answer(200, request.serial, request.echo)


def findings(recorder: Recorder, *visits: Visit) -> list[str]:
    return list(Account(list(visits), recorder, direct=True).findings())


def test_an_honest_visit_adds_up(person: Person) -> None:
    recorder = Recorder("h1")
    answers = [went_up(recorder, person, "first", b"POST", b"{}"), went_up(recorder, person, "glued")]
    assert findings(recorder, Visit("", person, Trick().written(person), answers=[*answers])) == []


def test_a_request_that_nobody_was_answered_is_found(person: Person) -> None:
    recorder = Recorder("h1")
    answers = [went_up(recorder, person, "first", b"POST", b"{}")]
    went_up(recorder, person, "hidden")
    (*_, found) = findings(recorder, Visit("", person, Trick().written(person), answers=[*answers]))
    assert "hidden" in found


def test_a_request_within_another_s_content_is_found(person: Person) -> None:
    recorder = Recorder("h1")
    sent = Trick(CHUNKED + LENGTH, ENDED_EARLY).written(person)
    answers = [went_up(recorder, person, "first", b"POST"), went_up(recorder, person, "hidden")]
    assert any(
        "cannot be read" in found for found in findings(recorder, Visit("", person, sent, answers=[*answers]))
    )


def test_other_content_than_was_sent_is_found(person: Person) -> None:
    recorder = Recorder("h1")
    answers = [went_up(recorder, person, "first", b"POST", b"{"), went_up(recorder, person, "glued")]
    visit = Visit("", person, Trick().written(person), answers=[*answers])
    assert any("went up as" in found for found in findings(recorder, visit))


def test_an_answer_to_somebody_else_is_found(person: Person) -> None:
    recorder, other = Recorder("h1"), newcomer(Keyring([os.urandom(32)]))
    answers = [
        went_up(recorder, other, "first", b"POST", b"{}"),
        went_up(recorder, person, "first", b"POST", b"{}"),
    ]
    visits = [
        Visit("", one, Trick(behind=b"").written(one), answers=[answer])
        for one, answer in zip((person, other), answers, strict=True)
    ]
    assert any("somebody else's request" in found for found in findings(recorder, *visits))


def test_a_request_in_another_s_name_is_found(person: Person) -> None:
    recorder, other = Recorder("h1"), newcomer(Keyring([os.urandom(32)]))
    fields = [(b"authorization", b"Bearer " + person.token)]
    recorder.record(b"GET", b"/api/v1/%b/hidden" % other.marker, fields, b"")
    assert any("in this person's name" in found for found in findings(recorder, Visit("", person, b"")))


def test_a_request_of_nobody_s_is_found(person: Person) -> None:
    recorder = Recorder("h1")
    recorder.record(b"GET", b"/api", [], b"")
    assert "nobody's request" in findings(recorder, Visit("", person, b""))[0]


def test_bytes_that_cannot_be_read_and_uploads_that_were_cut_are_found(person: Person) -> None:
    recorder = Recorder("h1")
    recorder.malformed.append(b"GET /\n")
    recorder.unfinished.append(b"POST / HTTP/1.1\r\nAuthorization: Bearer " + person.token + b"\r\n\r\n")
    found = findings(recorder, Visit("", person, Trick(behind=b"").written(person)))
    assert ["could not read" in found[0], "cut upstream" in found[1]] == [True, True]


def test_a_malformed_stream_that_went_up_is_found(person: Person) -> None:
    recorder = Recorder("h2")
    sent = Stream((*PSEUDO, (b"x-a", b"b\r\nc: d"))).sent(person), HONEST.sent(person)
    answers = [went_up(recorder, person, "first", b"POST", b"{}"), went_up(recorder, person, "glued")]
    assert "malformed" in findings(recorder, Visit("", person, sent, answers=[*answers]))[0]


def test_a_field_that_never_goes_up_is_found(person: Person) -> None:
    recorder = Recorder("h1")
    fields = [(b"authorization", b"Bearer " + person.token), (b"impersonate_user", b"root")]
    recorder.record(b"GET", b"/api", fields, b"")
    assert "impersonate_user" in findings(recorder, Visit("", person, b""))[0]


def test_a_proxy_that_read_another_request_is_found(person: Person) -> None:
    recorder = Recorder("h1")
    answers = [went_up(recorder, person, "first", b"POST", b"{}")]
    account = Account(
        [Visit("", person, Trick(behind=b"").written(person), answers=[*answers])], recorder, direct=True
    )
    target = recorder.requests[0].target
    honest = Logged(b"POST", target, 200, 0)
    assert list(account.of_log([honest], before_foyer=False)) == []
    assert list(account.of_log([Logged(b"POST", b"/k8s" + target, 200, 0)], before_foyer=True)) == []
    for log in (
        [Logged(b"GET", target, 200, 0)],
        [],
        [honest, honest],
        [honest, Logged(b"GET", target, 400, None)],
    ):
        assert list(account.of_log(log, before_foyer=False)) != [], log
