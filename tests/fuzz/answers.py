"""What foyer makes of an API server's head, and what it answers instead: a head, a `Status`, a page.

What passes are the fields that may, each one line; the rest is an interruption, whose `Status` is JSON that
says the same, in ASCII, and whose page has the elements that it has for plain words: whatever upstream and
the request's target say is text in it.
"""

import json
import string
from html.parser import HTMLParser

from foyer.interruption import Interruption, Reason, StatusCause
from foyer.k8s.incoming import Passed, incoming
from foyer.login.return_path import is_local
from foyer.pages.render import Pages
from foyer.protocol.events import Fields, RequestHead, ResponseHead
from tests.fuzz.target import Target, joined, parted

_PAGES = Pages()
_NAVIGATING: Fields = [(b"sec-fetch-dest", b"document")]
_MAY_PASS = {
    b"audit-id",
    b"warning",
    b"retry-after",
    b"x-kubernetes-pf-flowschema-uid",
    b"x-kubernetes-pf-prioritylevel-uid",
    b"content-type",
    b"content-length",
    b"x-content-type-options",
    b"content-security-policy",
    b"cache-control",
    b"referrer-policy",
    b"x-accel-buffering",
}
_STATUSES = (
    200,
    201,
    204,
    206,
    299,
    301,
    302,
    304,
    307,
    399,
    400,
    401,
    409,
    429,
    500,
    503,
    599,
    600,
    199,
    999,
)
_METHODS = (b"GET", b"HEAD", b"POST")

# What a codec lets through: tokens in lower case, and values without controls or blanks at their ends.
_NAMES = frozenset((string.ascii_lowercase + string.digits + "!#$%&'*+-.^_`|~").encode())
_VALUES = frozenset([9, *range(0x20, 0x7F), *range(0x80, 0x100)])


def check(data: bytes) -> None:
    """Lines of `name:value`, and the status, the method and whether content follows."""
    text, whims = parted(data)
    chosen = whims.ljust(3, b"\0")
    head = ResponseHead(_STATUSES[chosen[0] % len(_STATUSES)], _fields(text), ended=bool(chosen[2] % 2))
    found = incoming(head, _METHODS[chosen[1] % len(_METHODS)])
    if isinstance(found, Passed):
        _passes(found, head)
    else:
        _refuses(found, text)


def _fields(text: bytes) -> Fields:
    pairs = [line.partition(b":") for line in text.split(b"\n")]
    return [
        (name.lower(), value.strip(b" \t"))
        for name, _, value in pairs
        if name and set(name.lower()) <= _NAMES and set(value) <= _VALUES
    ]


def _passes(passed: Passed, head: ResponseHead) -> None:
    assert 200 <= head.status <= 599 and (head.status == 304 or not 300 <= head.status <= 399)
    names = [name for name, _ in passed.head.fields]
    assert set(names) <= _MAY_PASS
    for name in (b"content-type", b"content-length", b"content-security-policy"):
        assert names.count(name) <= 1
    assert all(set(value) <= _VALUES for _, value in passed.head.fields)
    assert passed.head.ended == head.ended
    lengths = passed.head.all(b"content-length")
    assert not lengths or lengths[0].isdigit()
    assert not (head.all(b"content-encoding") and lengths), "a length of what nobody will see"


def _refuses(interruption: Interruption, text: bytes) -> None:
    target = text[:200]
    alike = b"/plain" if is_local(target) else b"plain"
    plain = Interruption(
        interruption.reason,
        "plain",
        tuple(StatusCause(cause.reason, "field", "plain") for cause in interruption.causes),
    )
    status = _PAGES.interruption(interruption, RequestHead(b"GET", target, []))
    _is_the_status_of(interruption, status.content)
    for reason in (interruption.reason, Reason.UNAUTHORIZED):
        shown = Interruption(reason, interruption.message, interruption.causes)
        page = _PAGES.interruption(shown, RequestHead(b"GET", target, _NAVIGATING))
        calm = _PAGES.interruption(
            Interruption(reason, "plain", plain.causes), RequestHead(b"GET", alike, _NAVIGATING)
        )
        _has_the_elements_of(page.content, calm.content)


def _is_the_status_of(interruption: Interruption, content: bytes) -> None:
    assert content.isascii()
    status = json.loads(content)
    assert (status["kind"], status["code"]) == ("Status", interruption.reason.status)
    assert status["reason"] == interruption.reason.word
    causes = status.get("details", {}).get("causes", [])
    assert [cause["message"] for cause in causes] == [cause.message for cause in interruption.causes]


class _Elements(HTMLParser):
    """A page's elements with their attributes' names, but for what a value is shown as: a link or code."""

    def __init__(self, page: bytes) -> None:
        super().__init__()
        self.found: list[tuple[str, tuple[str, ...]]] = []
        self.links: list[str] = []
        self.feed(page.decode())
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "a":
            assert [name for name, _ in attrs if name not in ("class", "rel")] == ["href"]
            self.links += [value or "" for name, value in attrs if name == "href"]
        elif tag == "code":
            assert not attrs
        else:
            self.found.append((tag, tuple(name for name, _ in attrs)))


def _has_the_elements_of(page: bytes, plain: bytes) -> None:
    found = _Elements(page)
    assert found.found == _Elements(plain).found
    for link in found.links:
        assert link.lower().startswith(("/", "http://", "https://")) and not link.startswith(("//", "/\\"))


def _seeds() -> list[bytes]:
    return [
        joined(b"content-type:application/json\ncontent-length:5\naudit-id:a", (0, 0, 0)),
        joined(b"content-type:application/json;stream=watch\ncontent-encoding:gzip", (0, 0, 0)),
        joined(b"content-type:application/json\ncontent-encoding:GZIP\ncontent-length:5", (0, 0, 0)),
        joined(b"content-type:text/html\nset-cookie:a=b", (0, 0, 0)),
        joined(b"content-type:text/plain, text/html", (10, 2, 0)),
        joined(b"content-type:TEXT/PLAIN ;charset=utf-8\ncontent-encoding:br", (0, 0, 0)),
        joined(b'location:https://evil.test/"><script>alert(1)</script>', (6, 0, 1)),
        joined(b"location:javascript:alert(1)\nlocation://evil", (5, 0, 1)),
        joined(b"/k8s/api?a=\"'<>&", (19, 0, 0)),
        joined(b"content-length:5\ncontent-length:5", (0, 1, 1)),
    ]


TARGET = Target(
    "answers",
    check,
    _seeds,
    words=(
        b"content-type:",
        b"content-length:",
        b"content-encoding:",
        b"location:",
        b"application/json",
        b"text/plain",
        b"gzip",
        b"<b>",
        b'"',
        b"'",
        b"{{",
        b"https://",
        b"//",
        b"\n",
        b"&lt;",
    ),
    longest=600,
)
