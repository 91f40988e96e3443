"""Log lines: one JSON object a line, from fixed words, that never hold up the service."""

import json
import os
import threading
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foyer.exchange.endings import Cause
from foyer.interruption import Interruption, Reason, not_admitted, overloaded, user_rate_exceeded
from foyer.login.refusal import LoginReason, RefusedLogin
from foyer.observe import MAX_PATH, MAX_PERSON, Asked, LineWriter, Log
from foyer.protocol.events import Failure

NOON = 1_790_000_000.0  # 2026-09-21T14:13:20Z


@dataclass(frozen=True)
class SignedIn:
    email: str | None = "alice@example.com"
    subject: str = "subject-1"


class Lines:
    """Where a log under test writes: it takes lines until it is told to be full."""

    def __init__(self) -> None:
        self.raw: list[bytes] = []
        self.full = False
        self.now = NOON
        self.log = Log(self.write, clock=lambda: self.now)

    def write(self, line: bytes) -> bool:
        if not self.full:
            self.raw.append(line)
        return not self.full

    @property
    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.raw]

    @property
    def only(self) -> dict[str, Any]:
        (line,) = self.lines
        return line


@pytest.fixture
def out() -> Lines:
    return Lines()


ASKED = Asked(route="k8s", method=b"GET", path=b"/k8s/api/v1/pods", person=SignedIn())


def test_a_line_is_one_json_object_with_time_level_and_msg_first(out: Lines) -> None:
    out.log.info("ready", n=1)
    assert out.raw == [b'{"time":"2026-09-21T14:13:20.000Z","level":"info","msg":"ready","n":1}\n']


@pytest.mark.parametrize("level", ["info", "warn", "error"])
def test_each_level_names_itself(out: Lines, level: str) -> None:
    getattr(out.log, level)("x")
    assert out.only["level"] == level


def test_time_moves_by_milliseconds_and_over_seconds(out: Lines) -> None:
    for now in (NOON + 0.25, NOON + 0.999, NOON + 1):
        out.now = now
        out.log.ready()
    assert [line["time"][-10:] for line in out.lines] == ["13:20.250Z", "13:20.999Z", "13:21.000Z"]


def test_an_interruption_below_500_is_a_refusal_by_foyer(out: Lines) -> None:
    out.log.interrupted(Interruption(Reason.CSRF_PROOF_REQUIRED, "…"), ASKED)
    line = out.only
    del line["time"]
    assert line == {
        "level": "info",
        "msg": "refused",
        "by": "foyer",
        "user": "alice@example.com",
        "route": "k8s",
        "method": "GET",
        "path": "/k8s/api/v1/pods",
        "reason": "CSRFProofRequired",
    }


@pytest.mark.parametrize("reason", Reason)
def test_every_interruption_is_one_line_of_one_of_two_kinds(out: Lines, reason: Reason) -> None:
    out.log.interrupted(Interruption(reason, "a sentence for people"), ASKED)
    assert out.only["msg"] == ("refused" if reason.status < 500 else "interruption")
    assert out.only["reason"] == reason.word
    assert b"a sentence" not in out.raw[0]


@pytest.mark.parametrize(
    ("interruption", "reason", "limit"),
    [
        (overloaded(512, 1), "Overloaded", "concurrency"),
        (user_rate_exceeded(10, 2), "UserRateExceeded", "caller-rate"),
        (not_admitted("concurrency", 1), "AdmissionTimedOut", "concurrency"),
        (not_admitted("memory", 1), "AdmissionTimedOut", "memory"),
    ],
)
def test_a_load_that_is_turned_away_is_a_warning_with_its_limit_and_nothing_of_the_request(
    out: Lines, interruption: Interruption, reason: str, limit: str
) -> None:
    out.log.interrupted(interruption, ASKED)
    line = out.only
    del line["time"]
    assert line == {"level": "warn", "msg": "limit reached", "reason": reason, "limit": limit}


def test_an_interruption_from_500_names_the_kind_of_failure(out: Lines) -> None:
    out.log.interrupted(Interruption(Reason.UPSTREAM_UNAVAILABLE, "…", failure="connection"), ASKED)
    assert (out.only["level"], out.only["status"], out.only["failure"]) == ("warn", 502, "connection")


@pytest.mark.parametrize(
    ("status", "reason"), [(401, "Unauthorized"), (403, "Forbidden"), (409, "Conflict"), (422, "Invalid")]
)
def test_these_answers_of_the_api_server_are_refusals_by_kubernetes(
    out: Lines, status: int, reason: str
) -> None:
    out.log.answered(status, ASKED)
    assert (out.only["msg"], out.only["by"], out.only["reason"]) == ("refused", "kubernetes", reason)


@pytest.mark.parametrize("status", [200, 201, 204, 304, 400, 404, 410, 429, 500, 503])
def test_no_other_answer_of_the_api_server_is_a_line(out: Lines, status: int) -> None:
    out.log.answered(status, ASKED)
    assert out.raw == []


