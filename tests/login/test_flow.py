"""Signing in: a browser, foyer and an issuer, from the link to the cookie."""

import asyncio
import base64
import hashlib
import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foyer.exchange.ports import Answer, Failure, FetchFailed
from foyer.login.claims import SessionClaims, pointer
from foyer.login.flow import CodeReceived, LoginSettings
from foyer.login.progress import cookie_name
from foyer.login.refusal import LoginReason
from foyer.protocol.events import RequestHead
from foyer.session import live
from foyer.session.seal import COOKIE, MAX_VALUE_BYTES, Session, open_session
from tests.login.issuers import (
    CLIENT_ID,
    ISSUER,
    KEYRING,
    ORIGIN,
    Browser,
    World,
    as_json,
    finished,
    reason,
    refusal,
    signed_in,
)

LOGIN_COOKIE = "__Host-krm-foyer-login-"


def session_of(browser: Browser) -> Session:
    session = open_session(browser.jar[COOKIE].encode(), KEYRING)
    assert session is not None
    return session


def fields_of(answer: Answer, name: bytes) -> list[str]:
    return [value.decode() for key, value in answer.fields if key == name]


# Starting


def test_the_issuer_is_asked_for_a_code_with_pkce_state_and_nonce() -> None:
    started = World().discover().browser().start()
    assert started.location.startswith(ISSUER + "/auth?")
    assert (
        started.query.items()
        >= {
            "response_type": "code",
            "client_id": CLIENT_ID,
            "redirect_uri": ORIGIN + "/auth/callback",
            "scope": "openid email profile",
            "code_challenge_method": "S256",
        }.items()
    )
    assert all(len(started.query[name]) == 43 for name in ("state", "nonce", "code_challenge"))


def test_the_verifier_of_the_token_request_is_the_one_challenged() -> None:
    world = World().discover()
    browser = world.browser()
    started = browser.start()
    signed_in(browser.finish(started))
    _, form = world.provider.token_requests[0]
    digest = hashlib.sha256(form["code_verifier"][0].encode()).digest()
    assert base64.urlsafe_b64encode(digest).rstrip(b"=").decode() == started.query["code_challenge"]
    assert form["code"] == ["the code"]
    assert form["redirect_uri"] == [ORIGIN + "/auth/callback"]


def test_an_endpoint_with_a_query_of_its_own_keeps_it() -> None:
    world = World()
    world.provider.document["authorization_endpoint"] = ISSUER + "/auth?tenant=a"
    assert (
        world.discover().browser().start().location.startswith(ISSUER + "/auth?tenant=a&response_type=code&")
    )


def test_no_login_shares_anything_with_another() -> None:
    browser = World().discover().browser()
    one, other = browser.start(), browser.start()
    for name in ("state", "nonce", "code_challenge"):
        assert one.query[name] != other.query[name]


def test_before_discovery_a_login_is_unavailable_and_sets_nothing() -> None:
    world = World()
    refused = refusal(world.login.start(RequestHead(b"GET", b"/auth/login?return_to=/a", []), world.clock()))
    assert refused.reason is LoginReason.ISSUER_UNAVAILABLE
    assert refused.retry == "/auth/login?return_to=/a"


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("return_to=//e", LoginReason.RETURN_PATH_NOT_LOCAL),
        ("return_to=/a&return_to=/a", LoginReason.RETURN_PATH_NOT_LOCAL),
        ("return_to=/a&return%5Fto=/b", LoginReason.RETURN_PATH_NOT_LOCAL),
        ("return_to", LoginReason.RETURN_PATH_NOT_LOCAL),
        ("return_to=", LoginReason.RETURN_PATH_NOT_LOCAL),
        ("oidc.connector_id=ldap", LoginReason.LOGIN_PARAMETER_REFUSED),
        ("oidc%2Eprompt=none", LoginReason.LOGIN_PARAMETER_REFUSED),
        ("oidc.", LoginReason.LOGIN_PARAMETER_REFUSED),
        ("a=%zz", LoginReason.LOGIN_PARAMETER_REFUSED),
        ("return_to=/%2", LoginReason.LOGIN_PARAMETER_REFUSED),
    ],
)
def test_a_bad_link_is_refused_before_the_issuer_is_asked(query: str, expected: LoginReason) -> None:
    world = World()  # not even discovered: which is not what it is refused for
    assert (
        reason(world.login.start(RequestHead(b"GET", f"/auth/login?{query}".encode(), []), 0.0)) is expected
    )
    assert world.provider.asked == []


