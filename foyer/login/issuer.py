"""The OIDC issuer: the one place of this room that sends anything (spec 02, Login).

Discovery in the background until it succeeds (OpenID Connect Discovery 1.0), the token request
(RFC 6749 section 4.1.3), and the published keys. All go through the `Fetch` port, whose answers
are bounded and timed, over verified TLS, with no redirect followed. What the issuer sends is
believed as far as it is checked here; of what it says about a failure only a status and a code of
the table below ever leave this room.
"""

import base64
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import Enum
from typing import Protocol, TypeGuard
from urllib.parse import quote_plus, urlencode, urlsplit

from foyer.exchange.ports import Answer, Failure, Fetch, FetchFailed
from foyer.login import document, jwks
from foyer.login.document import Document
from foyer.login.idtoken import TokenFault
from foyer.login.jwks import VerificationKey
from foyer.login.keyset import KeySet
from foyer.protocol.events import Fields
from foyer.session.seal import IdToken

ANSWER_LIMIT = 1024 * 1024
"""Bytes of any answer: a discovery document has some 3 KB, sixty RSA keys 100."""

ANSWER_TIMEOUT = 10.0
"""Seconds for the whole of one: a person is waiting."""

FIRST_RETRY = 1.0
LONGEST_RETRY = 30.0
"""Seconds between two tries at discovery, doubling: an issuer that starts along with foyer is found
soon, and one that is down for a night is not worn out."""

UNKNOWN_CODE = "unknown"

_CODES = frozenset(
    {
        # RFC 6749 sections 4.1.2.1 and 5.2
        "invalid_request",
        "unauthorized_client",
        "access_denied",
        "unsupported_response_type",
        "invalid_scope",
        "server_error",
        "temporarily_unavailable",
        "invalid_client",
        "invalid_grant",
        "unsupported_grant_type",
        # OpenID Connect Core section 3.1.2.6
        "interaction_required",
        "login_required",
        "account_selection_required",
        "consent_required",
        "invalid_request_uri",
        "invalid_request_object",
        "request_not_supported",
        "request_uri_not_supported",
        "registration_not_supported",
    }
)

_WELL_KNOWN = "/.well-known/openid-configuration"

_ENDPOINTS = ("authorization_endpoint", "token_endpoint", "jwks_uri")


class Log(Protocol):
    """The lines of the log that are an issuer's: `foyer.observe.Log`."""

    def issuer_unavailable(self, issuer: str, failure: str, hint: str | None, retry_in: float) -> None:
        """Discovery at the configured `issuer` failed, by kind, and is tried again in `retry_in` seconds."""

    def issuer_keys_not_read(self, failure: str) -> None:
        """The keys could not be fetched, by kind."""


class DiscoveryFault(Enum):
    """Why a discovery document was not taken, as the log says it (a fetch says its own `Failure`)."""

    DOCUMENT = "document"
    ISSUER = "issuer"
    ENDPOINT = "endpoint"


_HINTS = {
    DiscoveryFault.ISSUER.value: "the document names another issuer: -oidc-issuer must be it to the letter",
    Failure.TLS.value: "-oidc-ca-file holds the roots to verify it by",
}
"""What to look at first, for the failures that are the configuration's as often as the issuer's."""


@dataclass(frozen=True, slots=True)
class Endpoints:
    """What foyer needs of a discovery document. `secret_in_body`: `client_secret_post`, not `_basic`."""

    authorization: str
    token: str
    keys: str
    secret_in_body: bool


@dataclass(frozen=True, slots=True)
class ExchangeRefused:
    """A token request without an ID token: the issuer's status and code, or how the fetch failed."""

    status: int | None = None
    code: str | None = None
    failure: str | None = None


