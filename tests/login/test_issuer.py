"""Discovery, the token request, and the published keys, over a scripted `Fetch`."""

import asyncio
import base64

import pytest

from foyer.exchange.ports import Answer, Failure, FetchFailed
from foyer.login.idtoken import TokenFault
from foyer.login.issuer import ExchangeRefused, Issuer, defined_code
from foyer.session.seal import IdToken
from tests.login.issuers import (
    CLIENT_ID,
    ISSUER,
    SECRET,
    FakeIssuer,
    Log,
    Signer,
    World,
    as_json,
    discovered,
    rsa_key,
)
from tests.support.clock import Clock


class Discovery:
    """Runs discovery to a success that comes after `failures` tries, and keeps the waits between."""

    def __init__(self, world: World, failures: int) -> None:
        self.world = world
        self.left = failures
        self.waits: list[float] = []

    async def sleep(self, seconds: float) -> None:
        assert not self.world.issuer.ready
        self.waits.append(seconds)
        self.left -= 1
        if self.left == 0:
            self.world.provider.discovery = None
            self.world.provider.document = World().provider.document

    def run(self) -> None:
        asyncio.run(self.world.issuer.run(self.sleep))


def test_discovery_retries_after_a_second_doubling_to_thirty_until_it_succeeds() -> None:
    world = World()
    world.provider.discovery = FetchFailed(Failure.CONNECTION)
    discovery = Discovery(world, 8)
    discovery.run()
    assert discovery.waits == [1, 2, 4, 8, 16, 30, 30, 30]
    assert world.issuer.ready
    assert world.provider.times_asked("/.well-known/openid-configuration") == 9


DEEP = b'{"a":' * 100_000


@pytest.mark.parametrize(
    ("answer", "failure"),
    [
        (FetchFailed(Failure.TIMEOUT), "timeout"),
        (FetchFailed(Failure.TOO_LARGE), "too_large"),
        (FetchFailed(Failure.TLS), "tls"),
        (Answer(404, [], b"secret"), "status_404"),
        (Answer(302, [(b"location", b"https://e/")], b""), "redirect"),
        (Answer(200, [], b"<html>secret"), "document"),
        (Answer(200, [], b"[]"), "document"),
        (Answer(200, [], b"\xff\xfe{}"), "document"),
        (Answer(200, [], DEEP), "document"),
        (Answer(200, [], b'{"issuer": "a", "issuer": "b"}'), "document"),
        (as_json({}), "issuer"),
        (as_json({"issuer": ISSUER + "/"}), "issuer"),
        (as_json({"issuer": ISSUER.upper()}), "issuer"),
        (as_json({"issuer": [ISSUER]}), "issuer"),
        (as_json({"issuer": ISSUER}), "endpoint"),
    ],
)
def test_a_document_that_is_not_this_issuers_is_tried_again_and_logged_by_kind(
    answer: Answer | FetchFailed, failure: str
) -> None:
    world = World()
    world.provider.discovery = answer
    Discovery(world, 1).run()
    assert world.log.lines == [("issuer unavailable", failure, 1.0)]
    assert world.issuer.ready
    hinted = {"issuer": "-oidc-issuer", "tls": "-oidc-ca-file"}.get(failure)
    (hint,) = world.log.hints
    assert hint is None if hinted is None else hinted in str(hint)
    assert "secret" not in repr(world.log.lines)


@pytest.mark.parametrize("name", ["authorization_endpoint", "token_endpoint", "jwks_uri"])
@pytest.mark.parametrize(
    "url",
    [
        None,
        5,
        "",
        "/token",
        "http://issuer.test/token",
        "https:///token",
        "https://user@issuer.test/token",
        "https://issuer.test/token#part",
        "https://issuer.test/a b",
        "https://issuer.test/\r\nset-cookie: a=b",
        "https://issuer.test\\@e/",
        "https://issuer.test:port/",
        "https://issuer.test:0/",
        "https://[::1/",
        "https://isßuer.test/",
        "javascript:alert(1)",
    ],
)
def test_an_endpoint_that_is_no_plain_https_url_is_refused(name: str, url: object) -> None:
    world = World()
    world.provider.document[name] = url
    Discovery(world, 1).run()
    assert world.log.lines[0] == ("issuer unavailable", "endpoint", 1.0)


