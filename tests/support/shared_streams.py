"""Streams that share a watch, over sockets: the reviews that come before one, answered."""

import json
import os
from dataclasses import dataclass, field

from tests.support.pairings import JSON, Pairing, SignedIn
from tests.support.streams import STREAM, Page, shows
from tests.support.upstreams import Request

WHO = b"/apis/authentication.k8s.io/v1/selfsubjectreviews"
MAY = b"/apis/authorization.k8s.io/v1/subjectaccessreviews"


@dataclass
class Reviews:
    """Answers every review that reaches the API server, and keeps what was asked.

    People are named by their tokens, as `names` has it. `denied` has a reason for each that may not, and
    `statuses` what a review is answered in its place.
    """

    pairing: Pairing
    token: bytes
    denied: dict[str, str] = field(default_factory=dict)
    statuses: dict[bytes, int] = field(default_factory=dict)
    asked: list[Request] = field(default_factory=list)
    names: dict[bytes, str] = field(default_factory=dict)
    # foyer may still know what it was told of others, in a test before this one.
    _prefix: str = field(default_factory=lambda: os.urandom(6).hex())

    def person(self, number: int) -> str:
        """The name of whoever is the first, second… that foyer asks about, from 0."""
        return f"{self._prefix}-{number}"

    def answer(self) -> None:
        """Whatever has arrived of them."""
        arrived = self.pairing.upstream.arrived
        for request in [each for each in arrived if each.target in (WHO, MAY)]:
            arrived.remove(request)
            self._answer(request)

    def _answer(self, request: Request) -> None:
        self.asked.append(request)
        document = json.loads(request.read_until_end())
        code = self.statuses.get(request.target, 201)
        if code != 201:
            body: dict[str, object] = {"kind": "Status", "message": "the server's own words", "code": code}
        elif request.target == WHO:
            body = {"status": {"userInfo": {"username": self._name(request)}}}
        else:
            assert request.all("authorization") == [b"Bearer " + self.token]
            reason = self.denied.get(document["spec"]["user"])
            body = {"status": {"allowed": reason is None, "reason": reason or ""}}
        request.answer(code, JSON, json.dumps(body).encode())

    def _name(self, request: Request) -> str:
        [authorization] = request.all("authorization")
        return self.names.setdefault(authorization.removeprefix(b"Bearer "), self.person(len(self.names)))

    def until_asked(self, count: int) -> None:
        """Waits for so many reviews in all, answering them."""

        def asked() -> bool:
            self.answer()
            return len(self.asked) >= count

        self.pairing.script.until(asked, f"{count} reviews")

    def until_watched(self) -> Request:
        """Waits for what is no review: a list or a watch."""

        def watched() -> bool:
            self.answer()
            return bool(self.pairing.upstream.arrived)

        self.pairing.script.until(watched, "a list or a watch")
        return self.pairing.upstream.arrived.popleft()

    def open(
        self, target: str = STREAM, person: SignedIn | None = None, *, receive_buffer: int | None = None
    ) -> Page:
        """A stream on a connection of its own."""
        browser = self.pairing.connect(receive_buffer=receive_buffer)
        return Page(browser.request("GET", target, (person or self.pairing.me).fields))

    def first(
        self, target: str = STREAM, person: SignedIn | None = None, *, receive_buffer: int | None = None
    ) -> tuple[Page, Request]:
        """The first of its scope, behind its snapshot of one object, and the watch it reads."""
        page = self.open(target, person, receive_buffer=receive_buffer)
        request = self.until_watched()
        shows(page, request)
        return page, request

    def joins(self, target: str = STREAM, person: SignedIn | None = None) -> Page:
        """Another of a scope that is read already, behind its snapshot of one object."""
        page = self.open(target, person)
        self.until_shown(page, "reset", "added", "synced")
        return page

    def until_shown(self, page: Page, *types: str) -> None:
        """Waits for these events, answering reviews."""

        def shown() -> bool:
            self.answer()
            return len(page.events) >= page._taken + len(types) or page.exchange.outcome is not None

        self.pairing.script.until(shown, f"events: {types}")
        page.expect(*types)

    def pass_time(self, seconds: int) -> None:
        """Time passes, second by second, and reviews are answered in the one that they are asked in."""
        product = self.pairing.product
        shared = product.target().shared

        def answered() -> bool:
            self.answer()
            return not product.ask(lambda: len(shared.grants.access._calls))

        for _ in range(seconds):
            product.pass_time(1)
            self.pairing.script.until(answered, "every review to be answered")
            while self.pairing.script.turn():  # whoever is asked whether they are there answers
                pass
