"""The issuer's endpoints: discovery, keys, the login form, and the token endpoint.

    GET  /.well-known/openid-configuration   what there is
    GET  /keys                               the public key
    GET  /authorize                          who is it?
    POST /authorize                          a login: back to the client with a code
    POST /token                              the code for an ID token

Each below the path of the issuer's own URL. It believes whoever says who they are, and keeps no
sign-in of its own: every login asks again, so that switching between the demo's people takes no
more than signing out of the application.
"""

import json
import secrets
from collections.abc import Sequence
from importlib import resources
from typing import Any
from urllib.parse import urlencode, urlsplit

from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape

from foyer.demo.handler import Request
from foyer.demo.issuer.codes import Authorization, Codes
from foyer.demo.issuer.forms import BadRequest, Client, form_of, parameters
from foyer.demo.issuer.tokens import ALGORITHM, TOKEN_LIFETIME, Signer, id_token_claims
from foyer.demo.people import Person
from foyer.exchange.ports import Answer
from foyer.protocol.events import Fields

SHOWN = 10
"""People that the page offers: the crowd of a measurement behind them signs in by itself."""


class Unauthorizable(Exception):
    """An authorization request of a known client that cannot be granted (RFC 6749 section 4.1.2.1)."""

    def __init__(self, redirect_uri: str, state: str, error: str, description: str) -> None:
        super().__init__(error)
        self.redirect_uri = redirect_uri
        self.parameters = {"error": error, "error_description": description, "state": state}


