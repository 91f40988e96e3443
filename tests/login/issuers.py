"""An issuer in memory, behind the `Fetch` port, and a browser that signs in at it."""

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any
from urllib.parse import parse_qs, quote, urlsplit

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, ed448, ed25519, rsa
from jwt.algorithms import ECAlgorithm, OKPAlgorithm, RSAAlgorithm

from foyer.exchange.ports import Answer, FetchFailed
from foyer.login.flow import CallbackOutcome, Login, LoginSettings, SignedIn
from foyer.login.issuer import Issuer
from foyer.login.refusal import LoginReason, RefusedLogin
from foyer.protocol.events import Fields, RequestHead
from foyer.session.keys import Keyring
from tests.support.clock import Clock

ISSUER = "https://issuer.test/dex"
CLIENT_ID = "foyer"
SECRET = b"the client's secret"
ORIGIN = "https://app.test"
NOW = 1_800_000_000.25
KEYRING = Keyring([b"k" * 32])

Claims = dict[str, Any]


@cache
def rsa_key(bits: int = 2048, number: int = 0) -> rsa.RSAPrivateKey:
    """One of a few RSA keys: they are slow to make."""
    return rsa.generate_private_key(65537, bits)


@cache
def ec_key(curve: type[ec.EllipticCurve]) -> ec.EllipticCurvePrivateKey:
    return ec.generate_private_key(curve())


@dataclass(frozen=True)
class Signer:
    """A private key, the `kid` it is published under, and the algorithm its tokens name."""

    key: Any
    kid: str | None = "first"
    algorithm: str = "RS256"

    def token(self, claims: Claims, **header: object) -> bytes:
        named = header if self.kid is None else {"kid": self.kid, **header}
        return jwt.encode(claims, self.key, algorithm=self.algorithm, headers=named).encode()

    def jwk(self, **members: object) -> Claims:
        public = self.key.public_key()
        if isinstance(public, rsa.RSAPublicKey):
            found = RSAAlgorithm.to_jwk(public, as_dict=True)
        elif isinstance(public, ec.EllipticCurvePublicKey):
            found = ECAlgorithm.to_jwk(public, as_dict=True)
        else:
            assert isinstance(public, ed25519.Ed25519PublicKey | ed448.Ed448PublicKey)
            found = OKPAlgorithm.to_jwk(public, as_dict=True)
        found = {name: value for name, value in found.items() if name != "key_ops"}
        kid = {} if self.kid is None else {"kid": self.kid}
        return {**found, **kid, **members}


def jwks(*signers: Signer) -> bytes:
    return json.dumps({"keys": [signer.jwk() for signer in signers]}).encode()


def as_json(content: object, status: int = 200) -> Answer:
    return Answer(status, [(b"content-type", b"application/json")], json.dumps(content).encode())


class FakeIssuer:
    """Answers as Dex does, until a test changes what. Counts what it was asked, by path."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.signer = Signer(rsa_key())
        self.published = [self.signer]
        self.claims: Claims = {}
        self.nonce = ""
        self.asked: list[str] = []
        self.token_requests: list[tuple[Fields, dict[str, list[str]]]] = []
        self.document: Claims = {
            "issuer": ISSUER,
            "authorization_endpoint": ISSUER + "/auth",
            "token_endpoint": ISSUER + "/token",
            "jwks_uri": ISSUER + "/keys",
        }
        self.discovery: Answer | FetchFailed | None = None
        self.keys: Answer | FetchFailed | None = None
        self.token: Answer | FetchFailed | bytes | None = None
        self.answer_takes = 0.0

    async def __call__(
        self, method: bytes, url: str, fields: Fields, content: bytes = b"", *, limit: int, timeout: float
    ) -> Answer:
        assert (limit, timeout) == (1024 * 1024, 10.0)
        path = url.removeprefix(ISSUER)
        self.asked.append(path)
        # As over a network, others get a turn meanwhile.
        await asyncio.sleep(0)
        if path == "/.well-known/openid-configuration":
            return self._give(self.discovery or as_json(self.document))
        if path == "/keys":
            return self._give(self.keys or Answer(200, [], jwks(*self.published)))
        assert (method, path) == (b"POST", "/token")
        self.token_requests.append((fields, parse_qs(content.decode(), keep_blank_values=True)))
        self.clock.advance(self.answer_takes)
        if self.token is None or isinstance(self.token, bytes):
            token = self.signer.token(self.id_token()) if self.token is None else self.token
            return as_json({"access_token": "never used", "token_type": "bearer", "id_token": token.decode()})
        return self._give(self.token)

    def id_token(self) -> Claims:
        """The claims of a token of this moment. A claim set to None is left out."""
        claims: Claims = {
            "iss": ISSUER,
            "sub": "alice",
            "aud": CLIENT_ID,
            "exp": int(self.clock()) + 86_400,
            "iat": int(self.clock()),
            "nonce": self.nonce,
            "email": "alice@example.test",
            "name": "Alice",
            "groups": ["demo-editors"],
            **self.claims,
        }
        return {name: value for name, value in claims.items() if value is not None}

    def rotate(self, kid: str = "second") -> None:
        """New tokens are signed by, and only by, a key never seen before."""
        self.signer = Signer(rsa_key(number=1), kid)
        self.published = [self.signer]

    def times_asked(self, path: str) -> int:
        return self.asked.count(path)

    def _give(self, what: Answer | FetchFailed) -> Answer:
        if isinstance(what, FetchFailed):
            raise what
        return what


class Log:
    """Keeps the lines."""

    def __init__(self) -> None:
        self.lines: list[tuple[object, ...]] = []
        self.hints: list[str | None] = []

    def issuer_unavailable(self, issuer: str, failure: str, hint: str | None, retry_in: float) -> None:
        assert issuer == ISSUER
        self.hints.append(hint)
        self.lines.append(("issuer unavailable", failure, retry_in))

    def issuer_keys_not_read(self, failure: str) -> None:
        self.lines.append(("issuer keys not read", failure))


async def discovered(issuer: Issuer) -> None:
    """What foyer does at its start."""
    await issuer.run(no_sleep)
    await issuer.read_keys()


async def no_sleep(seconds: float) -> None:
    raise AssertionError("discovery was to succeed at once")


class World:
    """One foyer's login, its issuer, and a clock for both."""

    def __init__(self, settings: LoginSettings | None = None) -> None:
        self.clock = Clock(NOW)
        self.monotonic = Clock(50.0)
        self.log = Log()
        self.provider = FakeIssuer(self.clock)
        self.secret = SECRET
        self.issuer = Issuer(ISSUER, CLIENT_ID, lambda: self.secret, self.provider, self.monotonic, self.log)
        self.settings = settings or LoginSettings(ORIGIN, ("openid", "email", "profile"), 28_800.0)
        self.login = Login(self.settings, self.issuer, lambda: KEYRING)

    def discover(self) -> "World":
        asyncio.run(discovered(self.issuer))
        return self

    def browser(self) -> "Browser":
        return Browser(self)