class Issuer:
    """One configured issuer.

    `secret` gives the client secret as it is now: it may be replaced under a running foyer.
    `clock` is monotonic.
    """

    def __init__(
        self,
        url: str,
        client_id: str,
        secret: Callable[[], bytes],
        fetch: Fetch,
        clock: Callable[[], float],
        log: Log,
    ) -> None:
        self.url = url
        self.client_id = client_id
        self._secret = secret
        self._fetch = fetch
        self._log = log
        self._endpoints: Endpoints | None = None
        self._keys = KeySet(self._published_keys, clock)

    @property
    def ready(self) -> bool:
        """Whether the discovery document has been read."""
        return self._endpoints is not None

    async def run(self, sleep: Callable[[float], Awaitable[object]]) -> None:
        """Discover, trying until it succeeds. `sleep` takes seconds."""
        wait = FIRST_RETRY
        while (found := await self._discover()) is not None:
            self._log.issuer_unavailable(self.url, found, _HINTS.get(found), wait)
            await sleep(wait)
            wait = min(2 * wait, LONGEST_RETRY)

    async def read_keys(self) -> None:
        """Read the keys ahead of the first login, so that there they are no refetch.

        Failing is harmless: that login asks again.
        """
        await self._keys.read()

    def authorization_url(self, parameters: dict[str, str]) -> str | None:
        """Where a browser signs in, or None before discovery."""
        if self._endpoints is None:
            return None
        endpoint = self._endpoints.authorization
        # The endpoint may have a query of its own, which is kept (RFC 6749 section 3.1).
        return endpoint + ("&" if "?" in endpoint else "?") + urlencode(parameters, quote_via=quote_plus)

    async def redeem(self, code: bytes, verifier: str, redirect_uri: str) -> IdToken | ExchangeRefused:
        """The ID token for an authorization code, still to be verified."""
        assert self._endpoints is not None, "a code comes after discovery"
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": redirect_uri,
            "code_verifier": verifier,
        }
        fields: Fields = [
            (b"accept", b"application/json"),
            (b"content-type", b"application/x-www-form-urlencoded"),
        ]
        if self._endpoints.secret_in_body:
            form |= {"client_id": self.client_id, "client_secret": self._secret()}
        else:
            fields.append((b"authorization", _basic(self.client_id, self._secret())))
        answer = await self._ask(b"POST", self._endpoints.token, fields, urlencode(form).encode("ascii"))
        return ExchangeRefused(failure=answer) if isinstance(answer, str) else _id_token(answer)

    async def payload(self, token: IdToken) -> bytes | TokenFault:
        """The payload of a token signed by a key that the issuer publishes."""
        return await self._keys.payload(token)

    async def _discover(self) -> str | None:
        """One try: what it failed of, or None when it succeeded."""
        answer = await self._get(self.url.removesuffix("/") + _WELL_KNOWN)
        if isinstance(answer, str):
            return answer
        if answer.status != 200:
            return status_kind(answer.status)
        found = _endpoints(answer.content, self.url)
        if isinstance(found, DiscoveryFault):
            return found.value
        self._endpoints = found
        return None

    async def _published_keys(self) -> tuple[VerificationKey, ...] | None:
        assert self._endpoints is not None, "a token comes after discovery"
        answer = await self._get(self._endpoints.keys)
        found = answer if isinstance(answer, str) else _keys(answer)
        if not isinstance(found, str):
            return found
        self._log.issuer_keys_not_read(found)
        return None

    async def _get(self, url: str) -> Answer | str:
        return await self._ask(b"GET", url, [(b"accept", b"application/json")])

    async def _ask(self, method: bytes, url: str, fields: Fields, content: bytes = b"") -> Answer | str:
        """The issuer's answer, or the kind of failure."""
        try:
            return await self._fetch(method, url, fields, content, limit=ANSWER_LIMIT, timeout=ANSWER_TIMEOUT)
        except FetchFailed as failed:
            return failed.failure.value


def status_kind(status: int) -> str:
    """The kind of failure that an answer of `status` is, for the log: `status_503`, or `redirect`."""
    return "redirect" if 300 <= status <= 399 else f"status_{status}"


def defined_code(code: object) -> str:
    """`code` if OAuth or OIDC defines it, else `unknown`: never the issuer's own words."""
    return code if isinstance(code, str) and code in _CODES else UNKNOWN_CODE


def _basic(client_id: str, secret: bytes) -> bytes:
    """`client_secret_basic`: both form-encoded first (RFC 6749 section 2.3.1), so a `:` in them is safe."""
    pair = f"{quote_plus(client_id, safe='')}:{quote_plus(secret, safe='')}"
    return b"Basic " + base64.b64encode(pair.encode("ascii"))


def _id_token(answer: Answer) -> IdToken | ExchangeRefused:
    found = document.parse(answer.content) or {}
    token = found.get("id_token")
    if answer.status == 200 and isinstance(token, str) and token.isascii():
        return IdToken(token.encode("ascii"))
    return ExchangeRefused(status=answer.status, code=defined_code(found.get("error")))


def _keys(answer: Answer) -> tuple[VerificationKey, ...] | str:
    if answer.status != 200:
        return status_kind(answer.status)
    return jwks.parse(answer.content) or "document"


def _endpoints(content: bytes, issuer: str) -> Endpoints | DiscoveryFault:
    found = document.parse(content)
    if found is None:
        return DiscoveryFault.DOCUMENT
    # Character for character (OpenID Connect Discovery section 4.3): a document that speaks for
    # another issuer would let that one sign people in.
    if found.get("issuer") != issuer:
        return DiscoveryFault.ISSUER
    authorization, token, keys = [found.get(name) for name in _ENDPOINTS]
    if not (_is_endpoint(authorization) and _is_endpoint(token) and _is_endpoint(keys)):
        return DiscoveryFault.ENDPOINT
    return Endpoints(authorization, token, keys, _only_in_body(found))


def _is_endpoint(url: object) -> TypeGuard[str]:
    """An https URL to send a browser or a secret to: printable, so that it is one field value."""
    if not isinstance(url, str) or not url.isascii() or not url.isprintable() or " " in url:
        return False
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return False
    whole = parts.scheme == "https" and bool(parts.hostname) and port != 0
    return whole and "@" not in parts.netloc and "#" not in url and "\\" not in url


def _only_in_body(found: Document) -> bool:
    methods = found.get("token_endpoint_auth_methods_supported")
    # Left out, it means `client_secret_basic` (OpenID Connect Discovery section 3).
    if not isinstance(methods, list) or "client_secret_basic" in methods:
        return False
    return "client_secret_post" in methods
