"""The stand-in issuer: its documents, its form, its tokens."""

import base64
import json
import re
from hashlib import sha256
from html import unescape
from typing import Any
from urllib.parse import parse_qs, quote_plus, urlencode, urlsplit

import jwt
import pytest

from foyer.demo.issuer.codes import CODE_LIFETIME, MAX_CODES, Authorization, Codes
from foyer.demo.issuer.forms import Client
from foyer.demo.issuer.provider import Issuer
from foyer.demo.issuer.tokens import Signer
from foyer.demo.people import ADA, PEOPLE
from foyer.exchange.ports import Answer
from foyer.protocol.events import Fields
from tests.demo.fakes import ask
from tests.support.clock import Clock

CALLBACK = "https://127.0.0.1:8443/auth/callback"
URL = "https://127.0.0.1:8444/issuer"
BASE = "/issuer"
VERIFIER = "v" * 43
SECRET = "hush: & +"
FORM: Fields = [(b"content-type", b"application/x-www-form-urlencoded")]


def challenge(verifier: str) -> str:
    return base64.urlsafe_b64encode(sha256(verifier.encode()).digest()).decode().rstrip("=")


ASKED = {
    "client_id": "foyer-demo",
    "redirect_uri": CALLBACK,
    "response_type": "code",
    "scope": "openid email profile",
    "state": "s&t",
    "nonce": "n",
    "code_challenge": challenge(VERIFIER),
    "code_challenge_method": "S256",
}


class Visiting:
    """A browser, and a client, at the issuer."""

    def __init__(self) -> None:
        self.clock = Clock(1_800_000_000.0)
        self.signer = Signer()
        client = Client("foyer-demo", SECRET, (CALLBACK,))
        self.issuer = Issuer(URL, client, PEOPLE, self.signer)

    def get(self, target: str, method: str = "GET") -> Answer:
        return self._answer(method, BASE + target, b"", [])

    def post(self, path: str, form: dict[str, str], fields: Fields | None = None) -> Answer:
        return self._answer("POST", BASE + path, urlencode(form).encode(), [*FORM, *(fields or [])])

    def _answer(self, method: str, target: str, content: bytes, fields: Fields) -> Answer:
        answer = ask(self.issuer, method, target, self.clock(), content=content, fields=fields)
        assert isinstance(answer, Answer)
        return answer

    def authorize(self, **changes: str) -> Answer:
        return self.get(f"/authorize?{urlencode(ASKED | changes)}")

    def log_in(self, email: str | None = ADA.email, **changes: str) -> Answer:
        form = dict(hidden(self.authorize(**changes)))
        return self.post("/authorize", form | ({} if email is None else {"email": email}))

    def code(self) -> str:
        return back(self.log_in())["code"]

    def redeem(self, fields: Fields | None = None, **changes: str | None) -> Answer:
        form = {
            "grant_type": "authorization_code",
            "code": "",
            "redirect_uri": CALLBACK,
            "code_verifier": VERIFIER,
            "client_id": "foyer-demo",
            "client_secret": SECRET,
        } | changes
        return self.post("/token", {name: value for name, value in form.items() if value is not None}, fields)


def hidden(page: Answer) -> list[tuple[str, str]]:
    inputs = re.findall(r'<input type="hidden" name="([^"]*)" value="([^"]*)">', page.content.decode())
    return [(unescape(name), unescape(value)) for name, value in inputs]


def field(answer: Answer, name: bytes) -> str:
    return next((value.decode() for key, value in answer.fields if key == name), "")


def back(answer: Answer) -> dict[str, str]:
    """What a redirect tells the client."""
    assert answer.status == 303
    location = urlsplit(field(answer, b"location"))
    assert location._replace(query="").geturl() == CALLBACK
    return {name: values[0] for name, values in parse_qs(location.query).items()}


def document(answer: Answer) -> Any:
    return json.loads(answer.content)


@pytest.fixture
def visiting() -> Visiting:
    return Visiting()