@pytest.mark.parametrize("other", ["utm_source=x", "oidc=1", "state=mine", "redirect_uri=https://e/"])
def test_parameters_that_mean_nothing_here_change_nothing(other: str) -> None:
    world = World().discover()
    answer = world.login.start(RequestHead(b"GET", f"/auth/login?{other}".encode(), []), world.clock())
    assert isinstance(answer, Answer)
    assert other.partition("=")[2] not in fields_of(answer, b"location")[0].split("&")


def test_a_login_cookie_is_for_ten_minutes_of_this_host_alone() -> None:
    world = World().discover()
    answer = world.login.start(RequestHead(b"GET", b"/auth/login", []), world.clock())
    assert isinstance(answer, Answer)
    (cookie,) = fields_of(answer, b"set-cookie")
    assert re.fullmatch(
        LOGIN_COOKIE + r"[\w-]{22}=[\w-]+; Path=/; Max-Age=600; Secure; HttpOnly; SameSite=Lax", cookie
    )


# Finishing


def test_a_login_ends_at_its_return_path_with_a_session() -> None:
    world = World().discover()
    browser = world.browser()
    result = signed_in(browser.finish(browser.start("/a?next=https://e/#b")))
    assert result.answer.status == 303
    assert fields_of(result.answer, b"location") == [ORIGIN + "/a?next=https://e/#b"]
    session = session_of(browser)
    assert session == result.session
    assert (session.issuer, session.subject, session.email) == (ISSUER, "alice", "alice@example.test")
    assert (session.display_name, session.groups, session.connector) == ("Alice", ("demo-editors",), None)
    assert session.id_token.count(b".") == 2
    assert (session.issued_at, session.ends_at) == (1_800_000_000, 1_800_028_800)
    assert list(browser.jar) == [COOKIE]
    assert result.previous is None


PATH = st.text(st.characters(min_codepoint=0x21, max_codepoint=0x7E, exclude_characters="\\"), max_size=2047)


@given(PATH.map(lambda rest: "/" + rest.lstrip("/")))
def test_every_local_path_is_gone_to_byte_for_byte(path: str) -> None:
    browser = DISCOVERED.browser()
    result = signed_in(browser.finish(browser.start(path)))
    assert fields_of(result.answer, b"location") == [ORIGIN + path]


DISCOVERED = World().discover()


def test_the_longest_return_path_fits_into_a_cookie_that_browsers_keep() -> None:
    browser = World().discover().browser()
    started = browser.start("/" + '"' * 2047)
    ((name, value),) = browser.jar.items()
    assert len(name) + len(value) < 3100
    signed_in(browser.finish(started))


@pytest.mark.parametrize(("lifetime", "lasts"), [(86_400, 28_800), (28_800, 28_800), (60, 60), (1, 1)])
def test_a_session_ends_with_the_timeout_or_the_token_whichever_is_first(lifetime: int, lasts: int) -> None:
    world = World().discover()
    world.provider.claims = {"exp": int(world.clock()) + lifetime + 0.75}
    browser = world.browser()
    result = signed_in(browser.finish(browser.start()))
    session = result.session
    assert session.ends_at - session.issued_at == lasts
    set_cookie = fields_of(result.answer, b"set-cookie")[0]
    assert set_cookie.endswith(f"; Path=/; Max-Age={lasts}; Secure; HttpOnly; SameSite=Lax")
    assert live.is_live(session, world.clock(), world.settings.absolute_timeout)


def test_a_session_begins_when_the_token_has_come_not_when_the_callback_did() -> None:
    world = World().discover()
    world.provider.answer_takes = 7
    browser = world.browser()
    assert signed_in(browser.finish(browser.start())).session.issued_at == 1_800_000_007


def test_a_new_login_is_a_new_session_and_tells_the_old_one_to_end() -> None:
    browser = World().discover().browser()
    first = signed_in(browser.finish(browser.start())).session
    second = signed_in(browser.finish(browser.start()))
    assert second.previous == first.session_id
    assert second.session.session_id != first.session_id
    assert second.session.csrf_token != first.csrf_token