def test_an_issuer_with_a_final_slash_is_asked_below_it() -> None:
    provider = FakeIssuer(Clock())
    provider.document["issuer"] = ISSUER + "/"
    issuer = Issuer(ISSUER + "/", CLIENT_ID, lambda: SECRET, provider, Clock(), Log())
    asyncio.run(discovered(issuer))
    assert provider.asked == ["/.well-known/openid-configuration", "/keys"]


# The token request


def redeemed(world: World) -> IdToken | ExchangeRefused:
    return asyncio.run(world.issuer.redeem(b"c&d=\xff", "the verifier", "https://app.test/auth/callback"))


@pytest.mark.parametrize(
    "methods",
    [
        None,
        ["client_secret_basic"],
        ["client_secret_post", "client_secret_basic"],
        "client_secret_post",
        [],
        [5],
    ],
)
def test_the_client_authenticates_with_basic_where_it_may(methods: object) -> None:
    world = World()
    if methods is not None:
        world.provider.document["token_endpoint_auth_methods_supported"] = methods
    world.discover()
    redeemed(world)
    fields, form = world.provider.token_requests[0]
    expected = base64.b64encode(b"foyer:the+client%27s+secret")
    assert dict(fields)[b"authorization"] == b"Basic " + expected
    assert dict(fields)[b"content-type"] == b"application/x-www-form-urlencoded"
    assert "client_secret" not in form


def test_the_secret_is_posted_where_only_that_is_offered() -> None:
    world = World()
    world.provider.document["token_endpoint_auth_methods_supported"] = [
        "private_key_jwt",
        "client_secret_post",
    ]
    world.discover()
    redeemed(world)
    fields, form = world.provider.token_requests[0]
    assert b"authorization" not in dict(fields)
    assert form["client_secret"] == [SECRET.decode()]
    assert form["client_id"] == [CLIENT_ID]


def test_a_code_cannot_add_a_parameter() -> None:
    world = World().discover()
    redeemed(world)
    _, form = world.provider.token_requests[0]
    assert set(form) == {"grant_type", "code", "redirect_uri", "code_verifier"}
    assert form["grant_type"] == ["authorization_code"]
    assert form["code"] == ["c&d=\ufffd"]


def test_a_secret_is_encoded_so_that_a_colon_in_it_is_safe() -> None:
    world = World().discover()
    world.secret = "p:a ss/ö%".encode()
    redeemed(world)
    credentials = dict(world.provider.token_requests[0][0])[b"authorization"].removeprefix(b"Basic ")
    assert base64.b64decode(credentials) == b"foyer:p%3Aa+ss%2F%C3%B6%25"


def test_a_replaced_secret_is_used_at_once() -> None:
    world = World().discover()
    redeemed(world)
    world.secret = b"new"
    redeemed(world)
    one, other = (dict(fields)[b"authorization"] for fields, _ in world.provider.token_requests)
    assert one != other


@pytest.mark.parametrize("code", [None, 5, [], "", "ACCESS_DENIED", "access_denied ", "x" * 5000])
def test_a_code_that_no_standard_defines_is_unknown(code: object) -> None:
    assert defined_code(code) == "unknown"


# The published keys


def payload(world: World, token: bytes) -> bytes | TokenFault:
    return asyncio.run(world.issuer.payload(IdToken(token)))


def test_keys_are_read_once_ahead_of_the_first_login() -> None:
    world = World().discover()
    for _ in range(3):
        assert isinstance(payload(world, world.provider.signer.token({"a": 1})), bytes)
    assert world.provider.times_asked("/keys") == 1


def test_keys_that_could_not_be_read_at_start_are_read_at_the_first_login() -> None:
    world = World()
    world.provider.keys = FetchFailed(Failure.TIMEOUT)
    world.discover()
    assert ("issuer keys not read", "timeout") in world.log.lines
    world.provider.keys = None
    assert isinstance(payload(world, world.provider.signer.token({})), bytes)


