"""Log lines: one JSON object a line on stderr (spec 01 Process, spec 03's last paragraphs).

Every line that foyer writes has its method here, so what a line may hold is read in one place:
words from fixed sets, the person as the issuer named them, a path without its query. Never a
token, a cookie, or anything that the API server or the issuer wrote (spec 02, What must never
leak).
"""

import json
import os
import queue
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Protocol, TypeAlias

from foyer.interruption import Interruption
from foyer.login.refusal import RefusedLogin

MAX_WAITING_LINES = 8192
"""Every open response cut short at once (2,000 and 2,000 streams), twice over; about 2 MB."""

WRITE_SIZE = 64 * 1024
"""Bytes from which lines that wait are written, be there more or not: what a pipe holds."""

REST = 0.01
"""Seconds that what is logged may wait behind a line before it: no longer than anybody would notice."""

MAX_PATH = 1024
"""Characters of a path in a line: real Kubernetes paths, five names long, stay below it."""

MAX_PERSON = 256
"""Characters of an email (254 at most, RFC 5321) or subject (255, OpenID Connect Core 1.0 section 2)."""

MAX_METHOD = 32
"""Characters of a method, which is whatever the browser wrote."""

KUBERNETES_REFUSALS = {401: "Unauthorized", 403: "Forbidden", 409: "Conflict", 422: "Invalid"}
"""The API server's answers that count as refusals, with Kubernetes' own word for the status code.

The body has the exact reason (409 may be `AlreadyExists`), but what upstream wrote is not logged.
"""

# ASCII only: control characters, bidirectional overrides and lone surrogates are escaped, so a line
# stays one line and a name cannot rearrange the terminal it is read on.
_encode = json.JSONEncoder(separators=(",", ":"), ensure_ascii=True).encode

Write: TypeAlias = Callable[[bytes], bool]
"""Takes a line without ever waiting, or says `False`: then it is lost."""


class LineWriter:
    """Lines to a file descriptor that may block, without its caller ever waiting.

    A log collector that stopped reading, or a terminal stopped with ^S, blocks `write`, and that
    would stop every response. `O_NONBLOCK` is no way out: it belongs to the open file, which stderr
    shares with the shell and every child. So a thread writes, from a queue with a bound, and what
    does not fit is dropped and counted: losing lines is better than losing the service.
    """

    def __init__(self, descriptor: int = 2, capacity: int = MAX_WAITING_LINES) -> None:
        self._descriptor = descriptor
        self._capacity = capacity
        self._lines: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._closed = threading.Event()
        # A daemon: a blocked write must not keep the process from ending either.
        self._thread = threading.Thread(target=self._run, name="log", daemon=True)
        self._thread.start()

    def __call__(self, line: bytes) -> bool:
        """Queue one line, or return `False` when `capacity` lines are waiting."""
        if self._lines.qsize() >= self._capacity:
            return False
        self._lines.put(line)
        return True

    def close(self, timeout: float = 1.0) -> None:
        """Wait up to `timeout` seconds until everything queued is written; what comes later is not."""
        self._lines.put(None)
        self._closed.set()
        self._thread.join(timeout)

    def _run(self) -> None:
        more = True
        while more:
            lines, more = self._gathered()
            self._write_whole(b"".join(lines))
            # Whoever logs while this thread rests has nobody to wake: in a flood of refusals that, and the
            # interpreter's lock going to and fro, was a third of what each of them cost.
            if more and self._lines.empty():
                self._closed.wait(REST)

    def _gathered(self) -> tuple[list[bytes], bool]:
        """What waits, for one write, and whether there may be more: with nothing there, the next line."""
        lines: list[bytes] = []
        size = 0
        while size < WRITE_SIZE and not (lines and self._lines.empty()):
            line = self._lines.get()
            if line is None:
                return lines, False
            lines.append(line)
            size += len(line)
        return lines, True

    def _write_whole(self, line: bytes) -> None:
        rest = memoryview(line)
        try:
            while rest:
                rest = rest[os.write(self._descriptor, rest) :]
        except OSError:
            # Nobody reads stderr any more (EPIPE), or its disk is full: there is nowhere to say so.
            pass


class Person(Protocol):
    """Whoever is signed in, as the issuer named them: a session is one."""

    @property
    def email(self) -> str | None: ...
    @property
    def subject(self) -> str: ...


class Named:
    """A person by name alone: a record of who asked should not keep their session alive."""

    __slots__ = ("email", "subject")

    def __init__(self, email: str, subject: str) -> None:
        self.email = email
        self.subject = subject


@dataclass(frozen=True, slots=True)
class Asked:
    """Who asked for what, as far as it was known: the fields that every line on a request has.

    `route` is the route's name from the route table, `None` where the path has none. A query in
    `path` is left out of the line. `target` is the API server's that is asked, where they have names.
    """

    route: str | None
    method: bytes
    path: bytes
    person: Person | None = None
    target: str | None = None

    def fields(self) -> dict[str, object]:
        """The line's fields, each bounded."""
        return {
            **_named(self.target),
            "user": _user(self.person),
            "route": self.route,
            "method": _shown(self.method, MAX_METHOD),
            "path": _shown(self.path.partition(b"?")[0].partition(b"#")[0], MAX_PATH),
        }