def test_every_auth_answer_is_stored_nowhere() -> None:
    world = World().discover()
    browser = world.browser()
    started = world.login.start(RequestHead(b"GET", b"/auth/login", []), world.clock())
    assert isinstance(started, Answer)
    finished = signed_in(browser.finish(browser.start()))
    answers = [started, finished.answer, world.login.logout(), world.login.session_answer(None)]
    for answer in [*answers, world.login.session_answer(finished.session)]:
        assert fields_of(answer, b"cache-control") == ["no-store"]
        assert fields_of(answer, b"x-content-type-options") == ["nosniff"]
        assert fields_of(answer, b"referrer-policy") == ["no-referrer"]


# Tabs


def test_three_tabs_finish_in_any_order() -> None:
    browser = World().discover().browser()
    tabs = [browser.start(f"/tab/{number}") for number in range(3)]
    for number in (1, 0, 2):
        result = signed_in(browser.finish(tabs[number]))
        assert fields_of(result.answer, b"location") == [f"{ORIGIN}/tab/{number}"]


def test_a_fourth_login_ends_the_oldest() -> None:
    browser = World().discover().browser()
    tabs = [browser.start() for _ in range(4)]
    assert len(browser.jar) == 3
    outcome = browser.finish(tabs[0])
    assert reason(outcome) is LoginReason.LOGIN_NOT_IN_PROGRESS
    for tab in tabs[1:]:
        signed_in(browser.finish(tab))


def test_the_oldest_goes_by_its_own_age_not_by_its_place_in_the_header() -> None:
    world = World().discover()
    browser = world.browser()
    tabs = []
    for _ in range(3):
        tabs.append(browser.start())
        world.clock.advance(0.01)
    browser.jar = dict(reversed(browser.jar.items()))
    browser.start()
    assert cookie_name(tabs[0].state.encode()) not in browser.jar
    assert cookie_name(tabs[1].state.encode()) in browser.jar


def test_logins_of_before_a_restart_make_room_first() -> None:
    before, after = World().discover(), World().discover()
    browser = before.browser()
    browser.start()
    browser.start()
    browser.world = after
    tabs = [browser.start() for _ in range(3)]
    assert len(browser.jar) == 3
    for tab in tabs:
        signed_in(browser.finish(tab))


def test_a_request_full_of_forged_login_cookies_gets_a_short_answer() -> None:
    world = World().discover()
    browser = world.browser()
    browser.jar = {cookie_name(b"%d" % number): "forged" for number in range(200)}
    browser.jar[LOGIN_COOKIE + "\u00e9;"] = "unrepeatable"
    answer = world.login.start(browser.head("/auth/login"), world.clock())
    assert isinstance(answer, Answer)
    assert len(fields_of(answer, b"set-cookie")) == 17


def test_a_callback_cannot_be_replayed() -> None:
    browser = World().discover().browser()
    started = browser.start()
    signed_in(browser.finish(started))
    before = browser.jar[COOKIE]
    outcome = browser.finish(started)
    assert reason(outcome) is LoginReason.LOGIN_NOT_IN_PROGRESS
    assert browser.jar[COOKIE] == before


# Callbacks that are not believed


def test_a_login_is_in_progress_for_ten_minutes() -> None:
    world = World().discover()
    browser = world.browser()
    started = browser.start()
    world.clock.advance(599.9)
    kept = dict(browser.jar)
    signed_in(browser.finish(started))
    browser.jar = kept
    world.clock.advance(0.1)
    assert reason(browser.finish(started)) is LoginReason.LOGIN_NOT_IN_PROGRESS


@pytest.mark.parametrize(
    "query",
    [
        "",
        "code=c",
        "state=",
        "code=c&state={state}&state={state}",
        "code=c&state={state}&state=x",
        "state=%zz&code=c",
    ],
)
def test_a_callback_without_exactly_one_state_that_is_ours_is_refused(query: str) -> None:
    world = World().discover()
    browser = world.browser()
    started = browser.start()
    outcome = browser.finish(started, query.replace("{state}", started.state))
    expected = LoginReason.LOGIN_NOT_IN_PROGRESS if query == "state=" else LoginReason.MALFORMED_CALLBACK
    assert reason(outcome) is expected
    assert world.provider.token_requests == []


