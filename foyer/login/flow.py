"""Signing in and out, as values (spec 02, Login): requests in, answers out.

    start     GET /auth/login     302 to the issuer, the login sealed into the browser's cookie
    received  GET /auth/callback  what the callback may be believed to say; nothing is sent yet
    redeem                        the code for an ID token, and that for a session: 303

Whoever serves the callback bounds, between the last two, what redeeming costs the issuer (spec
04). Nothing is kept here from one call to the next.
"""

import hmac
import secrets
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from hashlib import sha256

from foyer.bound import Bound
from foyer.exchange.ports import Answer
from foyer.login import answers, query, return_path
from foyer.login.claims import ClaimFault, SessionClaims, displayed
from foyer.login.document import Document
from foyer.login.idtoken import TokenFault, check, expiry
from foyer.login.issuer import ExchangeRefused, Issuer, defined_code
from foyer.login.parameters import AuthorizationParameters, ParameterFault
from foyer.login.progress import LIFETIME, LoginInProgress, LoginSeal, begun, cookie_name
from foyer.login.refusal import LoginReason, RefusedLogin
from foyer.login.sentences import bytes_over, refused
from foyer.protocol.events import Fields, RequestHead
from foyer.session import cookies, live, spelling
from foyer.session.keys import Keyring
from foyer.session.seal import COOKIE, MAX_VALUE_BYTES, IdToken, Session, SessionID, seal


@dataclass(frozen=True, slots=True)
class LoginSettings:
    """`origin` is the public URL without a final slash; `absolute_timeout` seconds from login to end."""

    origin: str
    scopes: tuple[str, ...]
    absolute_timeout: float
    claims: SessionClaims = field(default_factory=SessionClaims)
    parameters: AuthorizationParameters = field(default_factory=AuthorizationParameters)


@dataclass(frozen=True, slots=True)
class SignedIn:
    """A login that happened. `previous` is the session whose open exchanges it ends."""

    answer: Answer
    session: Session
    previous: SessionID | None

    def __repr__(self) -> str:
        return "SignedIn(hidden)"


@dataclass(frozen=True, slots=True)
class CallbackOutcome:
    """How a callback ended. `clear` goes with the answer to a refusal; a `SignedIn`'s has it already."""

    result: SignedIn | RefusedLogin
    clear: Fields


@dataclass(frozen=True, slots=True)
class CodeReceived:
    """A callback of a login in progress, with a code that is still to be redeemed."""

    login: LoginInProgress
    code: bytes
    previous: SessionID | None
    clear: Fields

    def refused(
        self,
        reason: LoginReason,
        *,
        code: str | None = None,
        issuer_status: int | None = None,
        cause: str | None = None,
    ) -> CallbackOutcome:
        """The outcome when the code is not redeemed, or in vain."""
        path, listed = self.login.return_path, self.login.listed
        refusal = refused(reason, path, listed, code=code, issuer_status=issuer_status, cause=cause)
        return CallbackOutcome(refusal, self.clear)

    def held_off(self, reason: LoginReason, bound: Bound, retry_after: int | None = None) -> CallbackOutcome:
        """The outcome when a bound of foyer's own keeps the code from being redeemed."""
        refusal = self.refused(reason).result
        assert isinstance(refusal, RefusedLogin)
        return CallbackOutcome(replace(refusal, bound=bound, retry_after=retry_after), self.clear)

    def __repr__(self) -> str:
        return "CodeReceived(hidden)"


