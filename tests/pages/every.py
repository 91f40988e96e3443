"""Every page that foyer serves for itself, in each shape it has: for what must hold of all of them."""

from collections.abc import Iterator
from typing import NamedTuple

from foyer.exchange.ports import Answer
from foyer.identity.access import Form
from foyer.interruption import Interruption, Reason, StatusCause
from foyer.k8s.reviews import Decision, Refused, Rule, Rules
from foyer.login.refusal import LoginReason, RefusedLogin
from foyer.login.sentences import refused
from foyer.pages.render import Pages
from foyer.protocol.events import RequestHead

SENTENCE = (
    "A sentence of the length that such a sentence has, which says what was wrong and what would be right."
)
UNBROKEN = "an-unbroken-word-of-somebody-else-" * 12
"""Names and URLs may be long and have no place to break: no page grows sideways for them."""


LABEL = "an-api-servers-name-has-no-place-to-break-either-" + "x" * 14


class Page(NamedTuple):
    """A page by its name, with the template that it is made from."""

    name: str
    template: str
    answer: Answer


def every_page() -> Iterator[Page]:
    """All of them."""
    pages = Pages()
    yield Page("start", "start.html", pages.start())
    yield Page("logged-out", "logged-out.html", pages.logged_out())
    for name, interruption in _interruptions():
        head = RequestHead(b"GET", b"/k8s/api/v1/pods", [(b"sec-fetch-dest", b"document")])
        yield Page(name, "interruption.html", pages.interruption(interruption, head))
    for name, login in _refused_logins():
        head = RequestHead(b"GET", b"/auth/callback", [(b"sec-fetch-dest", b"document")])
        yield Page(name, "refused-login.html", pages.refused_login(login, head))
    for name, (form, rules, decision) in _ACCESS.items():
        yield Page(name, "access.html", pages.access("ada@example.com", form, rules, decision))
    chosen = _ASKED._replace(target=LABEL)
    page = pages.access("ada@example.com", chosen, _RULES, _REFUSED, [*"abcdefghijkl", LABEL])
    yield Page("access-of-several", "access.html", page)


def _interruptions() -> Iterator[tuple[str, Interruption]]:
    for reason in Reason:
        yield f"interruption-{reason.word}", Interruption(reason, SENTENCE)
    there = StatusCause("Redirect", "Location", "https://elsewhere.example/" + UNBROKEN)
    yield "interruption-linked", Interruption(Reason.UPSTREAM_REDIRECT, SENTENCE, (there,))
    bound = StatusCause("BoundReached", "session_concurrent_requests", "32")
    nothing = StatusCause("ContentType", "Content-Type", "")
    yield (
        "interruption-with-causes",
        Interruption(
            Reason.IDENTITY_UNAVAILABLE, SENTENCE, (bound, nothing), allow="GET, HEAD", retry_after=7
        ),
    )


def _refused_logins() -> Iterator[tuple[str, RefusedLogin]]:
    for reason in LoginReason:
        yield f"refused-login-{reason.word}", refused(reason)
    yield (
        "refused-login-with-causes",
        refused(LoginReason.ISSUER_REFUSED, b"/a/page", code="access_denied", issuer_status=400),
    )


_NO_FORM = Form("", "", "", "", "")
_ASKED = Form("demo", "get", "pods", "apps", "one")
_RULES = Rules(
    (
        Rule(("get", "list", "watch"), ("", "apps"), ("pods", "deployments"), (), ()),
        Rule(("*",), ("example.com",), ("notes",), ("mine", UNBROKEN), ()),
        Rule(("get",), (), (), (), ("/healthz", "/version/*")),
    ),
    False,
    "",
)
_REFUSED = Refused(Answer(403, [], b"{}"), f"User {UNBROKEN} cannot create resource")
_ACCESS: dict[str, tuple[Form, Rules | Refused | None, Decision | Refused | None]] = {
    "access": (_NO_FORM, None, None),
    "access-rules": (Form("demo", "", "", "", ""), _RULES, None),
    "access-incomplete": (Form("demo", "", "", "", ""), Rules((), True, "an authorizer cannot list"), None),
    "access-yes": (_ASKED, _RULES, Decision(True, "RBAC: allowed by RoleBinding demo", "")),
    "access-no": (
        _ASKED._replace(name=UNBROKEN[:250]),
        _RULES,
        Decision(False, "", "not evaluated: " + UNBROKEN),
    ),
    "access-refused": (_ASKED, _REFUSED, _REFUSED),
}