@pytest.mark.parametrize(
    "query",
    [
        "state={state}",
        "state={state}&code=",
        "state={state}&code=a&code=b",
        "state={state}&error=a&error=b",
        "state={state}&code=a&x=%zz",
        "state={state}&code=%zz",
    ],
)
def test_a_callback_without_exactly_one_code_is_malformed(query: str) -> None:
    world = World().discover()
    browser = world.browser()
    started = browser.start()
    assert (
        reason(browser.finish(started, query.replace("{state}", started.state)))
        is LoginReason.MALFORMED_CALLBACK
    )
    assert world.provider.token_requests == []
    assert browser.jar == {}


@pytest.mark.parametrize("query", ["code=c&state={state}", "error=access_denied&state={state}"])
def test_nothing_is_believed_without_this_browsers_own_cookie(query: str) -> None:
    world = World().discover()
    started = world.browser().start()
    outcome = world.browser().finish(started, query.replace("{state}", started.state))
    assert reason(outcome) is LoginReason.LOGIN_NOT_IN_PROGRESS
    assert refusal(outcome).code is None
    assert world.provider.token_requests == []


def test_two_cookies_of_the_logins_name_are_no_login() -> None:
    world = World().discover()
    browser = world.browser()
    started = browser.start()
    head = browser.head(f"/auth/callback?code=c&state={started.state}")
    head.fields *= 2
    outcome = asyncio.run(finished(world.login, head, world.clock))
    assert reason(outcome) is LoginReason.LOGIN_NOT_IN_PROGRESS
    assert len(outcome.clear) == 1


def test_a_restart_ends_every_login_in_progress_and_no_session() -> None:
    before, after = World().discover(), World().discover()
    browser = before.browser()
    signed_in(browser.finish(browser.start()))
    started = browser.start()
    browser.world = after
    assert reason(browser.finish(started)) is LoginReason.LOGIN_NOT_IN_PROGRESS
    assert session_of(browser).subject == "alice"


def test_one_logins_cookie_does_not_open_under_anothers_name() -> None:
    browser = World().discover().browser()
    one, other = browser.start(), browser.start()
    names = [cookie_name(started.state.encode()) for started in (one, other)]
    browser.jar = {names[0]: browser.jar[names[1]], names[1]: browser.jar[names[0]]}
    assert reason(browser.finish(one)) is LoginReason.LOGIN_NOT_IN_PROGRESS


def test_a_cookie_that_seals_another_state_is_a_mismatch(monkeypatch: pytest.MonkeyPatch) -> None:
    # Two states with one hash, which no test can find: so every state gets one name.
    monkeypatch.setattr("foyer.login.progress.cookie_name", lambda state: LOGIN_COOKIE + "A" * 22)
    monkeypatch.setattr("foyer.login.flow.cookie_name", lambda state: LOGIN_COOKIE + "A" * 22)
    world = World().discover()
    browser = world.browser()
    started = browser.start()
    assert reason(browser.finish(started, "code=c&state=another")) is LoginReason.STATE_MISMATCH
    assert world.provider.token_requests == []


@pytest.mark.parametrize("query", ["code=c&state={state}", "error=x&state={state}", "state={state}"])
def test_the_callback_clears_its_cookie_whatever_happens(query: str) -> None:
    world = World().discover()
    world.provider.token = FetchFailed(Failure.TIMEOUT)
    browser = world.browser()
    started = browser.start()
    outcome = browser.finish(started, query.replace("{state}", started.state))
    name = cookie_name(started.state.encode())
    assert [value.split(b"=")[0].decode() for _, value in outcome.clear] == [name]
    assert browser.jar == {}


# What the issuer says


@pytest.mark.parametrize(
    ("error", "shown"),
    [
        ("access_denied", "access_denied"),
        ("login_required", "login_required"),
        ("temporarily_unavailable", "temporarily_unavailable"),
        ("%3Cscript%3E", "unknown"),
        ("", "unknown"),
        ("Access_Denied", "unknown"),
        ("%ff", "unknown"),
    ],
)
def test_an_issuers_refusal_shows_a_defined_code_or_unknown(error: str, shown: str) -> None:
    browser = World().discover().browser()
    started = browser.start("/a b".replace(" ", "+"))
    query = f"error={error}&error_description=secret+words&error_uri=https://e/&state={started.state}"
    refused = refusal(browser.finish(started, query))
    assert refused.reason is LoginReason.ISSUER_REFUSED
    assert refused.code == shown
    assert "secret" not in repr(refused)
    assert refused.retry == "/auth/login?return_to=/a%2Bb"