class Issuer:
    """A `Handler`. `url` is the issuer identifier, without a final slash.

    `lifetime` of ID tokens is in seconds.
    """

    def __init__(
        self,
        url: str,
        client: Client,
        people: Sequence[Person],
        signer: Signer,
        *,
        lifetime: int = TOKEN_LIFETIME,
    ) -> None:
        self._url = url
        self._base = urlsplit(url).path
        self._client = client
        self._people = people
        self._signer = signer
        self._lifetime = lifetime
        self._codes = Codes()
        self._pages = Environment(
            loader=PackageLoader("foyer.demo.issuer"),
            autoescape=select_autoescape(default=True),
            undefined=StrictUndefined,
        )
        self._style = resources.files("foyer.demo.issuer").joinpath("templates/style.css").read_bytes()

    def __call__(self, request: Request, now: float) -> Answer:
        """The answer to a request at `now`."""
        try:
            return self._answer(request, now)
        except BadRequest as fault:
            return self._page(400, "error.html", message=str(fault))
        except Unauthorizable as fault:
            return _found(fault.redirect_uri, fault.parameters)

    def _answer(self, request: Request, now: float) -> Answer:
        method = "GET" if request.method == "HEAD" else request.method
        path = request.path.removeprefix(self._base)
        match method, path:
            case "GET", "/.well-known/openid-configuration":
                return _json(200, self._document())
            case "GET", "/keys":
                return _json(200, {"keys": [self._signer.jwk()]})
            case "GET", "/style.css":
                return Answer(200, [(b"content-type", b"text/css; charset=utf-8"), *_COMMON], self._style)
            case "GET", "/authorize":
                return self._form(self._authorization(parameters(request.query)))
            case "POST", "/authorize":
                return self._login(form_of(request), now)
            case "POST", "/token":
                return self._token(request, now)
            case _, "/authorize" | "/token" | "/keys" | "/style.css" | "/.well-known/openid-configuration":
                return self._page(405, "error.html", message="This is not how this page is asked for.")
            case _:
                return self._page(404, "error.html", message="There is no such page.")

    def _document(self) -> dict[str, Any]:
        """OpenID Connect Discovery 1.0 section 3."""
        return {
            "issuer": self._url,
            "authorization_endpoint": f"{self._url}/authorize",
            "token_endpoint": f"{self._url}/token",
            "jwks_uri": f"{self._url}/keys",
            "response_types_supported": ["code"],
            "response_modes_supported": ["query"],
            "grant_types_supported": ["authorization_code"],
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": [ALGORITHM],
            "scopes_supported": ["openid", "email", "profile", "groups"],
            "claims_supported": ["sub", "email", "email_verified", "name", "groups"],
            "code_challenge_methods_supported": ["S256"],
            "token_endpoint_auth_methods_supported": ["client_secret_basic", "client_secret_post"],
        }

    # Authorization.

    def _authorization(self, asked: dict[str, str]) -> Authorization:
        """What is asked for. Nothing is sent to a redirect URI before it is known to be the client's."""
        redirect_uri = asked.get("redirect_uri", "")
        if asked.get("client_id") != self._client.id:
            raise BadRequest("No application of this name signs in here.")
        if redirect_uri not in self._client.redirect_uris:
            raise BadRequest("The application asked to be answered at an address that is not its own.")
        state = asked.get("state", "")
        scopes = tuple(asked.get("scope", "").split())
        if asked.get("response_type") != "code":
            raise Unauthorizable(redirect_uri, state, "unsupported_response_type", "only code is supported")
        if "openid" not in scopes:
            raise Unauthorizable(redirect_uri, state, "invalid_scope", "the scope openid is missing")
        if asked.get("prompt") == "none":
            raise Unauthorizable(redirect_uri, state, "login_required", "there is no sign-in without a form")
        challenge = asked.get("code_challenge", "")
        if asked.get("code_challenge_method") != "S256" or len(challenge) != 43:
            raise Unauthorizable(redirect_uri, state, "invalid_request", "PKCE with S256 is required")
        return Authorization(self._client.id, redirect_uri, state, asked.get("nonce", ""), challenge, scopes)

    def _form(self, authorization: Authorization) -> Answer:
        repeated = {
            "client_id": authorization.client_id,
            "redirect_uri": authorization.redirect_uri,
            "response_type": "code",
            "scope": " ".join(authorization.scopes),
            "state": authorization.state,
            "nonce": authorization.nonce,
            "code_challenge": authorization.challenge,
            "code_challenge_method": "S256",
        }
        back = urlsplit(authorization.redirect_uri)
        return self._page(
            200,
            "login.html",
            # Browsers hold the redirect that answers a form to form-action as well.
            form_action=f"'self' {back.scheme}://{back.netloc}",
            hidden=repeated,
            people=self._people[:SHOWN],
        )

    def _login(self, form: dict[str, str], now: float) -> Answer:
        authorization = self._authorization(form)
        if "email" not in form:
            uri, state = authorization.redirect_uri, authorization.state
            raise Unauthorizable(uri, state, "access_denied", "nobody wanted to sign in")
        person = next((person for person in self._people if person.email == form["email"]), None)
        if person is None:
            raise BadRequest("Nobody here has this email address.")
        code = self._codes.issue(authorization, person, now)
        return _found(authorization.redirect_uri, {"code": code, "state": authorization.state})

    # The token endpoint.

    def _token(self, request: Request, now: float) -> Answer:
        try:
            form = form_of(request)
        except BadRequest:
            return _token_error(400, "invalid_request")
        if not self._client.authenticated(request, form):
            return _token_error(401, "invalid_client")
        if form.get("grant_type") != "authorization_code":
            return _token_error(400, "unsupported_grant_type")
        grant = self._codes.redeem(
            form.get("code", ""),
            self._client.id,
            form.get("redirect_uri", ""),
            form.get("code_verifier", ""),
            now,
        )
        if grant is None:
            return _token_error(400, "invalid_grant")
        nonce = grant.authorization.nonce
        claims = id_token_claims(self._url, self._client.id, grant.person, nonce, now, self._lifetime)
        token = self._signer.sign(claims)
        # An access token is required, and opens nothing here.
        answer = {
            "access_token": secrets.token_urlsafe(24),
            "token_type": "Bearer",
            "expires_in": self._lifetime,
            "id_token": token,
        }
        return _json(200, answer)

    def _page(self, status: int, template: str, *, form_action: str = "'none'", **values: Any) -> Answer:
        nowhere = "default-src 'none'; style-src 'self'; frame-ancestors 'none'; base-uri 'none'"
        policy = f"{nowhere}; form-action {form_action}"
        content = self._pages.get_template(template).render(base=self._base, **values).encode()
        fields = [
            (b"content-type", b"text/html; charset=utf-8"),
            (b"content-security-policy", policy.encode()),
            (b"referrer-policy", b"no-referrer"),
            *_COMMON,
        ]
        return Answer(status, fields, content)


_COMMON: Fields = [(b"cache-control", b"no-store"), (b"x-content-type-options", b"nosniff")]


def _json(status: int, document: object) -> Answer:
    content = json.dumps(document).encode()
    return Answer(status, [(b"content-type", b"application/json"), *_COMMON], content)


def _token_error(status: int, error: str) -> Answer:
    answer = _json(status, {"error": error})
    challenge: Fields = [(b"www-authenticate", b'Basic realm="token"')] if status == 401 else []
    return Answer(status, [*answer.fields, *challenge], answer.content)


def _found(uri: str, parameters: dict[str, str]) -> Answer:
    query = urlencode({name: value for name, value in parameters.items() if value})
    location = f"{uri}{'&' if '?' in uri else '?'}{query}"
    # 303, so that a login's POST becomes a GET in every browser.
    fields = [
        (b"location", location.encode("ascii", "replace")),
        (b"referrer-policy", b"no-referrer"),
        *_COMMON,
    ]
    return Answer(303, fields)