def test_discovery_names_the_issuer_and_its_endpoints(visiting: Visiting) -> None:
    found = document(visiting.get("/.well-known/openid-configuration"))
    assert found["issuer"] == URL
    assert all(found[name].startswith(f"{URL}/") for name in found if name.endswith(("_endpoint", "_uri")))
    assert found["code_challenge_methods_supported"] == ["S256"]
    (key,) = document(visiting.get("/keys"))["keys"]
    assert (key["kid"], key["alg"], "d" in key) == (visiting.signer.kid, "ES256", False)


def test_a_login_ends_in_an_id_token_for_the_person_and_this_login(visiting: Visiting) -> None:
    told = back(visiting.log_in())
    assert told["state"] == "s&t"
    answer = visiting.redeem(code=told["code"])
    assert (answer.status, field(answer, b"cache-control")) == (200, "no-store")
    token = document(answer)["id_token"]
    key = jwt.PyJWKSet.from_dict(document(visiting.get("/keys"))).keys[0]
    options: Any = {"verify_exp": False, "verify_iat": False}
    claims = jwt.decode(token, key, algorithms=["ES256"], audience="foyer-demo", issuer=URL, options=options)
    assert (claims["email"], claims["groups"], claims["nonce"]) == ("ada@example.com", ["demo-editors"], "n")
    assert (claims["iat"], claims["exp"]) == (1_800_000_000, 1_800_003_600)
    assert document(answer)["access_token"] != token


def test_the_form_offers_who_can_sign_in_and_may_only_be_sent_here_and_back(visiting: Visiting) -> None:
    page = visiting.authorize()
    text = page.content.decode()
    assert re.findall(r'<button name="email" value="([^"]*)">', text) == [person.email for person in PEOPLE]
    assert re.findall(r'(?:href|action)="([^"]*)"', text) == ["/issuer/style.css", "/issuer/authorize"]
    policy = field(page, b"content-security-policy")
    assert "default-src 'none'" in policy
    assert "form-action 'self' https://127.0.0.1:8443" in policy
    assert "<script" not in text and "style=" not in text


def test_what_a_browser_sends_is_escaped_in_every_page(visiting: Visiting) -> None:
    evil = "\"><script>alert('x')</script>"
    for page in (
        visiting.authorize(state=evil, nonce=evil),
        visiting.log_in(evil, state=evil),
    ):
        assert b"<script" not in page.content
    assert dict(hidden(visiting.authorize(state=evil)))["state"] == evil


@pytest.mark.parametrize("email", ["x@example.com", ""])
def test_nobody_else_can_sign_in(visiting: Visiting, email: str) -> None:
    page = visiting.log_in(email)
    assert (page.status, field(page, b"location")) == (400, "")


def test_who_declines_goes_back_with_an_error(visiting: Visiting) -> None:
    told = back(visiting.log_in(None))
    assert (told["error"], told["state"], "code" in told) == ("access_denied", "s&t", False)


@pytest.mark.parametrize(
    "changes",
    [
        {"client_id": "other"},
        {"redirect_uri": "https://evil.example.com/auth/callback"},
        {"redirect_uri": f"{CALLBACK}/x"},
        {"redirect_uri": ""},
    ],
)
def test_nobody_is_sent_to_an_address_that_is_not_the_clients(
    visiting: Visiting, changes: dict[str, str]
) -> None:
    for answer in (visiting.authorize(**changes), visiting.post("/authorize", ASKED | changes)):
        assert (answer.status, field(answer, b"location")) == (400, "")


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"response_type": "token"}, "unsupported_response_type"),
        ({"scope": "email"}, "invalid_scope"),
        ({"prompt": "none"}, "login_required"),
        ({"code_challenge_method": "plain"}, "invalid_request"),
        ({"code_challenge": ""}, "invalid_request"),
    ],
)
def test_what_cannot_be_granted_goes_back_to_the_client(
    visiting: Visiting, changes: dict[str, str], error: str
) -> None:
    for answer in (visiting.authorize(**changes), visiting.post("/authorize", ASKED | changes)):
        told = back(answer)
        assert (told["error"], told["state"]) == (error, "s&t")


def test_a_code_is_good_once(visiting: Visiting) -> None:
    code = visiting.code()
    assert visiting.redeem(code=code).status == 200
    again = visiting.redeem(code=code)
    assert (again.status, document(again)) == (400, {"error": "invalid_grant"})