def test_an_error_beside_a_code_is_a_refusal() -> None:
    world = World().discover()
    browser = world.browser()
    started = browser.start()
    outcome = browser.finish(started, f"code=c&error=access_denied&state={started.state}")
    assert reason(outcome) is LoginReason.ISSUER_REFUSED
    assert world.provider.token_requests == []


@pytest.mark.parametrize(
    ("token", "status", "code", "cause"),
    [
        (as_json({"error": "invalid_grant", "error_description": "secret"}, 400), 400, "invalid_grant", None),
        (as_json({"error": "made_up"}, 401), 401, "unknown", None),
        (as_json({"error": ["invalid_grant"]}, 400), 400, "unknown", None),
        (Answer(500, [], b"<html>secret"), 500, "unknown", None),
        (Answer(302, [(b"location", b"https://e/")]), 302, "unknown", None),
        (Answer(200, [], b"[" * 200_000), 200, "unknown", None),
        (as_json({"error": "invalid_request"}), 200, "invalid_request", None),
        (as_json({"access_token": "a"}), 200, "unknown", None),
        (as_json({"id_token": None}), 200, "unknown", None),
        (as_json({"id_token": "a.b.\u00e9"}), 200, "unknown", None),
        (Answer(200, [], b'{"id_token": "a.b.c", "id_token": "d.e.f"}'), 200, "unknown", None),
        (FetchFailed(Failure.TIMEOUT), None, None, "timeout"),
        (FetchFailed(Failure.TLS), None, None, "tls"),
        (FetchFailed(Failure.TOO_LARGE), None, None, "too_large"),
    ],
)
def test_a_failed_token_exchange_tells_its_kind_and_no_more(
    token: Answer | FetchFailed, status: int | None, code: str | None, cause: str | None
) -> None:
    world = World().discover()
    world.provider.token = token
    browser = world.browser()
    refused = refusal(browser.finish(browser.start("/a")))
    assert refused.reason is LoginReason.TOKEN_EXCHANGE_FAILED
    assert (refused.issuer_status, refused.code, refused.cause) == (status, code, cause)
    assert refused.retry == "/auth/login?return_to=/a"
    assert "secret" not in repr(refused)
    assert COOKIE not in browser.jar


@pytest.mark.parametrize(
    ("claims", "cause"),
    [
        ({"iss": "https://other.test"}, "issuer-mismatch"),
        ({"aud": "other"}, "audience-mismatch"),
        ({"exp": 1_800_000_000}, "expired"),
        ({"exp": None}, "invalid"),
        ({"nbf": 1_800_000_600}, "not-yet-valid"),
        ({"sub": None}, "invalid"),
    ],
)
def test_a_refused_id_token_is_told_by_its_cause(claims: dict[str, object], cause: str) -> None:
    world = World().discover()
    world.provider.claims = claims
    browser = world.browser()
    refused = refusal(browser.finish(browser.start()))
    assert (refused.reason, refused.cause) == (LoginReason.ID_TOKEN_INVALID, cause)
    assert COOKIE not in browser.jar


@pytest.mark.parametrize("nonce", [None, "", "another", "é", 5, ["{nonce}"]])
def test_a_token_of_another_login_is_refused(nonce: object) -> None:
    world = World().discover()
    world.provider.claims = {"nonce": nonce}
    browser = world.browser()
    assert reason(browser.finish(browser.start())) is LoginReason.NONCE_MISMATCH