def test_a_cut_response_names_its_cause(out: Lines) -> None:
    out.log.response_cut_short(Cause.SESSION_ENDED.label, ASKED)
    assert (out.only["msg"], out.only["cause"]) == ("response cut short", "session_ended")
    assert "failure" not in out.only


def test_a_response_cut_short_by_upstream_names_the_kind_of_failure(out: Lines) -> None:
    out.log.response_cut_short(Cause.UPSTREAM.label, ASKED, Failure.RESET.value)
    assert (out.only["cause"], out.only["failure"]) == ("upstream", "reset")


def test_the_user_is_the_subject_where_the_issuer_gave_no_email(out: Lines) -> None:
    for email in (None, ""):
        out.log.refused("foyer", Asked("k8s", b"GET", b"/", SignedIn(email=email)), "NotFound")
    assert [line["user"] for line in out.lines] == ["subject-1", "subject-1"]


def test_nobody_signed_in_is_null(out: Lines) -> None:
    out.log.refused("foyer", Asked("k8s", b"GET", b"/"), "Unauthorized")
    assert out.only["user"] is None


def test_a_query_never_reaches_the_log(out: Lines) -> None:
    out.log.refused("foyer", Asked("callback", b"GET", b"/auth/callback?code=s3cret&state=x"), "NotFound")
    assert out.only["path"] == "/auth/callback"


def test_what_a_browser_or_issuer_wrote_is_bounded(out: Lines) -> None:
    long = Asked("k8s", b"M" * 9000, b"/" * 65_000, SignedIn(email="e" * 9000))
    out.log.refused("foyer", long, "NotFound")
    assert out.only["path"] == "/" * MAX_PATH + "..."
    assert out.only["user"] == "e" * MAX_PERSON + "..."
    assert len(out.raw[0]) < 2000


@given(method=st.binary(), path=st.binary(), email=st.text(st.characters(), min_size=1, max_size=MAX_PERSON))
def test_any_bytes_make_one_line_of_printable_ascii(method: bytes, path: bytes, email: str) -> None:
    out = Lines()
    out.log.refused("foyer", Asked("k8s", method, path, SignedIn(email=email)), "NotFound")
    (raw,) = out.raw
    assert raw.endswith(b"\n")
    assert all(0x20 <= byte < 0x7F for byte in raw[:-1])
    assert out.only["user"] == email


def test_a_refused_login_is_its_reason_and_nothing_the_issuer_wrote(out: Lines) -> None:
    out.log.login_refused(RefusedLogin(LoginReason.STATE_MISMATCH, "a sentence"))
    line = out.only
    del line["time"]
    assert line == {"level": "info", "msg": "login refused", "reason": "state-mismatch", "status": 400}


def test_a_login_that_the_issuer_failed_names_status_code_and_cause(out: Lines) -> None:
    out.log.login_refused(
        RefusedLogin(LoginReason.TOKEN_EXCHANGE_FAILED, "…", code="invalid_grant", issuer_status=400)
    )
    out.log.login_refused(RefusedLogin(LoginReason.ID_TOKEN_INVALID, "…", cause="expired"))
    exchange, token = out.lines
    assert (exchange["level"], exchange["code"], exchange["issuer_status"]) == ("warn", "invalid_grant", 400)
    assert token["cause"] == "expired"


def test_a_fault_is_its_type_and_place_and_never_its_message(out: Lines) -> None:
    try:
        raise KeyError("s3cret")
    except KeyError as error:
        out.log.fault(error)
    out.log.fault(KeyError("s3cret"))
    raised, never_raised = out.lines
    assert (raised["level"], raised["error"]) == ("error", "KeyError")
    assert raised["at"].startswith("test_observe.py:")
    assert never_raised["at"] == "unknown"
    assert b"s3cret" not in b"".join(out.raw)


def test_the_life_of_a_process_reads_as_a_list_of_lines(out: Lines) -> None:
    out.log.listening("127.0.0.1:8443", tls=True)
    out.log.issuer_unavailable("https://issuer.test", "connection", None, 1.0)
    out.log.ready()
    out.log.certificate_reloaded()
    out.log.certificate_refused("cannot be read")
    out.log.keys_reloaded()
    out.log.keys_refused("line 2 is not 32 bytes")
    out.log.draining(3)
    out.log.stopped()
    assert [(line["level"], line["msg"]) for line in out.lines] == [
        ("info", "listening"),
        ("warn", "issuer unavailable"),
        ("info", "ready"),
        ("info", "certificate reloaded"),
        ("error", "certificate refused"),
        ("info", "session keys reloaded"),
        ("error", "session keys refused"),
        ("info", "draining"),
        ("info", "stopped"),
    ]
    assert out.lines[0]["address"] == "127.0.0.1:8443"


def test_an_issuer_that_is_not_there_is_named_with_what_to_look_at(out: Lines) -> None:
    out.log.issuer_unavailable("https://issuer.test", "tls", "look there", 2.0)
    out.log.issuer_unavailable("https://issuer.test", "reset", None, 2.0)
    hinted, bare = out.lines
    assert (hinted["issuer"], hinted["failure"], hinted["hint"]) == (
        "https://issuer.test",
        "tls",
        "look there",
    )
    assert "hint" not in bare