@pytest.mark.parametrize(
    "changes",
    [
        {"code": "other"},
        {"code_verifier": "w" * 43},
        {"code_verifier": ""},
        {"code_verifier": "é"},
        {"redirect_uri": "https://elsewhere"},
    ],
)
def test_a_code_that_does_not_fit_is_spent_all_the_same(visiting: Visiting, changes: dict[str, str]) -> None:
    code = visiting.code()
    assert visiting.redeem(None, **({"code": code} | changes)).status == 400
    assert visiting.redeem(code=code).status == (200 if "code" in changes else 400)


def test_a_code_lives_a_minute(visiting: Visiting) -> None:
    first, second = visiting.code(), visiting.code()
    visiting.clock.advance(CODE_LIFETIME - 1)
    assert visiting.redeem(code=first).status == 200
    visiting.clock.advance(1)
    assert visiting.redeem(code=second).status == 400


def test_codes_kept_are_bounded_and_the_oldest_goes() -> None:
    codes = Codes()
    asked = Authorization("c", CALLBACK, "", "", challenge(VERIFIER), ("openid",))
    issued = [codes.issue(asked, ADA, 0.0) for _ in range(MAX_CODES + 1)]
    assert codes.redeem(issued[0], "c", CALLBACK, VERIFIER, 1.0) is None
    assert codes.redeem(issued[1], "c", CALLBACK, VERIFIER, 1.0) is not None


def basic(name: str, secret: str) -> Fields:
    credentials = base64.b64encode(f"{quote_plus(name)}:{quote_plus(secret)}".encode())
    return [(b"authorization", b"Basic " + credentials)]


def test_a_client_authenticates_by_basic_or_in_the_form(visiting: Visiting) -> None:
    assert visiting.redeem(code=visiting.code()).status == 200
    by_basic = visiting.redeem(basic("foyer-demo", SECRET), code=visiting.code(), client_secret=None)
    assert by_basic.status == 200


@pytest.mark.parametrize(
    ("fields", "secret"),
    [
        ([], "wrong"),
        ([], None),
        (basic("foyer-demo", "wrong"), None),
        (basic("other", SECRET), None),
        (basic("foyer-demo", SECRET), SECRET),
        ([(b"authorization", b"Basic !")], None),
        ([(b"authorization", b"Basic " + base64.b64encode(b"no-colon"))], None),
        ([(b"authorization", b"Bearer x")], None),
    ],
)
def test_a_client_that_does_not_authenticate_gets_nothing(
    visiting: Visiting, fields: Fields, secret: str | None
) -> None:
    code = visiting.code()
    answer = visiting.redeem(fields, code=code, client_secret=secret)
    assert (answer.status, document(answer)) == (401, {"error": "invalid_client"})
    assert field(answer, b"www-authenticate").startswith("Basic")
    assert visiting.redeem(code=code).status == 200


def test_other_grants_are_not_supported(visiting: Visiting) -> None:
    assert document(visiting.redeem(grant_type="password"))["error"] == "unsupported_grant_type"


def test_forms_that_cannot_be_read_are_refused(visiting: Visiting) -> None:
    twice = urlencode(ASKED) + "&state=x"
    assert visiting.get(f"/authorize?{twice}").status == 400
    for content, fields in ((b"a=%ff", FORM), (b"x" * 20_000, FORM), (b"{}", []), (b"a=1&a=2", FORM)):
        for path in ("/authorize", "/token"):
            answer = ask(
                visiting.issuer, "POST", BASE + path, visiting.clock(), content=content, fields=fields
            )
            assert isinstance(answer, Answer) and answer.status == 400


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [("GET", "/", 404), ("GET", "/token", 405), ("PUT", "/authorize", 405), ("GET", "/style.css", 200)],
)
def test_other_pages(visiting: Visiting, method: str, path: str, status: int) -> None:
    assert visiting.get(path, method).status == status


def test_nothing_secret_is_shown_by_accident(visiting: Visiting) -> None:
    assert SECRET not in repr(Client("foyer-demo", SECRET, ()))