class Log:
    """Writes lines. Safe to call from the event loop: nothing here waits.

    `write` takes a line or refuses it (see `LineWriter`), `clock` is the wall clock in seconds. The
    first line that is taken after lost ones says how many they were.
    """

    def __init__(self, write: Write, clock: Callable[[], float] = time.time) -> None:
        self._write = write
        self._clock = clock
        self._lost = 0
        self._second = -1
        self._stamp = ""

    def info(self, msg: str, **fields: object) -> None:
        """Something happened as it should, a refusal included."""
        self._line("info", msg, fields)

    def warn(self, msg: str, **fields: object) -> None:
        """Something outside foyer failed."""
        self._line("warn", msg, fields)

    def error(self, msg: str, **fields: object) -> None:
        """Something needs a person: a file that cannot be used, a fault of foyer's own."""
        self._line("error", msg, fields)

    # Requests.

    def refused(self, by: str, asked: Asked, reason: str, **more: object) -> None:
        """A request was refused, `by` "foyer" or "kubernetes"."""
        self.info("refused", by=by, **asked.fields(), reason=reason, **more)

    def stream_refused(self, by: str, asked: Asked, code: str, scope: str) -> None:
        """A stream was refused by an event of its own; `scope` as a query, without what could not be read."""
        self.refused(by, asked, code, scope=_bounded(scope, MAX_PATH))

    def interrupted(self, interruption: Interruption, asked: Asked) -> None:
        """foyer answered in the API server's place: a refusal below 500, an interruption from there.

        A load that was turned away is neither: its line says how full foyer is, and not who came last.
        """
        word, status = interruption.reason.word, interruption.reason.status
        if interruption.limit is not None:
            self.limit_reached(word, interruption.limit)
            return
        if status < 500:
            self.refused("foyer", asked, word)
            return
        failure = {"failure": interruption.failure} if interruption.failure else {}
        self.warn("interruption", **asked.fields(), reason=word, status=status, **failure)

    def limit_reached(self, reason: str, limit: str) -> None:
        """A request was turned away because of the load: nothing of it, and no person (spec 06)."""
        self.warn("limit reached", reason=reason, limit=limit)

    def answered(self, status: int, asked: Asked) -> None:
        """The API server answered: a line only when it refused."""
        reason = KUBERNETES_REFUSALS.get(status)
        if reason is not None:
            self.refused("kubernetes", asked, reason, status=status)

    def response_cut_short(self, cause: str, asked: Asked, failure: str | None = None) -> None:
        """A response was aborted after it had started. `cause` is the label; `failure` upstream's kind."""
        kind = {"failure": failure} if failure else {}
        self.info("response cut short", cause=cause, **kind, **asked.fields())

    def login_refused(self, refused: RefusedLogin) -> None:
        """A login did not happen."""
        fields: dict[str, object] = {"reason": refused.reason.word, "status": refused.reason.status}
        known = {"cause": refused.cause, "code": refused.code, "issuer_status": refused.issuer_status}
        fields |= {name: value for name, value in known.items() if value is not None}
        (self.info if refused.reason.status < 500 else self.warn)("login refused", **fields)

    def flood(self, kind: str, side: str, target: str | None = None) -> None:
        """A connection was ended for what the peer asked for too often: once, and nothing of its own.

        `side` is who that was: `browser`, `upstream` (an API server or the issuer) or `scraper`.
        """
        self.warn("flood", kind=kind, side=side, **_named(target))

    def unreadable(self, reason: str) -> None:
        """A browser's connection was ended for a breach of HTTP: `reason` is foyer's own sentence."""
        self.info("unreadable", by="foyer", reason=reason)

    def fault(self, error: BaseException) -> None:
        """An exception nobody expected: its type and where it rose. Its message may hold anything."""
        self.error("internal error", error=type(error).__name__, at=_where(error.__traceback__))

    # The life of the process.

    def listening(self, address: str, *, tls: bool) -> None:
        """Connections are accepted at `address`, which names the port that was really taken."""
        self.info("listening", address=address, tls=tls)

    def metrics_listening(self, address: str) -> None:
        """Scrapes are answered at `address`."""
        self.info("metrics listening", address=address)

    def issuer_unavailable(self, issuer: str, failure: str, hint: str | None, retry_in: float) -> None:
        """Discovery at the configured `issuer` failed, by kind, and is tried again in `retry_in` seconds."""
        hints = {} if hint is None else {"hint": hint}
        self.warn("issuer unavailable", issuer=issuer, failure=failure, **hints, retry_in=retry_in)

    def issuer_keys_not_read(self, failure: str) -> None:
        """The issuer's keys could not be fetched, by kind: the next sign-in tries again."""
        self.warn("issuer keys not read", failure=failure)

    def ready(self) -> None:
        """The issuer, where there is one, has been discovered: `/readyz` answers 200 from now on."""
        self.info("ready")

    def nobody_can_sign_in(self, required: str) -> None:
        """None of the flags that signing in needs was given: the start page and the probes only."""
        self.warn("nobody can sign in", not_given=required)

    def few_files(self, limit: int, wanted: int) -> None:
        """The process may have fewer files open than the requests that it may serve at once."""
        self.warn("few files", limit=limit, wanted=wanted)

    def draining(self, open_exchanges: int) -> None:
        """A signal asked foyer to stop: nothing new is accepted."""
        self.info("draining", open=open_exchanges)

    def stopped(self) -> None:
        """The last line of a process that ends as it should."""
        self.info("stopped")

    def certificate_reloaded(self) -> None:
        """New connections get the new certificate."""
        self.info("certificate reloaded")

    def certificate_refused(self, reason: str) -> None:
        """The files changed and cannot be used: the old certificate stays."""
        self.error("certificate refused", reason=reason)

    def keys_reloaded(self) -> None:
        """New sessions are sealed with the new first key."""
        self.info("session keys reloaded")

    def keys_refused(self, reason: str) -> None:
        """The file changed and cannot be used: the old keys stay."""
        self.error("session keys refused", reason=reason)

    def client_secret_reloaded(self) -> None:
        """Sign-ins that end from now on use the new secret at the issuer."""
        self.info("client secret reloaded")

    def client_secret_refused(self, reason: str) -> None:
        """The file changed and cannot be used: the old secret stays."""
        self.error("client secret refused", reason=reason)

    # `target` is the name of the API server that it is about, None where there is but one.

    def shared_token_reloaded(self, target: str | None = None) -> None:
        """Shared watches and access reviews from now on are asked for with the new token."""
        self.info("shared watch token reloaded", **_named(target))

    def shared_token_refused(self, reason: str, target: str | None = None) -> None:
        """The file changed and cannot be used: the old token stays."""
        self.error("shared watch token refused", reason=reason, **_named(target))

    def shared_identity_refused(self, target: str | None = None) -> None:
        """The API server does not let the shared watch token do what it is for. At most one a minute."""
        self.error("shared watch identity refused", **_named(target))

    def roots_reloaded(self, flag: str, target: str | None = None) -> None:
        """New connections are verified by the new roots of the file that `flag` names."""
        self.info("roots reloaded", flag=flag, **_named(target))

    def roots_refused(self, flag: str, reason: str, target: str | None = None) -> None:
        """The file changed and cannot be used: the old roots stay."""
        self.error("roots refused", flag=flag, reason=reason, **_named(target))

    # Configuration. A refusal names a flag and what it should be, and never its value.

    def configuration_refused(self, flag: str, reason: str, source: str | None) -> None:
        """At start the process ends; on a reload everything stays as it was."""
        where = {"source": source} if source else {}
        self.error("configuration refused", flag=flag, reason=reason, **where)

    def configuration_reloaded(self) -> None:
        """All that can change at run time is as the configuration now says."""
        self.info("configuration reloaded")

    def restart_needed(self, flag: str) -> None:
        """A reload brought another value for `flag`: the old one stays until a restart."""
        self.warn("restart needed", flag=flag)

    def sign_in_needs_restart(self) -> None:
        """By a reload people could sign in, or no longer: all of it stays as it was until a restart."""
        self.warn("restart needed", reason="whether anyone can sign in is decided at start")

    def _line(self, level: str, msg: str, fields: dict[str, object]) -> None:
        if self._lost and self._write(self._render("warn", "log lines lost", {"lines": self._lost})):
            self._lost = 0
        if not self._write(self._render(level, msg, fields)):
            self._lost += 1

    def _render(self, level: str, msg: str, fields: dict[str, object]) -> bytes:
        return _encode({"time": self._now(), "level": level, "msg": msg, **fields}).encode("ascii") + b"\n"

    def _now(self) -> str:
        """RFC 3339 in UTC with milliseconds. A second is formatted once, which is most of the cost."""
        milliseconds = int(self._clock() * 1000)
        second, rest = divmod(milliseconds, 1000)
        if second != self._second:
            self._second = second
            self._stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(second))
        return f"{self._stamp}.{rest:03d}Z"


def _named(target: str | None) -> dict[str, str]:
    return {} if target is None else {"target": target}


def _user(person: Person | None) -> str | None:
    if person is None:
        return None
    return _bounded(person.email or person.subject, MAX_PERSON)


def _shown(received: bytes, limit: int) -> str:
    # Latin-1 maps every byte to a character, and JSON escapes those that are not ASCII.
    return _bounded(received[: limit + 1].decode("latin-1"), limit)


def _bounded(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[:limit] + "..."


def _where(trace: TracebackType | None) -> str:
    """The innermost frame as `file:line`: enough to find a fault, and nothing of its values."""
    if trace is None:
        return "unknown"
    while trace.tb_next is not None:
        trace = trace.tb_next
    return f"{os.path.basename(trace.tb_frame.f_code.co_filename)}:{trace.tb_lineno}"