@pytest.mark.parametrize(
    ("claims", "cause"),
    [
        ({"email": 5}, "email"),
        ({"name": ["Alice"]}, "displayName"),
        ({"name": {"given": "Alice"}}, "displayName"),
        ({"name": "half \ud800"}, "displayName"),
        ({"groups": "admins"}, "groups"),
        ({"groups": ["a", 1]}, "groups"),
        ({"groups": ["a", None]}, "groups"),
        ({"groups": {"a": True}}, "groups"),
    ],
)
def test_a_claim_of_another_type_fails_the_login_and_is_named(claims: dict[str, object], cause: str) -> None:
    world = World().discover()
    world.provider.claims = claims
    browser = world.browser()
    refused = refusal(browser.finish(browser.start()))
    assert (refused.reason, refused.cause) == (LoginReason.SESSION_CLAIMS_INVALID, cause)
    assert cause in refused.message
    assert "Alice" not in repr(refused) and "admins" not in repr(refused)


def test_missing_and_null_claims_are_empty() -> None:
    world = World().discover()
    world.provider.claims = {"email": None, "name": None, "groups": None}
    browser = world.browser()
    session = signed_in(browser.finish(browser.start())).session
    assert (session.email, session.display_name, session.groups) == ("", "", ())


def test_claims_are_taken_from_where_the_configuration_points() -> None:
    claims = SessionClaims(
        pointer("/profile/1"), pointer("/roles"), pointer("/federated~1claims/connector_id")
    )
    world = World(LoginSettings(ORIGIN, ("openid",), 60.0, claims)).discover()
    world.provider.claims = {
        "profile": ["x", "Alice B."],
        "roles": ["r"],
        "federated/claims": {"connector_id": "ldap"},
    }
    browser = world.browser()
    session = signed_in(browser.finish(browser.start())).session
    assert (session.display_name, session.groups, session.connector) == ("Alice B.", ("r",), "ldap")


# Sizes


def test_a_session_logs_in_up_to_the_last_byte_that_browsers_keep_and_not_past_it() -> None:
    # Unpadded base64url has no length one over a multiple of four: after 3,800 comes 3,802.
    world = World().discover()
    outcomes: dict[int, bool] = {}
    for padding in range(PADDING, PADDING + 12):
        for name in ("", "A", "AB", "ABC"):
            world.provider.claims = {"groups": ["g"] * 100, "name": name, "padding": "p" * padding}
            browser = world.browser()
            outcome = browser.finish(browser.start())
            if COOKIE in browser.jar:
                outcomes[len(browser.jar[COOKIE])] = True
                assert session_of(browser) == signed_in(outcome).session
            else:
                outcomes[0] = False
                refused = refusal(outcome)
                assert refused.reason is LoginReason.SESSION_TOO_LARGE
                assert re.fullmatch(r"[1-9][0-9]? bytes over", str(refused.cause))
                assert refused.message.endswith(f": {refused.cause}.")
                assert browser.jar == {}
    assert {0, MAX_VALUE_BYTES - 1, MAX_VALUE_BYTES} <= outcomes.keys()
    assert max(outcomes) == MAX_VALUE_BYTES


PADDING = 936
"""Bytes of claim with which such a session is just about as large as it may be."""


@pytest.mark.parametrize("groups", [400, 40_000])
def test_too_many_groups_are_refused_without_a_session_cookie(groups: int) -> None:
    world = World().discover()
    world.provider.claims = {"groups": [f"group-{number}" for number in range(groups)]}
    browser = world.browser()
    outcome = browser.finish(browser.start())
    refused = refusal(outcome)
    assert refused.reason is LoginReason.SESSION_TOO_LARGE
    assert re.fullmatch(r"at least [0-9]+ bytes over", str(refused.cause))
    assert browser.jar == {}


# Keys


def test_a_rotation_between_start_and_callback_costs_one_fetch() -> None:
    world = World().discover()
    browser = world.browser()
    signed_in(browser.finish(browser.start()))
    started = browser.start()
    world.provider.rotate()
    before = world.provider.times_asked("/keys")
    signed_in(browser.finish(started))
    assert world.provider.times_asked("/keys") == before + 1


def test_keys_that_cannot_be_read_are_a_cause_of_their_own() -> None:
    world = World().discover()
    world.provider.rotate()
    world.provider.keys = FetchFailed(Failure.CONNECTION)
    browser = world.browser()
    refused = refusal(browser.finish(browser.start()))
    assert (refused.reason, refused.cause) == (LoginReason.ID_TOKEN_INVALID, "keys-unavailable")