def test_nobody_to_sign_in_is_a_warning_at_start_and_one_line_of_a_reload(out: Lines) -> None:
    out.log.nobody_can_sign_in("-public-url, -oidc-issuer")
    out.log.sign_in_needs_restart()
    start, reload = out.lines
    assert (start["level"], start["msg"]) == ("warn", "nobody can sign in")
    assert (reload["level"], reload["msg"]) == ("warn", "restart needed")


def test_a_reload_is_a_line_and_one_for_each_flag_that_waits(out: Lines) -> None:
    out.log.configuration_refused("-listen", "should be an address", "FOYER_LISTEN")
    out.log.configuration_refused("-listen", "given twice", None)
    out.log.restart_needed("-listen")
    out.log.configuration_reloaded()
    refused, twice, waits, reloaded = out.lines
    assert (refused["level"], refused["msg"]) == ("error", "configuration refused")
    assert (refused["flag"], refused["reason"]) == ("-listen", "should be an address")
    assert refused["source"] == "FOYER_LISTEN"
    assert "source" not in twice
    assert (waits["level"], waits["msg"], waits["flag"]) == ("warn", "restart needed", "-listen")
    assert (reloaded["level"], reloaded["msg"]) == ("info", "configuration reloaded")


def test_what_is_read_again_is_said_by_its_kind(out: Lines) -> None:
    out.log.client_secret_reloaded()
    out.log.client_secret_refused("is empty")
    out.log.roots_reloaded("-oidc-ca-file")
    out.log.roots_refused("-kubernetes-ca-file", "is empty")
    assert [(line["level"], line["msg"], line.get("flag"), line.get("reason")) for line in out.lines] == [
        ("info", "client secret reloaded", None, None),
        ("error", "client secret refused", None, "is empty"),
        ("info", "roots reloaded", "-oidc-ca-file", None),
        ("error", "roots refused", "-kubernetes-ca-file", "is empty"),
    ]


def test_lost_lines_are_counted_in_the_first_one_taken_again(out: Lines) -> None:
    out.log.ready()
    out.full = True
    for _ in range(3):
        out.log.ready()
    out.full = False
    out.log.stopped()
    out.log.stopped()
    assert [line["msg"] for line in out.lines] == ["ready", "log lines lost", "stopped", "stopped"]
    assert out.lines[1]["lines"] == 3


def read_all(descriptor: int) -> bytes:
    with open(descriptor, "rb") as file:
        return file.read()


def test_lines_come_out_whole_and_in_order() -> None:
    reading, writing = os.pipe()
    received: list[bytes] = []
    reader = threading.Thread(target=lambda: received.append(read_all(reading)))
    reader.start()
    writer = LineWriter(writing)
    lines = [b"%d " % i + b"x" * 500 + b"\n" for i in range(2000)]  # 1 MB, where a pipe holds 64 KiB
    taken = [writer(line) for line in lines]
    writer.close(timeout=60)
    os.close(writing)
    reader.join()
    assert all(taken)
    assert received == [b"".join(lines)]


def test_a_reader_that_stopped_costs_lines_and_never_a_wait() -> None:
    reading, writing = os.pipe()
    writer = LineWriter(writing, capacity=10)
    line = b"x" * 65_535 + b"\n"
    # The pipe takes one whole line, the thread waits with a second: never more than twelve get in.
    taken = sum(writer(line) for _ in range(100))
    assert 10 <= taken <= 12
    received: list[bytes] = []
    reader = threading.Thread(target=lambda: received.append(read_all(reading)))
    reader.start()
    writer.close(timeout=60)
    os.close(writing)
    reader.join()
    assert received == [line * taken]


def test_lines_that_come_while_one_is_written_leave_together_and_in_order() -> None:
    reading, writing = os.pipe2(os.O_DIRECT)  # a read brings one write, and no more of it than a page
    writer = LineWriter(writing)
    for number in range(1000):
        assert writer(b"%d\n" % number)
    writer.close(timeout=60)
    os.close(writing)
    pieces: list[bytes] = []
    while piece := os.read(reading, 65_536):
        pieces.append(piece)
    os.close(reading)
    assert b"".join(pieces) == b"".join(b"%d\n" % number for number in range(1000))
    assert len(pieces) < 1000


def test_a_reader_that_went_away_is_nobodys_trouble() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    writer = LineWriter(writing)
    assert writer(b"a\n")
    assert writer(b"b\n")
    writer.close(timeout=60)
    os.close(writing)


def test_closing_gives_up_on_a_blocked_stderr() -> None:
    reading, writing = os.pipe()
    writer = LineWriter(writing)
    writer(b"x" * 1_000_000)
    writer.close(timeout=0.01)  # returns, or the test never ends
    os.close(reading)  # frees the thread, with EPIPE
    writer.close(timeout=60)
    os.close(writing)
