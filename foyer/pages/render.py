"""Pages and their other form, the `Status` (spec 01, Pages; spec 03, Interruptions).

A person who navigates gets a page, and code a `Status`, with one status code. The pages hold no
script and no inline style, and their Content-Security-Policy would run neither. Everything put
into one is escaped by the template library; what upstream wrote is there as text.
"""

import re
from collections.abc import Sequence
from http import HTTPStatus
from urllib.parse import quote

from jinja2 import Environment, PackageLoader, StrictUndefined, Template

from foyer.exchange.ports import Answer
from foyer.identity.access import Form
from foyer.interruption import Interruption, Reason, StatusCause
from foyer.k8s.incoming import SECURITY_FIELDS
from foyer.k8s.reviews import Decision, Refused, Rules
from foyer.k8s.status import interruption_status, issuer_causes, refused_login_status
from foyer.login.refusal import RefusedLogin
from foyer.login.return_path import is_local
from foyer.pages.assets import ASSETS
from foyer.protocol.events import Fields, RequestHead

_POLICY = (
    b"default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self';"
    b" frame-ancestors 'none'; base-uri 'none'"
)

_PAGE_FIELDS: Fields = [
    (b"content-type", b"text/html; charset=utf-8"),
    (b"x-content-type-options", b"nosniff"),
    (b"content-security-policy", _POLICY),
    (b"cache-control", b"no-store"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-accel-buffering", b"no"),
]

_STATUS_FIELDS: Fields = [(b"content-type", b"application/json"), *SECURITY_FIELDS]

_ASSET_FIELDS: Fields = [
    (b"x-content-type-options", b"nosniff"),
    # Their names do not change with their content: five minutes after an update every page has the new ones.
    (b"cache-control", b"max-age=300"),
]

_HEADINGS = {
    400: "This request cannot be served",
    401: "Please sign in",
    403: "This change was refused",
    404: "Not found",
    405: "This method is not allowed here",
    422: "This is too much to read",
    424: "No usable answer from a cluster",
    429: "Too much at once",
    501: "This is not supported",
    502: "No usable answer from Kubernetes",
    503: "Not available right now",
    504: "Kubernetes took too long",
}
"""For people, by status code: the exact word is the reason below it."""

# A link only for what a browser reads as we do: no backslash, which it takes for a slash, and nothing
# that is not printable ASCII.
_ABSOLUTE_HTTP = re.compile(r"(?i:https?)://(?![/?#])[!-\[\]-~]+")

MAX_RULES = 500
"""Rules shown of somebody's: a cluster administrator has some 100, and a page of thousands nobody reads."""

MAX_WORDS = 100
"""Words shown of one list in a rule: Kubernetes' own longest, the discovery paths, has 20."""

MAX_SAID = 1000
"""Characters shown of a sentence that the API server wrote."""


class Pages:
    """The templates, compiled once."""

    def __init__(self) -> None:
        environment = Environment(
            loader=PackageLoader("foyer.pages"),
            autoescape=True,
            undefined=StrictUndefined,
            auto_reload=False,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self._interruption = environment.get_template("interruption.html")
        self._refused_login = environment.get_template("refused-login.html")
        self._access = environment.get_template("access.html")
        # These two say the same to everybody.
        self._start = _page(200, environment.get_template("start.html"))
        self._logged_out = _page(200, environment.get_template("logged-out.html"))

    def interruption(self, interruption: Interruption, head: RequestHead) -> Answer:
        """The answer that an interruption is, in the form that suits the request."""
        reason = interruption.reason
        if not _navigates(head):
            return self.status(interruption)
        answer = _page(
            reason.status,
            self._interruption,
            heading=_HEADINGS.get(reason.status) or HTTPStatus(reason.status).phrase,
            interruption=interruption,
            links=[_link(cause) for cause in interruption.causes],
            sign_in=_sign_in(head.target) if reason is Reason.UNAUTHORIZED else None,
            again=_again(head.target) if _passes(reason) else None,
        )
        return _named(answer, interruption)

    def status(self, interruption: Interruption) -> Answer:
        """The answer that an interruption is to code."""
        answer = Answer(interruption.reason.status, list(_STATUS_FIELDS), interruption_status(interruption))
        return _named(answer, interruption)

    def refused_login(self, refused: RefusedLogin, head: RequestHead) -> Answer:
        """The answer to a login that did not happen, in the form that suits the request."""
        status = refused.reason.status
        if _navigates(head):
            answer = _page(status, self._refused_login, refused=refused, causes=issuer_causes(refused))
        else:
            answer = Answer(status, list(_STATUS_FIELDS), refused_login_status(refused))
        if refused.retry_after is not None:
            answer.fields.append((b"retry-after", b"%d" % refused.retry_after))
        return answer

    def access(
        self,
        person: str,
        form: Form,
        rules: Rules | Refused | None,
        decision: Decision | Refused | None,
        targets: Sequence[str] = (),
    ) -> Answer:
        """What the API server says that `person` may do; a `decision` answers the form's question.

        With more than one of `targets` the page says which it was, and lets one choose.
        """
        return _page(
            200,
            self._access,
            person=person,
            form=form,
            question=form.question,
            rules=rules,
            decision=decision,
            targets=targets,
            max_rules=MAX_RULES,
            max_words=MAX_WORDS,
            max_said=MAX_SAID,
        )

    def start(self) -> Answer:
        """The start page: it works, and what to route here."""
        return _copied(self._start)

    def logged_out(self) -> Answer:
        """The confirmation after a logout."""
        return _copied(self._logged_out)

    def asset(self, path: bytes) -> Answer | None:
        """The asset at `path` (`/_foyer/…`), or None."""
        asset = ASSETS.get(path)
        if asset is None:
            return None
        return Answer(200, [(b"content-type", asset.content_type), *_ASSET_FIELDS], asset.content)


def _named(answer: Answer, interruption: Interruption) -> Answer:
    """With what of the interruption is in fields."""
    answer.fields.append((b"krm-foyer-interruption", interruption.reason.word.encode("ascii")))
    if interruption.allow is not None:
        answer.fields.append((b"allow", interruption.allow.encode("ascii")))
    if interruption.retry_after is not None:
        answer.fields.append((b"retry-after", b"%d" % interruption.retry_after))
    return answer


def _page(status: int, template: Template, **values: object) -> Answer:
    return Answer(status, list(_PAGE_FIELDS), template.render(values).encode("utf-8"))


def _copied(answer: Answer) -> Answer:
    """An answer of its own for each request, since whoever sends it may add fields."""
    return Answer(answer.status, list(answer.fields), answer.content)


def _navigates(head: RequestHead) -> bool:
    """Whether a browser will show the answer as a document (Fetch Metadata, Sec-Fetch-Dest).

    A script cannot set that field; a frame says `iframe`.
    """
    return head.method == b"GET" and head.all(b"sec-fetch-dest") == [b"document"]


def _link(cause: StatusCause) -> str | None:
    """Where a cause may lead: a redirect's target, when it is an absolute http(s) URL."""
    if cause.reason == "Redirect" and _ABSOLUTE_HTTP.fullmatch(cause.message):
        return cause.message
    return None


def _sign_in(target: bytes) -> str:
    """The link to sign in and come back; without the way back where login would refuse it."""
    if is_local(target):
        return "/auth/login?return_to=" + quote(target, safe="/")
    return "/auth/login"


def _passes(reason: Reason) -> bool:
    """Whether the same page may get its answer a moment later."""
    return reason.status in (429, 503, 504) or reason is Reason.UPSTREAM_UNAVAILABLE


def _again(target: bytes) -> str | None:
    return target.decode("ascii") if is_local(target) else None