def test_a_token_signed_by_nobody_published_is_a_signature_fault() -> None:
    world = World().discover()
    published = world.provider.published
    world.provider.rotate()
    world.provider.published = published
    browser = world.browser()
    assert refusal(browser.finish(browser.start())).cause == "signature"


# Clocks


@pytest.mark.parametrize("claims", [{"iat": 1_800_000_002}, {"nbf": 1_800_000_002}, {"nbf": 1_800_000_300}])
def test_a_clock_a_little_ahead_does_not_matter(claims: dict[str, object]) -> None:
    world = World().discover()
    world.provider.claims = claims
    browser = world.browser()
    signed_in(browser.finish(browser.start()))


# The session, and its end


def shown(answer: Answer) -> object:
    assert fields_of(answer, b"content-type") == ["application/json"]
    return json.loads(answer.content)


def test_the_session_is_shown_without_its_token_or_id() -> None:
    world = World().discover()
    browser = world.browser()
    session = signed_in(browser.finish(browser.start())).session
    answer = world.login.session_answer(session)
    assert answer.status == 200
    assert shown(answer) == {
        "authenticated": True,
        "issuer": ISSUER,
        "subject": "alice",
        "email": "alice@example.test",
        "displayName": "Alice",
        "groups": ["demo-editors"],
        "expiresAt": "2027-01-15T16:00:00Z",
        "csrfToken": session.csrf_token,
        "csrfHeader": "X-CSRF-Token",
    }
    assert bytes(session.id_token) not in answer.content
    assert session.session_id.encode() not in answer.content


def test_a_connector_is_shown_where_there_is_one_and_a_lowered_timeout_shortens_what_is_shown() -> None:
    world = World(LoginSettings(ORIGIN, ("openid",), 60.0))
    browser = DISCOVERED.browser()
    session = signed_in(browser.finish(browser.start())).session._replace(connector="ldap")
    content = shown(world.login.session_answer(session))
    assert isinstance(content, dict)
    assert content["connector"] == "ldap"
    assert content["expiresAt"] == "2027-01-15T08:01:00Z"


def test_without_a_session_nobody_is_shown() -> None:
    answer = World().login.session_answer(None)
    assert (answer.status, shown(answer)) == (401, {"authenticated": False})


def test_logout_clears_the_session_cookie() -> None:
    browser = World().discover().browser()
    signed_in(browser.finish(browser.start()))
    answer = browser.world.login.logout()
    browser.keep(answer.fields)
    assert (answer.status, answer.content, browser.jar) == (204, b"", {})


# What must never leak


def test_nothing_secret_is_in_any_answer_repr_or_log_line() -> None:
    world = World().discover()
    browser = world.browser()
    started = browser.start()
    received = world.login.received(
        browser.head(f"/auth/callback?code=the-code&state={started.state}"), world.clock()
    )
    outcome = browser.finish(started)
    result = signed_in(outcome)
    _, form = world.provider.token_requests[0]
    secrets = [
        form["code_verifier"][0].encode(),
        bytes(result.session.id_token),
        b"the-code",
        world.secret,
        result.session.session_id.encode(),
    ]
    answers = [result.answer, world.login.session_answer(result.session), world.login.logout()]
    written = [value for answer in answers for field in answer.fields for value in field]
    written += [answer.content for answer in answers]
    written += [repr(thing).encode() for thing in (received, outcome, result.session, world.log.lines)]
    for secret in secrets:
        assert not [text for text in written if secret in text]


HOSTILE = st.text("abcode=&%+state?error;\u00e9/ ", max_size=60)


@given(HOSTILE, HOSTILE)
def test_hostile_callbacks_never_raise_and_never_sign_in(query: str, cookie: str) -> None:
    head = RequestHead(b"GET", f"/auth/callback?{query}".encode(), [(b"cookie", cookie.encode())])
    assert isinstance(reason(asyncio.run(finished(DISCOVERED.login, head, DISCOVERED.clock))), LoginReason)


def test_a_code_costs_the_issuer_nothing_until_it_is_redeemed() -> None:
    world = World().discover()
    browser = world.browser()
    started = browser.start()
    head = browser.head(f"/auth/callback?code=c&state={started.state}")
    assert isinstance(world.login.received(head, world.clock()), CodeReceived)
    assert world.provider.token_requests == []