def test_a_flood_of_unknown_keys_is_one_fetch_in_ten_seconds_and_locks_nobody_out() -> None:
    world = World().discover()
    stranger = Signer(rsa_key(number=1))
    for number in range(200):
        world.monotonic.advance(0.025)
        assert payload(world, stranger.token({}, kid=f"made-up-{number}")) is TokenFault.SIGNATURE
        if number % 50 == 0:
            assert isinstance(payload(world, world.provider.signer.token({})), bytes)
    assert world.provider.times_asked("/keys") == 2


def test_after_ten_seconds_an_unknown_key_is_asked_for_again() -> None:
    world = World().discover()
    stranger = Signer(rsa_key(number=1), "made-up")
    payload(world, stranger.token({}))
    world.monotonic.advance(9.9)
    world.provider.rotate()
    assert payload(world, world.provider.signer.token({})) is TokenFault.SIGNATURE
    world.monotonic.advance(0.1)
    assert isinstance(payload(world, world.provider.signer.token({})), bytes)


def test_callbacks_at_the_same_time_share_one_fetch() -> None:
    world = World().discover()
    world.provider.rotate()
    token = IdToken(world.provider.signer.token({}))

    async def together() -> list[bytes | TokenFault]:
        return await asyncio.gather(*[world.issuer.payload(token) for _ in range(20)])

    assert all(isinstance(found, bytes) for found in asyncio.run(together()))
    assert world.provider.times_asked("/keys") == 2


def test_one_callback_given_up_does_not_take_the_fetch_from_the_others() -> None:
    world = World().discover()
    world.provider.rotate()
    token = IdToken(world.provider.signer.token({}))

    async def one_leaves() -> bytes | TokenFault:
        leaving = asyncio.create_task(world.issuer.payload(token))
        staying = asyncio.create_task(world.issuer.payload(token))
        await asyncio.sleep(0)
        leaving.cancel()
        return await staying

    assert isinstance(asyncio.run(one_leaves()), bytes)
    assert world.provider.times_asked("/keys") == 2


@pytest.mark.parametrize(
    "answer",
    [
        FetchFailed(Failure.CONNECTION),
        Answer(500, [], b""),
        Answer(200, [], b"nothing"),
        Answer(200, [], b'{"keys": {}}'),
        Answer(200, [], b'{"keys": []}'),
        Answer(200, [], b'{"keys": [{"kty": "oct", "k": "c2VjcmV0"}]}'),
    ],
)
def test_keys_that_cannot_be_read_leave_the_cached_ones_and_say_so(answer: Answer | FetchFailed) -> None:
    world = World().discover()
    known = world.provider.signer.token({})
    world.provider.rotate()
    world.provider.keys = answer
    for _ in range(2):  # the second within the ten seconds
        assert payload(world, world.provider.signer.token({})) is TokenFault.KEYS_UNAVAILABLE
    assert isinstance(payload(world, known), bytes)
    assert world.provider.times_asked("/keys") == 2


def test_a_token_that_could_never_verify_asks_for_nothing() -> None:
    world = World().discover()
    assert payload(world, b"no token") is TokenFault.INVALID
    assert world.provider.times_asked("/keys") == 1


def test_a_bad_signature_of_a_known_key_asks_for_nothing() -> None:
    world = World().discover()
    assert payload(world, Signer(rsa_key(number=1), "first").token({})) is TokenFault.SIGNATURE
    assert world.provider.times_asked("/keys") == 1


def test_a_token_that_names_no_key_is_tried_with_each_and_then_with_fresh_ones() -> None:
    world = World()
    world.provider.published = [Signer(rsa_key(number=1), "other"), world.provider.signer]
    world.discover()
    assert isinstance(payload(world, Signer(rsa_key(), None).token({})), bytes)
    world.provider.published = [Signer(rsa_key(number=2), None)]
    assert isinstance(payload(world, Signer(rsa_key(number=2), None).token({})), bytes)
    assert world.provider.times_asked("/keys") == 2
