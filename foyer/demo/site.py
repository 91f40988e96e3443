"""The demo's applications: one page with its script, stylesheet and icon, and the example of the smallest
(`examples/hello`), as any web server would serve them.

They stand in for somebody's application behind the same origin as foyer, so they know nothing of
foyer but the routes that every application does.
"""

from importlib import resources

from foyer.demo.handler import Request
from foyer.demo.server import plain
from foyer.exchange.ports import Answer
from foyer.protocol.events import Fields

POLICY = (
    b"default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; "
    b"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""Nothing inline and nothing from elsewhere: what the script shows came from other people."""

_FILES = {
    "/": ("page/index.html", b"text/html; charset=utf-8"),
    "/notes.js": ("page/notes.js", b"text/javascript; charset=utf-8"),
    "/notes.svg": ("page/notes.svg", b"image/svg+xml"),
    "/notes.css": ("page/notes.css", b"text/css; charset=utf-8"),
    "/hello/": ("hello/index.html", b"text/html; charset=utf-8"),
    "/hello/hello.js": ("hello/hello.js", b"text/javascript; charset=utf-8"),
}


class Site:
    """A `Handler` for these files."""

    def __init__(self) -> None:
        folder = resources.files("foyer.demo")
        self._answers = {
            path: Answer(200, _fields(kind), folder.joinpath(name).read_bytes())
            for path, (name, kind) in _FILES.items()
        }

    def __call__(self, request: Request, now: float) -> Answer:
        """The file at a path."""
        answer = self._answers.get(request.path)
        if answer is None:
            return plain(404, "Not Found")
        if request.method not in ("GET", "HEAD"):
            refused = plain(405, "Method Not Allowed")
            return Answer(405, [*refused.fields, (b"allow", b"GET, HEAD")], refused.content)
        return answer


def _fields(kind: bytes) -> Fields:
    return [
        (b"content-type", kind),
        (b"content-security-policy", POLICY),
        (b"referrer-policy", b"no-referrer"),
        (b"x-content-type-options", b"nosniff"),
        # A demo is changed and started again: nothing of it is worth keeping.
        (b"cache-control", b"no-store"),
    ]
