"""People who all ask for a scope of 20 MiB at once, as a process: `python -m bench.memory_proof.people`.

A line on stdin says who they are: {"port", "seconds", "people": [{"cookie", "target", "reads"}, …]}. Whoever
`reads` asks again when that was refused and is said to help, until there is an answer or so many seconds are
over. The others take nothing of theirs until all of those are done, and then look what it was. A line on
stdout has for each, in order, what they were told, one time after the other: see `Told`.
"""

import json
import socket
import ssl
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from http.client import HTTPException, HTTPResponse
from typing import Any

from bench.browsers import client_context
from bench.memory_proof.api import COUNTS
from bench.messages import AUTHORITY, H1

WHOLE, CUT, LET_IN = "whole", "cut to what fits", "let in"

SMALL = 4096
"""Bytes of a receive buffer, for the kernel to take as little as it may for who does not read."""

PATIENCE = 90.0
"""Seconds in which something comes, for who reads."""


@dataclass(frozen=True, slots=True)
class Told:
    """An answer: `WHOLE`, `CUT`, `LET_IN` (for who did not read it), or a refusal by its reason.

    `status` is HTTP's. `after` is for how many seconds to wait, where waiting helps. `wrong` says what is not
    as it must be.
    """

    what: str
    status: int
    after: float | None = None
    wrong: str = ""


class Person:
    """One of them, over a connection each time."""

    def __init__(self, port: int, cookie: str, target: str, reads: bool) -> None:
        self._port = port
        self._request = b"GET %b HTTP/1.1\r\nhost: %b\r\ncookie: %b\r\n\r\n" % (
            target.encode(),
            AUTHORITY,
            cookie.encode(),
        )
        self._streams = target.startswith("/stream/")
        self._stays = "=pods" in target
        self.reads = reads
        self._open: list[HTTPResponse] = []

    def reading(self, deadline: float) -> list[Told]:
        """All that is said until there is an answer."""
        said = [self._ask()]
        while said[-1].after is not None and time.monotonic() + said[-1].after < deadline:
            time.sleep(said[-1].after)  # as `Retry-After` asks: this person is one who keeps to it
            said.append(self._ask())
        return said

    def not_reading(self, over: threading.Event) -> list[Told]:
        """What it was, looked at when it is `over` for the others."""
        connection = self._connect(SMALL)
        over.wait()
        return [self._look(connection)]

    def _connect(self, buffer: int | None = None) -> ssl.SSLSocket:
        plain = socket.socket()
        plain.settimeout(PATIENCE)
        if buffer is not None:
            plain.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
        plain.connect(("127.0.0.1", self._port))
        connection = client_context(H1).wrap_socket(plain, server_hostname="127.0.0.1")
        connection.sendall(self._request)
        return connection

    def _look(self, connection: ssl.SSLSocket) -> Told:
        answer = HTTPResponse(connection)
        try:
            answer.begin()
            if answer.status != 200:
                return _refused(answer)
            first = answer.read(SMALL)
        except (OSError, HTTPException) as error:
            return Told(LET_IN, 0, wrong=f"nobody was told anything: {error!r}")
        if self._streams:
            for line in first.split(b"\n")[:-1]:
                if (told := _error(line)) is not None:
                    return told
        return Told(LET_IN, 200)

    def _ask(self) -> Told:
        answer = HTTPResponse(self._connect())
        try:
            answer.begin()
            if answer.status != 200:
                return _refused(answer)
            return self._streamed(answer) if self._streams else _listed(answer)
        except (OSError, HTTPException) as error:
            return Told("no answer", answer.status if answer.headers else 0, wrong=repr(error))

    def _streamed(self, answer: HTTPResponse) -> Told:
        """To the end of its first cycle. One of their own stays open, one that shares a watch leaves."""
        added = 0
        for line in _lines(answer):
            kind = line[:40]
            if b'"type":"added"' in kind:
                added += 1
            elif (told := _error(line)) is not None:
                return told
            elif b'"type":"synced"' in kind:
                if self._stays:
                    self._open.append(answer)
                wrong = "" if added == COUNTS["pods"] else f"{added} objects"
                return Told(WHOLE, 200, wrong=wrong)
        return Told("no end", 200, wrong=f"it ended behind {added} objects")


def _lines(answer: HTTPResponse) -> Iterator[bytes]:
    while line := answer.readline():
        yield line


def _error(line: bytes) -> Told | None:
    """A stream's last event, which is its refusal; None: `line` is another."""
    if not line.startswith(b"data: ") or b'"type":"error"' not in line[:40]:
        return None
    event = json.loads(line.removeprefix(b"data: "))
    helps = event["code"] == "UPSTREAM_UNAVAILABLE"
    after = event.get("retryAfterMs")
    wrong = "" if (after is not None) == helps else f"{event['code']} with retryAfterMs {after}"
    return Told(event["code"], 200, None if after is None else after / 1000, wrong)


def _refused(answer: HTTPResponse) -> Told:
    """One with a status, a reason, and Retry-After where waiting helps."""
    status: dict[str, Any] = json.loads(answer.read())
    after = answer.getheader("retry-after")
    helps = answer.status in (429, 503)
    wrong = "" if (after is not None) == helps else f"Retry-After: {after}"
    if (status.get("kind"), status.get("code")) != ("Status", answer.status) or not status.get("message"):
        wrong = f"a Status without what makes one: {status}"
    return Told(str(status.get("reason")), answer.status, None if after is None else float(after), wrong)


def _listed(answer: HTTPResponse) -> Told:
    """A fleet list: all of it, or as much as it says."""
    content = answer.read()  # HTTPException where it is less than its length
    found = json.loads(content)
    truncated = answer.getheader("krm-foyer-truncated") == "true"
    items = len(found["items"])
    told = sum(target["items"] for target in found["targets"])
    whole = 2 * COUNTS["configmaps"]
    as_it_says = (
        items == told
        and found["complete"] is not truncated
        and truncated == ("continue" in found["metadata"])
        and (items < whole if truncated else items == whole)
    )
    wrong = "" if as_it_says else f"{items} items, truncated {truncated}, complete {found['complete']}"
    return Told(CUT if truncated else WHOLE, 200, wrong=wrong)


def everybody(port: int, seconds: float, people: list[dict[str, Any]]) -> list[list[Told]]:
    """What each was told."""
    over, deadline = threading.Event(), time.monotonic() + seconds
    everybody = [Person(port, **person) for person in people]
    with ThreadPoolExecutor(len(everybody)) as threads:
        asking = [
            threads.submit(person.reading, deadline)
            if person.reads
            else threads.submit(person.not_reading, over)
            for person in everybody
        ]
        try:
            for person, asked in zip(everybody, asking, strict=True):
                if person.reads:
                    asked.result()
        finally:
            over.set()
        return [asked.result() for asked in asking]


if __name__ == "__main__":
    for line in sys.stdin:
        told = everybody(**json.loads(line))
        print(json.dumps([[asdict(one) for one in each] for each in told]), flush=True)