@dataclass
class Started:
    """What the issuer gets to see of a login."""

    location: str
    query: dict[str, str]

    @property
    def state(self) -> str:
        return self.query["state"]


class Browser:
    """A cookie jar and two links."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.jar: dict[str, str] = {}

    def head(self, target: str | bytes) -> RequestHead:
        line = "; ".join(f"{name}={value}" for name, value in self.jar.items()).encode()
        path = target.encode() if isinstance(target, str) else target
        return RequestHead(b"GET", path, [(b"cookie", line)] if line else [])

    def keep(self, fields: Fields) -> None:
        """Do what `Set-Cookie` says, as browsers do: over 4,096 bytes of name and value are dropped."""
        for name, value in fields:
            if name == b"set-cookie":
                pair, *attributes = value.decode().split("; ")
                cookie, _, content = pair.partition("=")
                if "Max-Age=0" in attributes:
                    self.jar.pop(cookie, None)
                elif len(cookie) + len(content) <= 4096:
                    self.jar[cookie] = content

    def start(self, return_to: str | None = None) -> Started:
        target = "/auth/login" if return_to is None else f"/auth/login?return_to={quote(return_to, safe='')}"
        answer = self.world.login.start(self.head(target), self.world.clock())
        assert isinstance(answer, Answer), answer
        assert answer.status == 302
        self.keep(answer.fields)
        location = dict(answer.fields)[b"location"].decode()
        query = {name: values[0] for name, values in parse_qs(urlsplit(location).query).items()}
        return Started(location, query)

    def finish(self, started: Started, query: str | None = None) -> CallbackOutcome:
        """The issuer's redirect back. Its next token carries this login's nonce."""
        self.world.provider.nonce = started.query["nonce"]
        return self.callback(query if query is not None else f"code=the+code&state={started.state}")

    def callback(self, query: str) -> CallbackOutcome:
        return asyncio.run(self.callback_of(self.head(f"/auth/callback?{query}")))

    async def callback_of(self, head: RequestHead) -> CallbackOutcome:
        outcome = await finished(self.world.login, head, self.world.clock)
        self.keep(outcome.result.answer.fields if isinstance(outcome.result, SignedIn) else outcome.clear)
        return outcome


async def finished(login: Login, head: RequestHead, clock: Callable[[], float]) -> CallbackOutcome:
    """A callback whose code is redeemed at once, with no bound between."""
    received = login.received(head, clock())
    return received if isinstance(received, CallbackOutcome) else await login.redeem(received, clock)


def signed_in(outcome: CallbackOutcome) -> SignedIn:
    assert isinstance(outcome.result, SignedIn), outcome.result
    return outcome.result


def refusal(outcome: CallbackOutcome | Answer | RefusedLogin) -> RefusedLogin:
    result = outcome.result if isinstance(outcome, CallbackOutcome) else outcome
    assert isinstance(result, RefusedLogin)
    return result


def reason(outcome: CallbackOutcome | Answer | RefusedLogin) -> LoginReason:
    return refusal(outcome).reason
