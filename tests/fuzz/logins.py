"""What login reads of a browser and of the issuer: targets, forms, parameters, documents, keys, tokens.

Nothing of it raises. Where a browser is sent afterwards is this origin or the issuer, and one field value;
no token is believed that no published key has signed, whatever its header says; and a document is an
object that the standard library reads as the same, without a name twice in it.
"""

import json
from urllib.parse import parse_qsl, urlsplit

from foyer.exchange.ports import Answer
from foyer.identity import access, check
from foyer.interruption import Interruption
from foyer.k8s.reviews import Decision, Rules
from foyer.login import document, idtoken, jwks, query, return_path
from foyer.login.claims import SessionClaims, displayed
from foyer.login.flow import CallbackOutcome, LoginSettings
from foyer.login.issuer import DiscoveryFault, Endpoints, _endpoints
from foyer.login.parameters import AuthorizationParameters, Parameter
from foyer.login.refusal import RefusedLogin
from foyer.pages.render import Pages
from foyer.protocol.events import Fields, RequestHead
from tests.fuzz.target import Target
from tests.login.issuers import CLIENT_ID, ISSUER, NOW, ORIGIN, World

_PARAMETERS = AuthorizationParameters(
    {
        "connector_id": Parameter(allow_from_request=True, allowed_values=("github", "ldap")),
        "login_hint": Parameter(allow_from_request=True),
        "prompt": Parameter(default="consent"),
    }
)
_WORLD = World(LoginSettings(ORIGIN, ("openid", "email"), 28_800.0, parameters=_PARAMETERS)).discover()
_PAGES = Pages()
_NAVIGATING: Fields = [(b"sec-fetch-dest", b"document"), (b"sec-fetch-mode", b"navigate")]


def check_target(data: bytes) -> None:
    """`data` is the target of a sign-in link, a callback, a check, the access form."""
    for fields in ([], _NAVIGATING):
        head = RequestHead(b"GET", data, fields)
        _query(data)
        _start(_WORLD.login.start(head, NOW), head)
        received = _WORLD.login.received(head, NOW)
        # Nobody here has begun a login.
        assert isinstance(received, CallbackOutcome) and isinstance(received.result, RefusedLogin)
        _refused(received.result, head)
        form = access.read(head)
        if not isinstance(form, Interruption):
            assert all(text.isprintable() and len(text) <= access.MAX_CHARACTERS for text in form)
            _PAGES.access("somebody", form, Rules((), False, form.name), Decision(True, form.name, ""))
        _check(data, fields)


def _query(target: bytes) -> None:
    found, whole = query.read_what_can_be(target)
    assert len(found) <= query.MAX_PARAMETERS
    assert query.read(target) == (found if whole else None)
    text = target.partition(b"?")[2]
    if whole:
        known = parse_qsl(text.decode("latin-1"), keep_blank_values=True, encoding="latin-1")
        assert [(name.encode("latin-1"), value.encode("latin-1")) for name, value in known] == found


def _start(answer: Answer | RefusedLogin, head: RequestHead) -> None:
    if isinstance(answer, RefusedLogin):
        _refused(answer, head)
        return
    location = dict(answer.fields)[b"location"]
    _is_one_value(location)
    assert location.startswith(ISSUER.encode() + b"/auth?")
    sent = parse_qsl(urlsplit(location.decode()).query, keep_blank_values=True, strict_parsing=True)
    names = [name for name, _ in sent]
    assert len(names) == len(set(names))
    assert dict(sent)["redirect_uri"] == ORIGIN + "/auth/callback"
    assert dict(sent)["client_id"] == CLIENT_ID
    assert dict(sent).get("connector_id", "ldap") in ("github", "ldap")


def _refused(refused: RefusedLogin, head: RequestHead) -> None:
    answer = _PAGES.refused_login(refused, head)
    assert answer.content
    assert refused.retry.isascii() and refused.retry.isprintable()
    assert refused.retry.startswith("/auth/login")


def _check(data: bytes, fields: Fields) -> None:
    forwarded: Fields = [*fields, (b"x-forwarded-uri", data), (b"x-forwarded-method", b"GET")]
    asked = check.read(RequestHead(b"GET", b"/auth/check", forwarded), b"redirect=true")
    assert not isinstance(asked, Interruption)
    location = check.login_location(asked, ORIGIN)
    if location is not None:
        _is_one_value(location.encode("ascii"))
        assert location.startswith(ORIGIN + "/auth/login?return_to=/")
        [(_, back)] = query.read(location.encode("ascii")) or []
        assert back == (data if return_path.is_local(data) else b"/")
    method = check.read(RequestHead(b"GET", b"/", [(b"x-forwarded-method", data)]), b"")
    assert isinstance(method, Interruption) or method.forwarded.method == data
    assert isinstance(check.read(RequestHead(b"GET", b"/", []), data), Interruption | check.Check)
    if return_path.is_local(data):
        # As browsers resolve it: not another host, and nothing in it that they would drop.
        assert data[:1] == b"/" and data[1:2] not in (b"/", b"\\") and b"\\" not in data
        assert not set(data) - set(range(0x21, 0x7F))