class Login:
    """One issuer's login.

    `settings` may be replaced at any time by others with the same origin, for what begins after
    that. `keyring` gives the session keys as they are now.
    """

    def __init__(self, settings: LoginSettings, issuer: Issuer, keyring: Callable[[], Keyring]) -> None:
        self.settings = settings
        self._issuer = issuer
        self._keyring = keyring
        self._seal = LoginSeal()
        self._redirect_uri = settings.origin + "/auth/callback"

    def start(self, head: RequestHead, now: float) -> Answer | RefusedLogin:
        """Begin a login. Whatever is wrong with the link is refused before the issuer is involved."""
        parameters = query.read(head.target)
        if parameters is None:
            return refused(LoginReason.LOGIN_PARAMETER_REFUSED, cause=ParameterFault.UNREADABLE.value)
        paths = query.given(parameters, b"return_to") or [b"/"]
        if len(paths) != 1 or not return_path.is_local(paths[0]):
            return refused(LoginReason.RETURN_PATH_NOT_LOCAL)
        requested = self.settings.parameters.requested(parameters)
        if isinstance(requested, ParameterFault):
            return refused(LoginReason.LOGIN_PARAMETER_REFUSED, paths[0], cause=requested.value)
        login = begun(paths[0], now, requested.listed)
        # Both have names of their own: what is foyer's cannot be configured.
        location = self._issuer.authorization_url(requested.sent | self._authorization_request(login))
        if location is None:
            return refused(LoginReason.ISSUER_UNAVAILABLE, paths[0], requested.listed)
        name, value = self._seal.seal(login)
        room = self._seal.make_room(head.fields)
        return answers.redirect(302, location, [*room, cookies.set_cookie(name, value, LIFETIME)])

    def received(self, head: RequestHead, now: float) -> CodeReceived | CallbackOutcome:
        """What a callback says, once its `state` and this browser's cookie prove whose it is."""
        # A broken parameter makes the callback malformed, and keeps its state from clearing nothing.
        parameters, whole = query.read_what_can_be(head.target)
        states = query.given(parameters, b"state")
        if len(states) != 1:
            return CallbackOutcome(refused(LoginReason.MALFORMED_CALLBACK), [])
        # A hash is a safe cookie name whatever the state is, and is cleared whatever happens.
        name = cookie_name(states[0])
        clear = [cookies.clear_cookie(name)]
        login = self._opened(head, name.encode("ascii"), states[0], now)
        if isinstance(login, LoginReason):
            return CallbackOutcome(refused(login), clear)
        previous = live.presented(head.fields, self._keyring())
        codes, errors = query.given(parameters, b"code"), query.given(parameters, b"error")
        code = codes[0] if len(codes) == 1 else b""
        received = CodeReceived(login, code, previous and previous.session_id, clear)
        if len(errors) == 1:
            return received.refused(
                LoginReason.ISSUER_REFUSED, code=defined_code(errors[0].decode("ascii", "replace"))
            )
        return received if code and whole and not errors else received.refused(LoginReason.MALFORMED_CALLBACK)

    async def redeem(self, received: CodeReceived, now: Callable[[], float]) -> CallbackOutcome:
        """Exchange the code and sign in whom the ID token names, as of `now`, foyer's clock, then."""
        verifier = received.login.verifier
        token = await self._issuer.redeem(received.code, verifier, self._redirect_uri)
        if isinstance(token, ExchangeRefused):
            return received.refused(
                LoginReason.TOKEN_EXCHANGE_FAILED,
                code=token.code,
                issuer_status=token.status,
                cause=token.failure,
            )
        if len(token) > MAX_VALUE_BYTES:  # what no cookie can hold needs no verifying
            over = f"at least {bytes_over(len(token) - MAX_VALUE_BYTES)}"
            return received.refused(LoginReason.SESSION_TOO_LARGE, cause=over)
        payload = await self._issuer.payload(token)
        at = now()
        claims = payload if isinstance(payload, TokenFault) else self._check(payload, at)
        if isinstance(claims, TokenFault):
            return received.refused(LoginReason.ID_TOKEN_INVALID, cause=claims.value)
        return self._sign_in(received, token, claims, at)

    def session_answer(self, session: Session | None) -> Answer:
        """`/auth/session` for a live session or none."""
        return answers.session_answer(session, self.settings.absolute_timeout)

    def logout(self) -> Answer:
        """`/auth/logout`, once the session's open exchanges have been ended."""
        return answers.logout_answer()

    def _authorization_request(self, login: LoginInProgress) -> dict[str, str]:
        """The parameters of an authentication request (OpenID Connect Core 3.1.2.1, RFC 7636 4.3)."""
        return {
            "response_type": "code",
            "client_id": self._issuer.client_id,
            "redirect_uri": self._redirect_uri,
            "scope": " ".join(self.settings.scopes),
            "state": login.state,
            "nonce": login.nonce,
            "code_challenge": spelling.encode(sha256(login.verifier.encode("ascii")).digest()),
            "code_challenge_method": "S256",
        }

    def _opened(
        self, head: RequestHead, name: bytes, state: bytes, now: float
    ) -> LoginInProgress | LoginReason:
        """The login in progress of exactly one cookie, or why there is none."""
        value = cookies.sole(head.fields, name)
        login = None if value is None else self._seal.open(name, value)
        if login is None or now >= login.expires_at:
            return LoginReason.LOGIN_NOT_IN_PROGRESS
        same = hmac.compare_digest(login.state.encode("ascii"), state)
        return login if same else LoginReason.STATE_MISMATCH

    def _check(self, payload: bytes, now: float) -> Document | TokenFault:
        return check(payload, self._issuer.url, self._issuer.client_id, now)

    def _sign_in(
        self, received: CodeReceived, token: IdToken, claims: Document, now: float
    ) -> CallbackOutcome:
        """The session of a verified token, if the token is of this login and the session fits."""
        if not _carries(claims, received.login.nonce):
            return received.refused(LoginReason.NONCE_MISMATCH)
        session = self._session(token, claims, now)
        if isinstance(session, ClaimFault):
            return received.refused(LoginReason.SESSION_CLAIMS_INVALID, cause=session.value)
        value = seal(session, self._keyring())
        if len(value) > MAX_VALUE_BYTES:
            over = bytes_over(len(value) - MAX_VALUE_BYTES)
            return received.refused(LoginReason.SESSION_TOO_LARGE, cause=over)
        cookie = cookies.set_cookie(COOKIE, value, session.ends_at - session.issued_at)
        # Of the origin by its whole name: no path can make another host of it.
        location = self.settings.origin + received.login.return_path.decode("ascii")
        answer = answers.redirect(303, location, [cookie, *received.clear])
        return CallbackOutcome(SignedIn(answer, session, received.previous), received.clear)

    def _session(self, token: IdToken, claims: Document, now: float) -> Session | ClaimFault:
        """A session that begins now, or the claim it would show that has the wrong type."""
        shown = displayed(claims, self.settings.claims)
        if isinstance(shown, ClaimFault):
            return shown
        issued_at = int(now)
        return Session(
            issuer=self._issuer.url,
            subject=claims["sub"],
            email=shown.email,
            display_name=shown.display_name,
            groups=shown.groups,
            connector=shown.connector,
            id_token=token,
            session_id=SessionID(secrets.token_urlsafe(16)),
            csrf_token=secrets.token_urlsafe(32),
            issued_at=issued_at,
            ends_at=min(issued_at + int(self.settings.absolute_timeout), expiry(claims)),
        )


def _carries(claims: Document, nonce: str) -> bool:
    given = claims.get("nonce")
    return isinstance(given, str) and given.isascii() and hmac.compare_digest(given, nonce)
