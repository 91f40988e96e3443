"""foyer.js in a page of Chromium: called from Python, with scripted answers where no server gives them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from playwright.sync_api import Page, Request, Route

Visit = Callable[..., Page]
"""Opens a page of the demo's origin that is nobody's application, as a person (nobody: None)."""


def call(page: Page, expression: str, argument: Any = None) -> Any:
    """What an expression of foyer.js's names comes to in `page`; `argument` is `it` in there.

    Raises Playwright's `Error`, with JavaScript's in its message, where it throws or rejects.
    """
    names = "session, requireSession, login, logout, k8s, follow, FoyerError"
    load = f'const {{ {names} }} = await import(new URL("/_foyer/foyer.js", self.origin));'
    return page.evaluate(f"async (it) => {{ {load} return await ({expression}); }}", argument)


def outcome(page: Page, path: str, **options: Any) -> tuple[str, int, str]:
    """What `k8s` reports: outcome, status and reason."""
    answer = call(page, "k8s(...it)", [path, options])
    return answer["outcome"], answer["status"], answer["reason"]


@dataclass(frozen=True, slots=True)
class Scripted:
    """An answer for a page, in place of a server's."""

    status: int
    content: str = ""
    content_type: str = "application/json"
    fields: Mapping[str, str] = field(default_factory=dict)

    def fulfil(self, route: Route) -> None:
        """Gives it to whoever asked."""
        headers = {"Content-Type": self.content_type, **self.fields}
        route.fulfill(status=self.status, headers=headers, body=self.content)


class Instead(Enum):
    """What happens where no answer is scripted."""

    SERVER = "the server answers"
    NOBODY = "the connection fails"


class Script:
    """Answers requests for one address of a page in turn, the last answer again and again."""

    def __init__(self, page: Page, url: str, *answers: Scripted | Instead) -> None:
        self.requests: list[Request] = []
        self._answers = list(answers)
        page.route(url, self._answer)

    def _answer(self, route: Route) -> None:
        self.requests.append(route.request)
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        if answer is Instead.SERVER:
            route.continue_()
        elif answer is Instead.NOBODY:
            route.abort("connectionrefused")
        else:
            assert isinstance(answer, Scripted)
            answer.fulfil(route)


class Sent:
    """The requests of a page from here on, but for foyer.js itself: it is loaded when it is first called."""

    def __init__(self, page: Page) -> None:
        self.requests: list[Request] = []
        page.on("request", self._sent)

    def _sent(self, request: Request) -> None:
        if not request.url.endswith("/_foyer/foyer.js"):
            self.requests.append(request)

    def lines(self, below: str = "/") -> list[str]:
        """As `METHOD /path`, those whose path begins with `below`."""
        paths = [(request.method, "/" + request.url.split("/", 3)[3]) for request in self.requests]
        return [f"{method} {path}" for method, path in paths if path.startswith(below)]