def _is_one_value(location: bytes) -> None:
    assert not set(location) - set(range(0x21, 0x7F)), location


def check_document(data: bytes) -> None:
    """`data` is whatever the issuer, or a token, says."""
    found = document.parse(data)
    _read_as_the_library_does(data, found)
    keys = jwks.parse(data)
    for key in keys or ():
        assert key.algorithms and key.algorithms <= jwks.ALGORITHMS
    endpoints = _endpoints(data, ISSUER)
    if isinstance(endpoints, Endpoints):
        for url in (endpoints.authorization, endpoints.token, endpoints.keys):
            parts = urlsplit(url)
            assert parts.scheme == "https" and parts.hostname and parts.username is None
            _is_one_value(url.encode("ascii"))
    else:
        assert isinstance(endpoints, DiscoveryFault)
    header = idtoken.read_header(data)
    if isinstance(header, idtoken.TokenHeader):
        assert header.algorithm in jwks.ALGORITHMS
        assert idtoken.signed_payload(data, header, keys or ()) is None
    claims = idtoken.check(data, ISSUER, CLIENT_ID, NOW)
    if not isinstance(claims, idtoken.TokenFault):
        assert claims["iss"] == ISSUER and idtoken.expiry(claims) > NOW
        assert {type(claims["exp"]), type(claims.get("nbf", 0))} <= {int, float}
    if found is not None:
        displayed(found, SessionClaims(("a", "0"), ("groups",), ("c",)))


def _read_as_the_library_does(data: bytes, found: document.Document | None) -> None:
    if found is None:
        return
    assert json.loads(data) == found
    assert json.loads(json.dumps(found, allow_nan=True)) == found or b"e" in data.lower()


_TARGETS = (
    b"/auth/login",
    b"/auth/login?return_to=/a%3Fb%3Dc&oidc.connector_id=ldap",
    b"/auth/login?return_to=%2F%2Fevil&oidc.login_hint=a%40b",
    b"/auth/login?oidc.prompt=none&oidc.prompt=login",
    b"/auth/login?return_to=/%0d%0aSet-Cookie:a=b",
    b"/auth/callback?state=a&code=b",
    b"/auth/callback?state=a&error=access_denied&error_description=%zz",
    b"/_foyer/access?namespace=demo&verb=list&resource=pods/log&group=&name=%C3%A9",
    b"redirect=true&identity=true",
    b"/a?b=c&d=%2F",
    b"/\\evil",
)


def _documents() -> list[bytes]:
    public = [_WORLD.provider.signer.jwk()]
    public += [{"kty": "OKP", "crv": "Ed25519", "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}]
    public += [
        {
            "kty": "EC",
            "crv": "P-256",
            "x": "MKBCTNIcKUSDii11ySs3526iDZ8AiTo7Tu6KPAqv7D4",
            "y": "4Etl6SRW2YiLUrN5vfvVHuhp7x8PxltmWWlbbM4IFyM",
            "use": "sig",
            "alg": "ES256",
        }
    ]
    claims = {"iss": ISSUER, "sub": "a", "aud": CLIENT_ID, "exp": 2_000_000_000, "nbf": 1.5, "groups": ["a"]}
    unsigned = b"eyJhbGciOiJub25lIn0.e30."
    return [
        *[json.dumps({"keys": [key]}).encode() for key in public],
        json.dumps(_WORLD.provider.document).encode(),
        json.dumps(claims).encode(),
        json.dumps({**claims, "nbf": True}).encode(),
        json.dumps({**claims, "aud": [CLIENT_ID, "b"], "azp": CLIENT_ID, "a": ["x"], "c": 1}).encode(),
        unsigned,
        b"eyJhbGciOiJSUzI1NiIsImtpZCI6ImZpcnN0In0.e30.AAAA",
        b'{"a":1,"a":2}',
        b'{"a":NaN}',
        b'{"a":1e999,"b":"\\ud800"}',
        b"[" * 1000,
    ]


TARGETS = (
    Target(
        "login-targets",
        check_target,
        lambda: [*_TARGETS],
        words=(
            b"return_to=",
            b"oidc.",
            b"state=",
            b"code=",
            b"&",
            b"=",
            b"%2F",
            b"+",
            b"%0D%0A",
            b";",
            b"\\",
        ),
        longest=700,
    ),
    Target(
        "documents",
        check_document,
        _documents,
        words=(
            b'"keys":[',
            b'"kty":"RSA"',
            b'"crv":"',
            b'"x":"',
            b"null",
            b"true",
            b"1e9",
            b"-1",
            b"[]",
            b"{}",
            b"\\u0000",
            b"\\ud800",
            b'"issuer":',
            b'"exp":',
            b'"aud":',
            b"https://",
            b"@",
            b".",
        ),
        longest=1500,
    ),
)
